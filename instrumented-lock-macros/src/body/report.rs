//! The rules for bodies, one a function: what the walk has found, unless it is allowed.

use super::finding::{Finding, Site, Unless};
use super::lock::Acquire;
use super::place::Mode;
use super::scrutinee::{self, Blocks};
use super::state::Guard;
use super::walker::Walker;
use crate::message;
use crate::rule::Rule;
use syn::{Expr, ExprAwait, ExprMethodCall};

impl Walker<'_> {
    /// Whether the lock is taken: not if that is a mistake, which would only lead to others.
    pub(super) fn may_take(&mut self, acquire: &Acquire<'_>) -> bool {
        if acquire.is_try {
            return true;
        }
        self.rank_order(acquire);
        self.relock(acquire)
    }

    /// The lock is taken while its guard is alive.
    fn relock(&mut self, acquire: &Acquire<'_>) -> bool {
        let key = acquire.place.key.as_deref();
        let held = self.state.guards.iter().find(|guard| {
            key.is_some() && guard.place.key.as_deref() == key && guard.mode.excludes(acquire.mode)
        });
        let Some(held) = held.cloned() else {
            return true;
        };
        let reads_only = held.mode != Mode::Write && acquire.mode != Mode::Write;
        let at = Site::of_call(acquire.call);
        let message = message::relock(&acquire.place.text, reads_only, held.at.line(), at.line());
        let unless = acquire.place.field.clone().map(|field| Unless::Reentrant {
            field,
            for_reading_only: held.mode == Mode::Read && acquire.mode == Mode::Read,
        });
        self.report(Rule::Relock, at, Some(&held), message, unless);
        false
    }

    /// The lock is taken while one is held that does not come before it.
    fn rank_order(&mut self, acquire: &Acquire<'_>) {
        let Some(taken) = &acquire.place.field else {
            return;
        };
        let key = acquire.place.key.as_deref();
        for held in self.state.guards.clone() {
            let is_same = key.is_some() && held.place.key.as_deref() == key;
            if let Some(field) = held.place.field.clone()
                && !is_same
            {
                let at = Site::of_call(acquire.call);
                let (first, second) = (&held.place.text, &acquire.place.text);
                let message = message::rank_order(second, first, held.at.line());
                let unless = Unless::Ordered {
                    held: field,
                    taken: taken.clone(),
                };
                self.report(Rule::RankOrder, at, Some(&held), message, Some(unless));
            }
        }
    }

    /// The lock is taken, and its guard dropped at once.
    pub(super) fn discarded_guard(&mut self, acquire: &Acquire<'_>) {
        let (lock, method) = (&acquire.place.text, acquire.call.method.to_string());
        let message = message::discarded_guard(lock, &method);
        let at = Site::of_call(acquire.call);
        self.report(Rule::DiscardedGuard, at, None, message, None);
    }

    /// The guard in a scrutinee lives through blocks that do not need it.
    pub(super) fn scrutinee_guard(&mut self, scrutinee: &Expr, blocks: &Blocks<'_>) {
        let Some(found) = scrutinee::find(scrutinee, blocks, self) else {
            return;
        };
        let acquire = &found.guard.acquire;
        if found.is_needless || self.settings.denied.has(Rule::ScrutineeGuard) {
            let message = message::scrutinee_guard(&acquire.place.text, found.is_needless);
            let at = Site::of_call(acquire.call);
            self.report(Rule::ScrutineeGuard, at, None, message, None);
        }
    }

    /// Guards that are alive at an `.await`, each once.
    pub(super) fn across_await(&mut self, awaited: &ExprAwait) {
        for held in self.state.guards.clone() {
            if self.awaited.insert(held.id) {
                let message = message::guard_across_await(&held.place.text, held.at.line());
                let at = Site::of(&awaited.await_token);
                self.report(Rule::GuardAcrossAwait, at, Some(&held), message, None);
            }
        }
    }

    /// A guard is alive where a method of `self` is called that takes a lock.
    pub(super) fn across_call(&mut self, call: &ExprMethodCall, method: &str) {
        self.calls.insert(method.to_owned());
        let first = self.state.guards.first().cloned();
        if let Some(held) = first
            && self.settings.locking.contains(method)
        {
            let message = message::guard_across_call(&held.place.text, method, held.at.line());
            let at = Site::of_call(call);
            self.report(Rule::GuardAcrossCall, at, Some(&held), message, None);
        }
    }

    fn report(
        &mut self,
        rule: Rule,
        at: Site,
        first: Option<&Guard>,
        message: String,
        unless: Option<Unless>,
    ) {
        let allowed = first.map_or(self.allowed, |guard| self.allowed.union(guard.allowed));
        if self.settings.is_on(rule) && !allowed.has(rule) && !self.state.is_dead {
            self.findings.push(Finding {
                at,
                first: first.map(|guard| guard.at),
                message,
                unless,
            });
        }
    }
}
