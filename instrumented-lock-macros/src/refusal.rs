//! How a finding in a body becomes a compile error with two places: the culprit, and where the guard
//! was taken that is in the way.
//!
//! On stable, a macro cannot attach a note to an error. But the compiler shows where a macro was
//! called whose expansion is wrong; so the error stands at the culprit, in a macro that is called
//! where the guard was taken: one mistake, one error, two places.

use crate::body::{Asked, Excuse, Finding, Reading, Site, Unless};
use crate::library::{Library, fact_name};
use proc_macro2::{Group, Ident, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
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

/// The errors for findings in methods of a type that can be asked, as items beside the `impl`.
pub(crate) fn beside(findings: &[Finding], facts: &Facts) -> TokenStream {
    let errors = findings.iter().map(|finding| {
        let Some(unless) = &finding.unless else {
            return certain(finding);
        };
        conditional(finding, &facts.cfgs, &condition(finding, unless, facts))
    });
    errors.collect()
}

/// The errors for findings in a body, as statements in it: there `self` and statics are known, whatever
/// the type is. Ranks cannot be compared there.
pub(crate) fn in_body(findings: &[Finding], library: &Library) -> TokenStream {
    let errors = findings.iter().map(|finding| match &finding.unless {
        None => certain(finding),
        Some(Unless::Ordered { .. }) => TokenStream::new(),
        Some(Unless::NoLock { place, excuse }) if place.is_static && !place.names_a_type() => {
            let library = library.at(Span::mixed_site());
            let is_so = is_refused(&quote!(()), place, (*excuse, finding.reading), &library);
            conditional(
                finding,
                &[],
                &quote_spanned!(Span::mixed_site()=> if #is_so),
            )
        }
        Some(Unless::NoLock { place, excuse }) => judged(finding, place, *excuse, library),
    });
    errors.collect()
}

/// A constant that cannot be evaluated if the condition holds.
fn conditional(finding: &Finding, cfgs: &[Attribute], condition: &TokenStream) -> TokenStream {
    let message = &finding.message;
    // Not the message itself: braces in it would count.
    let error = quote_spanned!(Span::mixed_site()=> ::core::panic!("{}", #message));
    let error = placed(finding, error);
    let cfgs = cfgs.iter().chain(&finding.cfgs);
    quote!(#(#cfgs)* const _: () = { #condition { #error } };)
}

fn certain(finding: &Finding) -> TokenStream {
    let (message, cfgs) = (&finding.message, &finding.cfgs);
    let error = quote_spanned!(Span::mixed_site()=> ::core::compile_error! { #message });
    let error = placed(finding, error);
    quote!(#(#cfgs)* const _: () = { #error };)
}

fn placed(finding: &Finding, error: TokenStream) -> TokenStream {
    let error = at(finding.at, error);
    match finding.first {
        Some(first) => called_from(first, &error),
        None => error,
    }
}

/// Asks by the type of the answer, in a closure that nobody calls: an error that stands in code of a
/// type with type parameters, where constants come too late.
fn judged(finding: &Finding, place: &Asked, excuse: Excuse, library: &Library) -> TokenStream {
    let (message, cfgs) = (&finding.message, &finding.cfgs);
    let inner = Span::mixed_site();
    let library = library.at(inner);
    let mut excused = vec!["NoLock"];
    match excuse {
        Excuse::None => {}
        Excuse::Relock => excused.push("ReentrantLock"),
        Excuse::ReadAgain => excused.extend(["ReentrantLock", "RecursiveLock"]),
    }
    match finding.reading {
        None => {}
        Some(Reading::Plain) => excused.push("PoisoningLock"),
        Some(Reading::Poisoning) => {
            excused = vec!["NoLock", "PlainLock", "ReentrantLock", "RecursiveLock"];
        }
    }
    let excused = excused.iter().map(|name| Ident::new(name, inner));
    let answer = answer(&place.expr, place.is_element, &library);
    let judge = placed(finding, quote_spanned!(inner=> judge(#answer)));
    quote_spanned! {inner=>
        #(#cfgs)*
        let _ = || {
            #[diagnostic::on_unimplemented(message = #message, label = "here")]
            trait Excused {}
            #(
                #[diagnostic::do_not_recommend]
                impl Excused for #library::__private::probe::#excused {}
            )*
            fn judge<A: Excused>(_: A) {}
            #judge
        };
    }
}

fn answer(expr: &TokenStream, is_element: bool, library: &TokenStream) -> TokenStream {
    let inner = Span::mixed_site();
    if is_element {
        quote_spanned!(inner=> #library::__private::answer!(element of #expr))
    } else {
        quote_spanned!(inner=> #library::__private::answer!(#expr))
    }
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
fn condition(finding: &Finding, unless: &Unless, facts: &Facts) -> TokenStream {
    let Facts { ty, library, .. } = facts;
    let inner = Span::mixed_site();
    match unless {
        Unless::NoLock { place, excuse } => {
            let excuse = (*excuse, finding.reading);
            let is_so = is_refused(&ty.to_token_stream(), place, excuse, library);
            quote_spanned!(inner=> if #is_so)
        }
        Unless::Ordered { held, taken, place } => {
            let (first, second) = (fact_name(held), fact_name(taken));
            let excuse = quote!(<#ty>::#first.comes_before(<#ty>::#second));
            let mut fields = vec![first, second];
            fields.dedup();
            let is_so = place.as_ref().filter(|_| finding.reading.is_some());
            let is_so = is_so.map(|place| {
                let excuse = (Excuse::None, finding.reading);
                let is_so = is_refused(&ty.to_token_stream(), place, excuse, library);
                quote_spanned!(inner=> #is_so &&)
            });
            // A constant of the type itself goes before one of a trait: where the field is not
            // annotated, or the annotation has nothing to say, the trait's is found.
            quote_spanned! {inner=>
                #[allow(dead_code, non_upper_case_globals)]
                trait Unknown {
                    #(const #fields: #library::__private::FieldFacts =
                        #library::__private::FieldFacts::UNKNOWN;)*
                }
                impl<T: ?Sized> Unknown for T {}
                if #is_so !#excuse
            }
        }
    }
}

/// Whether there is a lock at the place of a value of type `ty`, and no kind of lock that excuses it.
fn is_refused(
    ty: &TokenStream,
    place: &Asked,
    (excuse, reading): (Excuse, Option<Reading>),
    library: &TokenStream,
) -> TokenStream {
    let inner = Span::mixed_site();
    let this = Ident::new("this", inner);
    let (argument, expr) = if place.is_static {
        (Ident::new("_", inner), place.expr.clone())
    } else {
        let expr = place.beginning_with(&this.clone().into());
        (this, expr)
    };
    let answer = answer(&expr, place.is_element, library);
    let excuse = match excuse {
        Excuse::None => "None",
        Excuse::Relock => "Relock",
        Excuse::ReadAgain => "ReadAgain",
    };
    let excuse = Ident::new(excuse, inner);
    let returns = Ident::new(
        match reading {
            None => "Either",
            Some(Reading::Plain) => "Guard",
            Some(Reading::Poisoning) => "Result",
        },
        inner,
    );
    quote_spanned! {inner=>
        #library::__private::probe::is_refused(
            |#argument: &mut #ty| #answer,
            #library::__private::probe::Excuse::#excuse,
            #library::__private::probe::Returns::#returns,
        )
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
