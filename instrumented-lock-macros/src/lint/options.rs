//! The rules for `#[instrumented(...)]` and `#[lock(...)]` themselves.

use super::findings::Findings;
use crate::attr::{self, Entry, Form, OPTIONS, Options, Place, Spec, Value};
use crate::message;
use crate::rule::Rule;
use proc_macro2::{Ident, TokenStream};
use quote::quote;
use std::collections::HashSet;

/// Each option exists, stands where it belongs, once, with a value of its form.
pub(crate) fn check(options: &Options, findings: &mut Findings) {
    let mut earlier = HashSet::new();
    for entry in &options.entries {
        match entry {
            Entry::Malformed(tokens) => malformed_option(tokens, options.place, findings),
            Entry::Option { key, value } => match spec(key) {
                None => unknown_option(key, options.place, findings),
                Some(spec) if !spec.places.contains(&options.place) => {
                    misplaced_option(key, options.place, findings);
                }
                Some(Spec {
                    form: Form::Rules, ..
                }) => rules(key, value, options.place, findings),
                Some(_) if !earlier.insert(key) => repeated_option(key, options.place, findings),
                Some(Spec {
                    form: Form::Integer,
                    ..
                }) => bad_rank(key, value, options.place, findings),
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
        Form::Integer | Form::Rules => true,
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

/// A rank is an integer, whatever is allowed: anything else is no rank.
fn bad_rank(key: &Ident, value: &Value, place: Place, findings: &mut Findings) {
    if attr::as_rank(value).is_none() {
        findings.add(culprit(key, value), message::no_rank(place));
    }
}

/// `allow` and `deny` list rules that look at what they are on.
fn rules(key: &Ident, value: &Value, place: Place, findings: &mut Findings) {
    let Some(names) = attr::as_names(value) else {
        let message = message::ill_typed_option(&key.to_string(), Form::Rules, place);
        findings.add(culprit(key, value), message);
        return;
    };
    for name in names {
        let found = Rule::named(&name);
        if found.is_none_or(|rule| rule.subject() != place.subject()) {
            let is_elsewhere = found.is_some();
            let message = message::unknown_rule(&name.to_string(), is_elsewhere, place);
            findings.add(name, message);
        }
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
