//! What is emitted on errors: the user's item, so that nothing else breaks for want of it, without
//! our own attributes inside, which nobody else knows; and all errors.

use crate::message;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::quote;
use syn::Item;

pub(crate) fn item_and_errors(item: TokenStream, errors: &syn::Error) -> TokenStream {
    let ours: &[&str] = match syn::parse2(item.clone()) {
        // In there `#[instrumented]` can only be on a field, where the compiler refuses it too.
        Ok(Item::Struct(_) | Item::Enum(_)) => &["lock", "instrumented"],
        _ => &["lock"],
    };
    let item = without(ours, item);
    let errors = errors.to_compile_error();
    quote!(#item #errors)
}

/// An item that syn cannot read, though the compiler can. In a body there may be syntax newer than
/// syn: then nothing is said of it.
pub(crate) fn unreadable(item: TokenStream, error: &syn::Error) -> TokenStream {
    let is_code = item
        .clone()
        .into_iter()
        .any(|token| matches!(token, TokenTree::Ident(ident) if ident == "fn" || ident == "impl"));
    if is_code {
        return without(&["lock"], item);
    }
    let error = syn::Error::new(error.span(), message::unreadable(error));
    item_and_errors(item, &error)
}

/// Works on tokens: the item may be of any kind, or one that syn cannot read.
fn without(ours: &[&str], tokens: TokenStream) -> TokenStream {
    let mut kept: Vec<TokenTree> = Vec::new();
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_attribute(ours, &group, kept.last()) => {
                kept.pop();
            }
            TokenTree::Group(group) => {
                let mut inside = Group::new(group.delimiter(), without(ours, group.stream()));
                inside.set_span(group.span());
                kept.push(inside.into());
            }
            other => kept.push(other),
        }
    }
    kept.into_iter().collect()
}

/// Whether the group is the `[lock...]` of a `#[lock...]`, or another attribute of ours.
fn is_attribute(ours: &[&str], group: &Group, before: Option<&TokenTree>) -> bool {
    let is_attribute = group.delimiter() == Delimiter::Bracket
        && matches!(before, Some(TokenTree::Punct(punct)) if punct.as_char() == '#');
    let mut inside = group.stream().into_iter();
    let is_ours = match inside.next() {
        Some(TokenTree::Ident(ident)) => ours.iter().any(|name| ident == name),
        _ => false,
    };
    // `#[lock::something]` is somebody else's.
    let is_path = matches!(inside.next(), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_attribute && is_ours && !is_path
}
