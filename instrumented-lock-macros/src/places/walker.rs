//! Walks a body once, in the order of the source, with the place that the value of each expression goes
//! to.

use super::hint::{Hints, address};
use super::making::{self, Call};
use super::target::{Place, Target, To};
use super::variables::{How, Use, Variables};
use crate::attr::is_instrumented;
use proc_macro2::Span;
use syn::visit::{self, Visit};
use syn::{Block, Expr, ExprClosure, FnArg, Ident, Item, Pat, PatIdent, Signature, Stmt};

mod calls;
mod containers;
mod macros;

pub(super) struct Walker {
    /// The type that the code is of.
    own: Option<String>,
    /// The functions around, from the outside.
    functions: Vec<String>,
    pub(super) variables: Variables,
    made: Vec<(Span, Target)>,
    /// The same, with fields for variables, and the name where nobody has declared the field.
    settled: Vec<(Span, Target, String)>,
    /// Calls whose lock may have to be told its type, with the variable.
    untyped: Vec<(usize, usize)>,
    /// The same of locks in lists.
    listed: Vec<(usize, usize)>,
    hints: Hints,
    /// What `break` and `return` give.
    breaks: Vec<Target>,
    returns: Target,
}

impl Walker {
    /// An empty name is that of no function.
    pub(super) fn new(own: Option<&str>, function: &str) -> Self {
        let functions = own.into_iter().chain([function]);
        let functions = functions.filter(|name| !name.is_empty());
        Walker {
            own: own.map(str::to_owned),
            functions: functions.map(without_raw).collect(),
            variables: Variables::default(),
            made: Vec::new(),
            settled: Vec::new(),
            untyped: Vec::new(),
            listed: Vec::new(),
            hints: Hints::default(),
            breaks: Vec::new(),
            returns: Target::RETURNED,
        }
    }

    pub(super) fn function(&mut self, sig: &Signature, block: &Block) {
        self.variables.enter();
        for argument in &sig.inputs {
            if let FnArg::Typed(argument) = argument {
                self.bind(&argument.pat);
            }
        }
        self.block(block, &Target::RETURNED);
        self.variables.leave();
    }

    /// The value of a constant or a static.
    pub(super) fn constant(&mut self, name: &Ident, value: &Expr) {
        let id = self.variables.add(&without_raw(name.to_string()));
        self.expr(value, &Target::variable(id));
    }

    /// An item that is not looked at on its own.
    pub(super) fn item(&mut self, item: &Item) {
        match item {
            Item::Const(item) => self.constant(&item.ident, &item.expr),
            Item::Static(item) if !item.attrs.iter().any(is_instrumented) => {
                self.constant(&item.ident, &item.expr);
            }
            Item::Macro(item) => self.statics_in(&item.mac),
            Item::Fn(item) if !item.attrs.iter().any(is_instrumented) => {
                let name = item.sig.ident.to_string();
                self.inner_function(None, &name, &item.sig, &item.block);
            }
            Item::Impl(item) if !item.attrs.iter().any(is_instrumented) => {
                let own = making::path_of(&item.self_ty);
                for inner in &item.items {
                    if let syn::ImplItem::Fn(method) = inner {
                        let name = method.sig.ident.to_string();
                        self.inner_function(own.as_deref(), &name, &method.sig, &method.block);
                    }
                }
            }
            _ => {}
        }
    }

    fn inner_function(&mut self, own: Option<&str>, name: &str, sig: &Signature, block: &Block) {
        let mut inner = Walker::new(own, name);
        inner.function(sig, block);
        inner.settle();
        let Walker { settled, hints, .. } = inner;
        self.settled.extend(settled);
        self.hints.locks.extend(hints.locks);
        self.hints.defaults.extend(hints.defaults);
    }

    /// The places, and what the code has to be told.
    pub(super) fn finish(mut self) -> (Vec<Place>, Hints) {
        self.settle();
        let places = self.settled.into_iter().map(|(at, target, otherwise)| {
            let suffix = target.suffix;
            let (To::Field { owner, field } | To::Wrapped { owner, field, .. }) = target.to else {
                // Where it goes is the name.
                return Place {
                    at,
                    owner: String::new(),
                    field: otherwise,
                    otherwise: String::new(),
                };
            };
            Place {
                at,
                owner,
                field: format!("{field}{suffix}"),
                otherwise,
            }
        });
        (places.collect(), self.hints)
    }

    /// Of all variables it is known now where they go.
    fn settle(&mut self) {
        for (at, target) in std::mem::take(&mut self.made) {
            if let Some((target, name)) = self.settled(target) {
                self.settled.push((at, target, name));
            }
        }
        for (call, id) in &self.untyped {
            if self.variables.has_to_be_known(*id) {
                self.hints.locks.insert(*call);
            }
        }
        for (call, id) in &self.listed {
            if self.variables.stays(*id) {
                self.hints.locks.insert(*call);
            }
        }
    }

    /// The field where a lock goes, and its name where nobody has declared that; `None` where it has none.
    fn settled(&self, target: Target) -> Option<(Target, String)> {
        let suffix = target.suffix.clone();
        let below = |name: &str| {
            let names = self.functions.iter().map(String::as_str);
            let names = names.chain([name]).filter(|name| !name.is_empty());
            format!("{}{suffix}", names.collect::<Vec<_>>().join("::"))
        };
        Some(match &target.to {
            To::Nowhere => return None,
            To::Returned => (Target::NOWHERE, below("")),
            To::Field { owner, field } => {
                let name = if is_unknown(owner) {
                    below(field)
                } else {
                    String::new()
                };
                (target, name)
            }
            To::Wrapped { outer, .. } => {
                let name = match self.settled(outer.with(&suffix)) {
                    None => String::new(),
                    Some((Target { to, suffix }, name)) => match to {
                        To::Field { owner, field } if name.is_empty() => {
                            format!("{owner}::{field}{suffix}")
                        }
                        _ => name,
                    },
                };
                (target, name)
            }
            To::Variable(id) => {
                let name = below(self.variables.called(*id));
                let Some(field) = self.variables.field(*id, self.own.as_deref()) else {
                    return Some((Target::NOWHERE, name));
                };
                let field = field.with(&suffix);
                match &field.to {
                    To::Field { owner, .. } if !is_unknown(owner) => (field, String::new()),
                    _ => (field, name),
                }
            }
        })
    }

    /// A lock is made by what begins there.
    fn makes(&mut self, at: Span, target: &Target) {
        if let To::Variable(id) = target.to {
            self.variables.gets_lock(id);
        }
        self.made.push((at, target.clone()));
    }

    /// One may be.
    fn may_make(&mut self, at: Span, target: &Target) {
        if !matches!(target.to, To::Nowhere | To::Returned) {
            self.made.push((at, target.clone()));
        }
    }

    pub(super) fn block(&mut self, block: &Block, target: &Target) {
        self.variables.enter();
        // Items are known before they stand there.
        for stmt in &block.stmts {
            if let Stmt::Item(item) = stmt {
                self.local_item(item);
            }
        }
        for (index, stmt) in block.stmts.iter().enumerate() {
            let is_last = index + 1 == block.stmts.len();
            match stmt {
                Stmt::Local(local) => self.local(local),
                Stmt::Item(_) => {}
                Stmt::Expr(expr, None) if is_last => self.expr(expr, target),
                Stmt::Expr(expr, _) => self.expr(expr, &Target::NOWHERE),
                Stmt::Macro(stmt) => {
                    let is_value = is_last && stmt.semi_token.is_none();
                    let target = if is_value { target } else { &Target::NOWHERE };
                    self.invocation(&stmt.mac, target);
                }
            }
        }
        self.variables.leave();
    }

    fn local_item(&mut self, item: &Item) {
        match item {
            Item::Static(item) => self.variable_of_item(&item.ident),
            Item::Const(item) => self.variable_of_item(&item.ident),
            _ => {}
        }
        self.item(item);
    }

    /// What is written into a static of the body.
    fn variable_of_item(&mut self, name: &Ident) {
        let id = self.variables.add(&without_raw(name.to_string()));
        self.variables.name(id);
    }

    fn local(&mut self, local: &syn::Local) {
        let Some(init) = &local.init else {
            self.bind(&local.pat);
            return;
        };
        self.let_value(&local.pat, &init.expr);
        if let Some((_, otherwise)) = &init.diverge {
            self.expr(otherwise, &Target::NOWHERE);
        }
    }

    /// Binds the value to the pattern, the parts of a tuple one by one.
    fn let_value(&mut self, pat: &Pat, value: &Expr) {
        let mut bound = Vec::new();
        self.assign_pattern(pat, value, &mut bound);
        for id in bound {
            self.variables.name(id);
        }
    }

    fn assign_pattern(&mut self, pat: &Pat, value: &Expr, bound: &mut Vec<usize>) {
        match (bare_pattern(pat), bare(value)) {
            (Pat::Ident(PatIdent { ident, .. }), value) => {
                let id = self.variables.add(&without_raw(ident.to_string()));
                bound.push(id);
                if let Some((other, how)) = self.same_as(value) {
                    self.variables.are_same(other, id);
                    self.variables.flows(other, Target::variable(id), how);
                    return;
                }
                if matches!(pat, Pat::Ident(_))
                    && let Some(call) = making::untyped_lock(value)
                {
                    self.untyped.push((address(call), id));
                }
                self.expr(value, &Target::variable(id));
                if let Some(place) = self.place(value) {
                    self.variables.stands_for(id, place);
                }
            }
            (Pat::Tuple(pats), Expr::Tuple(values)) if pats.elems.len() == values.elems.len() => {
                for (pat, value) in pats.elems.iter().zip(&values.elems) {
                    self.assign_pattern(pat, value, bound);
                }
            }
            (pat, value) => {
                self.expr(value, &Target::NOWHERE);
                self.bind(pat);
            }
        }
    }

    /// The variable whose value has the same type: it is moved, or another handle to it is made.
    fn same_as(&self, value: &Expr) -> Option<(usize, How)> {
        match value {
            Expr::Path(path) => Some((self.variable(path)?, How::Moved)),
            Expr::Call(call) if matches!(Call::of(call), Call::Clone) => {
                let Some(Expr::Reference(argument)) = call.args.first() else {
                    return None;
                };
                let Expr::Path(path) = bare(&argument.expr) else {
                    return None;
                };
                Some((self.variable(path)?, How::Cloned))
            }
            _ => None,
        }
    }

    /// Names in a pattern hide those of before.
    pub(super) fn bind(&mut self, pat: &Pat) {
        struct Names<'a>(&'a mut Walker);

        impl Visit<'_> for Names<'_> {
            fn visit_pat_ident(&mut self, pat: &PatIdent) {
                let variables = &mut self.0.variables;
                let id = variables.add(&without_raw(pat.ident.to_string()));
                variables.name(id);
                visit::visit_pat_ident(self, pat);
            }

            fn visit_expr(&mut self, expr: &Expr) {
                self.0.expr(expr, &Target::NOWHERE);
            }
        }

        Names(self).visit_pat(pat);
    }

    pub(super) fn expr(&mut self, expr: &Expr, target: &Target) {
        match expr {
            Expr::Paren(inner) => self.expr(&inner.expr, target),
            Expr::Group(inner) => self.expr(&inner.expr, target),
            // Who borrows a variable is not where it ends up.
            Expr::Reference(inner) if matches!(bare(&inner.expr), Expr::Path(_)) => {
                self.expr(&inner.expr, &Target::NOWHERE);
            }
            Expr::Reference(inner) => self.expr(&inner.expr, target),
            Expr::Cast(inner) => self.expr(&inner.expr, target),
            Expr::Try(inner) => self.expr(&inner.expr, target),
            Expr::Await(inner) => self.expr(&inner.base, target),
            Expr::Path(path) => self.path(path, target),
            Expr::Call(call) => self.call(call, target),
            Expr::MethodCall(call) => self.method_call(call, target),
            Expr::Macro(invocation) => self.invocation(&invocation.mac, target),
            Expr::Struct(value) => self.structure(value),
            Expr::Tuple(tuple) => self.parts(tuple.elems.iter(), target),
            Expr::Array(array) => array.elems.iter().for_each(|part| self.expr(part, target)),
            Expr::Repeat(repeat) => self.expr(&repeat.expr, target),
            Expr::Block(inner) => self.block(&inner.block, target),
            Expr::Unsafe(inner) => self.block(&inner.block, target),
            Expr::Const(inner) => self.block(&inner.block, target),
            Expr::Async(inner) => {
                let returns = std::mem::replace(&mut self.returns, target.clone());
                self.block(&inner.block, target);
                self.returns = returns;
            }
            Expr::Closure(closure) => self.closure(closure, target),
            Expr::If(inner) => {
                self.variables.enter();
                self.expr(&inner.cond, &Target::NOWHERE);
                self.block(&inner.then_branch, target);
                self.variables.leave();
                if let Some((_, otherwise)) = &inner.else_branch {
                    self.expr(otherwise, target);
                }
            }
            Expr::Let(inner) => self.let_value(&inner.pat, &inner.expr),
            Expr::Match(inner) => {
                self.expr(&inner.expr, &Target::NOWHERE);
                for arm in &inner.arms {
                    self.variables.enter();
                    self.bind(&arm.pat);
                    self.expr(&arm.body, target);
                    self.variables.leave();
                }
            }
            Expr::Loop(inner) => {
                self.breaks.push(target.clone());
                self.block(&inner.body, &Target::NOWHERE);
                self.breaks.pop();
            }
            Expr::While(inner) => {
                self.breaks.push(Target::NOWHERE);
                self.variables.enter();
                self.expr(&inner.cond, &Target::NOWHERE);
                self.block(&inner.body, &Target::NOWHERE);
                self.variables.leave();
                self.breaks.pop();
            }
            Expr::ForLoop(inner) => {
                match bare(&inner.expr) {
                    // The elements are borrowed.
                    Expr::Reference(list) => self.base(&list.expr),
                    list => self.expr(list, &Target::NOWHERE),
                }
                self.breaks.push(Target::NOWHERE);
                self.variables.enter();
                self.bind(&inner.pat);
                self.block(&inner.body, &Target::NOWHERE);
                self.variables.leave();
                self.breaks.pop();
            }
            Expr::Break(inner) => {
                let target = self.breaks.last().cloned();
                if let Some(value) = &inner.expr {
                    self.expr(value, &target.unwrap_or(Target::NOWHERE));
                }
            }
            Expr::Return(inner) => {
                let target = self.returns.clone();
                if let Some(value) = &inner.expr {
                    self.expr(value, &target);
                }
            }
            Expr::Assign(inner) => {
                let target = self.place(&inner.left);
                if !matches!(bare(&inner.left), Expr::Path(_)) {
                    self.base(&inner.left);
                }
                self.expr(&inner.right, &target.unwrap_or(Target::NOWHERE));
            }
            Expr::Field(inner) => self.base(&inner.base),
            Expr::Index(inner) => {
                self.base(&inner.expr);
                self.expr(&inner.index, &Target::NOWHERE);
            }
            Expr::Unary(inner) => self.expr(&inner.expr, &Target::NOWHERE),
            other => visit::visit_expr(&mut Parts(self), other),
        }
    }

    /// What a place is reached through: the compiler has to know its type there.
    pub(super) fn base(&mut self, expr: &Expr) {
        match expr {
            Expr::Paren(inner) => self.base(&inner.expr),
            Expr::Group(inner) => self.base(&inner.expr),
            Expr::Reference(inner) => self.base(&inner.expr),
            Expr::Unary(inner) => self.base(&inner.expr),
            Expr::Field(inner) => self.base(&inner.base),
            Expr::Path(path) => {
                if let Some(id) = self.variable(path) {
                    self.variables.is_used(id, Use::Called);
                }
            }
            other => self.expr(other, &Target::NOWHERE),
        }
    }

    pub(super) fn variable(&self, path: &syn::ExprPath) -> Option<usize> {
        let name = path.path.get_ident()?;
        self.variables.find(&without_raw(name.to_string()))
    }

    fn path(&mut self, path: &syn::ExprPath, target: &Target) {
        let Some(id) = self.variable(path) else {
            return;
        };
        self.variables.is_used(id, Use::Given);
        self.variables.flows(id, target.clone(), How::Moved);
    }

    fn clone_of(&mut self, value: &Expr, target: &Target) {
        match value {
            Expr::Paren(inner) => self.clone_of(&inner.expr, target),
            Expr::Reference(inner) => self.clone_of(&inner.expr, target),
            Expr::Path(path) => {
                if let Some(id) = self.variable(path) {
                    self.variables.is_used(id, Use::Given);
                    self.variables.flows(id, target.clone(), How::Cloned);
                }
            }
            other => self.expr(other, &Target::NOWHERE),
        }
    }

    fn closure(&mut self, closure: &ExprClosure, target: &Target) {
        self.variables.enter();
        for input in &closure.inputs {
            self.bind(input);
        }
        let returns = std::mem::replace(&mut self.returns, target.clone());
        let breaks = std::mem::take(&mut self.breaks);
        self.expr(&closure.body, target);
        self.breaks = breaks;
        self.returns = returns;
        self.variables.leave();
    }
}

/// Whether it is `Self`, of what nobody sees.
fn is_unknown(owner: &str) -> bool {
    owner == "Self" || owner.starts_with("Self::")
}

/// Goes on into the parts of an expression, which go nowhere.
struct Parts<'a>(&'a mut Walker);

impl Visit<'_> for Parts<'_> {
    fn visit_expr(&mut self, expr: &Expr) {
        self.0.expr(expr, &Target::NOWHERE);
    }

    fn visit_block(&mut self, block: &Block) {
        self.0.block(block, &Target::NOWHERE);
    }

    fn visit_item(&mut self, item: &Item) {
        self.0.item(item);
    }
}

fn bare(expr: &Expr) -> &Expr {
    match expr {
        Expr::Paren(inner) => bare(&inner.expr),
        Expr::Group(inner) => bare(&inner.expr),
        other => other,
    }
}

fn bare_pattern(pat: &Pat) -> &Pat {
    match pat {
        Pat::Type(typed) => bare_pattern(&typed.pat),
        Pat::Paren(inner) => bare_pattern(&inner.pat),
        other => other,
    }
}

fn without_raw(name: impl AsRef<str>) -> String {
    let name = name.as_ref();
    name.strip_prefix("r#").unwrap_or(name).to_owned()
}
