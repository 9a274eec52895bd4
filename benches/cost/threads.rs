//! Many threads: disjoint locks of one class, one contended mutex, a herd of readers.
//!
//! Every slice is set against those of the floor right before and after it, with the same threads:
//! the floor itself has two states on some machines, and a median over all of its slices would
//! compare one state with the other. In the same way, what has a bar is set against the floor that is
//! recorded.

use crate::output::{Output, Table, short};
use instrumented_lock_benches::case::Case;
use instrumented_lock_benches::measure::{
    Taken, alternating, in_turns, median, of_neighbours, processors, together,
};
use instrumented_lock_benches::subject::{
    EXACT, FLOORS, OURS, PEERS, RECORDED, Subject, TWO_READS,
};
use std::time::Duration;

/// From one to many more than there are processors.
pub(crate) const THREADS: [usize; 7] = [1, 2, 4, 8, 16, 32, 80];

/// Of what has a bar.
const SLICE: Duration = Duration::from_millis(20);
const PAIRS: usize = 15;
/// Of all others.
const SHORT_SLICE: Duration = Duration::from_millis(10);
const FEW_PAIRS: usize = 3;
const TRIES: usize = 5;

pub(crate) fn show(output: &mut Output) {
    let name = "disjoint mutexes of one class";
    table(output, Case::Disjoint, name, 0.85, 1);
    let name = "disjoint mutexes of one class, 100 ns of work inside";
    table(output, Case::DisjointWorking, name, 0.95, 1);
    let name = "a herd of readers on one RwLock, 100 ns of work inside";
    table(output, Case::ReadHerd, name, 0.95, 1);
    // One thread alone does not contend.
    let name = "one mutex, contended";
    table(output, Case::Mutex, name, 0.55, 2);
    let name = "one mutex, contended, 250 ns of work inside";
    table(output, Case::MutexWorking, name, 0.85, 2);
}

/// One cell: million pairs a second, and the ratio to what it is compared with.
struct Cell {
    millions: f64,
    ratio: f64,
}

/// The bar is of the floor that is recorded, from so many threads on.
fn table(output: &mut Output, case: Case, name: &str, bar: f64, from: usize) {
    let subjects: Vec<_> = FLOORS.iter().chain(&OURS).chain(PEERS).collect();
    let mut rows = vec![Vec::new(); subjects.len()];
    let (mut of_recorded, mut bars) = (Vec::new(), Vec::new());
    let (pairs, few) = (output.rounds(PAIRS), output.rounds(FEW_PAIRS));
    for threads in THREADS {
        for (subject, row) in subjects.iter().zip(&mut rows) {
            let cell = measure(case, [subject, &TWO_READS], threads, SHORT_SLICE, few);
            row.push(format!("{} ({:.2})", short(cell.millions), cell.ratio));
        }
        let cell = measure(case, [&EXACT, &RECORDED], threads, SLICE, pairs);
        of_recorded.push(format!("{:.2}", cell.ratio));
        bars.push(if threads < from {
            String::new()
        } else {
            let what = format!("{name}, threads: {threads}, of {}", RECORDED.name);
            output.at_least(what, cell.ratio, bar, "")
        });
    }
    let line = |name: String, cells: Vec<String>| [name].into_iter().chain(cells);
    let threads = THREADS.map(|threads| threads.to_string());
    let mut table = Table::new(line("threads".to_owned(), threads.to_vec()));
    for (subject, cells) in subjects.iter().zip(rows) {
        table.row(line(subject.title(), cells));
        if subject.name == EXACT.name {
            let name = format!("  of {}", RECORDED.name);
            table.row(line(name, of_recorded.clone()));
            table.row(line("  bar".to_owned(), bars.clone()));
        }
    }
    let by = if case.sleeps() {
        "by the wall clock"
    } else {
        "by processor time"
    };
    table.print(&format!(
        "{name}, {} processors: million pairs a second {by} (of {}, slice by slice)",
        processors(),
        TWO_READS.name
    ));
}

/// The first subject, compared with the second.
fn measure(
    case: Case,
    [subject, base]: [&Subject; 2],
    threads: usize,
    slice: Duration,
    pairs: usize,
) -> Cell {
    let of_base = base.build(case, threads);
    let run = subject.build(case, threads);
    let figures = if case.sleeps() || subject.drains.is_some() {
        // By the wall clock where threads sleep, else by processor time.
        let millions = |taken: Taken| {
            if case.sleeps() {
                taken.millions()
            } else {
                taken.millions_alone(threads)
            }
        };
        let one = |round: usize| {
            let base = || millions(together(base, &of_base, threads, slice));
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
            let slices = alternating([&run, &of_base], threads, slice, 2 * pairs + 2);
            let millions: Vec<_> = slices.iter().map(|it| it.millions_alone(threads)).collect();
            figures.extend(of_neighbours(&millions[1..]));
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
