//! The rules that can be allowed and denied by name, and sets of them.

use proc_macro2::Ident;

/// What a rule looks at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    /// The types of an annotated struct, enum or static.
    Types,
    /// The body of an annotated function, or those of an annotated `impl`.
    Bodies,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    ForeignLock,
    NestedLock,
    StoredGuard,
    UnsharedLock,
    LockOfAtomic,
    DuplicateName,
    BadRank,
    Relock,
    ScrutineeGuard,
    DiscardedGuard,
    GuardAcrossAwait,
    GuardAcrossCall,
    RankOrder,
}

const RULES: [Rule; 13] = [
    Rule::ForeignLock,
    Rule::NestedLock,
    Rule::StoredGuard,
    Rule::UnsharedLock,
    Rule::LockOfAtomic,
    Rule::DuplicateName,
    Rule::BadRank,
    Rule::Relock,
    Rule::ScrutineeGuard,
    Rule::DiscardedGuard,
    Rule::GuardAcrossAwait,
    Rule::GuardAcrossCall,
    Rule::RankOrder,
];

impl Rule {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Rule::ForeignLock => "foreign_lock",
            Rule::NestedLock => "nested_lock",
            Rule::StoredGuard => "stored_guard",
            Rule::UnsharedLock => "unshared_lock",
            Rule::LockOfAtomic => "lock_of_atomic",
            Rule::DuplicateName => "duplicate_name",
            Rule::BadRank => "bad_rank",
            Rule::Relock => "relock",
            Rule::ScrutineeGuard => "scrutinee_guard",
            Rule::DiscardedGuard => "discarded_guard",
            Rule::GuardAcrossAwait => "guard_across_await",
            Rule::GuardAcrossCall => "guard_across_call",
            Rule::RankOrder => "rank_order",
        }
    }

    pub(crate) fn named(name: &Ident) -> Option<Self> {
        RULES.into_iter().find(|rule| name == rule.name())
    }

    pub(crate) fn subject(self) -> Subject {
        if (self as usize) < Rule::Relock as usize {
            Subject::Types
        } else {
            Subject::Bodies
        }
    }
}

/// The names of all rules that look at `subject`.
pub(crate) fn names_for(subject: Subject) -> Vec<&'static str> {
    let rules = RULES.into_iter().filter(|rule| rule.subject() == subject);
    rules.map(Rule::name).collect()
}

#[derive(Clone, Copy, Default)]
pub(crate) struct Rules(u16);

impl Rules {
    pub(crate) fn has(self, rule: Rule) -> bool {
        self.0 & (1 << rule as u16) != 0
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Rules(self.0 | other.0)
    }

    pub(crate) fn without(self, other: Self) -> Self {
        Rules(self.0 & !other.0)
    }
}

impl FromIterator<Rule> for Rules {
    fn from_iter<I: IntoIterator<Item = Rule>>(rules: I) -> Self {
        let bits = rules.into_iter().map(|rule| 1 << rule as u16);
        Rules(bits.fold(0, |all, bit| all | bit))
    }
}
