//! What an annotated item must not have, one rule a function. All findings are shown at once.

use crate::ast::{Field, Input, Lock, Name};
use crate::attr::{self, Entry, Form, OPTIONS, Options, Place, Spec, Value};
use crate::{message, types};
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::{HashMap, HashSet};
use syn::{Error, Result};

/// The findings so far.
#[derive(Default)]
struct Findings(Option<Error>);

impl Findings {
    fn add(&mut self, culprit: impl ToTokens, message: String) {
        let error = Error::new_spanned(culprit, message);
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }
}

/// In the order of the source, as far as rules of one field go.
pub(crate) fn check(input: &Input) -> Result<()> {
    let mut findings = Findings::default();
    options(&input.options, &mut findings);
    name_and_prefix(&input.options, &mut findings);
    stray_attributes(input, &mut findings);
    for field in &input.fields {
        options(&field.options, &mut findings);
        name_and_skip(field, &mut findings);
        marked_without_lock(field, &mut findings);
    }
    duplicate_names(input, &mut findings);
    // A mistaken option may be the reason that there is no lock: one mistake, one error.
    if findings.0.is_none() {
        no_lock(input, &mut findings);
    }
    findings.0.map_or(Ok(()), Err)
}

fn options(options: &Options, findings: &mut Findings) {
    let mut earlier = HashSet::new();
    for entry in &options.entries {
        match entry {
            Entry::Malformed(tokens) => malformed_option(tokens, options.place, findings),
            Entry::Option { key, value } => match spec(key) {
                None => unknown_option(key, options.place, findings),
                Some(spec) if !spec.places.contains(&options.place) => {
                    misplaced_option(key, options.place, findings);
                }
                Some(_) if !earlier.insert(key) => repeated_option(key, options.place, findings),
                Some(spec) => {
                    ill_typed_option(key, value, spec.form, options.place, findings);
                    empty_text(key, value, options.place, findings);
                }
            },
        }
    }
}

/// Not `key`, `key = value` or `key(...)`.
fn malformed_option(tokens: &TokenStream, place: Place, findings: &mut Findings) {
    findings.add(
        tokens,
        message::malformed_option(place, &tokens.to_string()),
    );
}

fn unknown_option(key: &Ident, place: Place, findings: &mut Findings) {
    findings.add(key, message::unknown_option(&key.to_string(), place));
}

/// An option that exists, but elsewhere.
fn misplaced_option(key: &Ident, place: Place, findings: &mut Findings) {
    findings.add(key, message::misplaced_option(&key.to_string(), place));
}

fn repeated_option(key: &Ident, place: Place, findings: &mut Findings) {
    findings.add(key, message::repeated_option(&key.to_string(), place));
}

fn ill_typed_option(key: &Ident, value: &Value, form: Form, place: Place, findings: &mut Findings) {
    let is_right = match form {
        Form::Text => attr::as_text(value).is_some(),
        Form::Path => attr::as_path(value).is_some(),
        Form::Flag => matches!(value, Value::None),
    };
    if !is_right {
        let message = message::ill_typed_option(&key.to_string(), form, place);
        findings.add(culprit(key, value), message);
    }
}

fn empty_text(key: &Ident, value: &Value, place: Place, findings: &mut Findings) {
    if let Some(text) = attr::as_text(value)
        && attr::is_blank(&text)
    {
        findings.add(text, message::empty_text(&key.to_string(), place));
    }
}

/// `#[lock]` is for fields, `#[instrumented]` for items, once.
fn stray_attributes(input: &Input, findings: &mut Findings) {
    for stray in &input.strays {
        findings.add(&stray.attribute, message::stray(stray.place));
    }
}

fn name_and_skip(field: &Field, findings: &mut Findings) {
    if let Some(name) = field.options.key("name")
        && field.options.has("skip")
    {
        findings.add(name, message::name_and_skip());
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
        if !std::ptr::eq(other, field) && !is_alternative {
            let message = message::duplicate_name(lock.name.as_str(), &other.name);
            findings.add(name_culprit(field, lock), message);
        }
    }
}

fn no_lock(input: &Input, findings: &mut Findings) {
    if input.locks().next().is_some() {
        return;
    }
    let place = input.options.place;
    let behind_handle = |field: &&Field| types::has_shared_lock(&field.ty);
    let mut unmarked = input.fields.iter().filter(|field| field.reach.is_some());
    if place == Place::Static {
        findings.add(&input.fields[0].ty, message::no_lock_in_static());
    } else if let Some(field) = unmarked.find(behind_handle) {
        findings.add(&field.ty, message::no_lock_but_shared(place, &field.name));
    } else if input.fields.iter().any(|field| field.options.has("skip")) {
        findings.add(&input.ident, message::no_lock_but_skipped(place));
    } else {
        findings.add(&input.ident, message::no_lock(place));
    }
}

fn spec(key: &Ident) -> Option<&'static Spec> {
    const { &OPTIONS }.iter().find(|option| key == option.key)
}

/// The bad value; the key where there is none.
fn culprit(key: &Ident, value: &Value) -> TokenStream {
    match value {
        Value::Assigned(tokens) | Value::Other(tokens) if !tokens.is_empty() => tokens.clone(),
        _ => quote!(#key),
    }
}

fn name_culprit(field: &Field, lock: &Lock) -> TokenStream {
    match field.options.text("name") {
        Some(name) => quote!(#name),
        None => lock.marker.to_token_stream(),
    }
}
