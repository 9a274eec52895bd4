//! What is learnt of the order of locks: a thousand classes, each taken under ten others, in a process of its
//! own.

use crate::child;
use crate::memory::{begin_to_count, growth};
use crate::output::{Output, Table, short};
use instrumented_lock::{order, registry};
use instrumented_lock_benches::classes;
use instrumented_lock_benches::measure::median;
use instrumented_lock_benches::subject::Mode;
use std::time::Duration;

const PROCESSES: usize = 11;
const OTHERS: usize = 10;

/// Edges, bytes, nanoseconds of the last edge, of a finding, and findings.
pub(crate) fn act() {
    // Each class has been used, by the same lines, so that what that allocates is not counted.
    classes::activate(1000);
    Mode::Exact.set();
    classes::nest(OTHERS);
    begin_to_count();
    Mode::InOrder.set();
    let mut times = [Duration::ZERO; 2];
    let bytes = growth(|| times = classes::nest(OTHERS));
    let edges = registry::snapshot().order().edges().len();
    println!("{edges}\n{bytes}");
    for time in times {
        println!("{}", time.as_nanos());
    }
    println!("{}", order::findings().len());
}

pub(crate) fn show(output: &mut Output) {
    let processes = output.rounds(PROCESSES);
    let figures: Vec<_> = (0..processes).map(|_| child::figures("order")).collect();
    let column = |column: usize| median(figures.iter().map(|figures| figures[column]).collect());
    let edges = column(0);
    assert!(
        figures.iter().all(|figures| (figures[4] - 1.0).abs() < 0.5),
        "one circle"
    );
    let mut table = Table::new(["the order of locks", "", "bar"]);
    table.row(["edges learnt", &format!("{edges:.0}"), ""]);
    let of_one = column(1) / edges;
    let bar = output.at_most("an edge of 10,000, bytes", of_one, 64.0, "");
    table.row(["bytes an edge, all room included", &short(of_one), &bar]);
    table.row(["a new edge, µs", &short(column(2) / 1e3), ""]);
    let finding = column(3) / 1e3;
    let bar = output.at_most("a circle found among 10,000 edges, µs", finding, 100.0, "");
    table.row(["an edge that closes a circle, µs", &short(finding), &bar]);
    table.print(&format!(
        "1,000 classes, each taken under {OTHERS} others: median of {processes} processes"
    ));
}
