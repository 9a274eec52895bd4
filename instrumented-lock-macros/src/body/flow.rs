//! Branches and loops: what holds where paths meet again.

use super::chain;
use super::lock::bare;
use super::scrutinee::Blocks;
use super::walk::Walker;
use super::{Binding, State};
use syn::{
    BinOp, Block, Expr, ExprForLoop, ExprIf, ExprLet, ExprMatch, ExprWhile, Label, Lifetime, Pat,
};

/// What `break` and `continue` lead to.
pub(super) struct Target {
    label: Option<String>,
    /// Only a labelled `break` leaves a block.
    is_block: bool,
    depth: usize,
    breaks: Option<State>,
    continues: Option<State>,
}

impl Walker<'_> {
    pub(super) fn flow(&mut self, expr: &Expr) {
        match expr {
            Expr::Block(block) => match &block.label {
                Some(label) => self.labelled(label, &block.block),
                None => self.block(&block.block),
            },
            Expr::Unsafe(block) => self.block(&block.block),
            Expr::Const(block) => self.block(&block.block),
            Expr::TryBlock(block) => {
                // `?` leaves it early: any guard may have been dropped or not.
                let before = self.state.clone();
                self.block(&block.block);
                self.state.join(before);
            }
            Expr::If(branch) => self.branch(branch),
            Expr::Match(branches) => self.branches(branches),
            Expr::While(repeat) => self.repeat_while(repeat),
            Expr::ForLoop(repeat) => self.repeat_for(repeat),
            Expr::Loop(repeat) => {
                self.target(repeat.label.as_ref(), false);
                self.block(&repeat.body);
                let target = self.loops.pop();
                self.state.is_dead = true;
                self.join_all(target.and_then(|target| target.breaks));
            }
            Expr::Break(leave) => {
                self.values(leave.expr.as_deref());
                self.jump(leave.label.as_ref(), true);
            }
            Expr::Continue(next) => self.jump(next.label.as_ref(), false),
            Expr::Return(leave) => {
                self.values(leave.expr.as_deref());
                self.state.is_dead = true;
            }
            _ => {}
        }
    }

    fn target(&mut self, label: Option<&Label>, is_block: bool) {
        self.loops.push(Target {
            label: label.map(|label| label.name.ident.to_string()),
            is_block,
            depth: self.state.depth(),
            breaks: None,
            continues: None,
        });
    }

    fn labelled(&mut self, label: &Label, block: &Block) {
        self.target(Some(label), true);
        self.block(block);
        let target = self.loops.pop();
        self.join_all(target.and_then(|target| target.breaks));
    }

    fn jump(&mut self, label: Option<&Lifetime>, is_break: bool) {
        let mut state = self.state.clone();
        self.state.is_dead = true;
        let target = self.loops.iter_mut().rev().find(|target| match label {
            Some(label) => target.label.as_deref() == Some(&*label.ident.to_string()),
            None => !target.is_block,
        });
        let Some(target) = target else { return };
        state.cut(target.depth);
        let paths = if is_break {
            &mut target.breaks
        } else {
            &mut target.continues
        };
        match paths {
            Some(known) => known.join(state),
            None => *paths = Some(state),
        }
    }

    fn join_all(&mut self, others: impl IntoIterator<Item = State>) {
        for other in others {
            self.state.join(other);
        }
    }

    fn branch(&mut self, branch: &ExprIf) {
        self.state.enter();
        self.condition(&branch.cond, &Blocks::Then(&branch.then_branch));
        let mut otherwise = self.state.clone();
        self.block(&branch.then_branch);
        self.state.leave();
        // What the condition holds is dropped before `else` from edition 2024 on. Earlier editions
        // hold it longer: there, a mistake goes unseen.
        otherwise.leave();
        let then = std::mem::replace(&mut self.state, otherwise);
        if let Some((_, expr)) = &branch.else_branch {
            self.scoped(|walker| walker.value(expr));
        }
        self.state.join(then);
    }

    /// The condition of `if` and `while`: what a `let` in it takes lives through the block.
    fn condition(&mut self, expr: &Expr, blocks: &Blocks<'_>) {
        match bare(expr) {
            Expr::Binary(chain) if matches!(chain.op, BinOp::And(_)) => {
                self.condition(&chain.left, blocks);
                self.condition(&chain.right, blocks);
            }
            Expr::Let(binding) => {
                self.scrutinized(&binding.expr, blocks);
                self.let_condition(binding);
            }
            other => self.scoped(|walker| walker.value(other)),
        }
    }

    pub(super) fn let_condition(&mut self, binding: &ExprLet) {
        let is_guard = self.scrutinee(&binding.expr, Some(&binding.pat));
        if !is_guard {
            self.bind_other(&binding.pat);
        }
    }

    /// Walks the expression that is matched; whether it became the pattern's guard.
    fn scrutinee(&mut self, expr: &Expr, pat: Option<&Pat>) -> bool {
        if let Some(acquired) = self.acquired(expr) {
            if !self.take(&acquired) {
                return false;
            }
            let name = pat.and_then(|pat| {
                let whole = chain::name(pat).filter(|_| !acquired.is_wrapped);
                whole.or_else(|| chain::unwrapped_name(pat))
            });
            if let Some(name) = name {
                let id = self.hold(&acquired);
                self.state.bind(name, Binding::Guard(id));
                return true;
            }
            if !acquired.is_wrapped && !acquired.acquire.is_try {
                self.hold(&acquired);
            }
        } else if chain::local(expr).is_some() {
            self.value(expr);
        } else {
            self.place(expr);
        }
        false
    }

    fn branches(&mut self, branches: &ExprMatch) {
        let blocks = Blocks::Arms(&branches.arms);
        self.scrutinized(&branches.expr, &blocks);
        let guard = self
            .acquired(&branches.expr)
            .filter(|found| found.is_wrapped);
        let is_wrapped = guard.is_some();
        // Which arm has the guard is up to its pattern; none has it where it must not be taken.
        let guard = guard.filter(|guard| self.take(guard));
        if !is_wrapped {
            self.scrutinee(&branches.expr, None);
        }
        let before = self.state.clone();
        self.state.is_dead = true;
        for arm in &branches.arms {
            let joined = std::mem::replace(&mut self.state, before.clone());
            self.state.enter();
            self.arm_pattern(&arm.pat, guard.as_ref());
            self.value(&arm.body);
            self.state.leave();
            self.state.join(joined);
        }
        if branches.arms.is_empty() {
            self.state = before;
            self.state.is_dead = true;
        }
    }

    fn arm_pattern(&mut self, pat: &Pat, guard: Option<&chain::Acquired<'_>>) {
        let (pat, condition) = match pat {
            Pat::Guard(guarded) => (&*guarded.pat, Some(&guarded.guard)),
            pat => (pat, None),
        };
        match (chain::unwrapped_name(pat), guard) {
            (Some(name), Some(guard)) => {
                let id = self.hold(guard);
                self.state.bind(name, Binding::Guard(id));
            }
            _ => self.bind_other(pat),
        }
        if let Some(condition) = condition {
            self.condition(condition, &Blocks::None);
        }
    }

    fn repeat_while(&mut self, repeat: &ExprWhile) {
        self.target(repeat.label.as_ref(), false);
        self.state.enter();
        self.condition(&repeat.cond, &Blocks::Repeated);
        let mut otherwise = self.state.clone();
        self.block(&repeat.body);
        self.state.leave();
        otherwise.leave();
        self.after_loop(otherwise);
    }

    fn repeat_for(&mut self, repeat: &ExprForLoop) {
        self.scrutinized(&repeat.expr, &Blocks::Iterated);
        self.state.enter();
        self.scrutinee(&repeat.expr, None);
        self.target(repeat.label.as_ref(), false);
        let otherwise = self.state.clone();
        self.state.enter();
        self.bind_other(&repeat.pat);
        self.block(&repeat.body);
        self.state.leave();
        self.after_loop(otherwise);
        self.state.leave();
    }

    /// After a loop that may end before or after any iteration.
    fn after_loop(&mut self, before: State) {
        let target = self.loops.pop();
        self.state.join(before);
        if let Some(target) = target {
            self.join_all(target.breaks);
            self.join_all(target.continues);
        }
    }
}
