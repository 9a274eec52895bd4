//! A thousand threads: each with a lock of its own, and all waiting for one.

use crate::child;
use crate::output::{Output, Table, short};
use instrumented_lock::drop_in::Mutex;
use instrumented_lock::{InFlightState, registry};
use instrumented_lock_benches::case::Case;
use instrumented_lock_benches::measure::{all_and_few, median, of_neighbours};
use instrumented_lock_benches::subject::{EXACT, RECORDED, TWO_READS};
use std::collections::BTreeSet;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

const THREADS: usize = 1000;
const FEW: usize = 16;
/// Some 50 to 150 ms of two processors.
const PAIRS: u64 = 4_000_000;
const ROUNDS: usize = 9;

const WAITER: &str = "waiter-";
const HOLDER: &str = "holder";

/// Waiters and holders listed by their names, while a thousand threads wait for what one has that
/// came after them all.
pub(crate) fn act() {
    let lock = &Mutex::new(0);
    let other = &Mutex::new(0);
    let step = &Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        let named = |name: &str| thread::Builder::new().name(name.to_owned());
        for number in 0..THREADS {
            let wait = move || {
                *other.lock() += 1;
                step.wait();
                step.wait();
                *lock.lock() += 1;
            };
            let waiter = named(&format!("{WAITER}{number}")).spawn_scoped(scope, wait);
            waiter.expect("the system has a thousand threads");
        }
        let hold = move || {
            step.wait();
            let _held = lock.lock();
            step.wait();
            // As long as it takes all of them to get there and to wait.
            thread::sleep(Duration::from_millis(200));
            let snapshot = registry::snapshot();
            let listed = |state| {
                let all = snapshot.in_flight().iter();
                let of_state = all.filter(move |it| it.state() == state);
                of_state.filter_map(|it| it.thread())
            };
            let waiters = listed(InFlightState::Waiting).filter(|name| name.starts_with(WAITER));
            let holders = listed(InFlightState::Holding).filter(|&name| name == HOLDER);
            println!("{}", waiters.collect::<BTreeSet<_>>().len());
            println!("{}", holders.count());
        };
        let holder = named(HOLDER).spawn_scoped(scope, hold);
        holder.expect("and one more");
    });
}

pub(crate) fn show(output: &mut Output) {
    let rounds = output.rounds(ROUNDS);
    let mut table = Table::new([
        format!("{THREADS} threads alive"),
        format!("{FEW} of them"),
        "all".to_owned(),
        "ratio".to_owned(),
        "bar".to_owned(),
    ]);
    for subject in [TWO_READS, RECORDED, EXACT] {
        subject.set_mode();
        let run = subject.build(Case::Disjoint, THREADS);
        // In the first turn each gets to know its lock.
        let turns = all_and_few(&run, THREADS, FEW, PAIRS, 2 * rounds + 2);
        let taken = turns[1..].iter();
        let millions: Vec<_> = taken.map(|it| it.millions_alone(FEW)).collect();
        let few = median(millions.iter().copied().step_by(2).collect());
        let (all, ratios) = of_neighbours(&millions).unzip();
        let ratio = median(ratios);
        let bar = if subject.name == EXACT.name {
            let what = format!("{THREADS} threads, a lock each, to {FEW} of them");
            output.at_least(what, ratio, 0.9, "")
        } else {
            String::new()
        };
        let ratio = format!("{ratio:.2}");
        table.row([subject.title(), short(few), short(median(all)), ratio, bar]);
    }
    table.print(&format!(
        "a lock each, of one class: million pairs a second by processor time, median of {rounds} \
         rounds"
    ));

    let figures = child::figures("many");
    let mut table = Table::new(["in flight, listed by name", "threads", "bar"]);
    let named = [
        ("that wait for one lock", THREADS as f64),
        ("that holds it", 1.0),
    ];
    for ((what, bar), listed) in named.into_iter().zip(figures) {
        let name = format!("in flight, threads listed {what}");
        let bar = output.at_least(name, listed, bar, "");
        table.row([what.to_owned(), format!("{listed}"), bar]);
    }
    table.print(&format!("{THREADS} threads wait for one lock"));
}
