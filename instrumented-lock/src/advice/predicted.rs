//! What would come of shorter holds, shards and readers that share, as advice.

use super::case::Case;
use super::{Advice, Confidence};
use crate::report::units::count;
use crate::snapshot::Snapshot;
use crate::what_if::{self, Prediction};
use std::fmt::Write as _;

/// One for each of the locks that are waited for longest, where something can be said.
pub(super) fn predicted(snapshot: &Snapshot, cases: &[Case<'_>]) -> Vec<Advice> {
    let worst = what_if::worst(snapshot);
    let of_case = |case: &Case<'_>| {
        let all: Vec<_> = worst
            .iter()
            .filter(|it| it.lock() == case.lock.name())
            .collect();
        let first = all.first().filter(|_| case.is_waited_for())?;
        Some(case.advice(
            Confidence::Medium,
            finding(&all),
            evidence(snapshot, case, first),
            suggestion(&all),
        ))
    };
    cases.iter().filter_map(of_case).collect()
}

fn finding(all: &[&Prediction]) -> String {
    let mut finding = "What would come of a change:".to_owned();
    for (i, it) in all.iter().enumerate() {
        let (low, high) = it.interval();
        let _ = write!(
            finding,
            "{} {}: {:.2} times as many acquisitions ({:.2} to {:.2})",
            if i > 0 { ";" } else { "" },
            it.change(),
            it.gain(),
            low / it.now(),
            high / it.now()
        );
    }
    finding.push('.');
    finding
}

fn evidence(snapshot: &Snapshot, case: &Case<'_>, first: &Prediction) -> String {
    let threads = snapshot.load().threads_time().as_secs_f64() / snapshot.elapsed().as_secs_f64();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative, and shown in whole"
    )]
    let now = count(first.now().round() as u64);
    format!(
        "a model of {threads:.1} threads that comes to the {now} acquisitions a second that were measured; {}",
        case.waiting()
    )
}

fn suggestion(all: &[&Prediction]) -> String {
    let mut assumptions: Vec<_> = all.iter().flat_map(|it| it.assumptions()).collect();
    assumptions.sort();
    assumptions.dedup();
    format!(
        "Choose by this what is worth the work. Assumed: {}",
        assumptions.join(" ")
    )
}
