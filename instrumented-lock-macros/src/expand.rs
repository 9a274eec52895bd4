//! What is emitted for an item without errors: the item, its locks' types projected to their
//! classes, and the classes.

use crate::ast::{self, Field, Input, Lock, Name, Slot};
use crate::types;
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Path, Type, parse_quote_spanned};

pub(crate) fn expand(mut input: Input) -> TokenStream {
    let library = Library(input.options.path("crate"));
    for (slot, field) in ast::slots(&mut input.item).iter_mut().zip(&input.fields) {
        project_field(slot, field, &library);
    }
    let classes = input
        .locks()
        .map(|(field, lock)| declare(field, lock, &library));
    let classes: TokenStream = classes.collect();
    let item = &input.item;
    quote!(#item #classes)
}

fn project_field(slot: &mut Slot<'_>, field: &Field, library: &Library) {
    let Some(reach) = field.reach.filter(|_| !field.locks.is_empty()) else {
        return;
    };
    let mut locks = field.locks.iter();
    types::each_lock(slot.ty, reach, &mut |ty, _| {
        if let Some(lock) = locks.next() {
            *ty = project(ty, lock, library);
        }
    });
    // Clippy would count the projection on top of what the user wrote.
    let span = Span::mixed_site();
    slot.attrs
        .push(parse_quote_spanned!(span=> #[allow(clippy::type_complexity)]));
}

/// The lock's type with the class in it.
fn project(ty: &Type, lock: &Lock, library: &Library) -> Type {
    // The whole spans exactly what the user wrote, in the user's own context: errors and lints
    // point there. What is between comes from a macro and is not judged as the user's style.
    let (first, last) = types::ends(ty);
    let inner = Span::mixed_site().located_at(first);
    let (library, marker) = (library.at(inner), &lock.marker);
    let (open, name) = (quote_spanned!(first=> <), Ident::new("Lock", last));
    Type::Verbatim(quote_spanned! {inner=>
        #open #ty as #library::__private::Instrumentable<#marker>>::#name
    })
}

/// Declares the class. All tokens stand at the field, in the user's own context, so that
/// `Location::caller` in the expansion is the field's line.
fn declare(field: &Field, lock: &Lock, library: &Library) -> TokenStream {
    let Lock {
        marker,
        kind,
        name,
        span,
    } = lock;
    let (cfgs, library, kind) = (&field.cfgs, library.at(*span), Ident::new(kind, *span));
    let name = match name {
        Name::InModule(name) => {
            let name = format!("::{name}");
            // `::core` means the crate in our edition, not in every user's.
            let ours = Span::mixed_site().located_at(*span);
            quote_spanned!(ours=> ::core::concat!(::core::module_path!(), #name))
        }
        Name::Whole(name) => quote_spanned!(*span=> #name),
    };
    quote_spanned! {*span=>
        #library::__private::declare_class! { #(#cfgs)* pub #marker, #kind, #name }
    }
}

/// Where the library is found: what `crate = ...` says, or under its own name.
struct Library(Option<Path>);

impl Library {
    /// The path, as if it stood at `span`.
    fn at(&self, span: Span) -> TokenStream {
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
