//! A mistake in a body, and the places in the source that it is about.

use super::place::Asked;
use proc_macro2::Span;
use quote::ToTokens;
use std::collections::HashSet;
use syn::{Attribute, Expr, ExprMethodCall};

/// A place in the source.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(crate) start: Span,
    pub(crate) end: Span,
}

impl Site {
    pub(crate) fn of(tokens: &impl ToTokens) -> Self {
        let mut spans = tokens
            .to_token_stream()
            .into_iter()
            .map(|token| token.span());
        let start = spans.next().unwrap_or_else(Span::call_site);
        let end = spans.last().unwrap_or(start);
        Site { start, end }
    }

    /// As [`Site::of`], without making tokens of the whole call: there are many.
    pub(crate) fn of_call(call: &ExprMethodCall) -> Self {
        let mut receiver = &*call.receiver;
        loop {
            receiver = match receiver {
                Expr::Field(field) => &field.base,
                Expr::Index(index) => &index.expr,
                Expr::MethodCall(call) => &call.receiver,
                Expr::Path(path) if path.qself.is_none() && path.path.leading_colon.is_none() => {
                    let first = path.path.segments.first();
                    let start = first.map_or_else(Span::call_site, |part| part.ident.span());
                    let end = call.paren_token.span.close();
                    return Site { start, end };
                }
                _ => return Site::of(call),
            };
        }
    }

    pub(crate) fn line(self) -> usize {
        self.start.start().line
    }

    /// Lines and columns of the two ends.
    pub(super) fn position(self) -> [usize; 4] {
        let (start, end) = (self.start.start(), self.end.end());
        [start.line, start.column, end.line, end.column]
    }
}

/// A mistake.
pub(crate) struct Finding {
    pub(crate) at: Site,
    /// Where the guard was taken that is in the way.
    pub(crate) first: Option<Site>,
    pub(crate) message: String,
    /// What only the compiler can know.
    pub(crate) unless: Option<Unless>,
    /// It is one only if locks return this.
    pub(crate) reading: Option<Reading>,
    /// The conditions under which the code is there at all.
    pub(crate) cfgs: Vec<Attribute>,
}

impl Finding {
    /// Where the lock is that the finding is about, if the compiler can be asked.
    fn place(&self) -> Option<&Asked> {
        match &self.unless {
            Some(Unless::NoLock { place, .. }) => Some(place),
            Some(Unless::Ordered { place, .. }) => place.as_ref(),
            None => None,
        }
    }

    /// What is found however the body is read, and what only one way, for the compiler to say which.
    pub(super) fn of_both(plain: Vec<Finding>, poisoning: Vec<Finding>) -> Vec<Finding> {
        let key = |finding: &Finding| (finding.at.position(), finding.message.clone());
        let keys = |findings: &[Finding]| findings.iter().map(key).collect::<HashSet<_>>();
        let (of_plain, of_poisoning) = (keys(&plain), keys(&poisoning));
        let only = |reading: Reading, others: HashSet<_>| {
            move |mut finding: Finding| {
                let is_only = !others.contains(&key(&finding)) && finding.place().is_some();
                finding.reading = is_only.then_some(reading);
                finding
            }
        };
        let plain = plain.into_iter().map(only(Reading::Plain, of_poisoning));
        let others = poisoning
            .into_iter()
            .map(only(Reading::Poisoning, of_plain))
            .filter(|finding| finding.reading.is_some());
        plain.chain(others).collect()
    }

    /// Only in the body is it known which one that is.
    pub(crate) fn is_about_a_static(&self) -> bool {
        match &self.unless {
            Some(Unless::NoLock { place, .. }) => place.is_static,
            _ => false,
        }
    }
}

/// What would excuse a finding.
pub(crate) enum Unless {
    /// There is no lock at that place of a `Self`, or one whose kind makes it right.
    NoLock { place: Asked, excuse: Excuse },
    /// The ranks of two fields of `self` rise, or they have none.
    Ordered {
        held: String,
        taken: String,
        /// Where the one is that is held.
        place: Option<Asked>,
    },
}

/// What a lock is taken to return. A macro does not know: so a body is read both ways where that matters, and
/// the compiler is asked which one is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// A guard.
    Plain,
    /// A `Result` with a guard in it, as std's locks do, which may be poisoned.
    Poisoning,
}

/// The kinds of locks with which it is right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Excuse {
    None,
    /// Its holder may take it again.
    Relock,
    /// A reader may read it again.
    ReadAgain,
}
