//! What the rules for types say, and what is said of rules.

use super::words::list;
use crate::attr::Place;
use crate::foreign::{Family, Foreign};
use crate::rule::{self, Rule, Subject};

pub(crate) fn unknown_rule(name: &str, is_elsewhere: bool, place: Place) -> String {
    let rules = list(&rule::names_for(place.subject()), "and");
    let looks_at = match place.subject() {
        Subject::Types => "the types of locks",
        Subject::Bodies => "function bodies",
    };
    if is_elsewhere {
        format!("`{name}` has nothing to do with {looks_at}, the rules for these are {rules}")
    } else {
        format!("unknown rule `{name}`, the rules for {looks_at} are {rules}")
    }
}

pub(crate) fn foreign_lock(lock: &Foreign, place: Place) -> String {
    let path = lock.path.segments.iter();
    let path: Vec<_> = path.map(|segment| segment.ident.to_string()).collect();
    let ours = format!("`instrumented_lock::{}`", lock.replacement);
    let instead = match lock.family {
        Family::Plain => format!("write {ours}"),
        Family::Std => format!(
            "import it from `instrumented_lock::std_sync::annotated`, or write {ours}, which is not poisoned"
        ),
        Family::Tokio if lock.replacement == "Semaphore" => {
            "import it from `instrumented_lock::tokio::annotated`".to_owned()
        }
        Family::Tokio => format!(
            "import it from `instrumented_lock::tokio::annotated`, or write {ours} where its guard need not \
             live across an `.await`"
        ),
        Family::Async => {
            format!("write {ours} where its guard need not live across an `.await`")
        }
    };
    format!(
        "`{}` is a lock that nobody measures: {instead}; {}",
        path.join("::"),
        to_allow(Rule::ForeignLock, place),
    )
}

pub(crate) fn nested_lock(inner: &str, outer: &str, place: Place) -> String {
    format!(
        "{} inside the data of {}: who reaches it has locked the outer one already; put it \
         beside the outer lock or in an `Arc`, or keep its data bare; {}",
        a(inner),
        a(outer),
        to_allow(Rule::NestedLock, place),
    )
}

pub(crate) fn stored_guard(guard: &str, place: Place) -> String {
    format!(
        "{} in a field keeps its lock locked for as long as the value lives: keep the lock, and \
         lock it where it is used; {}",
        a(guard),
        to_allow(Rule::StoredGuard, place),
    )
}

pub(crate) fn unshared_lock(lock: &str, owner: &str, place: Place) -> String {
    let instead = match owner {
        "Rc" => "write `Arc` to share it, or `RefCell` in place of the lock",
        _ => "remove one of the two",
    };
    format!(
        "no second thread gets at {} behind `{owner}`: {instead}; {}",
        a(lock),
        to_allow(Rule::UnsharedLock, place),
    )
}

pub(crate) fn lock_of_atomic(lock: &str, atomic: &str, place: Place) -> String {
    let plain = match atomic {
        "AtomicPtr" => "a plain pointer".to_owned(),
        _ => format!("`{}`", atomic.trim_start_matches("Atomic").to_lowercase()),
    };
    format!(
        "{} around `{atomic}` synchronizes twice: write `{atomic}` alone, or {plain} in the lock; {}",
        a(lock),
        to_allow(Rule::LockOfAtomic, place),
    )
}

pub(crate) fn duplicate_name(name: &str, first: &str, place: Place) -> String {
    format!(
        "`{first}` has the lock name `{name}` already, write another `#[lock(name = \"...\")]`; {}",
        to_allow(Rule::DuplicateName, place),
    )
}

pub(crate) fn duplicate_rank(rank: u32, first: &str) -> String {
    format!(
        "`{first}` has the rank {rank} already, so neither lock may be taken while the other is \
         held: write another `#[lock(rank = ...)]`; {}",
        to_allow(Rule::BadRank, Place::Field),
    )
}

pub(crate) fn no_rank(place: Place) -> String {
    let attribute = place.attribute();
    format!(
        "`rank` takes an integer from 0 to {}, write `#[{attribute}(rank = 10)]`",
        u32::MAX
    )
}

/// How to silence the rule.
fn to_allow(rule: Rule, place: Place) -> String {
    let rule = rule.name();
    match place {
        Place::Static => format!("to keep it, write `#[instrumented(allow({rule}))]`"),
        _ => format!("to keep it, write `#[lock(allow({rule}))]` on the field"),
    }
}

fn a(lock: &str) -> String {
    let article = if lock.starts_with(['A', 'O']) || lock.starts_with("Rw") {
        "an"
    } else {
        "a"
    };
    format!("{article} `{lock}`")
}
