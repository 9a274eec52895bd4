//! What `break` and `continue` lead to, and what is known there.

use super::state::State;
use super::value::Value;
use syn::{Label, Lifetime};

/// The loops and labelled blocks around one point, the innermost last.
#[derive(Default)]
pub(super) struct Loops(Vec<Target>);

struct Target {
    label: Option<String>,
    /// Only a labelled `break` leaves a block.
    is_block: bool,
    depth: usize,
    paths: Paths,
}

/// What holds on all the ways out of a loop, or on to its next turn.
#[derive(Default)]
pub(super) struct Paths {
    pub(super) breaks: Vec<(State, Value)>,
    pub(super) continues: Vec<State>,
}

impl Loops {
    /// `depth` is that of the scopes around it.
    pub(super) fn enter(&mut self, label: Option<&Label>, is_block: bool, depth: usize) {
        self.0.push(Target {
            label: label.map(|label| label.name.ident.to_string()),
            is_block,
            depth,
            paths: Paths::default(),
        });
    }

    pub(super) fn leave(&mut self) -> Paths {
        let innermost = self.0.pop();
        innermost.map_or_else(Paths::default, |target| target.paths)
    }

    /// `state` is what holds at the `break` or `continue`; a `break` may have a value.
    pub(super) fn jump(
        &mut self,
        label: Option<&Lifetime>,
        value: Option<Value>,
        mut state: State,
    ) {
        let target = self.0.iter_mut().rev().find(|target| match label {
            Some(label) => target.label.as_deref() == Some(&*label.ident.to_string()),
            None => !target.is_block,
        });
        let Some(target) = target else { return };
        if state.is_dead {
            return;
        }
        if let Some(value) = &value {
            state.keep(value, target.depth);
        }
        state.cut(target.depth);
        match value {
            Some(value) => target.paths.breaks.push((state, value)),
            None => target.paths.continues.push(state),
        }
    }
}
