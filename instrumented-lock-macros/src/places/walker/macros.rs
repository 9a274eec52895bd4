//! Macros: `vec![..]` passes on what is in it, `thread_local!` and `lazy_static!` have statics in them, and
//! of others it is known only where they are called, which is where they make what they make.

use super::Walker;
use crate::places::making;
use crate::places::target::Target;
use crate::places::variables::Use;
use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Ident, Macro, Token, Type, Visibility};

/// Makes a list of its arguments.
const LISTS: [&str; 5] = ["vec", "smallvec", "arrayvec", "array", "tiny_vec"];

/// Makes nothing.
const EMPTY: [&str; 16] = [
    "print",
    "println",
    "eprint",
    "eprintln",
    "format",
    "write",
    "writeln",
    "assert",
    "assert_eq",
    "assert_ne",
    "debug_assert",
    "debug_assert_eq",
    "debug_assert_ne",
    "panic",
    "matches",
    "todo",
];

impl Walker {
    pub(super) fn invocation(&mut self, invocation: &Macro, target: &Target) {
        let name = name_of(invocation);
        if name == "thread_local" || name == "lazy_static" {
            self.statics_in(invocation);
            return;
        }
        let is_list = LISTS.contains(&name.as_str());
        let is_empty = EMPTY.contains(&name.as_str());
        let Some(elements) = elements(invocation) else {
            self.gives_away(invocation.tokens.clone());
            if !is_empty {
                self.may_make(making::start(&invocation.path), target);
            }
            return;
        };
        if !is_list && !is_empty {
            // Not a variable that goes in: what the macro does with it nobody knows.
            self.may_make(making::start(&invocation.path), target);
        }
        let target = if is_empty { &Target::NOWHERE } else { target };
        // The expressions are copies, which nothing can be told.
        let (untyped, listed) = (self.untyped.len(), self.listed.len());
        let defaults = self.hints.defaults.clone();
        for element in &elements {
            self.expr(element, target);
        }
        self.untyped.truncate(untyped);
        self.listed.truncate(listed);
        self.hints.defaults = defaults;
    }

    /// Variables that are named there may be told their types.
    fn gives_away(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Ident(ident) => {
                    if let Some(id) = self.variables.find(&ident.to_string()) {
                        self.variables.is_used(id, Use::Given);
                    }
                }
                TokenTree::Group(group) => self.gives_away(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    /// `static NAME: Type = value;`, and `static ref`.
    pub(super) fn statics_in(&mut self, invocation: &Macro) {
        let Ok(statics) = statics.parse2(invocation.tokens.clone()) else {
            return;
        };
        let (untyped, listed) = (self.untyped.len(), self.listed.len());
        let defaults = self.hints.defaults.clone();
        for (name, value) in &statics {
            self.constant(name, value);
        }
        self.untyped.truncate(untyped);
        self.listed.truncate(listed);
        self.hints.defaults = defaults;
    }
}

fn name_of(invocation: &Macro) -> String {
    let last = invocation.path.segments.last();
    last.map_or_else(String::new, |last| last.ident.to_string())
}

/// The arguments, where they are expressions: `a, b` or `a; n`.
pub(super) fn elements(invocation: &Macro) -> Option<Vec<Expr>> {
    let list = Punctuated::<Expr, Token![,]>::parse_terminated;
    let repeated = |input: ParseStream<'_>| {
        let element: Expr = input.parse()?;
        input.parse::<Token![;]>()?;
        input.parse::<Expr>()?;
        Ok(vec![element])
    };
    let tokens = || invocation.tokens.clone();
    let elements = list.parse2(tokens()).map(|list| list.into_iter().collect());
    elements.or_else(|_| repeated.parse2(tokens())).ok()
}

fn statics(input: ParseStream<'_>) -> syn::Result<Vec<(Ident, Expr)>> {
    let mut found = Vec::new();
    while !input.is_empty() {
        input.call(Attribute::parse_outer)?;
        input.parse::<Visibility>()?;
        input.parse::<Token![static]>()?;
        input.parse::<Option<Token![ref]>>()?;
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        input.parse::<Type>()?;
        input.parse::<Token![=]>()?;
        found.push((name, input.parse()?));
        if !input.is_empty() {
            input.parse::<Token![;]>()?;
        }
    }
    Ok(found)
}
