//! HDDS-9377 (apache/ozone#11085): a lock whose times are recorded into statistics that are each
//! behind one mutex, so that what measures the lock is waited for more than the lock.
//!
//! - `manager`: the manager, with metrics of either shape
//! - `statistics`: one mutex, striped adders, and this library's [`Statistic`]
//! - `race`: the three against each other

mod manager;
mod race;
mod statistics;

pub use manager::{Loaded, PREFIX, TABLE, Time, load};
pub use race::{Three, Times, burst, contradictions, steady};
pub use statistics::{Add, Adders, Moments, Summary, Synchronized};

use crate::incident::{Incident, Options, Until, grouped, table_of};
use instrumented_lock::{LockSnapshot, Statistic};
use std::io::{self, Write};
use std::thread;
use std::time::Duration;

/// The example.
pub const INCIDENT: Incident = Incident {
    name: "ozone_lock_metrics",
    about: "Lock times recorded behind mutexes, by adders, and by stripes (HDDS-9377).",
    threads: "1, 10, 20, 40, 60 and 80 in the tables, 8 for the manager",
    seconds: "how long each cell of the second table and each manager runs; default: 0.5",
    run,
};

/// Threads, and how much faster striped adders were reported to be than a synchronized statistic,
/// in a burst and in the steady state, on x86.
const REPORTED: [(usize, f64, f64); 6] = [
    (1, 1.1, 1.7),
    (10, 5.0, 122.0),
    (20, 5.7, 218.0),
    (40, 5.6, 309.0),
    (60, 11.5, 428.0),
    (80, 7.4, 451.0),
];

/// Bursts of each kind: fewer where they take long.
fn bursts(threads: usize) -> usize {
    (600 / threads).clamp(9, 51)
}

/// Slices that each cell of the second table is cut into; the kinds take turns.
const SLICES: u32 = 3;

fn run(options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let each = options.seconds.unwrap_or(Duration::from_millis(500));
    let threads = match options.threads {
        Some(n) => vec![n],
        None => REPORTED.map(|(n, ..)| n).to_vec(),
    };
    writeln!(
        out,
        "ozone_lock_metrics: what measures the lock is the bottleneck (HDDS-9377, \
         apache/ozone#11085)\n\n\
         Expected, as reported: striped adders are faster than a synchronized statistic by 1.1× to \
         11.5× in a\nburst and by 1.7× to 451× in the steady state (x86; last column of the \
         tables), but in a burst on ARM\nslower: 0.3×. The reviewers' worries: minimum and maximum \
         lost, p99 lost, a wrong standard deviation,\nmemory, reads that contradict themselves. \
         Ours is to be slower than neither and to lose none of those.\n\n\
         Measured: on {} processors, with one statistic of each kind for all bursts, as metrics live \
         long\n",
        thread::available_parallelism().map_or(1, usize::from),
    )?;

    let columns = format!(
        "  {:>38}{:>26}{:>34}\n  {:>7}{:>14}{:>9}{:>8}{:>16}{:>10}{:>18}{:>12}",
        "",
        "ours faster than",
        "striped faster than synchronized",
        "threads",
        "synchronized",
        "striped",
        "ours",
        "synchronized",
        "striped",
        "measured",
        "reported",
    );
    writeln!(
        out,
        "Burst: 500 adds a thread from a barrier; ns an add as its thread sees it, median\n\
         {columns}"
    )?;
    for &n in &threads {
        let reported = REPORTED
            .iter()
            .find(|(of, ..)| *of == n)
            .map(|&(_, burst, _)| burst);
        row(out, n, burst(n, bursts(n)), reported)?;
    }
    writeln!(
        out,
        "\nSteady state: {each:?} a cell; elapsed ns by adds of all threads, median of {SLICES}\n\
         {columns}"
    )?;
    for &n in &threads {
        let reported = REPORTED
            .iter()
            .find(|(of, ..)| *of == n)
            .map(|&(.., steady)| steady);
        row(out, n, steady(n, SLICES, each), reported)?;
    }

    worries(out)?;
    managers(options, out)?;
    writeln!(
        out,
        "\nThe cause: the mutexes of the statistics are waited for more often than the lock whose \
         times they\nkeep, since each read of the table, which excludes nobody, takes two of them. \
         In the fixed shape there\nis no lock but the manager's own. (And this very report has its \
         times without any metrics.)"
    )
}

fn row(out: &mut dyn Write, threads: usize, times: Times, reported: Option<f64>) -> io::Result<()> {
    let [synchronized, striped, ours] = times;
    let reported = reported.map_or_else(String::new, |ratio| format!("{ratio}×"));
    writeln!(
        out,
        "  {threads:>7}{synchronized:>14.1}{striped:>9.1}{ours:>8.1}{:>15.2}×{:>9.2}×{:>17.2}×\
         {reported:>12}",
        synchronized / ours,
        striped / ours,
        synchronized / striped,
    )
}

/// What the same samples look like in all three, in how much memory, and whether a read in
/// mid-stream contradicts itself.
fn worries(out: &mut dyn Write) -> io::Result<()> {
    let (exact, [synchronized, striped, ours]) = same_samples(8, 10_000);
    writeln!(out, "\nThe same 80,000 durations from 8 threads, in ns\n")?;
    writeln!(
        out,
        "  {:<13}{:>8}{:>10}{:>7}{:>12}{:>10}{:>9}   memory",
        "", "count", "mean", "min", "max", "std dev", "p99"
    )?;
    let cell = |value: Option<f64>| value.map_or_else(|| "lost".to_owned(), |v| format!("{v:.0}"));
    let rows = [
        ("sorted", exact, String::new()),
        (
            "synchronized",
            synchronized,
            format!("{} B", size_of::<Synchronized>()),
        ),
        (
            "striped",
            striped,
            format!("{} B, by processors", Adders::new().memory()),
        ),
        (
            "ours",
            ours,
            format!(
                "{} B, and 1.5 KiB a thread, 68 at most",
                size_of::<Statistic>()
            ),
        ),
    ];
    for (name, summary, memory) in rows {
        let Summary {
            count,
            mean,
            min,
            max,
            std_dev,
            p99,
        } = summary;
        writeln!(
            out,
            "  {name:<13}{count:>8}{mean:>10.0}{min:>7.0}{max:>12.0}{:>10}{:>9}   {memory}",
            cell(std_dev),
            cell(p99),
        )?;
    }
    writeln!(
        out,
        "\n  reads whose sum and count do not belong together, while two threads add"
    )?;
    let [striped, ours] = contradictions(Duration::from_millis(100));
    for (name, (reads, wrong)) in [("striped", striped), ("ours", ours)] {
        let (wrong, reads) = (grouped(wrong), grouped(reads));
        writeln!(out, "  {name:<13}{wrong:>8} of {reads}")?;
    }
    Ok(())
}

/// What the three say of the same durations, behind what is true.
pub fn same_samples(threads: usize, each: usize) -> (Summary, [Summary; Three::KINDS]) {
    // Mostly short, some long, one very long: as holds are.
    let sample = |i: usize| match i {
        0 => 1_234_567,
        i if i.is_multiple_of(50) => 20_000 + i as u64,
        i => 100 + (i as u64 * 7919) % 900,
    };
    let mut samples: Vec<u64> = (0..threads * each).map(sample).collect();
    let (synchronized, adders, ours) = (Synchronized::default(), Adders::new(), Statistic::new());
    thread::scope(|scope| {
        for samples in samples.chunks(each.max(1)) {
            let all: [&dyn Add; Three::KINDS] = [&synchronized, &adders, &ours];
            scope.spawn(move || {
                for &ns in samples {
                    for statistic in all {
                        statistic.add(Duration::from_nanos(ns));
                    }
                }
            });
        }
    });
    samples.sort_unstable();
    let n = samples.len() as f64;
    let mean = samples.iter().sum::<u64>() as f64 / n;
    let deviations = samples.iter().map(|&ns| (ns as f64 - mean).powi(2));
    let at = |i: usize| samples.get(i).map_or(f64::NAN, |&ns| ns as f64);
    let exact = Summary {
        count: samples.len() as u64,
        mean,
        min: at(0),
        max: at(samples.len().saturating_sub(1)),
        std_dev: Some((deviations.sum::<f64>() / (n - 1.0)).sqrt()),
        p99: Some(at(samples.len() * 99 / 100)),
    };
    (exact, [synchronized.read(), adders.read(), ours.read()])
}

fn managers(options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let threads = options.threads.unwrap_or(8);
    let until = Until::Elapsed(options.seconds.unwrap_or(Duration::from_millis(500)));
    writeln!(
        out,
        "\nThe manager: {threads} threads that look up and sometimes change, read and write wait \
         and hold recorded"
    )?;
    for &shape in &options.shapes {
        let loaded = load(shape, threads, until);
        writeln!(
            out,
            "\nThe report, {shape}: {:.0} operations/ms, times recorded: {}",
            loaded.driven.rate() / 1000.0,
            grouped(loaded.recorded.iter().sum()),
        )?;
        let mut ours: Vec<_> = (loaded.report.locks().iter())
            .filter(|lock| lock.name().starts_with(PREFIX) && acquisitions(lock) > 0)
            .collect();
        ours.sort_by_key(|lock| std::cmp::Reverse(contended(lock)));
        writeln!(out, "  {:>12}{:>12}   lock", "acquisitions", "contended")?;
        for lock in &ours {
            let (n, waited) = (grouped(acquisitions(lock)), grouped(contended(lock)));
            writeln!(out, "  {n:>12}{waited:>12}   {}", lock.name())?;
        }
        if let Some(first) = ours.first() {
            writeln!(out, "{}", table_of(&loaded.report, first.name()))?;
        }
    }
    Ok(())
}

fn acquisitions(lock: &LockSnapshot) -> u64 {
    lock.modes().map(|(_, mode)| mode.acquisitions()).sum()
}

/// How often the lock was waited for.
pub fn contended(lock: &LockSnapshot) -> u64 {
    lock.modes().map(|(_, mode)| mode.contended()).sum()
}
