//! Snapshots: what one takes when many classes have been used by many threads, and what ten a second
//! take from a program under load.

use crate::child;
use crate::output::{Output, Table};
use instrumented_lock::registry;
use instrumented_lock_benches::case::Case;
use instrumented_lock_benches::classes::{THREADS, activate};
use instrumented_lock_benches::measure::{in_turns, median, processors, together};
use instrumented_lock_benches::subject::EXACT;
use std::thread;
use std::time::{Duration, Instant};

const ACTIVE: [usize; 3] = [10, 100, 1000];
const SNAPSHOTS: usize = 15;

/// Under load: so long without, so long with two of them.
const SLICE: Duration = Duration::from_millis(200);
const PAIRS: usize = 15;
const LOADED: usize = 100;

/// Microseconds a snapshot, for each number of classes.
pub(crate) fn act() {
    for classes in ACTIVE {
        activate(classes);
        let one = |_| {
            let start = Instant::now();
            let snapshot = registry::snapshot();
            let taken = start.elapsed();
            assert!(snapshot.locks().len() >= classes || cfg!(not(feature = "stats")));
            taken.as_nanos() as f64 / 1e3
        };
        println!("{}", median((0..SNAPSHOTS).map(one).collect()));
    }
}

/// The throughput with ten snapshots a second, of that without: a ratio for each pair of slices, by
/// the processor time of the process, which that of the snapshots is part of.
pub(crate) fn act_under_load() {
    activate(LOADED);
    let threads = processors();
    let run = EXACT.build(Case::Disjoint, threads);
    let slice = || together(&EXACT, &run, threads, SLICE).millions_alone(threads);
    for round in 0..PAIRS {
        let with = || {
            thread::scope(|scope| {
                scope.spawn(|| {
                    for pause in [SLICE / 4, SLICE / 2] {
                        thread::sleep(pause);
                        registry::snapshot();
                    }
                });
                slice()
            })
        };
        let (with, without) = in_turns(round, with, slice);
        println!("{}", with / without);
    }
}

pub(crate) fn show(output: &mut Output) {
    let mut table = Table::new(["a snapshot", "ms", "bar"]);
    for (classes, micros) in ACTIVE.into_iter().zip(child::figures("snapshots")) {
        let millis = micros / 1e3;
        let bar = match classes {
            1000 => output.at_most("snapshot of 1,000 classes, ms", millis, 8.0, ""),
            _ => String::new(),
        };
        table.row([format!("{classes} classes"), format!("{millis:.3}"), bar]);
    }
    let lost = (1.0 - median(child::figures("load"))) * 100.0;
    let bar = output.at_most(
        "ten snapshots a second, % of throughput lost",
        lost,
        1.0,
        " %",
    );
    let name = format!(
        "ten a second, {LOADED} classes, {} busy threads",
        processors()
    );
    table.row([name, format!("{lost:.2} % lost"), bar]);
    table.print(&format!(
        "snapshots, every class used by {THREADS} threads at a time"
    ));
}
