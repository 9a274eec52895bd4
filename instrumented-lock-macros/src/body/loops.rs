//! What `break` and `continue` lead to, and what is known there.

use super::state::State;
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
    pub(super) breaks: Option<State>,
    pub(super) continues: Option<State>,
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

    /// `state` is what holds at the `break` or `continue`.
    pub(super) fn jump(&mut self, label: Option<&Lifetime>, is_break: bool, mut state: State) {
        let target = self.0.iter_mut().rev().find(|target| match label {
            Some(label) => target.label.as_deref() == Some(&*label.ident.to_string()),
            None => !target.is_block,
        });
        let Some(target) = target else { return };
        state.cut(target.depth);
        let paths = if is_break {
            &mut target.paths.breaks
        } else {
            &mut target.paths.continues
        };
        match paths {
            Some(known) => known.join(state),
            None => *paths = Some(state),
        }
    }
}
