//! The rules for bodies, one a function: what the walk has found, unless it is allowed.

use super::finding::{Excuse, Finding, Site, Unless};
use super::place::{Mode, Place};
use super::state::Guard;
use super::value::Value;
use super::walker::Walker;
use crate::message;
use crate::rule::Rule;
use syn::ExprMethodCall;

impl Walker<'_> {
    /// Whether the lock is taken: not if that is a mistake, which would only lead to others.
    pub(super) fn may_take(&mut self, place: &Place, mode: Mode, at: Site) -> bool {
        self.rank_order(place, at);
        self.relock(place, mode, at)
    }

    /// The lock is taken while its guard is alive.
    fn relock(&mut self, place: &Place, mode: Mode, at: Site) -> bool {
        let key = place.key.as_deref();
        let held = self.state.guards.iter().find(|guard| {
            let is_same = key.is_some() && guard.place.key.as_deref() == key;
            is_same && guard.is_certain && guard.mode.excludes(mode)
        });
        let Some(held) = held.cloned() else {
            return true;
        };
        let reads_only = held.mode != Mode::Write && mode != Mode::Write;
        let message = message::relock(&place.text, reads_only, held.at.line(), at.line());
        let excuse = if held.mode == Mode::Read && mode == Mode::Read {
            Excuse::ReadAgain
        } else {
            Excuse::Relock
        };
        let unless = not_a_lock(place, excuse);
        self.report(Rule::Relock, at, Some(&held), message, unless);
        false
    }

    /// The lock is taken while one is held that does not come before it.
    fn rank_order(&mut self, place: &Place, at: Site) {
        let Some(taken) = &place.field else {
            return;
        };
        let key = place.key.as_deref();
        for held in self.state.guards.clone() {
            let is_same = key.is_some() && held.place.key.as_deref() == key;
            if let Some(field) = held.place.field.clone()
                && held.is_certain
                && !is_same
            {
                let (first, second) = (&held.place.text, &place.text);
                let message = message::rank_order(second, first, held.at.line());
                let unless = Unless::Ordered {
                    held: field,
                    taken: taken.clone(),
                    place: held.place.asked.clone(),
                };
                self.report(Rule::RankOrder, at, Some(&held), message, Some(unless));
            }
        }
    }

    /// The value is dropped at once, with the guards in it; those that it does not have since
    /// before are mistakes.
    pub(super) fn discarded(&mut self, value: &Value, mark: u32) {
        for id in value.ids() {
            if let Some(guard) = self.state.guard(id).cloned()
                && id > mark
            {
                let message = message::discarded_guard(&guard.place.text, &guard.call);
                let unless = not_a_lock(&guard.place, Excuse::None);
                self.report(Rule::DiscardedGuard, guard.at, None, message, unless);
            }
        }
        self.consume(value);
    }

    /// The guard in a scrutinee lives through blocks that may not need it.
    pub(super) fn scrutinee_guard(&mut self, guard: &Guard, is_needless: bool) {
        let message = message::scrutinee_guard(&guard.place.text, is_needless);
        let unless = not_a_lock(&guard.place, Excuse::None);
        self.report(Rule::ScrutineeGuard, guard.at, None, message, unless);
    }

    /// The guard is all that is matched, and no pattern names it.
    pub(super) fn unnamed_guard(&mut self, guard: &Guard) {
        let message = message::unnamed_guard(&guard.place.text, &guard.call);
        let unless = not_a_lock(&guard.place, Excuse::None);
        self.report(Rule::DiscardedGuard, guard.at, None, message, unless);
    }

    /// Guards that are alive at an `.await`, each once.
    pub(super) fn across_await(&mut self, at: Site) {
        for held in self.state.guards.clone() {
            if !self.state.is_dead && self.awaited.insert(held.id) {
                let message = message::guard_across_await(&held.place.text, held.at.line());
                let unless = not_a_lock(&held.place, Excuse::None);
                self.report(Rule::GuardAcrossAwait, at, Some(&held), message, unless);
            }
        }
    }

    /// A guard is alive where a method of `self` is called that takes a lock.
    pub(super) fn across_call(&mut self, call: &ExprMethodCall, method: &str) {
        self.calls.insert(method.to_owned());
        let first = self.state.guards.iter().find(|guard| guard.is_certain);
        if let Some(held) = first.cloned()
            && self.settings.locking.contains(method)
        {
            let message = message::guard_across_call(&held.place.text, method, held.at.line());
            let at = Site::of_call(call);
            let unless = not_a_lock(&held.place, Excuse::None);
            self.report(Rule::GuardAcrossCall, at, Some(&held), message, unless);
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
        if !self.settings.is_on(rule) || allowed.has(rule) || self.state.is_dead {
            return;
        }
        let is_new = self
            .found
            .insert((rule.name(), at.position(), message.clone()));
        if is_new {
            self.findings.push(Finding {
                at,
                first: first.map(|guard| guard.at),
                message,
                unless,
                reading: None,
                cfgs: self.cfgs.clone(),
            });
        }
    }
}

/// There may be something at the place that only has the methods of a lock.
fn not_a_lock(place: &Place, excuse: Excuse) -> Option<Unless> {
    let place = place.asked.clone()?;
    Some(Unless::NoLock { place, excuse })
}
