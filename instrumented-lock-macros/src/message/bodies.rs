//! What the rules for function bodies say.

use crate::rule::Rule;

pub(crate) fn relock(lock: &str, reads_only: bool, first: usize, here: usize) -> String {
    let (locked, deadlocks) = if reads_only {
        (
            "read-locked",
            "which deadlocks as soon as a writer waits in between",
        )
    } else {
        ("locked", "which deadlocks")
    };
    let guard = if first == here {
        "another guard of it in this line".to_owned()
    } else {
        format!("the guard of line {first}")
    };
    format!(
        "`{lock}` is {locked} again while {guard} is alive, {deadlocks}: drop that one first, or \
         use it for both; {}",
        to_allow(Rule::Relock),
    )
}

pub(crate) fn rank_order(taken: &str, held: &str, first: usize) -> String {
    format!(
        "`{taken}` is taken under `{held}`, locked in line {first}, whose rank is not lower: take \
         them in the order of their ranks; {}",
        to_allow(Rule::RankOrder),
    )
}

pub(crate) fn discarded_guard(lock: &str, call: &str) -> String {
    format!(
        "`{lock}` is unlocked at once, for nothing keeps the guard: write `let _guard = {call};`, \
         or `drop({call})` if that is meant; {}",
        to_allow(Rule::DiscardedGuard),
    )
}

pub(crate) fn unnamed_guard(lock: &str, call: &str) -> String {
    format!(
        "nothing names the guard of `{lock}`, which lives to the end of the block: write `let \
         _guard = {call};` before it; {}",
        to_allow(Rule::DiscardedGuard),
    )
}

pub(crate) fn scrutinee_guard(lock: &str, is_needless: bool) -> String {
    let need = if is_needless {
        "which does not need it"
    } else {
        "which may be longer than needed"
    };
    format!(
        "the guard of `{lock}` lives to the end of the block, {need}: take the value in a `let` \
         before; {}",
        to_allow(Rule::ScrutineeGuard),
    )
}

pub(crate) fn guard_across_await(lock: &str, first: usize) -> String {
    format!(
        "the guard of `{lock}`, taken in line {first}, is alive at this `.await`: other tasks of \
         this thread may wait for the lock meanwhile, so drop the guard first; {}",
        to_allow(Rule::GuardAcrossAwait),
    )
}

pub(crate) fn guard_across_call(lock: &str, method: &str, first: usize) -> String {
    format!(
        "`{lock}`, locked in line {first}, is held across `self.{method}()`, which locks too: \
         drop the guard first, or pass it on; {}",
        to_allow(Rule::GuardAcrossCall),
    )
}

fn to_allow(rule: Rule) -> String {
    let rule = rule.name();
    format!("to keep it, write `#[lock(allow({rule}))]` on the statement")
}
