//! Macros whose arguments are known to be expressions. Of others nothing is known: a guard that one
//! names may be gone after it.

use super::lock::bare;
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

/// What is known of a macro's arguments.
pub(super) enum Arguments {
    /// Borrowed, and evaluated together.
    Together(Vec<Expr>),
    /// Borrowed, one at a time or not at all.
    Separate(Vec<Expr>),
    Moved(Vec<Expr>),
    Unknown,
}

impl Arguments {
    pub(super) fn of(invocation: &Macro) -> Self {
        let name = name(invocation);
        let name = name.as_str();
        if BORROWING.contains(&name) {
            Arguments::Together(values(invocation))
        } else if SEPARATE.contains(&name) || DIVERGING.contains(&name) {
            Arguments::Separate(values(invocation))
        } else if name == "matches" {
            Arguments::Separate(first(invocation).into_iter().collect())
        } else if name == "vec" {
            let elements = listed(invocation);
            if elements.is_empty() && !invocation.tokens.is_empty() {
                Arguments::Unknown
            } else {
                Arguments::Moved(elements)
            }
        } else {
            Arguments::Unknown
        }
    }
}

/// Something is awaited in it.
pub(super) fn awaits(invocation: &Macro) -> bool {
    let mut names = invocation.path.segments.iter().rev();
    let name = names.next().map(|segment| segment.ident.to_string());
    let library = names.next().map(|segment| segment.ident.to_string());
    let is_async = matches!(
        library.as_deref(),
        Some("tokio" | "futures" | "futures_util" | "smol")
    );
    match name.as_deref() {
        Some("join" | "try_join") => is_async || library.is_none(),
        Some("select" | "select_biased") => is_async,
        _ => false,
    }
}

/// Nothing comes after it.
pub(super) fn diverges(invocation: &Macro) -> bool {
    DIVERGING.contains(&name(invocation).as_str())
}

fn name(invocation: &Macro) -> String {
    let last = invocation.path.segments.last();
    last.map_or_else(String::new, |segment| segment.ident.to_string())
}

fn listed(invocation: &Macro) -> Vec<Expr> {
    let parser = Punctuated::<Expr, Token![,]>::parse_terminated;
    let parsed = parser.parse2(invocation.tokens.clone());
    parsed.map_or_else(|_| Vec::new(), |list| list.into_iter().collect())
}

/// The arguments; of `name = value`, the value.
fn values(invocation: &Macro) -> Vec<Expr> {
    let value = |argument| match bare(&argument) {
        Expr::Assign(named) => Expr::clone(&named.right),
        _ => argument,
    };
    listed(invocation).into_iter().map(value).collect()
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
