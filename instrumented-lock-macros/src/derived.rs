//! `#[derive(Default)]` of a struct with handles. What the derive writes is `Arc::default()`, and the library
//! of std does not tell who calls that. So the struct gets the same `impl`, which makes the locks itself:
//! `Arc::new(Mutex::default())`, each at the place of its type.

use crate::ast::Input;
use crate::library::Library;
use crate::types;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Fields, GenericParam, Generics, Item, ItemStruct, Meta, Path, Token, Type,
    parse_quote,
};

/// Takes `Default` out of the derives of the item and gives what stands for it, where that says more.
pub(crate) fn expand(input: &mut Input, library: &Library) -> TokenStream {
    let Item::Struct(item) = &mut input.item else {
        return TokenStream::new();
    };
    let has_handle = input.fields.iter().any(|field| !field.handles.is_empty());
    if !has_handle || projects(&item.generics, &item.fields) {
        return TokenStream::new();
    }
    let mut locks = Vec::new();
    let values: Vec<_> = item
        .fields
        .iter()
        .zip(&input.fields)
        .map(|(written, field)| {
            if field.handles.is_empty() {
                return default_at(Span::mixed_site());
            }
            let first = locks.len();
            let value = value(&written.ty, &mut locks);
            let of_field = &mut locks[first..];
            let count = of_field.len();
            for (number, (_, name)) in of_field.iter_mut().enumerate() {
                *name = match count {
                    1 => field.name.clone(),
                    _ => format!("{}.{number}", field.name),
                };
            }
            value
        })
        .collect();
    if locks.is_empty() || !take_default(&mut item.attrs) {
        return TokenStream::new();
    }
    let implementation = implementation(item, &values);
    let places = places(item, &locks, library);
    quote!(#implementation #places)
}

/// The value of a field that has handles, with the place of every lock in it.
fn value(ty: &Type, locks: &mut Vec<(Span, String)>) -> TokenStream {
    let (at, _) = types::ends(ty);
    if types::is_lock(ty) {
        locks.push((at, String::new()));
        return default_at(at);
    }
    if let Some(inner) = types::pointed_at(ty)
        && types::has_shared_lock(inner)
    {
        let inner = value(inner, locks);
        let ours = Span::mixed_site().located_at(at);
        return quote_spanned!(ours=> <#ty>::new(#inner));
    }
    match ty {
        Type::Tuple(tuple) => {
            let parts: Vec<_> = tuple.elems.iter().map(|part| value(part, locks)).collect();
            quote!((#(#parts,)*))
        }
        Type::Paren(inner) => value(&inner.elem, locks),
        Type::Group(inner) => value(&inner.elem, locks),
        // What is empty at first has no locks.
        _ => default_at(Span::mixed_site()),
    }
}

/// In the user's own context at a place of theirs, so that it is the caller.
fn default_at(at: Span) -> TokenStream {
    quote_spanned!(at=> ::core::default::Default::default())
}

/// Whether a field has a type such as `T::Item`, of which the derive would ask more.
fn projects(generics: &Generics, fields: &Fields) -> bool {
    let names: Vec<_> = generics
        .type_params()
        .map(|param| param.ident.to_string())
        .collect();
    fields.iter().any(|field| {
        let mut before = String::new();
        types::each_token(field.ty.to_token_stream(), &mut |token| {
            let found = token == ":" && names.contains(&before);
            token.clone_into(&mut before);
            found
        })
    })
}

/// Whether there was one.
fn take_default(attrs: &mut [Attribute]) -> bool {
    let mut found = false;
    for attr in attrs
        .iter_mut()
        .filter(|attr| attr.path().is_ident("derive"))
    {
        let Ok(derives) = attr.parse_args_with(Punctuated::<Path, Token![,]>::parse_terminated)
        else {
            continue;
        };
        let is_default = |path: &Path| {
            let last = path.segments.last();
            last.is_some_and(|last| last.ident == "Default")
        };
        if derives.iter().any(is_default) {
            found = true;
            let others: Vec<_> = derives
                .into_iter()
                .filter(|path| !is_default(path))
                .collect();
            if let Meta::List(list) = &mut attr.meta {
                list.tokens = quote!(#(#others),*);
            }
        }
    }
    found
}

fn implementation(item: &ItemStruct, values: &[TokenStream]) -> TokenStream {
    let ident = &item.ident;
    let mut generics = item.generics.clone();
    for param in &mut generics.params {
        if let GenericParam::Type(param) = param {
            param.default = None;
            param.bounds.push(parse_quote!(::core::default::Default));
        }
    }
    let cfgs = cfgs(&item.attrs);
    let (head, arguments, bounds) = generics.split_for_impl();
    let fields = item.fields.iter().zip(values).enumerate();
    let fields = fields.map(|(index, (field, value))| {
        let cfgs = self::cfgs(&field.attrs);
        let name = match &field.ident {
            Some(name) => name.to_token_stream(),
            None => syn::Index::from(index).to_token_stream(),
        };
        quote!(#(#cfgs)* #name: #value)
    });
    quote! {
        #(#cfgs)*
        #[automatically_derived]
        #[allow(clippy::type_complexity, deprecated)]
        impl #head ::core::default::Default for #ident #arguments #bounds {
            #[inline]
            fn default() -> Self {
                Self { #(#fields),* }
            }
        }
    }
}

fn places(item: &ItemStruct, locks: &[(Span, String)], library: &Library) -> TokenStream {
    let owner = item.ident.to_string();
    let places: Vec<_> = locks
        .iter()
        .map(|(at, field)| crate::places::Place::of_field(*at, &owner, field))
        .collect();
    crate::places::declare(&places, library)
}

fn cfgs(attrs: &[Attribute]) -> Vec<&Attribute> {
    let cfgs = attrs.iter().filter(|attr| attr.path().is_ident("cfg"));
    cfgs.collect()
}
