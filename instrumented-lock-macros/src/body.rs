//! Finds the lock mistakes in a function's body, by walking through it once as the program would:
//! statement by statement, with the guards that are certainly alive.
//!
//! What it cannot see it says nothing about. A lock is a field of `self`, a static, or a local
//! binding that is visibly a lock; a guard is what such a lock's method returns, as long as it
//! stays in the binding that it was put in, or as a temporary. Where branches meet, a guard is
//! alive if it is in all of them that go on; a guard that moves leaves the view. Closures and
//! `async` blocks are walked on their own: they run later, or never.

mod bind;
mod chain;
mod flow;
mod lock;
mod macros;
mod other_locks;
mod report;
mod scrutinee;
mod state;
mod walk;

use crate::rule::{Rule, Rules};
pub(crate) use other_locks::{in_body, in_impl};
use proc_macro2::Span;
use quote::ToTokens;
use state::{Binding, State};
use std::collections::HashSet;
use syn::{Block, Expr, ExprMethodCall, FnArg, PatType, Signature};

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
}

/// A mistake.
pub(crate) struct Finding {
    pub(crate) at: Site,
    /// Where the guard was taken that is in the way.
    pub(crate) first: Option<Site>,
    pub(crate) message: String,
    pub(crate) unless: Option<Unless>,
}

/// What would excuse a finding, and only the compiler can know.
pub(crate) enum Unless {
    /// The field of `self` is a lock that one thread may take twice.
    Reentrant {
        field: String,
        for_reading_only: bool,
    },
    /// The ranks of two fields of `self` rise, or they have none.
    Ordered { held: String, taken: String },
}

/// How a body is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) allowed: Rules,
    pub(crate) denied: Rules,
    /// Methods of `self` that take a lock.
    pub(crate) locking: &'a HashSet<String>,
    /// What looks like a lock and is none of ours.
    pub(crate) others: &'a HashSet<String>,
    /// `lock()` returns a `Result`, as std's does.
    pub(crate) is_poisoning: bool,
}

impl Settings<'_> {
    fn is_on(&self, rule: Rule) -> bool {
        let is_default = rule != Rule::GuardAcrossCall;
        (is_default || self.denied.has(rule)) && !self.allowed.has(rule)
    }
}

pub(crate) fn check(sig: &Signature, body: &Block, settings: Settings<'_>) -> Vec<Finding> {
    let mut walker = walk::Walker::new(settings);
    for argument in &sig.inputs {
        if let FnArg::Typed(PatType { pat, ty, .. }) = argument {
            walker.bind_argument(pat, ty);
        }
    }
    walker.block(body);
    walker.findings
}

/// Whether the body visibly takes a lock, and which methods of `self` it calls.
pub(crate) fn locking(body: &Block, others: &HashSet<String>) -> (bool, HashSet<String>) {
    let none = HashSet::new();
    let settings = Settings {
        allowed: Rules::default(),
        denied: Rules::default(),
        locking: &none,
        others,
        is_poisoning: false,
    };
    let mut walker = walk::Walker::new(settings);
    walker.block(body);
    (walker.has_locked, walker.calls)
}
