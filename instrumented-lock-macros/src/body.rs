//! Finds the lock mistakes in a function's body, by walking through it once as the program would:
//! statement by statement, with the guards that are alive.
//!
//! What it cannot see it says nothing about. A lock is a field of `self`, a static, or a local
//! binding that is visibly a lock; a guard is what such a lock's method returns. What an expression
//! gives is a `Value`: a guard, a tuple with a guard in it, a lock under another name. Where branches
//! meet, a guard is certain if it is alive in all of them that go on, and otherwise possible; only
//! `guard_across_await` minds the possible ones. A guard that moves to where nobody can follow leaves
//! the view. Closures that are known to run at once are walked where they stand, others and `async`
//! blocks on their own: they run later, or never. Whether a field of `self` is a lock at all the
//! compiler is asked in the end.
//!
//! `walker` is who walks, and what it knows at one point; `bind`, `scrutinee` and `report` look at
//! that point; `walk`, `calls` and `flow` are the way from one to the next.

mod bind;
mod calls;
mod chain;
mod finding;
mod flow;
mod lock;
mod loops;
mod macros;
mod methods;
mod other_locks;
mod place;
mod report;
mod scrutinee;
mod state;
mod value;
mod walk;
mod walker;

use crate::rule::Rules;
pub(crate) use finding::{Excuse, Finding, Reading, Site, Unless};
pub(crate) use other_locks::{in_body, in_impl};
pub(crate) use place::Asked;
use std::collections::{HashMap, HashSet};
use syn::visit::{self, Visit};
use syn::{Block, ExprClosure, ExprReturn, FnArg, PatType, Safety, Signature, Stmt};
use value::Value;
use walker::Walker;
pub(crate) use walker::{Returned, Settings, Summary};

/// What is wrong in a body, whichever locks are poisoned and whichever are not: the compiler knows.
pub(crate) fn check(sig: &Signature, body: &Block, settings: Settings<'_>) -> Vec<Finding> {
    let plain = walk(sig, body, settings);
    let may_be_poisoning = plain.may_be_poisoning;
    let plain = plain.findings;
    if !may_be_poisoning {
        return plain;
    }
    let settings = Settings {
        reading: Reading::Poisoning,
        ..settings
    };
    Finding::of_both(plain, walk(sig, body, settings).findings)
}

/// Walks through a body that is read one way.
pub(crate) fn walk<'a>(sig: &Signature, body: &Block, settings: Settings<'a>) -> Walker<'a> {
    let mut walker = Walker::new(settings);
    walker.state.is_unsafe = matches!(sig.safety, Safety::Unsafe(_));
    for argument in &sig.inputs {
        if let FnArg::Typed(PatType { pat, ty, .. }) = argument {
            walker.bind_argument(pat, ty);
        }
    }
    walker.state.asks_of_statics = settings.is_asking && !has_inner_items(body);
    let value = walker.block(body);
    walker.consume(&value);
    walker
}

/// Whether there are items in inner blocks, where a name may mean something else.
fn has_inner_items(body: &Block) -> bool {
    struct Items {
        depth: usize,
        found: bool,
    }

    impl Visit<'_> for Items {
        fn visit_block(&mut self, block: &Block) {
            self.depth += 1;
            visit::visit_block(self, block);
            self.depth -= 1;
        }

        fn visit_stmt(&mut self, stmt: &Stmt) {
            // `lazy_static!` and its like.
            let is_item = match stmt {
                Stmt::Item(_) => true,
                Stmt::Macro(stmt) => stmt.mac.path.segments.last().is_some_and(|name| {
                    name.ident == "lazy_static" || name.ident == "thread_local"
                }),
                _ => false,
            };
            self.found |= is_item && self.depth > 1;
            visit::visit_stmt(self, stmt);
        }
    }

    let mut items = Items {
        depth: 0,
        found: false,
    };
    items.visit_block(body);
    items.found
}

/// What a method does with locks, as its body shows.
pub(crate) fn summary(body: &Block, others: &HashSet<String>) -> Summary {
    let (locking, returning) = (HashSet::new(), HashMap::new());
    let read = |reading| {
        let mut walker = Walker::new(Settings {
            allowed: Rules::default(),
            denied: Rules::default(),
            locking: &locking,
            returning: &returning,
            own: None,
            others,
            reading,
            is_asking: true,
        });
        let value = walker.block(body);
        let returned = returned(&walker, &value).filter(|_| !returns(body));
        (walker, returned)
    };
    let (walker, mut returned) = read(Reading::Plain);
    if returned.is_none() && walker.may_be_poisoning {
        (_, returned) = read(Reading::Poisoning);
    }
    Summary {
        has_locked: walker.has_locked,
        calls: walker.calls,
        returned,
    }
}

/// The lock of `self`, or its guard, that a body's value is.
fn returned(walker: &Walker<'_>, value: &Value) -> Option<Returned> {
    let (id, is_maybe) = match value {
        Value::Lock(place) => {
            let is_one = place.text.starts_with("self.") && place.key.is_some() && !place.is_clone;
            return is_one.then(|| Returned {
                place: place.clone(),
                mode: None,
                is_maybe: false,
                reading: walker.settings.reading,
            });
        }
        Value::Guard(id) => (*id, false),
        Value::Maybe(inner) => match &**inner {
            Value::Guard(id) => (*id, true),
            _ => return None,
        },
        _ => return None,
    };
    let guard = walker.state.guard(id)?;
    let is_one = guard.place.text.starts_with("self.") && guard.place.key.is_some();
    is_one.then(|| Returned {
        place: guard.place.clone(),
        mode: Some(guard.mode),
        is_maybe,
        reading: walker.settings.reading,
    })
}

/// Whether it may return something else than it does in the end.
fn returns(body: &Block) -> bool {
    struct Returns(bool);

    impl Visit<'_> for Returns {
        fn visit_expr_return(&mut self, leave: &ExprReturn) {
            self.0 = true;
            visit::visit_expr_return(self, leave);
        }

        fn visit_expr_closure(&mut self, _: &ExprClosure) {}
    }

    let mut returns = Returns(false);
    returns.visit_block(body);
    returns.0
}
