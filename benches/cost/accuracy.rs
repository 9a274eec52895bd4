//! Whether the recorded holds are as long as they were: the mean of many holds of about 100 ns of
//! dependent work, against reads of the clock that are ordered with it.

use crate::output::{Output, Table, short};
use instrumented_lock::drop_in::Mutex;
use instrumented_lock::{clock as recorded, registry};
use instrumented_lock_benches::measure::median;
use instrumented_lock_benches::subject::Mode;
use instrumented_lock_benches::{clock, work};
use std::time::Instant;

const HOLDS: u64 = 20_000;
const ROUNDS: usize = 31;

static OURS: Mutex<u64> = Mutex::new(0);
static BARE: parking_lot::Mutex<u64> = parking_lot::Mutex::new(0);

pub(crate) fn show(output: &mut Output) {
    Mode::Exact.set();
    let rounds = output.rounds(ROUNDS);
    let mut figures = [const { Vec::new() }; 6];
    for _ in 0..rounds {
        let [ordered, ordered_pair] = by_ordered_reads();
        recorded::set_ordered(false);
        let [plain, plain_pair] = by_the_library();
        recorded::set_ordered(true);
        let [with_option, option_pair] = by_the_library();
        recorded::set_ordered(false);
        let round = [
            ordered,
            plain,
            with_option,
            ordered_pair,
            plain_pair,
            option_pair,
        ];
        for (figures, figure) in figures.iter_mut().zip(round) {
            figures.push(figure);
        }
    }
    let [
        ordered,
        plain,
        option,
        ordered_pair,
        plain_pair,
        option_pair,
    ] = figures.map(median);

    let mut table = Table::new([
        "hold of 100 ns",
        "mean recorded, ns",
        "bias",
        "a pair, ns",
        "bar",
    ]);
    let mut row = |name: &str, mean: f64, pair: f64, bar: String| {
        let bias = format!("{:+.1} %", (mean / ordered - 1.0) * 100.0);
        table.row([name, &short(mean), &bias, &short(pair), &bar]);
    };
    let off_by = |mean: f64| (mean / ordered - 1.0).abs() * 100.0;
    row(
        "bare, ordered reads of the clock",
        ordered,
        ordered_pair,
        String::new(),
    );
    // What it is short by is documented, with what removes it.
    row("exact, everything", plain, plain_pair, String::new());
    let what = "recorded mean off by, %, with the ordered clock";
    let bar = output.at_most(what, off_by(option), 10.0, " %");
    row("exact, with the ordered clock", option, option_pair, bar);
    table.print(&format!(
        "accuracy: median of {rounds} rounds of {HOLDS} holds of dependent work"
    ));
}

/// The mean hold, and the time that one pair took from outside.
fn by_ordered_reads() -> [f64; 2] {
    let start = Instant::now();
    let mut ticks = 0;
    for _ in 0..HOLDS {
        let guard = BARE.lock();
        let start = clock::ordered();
        work::nanoseconds(100);
        ticks += clock::ordered() - start;
        drop(guard);
    }
    let pair = start.elapsed().as_nanos() as f64 / HOLDS as f64;
    [ticks as f64 / HOLDS as f64 * clock::tick(), pair]
}

fn by_the_library() -> [f64; 2] {
    *OURS.lock() += 1;
    let before = registry::snapshot();
    let start = Instant::now();
    for _ in 0..HOLDS {
        let guard = OURS.lock();
        work::nanoseconds(100);
        drop(guard);
    }
    let pair = start.elapsed().as_nanos() as f64 / HOLDS as f64;
    let interval = registry::snapshot().since(&before);
    let mut holds = interval.locks().iter().map(|lock| lock.write().hold());
    let ours = holds.find(|hold| hold.count() == HOLDS);
    let mean = ours.map_or(f64::NAN, |hold| hold.sum().as_nanos() as f64 / HOLDS as f64);
    [mean, pair]
}
