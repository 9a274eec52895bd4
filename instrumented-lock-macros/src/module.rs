//! `#[instrumented]` on a module: each function, `impl` and module in there is treated as if the attribute
//! were on it, and what else makes locks is looked for. No type is changed: structs, enums and statics want
//! attributes of their own.

use crate::attr::{Options, Place, is_instrumented};
use crate::code::{self, strays};
use crate::library::Library;
use crate::lint::{self, Findings};
use crate::places;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Attribute, Item, ItemMod};

pub(crate) fn expand(
    arguments: &TokenStream,
    tokens: TokenStream,
    mut module: ItemMod,
) -> TokenStream {
    let mut options = Options::new(Place::Module);
    options.read(arguments.clone());
    let mut errors = Findings::default();
    lint::check_options(&options, &mut errors);
    let is_changed = strays(&mut module.attrs, Place::Module, &mut errors);
    let errors = errors.tokens();
    if !errors.is_empty() {
        let item = if is_changed {
            module.into_token_stream()
        } else {
            tokens
        };
        return quote!(#item #errors);
    }
    let library = Library(options.path("crate"));
    inside(arguments, &library, &mut module);
    module.into_token_stream()
}

fn inside(arguments: &TokenStream, library: &Library, module: &mut ItemMod) {
    // The compiler does not show what is in another file.
    let Some((_, items)) = &mut module.content else {
        return;
    };
    for item in items.iter_mut().filter(|item| !is_annotated(item)) {
        let expanded = match item {
            Item::Fn(function) => code::function(
                arguments.clone(),
                function.to_token_stream(),
                function.clone(),
            ),
            Item::Impl(inner) => {
                code::implementation(arguments.clone(), inner.to_token_stream(), inner.clone())
            }
            Item::Mod(inner) => {
                inside(arguments, library, inner);
                continue;
            }
            _ => continue,
        };
        *item = Item::Verbatim(expanded);
    }
    let others = items.iter_mut().filter(|item| !is_annotated(item));
    let found = places::in_items(others);
    let places = places::declare(&found.places, library);
    if !places.is_empty() {
        items.push(Item::Verbatim(places));
    }
}

/// Such an item is treated on its own.
fn is_annotated(item: &Item) -> bool {
    let attrs: &[Attribute] = match item {
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        _ => &[],
    };
    attrs.iter().any(is_instrumented)
}
