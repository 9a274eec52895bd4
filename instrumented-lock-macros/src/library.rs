//! Names that generated code uses, for an item and for an `impl` alike.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote_spanned};
use syn::Path;

/// Where the library is found: what `crate = ...` says, or under its own name.
pub(crate) struct Library(pub(crate) Option<Path>);

impl Library {
    /// The path, as if it stood at `span`.
    pub(crate) fn at(&self, span: Span) -> TokenStream {
        let Some(path) = &self.0 else {
            return quote_spanned!(span=> ::instrumented_lock);
        };
        let moved = |mut token: TokenTree| {
            // Moved, but resolved as the user wrote it: it may begin with a macro's `$crate`.
            token.set_span(token.span().located_at(span));
            token
        };
        path.into_token_stream().into_iter().map(moved).collect()
    }
}

/// The constant that tells about a field. The user's own context: both expansions name it.
pub(crate) fn fact_name(field: &str) -> Ident {
    Ident::new(&format!("__LOCK_{field}"), Span::call_site())
}
