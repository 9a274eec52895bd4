//! What is known at one point of a body: the guards that are alive, and what the names in scope
//! stand for.

use super::finding::Site;
use super::place::{Mode, Place};
use super::value::Value;
use crate::rule::Rules;
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Clone)]
pub(super) struct Guard {
    pub(super) id: u32,
    pub(super) place: Place,
    pub(super) mode: Mode,
    pub(super) at: Site,
    /// The call that took it, as shown.
    pub(super) call: String,
    /// On the statement that took it.
    pub(super) allowed: Rules,
    /// Alive on all ways that lead here, not only on some.
    pub(super) is_certain: bool,
    /// The scope at whose end it is dropped.
    pub(super) depth: usize,
}

#[derive(Clone, PartialEq)]
pub(super) enum Binding {
    Is(Value),
    /// Guards of the body around this closure.
    Captured(Vec<u32>),
}

#[derive(Clone)]
pub(super) struct Name {
    text: String,
    binding: Binding,
    depth: usize,
}

#[derive(Clone, Default)]
pub(super) struct State {
    pub(super) guards: Vec<Guard>,
    names: Vec<Name>,
    depth: usize,
    /// Nothing gets here.
    pub(super) is_dead: bool,
    /// Raw pointers may be followed.
    pub(super) is_unsafe: bool,
    /// The names of statics mean the same at the beginning of the body.
    pub(super) asks_of_statics: bool,
    /// Methods of `self` that return a reference to one of its locks.
    pub(super) lending: Rc<HashMap<String, Place>>,
}

impl State {
    pub(super) fn lending(lending: HashMap<String, Place>) -> Self {
        State {
            lending: Rc::new(lending),
            ..State::default()
        }
    }

    pub(super) fn enter(&mut self) {
        self.depth += 1;
    }

    /// Drops what belongs to the scope.
    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
        self.cut(self.depth);
    }

    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    /// As it is after leaving all scopes below `depth`.
    pub(super) fn cut(&mut self, depth: usize) {
        self.depth = depth;
        self.guards.retain(|guard| guard.depth <= depth);
        self.names.retain(|name| name.depth <= depth);
    }

    /// The innermost scope drops it.
    pub(super) fn hold(&mut self, guard: Guard) {
        let depth = self.depth;
        self.guards.push(Guard { depth, ..guard });
    }

    pub(super) fn guard(&self, id: u32) -> Option<&Guard> {
        self.guards.iter().find(|guard| guard.id == id)
    }

    /// The guards that the value has.
    pub(super) fn guards_in(&mut self, value: &Value) -> impl Iterator<Item = &mut Guard> {
        let ids = value.ids();
        self.guards
            .iter_mut()
            .filter(move |guard| ids.contains(&guard.id))
    }

    /// The value's guards are from now on dropped by the scope of that depth.
    pub(super) fn keep(&mut self, value: &Value, depth: usize) {
        for guard in self.guards_in(value) {
            guard.depth = depth;
        }
    }

    pub(super) fn make_certain(&mut self, value: &Value, is_certain: bool) {
        for guard in self.guards_in(value) {
            guard.is_certain = is_certain;
        }
    }

    /// Dropped, or moved out of sight.
    pub(super) fn forget(&mut self, id: u32) {
        self.guards.retain(|guard| guard.id != id);
    }

    pub(super) fn take(&mut self, id: u32) -> Option<Guard> {
        let position = self.guards.iter().position(|guard| guard.id == id)?;
        Some(self.guards.remove(position))
    }

    /// A new name in the innermost scope, which may hide an older one.
    pub(super) fn bind(&mut self, name: String, value: Value) {
        let depth = self.depth;
        self.keep(&value, depth);
        self.names.push(Name {
            text: name,
            binding: Binding::Is(value),
            depth,
        });
    }

    pub(super) fn binding(&self, name: &str) -> Option<&Binding> {
        let found = self.names.iter().rev().find(|known| known.text == name);
        found.map(|known| &known.binding)
    }

    /// What a variable is, other than a guard from around a closure.
    pub(super) fn known(&self, name: &str) -> Option<&Value> {
        match self.binding(name)? {
            Binding::Is(value) => Some(value),
            Binding::Captured(_) => None,
        }
    }

    /// The variable is something else from now on, and where the guards go that it had is not known.
    pub(super) fn rebind(&mut self, name: &str, value: Value) {
        let known = self.names.iter_mut().rev().find(|known| known.text == name);
        if let Some(known) = known {
            known.binding = Binding::Is(value);
        }
    }

    /// The variable gets another value; the guards that it had are dropped, and those that it gets
    /// are dropped where the variable is.
    pub(super) fn assign(&mut self, name: &str, value: &Value) {
        let known = self.names.iter_mut().rev().find(|known| known.text == name);
        let Some(known) = known else {
            return;
        };
        let depth = known.depth;
        let old = std::mem::replace(&mut known.binding, Binding::Is(value.clone()));
        if let Binding::Is(old) = old {
            for id in old.ids() {
                self.forget(id);
            }
        }
        self.keep(value, depth);
    }

    /// The variable gets guards beside those that it has.
    pub(super) fn grow(&mut self, name: &str, added: &Value, whole: Value) {
        let known = self.names.iter_mut().rev().find(|known| known.text == name);
        let Some(known) = known else {
            return;
        };
        let depth = known.depth;
        known.binding = Binding::Is(whole);
        self.keep(added, depth);
    }

    pub(super) fn names(&self) -> usize {
        self.names.len()
    }

    /// Hides all names but the first `count`; returns the others.
    pub(super) fn hide_names(&mut self, count: usize) -> Vec<Name> {
        self.names.split_off(count.min(self.names.len()))
    }

    pub(super) fn show_names(&mut self, hidden: Vec<Name>) {
        self.names.extend(hidden);
    }

    /// The state of a closure that starts here, with nothing held.
    pub(super) fn of_closure(&self) -> Self {
        let mut state = self.clone();
        state.guards.clear();
        state.is_dead = false;
        for name in &mut state.names {
            if let Binding::Is(value) = &name.binding
                && value.has_guards()
            {
                name.binding = Binding::Captured(value.ids());
            }
        }
        state
    }

    /// Where two paths meet: certain is what holds on both.
    pub(super) fn join(&mut self, other: Self) {
        if other.is_dead {
            return;
        }
        if self.is_dead {
            *self = other;
            return;
        }
        for guard in &mut self.guards {
            guard.is_certain &= other.guard(guard.id).is_some_and(|same| same.is_certain);
        }
        for mut guard in other.guards {
            if self.guard(guard.id).is_none() {
                guard.is_certain = false;
                self.guards.push(guard);
            }
        }
        for (name, same) in self.names.iter_mut().zip(other.names) {
            if name.binding != same.binding {
                name.binding = either(&name.binding, &same.binding);
            }
        }
    }

    pub(super) fn join_all(&mut self, others: impl IntoIterator<Item = Self>) {
        for other in others {
            self.join(other);
        }
    }

    /// Where a path meets one that may not be there at all: nothing is held that is not on both.
    pub(super) fn meet(&mut self, other: Self) {
        let both: Vec<_> = self
            .guards
            .iter()
            .map(|guard| guard.id)
            .filter(|&id| other.guard(id).is_some())
            .collect();
        self.join(other);
        self.guards.retain(|guard| both.contains(&guard.id));
    }

    /// Another guard is the same as one that is known by `id`: either is alive here.
    pub(super) fn rename(&mut self, from: u32, id: u32) {
        if let Some(guard) = self.guards.iter_mut().find(|guard| guard.id == from) {
            guard.id = id;
        }
    }
}

/// What a variable has that is the one or the other: its guards, if any.
fn either(one: &Binding, two: &Binding) -> Binding {
    let mut ids = Vec::new();
    for binding in [one, two] {
        match binding {
            Binding::Is(value) => ids.extend(value.ids()),
            Binding::Captured(captured) => return Binding::Captured(captured.clone()),
        }
    }
    ids.dedup();
    let value = match (one, two) {
        _ if ids.is_empty() => Value::Other,
        // Moved on one of the paths.
        (Binding::Is(value), Binding::Is(Value::Other))
        | (Binding::Is(Value::Other), Binding::Is(value)) => value.clone(),
        _ => Value::Bag(ids),
    };
    Binding::Is(value)
}
