//! One thread, nobody waits: each kind of lock, two nested ones, and a lock's life from creation to
//! drop.

use crate::output::{Output, Table, short};
use crate::processor::Processor;
use instrumented_lock_benches::case::{Case, Run};
use instrumented_lock_benches::measure::{alone, median};
use instrumented_lock_benches::subject::{
    BARE, EXACT, FLOORS, IN_ORDER, Mode, OURS, PEERS, Subject, TWO_READS,
};

const PAIRS: u64 = 10_000;
const ROUNDS: usize = 101;
/// A peer whose collector has to be waited for is measured once in so many rounds.
const DRAINED_ROUNDS: usize = 9;

/// Uncontended pairs.
pub(crate) fn show(output: &mut Output) {
    let cases = [
        (Case::Mutex, "Mutex", Bars::Pair),
        (Case::Read, "RwLock, read", Bars::Pair),
        (Case::Write, "RwLock, write", Bars::Pair),
        (Case::Nested, "two nested Mutexes", Bars::Nested),
    ];
    for (case, name, judged) in cases {
        table(output, case, name, judged, PEERS);
    }
}

/// A lock's life.
pub(crate) fn lifecycle(output: &mut Output) {
    // Without hotpath: it keeps two histograms of every lock there ever was.
    let peers: Vec<_> = PEERS
        .iter()
        .filter(|peer| peer.drains.is_none())
        .copied()
        .collect();
    table(
        output,
        Case::Create,
        "a Mutex created and dropped",
        Bars::None,
        &peers,
    );
    let name = "a Mutex created, used once and dropped";
    table(output, Case::CreateAndUse, name, Bars::Life, &peers);
}

/// What a table's bars are about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bars {
    None,
    /// A pair of lock and unlock.
    Pair,
    /// Two of them, one inside the other.
    Nested,
    /// A lock that lives for one pair.
    Life,
}

/// A subject's figures, one a round; fewer of a peer that has to be waited for.
struct Samples {
    subject: Subject,
    run: Run,
    wall: Vec<f64>,
    /// By round, NaN where it was left out.
    processor: Vec<f64>,
}

impl Samples {
    fn wall(&self) -> f64 {
        median(self.wall.clone())
    }

    fn processor(&self) -> f64 {
        median(present(self.processor.iter().copied()))
    }

    /// The median of the ratios, each inside one round, by processor time.
    fn to(&self, other: &Samples) -> f64 {
        let rounds = self.processor.iter().zip(&other.processor);
        median(present(rounds.map(|(this, other)| this / other)))
    }
}

fn present(figures: impl Iterator<Item = f64>) -> Vec<f64> {
    figures.filter(|figure| !figure.is_nan()).collect()
}

fn table(output: &mut Output, case: Case, name: &str, judged: Bars, peers: &[Subject]) {
    let subjects = FLOORS.into_iter().chain(OURS).chain([IN_ORDER]);
    let samples = |subject: Subject| Samples {
        subject,
        run: subject.build(case, 1),
        wall: Vec::new(),
        processor: Vec::new(),
    };
    let mut all: Vec<_> = subjects.chain(peers.iter().copied()).map(samples).collect();
    let rounds = output.rounds(ROUNDS);
    for round in 0..rounds {
        for samples in &mut all {
            if samples.subject.drains.is_some() && round % rounds.div_ceil(DRAINED_ROUNDS) != 0 {
                samples.processor.push(f64::NAN);
                continue;
            }
            let taken = alone(&samples.subject, &samples.run, PAIRS);
            samples.wall.push(taken.nanoseconds());
            samples.processor.push(taken.processor_nanoseconds());
        }
    }

    let mut table = Table::new([name, "ns", "processor ns", "× bare", "× floor", "bar"]);
    let named = |subject: Subject| all.iter().find(|it| it.subject.name == subject.name);
    let of = |subject| named(subject).unwrap_or(&all[0]);
    let (bare, floor) = (of(BARE), of(TWO_READS));
    let adds = |samples: &Samples| samples.processor() - bare.processor();
    for samples in &all {
        let (to_bare, to_floor) = (samples.to(bare), samples.to(floor));
        let of_theirs = [of(EXACT), floor].map(|it| adds(it) / adds(samples));
        let what = format!("{name}, {}", samples.subject.title());
        let bar = match judged {
            Bars::Pair | Bars::Nested if samples.subject.name == IN_ORDER.name => {
                let bar = if judged == Bars::Pair { 1.03 } else { 1.15 };
                let unfollowed = format!(" × {}", EXACT.name);
                output.at_most(what, samples.to(of(EXACT)), bar, &unfollowed)
            }
            Bars::Pair => bar_of_pair(
                output,
                &what,
                &samples.subject,
                [to_bare, to_floor],
                of_theirs,
            ),
            Bars::Life if samples.subject.name == EXACT.name => {
                output.at_most(what, to_floor, 2.5, " × floor")
            }
            Bars::Nested | Bars::Life | Bars::None => String::new(),
        };
        table.row([
            samples.subject.title(),
            short(samples.wall()),
            short(samples.processor()),
            format!("{to_bare:.2}"),
            format!("{to_floor:.2}"),
            bar,
        ]);
    }
    table.print(&format!(
        "{name}, one thread: median of {rounds} interleaved rounds of {PAIRS}; the floor is {}",
        TWO_READS.name
    ));
}

fn bar_of_pair(
    output: &mut Output,
    what: &str,
    subject: &Subject,
    [to_bare, to_floor]: [f64; 2],
    [ours, floor]: [f64; 2],
) -> String {
    let overhead =
        format!("{what}: what ours adds to bare, of what theirs adds (the floor: {floor:.3})");
    let mut of_theirs = |bar| {
        let verdict = output.at_most(&overhead, ours, bar, "");
        format!("ours adds {ours:.3} of it {verdict}")
    };
    match (subject.mode, subject.of_crate) {
        (_, Some("hotpath")) => of_theirs(0.4),
        (_, Some("locktick")) => of_theirs(0.05),
        (Some(Mode::Off), _) => output.at_most(what, to_bare, 1.25, " × bare"),
        (Some(Mode::Sampled), _) => output.at_most(what, to_bare, 1.6, " × bare"),
        (Some(Mode::WithoutSites | Mode::Exact), _) => {
            let (bar, processor) = Processor::of_this_machine().everything_to_floor();
            output.at_most(what, to_floor, bar, &format!(" × floor, {processor},"))
        }
        (None | Some(Mode::InOrder), _) => String::new(),
    }
}
