//! `#[instrumented]` on an `impl` or a function: the options, the findings in the bodies, and what
//! is emitted: the code as it is, without our attributes in it, the findings, and the places that make
//! locks.

use crate::attr::{self, Options, Place, StrayPlace};
use crate::body::{self, Finding, Reading, Returned, Settings, Summary};
use crate::library::Library;
use crate::lint::{self, Findings};
use crate::refusal::{self, Facts};
use crate::rule::{Rule, Rules};
use crate::{item_attrs, message, places, types};
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use std::collections::{HashMap, HashSet};
use syn::{Attribute, Block, ImplItem, ImplItemFn, Item, ItemFn, ItemImpl, ReturnType, Stmt};

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
            returning: &HashMap::new(),
            own: None,
            others: &body::in_body(&function.block, true),
            reading: Reading::Plain,
            is_asking: true,
        },
    );
    is_changed |= statements(&mut function.block, &mut errors);
    let library = Library(options.path("crate"));
    let found = places::in_function(&function.sig, &mut function.block);
    is_changed |= found.is_changed;
    let refused = refusal::in_body(&findings, &library);
    let places = places::declare(&found.places, &library);
    let beside: TokenStream = [errors.tokens(), refused, places].into_iter().collect();
    if !beside.is_empty() {
        // A method has no room for other items beside it, its body has.
        prepend(&mut function.block, beside);
        return function.into_token_stream();
    }
    if is_changed {
        function.into_token_stream()
    } else {
        tokens
    }
}

fn prepend(block: &mut Block, tokens: TokenStream) {
    block.stmts.insert(0, Stmt::Item(Item::Verbatim(tokens)));
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
    let others = body::in_impl(&item, true);
    let mut of_methods = Vec::new();
    for method in methods(&mut item) {
        let own = of_method(method, &mut errors);
        is_changed |= own.is_some();
        of_methods.push(own.unwrap_or_else(|| Options::new(Place::Function)));
    }
    let asks_for_calls = |options: &Options| options.denied().has(Rule::GuardAcrossCall);
    let needs_all = of_methods.iter().chain([&options]).any(asks_for_calls);
    let summaries = methods(&mut item)
        .filter(|method| needs_all || may_return_guard(&method.sig.output))
        .filter(|method| !method.attrs.iter().any(|attr| attr.path().is_ident("cfg")))
        .map(|method| {
            let name = method.sig.ident.to_string();
            (name, body::summary(&method.block, &others))
        })
        .collect();
    let seen = Seen {
        locking: locking(&summaries, &mut item, &of_methods),
        returning: summaries
            .into_iter()
            .filter_map(|(name, summary)| Some((name, summary.returned?)))
            .collect(),
        own: types::last_segment(&mut item.self_ty).map(|segment| segment.ident.to_string()),
        others,
    };
    let library = Library(options.path("crate"));
    let facts = Facts::of(&item, &library);
    let mut beside = TokenStream::new();
    for (method, own) in methods(&mut item).zip(&of_methods) {
        let findings = in_method(method, own, &options, &seen);
        is_changed |= statements(&mut method.block, &mut errors);
        let (of_type, of_body) = findings
            .into_iter()
            .partition::<Vec<_>, _>(|finding| facts.is_some() && !finding.is_about_a_static());
        if let Some(facts) = &facts {
            beside.extend(refusal::beside(&of_type, facts));
        }
        let refused = refusal::in_body(&of_body, &library);
        if !refused.is_empty() {
            prepend(&mut method.block, refused);
            is_changed = true;
        }
    }
    let found = places::in_impl(&mut item);
    is_changed |= found.is_changed;
    beside.extend(places::declare(&found.places, &library));
    let errors = errors.tokens();
    let item = if is_changed {
        item.into_token_stream()
    } else {
        tokens
    };
    quote!(#item #errors #beside)
}

/// Whether a method may return a guard or a lock, by the name of its type; to look at all bodies
/// twice would take its time.
fn may_return_guard(output: &ReturnType) -> bool {
    fn has(tokens: TokenStream) -> bool {
        tokens.into_iter().any(|token| match token {
            TokenTree::Ident(ident) => {
                let name = ident.to_string();
                name.ends_with("Guard")
                    || name.starts_with("Deref")
                    || name == "Mutex"
                    || name == "RwLock"
            }
            TokenTree::Group(group) => has(group.stream()),
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }

    has(output.to_token_stream())
}

/// What the methods of an `impl` say about each other.
struct Seen {
    /// Those that take a lock.
    locking: HashSet<String>,
    /// Those that return a guard or a lock.
    returning: HashMap<String, Returned>,
    /// The name of the type.
    own: Option<String>,
    /// What looks like a lock and is none of ours.
    others: HashSet<String>,
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

fn in_method(method: &ImplItemFn, own: &Options, around: &Options, seen: &Seen) -> Vec<Finding> {
    // What is said on the method counts more than what is said around it.
    let merged = |of_impl: Rules, opposite: Rules, own: Rules| of_impl.without(opposite).union(own);
    let settings = Settings {
        allowed: merged(around.allowed(), own.denied(), own.allowed()),
        denied: merged(around.denied(), own.allowed(), own.denied()),
        locking: &seen.locking,
        returning: &seen.returning,
        own: seen.own.as_deref(),
        others: &seen.others,
        reading: Reading::Plain,
        is_asking: true,
    };
    let mut findings = body::check(&method.sig, &method.block, settings);
    let cfgs = method
        .attrs
        .iter()
        .filter(|attr| attr.path().is_ident("cfg"));
    for finding in &mut findings {
        finding.cfgs.extend(cfgs.clone().cloned());
    }
    findings
}

/// The methods that take a lock, say that they do, or call one that does.
fn locking(
    summaries: &HashMap<String, Summary>,
    item: &mut ItemImpl,
    of_methods: &[Options],
) -> HashSet<String> {
    let taking = summaries.iter().filter(|(_, summary)| summary.has_locked);
    let mut locking: HashSet<_> = taking.map(|(name, _)| name.clone()).collect();
    for (method, options) in methods(item).zip(of_methods) {
        if options.has("locks") {
            locking.insert(method.sig.ident.to_string());
        }
    }
    loop {
        let before = locking.len();
        for (name, summary) in summaries {
            if !summary.calls.is_disjoint(&locking) {
                locking.insert(name.clone());
            }
        }
        if locking.len() == before {
            return locking;
        }
    }
}

/// Removes attributes of ours that do not belong on the item itself; whether there were any.
pub(crate) fn strays(attrs: &mut Vec<Attribute>, place: Place, errors: &mut Findings) -> bool {
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
