//! `#[instrumented]` on an `impl` or a function: the options, the findings in the bodies, and what
//! is emitted: the code as it is, without our attributes in it, and the findings.

use crate::attr::{self, Options, Place, StrayPlace};
use crate::body::{self, Finding, Settings};
use crate::library::Library;
use crate::lint::{self, Findings};
use crate::refusal::{self, Facts};
use crate::rule::{Rule, Rules};
use crate::{item_attrs, message};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::collections::{HashMap, HashSet};
use syn::{Attribute, Block, ImplItem, ImplItemFn, Item, ItemFn, ItemImpl, Stmt};

pub(crate) fn function(
    arguments: TokenStream,
    tokens: TokenStream,
    mut function: ItemFn,
) -> TokenStream {
    let mut options = Options::new(Place::Function);
    options.read(arguments);
    let mut errors = Findings::default();
    lint::check_options(&options, &mut errors);
    let mut is_changed = strays(&mut function.attrs, Place::Function, &mut errors);
    let findings = body::check(
        &function.sig,
        &function.block,
        Settings {
            allowed: options.allowed(),
            denied: options.denied(),
            locking: &HashSet::new(),
            others: &body::in_body(&function.block),
            is_poisoning: false,
        },
    );
    is_changed |= statements(&mut function.block, &mut errors);
    let refused = [errors.tokens(), refusal::all(&findings, None)];
    if refused.iter().any(|tokens| !tokens.is_empty()) {
        // A method has no room for other items beside it, its body has.
        let refused = Item::Verbatim(refused.into_iter().collect());
        function.block.stmts.insert(0, Stmt::Item(refused));
        return function.into_token_stream();
    }
    if is_changed {
        function.into_token_stream()
    } else {
        tokens
    }
}

pub(crate) fn implementation(
    arguments: TokenStream,
    tokens: TokenStream,
    mut item: ItemImpl,
) -> TokenStream {
    let mut options = Options::new(Place::Impl);
    options.read(arguments);
    let mut errors = Findings::default();
    lint::check_options(&options, &mut errors);
    let mut is_changed = strays(&mut item.attrs, Place::Impl, &mut errors);
    let others = body::in_impl(&item);
    let mut of_methods = Vec::new();
    for method in methods(&mut item) {
        let own = of_method(method, &mut errors);
        is_changed |= own.is_some();
        of_methods.push(own.unwrap_or_else(|| Options::new(Place::Function)));
    }
    let locking = if of_methods.iter().chain([&options]).any(asks_for_calls) {
        locking(&mut item, &of_methods, &others)
    } else {
        HashSet::new()
    };
    let mut findings = Vec::new();
    for (method, own) in methods(&mut item).zip(&of_methods) {
        findings.extend(in_method(method, own, &options, (&locking, &others)));
        is_changed |= statements(&mut method.block, &mut errors);
    }
    let library = Library(options.path("crate"));
    let refused = [
        errors.tokens(),
        refusal::all(&findings, Facts::of(&item, &library).as_ref()),
    ];
    let item = if is_changed {
        item.into_token_stream()
    } else {
        tokens
    };
    quote!(#item #(#refused)*)
}

fn methods(item: &mut ItemImpl) -> impl Iterator<Item = &mut ImplItemFn> {
    item.items.iter_mut().filter_map(|item| match item {
        ImplItem::Fn(method) => Some(method),
        _ => None,
    })
}

/// Takes `#[instrumented(...)]` off the method: the one on the impl does its work.
fn of_method(method: &mut ImplItemFn, errors: &mut Findings) -> Option<Options> {
    let ours: Vec<_> = method
        .attrs
        .extract_if(.., |attr| attr::is_instrumented(attr))
        .collect();
    if ours.is_empty() {
        return None;
    }
    let mut options = Options::new(Place::Function);
    for attribute in &ours {
        options.read_attribute(attribute);
    }
    lint::check_options(&options, errors);
    Some(options)
}

fn in_method(
    method: &ImplItemFn,
    own: &Options,
    around: &Options,
    (locking, others): (&HashSet<String>, &HashSet<String>),
) -> Vec<Finding> {
    // What is said on the method counts more than what is said around it.
    let merged = |of_impl: Rules, opposite: Rules, own: Rules| of_impl.without(opposite).union(own);
    let settings = Settings {
        allowed: merged(around.allowed(), own.denied(), own.allowed()),
        denied: merged(around.denied(), own.allowed(), own.denied()),
        locking,
        others,
        is_poisoning: false,
    };
    body::check(&method.sig, &method.block, settings)
}

fn asks_for_calls(options: &Options) -> bool {
    options.denied().has(Rule::GuardAcrossCall)
}

/// The methods that take a lock, say that they do, or call one that does.
fn locking(
    item: &mut ItemImpl,
    of_methods: &[Options],
    others: &HashSet<String>,
) -> HashSet<String> {
    let mut calls = HashMap::new();
    let mut locking = HashSet::new();
    for (method, options) in methods(item).zip(of_methods) {
        let name = method.sig.ident.to_string();
        let (has_locked, called) = body::locking(&method.block, others);
        if has_locked || options.has("locks") {
            locking.insert(name.clone());
        }
        calls.insert(name, called);
    }
    loop {
        let before = locking.len();
        for (name, called) in &calls {
            if !called.is_disjoint(&locking) {
                locking.insert(name.clone());
            }
        }
        if locking.len() == before {
            return locking;
        }
    }
}

/// Removes attributes of ours that do not belong on the item itself; whether there were any.
fn strays(attrs: &mut Vec<Attribute>, place: Place, errors: &mut Findings) -> bool {
    let ours =
        |attribute: &mut Attribute| attr::is_instrumented(attribute) || attr::is_lock(attribute);
    let strays: Vec<_> = attrs.extract_if(.., ours).collect();
    for stray in &strays {
        let place = if attr::is_instrumented(stray) {
            StrayPlace::InstrumentedAgain
        } else {
            StrayPlace::LockOnItem(place)
        };
        errors.add(stray.path(), message::stray(place));
    }
    !strays.is_empty()
}

/// Removes our attributes from the statements; whether there were any.
fn statements(body: &mut Block, errors: &mut Findings) -> bool {
    let attributes = item_attrs::take(body);
    for attribute in &attributes {
        let mut options = Options::new(Place::Statement);
        options.read_attribute(attribute);
        lint::check_options(&options, errors);
    }
    !attributes.is_empty()
}
