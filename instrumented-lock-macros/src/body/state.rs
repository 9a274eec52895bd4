//! What is known at one point of a body: the guards that are certainly alive, and what the names in
//! scope stand for.

use super::finding::Site;
use super::place::{Mode, Place};
use crate::rule::Rules;

#[derive(Clone)]
pub(super) struct Guard {
    pub(super) id: u32,
    pub(super) place: Place,
    pub(super) mode: Mode,
    pub(super) at: Site,
    /// On the statement that took it.
    pub(super) allowed: Rules,
    /// The scope at whose end it is dropped.
    depth: usize,
}

#[derive(Clone, PartialEq)]
pub(super) enum Binding {
    Guard(u32),
    /// A guard of the body around this closure.
    Captured(u32),
    Lock(Place),
    Other,
}

#[derive(Clone)]
struct Name {
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
}

impl State {
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

    /// A guard that the innermost scope drops.
    pub(super) fn hold(&mut self, id: u32, place: Place, mode: Mode, at: Site, allowed: Rules) {
        let depth = self.depth;
        self.guards.push(Guard {
            id,
            place,
            mode,
            at,
            allowed,
            depth,
        });
    }

    /// A guard that has been taken out, from now on dropped by the innermost scope.
    pub(super) fn hold_again(&mut self, guard: Guard) -> u32 {
        let (id, depth) = (guard.id, self.depth);
        self.guards.push(Guard { depth, ..guard });
        id
    }

    fn guard_mut(&mut self, id: u32) -> Option<&mut Guard> {
        self.guards.iter_mut().find(|guard| guard.id == id)
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
    pub(super) fn bind(&mut self, name: String, binding: Binding) {
        let depth = self.depth;
        self.names.push(Name {
            text: name,
            binding,
            depth,
        });
    }

    pub(super) fn binding(&self, name: &str) -> Option<&Binding> {
        let found = self.names.iter().rev().find(|known| known.text == name);
        found.map(|known| &known.binding)
    }

    /// The variable gets another value; the guard that it had is dropped, and one that it gets is
    /// dropped where the variable is.
    pub(super) fn assign(&mut self, name: &str, binding: &Binding) {
        let Some(known) = self.names.iter_mut().rev().find(|known| known.text == name) else {
            return;
        };
        let old = std::mem::replace(&mut known.binding, binding.clone());
        let depth = known.depth;
        if let Binding::Guard(old) = old {
            self.forget(old);
        }
        if let Binding::Guard(new) = binding
            && let Some(guard) = self.guard_mut(*new)
        {
            guard.depth = depth;
        }
    }

    /// The state of a closure that starts here, with nothing held.
    pub(super) fn of_closure(&self) -> Self {
        let mut state = self.clone();
        state.guards.clear();
        state.is_dead = false;
        for name in &mut state.names {
            if let Binding::Guard(id) = name.binding {
                name.binding = Binding::Captured(id);
            }
        }
        state
    }

    /// Where two paths meet: what holds on both.
    pub(super) fn join(&mut self, other: Self) {
        if other.is_dead {
            return;
        }
        if self.is_dead {
            *self = other;
            return;
        }
        let is_alive = |id| other.guards.iter().any(|guard| guard.id == id);
        self.guards.retain(|guard| is_alive(guard.id));
        for (name, same) in self.names.iter_mut().zip(&other.names) {
            if name.binding != same.binding {
                name.binding = Binding::Other;
            }
        }
    }

    pub(super) fn join_all(&mut self, others: impl IntoIterator<Item = Self>) {
        for other in others {
            self.join(other);
        }
    }
}
