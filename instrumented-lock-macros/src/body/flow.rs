//! Branches and loops: what holds where paths meet again.

use super::bind::Origin;
use super::chain;
use super::lock::bare;
use super::scrutinee::Blocks;
use super::state::State;
use super::value::Value;
use super::walker::Walker;
use syn::{
    BinOp, Block, Expr, ExprForLoop, ExprIf, ExprLet, ExprMatch, ExprWhile, Label, Lifetime, Pat,
};

impl Walker<'_> {
    pub(super) fn flow(&mut self, expr: &Expr) -> Value {
        match expr {
            Expr::Block(block) => match &block.label {
                Some(label) => self.labelled(label, &block.block),
                None => self.block(&block.block),
            },
            Expr::Unsafe(block) => {
                let around = std::mem::replace(&mut self.state.is_unsafe, true);
                let value = self.block(&block.block);
                self.state.is_unsafe = around;
                value
            }
            Expr::Const(block) => self.block(&block.block),
            Expr::TryBlock(block) => {
                // `?` leaves it early: any guard may have been dropped or not.
                let before = self.state.clone();
                let value = self.block(&block.block);
                self.consume(&value);
                self.state.meet(before);
                Value::Other
            }
            Expr::If(branch) => self.branch(branch),
            Expr::Match(branches) => self.branches(branches),
            Expr::While(repeat) => {
                self.repeat_while(repeat);
                Value::Other
            }
            Expr::ForLoop(repeat) => {
                self.repeat_for(repeat);
                Value::Other
            }
            Expr::Loop(repeat) => {
                let exits = self.turns(repeat.label.as_ref(), |walker| {
                    let value = walker.block(&repeat.body);
                    walker.consume(&value);
                    None
                });
                self.state.is_dead = true;
                self.meet_all(Value::Other, exits)
            }
            Expr::Break(leave) => {
                let value = leave
                    .expr
                    .as_deref()
                    .map_or(Value::Other, |expr| self.eval(expr));
                self.jump(leave.label.as_ref(), Some(value));
                Value::Other
            }
            Expr::Continue(next) => {
                self.jump(next.label.as_ref(), None);
                Value::Other
            }
            Expr::Return(leave) => {
                self.values(leave.expr.as_deref());
                self.state.is_dead = true;
                Value::Other
            }
            _ => Value::Other,
        }
    }

    fn labelled(&mut self, label: &Label, block: &Block) -> Value {
        self.loops.enter(Some(label), true, self.state.depth());
        let value = self.block(block);
        let paths = self.loops.leave();
        self.meet_all(value, paths.breaks)
    }

    fn jump(&mut self, label: Option<&Lifetime>, value: Option<Value>) {
        self.loops.jump(label, value, self.state.clone());
        self.state.is_dead = true;
    }

    /// Where this path meets others, each with a value.
    fn meet_all(
        &mut self,
        mut value: Value,
        others: impl IntoIterator<Item = (State, Value)>,
    ) -> Value {
        for (state, other) in others {
            value = self.meet(value, state, other);
        }
        value
    }

    fn meet(&mut self, value: Value, mut state: State, other: Value) -> Value {
        if state.is_dead {
            return value;
        }
        if self.state.is_dead {
            self.state = state;
            return other;
        }
        if value == other {
            self.state.join(state);
            return value;
        }
        let is_same = self.unify(&value, &mut state, &other);
        self.state.join(state);
        if is_same {
            return value;
        }
        let ids: Vec<_> = value.ids().into_iter().chain(other.ids()).collect();
        match (value, other) {
            _ if ids.is_empty() => Value::Other,
            // `None`, most likely.
            (Value::Wrapped(inner) | Value::Maybe(inner), Value::Other)
            | (Value::Other, Value::Wrapped(inner) | Value::Maybe(inner)) => Value::Maybe(inner),
            _ => Value::Bag(ids),
        }
    }

    /// Two guards of one lock are one guard, on whichever path it was taken.
    fn unify(&mut self, value: &Value, state: &mut State, other: &Value) -> bool {
        match (value, other) {
            (Value::Guard(id), Value::Guard(same)) => {
                let (one, two) = (self.state.guard(*id), state.guard(*same));
                let is_same = match (one, two) {
                    (Some(one), Some(two)) => one.place == two.place && one.mode == two.mode,
                    _ => false,
                };
                if is_same {
                    state.rename(*same, *id);
                }
                is_same
            }
            (Value::Wrapped(one), Value::Wrapped(two)) => self.unify(one, state, two),
            _ => false,
        }
    }

    fn branch(&mut self, branch: &ExprIf) -> Value {
        self.state.enter();
        self.condition(&branch.cond, &Blocks::Then(&branch.then_branch));
        let mut otherwise = self.state.clone();
        // Of an `Option` that is not matched, nothing is left.
        for id in self.unmatched.split_off(0) {
            otherwise.forget(id);
        }
        let value = self.block(&branch.then_branch);
        self.state.keep(&value, self.state.depth() - 1);
        self.state.leave();
        // What the condition holds is dropped before `else` from edition 2024 on. Earlier editions
        // hold it longer: there, a mistake goes unseen.
        otherwise.leave();
        let then = std::mem::replace(&mut self.state, otherwise);
        let other = match &branch.else_branch {
            Some((_, expr)) => self.scoped_value(|walker| walker.eval(expr)),
            None => Value::Other,
        };
        self.meet(other, then, value)
    }

    /// The condition of `if` and `while`: what a `let` in it takes lives through the block.
    fn condition(&mut self, expr: &Expr, blocks: &Blocks<'_>) {
        match bare(expr) {
            Expr::Binary(chain) if matches!(chain.op, BinOp::And(_)) => {
                self.condition(&chain.left, blocks);
                self.condition(&chain.right, blocks);
            }
            Expr::Let(binding) => {
                let value = self.scrutinee(&binding.expr, &[&binding.pat], blocks);
                self.unmatched.extend(value.ids());
                self.bind(&binding.pat, value, Origin::Match);
            }
            other => self.scoped(|walker| walker.value(other)),
        }
    }

    pub(super) fn let_condition(&mut self, binding: &ExprLet) {
        let value = self.eval(&binding.expr);
        self.bind(&binding.pat, value, Origin::Match);
    }

    fn branches(&mut self, branches: &ExprMatch) -> Value {
        let blocks = Blocks::Arms(&branches.arms);
        let pats: Vec<_> = branches.arms.iter().map(|arm| &arm.pat).collect();
        let matched = self.scrutinee(&branches.expr, &pats, &blocks);
        let before = self.state.clone();
        self.state.is_dead = true;
        let mut value = Value::Other;
        for arm in &branches.arms {
            let joined = std::mem::replace(&mut self.state, before.clone());
            let given = self.scoped_value(|walker| {
                walker.conditional(&arm.attrs, |walker| {
                    walker.arm_pattern(&arm.pat, matched.clone());
                    walker.eval(&arm.body)
                })
            });
            value = self.meet(given, joined, value);
        }
        if branches.arms.is_empty() {
            self.state = before;
            self.state.is_dead = true;
        }
        value
    }

    fn arm_pattern(&mut self, pat: &Pat, value: Value) {
        let (pat, condition) = match pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&guarded.guard)),
            pat => (pat, None),
        };
        // What is left of an `Option` is none.
        if matches!(value, Value::Maybe(_)) && chain::is_wild(pat) {
            self.consume(&value);
        }
        self.bind(pat, value, Origin::Match);
        if let Some(condition) = condition {
            self.condition(condition, &Blocks::None);
        }
    }

    fn repeat_while(&mut self, repeat: &ExprWhile) {
        let exits = self.turns(repeat.label.as_ref(), |walker| {
            walker.state.enter();
            walker.condition(&repeat.cond, &Blocks::Repeated);
            let mut otherwise = walker.state.clone();
            for id in walker.unmatched.split_off(0) {
                otherwise.forget(id);
            }
            let value = walker.block(&repeat.body);
            walker.consume(&value);
            walker.state.leave();
            otherwise.leave();
            Some(otherwise)
        });
        self.state.is_dead = true;
        self.meet_all(Value::Other, exits);
    }

    fn repeat_for(&mut self, repeat: &ExprForLoop) {
        self.state.enter();
        let pats = [&*repeat.pat];
        self.is_consumed = true;
        self.scrutinee(&repeat.expr, &pats, &Blocks::Iterated);
        self.is_consumed = false;
        let exits = self.turns(repeat.label.as_ref(), |walker| {
            let otherwise = walker.state.clone();
            walker.scoped(|walker| {
                let element = walker.element_of(&repeat.expr);
                walker.bind(&repeat.pat, element, Origin::Match);
                let value = walker.block(&repeat.body);
                walker.consume(&value);
            });
            Some(otherwise)
        });
        self.state.is_dead = true;
        self.meet_all(Value::Other, exits);
        self.state.leave();
    }

    /// Walks a loop: its first turn, and another one if that leaves a guard behind. Returns what
    /// holds on the ways out; a turn returns what holds where the loop ends before it.
    fn turns(
        &mut self,
        label: Option<&Label>,
        mut turn: impl FnMut(&mut Self) -> Option<State>,
    ) -> Vec<(State, Value)> {
        let known: Vec<_> = self.state.guards.iter().map(|guard| guard.id).collect();
        let mut exits = Vec::new();
        let mut may_end = false;
        for is_first in [true, false] {
            self.loops.enter(label, false, self.state.depth());
            let otherwise = turn(self);
            let paths = self.loops.leave();
            self.state.join_all(paths.continues);
            may_end = otherwise.is_some();
            exits.extend(otherwise.map(|state| (state, Value::Other)));
            exits.extend(paths.breaks);
            let leaves_a_guard = |state: &State| {
                let mut guards = state.guards.iter();
                guards.any(|guard| !known.contains(&guard.id))
            };
            if !is_first || self.state.is_dead || !leaves_a_guard(&self.state) {
                break;
            }
        }
        if may_end && !self.state.is_dead {
            exits.push((self.state.clone(), Value::Other));
        }
        exits
    }
}
