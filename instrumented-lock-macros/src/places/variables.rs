//! The variables of one body: in which fields they end up, and how they are used first.

use super::target::{Target, To};
use std::collections::HashMap;

/// How a variable is used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use {
    /// Its methods are called: the compiler has to know its type.
    Called,
    /// It is given away, which may tell its type.
    Given,
}

/// How the value of a variable gets somewhere, the surest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum How {
    Moved,
    Cloned,
    /// The variable stands for what is there already.
    Found,
}

struct Variable {
    name: String,
    /// What it is given to, in the order of the source.
    flows: Vec<(Target, How)>,
    /// What it stands for: the data of a lock, where it is a guard.
    alias: Option<Target>,
    /// A variable of the same type, by its number; this one otherwise.
    same: usize,
    first_use: Option<Use>,
    /// Whether its value, or a part of it, may get anywhere else.
    is_given: bool,
    has_lock: bool,
}

#[derive(Default)]
pub(super) struct Variables {
    all: Vec<Variable>,
    scopes: Vec<HashMap<String, usize>>,
}

impl Variables {
    /// One that has no name yet, so that its own value may name another one of the same name.
    pub(super) fn add(&mut self, name: &str) -> usize {
        let id = self.all.len();
        self.all.push(Variable {
            name: name.to_owned(),
            flows: Vec::new(),
            alias: None,
            same: id,
            first_use: None,
            is_given: false,
            has_lock: false,
        });
        id
    }

    pub(super) fn name(&mut self, id: usize) {
        let name = self.all[id].name.clone();
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name, id);
        }
    }

    pub(super) fn enter(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub(super) fn leave(&mut self) {
        self.scopes.pop();
    }

    pub(super) fn find(&self, name: &str) -> Option<usize> {
        let mut scopes = self.scopes.iter().rev();
        scopes.find_map(|scope| scope.get(name).copied())
    }

    /// The value of the variable goes to the target.
    pub(super) fn flows(&mut self, id: usize, target: Target, how: How) {
        if let To::Variable(other) = target.to {
            let has_lock = self.all[id].has_lock;
            self.all[other].has_lock |= has_lock;
            if other == id {
                return;
            }
        }
        self.all[id].is_given |= !matches!(target.to, To::Nowhere);
        if !matches!(target.to, To::Nowhere | To::Returned) {
            self.all[id].flows.push((target, how));
        }
    }

    pub(super) fn stands_for(&mut self, id: usize, target: Target) {
        self.all[id].alias = Some(target);
    }

    pub(super) fn alias(&self, id: usize) -> Option<&Target> {
        self.all[id].alias.as_ref()
    }

    pub(super) fn gets_lock(&mut self, id: usize) {
        self.all[id].has_lock = true;
    }

    pub(super) fn has_lock(&self, id: usize) -> bool {
        self.all[id].has_lock
    }

    /// They have one type.
    pub(super) fn are_same(&mut self, id: usize, other: usize) {
        let (id, other) = (self.root(id), self.root(other));
        self.all[other].same = id;
    }

    pub(super) fn is_used(&mut self, id: usize, how: Use) {
        let root = self.root(id);
        self.all[id].is_given |= how == Use::Given;
        self.all[root].first_use.get_or_insert(how);
    }

    /// Whether the compiler has to know its type before anything has told it.
    pub(super) fn has_to_be_known(&self, id: usize) -> bool {
        self.all[self.root(id)].first_use != Some(Use::Given)
    }

    /// Whether nothing but its own methods can tell its type.
    pub(super) fn stays(&self, id: usize) -> bool {
        !self.all[id].is_given
    }

    fn root(&self, id: usize) -> usize {
        let same = self.all[id].same;
        if same == id { id } else { self.root(same) }
    }

    pub(super) fn called(&self, id: usize) -> &str {
        &self.all[id].name
    }

    /// The field that the variable ends up in. Of several the type's own, that of the variable's name, the
    /// one that gets it and not a clone of it, or the first.
    pub(super) fn field(&self, id: usize, own: Option<&str>) -> Option<Target> {
        let mut found = Vec::new();
        self.collect(
            id,
            "",
            How::Moved,
            &mut vec![false; self.all.len()],
            &mut found,
        );
        let name = &self.all[id].name;
        let rank = |(target, how): &(Target, How)| match &target.to {
            _ if *how == How::Found => 5,
            To::Field { owner, .. } if Some(owner.as_str()) == own => 0,
            To::Field { field, .. } if field == name => 1,
            To::Field { .. } => 2 + *how as u8,
            _ => 4,
        };
        // The first of equals.
        let best = found.into_iter().min_by_key(rank);
        best.map(|(target, _)| target)
    }

    fn collect(
        &self,
        id: usize,
        suffix: &str,
        how: How,
        seen: &mut Vec<bool>,
        found: &mut Vec<(Target, How)>,
    ) {
        if std::mem::replace(&mut seen[id], true) {
            return;
        }
        let variable = &self.all[id];
        let alias = variable.alias.iter();
        let alias = alias.map(|alias| (alias.clone(), How::Found));
        for (target, further) in variable.flows.iter().cloned().chain(alias) {
            self.collect_from(target, suffix, how.max(further), seen, found);
        }
    }

    fn collect_from(
        &self,
        target: Target,
        suffix: &str,
        how: How,
        seen: &mut Vec<bool>,
        found: &mut Vec<(Target, How)>,
    ) {
        let suffix = format!("{}{suffix}", target.suffix);
        match target.to {
            To::Nowhere | To::Returned => {}
            To::Variable(other) => self.collect(other, &suffix, how, seen, found),
            to => {
                if let To::Wrapped { outer, .. } = &to {
                    self.collect_from(Target::clone(outer), &suffix, how, seen, found);
                }
                found.push((Target { to, suffix }, how));
            }
        }
    }
}
