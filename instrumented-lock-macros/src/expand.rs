//! What is emitted for an item without errors: the item, its locks' types projected to their
//! classes, and the classes.

use crate::ast::{self, Field, Input, Lock, Name, Slot};
use crate::derived;
use crate::library::{Library, fact_name};
use crate::message;
use crate::types::{self, Reach};
use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Attribute, Item, ItemEnum, ItemStruct, Type, parse_quote_spanned};

pub(crate) fn expand(mut input: Input) -> TokenStream {
    let library = Library(input.options.path("crate"));
    let derived = derived::expand(&mut input, &library);
    for (slot, field) in ast::slots(&mut input.item).iter_mut().zip(&input.fields) {
        project_field(slot, field, &library);
    }
    let classes = classes(&input, &library);
    let facts = facts(&input, &library);
    let (of_handles, checked) = (handles(&input, &library), handled(&input, &library));
    let possible = possible(&input, &library);
    let item = &input.item;
    quote!(#item #classes #facts #of_handles #checked #possible #derived)
}

fn project_field(slot: &mut Slot<'_>, field: &Field, library: &Library) {
    let Some(reach) = field.reach else {
        return;
    };
    if field.locks.is_empty() {
        return;
    }
    let mut locks = field.locks.iter();
    let written = slot.ty.clone();
    types::each_lock(slot.ty, reach, &mut |ty, _| {
        if let Some(Lock { marker, .. }) = locks.next() {
            *ty = project(ty, &marker.to_token_stream(), library);
        }
    });
    types::mirror_initialiser(written, slot.ty);
    // Clippy would count the projection on top of what the user wrote.
    let span = Span::mixed_site();
    slot.attrs
        .push(parse_quote_spanned!(span=> #[allow(clippy::type_complexity)]));
}

/// The lock's type with the class in it.
fn project(ty: &Type, marker: &TokenStream, library: &Library) -> Type {
    // The whole spans exactly what the user wrote, in the user's own context: errors and lints
    // point there. What is between comes from a macro and is not judged as the user's style.
    let (first, last) = types::ends(ty);
    let inner = Span::mixed_site().located_at(first);
    let library = library.at(inner);
    let (open, name) = (quote_spanned!(first=> <), Ident::new("Lock", last));
    Type::Verbatim(quote_spanned! {inner=>
        #open #ty as #library::__private::Instrumentable<#marker>>::#name
    })
}

/// Declares the classes of the item.
fn classes(input: &Input, library: &Library) -> TokenStream {
    let declarations: Vec<_> = input
        .locks()
        .map(|(field, lock)| declaration(field, lock, library))
        .collect();
    if declarations.is_empty() {
        return TokenStream::new();
    }
    let span = Span::mixed_site();
    let library = library.at(span);
    quote_spanned!(span=> #library::__private::declare_classes! { #(#declarations)* })
}

/// What there is to say of one class. All tokens of the call stand at the field, in the user's own
/// context, so that `Location::caller` is the field's line.
fn declaration(field: &Field, lock: &Lock, library: &Library) -> TokenStream {
    let Lock {
        marker,
        kind,
        name,
        span,
    } = lock;
    let (cfgs, library, kind) = (&field.cfgs, library.at(*span), Ident::new(kind, *span));
    // `::core` means the crate in our edition, not in every user's.
    let ours = Span::mixed_site().located_at(*span);
    let rank = rank(field, ours);
    let nested = field.nested.iter();
    let in_module = |name: &str| {
        let name = format!("::{name}");
        quote_spanned!(ours=> ::core::concat!(::core::module_path!(), #name))
    };
    let written = match name {
        Name::InModule(name) => in_module(name),
        Name::Whole(name) => quote_spanned!(*span=> #name),
    };
    let kind = quote_spanned!(*span=> #library::__private::LockKind::#kind);
    // An alias may be one of a handle, which keeps its type.
    let is_handle =
        lock.kind == "Unknown" || !field.locks.iter().any(|own| std::ptr::eq(own, lock));
    let value = match name {
        Name::Whole(_) if is_handle => {
            let number = name.number(field);
            let path = in_module(&format!("{}{number}", field.path));
            quote_spanned!(*span=> of_handle(#written, #kind, #rank, #path))
        }
        _ => quote_spanned!(*span=> new(#written, #kind, #rank)),
    };
    quote_spanned! {*span=>
        #(#cfgs)*
        #marker = { #library::__private::Declaration::#value #(.nested(#nested))* }
    }
}

/// Declares the classes of the locks behind handles, which are those of the places that make them.
fn handles(input: &Input, library: &Library) -> TokenStream {
    let fields = input.fields.iter();
    let handles = fields.flat_map(|field| field.handles.iter().map(move |lock| (field, lock)));
    let declarations: Vec<_> = handles
        .map(|(field, lock)| declaration(field, lock, library))
        .collect();
    if declarations.is_empty() {
        return TokenStream::new();
    }
    let span = Span::mixed_site();
    let library = library.at(span);
    quote_spanned!(span=> #library::__private::declare_handles! { #(#declarations)* })
}

/// Where nothing is a lock by its name, the compiler has the last word: a type may be an alias.
fn possible(input: &Input, library: &Library) -> TokenStream {
    let fields = input.possible();
    let (Item::Struct(ItemStruct { generics, .. }) | Item::Enum(ItemEnum { generics, .. })) =
        &input.item
    else {
        return TokenStream::new();
    };
    // Of a type with parameters it is not known yet, and through a list it cannot be asked.
    let is_asked = |field: &&Field| types::is_leaf(&mut field.ty.clone());
    let names = |field: &&Field| names_self(field.ty.to_token_stream());
    if fields.is_empty()
        || !generics.params.is_empty()
        || !fields.iter().all(is_asked)
        || fields.iter().any(names)
    {
        return TokenStream::new();
    }
    let ours = Span::mixed_site();
    let (library, cfgs) = (library.at(ours), cfgs(&input.item));
    let asked = fields.iter().map(|field| {
        let (ty, cfgs) = (&field.ty, &field.cfgs);
        quote_spanned! {ours=>
            #(#cfgs)*
            if #library::__private::probe::is_refused(
                |this: &mut #ty| #library::__private::answer!(*this),
                #library::__private::probe::Excuse::None,
                #library::__private::probe::Returns::Either,
            ) {
                return true;
            }
        }
    });
    let message = message::no_lock(input.options.place);
    let at = input.ident.span();
    let inner = ours.located_at(at);
    let error = quote_spanned!(inner=> ::core::panic!("{}", #message));
    quote_spanned! {ours=>
        #(#cfgs)*
        const _: () = {
            const fn has_lock() -> bool {
                #(#asked)*
                false
            }
            if !has_lock() {
                #error
            }
        };
    }
}

/// A check that the locks behind handles are ours too, though they get no class.
fn handled(input: &Input, library: &Library) -> TokenStream {
    let (Item::Struct(ItemStruct { generics, .. }) | Item::Enum(ItemEnum { generics, .. })) =
        &input.item
    else {
        return TokenStream::new();
    };
    let ours = Span::mixed_site();
    let library = library.at(ours);
    let mut checks = Vec::new();
    for field in input
        .fields
        .iter()
        .filter(|field| field.reach == Some(Reach::Owned))
    {
        let mut ty = field.ty.clone();
        // Those of the field itself are refused in the item.
        let nothing = Type::Verbatim(TokenStream::new());
        types::each_known(&mut ty, Reach::Owned, &mut |ty, _| *ty = nothing.clone());
        types::each_known(&mut ty, Reach::Shared, &mut |ty, _| {
            if !names_self(ty.to_token_stream()) {
                let cfgs = &field.cfgs;
                checks
                    .push(quote_spanned!(ours=> #(#cfgs)* #library::__private::is_ours::<#ty>();));
            }
        });
    }
    if checks.is_empty() {
        return TokenStream::new();
    }
    let cfgs = cfgs(&input.item);
    let (generics, _, bounds) = generics.split_for_impl();
    quote_spanned! {ours=>
        #(#cfgs)*
        const _: () = {
            #[allow(dead_code, single_use_lifetimes, unused_lifetimes, clippy::type_complexity)]
            fn handles #generics () #bounds {
                #(#checks)*
            }
        };
    }
}

/// `Self` means nothing outside the item.
fn names_self(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => ident == "Self",
        TokenTree::Group(group) => names_self(group.stream()),
        TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}

fn cfgs(item: &Item) -> Vec<&Attribute> {
    let attrs = match item {
        Item::Struct(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        _ => return Vec::new(),
    };
    attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .collect()
}

/// What the checks of an annotated `impl` have to know of the fields: the ranks. Not for types with
/// type parameters, where no such check can run.
fn facts(input: &Input, library: &Library) -> TokenStream {
    let Item::Struct(item) = &input.item else {
        return TokenStream::new();
    };
    if item.generics.type_params().next().is_some() || item.generics.const_params().next().is_some()
    {
        return TokenStream::new();
    }
    let span = Span::mixed_site();
    let consts: Vec<_> = input
        .fields
        .iter()
        .filter_map(|field| fact(field, library))
        .collect();
    if consts.is_empty() {
        return TokenStream::new();
    }
    let cfgs = cfgs(&input.item);
    let (generics, arguments, bounds) = item.generics.split_for_impl();
    let ident = &item.ident;
    quote_spanned! {span=>
        #(#cfgs)*
        #[doc(hidden)]
        #[allow(dead_code, non_upper_case_globals, single_use_lifetimes)]
        impl #generics #ident #arguments #bounds {
            #(#consts)*
        }
    }
}

fn fact(field: &Field, library: &Library) -> Option<TokenStream> {
    field.locks.first()?;
    field.rank?;
    let span = Span::mixed_site();
    let (name, rank, library) = (fact_name(&field.name), rank(field, span), library.at(span));
    let cfgs = &field.cfgs;
    Some(quote_spanned! {span=>
        #(#cfgs)*
        pub(crate) const #name: #library::__private::FieldFacts =
            #library::__private::FieldFacts::new(#rank);
    })
}

fn rank(field: &Field, span: Span) -> TokenStream {
    let rank = field.rank.into_iter();
    let mut rank = rank.map(|rank| quote_spanned!(span=> ::core::option::Option::Some(#rank)));
    let none = || quote_spanned!(span=> ::core::option::Option::None);
    rank.next_back().unwrap_or_else(none)
}
