//! The first acquisition of a process: each in a process of its own.

use crate::child;
use crate::output::{Output, Table, short};
use instrumented_lock::drop_in::Mutex;
use instrumented_lock_benches::measure::median;
use std::time::Instant;

const PROCESSES: usize = 21;

/// The first lock, then the first unlock, of either kind.
pub(crate) fn act() {
    static BARE: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);
    static OURS: Mutex<u64> = Mutex::new(0);

    // The first read of the clock is not what is measured.
    let _ = Instant::now().elapsed();
    let start = Instant::now();
    let guard = BARE.lock();
    let locked = start.elapsed();
    drop(guard);
    println!("{}\n{}", locked.as_nanos(), start.elapsed().as_nanos());

    let start = Instant::now();
    let guard = OURS.lock();
    let locked = start.elapsed();
    drop(guard);
    println!("{}\n{}", locked.as_nanos(), start.elapsed().as_nanos());
}

pub(crate) fn show(output: &mut Output) {
    let processes = output.rounds(PROCESSES);
    let figures: Vec<_> = (0..processes).map(|_| child::figures("first")).collect();
    let column = |column: usize| {
        let all = figures.iter().map(|figures| figures[column] / 1e3);
        median(all.collect())
    };
    let mut table = Table::new([
        "the first of a process",
        "lock, µs",
        "lock and unlock, µs",
        "bar",
    ]);
    table.row(["bare parking_lot", &short(column(0)), &short(column(1)), ""]);
    let bar = output.at_most(
        "first lock and unlock of a process, µs",
        column(3),
        1000.0,
        "",
    );
    table.row([
        "exact, everything",
        &short(column(2)),
        &short(column(3)),
        &bar,
    ]);
    table.print(&format!(
        "the first acquisition of a process: median of {processes} processes"
    ));
}
