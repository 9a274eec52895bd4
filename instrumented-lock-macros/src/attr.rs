//! The arguments of `#[instrumented(...)]` and `#[lock(...)]`, as written. Reading never fails:
//! `lint` says what is wrong with them, all at once, and the readers here skip over it.

use crate::rule::{Rule, Rules, Subject};
use proc_macro2::{Delimiter, Group, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::punctuated::Punctuated;
use syn::{Attribute, LitInt, LitStr, Meta, Path, Token};

/// Where options stand; it decides which are allowed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    Struct,
    Enum,
    Static,
    Field,
    Impl,
    Function,
    Module,
    Statement,
}

impl Place {
    /// What the rules look at that can be allowed here.
    pub(crate) fn subject(self) -> Subject {
        match self {
            Place::Struct | Place::Enum | Place::Static | Place::Field => Subject::Types,
            Place::Impl | Place::Function | Place::Module | Place::Statement => Subject::Bodies,
        }
    }
}

/// Where an attribute of ours does not belong.
#[derive(Clone, Copy)]
pub(crate) enum StrayPlace {
    LockOnItem(Place),
    LockOnVariant,
    InstrumentedAgain,
    InstrumentedOnField,
}

/// What follows the key of an option.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// `= "..."`
    Text,
    /// `= path::to::something`
    Path,
    /// `= 10`
    Integer,
    /// `(rule, rule)`
    Rules,
    /// Nothing.
    Flag,
}

pub(crate) struct Spec {
    pub(crate) key: &'static str,
    pub(crate) form: Form,
    pub(crate) places: &'static [Place],
}

/// All options there are.
pub(crate) const OPTIONS: [Spec; 9] = [
    Spec {
        key: "name",
        form: Form::Text,
        places: &[Place::Static, Place::Field],
    },
    Spec {
        key: "prefix",
        form: Form::Text,
        places: &[Place::Struct, Place::Enum, Place::Static],
    },
    Spec {
        key: "rank",
        form: Form::Integer,
        places: &[Place::Static, Place::Field],
    },
    Spec {
        key: "nested",
        form: Form::Text,
        places: &[Place::Static, Place::Field],
    },
    Spec {
        key: "crate",
        form: Form::Path,
        places: &[
            Place::Struct,
            Place::Enum,
            Place::Static,
            Place::Impl,
            Place::Function,
            Place::Module,
        ],
    },
    Spec {
        key: "skip",
        form: Form::Flag,
        places: &[Place::Field],
    },
    Spec {
        key: "locks",
        form: Form::Flag,
        places: &[Place::Function],
    },
    Spec {
        key: "allow",
        form: Form::Rules,
        places: &[
            Place::Struct,
            Place::Enum,
            Place::Static,
            Place::Field,
            Place::Impl,
            Place::Function,
            Place::Module,
            Place::Statement,
        ],
    },
    Spec {
        key: "deny",
        form: Form::Rules,
        places: &[Place::Impl, Place::Function, Place::Module],
    },
];

/// The options of one place; those of several `#[lock]`s on a field are taken together.
pub(crate) struct Options {
    pub(crate) place: Place,
    pub(crate) entries: Vec<Entry>,
}

/// What stands between two commas.
pub(crate) enum Entry {
    Option {
        key: Ident,
        value: Value,
    },
    /// Does not begin with a name.
    Malformed(TokenStream),
}

pub(crate) enum Value {
    None,
    /// Behind `=`.
    Assigned(TokenStream),
    /// Anything else.
    Other(TokenStream),
}

impl Options {
    pub(crate) fn new(place: Place) -> Self {
        Options {
            place,
            entries: Vec::new(),
        }
    }

    /// Adds the arguments that stand in the parentheses of the attribute.
    pub(crate) fn read(&mut self, arguments: TokenStream) {
        self.entries.extend(split(arguments).map(Entry::read));
    }

    /// Adds what `#[lock]`, `#[lock(...)]` or a mistaken `#[lock = ...]` says.
    pub(crate) fn read_attribute(&mut self, attribute: &Attribute) {
        match &attribute.meta {
            Meta::Path(_) => {}
            Meta::List(list) => self.read(list.tokens.clone()),
            Meta::NameValue(pair) => {
                let value = &pair.value;
                self.entries.push(Entry::Malformed(quote::quote!(#value)));
            }
        }
    }

    pub(crate) fn has(&self, wanted: &str) -> bool {
        self.key(wanted).is_some()
    }

    /// The key of an option, as written.
    pub(crate) fn key(&self, wanted: &str) -> Option<&Ident> {
        self.options()
            .find_map(|(key, _)| (key == wanted).then_some(key))
    }

    /// The text of an option, unless it is missing, empty or of another type.
    pub(crate) fn text(&self, wanted: &str) -> Option<LitStr> {
        let text = as_text(self.value(wanted)?)?;
        (!is_blank(&text)).then_some(text)
    }

    pub(crate) fn path(&self, wanted: &str) -> Option<Path> {
        as_path(self.value(wanted)?)
    }

    pub(crate) fn rank(&self) -> Option<u32> {
        as_rank(self.value("rank")?)
    }

    /// The value of an option, as written.
    pub(crate) fn written(&self, wanted: &str) -> TokenStream {
        match self.value(wanted) {
            Some(Value::Assigned(tokens) | Value::Other(tokens)) => tokens.clone(),
            Some(Value::None) | None => TokenStream::new(),
        }
    }

    /// What `allow(...)` names.
    pub(crate) fn allowed(&self) -> Rules {
        self.rules("allow")
    }

    /// What `deny(...)` names.
    pub(crate) fn denied(&self) -> Rules {
        self.rules("deny")
    }

    pub(crate) fn options(&self) -> impl Iterator<Item = (&Ident, &Value)> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Option { key, value } => Some((key, value)),
            Entry::Malformed(_) => None,
        })
    }

    /// What is no rule is skipped.
    fn rules(&self, wanted: &str) -> Rules {
        let lists = self.options().filter(|(key, _)| *key == wanted);
        let names = lists.flat_map(|(_, value)| as_names(value).unwrap_or_default());
        names.filter_map(|name| Rule::named(&name)).collect()
    }

    fn value(&self, wanted: &str) -> Option<&Value> {
        self.options()
            .find_map(|(key, value)| (key == wanted).then_some(value))
    }
}

impl Entry {
    pub(crate) fn is_allowance(&self) -> bool {
        matches!(self, Entry::Option { key, .. } if key == "allow")
    }

    fn read(tokens: TokenStream) -> Self {
        let read = |input: ParseStream<'_>| {
            // `crate` is a keyword, and a misspelt key may be one.
            let key = input.call(Ident::parse_any)?;
            let value = if input.is_empty() {
                Value::None
            } else if input.peek(Token![=]) && !input.peek(Token![==]) {
                input.parse::<Token![=]>()?;
                Value::Assigned(input.parse()?)
            } else {
                Value::Other(input.parse()?)
            };
            Ok(Entry::Option { key, value })
        };
        read.parse2(tokens.clone())
            .unwrap_or(Entry::Malformed(tokens))
    }
}

pub(crate) fn is_lock(attribute: &Attribute) -> bool {
    attribute.path().is_ident("lock")
}

pub(crate) fn is_instrumented(attribute: &Attribute) -> bool {
    let last = attribute.path().segments.last();
    last.is_some_and(|segment| segment.ident == "instrumented")
}

pub(crate) fn as_text(value: &Value) -> Option<LitStr> {
    match value {
        Value::Assigned(tokens) => syn::parse2(tokens.clone()).ok(),
        Value::None | Value::Other(_) => None,
    }
}

pub(crate) fn as_path(value: &Value) -> Option<Path> {
    match value {
        Value::Assigned(tokens) => Path::parse_mod_style.parse2(tokens.clone()).ok(),
        Value::None | Value::Other(_) => None,
    }
}

pub(crate) fn as_rank(value: &Value) -> Option<u32> {
    match value {
        Value::Assigned(tokens) => {
            let number: LitInt = syn::parse2(tokens.clone()).ok()?;
            number.base10_parse().ok()
        }
        Value::None | Value::Other(_) => None,
    }
}

/// The names in the parentheses; `None` where the value is not a list of names.
pub(crate) fn as_names(value: &Value) -> Option<std::vec::IntoIter<Ident>> {
    let Value::Other(tokens) = value else {
        return None;
    };
    let list: Group = syn::parse2(tokens.clone()).ok()?;
    if list.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let parser = Punctuated::<Ident, Token![,]>::parse_terminated;
    let names: Vec<Ident> = parser.parse2(list.stream()).ok()?.into_iter().collect();
    (!names.is_empty()).then(|| names.into_iter())
}

/// A name of white space would be as good as none in a report.
pub(crate) fn is_blank(text: &LitStr) -> bool {
    text.value().trim().is_empty()
}

/// The pieces between commas; a comma may end the last one.
fn split(tokens: TokenStream) -> impl Iterator<Item = TokenStream> {
    let mut pieces = vec![TokenStream::new()];
    for token in flat(tokens) {
        match (&token, pieces.last_mut()) {
            (TokenTree::Punct(punct), Some(piece)) if punct.as_char() == ',' => {
                if piece.is_empty() {
                    // Nothing before the comma: the comma itself is the culprit.
                    piece.extend([token]);
                }
                pieces.push(TokenStream::new());
            }
            (_, Some(piece)) => piece.extend([token]),
            (_, None) => unreachable!("there is always a last piece"),
        }
    }
    pieces.into_iter().filter(|piece| !piece.is_empty())
}

/// Without the invisible delimiters that a `macro_rules!` fragment may bring around it all.
fn flat(tokens: TokenStream) -> TokenStream {
    let mut trees = tokens.clone().into_iter();
    match (trees.next(), trees.next()) {
        (Some(TokenTree::Group(group)), None) if group.delimiter() == Delimiter::None => {
            group.stream()
        }
        _ => tokens,
    }
}
