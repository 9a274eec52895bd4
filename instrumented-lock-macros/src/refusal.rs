//! How a finding in a body becomes a compile error with two places: the culprit, and where the guard
//! was taken that is in the way.
//!
//! On stable, a macro cannot attach a note to an error. But the compiler shows where a macro was
//! called whose expansion is wrong; so the error stands at the culprit, in a macro that is called
//! where the guard was taken: one mistake, one error, two places.

use crate::body::{Finding, Site, Unless};
use crate::library::{Library, fact_name};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{quote, quote_spanned};
use syn::visit_mut::VisitMut;
use syn::{Attribute, ItemImpl, Lifetime, Type};

/// Where an `impl` finds out what only the compiler knows of the fields of its type.
pub(crate) struct Facts {
    ty: Type,
    library: TokenStream,
    cfgs: Vec<Attribute>,
}

impl Facts {
    /// `None` where there is no type to ask: constants of generic types are evaluated too late.
    pub(crate) fn of(item: &ItemImpl, library: &Library) -> Option<Self> {
        let is_generic = item.generics.type_params().next().is_some()
            || item.generics.const_params().next().is_some();
        if is_generic {
            return None;
        }
        let mut ty = Type::clone(&item.self_ty);
        Static.visit_type_mut(&mut ty);
        let cfgs = item
            .attrs
            .iter()
            .filter(|attribute| attribute.path().is_ident("cfg"));
        Some(Facts {
            ty,
            library: library.at(Span::mixed_site()),
            cfgs: cfgs.cloned().collect(),
        })
    }
}

/// Any lifetime does where constants are asked for.
struct Static;

impl VisitMut for Static {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        lifetime.ident = Ident::new("static", lifetime.ident.span());
    }
}

/// The errors for the findings, as items.
pub(crate) fn all(findings: &[Finding], facts: Option<&Facts>) -> TokenStream {
    findings
        .iter()
        .filter_map(|finding| one(finding, facts))
        .collect()
}

fn one(finding: &Finding, facts: Option<&Facts>) -> Option<TokenStream> {
    let message = &finding.message;
    let condition = match (&finding.unless, facts) {
        (Some(Unless::Ordered { .. }), None) => return None,
        (Some(unless), Some(facts)) => Some((condition(unless, facts), facts)),
        _ => None,
    };
    let inner = Span::mixed_site();
    let error = if condition.is_none() {
        quote_spanned!(inner=> ::core::compile_error! { #message })
    } else {
        // Not the message itself: braces in it would count.
        quote_spanned!(inner=> ::core::panic!("{}", #message))
    };
    let error = at(finding.at, error);
    let error = match finding.first {
        Some(first) => called_from(first, &error),
        None => error,
    };
    Some(match condition {
        None => quote!(const _: () = { #error };),
        Some((condition, facts)) => {
            let cfgs = &facts.cfgs;
            quote!(#(#cfgs)* const _: () = { #condition { #error } };)
        }
    })
}

/// A macro that is called at `first` and expands to `error`.
fn called_from(first: Site, error: &TokenStream) -> TokenStream {
    // In the user's own context, or the attribute would be blamed.
    let name = Ident::new("guard_taken_here", first.start);
    let call = at(first, quote!(#name! {}));
    quote! {
        macro_rules! #name { () => { #error } }
        #call
    }
}

/// `if` what excuses the finding is not the case, for this is a constant's value.
fn condition(unless: &Unless, facts: &Facts) -> TokenStream {
    let Facts { ty, library, .. } = facts;
    let inner = Span::mixed_site();
    let (fields, excuse) = match unless {
        Unless::Reentrant {
            field,
            for_reading_only,
        } => {
            let name = fact_name(field);
            let excuse = quote!(<#ty>::#name.may_relock(#for_reading_only));
            (vec![name], excuse)
        }
        Unless::Ordered { held, taken } => {
            let (first, second) = (fact_name(held), fact_name(taken));
            let excuse = quote!(<#ty>::#first.comes_before(<#ty>::#second));
            let mut names = vec![first, second];
            names.dedup();
            (names, excuse)
        }
    };
    // A constant of the type itself goes before one of a trait: where the field is not annotated,
    // or the annotation has nothing to say, the trait's is found.
    quote_spanned! {inner=>
        #[allow(dead_code, non_upper_case_globals)]
        trait Unknown {
            #(const #fields: #library::__private::FieldFacts =
                #library::__private::FieldFacts::UNKNOWN;)*
        }
        impl<T: ?Sized> Unknown for T {}
        if !#excuse
    }
}

/// The tokens, as if they stood at `site`.
fn at(site: Site, tokens: TokenStream) -> TokenStream {
    let mut tokens: Vec<_> = tokens
        .into_iter()
        .map(|token| moved(token, site.start))
        .collect();
    if let Some(last) = tokens.last_mut() {
        last.set_span(site.end);
    }
    tokens.into_iter().collect()
}

fn moved(token: TokenTree, span: Span) -> TokenTree {
    let mut token = match token {
        TokenTree::Group(group) => {
            let inside = group.stream().into_iter().map(|token| moved(token, span));
            Group::new(group.delimiter(), inside.collect()).into()
        }
        token => token,
    };
    token.set_span(span);
    token
}
