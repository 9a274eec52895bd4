//! Methods of well-known types: what they return, and when they run the closures that they are given.

use super::chain::{self, Constructor};
use super::lock::bare;
use super::value::Kind;
use syn::{Expr, ExprMethodCall};

/// When a closure runs that is an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Runs {
    AtOnce,
    /// When the iterator is consumed.
    Lazily,
    /// Later, elsewhere, or that is not known.
    Later,
}

/// They run their closures at once, whatever the type: the name is that of one method only.
const AT_ONCE: [&str; 40] = [
    "and_modify",
    "binary_search_by",
    "binary_search_by_key",
    "dedup_by",
    "dedup_by_key",
    "fill_with",
    "get_or_init",
    "get_or_insert_with",
    "get_or_try_init",
    "is_err_and",
    "is_none_or",
    "is_ok_and",
    "is_some_and",
    "is_sorted_by",
    "is_sorted_by_key",
    "map_or",
    "map_or_else",
    "max_by",
    "max_by_key",
    "min_by",
    "min_by_key",
    "ok_or_else",
    "or_insert_with",
    "or_insert_with_key",
    "partition_point",
    "position",
    "resize_with",
    "retain",
    "retain_mut",
    "rposition",
    "select_nth_unstable_by",
    "select_nth_unstable_by_key",
    "sort_by",
    "sort_by_cached_key",
    "sort_by_key",
    "sort_unstable_by",
    "sort_unstable_by_key",
    "take_if",
    "with_borrow",
    "with_borrow_mut",
];

/// They run their closures at once if it is an `Option` or a `Result`; a future keeps them.
const OF_OPTIONAL: [&str; 8] = [
    "and_then",
    "filter",
    "inspect",
    "inspect_err",
    "map",
    "map_err",
    "or_else",
    "unwrap_or_else",
];

/// They consume an iterator.
const CONSUMING: [&str; 38] = [
    "all",
    "any",
    "cmp",
    "collect",
    "collect_vec",
    "count",
    "eq",
    "find",
    "find_map",
    "fold",
    "for_each",
    "ge",
    "gt",
    "join",
    "last",
    "le",
    "lt",
    "max",
    "max_by",
    "max_by_key",
    "min",
    "min_by",
    "min_by_key",
    "ne",
    "next",
    "next_back",
    "nth",
    "partial_cmp",
    "partition",
    "position",
    "product",
    "reduce",
    "rposition",
    "sorted",
    "sum",
    "try_fold",
    "try_for_each",
    "unzip",
];

/// An iterator makes another one of itself.
const ADAPTING: [&str; 26] = [
    "by_ref",
    "chain",
    "cloned",
    "copied",
    "cycle",
    "enumerate",
    "filter",
    "filter_map",
    "flat_map",
    "flatten",
    "fuse",
    "inspect",
    "intersperse",
    "map",
    "map_while",
    "peekable",
    "rev",
    "scan",
    "skip",
    "skip_while",
    "step_by",
    "take",
    "take_while",
    "zip",
    "into_iter",
    "iter",
];

/// They return an iterator, whatever they are called on.
const ITERATING: [&str; 31] = [
    "bytes",
    "char_indices",
    "chars",
    "chunks",
    "chunks_exact",
    "chunks_mut",
    "difference",
    "drain",
    "extract_if",
    "intersection",
    "into_iter",
    "into_keys",
    "into_par_iter",
    "into_values",
    "iter",
    "iter_mut",
    "keys",
    "lines",
    "par_iter",
    "par_iter_mut",
    "range",
    "range_mut",
    "split",
    "split_whitespace",
    "splitn",
    "symmetric_difference",
    "union",
    "values",
    "values_mut",
    "windows",
    "rsplit",
];

/// They return an `Option` or a `Result`, whatever they are called on.
const FINDING: [&str; 46] = [
    "as_deref",
    "as_deref_mut",
    "back",
    "back_mut",
    "checked_add",
    "checked_div",
    "checked_mul",
    "checked_sub",
    "err",
    "find",
    "find_map",
    "first",
    "first_key_value",
    "first_mut",
    "front",
    "front_mut",
    "get",
    "get_key_value",
    "get_mut",
    "last",
    "last_key_value",
    "last_mut",
    "max",
    "max_by",
    "max_by_key",
    "min",
    "min_by",
    "min_by_key",
    "next",
    "next_back",
    "nth",
    "ok",
    "ok_or",
    "ok_or_else",
    "parse",
    "peek",
    "peek_mut",
    "pop",
    "pop_back",
    "pop_first",
    "pop_front",
    "pop_last",
    "position",
    "reduce",
    "split_first",
    "split_last",
];

/// An `Option` or a `Result` makes another one of itself.
const PASSING: [&str; 19] = [
    "and",
    "and_then",
    "as_mut",
    "as_ref",
    "cloned",
    "copied",
    "filter",
    "flatten",
    "inspect",
    "inspect_err",
    "map",
    "map_err",
    "ok",
    "or",
    "or_else",
    "take",
    "transpose",
    "xor",
    "zip",
];

/// `known` says which expressions are guards or variables of a known kind.
pub(super) fn kind(expr: &Expr, known: &dyn Fn(&Expr) -> Option<Kind>) -> Kind {
    if let Some(kind) = known(expr) {
        return kind;
    }
    match bare(expr) {
        Expr::MethodCall(call) => kind_of_call(call, known),
        Expr::Range(_) => Kind::Iterator,
        Expr::Field(field) => data_only(kind(&field.base, known)),
        Expr::Index(index) => data_only(kind(&index.expr, known)),
        Expr::Reference(inner) => kind(&inner.expr, known),
        Expr::Unary(inner) => data_only(kind(&inner.expr, known)),
        Expr::Try(inner) => data_only(kind(&inner.expr, known)),
        Expr::Lit(_) | Expr::Binary(_) => Kind::Data,
        Expr::Call(call) => {
            if chain::iterates(&call.func) {
                Kind::Iterator
            } else if chain::constructor(&call.func) == Some(Constructor::Wrapping) {
                Kind::Optional
            } else {
                Kind::Unknown
            }
        }
        _ => Kind::Unknown,
    }
}

/// A part of data is data.
fn data_only(kind: Kind) -> Kind {
    if kind == Kind::Unknown {
        Kind::Unknown
    } else {
        Kind::Data
    }
}

fn kind_of_call(call: &ExprMethodCall, known: &dyn Fn(&Expr) -> Option<Kind>) -> Kind {
    let name = call.method.to_string();
    let name = name.as_str();
    let receiver = kind(&call.receiver, known);
    match receiver {
        Kind::Iterator if ADAPTING.contains(&name) => Kind::Iterator,
        Kind::Optional if PASSING.contains(&name) => Kind::Optional,
        Kind::Optional if name.starts_with("unwrap") || name == "expect" => Kind::Data,
        _ if ITERATING.contains(&name) => Kind::Iterator,
        // By its key something is removed from a map, by its number from a list.
        _ if matches!(name, "remove" | "remove_entry") => {
            let by_key = matches!(call.args.first(), Some(Expr::Reference(_)));
            if by_key {
                Kind::Optional
            } else {
                data_only(receiver)
            }
        }
        // A stream's is a future.
        Kind::Unknown if matches!(name, "next" | "nth" | "find" | "find_map" | "reduce") => {
            Kind::Unknown
        }
        _ if FINDING.contains(&name) => Kind::Optional,
        Kind::Data => match name {
            _ if unwraps(name) => Kind::Data,
            "as_mut" | "as_ref" | "copied" | "cloned" | "take" | "map" | "and_then" | "insert" => {
                Kind::Optional
            }
            "entry" | "len" | "is_empty" | "trim" | "clone" | "swap_remove" => Kind::Data,
            _ => Kind::Unknown,
        },
        Kind::Iterator => match name {
            "collect" => Kind::Unknown,
            _ => Kind::Data,
        },
        _ if matches!(name, "entry" | "len" | "is_empty" | "trim" | "or_default") => Kind::Data,
        _ => Kind::Unknown,
    }
}

/// When `name` runs its closures on a receiver of that kind.
pub(super) fn runs(name: &str, receiver: Kind, inputs: usize) -> Runs {
    if AT_ONCE.contains(&name) {
        return Runs::AtOnce;
    }
    match receiver {
        Kind::Iterator if CONSUMING.contains(&name) => Runs::AtOnce,
        Kind::Iterator if ADAPTING.contains(&name) => Runs::Lazily,
        Kind::Optional if OF_OPTIONAL.contains(&name) => Runs::AtOnce,
        // What is moved out of data is copied: no future, but an `Option` it may be.
        Kind::Data
            if matches!(
                name,
                "and_then" | "map" | "map_err" | "or_else" | "unwrap_or_else"
            ) =>
        {
            Runs::AtOnce
        }
        // A bool's; a future's has an argument.
        Kind::Unknown | Kind::Data if name == "then" && inputs == 0 => Runs::AtOnce,
        _ => Runs::Later,
    }
}

/// The iterator on which `name` is called is used up in it.
pub(super) fn consumes(name: &str) -> bool {
    CONSUMING.contains(&name)
}

/// It consumes the iterators that are its arguments.
pub(super) fn consumes_arguments(name: &str) -> bool {
    matches!(name, "extend" | "from_iter" | "eq" | "cmp")
}

/// What it is called on is in the result, out of its `Option` or `Result`.
pub(super) fn unwraps(name: &str) -> bool {
    matches!(
        name,
        "unwrap"
            | "expect"
            | "into_inner"
            | "unwrap_or_else"
            | "unwrap_unchecked"
            | "unwrap_or_default"
    )
}

/// What it is called on is in the result, in another `Option` or `Result`.
pub(super) fn passes(name: &str) -> bool {
    matches!(
        name,
        "ok" | "map_err" | "ok_or" | "ok_or_else" | "context" | "with_context"
    )
}

/// Its closure gets what is in the `Option` or `Result`.
pub(super) fn gives_the_value(name: &str) -> bool {
    matches!(
        name,
        "map" | "and_then" | "is_some_and" | "is_ok_and" | "inspect" | "map_or"
    )
}
