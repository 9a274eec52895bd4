//! What an expression gives, as far as locks go.

use super::place::Place;
use std::rc::Rc;
use syn::ExprClosure;

#[derive(Clone)]
pub(super) enum Value {
    /// Nothing of interest.
    Other,
    /// A lock or a reference or handle to it, or what has locks in it, as `self`.
    Lock(Place),
    Guard(u32),
    /// An `Option` or a `Result` that has it.
    Wrapped(Box<Value>),
    /// An `Option` or a `Result` that may have it.
    Maybe(Box<Value>),
    /// A tuple or an array.
    Parts(Vec<Value>),
    /// Something with these guards somewhere in it.
    Bag(Vec<u32>),
    /// No guard, but something of which the methods are known.
    Known(Kind),
    /// With how many names it sees.
    Closure(Rc<ExprClosure>, usize),
}

/// What an expression is, as far as the names of methods tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// An `Option` or a `Result`.
    Optional,
    Iterator,
    /// A value whose methods are those of data: what a guard protects, an element, a map's entry.
    Data,
    /// It could be a future, a stream or anything else that keeps closures for later.
    Unknown,
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Value::Other, Value::Other) => true,
            (Value::Lock(one), Value::Lock(two)) => one == two,
            (Value::Guard(one), Value::Guard(two)) => one == two,
            (Value::Wrapped(one), Value::Wrapped(two)) | (Value::Maybe(one), Value::Maybe(two)) => {
                one == two
            }
            (Value::Parts(one), Value::Parts(two)) => one == two,
            (Value::Bag(one), Value::Bag(two)) => one == two,
            (Value::Known(one), Value::Known(two)) => one == two,
            (Value::Closure(one, _), Value::Closure(two, _)) => Rc::ptr_eq(one, two),
            _ => false,
        }
    }
}

impl Value {
    /// The guards in it.
    pub(super) fn ids(&self) -> Vec<u32> {
        match self {
            Value::Other | Value::Lock(_) | Value::Known(_) | Value::Closure(..) => Vec::new(),
            Value::Guard(id) => vec![*id],
            Value::Wrapped(inner) | Value::Maybe(inner) => inner.ids(),
            Value::Parts(parts) => parts.iter().flat_map(Value::ids).collect(),
            Value::Bag(ids) => ids.clone(),
        }
    }

    pub(super) fn has_guards(&self) -> bool {
        !self.ids().is_empty()
    }

    /// Something with the guards of `self` in it.
    pub(super) fn in_a_bag(&self) -> Self {
        let ids = self.ids();
        if ids.is_empty() {
            Value::Other
        } else {
            Value::Bag(ids)
        }
    }

    /// In a `Some` or an `Ok`.
    pub(super) fn wrapped(self) -> Self {
        match self {
            Value::Other | Value::Known(_) | Value::Closure(..) => Value::Other,
            inner => Value::Wrapped(Box::new(inner)),
        }
    }
}
