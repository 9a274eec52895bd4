//! A mistake in a body, and the places in the source that it is about.

use proc_macro2::Span;
use quote::ToTokens;
use syn::{Expr, ExprMethodCall};

/// A place in the source.
#[derive(Clone, Copy)]
pub(crate) struct Site {
    pub(crate) start: Span,
    pub(crate) end: Span,
}

impl Site {
    pub(crate) fn of(tokens: &impl ToTokens) -> Self {
        let mut spans = tokens
            .to_token_stream()
            .into_iter()
            .map(|token| token.span());
        let start = spans.next().unwrap_or_else(Span::call_site);
        let end = spans.last().unwrap_or(start);
        Site { start, end }
    }

    /// As [`Site::of`], without making tokens of the whole call: there are many.
    pub(crate) fn of_call(call: &ExprMethodCall) -> Self {
        let mut receiver = &*call.receiver;
        loop {
            receiver = match receiver {
                Expr::Field(field) => &field.base,
                Expr::Index(index) => &index.expr,
                Expr::MethodCall(call) => &call.receiver,
                Expr::Path(path) if path.qself.is_none() && path.path.leading_colon.is_none() => {
                    let first = path.path.segments.first();
                    let start = first.map_or_else(Span::call_site, |part| part.ident.span());
                    let end = call.paren_token.span.close();
                    return Site { start, end };
                }
                _ => return Site::of(call),
            };
        }
    }

    pub(crate) fn line(self) -> usize {
        self.start.start().line
    }
}

/// A mistake.
pub(crate) struct Finding {
    pub(crate) at: Site,
    /// Where the guard was taken that is in the way.
    pub(crate) first: Option<Site>,
    pub(crate) message: String,
    pub(crate) unless: Option<Unless>,
}

/// What would excuse a finding, and only the compiler can know.
pub(crate) enum Unless {
    /// The field of `self` is a lock that one thread may take twice.
    Reentrant {
        field: String,
        for_reading_only: bool,
    },
    /// The ranks of two fields of `self` rise, or they have none.
    Ordered { held: String, taken: String },
}
