//! Many threads: disjoint locks of one class, one contended mutex, a herd of readers.
//!
//! Every slice is set against those of the floor right before and after it, with the same threads:
//! the floor itself has two states on some machines, and a median over all of its slices would
//! compare one state with the other.

use crate::output::{Output, Table, short};
use instrumented_lock_benches::case::Case;
use instrumented_lock_benches::measure::{
    Taken, alternating, in_turns, median, processors, together,
};
use instrumented_lock_benches::subject::{EXACT, FLOORS, OURS, PEERS, Subject, TWO_READS};
use std::time::Duration;

/// From one to more than the library has slots for.
pub(crate) const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 80];

/// Of what has a bar.
const SLICE: Duration = Duration::from_millis(20);
const PAIRS: usize = 15;
/// Of all others.
const SHORT_SLICE: Duration = Duration::from_millis(10);
const FEW_PAIRS: usize = 3;
const TRIES: usize = 5;

pub(crate) fn show(output: &mut Output) {
    table(
        output,
        Case::Disjoint,
        "disjoint mutexes of one class",
        Some(0.90),
    );
    let name = "disjoint mutexes of one class, 100 ns of work inside";
    table(output, Case::DisjointWorking, name, Some(0.90));
    let name = "a herd of readers on one RwLock, 100 ns of work inside";
    table(output, Case::ReadHerd, name, Some(0.93));
    table(output, Case::Mutex, "one mutex, contended", None);
}

/// One cell: million pairs a second, and the ratio to the floor.
struct Cell {
    millions: f64,
    ratio: f64,
}

fn table(output: &mut Output, case: Case, name: &str, bar: Option<f64>) {
    let subjects = FLOORS.iter().chain(&OURS).chain(PEERS);
    let subjects: Vec<_> = subjects.collect();
    let mut rows = vec![Vec::new(); subjects.len()];
    let mut bars = Vec::new();
    for threads in THREADS {
        for (subject, row) in subjects.iter().zip(&mut rows) {
            let has_bar = bar.is_some() && subject.name == EXACT.name;
            let cell = measure(output, case, subject, threads, has_bar);
            if let Some(bar) = bar.filter(|_| has_bar) {
                let what = format!("{name}, threads: {threads}, to the floor");
                bars.push(output.at_least(what, cell.ratio, bar, ""));
            }
            row.push(format!("{} ({:.2})", short(cell.millions), cell.ratio));
        }
    }
    let threads = THREADS.map(|threads| threads.to_string());
    let mut table = Table::new(std::iter::once("threads".to_owned()).chain(threads));
    for (subject, cells) in subjects.iter().zip(rows) {
        table.row(std::iter::once(subject.title()).chain(cells));
        if subject.name == EXACT.name && !bars.is_empty() {
            table.row(std::iter::once("  bar".to_owned()).chain(bars.iter().cloned()));
        }
    }
    let by = match case {
        Case::Mutex => "by the wall clock",
        _ => "by processor time",
    };
    table.print(&format!(
        "{name}, {} processors: million pairs a second {by} (of {}, slice by slice)",
        processors(),
        TWO_READS.name
    ));
}

fn measure(output: &Output, case: Case, subject: &Subject, threads: usize, has_bar: bool) -> Cell {
    let (slice, pairs) = if has_bar {
        (SLICE, output.rounds(PAIRS))
    } else {
        (SHORT_SLICE, output.rounds(FEW_PAIRS))
    };
    let base = TWO_READS.build(case, threads);
    let run = subject.build(case, threads);
    let figures = if case == Case::Mutex || subject.drains.is_some() {
        // By the wall clock where threads sleep, else by processor time.
        let millions = |taken: Taken| match case {
            Case::Mutex => taken.millions(),
            _ => taken.millions_alone(threads),
        };
        let one = |round: usize| {
            let base = || millions(together(&TWO_READS, &base, threads, slice));
            let this = || millions(together(subject, &run, threads, slice));
            let (base, this) = in_turns(round, base, this);
            (this, this / base)
        };
        (0..pairs).map(one).collect()
    } else {
        subject.set_mode();
        let mut figures = Vec::new();
        // A slice that nobody was awake in has no figure; a machine can be that busy.
        for _ in 0..TRIES {
            // The first slice, in which the threads arrive, is nobody's.
            let slices = alternating([&run, &base], threads, slice, 2 * pairs + 2);
            let millions: Vec<_> = slices.iter().map(|it| it.millions_alone(threads)).collect();
            let of_neighbours = |of: &[f64]| (of[1], of[1] * 2.0 / (of[0] + of[2]));
            let pairs_of_slices = millions[1..].windows(3).step_by(2).map(of_neighbours);
            figures.extend(pairs_of_slices.filter(|(_, ratio)| ratio.is_finite()));
            if figures.len() > pairs / 2 {
                break;
            }
        }
        figures
    };
    let (millions, ratios) = figures.into_iter().unzip();
    Cell {
        millions: median(millions),
        ratio: median(ratios),
    }
}
