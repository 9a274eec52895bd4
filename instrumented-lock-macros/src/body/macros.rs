//! Macros whose arguments are known to be expressions. Of others nothing is known: a guard that one
//! names may be gone after it.

use super::lock::bare;
use super::walk::Walker;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Expr, Macro, Token};

/// Arguments are borrowed, and evaluated together.
const BORROWING: [&str; 11] = [
    "print",
    "println",
    "eprint",
    "eprintln",
    "format",
    "write",
    "writeln",
    "assert_eq",
    "assert_ne",
    "debug_assert_eq",
    "debug_assert_ne",
];

/// Arguments are borrowed, one at a time or not at all.
const SEPARATE: [&str; 8] = [
    "assert",
    "debug_assert",
    "trace",
    "debug",
    "info",
    "warn",
    "error",
    "log",
];

const DIVERGING: [&str; 4] = ["panic", "unreachable", "todo", "unimplemented"];

impl Walker<'_> {
    pub(super) fn invocation(&mut self, invocation: &Macro) {
        let name = invocation.path.segments.last();
        let name = name.map_or_else(String::new, |segment| segment.ident.to_string());
        let name = name.as_str();
        if BORROWING.contains(&name) {
            self.scoped(|walker| {
                for argument in arguments(invocation) {
                    walker.place(value(&argument));
                }
            });
        } else if SEPARATE.contains(&name) || DIVERGING.contains(&name) {
            for argument in arguments(invocation) {
                self.scoped(|walker| walker.place(value(&argument)));
            }
        } else if name == "matches" {
            if let Some(matched) = first(invocation) {
                self.scoped(|walker| walker.place(&matched));
            }
        } else if name == "vec" {
            let elements = arguments(invocation);
            self.values(&elements);
            if elements.is_empty() {
                self.moved_in(&invocation.tokens);
            }
        } else {
            self.moved_in(&invocation.tokens);
        }
        self.state.is_dead |= DIVERGING.contains(&name);
    }
}

fn arguments(invocation: &Macro) -> Vec<Expr> {
    let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
    let parsed = parser.parse2(invocation.tokens.clone());
    parsed.map_or_else(|_| Vec::new(), |list| list.into_iter().collect())
}

/// Of `name = value`, the value.
fn value(argument: &Expr) -> &Expr {
    match bare(argument) {
        Expr::Assign(named) => &named.right,
        other => other,
    }
}

fn first(invocation: &Macro) -> Option<Expr> {
    let parser = |input: ParseStream<'_>| {
        let first = input.parse();
        // A pattern follows.
        input.parse::<proc_macro2::TokenStream>()?;
        first
    };
    parser.parse2(invocation.tokens.clone()).ok()
}
