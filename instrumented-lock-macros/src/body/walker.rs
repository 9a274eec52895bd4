//! What a walk has seen so far, and what it knows at the point where it is.

use super::finding::{Finding, Reading, Site};
use super::lock::{self, Acquire, Call};
use super::loops::Loops;
use super::place::{Mode, Place};
use super::state::{Binding, Guard, State};
use super::value::Value;
use crate::rule::{Rule, Rules};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::{HashMap, HashSet};
use syn::{Attribute, Expr};

/// How a body is looked at.
#[derive(Clone, Copy)]
pub(crate) struct Settings<'a> {
    pub(crate) allowed: Rules,
    pub(crate) denied: Rules,
    /// Methods of `self` that take a lock.
    pub(crate) locking: &'a HashSet<String>,
    /// Methods of `self` that return a guard or a lock.
    pub(crate) returning: &'a HashMap<String, Returned>,
    /// The name of the type whose methods these are.
    pub(crate) own: Option<&'a str>,
    /// What looks like a lock and is none of ours.
    pub(crate) others: &'a HashSet<String>,
    /// What `lock()` returns.
    pub(crate) reading: Reading,
    /// The compiler says what is a lock, where it can be asked.
    pub(crate) is_asking: bool,
}

impl Settings<'_> {
    pub(super) fn is_on(&self, rule: Rule) -> bool {
        let is_default = rule != Rule::GuardAcrossCall;
        (is_default || self.denied.has(rule)) && !self.allowed.has(rule)
    }
}

/// The guard that a method of `self` returns, or the lock.
#[derive(Clone)]
pub(crate) struct Returned {
    pub(super) place: Place,
    /// Of a guard.
    pub(super) mode: Option<Mode>,
    /// In an `Option` or a `Result`.
    pub(super) is_maybe: bool,
    /// How the body is read that says so.
    pub(super) reading: Reading,
}

/// What a method of `self` does with locks.
pub(crate) struct Summary {
    pub(crate) has_locked: bool,
    /// Methods of `self` that are called.
    pub(crate) calls: HashSet<String>,
    pub(crate) returned: Option<Returned>,
}

#[expect(
    clippy::struct_excessive_bools,
    reason = "two are of an expression, two of the body"
)]
pub(crate) struct Walker<'a> {
    pub(super) settings: Settings<'a>,
    pub(super) state: State,
    pub(crate) findings: Vec<Finding>,
    /// What has been found where: a loop's body is walked twice.
    pub(super) found: HashSet<(&'static str, [usize; 4], String)>,
    /// On the statements around this point.
    pub(super) allowed: Rules,
    pub(super) cfgs: Vec<Attribute>,
    pub(super) loops: Loops,
    pub(super) has_locked: bool,
    /// Methods of `self` that are called.
    pub(super) calls: HashSet<String>,
    /// Guards that a closure takes along.
    pub(super) captured: Vec<u32>,
    /// Guards that were dropped or moved, in order.
    pub(super) moved: Vec<u32>,
    /// Guards whose life across an `.await` has been reported.
    pub(super) awaited: HashSet<u32>,
    /// The iterator that is walked is consumed in the same expression.
    pub(super) is_consumed: bool,
    /// Into a collection.
    pub(super) collects: bool,
    /// Something is done with a guard that is done with a `Result`: the body may be read the other way.
    pub(super) may_be_poisoning: bool,
    /// Guards that a condition has only where it is true.
    pub(super) unmatched: Vec<u32>,
    next_id: u32,
}

impl<'a> Walker<'a> {
    pub(super) fn new(settings: Settings<'a>) -> Self {
        let lending = settings.returning.iter();
        let lending = lending.filter(|(_, returned)| returned.mode.is_none());
        let lending = lending.map(|(name, returned)| (name.clone(), returned.place.clone()));
        Walker {
            settings,
            state: State::lending(lending.collect()),
            findings: Vec::new(),
            found: HashSet::new(),
            allowed: Rules::default(),
            cfgs: Vec::new(),
            loops: Loops::default(),
            has_locked: false,
            calls: HashSet::new(),
            captured: Vec::new(),
            moved: Vec::new(),
            awaited: HashSet::new(),
            is_consumed: false,
            collects: false,
            may_be_poisoning: false,
            unmatched: Vec::new(),
            next_id: 0,
        }
    }

    pub(super) fn id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Guards that are taken from now on have higher numbers.
    pub(super) fn mark(&self) -> u32 {
        self.next_id
    }

    /// The lock that the expression takes.
    pub(super) fn acquire<'e>(&self, expr: &'e Expr) -> Option<Acquire<'e>> {
        let found = lock::acquire(expr, &self.state)?;
        let place = &found.place;
        let is_asked = self.settings.is_asking && place.asked.is_some();
        let is_other = self.settings.others.contains(&place.text)
            || !is_asked && lock::is_called_otherwise(place);
        (!is_other).then_some(found)
    }

    /// Takes the lock, unless that is a mistake.
    pub(super) fn take(&mut self, acquire: &Acquire<'_>) -> Value {
        match acquire.call {
            Call::Method(call) => {
                self.place(&call.receiver);
                self.values(&call.args);
            }
            Call::Function(call) => {
                for argument in &call.args {
                    self.place(argument);
                }
            }
        }
        self.has_locked = true;
        let Acquire { place, mode, .. } = acquire;
        let at = acquire.call.site();
        if !acquire.is_try && !self.may_take(place, *mode, at) {
            return Value::Other;
        }
        let shown = format!("{}.{}()", place.text, acquire.call.method());
        let guard = self.hold(place, *mode, at, shown);
        if acquire.is_try {
            self.maybe(guard)
        } else if self.settings.reading == Reading::Poisoning {
            guard.wrapped()
        } else {
            guard
        }
    }

    /// Holds a guard as a temporary, or until the end of the scope.
    pub(super) fn hold(&mut self, place: &Place, mode: Mode, at: Site, call: String) -> Value {
        let id = self.id();
        self.state.hold(Guard {
            id,
            place: place.clone(),
            mode,
            at,
            call,
            allowed: self.allowed,
            is_certain: true,
            depth: 0,
        });
        Value::Guard(id)
    }

    /// The guard, if it was to be had.
    pub(super) fn maybe(&mut self, guard: Value) -> Value {
        self.state.make_certain(&guard, false);
        Value::Maybe(Box::new(guard))
    }

    /// Out of its `Option` or `Result`.
    pub(super) fn unwrapped(&mut self, value: &Value) -> Option<Value> {
        let (Value::Wrapped(inner) | Value::Maybe(inner)) = value else {
            return None;
        };
        self.state.make_certain(inner, true);
        Some(Value::clone(inner))
    }

    pub(super) fn scoped(&mut self, walk: impl FnOnce(&mut Self)) {
        self.state.enter();
        walk(self);
        self.state.leave();
    }

    /// A scope whose value is kept.
    pub(super) fn scoped_value(&mut self, walk: impl FnOnce(&mut Self) -> Value) -> Value {
        self.state.enter();
        let value = walk(self);
        self.state.keep(&value, self.state.depth() - 1);
        self.state.leave();
        value
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
        for id in std::mem::take(&mut self.captured) {
            self.forget(id);
        }
    }

    /// What starts with a state of its own, and changes nothing around it.
    pub(super) fn apart(&mut self, state: State, walk: impl FnOnce(&mut Self)) {
        let around = std::mem::replace(&mut self.state, state);
        let loops = std::mem::take(&mut self.loops);
        let is_consumed = std::mem::take(&mut self.is_consumed);
        walk(self);
        self.state = around;
        self.loops = loops;
        self.is_consumed = is_consumed;
    }

    pub(super) fn forget(&mut self, id: u32) {
        self.state.forget(id);
        self.moved.push(id);
    }

    /// The value goes elsewhere: dropped, stored, returned.
    pub(super) fn consume(&mut self, value: &Value) {
        for id in value.ids() {
            self.forget(id);
        }
    }

    /// The value of a variable goes elsewhere.
    pub(super) fn moved(&mut self, name: &str) {
        let value = self.variable(name);
        self.consume(&value);
    }

    /// The value of a variable, which it has no longer if there is a guard in it.
    pub(super) fn variable(&mut self, name: &str) -> Value {
        match self.state.binding(name).cloned() {
            Some(Binding::Is(value)) => {
                if value.has_guards() {
                    self.state.rebind(name, Value::Other);
                }
                value
            }
            Some(Binding::Captured(ids)) => {
                self.captured.extend(ids);
                Value::Other
            }
            None => Value::Other,
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
        if let Some(key) = lock::path(left, &self.state).and_then(|place| place.key) {
            self.state.guards.retain(|guard| {
                let held = guard.place.key.as_deref();
                !held.is_some_and(|held| held.starts_with(&key))
            });
        }
    }
}

impl Call<'_> {
    pub(super) fn site(self) -> Site {
        match self {
            Call::Method(call) => Site::of_call(call),
            Call::Function(call) => Site::of(call),
        }
    }

    fn method(self) -> String {
        match self {
            Call::Method(call) => call.method.to_string(),
            Call::Function(call) => lock::names_of(&call.func).next().unwrap_or_default(),
        }
    }
}
