//! Finds the places in annotated code that make locks, and where these locks go: "what is made here
//! becomes the field `shutdown` of `Flusher`". The names of locks behind handles come from there, for
//! their types say nothing of a class.
//!
//! `making` knows what makes a lock. `walker` walks a body once, from the outside to the inside, with the
//! place that the value of each expression goes to; a variable goes to the field that it ends up in, and
//! `variables` keeps track of that. `hint` is the one thing that is added to code: where a lock is used
//! before the compiler knows its type, it is told.

mod hint;
mod making;
mod target;
mod variables;
mod walker;

use crate::library::Library;
use hint::Hints;
use making::path_of;
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::{Block, ImplItem, Item, ItemImpl, Signature, TraitItem};
pub(crate) use target::Place;
use walker::Walker;

/// What is found in a piece of code.
#[derive(Default)]
pub(crate) struct Found {
    pub(crate) places: Vec<Place>,
    /// Whether the code had to be told a type.
    pub(crate) is_changed: bool,
}

impl Found {
    fn add(&mut self, walker: Walker) -> Hints {
        let (places, hints) = walker.finish();
        self.places.extend(places);
        hints
    }
}

/// In a function, or a method whose `impl` nobody sees.
pub(crate) fn in_function(sig: &Signature, block: &mut Block) -> Found {
    let mut found = Found::default();
    let mut walker = Walker::new(None, &sig.ident.to_string());
    walker.function(sig, block);
    let hints = found.add(walker);
    found.is_changed = hints.apply_to_block(block);
    found
}

pub(crate) fn in_impl(item: &mut ItemImpl) -> Found {
    let own = path_of(&item.self_ty);
    let mut found = Found::default();
    for inner in &mut item.items {
        match inner {
            ImplItem::Fn(method) => {
                let mut walker = Walker::new(own.as_deref(), &method.sig.ident.to_string());
                walker.function(&method.sig, &method.block);
                let hints = found.add(walker);
                found.is_changed |= hints.apply_to_block(&mut method.block);
            }
            ImplItem::Const(constant) => {
                let mut walker = Walker::new(own.as_deref(), "");
                walker.constant(&constant.ident, &constant.expr);
                found.add(walker);
            }
            _ => {}
        }
    }
    found
}

/// In what is directly in a module, and neither a function nor an `impl` nor a module.
pub(crate) fn in_items<'a>(items: impl Iterator<Item = &'a mut Item>) -> Found {
    let mut found = Found::default();
    for item in items {
        match item {
            Item::Trait(item) => {
                let own = item.ident.to_string();
                for inner in &mut item.items {
                    if let TraitItem::Fn(method) = inner
                        && let Some(block) = &mut method.default
                    {
                        let mut walker = Walker::new(Some(&own), &method.sig.ident.to_string());
                        walker.function(&method.sig, block);
                        let hints = found.add(walker);
                        found.is_changed |= hints.apply_to_block(block);
                    }
                }
            }
            Item::Const(_) | Item::Static(_) | Item::Macro(_) => {
                let mut walker = Walker::new(None, "");
                walker.item(item);
                found.add(walker);
            }
            _ => {}
        }
    }
    found
}

/// Declares the places. All tokens of each stand where the call does that makes the lock, in the user's own
/// context, so that `Location::caller` is the same for both.
pub(crate) fn declare(places: &[Place], library: &Library) -> TokenStream {
    if places.is_empty() {
        return TokenStream::new();
    }
    let places = places.iter().map(|place| {
        let Place {
            at,
            owner,
            field,
            otherwise,
        } = place;
        let ours = Span::mixed_site().located_at(*at);
        let module = quote_spanned!(ours=> ::core::module_path!());
        let library = library.at(*at);
        quote_spanned! {*at=>
            { #library::__private::Place::new(#module, #owner, #field, #otherwise) }
        }
    });
    let span = Span::mixed_site();
    let library = library.at(span);
    quote_spanned!(span=> #library::__private::declare_places! { #(#places)* })
}
