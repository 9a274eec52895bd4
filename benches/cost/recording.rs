//! Recording by itself: the library's statistic against the two ways in which others keep one.

use crate::output::{Output, Table, short};
use crate::threads::THREADS;
use instrumented_lock_benches::case::Run;
use instrumented_lock_benches::measure::{burst, median, together};
use instrumented_lock_benches::recorder::RECORDERS;
use instrumented_lock_benches::subject::BARE;
use std::time::Duration;

const SLICE: Duration = Duration::from_millis(20);
const ROUNDS: usize = 9;
const BURST: u64 = 500;
const BURSTS: usize = 31;

pub(crate) fn show(output: &mut Output) {
    let rounds = output.rounds(ROUNDS);
    let steady = |run: &Run, threads| together(&BARE, run, threads, SLICE).millions();
    let title = format!("steady recording: million adds a second, median of {rounds} rounds");
    table(output, &title, "steady", rounds, steady, Better::More);

    let rounds = output.rounds(BURSTS);
    let of_burst = |run: &Run, threads| burst(run, threads, BURST);
    let title = format!("bursts of {BURST} adds a thread: ns an add, median of {rounds} rounds");
    table(output, &title, "burst", rounds, of_burst, Better::Less);
}

#[derive(Clone, Copy)]
enum Better {
    More,
    Less,
}

fn table(
    output: &mut Output,
    title: &str,
    name: &str,
    rounds: usize,
    measure: impl Fn(&Run, usize) -> f64,
    better: Better,
) {
    let mut rows = RECORDERS.map(|(name, _)| vec![name.to_owned()]);
    let mut ahead = vec!["ours ahead of the better of the others".to_owned()];
    let mut bars = vec!["  bar".to_owned()];
    for threads in THREADS {
        let runs = RECORDERS.map(|(_, make)| make());
        let mut samples = RECORDERS.map(|_| Vec::new());
        let mut ratios = Vec::new();
        for _ in 0..rounds {
            let figures = runs.each_ref().map(|run| measure(run, threads));
            let [ours, others @ .., _floor] = figures;
            ratios.push(match better {
                Better::More => ours / others.into_iter().fold(0.0, f64::max),
                Better::Less => others.into_iter().fold(f64::MAX, f64::min) / ours,
            });
            for (samples, figure) in samples.iter_mut().zip(figures) {
                samples.push(figure);
            }
        }
        for (row, samples) in rows.iter_mut().zip(samples) {
            row.push(short(median(samples)));
        }
        let ratio = median(ratios);
        ahead.push(format!("{ratio:.2} ×"));
        let what = format!("{name} recording, threads: {threads}, to the better of the others");
        bars.push(output.at_least(what, ratio, 1.0, ""));
    }
    let threads = THREADS.map(|threads| threads.to_string());
    let mut table = Table::new(std::iter::once("threads".to_owned()).chain(threads));
    for row in rows.into_iter().chain([ahead, bars]) {
        table.row(row);
    }
    table.print(title);
}
