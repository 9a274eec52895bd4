//! What an annotated item must not have, one rule a function. All findings are shown at once.

mod findings;
mod locks;
mod options;

use crate::ast::{Field, Input, Lock, Name};
use crate::attr::{Options, Place};
use crate::rule::Rule;
use crate::{message, types};
pub(crate) use findings::Findings;
pub(crate) use options::check as check_options;
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use std::collections::HashMap;
use syn::Result;

/// In the order of the source, as far as rules of one field go.
pub(crate) fn check(input: &Input) -> Result<()> {
    let mut findings = Findings::default();
    options::check(&input.options, &mut findings);
    name_and_prefix(&input.options, &mut findings);
    stray_attributes(input, &mut findings);
    for field in &input.fields {
        options::check(&field.options, &mut findings);
        name_and_skip(field, &mut findings);
        marked_without_lock(field, &mut findings);
        locks::check(field, input.options.place, &mut findings);
    }
    duplicate_names(input, &mut findings);
    bad_ranks(input, &mut findings);
    // A mistaken option may be the reason that there is no lock: one mistake, one error.
    if findings.is_empty() {
        no_lock(input, &mut findings);
    }
    findings.into_result()
}

/// `#[lock]` is for fields, `#[instrumented]` for items, once.
fn stray_attributes(input: &Input, findings: &mut Findings) {
    for stray in &input.strays {
        findings.add(&stray.attribute, message::stray(stray.place));
    }
}

/// A skipped lock has no name, no rank and no order.
fn name_and_skip(field: &Field, findings: &mut Findings) {
    for key in ["name", "rank", "nested"] {
        if let Some(found) = field.options.key(key)
            && field.options.has("skip")
        {
            findings.add(found, message::of_no_use_beside_skip(key));
        }
    }
}

fn name_and_prefix(options: &Options, findings: &mut Findings) {
    if let Some(prefix) = options.key("prefix")
        && options.place == Place::Static
        && options.has("name")
    {
        findings.add(prefix, message::name_and_prefix());
    }
}

fn marked_without_lock(field: &Field, findings: &mut Findings) {
    if field.is_marked && field.reach.is_some() && field.locks.is_empty() {
        findings.add(&field.ty, message::marked_without_lock());
    }
}

/// Two locks of one item with one name. Fields under a `cfg` may exclude each other.
fn duplicate_names(input: &Input, findings: &mut Findings) {
    let mut first: HashMap<&Name, &Field> = HashMap::new();
    for (field, lock) in input.locks() {
        let other = *first.entry(&lock.name).or_insert(field);
        let is_alternative = !other.cfgs.is_empty() && !field.cfgs.is_empty();
        let is_allowed = field.allowed.has(Rule::DuplicateName);
        if !std::ptr::eq(other, field) && !is_alternative && !is_allowed {
            let place = input.options.place;
            let message = message::duplicate_name(lock.name.as_str(), &other.name, place);
            findings.add(name_culprit(field, lock), message);
        }
    }
}

/// Two locks of one item with one rank: neither may be taken while the other is held.
fn bad_ranks(input: &Input, findings: &mut Findings) {
    let mut first: HashMap<u32, &Field> = HashMap::new();
    for field in input.fields.iter().filter(|field| field.reach.is_some()) {
        let Some(rank) = field.rank else { continue };
        let other = *first.entry(rank).or_insert(field);
        let is_alternative = !other.cfgs.is_empty() && !field.cfgs.is_empty();
        let is_allowed = field.allowed.has(Rule::BadRank);
        if !std::ptr::eq(other, field) && !is_alternative && !is_allowed {
            let message = message::duplicate_rank(rank, &other.name);
            findings.add(field.options.written("rank"), message);
        }
    }
}

/// The annotation does nothing; but it may say that a foreign lock is meant to be there.
fn no_lock(input: &Input, findings: &mut Findings) {
    let has_lock =
        |field: &Field| !field.locks.is_empty() || !field.handles.is_empty() || field.is_foreign;
    if input.fields.iter().any(has_lock) || !input.possible().is_empty() {
        return;
    }
    let place = input.options.place;
    let borrowed = |field: &&Field| types::has_shared_lock(&field.ty);
    let mut unmarked = input.fields.iter().filter(|field| field.reach.is_some());
    if place == Place::Static {
        findings.add(&input.fields[0].ty, message::no_lock_in_static());
    } else if let Some(field) = unmarked.find(borrowed) {
        findings.add(&field.ty, message::no_lock_but_borrowed(place, &field.name));
    } else if input.fields.iter().any(|field| field.options.has("skip")) {
        findings.add(&input.ident, message::no_lock_but_skipped(place));
    } else {
        findings.add(&input.ident, message::no_lock(place));
    }
}

fn name_culprit(field: &Field, lock: &Lock) -> TokenStream {
    match field.options.text("name") {
        Some(name) => quote!(#name),
        None => lock.marker.to_token_stream(),
    }
}
