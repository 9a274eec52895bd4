//! What a walk has seen so far, and what it knows at the point where it is.

use super::chain::{self, Acquired};
use super::finding::{Finding, Site};
use super::lock;
use super::loops::Loops;
use super::state::{Binding, Guard, State};
use crate::rule::{Rule, Rules};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::HashSet;
use syn::Expr;

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
    pub(super) fn is_on(&self, rule: Rule) -> bool {
        let is_default = rule != Rule::GuardAcrossCall;
        (is_default || self.denied.has(rule)) && !self.allowed.has(rule)
    }
}

pub(super) struct Walker<'a> {
    pub(super) settings: Settings<'a>,
    pub(super) state: State,
    pub(super) findings: Vec<Finding>,
    /// On the statements around this point.
    pub(super) allowed: Rules,
    pub(super) loops: Loops,
    pub(super) has_locked: bool,
    /// Methods of `self` that are called.
    pub(super) calls: HashSet<String>,
    /// Guards that a closure takes along.
    captured: Vec<u32>,
    /// Guards whose life across an `.await` has been reported.
    pub(super) awaited: HashSet<u32>,
    next_id: u32,
}

impl<'a> Walker<'a> {
    pub(super) fn new(settings: Settings<'a>) -> Self {
        Walker {
            settings,
            state: State::default(),
            findings: Vec::new(),
            allowed: Rules::default(),
            loops: Loops::default(),
            has_locked: false,
            calls: HashSet::new(),
            captured: Vec::new(),
            awaited: HashSet::new(),
            next_id: 0,
        }
    }

    pub(super) fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    pub(super) fn acquired<'e>(&self, expr: &'e Expr) -> Option<Acquired<'e>> {
        let found = chain::acquired(expr, &self.state, self.settings.is_poisoning)?;
        let is_other = self.settings.others.contains(&found.acquire.place.text);
        (!is_other).then_some(found)
    }

    /// Holds the guard as a temporary, or until the end of the scope.
    pub(super) fn hold(&mut self, acquired: &Acquired<'_>) -> u32 {
        let id = self.id();
        let lock::Acquire {
            place, mode, call, ..
        } = &acquired.acquire;
        let at = Site::of_call(call);
        self.state.hold(id, place.clone(), *mode, at, self.allowed);
        id
    }

    /// A guard that a `let` will hold.
    pub(super) fn held_apart(&mut self, acquired: &Acquired<'_>) -> Guard {
        let id = self.hold(acquired);
        self.state.take(id).expect("it was held just now")
    }

    pub(super) fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.state.enter();
        walk(self);
        self.state.leave();
    }

    /// A closure or an `async` block: nothing is held in it but what it takes itself.
    pub(super) fn later(
        &mut self,
        tokens: &impl ToTokens,
        is_move: bool,
        walk: impl FnOnce(&mut Self),
    ) {
        self.apart(self.state.of_closure(), |walker| walker.scoped(walk));
        if is_move {
            self.moved_in(&tokens.to_token_stream());
        }
        for id in self.captured.clone() {
            self.state.forget(id);
        }
    }

    /// What starts with a state of its own, and changes nothing around it.
    pub(super) fn apart(&mut self, state: State, walk: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.state, state);
        let loops = std::mem::take(&mut self.loops);
        walk(self);
        self.state = around;
        self.loops = loops;
    }

    /// The value of a variable goes elsewhere: dropped, stored, returned.
    pub(super) fn moved(&mut self, name: &str) {
        match self.state.binding(name) {
            Some(Binding::Guard(id)) => {
                let id = *id;
                self.state.forget(id);
            }
            Some(Binding::Captured(id)) => self.captured.push(*id),
            _ => {}
        }
    }

    /// Any variable in the tokens may be moved.
    pub(super) fn moved_in(&mut self, tokens: &TokenStream) {
        for token in tokens.clone() {
            match token {
                TokenTree::Ident(ident) => self.moved(&ident.to_string()),
                TokenTree::Group(group) => self.moved_in(&group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// Another lock is in that place from now on.
    pub(super) fn forget_locks_in(&mut self, left: &Expr) {
        if let Some(key) = lock::place(left, &self.state).and_then(|place| place.key) {
            self.state.guards.retain(|guard| {
                let held = guard.place.key.as_deref();
                !held.is_some_and(|held| held.starts_with(&key))
            });
        }
    }
}
