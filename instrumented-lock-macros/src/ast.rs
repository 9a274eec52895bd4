//! The annotated item: its fields and the locks in them, with the names they will get.

use crate::attr::{Entry, Options, Place, StrayPlace, is_instrumented, is_lock};
use crate::foreign;
use crate::message;
use crate::rule::{Rule, Rules};
use crate::types::{self, Reach};
use proc_macro2::{Ident, Span, TokenStream};
use quote::format_ident;
use std::collections::HashSet;
use syn::ext::IdentExt as _;
use syn::{Attribute, Error, Fields, Item, LitStr, Path, Result, Type};

pub(crate) struct Input {
    pub(crate) options: Options,
    /// A struct, an enum or a static, its fields without `#[lock]`.
    pub(crate) item: Item,
    pub(crate) ident: Ident,
    /// In the order of [`slots`].
    pub(crate) fields: Vec<Field>,
    /// Our attributes where they do not belong.
    pub(crate) strays: Vec<Stray>,
}

/// A field, or a static as a whole.
pub(crate) struct Field {
    /// As the user would call it: `index`, `0`, `Variant::0`.
    pub(crate) name: String,
    pub(crate) options: Options,
    /// Has `#[lock]`.
    pub(crate) is_marked: bool,
    /// `None` where the field is left as it is.
    pub(crate) reach: Option<Reach>,
    /// Left as it is for the sake of a lock of another library.
    pub(crate) is_foreign: bool,
    pub(crate) rank: Option<u32>,
    /// Why its locks may be taken in any order among themselves.
    pub(crate) nested: Option<LitStr>,
    /// On the field and on the item.
    pub(crate) allowed: Rules,
    pub(crate) ty: Type,
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) locks: Vec<Lock>,
    /// The locks behind handles of a field that is not marked: they have classes, and their types do not say
    /// so.
    pub(crate) handles: Vec<Lock>,
    /// Item and field: what is below the module path where nothing else is said.
    pub(crate) path: String,
}

pub(crate) struct Lock {
    /// The type that stands for the class.
    pub(crate) marker: Ident,
    /// A name in `LockKind`.
    pub(crate) kind: &'static str,
    pub(crate) name: Name,
    /// The field's name, which is where the class is declared.
    pub(crate) span: Span,
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Name {
    /// Below the module path.
    InModule(String),
    Whole(String),
}

pub(crate) struct Stray {
    pub(crate) attribute: Path,
    pub(crate) place: StrayPlace,
}

/// A place in the item where locks may be.
pub(crate) struct Slot<'a> {
    /// The item, the variant, the field.
    path: Vec<String>,
    span: Span,
    cfgs: Vec<Attribute>,
    /// Not a static, which is the item itself.
    is_field: bool,
    /// Of the field or the static.
    pub(crate) attrs: &'a mut Vec<Attribute>,
    pub(crate) ty: &'a mut Type,
}

impl Input {
    pub(crate) fn parse(arguments: TokenStream, mut item: Item) -> Result<Self> {
        let (place, ident) = match &item {
            Item::Struct(item) => (Place::Struct, item.ident.clone()),
            Item::Enum(item) => (Place::Enum, item.ident.clone()),
            Item::Static(item) => (Place::Static, item.ident.clone()),
            other => return Err(wrong_item(other)),
        };
        let mut options = Options::new(place);
        options.read(arguments);
        let mut strays = strays(&item, place);
        let mut fields = Vec::new();
        let mut markers = HashSet::new();
        for slot in slots(&mut item) {
            fields.push(Field::read(slot, &options, &mut markers, &mut strays));
        }
        Ok(Input {
            options,
            item,
            ident,
            fields,
            strays,
        })
    }

    /// The fields whose types may be aliases of locks or handles, where nothing else is a lock.
    pub(crate) fn possible(&self) -> Vec<&Field> {
        let has_lock = self
            .fields
            .iter()
            .any(|field| !field.locks.is_empty() || !field.handles.is_empty() || field.is_foreign);
        let fields = self.fields.iter().filter(|field| field.reach.is_some());
        let may_be = |field: &&Field| types::may_be_alias(&mut field.ty.clone());
        if has_lock {
            Vec::new()
        } else {
            fields.filter(may_be).collect()
        }
    }

    pub(crate) fn locks(&self) -> impl Iterator<Item = (&Field, &Lock)> {
        self.fields
            .iter()
            .flat_map(|field| field.locks.iter().map(move |lock| (field, lock)))
    }
}

impl Field {
    fn read(
        mut slot: Slot<'_>,
        of_item: &Options,
        markers: &mut HashSet<String>,
        strays: &mut Vec<Stray>,
    ) -> Self {
        let mut options = Options::new(Place::Field);
        let mut is_marked = false;
        if slot.is_field {
            for attribute in slot.attrs.extract_if(.., |attribute| is_lock(attribute)) {
                let before = options.entries.len();
                options.read_attribute(&attribute);
                // To allow something is not to ask for a class.
                let added = &options.entries[before..];
                is_marked |= added.is_empty() || !added.iter().all(Entry::is_allowance);
            }
            let is_instrumented: fn(&Attribute) -> bool =
                |attr| attr.path().is_ident("instrumented");
            stray(
                slot.attrs,
                is_instrumented,
                StrayPlace::InstrumentedOnField,
                strays,
            );
        }
        // What an alias or an import may hide can be allowed on the field only.
        let is_foreign = options.allowed().has(Rule::ForeignLock)
            || of_item.allowed().has(Rule::ForeignLock)
                && (!slot.is_field || foreign::first_in(slot.ty).is_some());
        let reach = if options.has("skip") || is_foreign {
            None
        } else if is_marked || !slot.is_field {
            Some(Reach::Shared)
        } else {
            Some(Reach::Owned)
        };
        let own = if slot.is_field { &options } else { of_item };
        let (rank, nested) = (own.rank(), own.text("nested"));
        let allowed = of_item.allowed().union(own.allowed());
        let name = match (own.text("name"), of_item.text("prefix")) {
            (Some(name), _) => Name::Whole(name.value()),
            (None, Some(prefix)) => {
                Name::Whole(format!("{}::{}", prefix.value(), slot.path.join("::")))
            }
            (None, None) => Name::InModule(slot.path.join("::")),
        };
        let locks = locks(slot.ty, reach, &name, &slot.path, slot.span, markers);
        let handles = handles(&mut slot, reach, &name, markers);
        let below_item = usize::from(slot.is_field);
        Field {
            name: slot.path[below_item..].join("::"),
            options,
            is_marked,
            reach,
            is_foreign,
            rank,
            nested,
            allowed,
            ty: slot.ty.clone(),
            cfgs: slot.cfgs,
            locks,
            handles,
            path: slot.path.join("::"),
        }
    }
}

fn handles(
    slot: &mut Slot<'_>,
    reach: Option<Reach>,
    name: &Name,
    markers: &mut HashSet<String>,
) -> Vec<Lock> {
    if reach != Some(Reach::Owned) {
        return Vec::new();
    }
    let (found, count) = types::handles(slot.ty);
    let lock = |(number, kind)| {
        let number = (count > 1).then_some(number);
        lock(kind, number, name, &slot.path.join("_"), slot.span, markers)
    };
    found.into_iter().map(lock).collect()
}

fn lock(
    kind: &'static str,
    number: Option<usize>,
    name: &Name,
    path: &str,
    span: Span,
    markers: &mut HashSet<String>,
) -> Lock {
    let (name, mut marker) = match number {
        None => (name.clone(), format!("__{path}")),
        Some(number) => (name.numbered(number), format!("__{path}_{number}")),
    };
    // A field `pair_0` beside the first lock of a field `pair`.
    while !markers.insert(marker.clone()) {
        marker.push('_');
    }
    Lock {
        marker: format_ident!("{marker}", span = span),
        kind,
        name,
        span,
    }
}

impl Name {
    /// Tells the locks of one field apart.
    fn numbered(&self, number: usize) -> Self {
        match self {
            Name::InModule(name) => Name::InModule(format!("{name}.{number}")),
            Name::Whole(name) => Name::Whole(format!("{name}.{number}")),
        }
    }

    /// What tells this one apart from the other locks of the field.
    pub(crate) fn number(&self, field: &Field) -> &str {
        let is_one = field.locks.len() + field.handles.len() == 1;
        let name = self.as_str();
        match name.rfind('.') {
            Some(at) if !is_one => &name[at..],
            _ => "",
        }
    }

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Name::InModule(name) | Name::Whole(name) => name,
        }
    }
}

fn locks(
    ty: &mut Type,
    reach: Option<Reach>,
    name: &Name,
    path: &[String],
    span: Span,
    markers: &mut HashSet<String>,
) -> Vec<Lock> {
    let mut kinds = Vec::new();
    if let Some(reach) = reach {
        types::each_lock(ty, reach, &mut |_, kind| kinds.push(kind));
    }
    let (is_one, path) = (kinds.len() == 1, path.join("_"));
    let lock = |(number, kind)| {
        let number = (!is_one).then_some(number);
        lock(kind, number, name, &path, span, markers)
    };
    kinds.into_iter().enumerate().map(lock).collect()
}

/// Every field of the item in the order of the source; for a static, its type.
pub(crate) fn slots(item: &mut Item) -> Vec<Slot<'_>> {
    match item {
        Item::Struct(item) => {
            let path = [item.ident.unraw().to_string()];
            field_slots(&mut item.fields, &path, &cfgs(&item.attrs)).collect()
        }
        Item::Enum(item) => {
            let (name, of_item) = (item.ident.unraw().to_string(), cfgs(&item.attrs));
            let mut slots = Vec::new();
            for variant in &mut item.variants {
                let path = [name.clone(), variant.ident.unraw().to_string()];
                let conditions = [of_item.clone(), cfgs(&variant.attrs)].concat();
                slots.extend(field_slots(&mut variant.fields, &path, &conditions));
            }
            slots
        }
        Item::Static(item) => vec![Slot {
            path: vec![item.ident.unraw().to_string()],
            span: item.ident.span(),
            cfgs: cfgs(&item.attrs),
            is_field: false,
            attrs: &mut item.attrs,
            ty: &mut item.ty,
        }],
        _ => Vec::new(),
    }
}

fn field_slots<'a>(
    fields: &'a mut Fields,
    owner: &[String],
    conditions: &[Attribute],
) -> impl Iterator<Item = Slot<'a>> {
    fields.iter_mut().enumerate().map(move |(index, field)| {
        let name = match &field.ident {
            Some(ident) => ident.unraw().to_string(),
            None => index.to_string(),
        };
        Slot {
            path: [owner, &[name]].concat(),
            span: field
                .ident
                .as_ref()
                .map_or_else(|| types::ends(&field.ty).0, Ident::span),
            cfgs: [conditions, &cfgs(&field.attrs)].concat(),
            is_field: true,
            attrs: &mut field.attrs,
            ty: &mut field.ty,
        }
    })
}

/// A class exists under the conditions under which its lock does.
fn cfgs(attrs: &[Attribute]) -> Vec<Attribute> {
    attrs
        .iter()
        .filter(|attribute| attribute.path().is_ident("cfg"))
        .cloned()
        .collect()
}

/// What is wrong on the item itself and on its variants.
fn strays(item: &Item, place: Place) -> Vec<Stray> {
    let (attrs, variants) = match item {
        Item::Struct(item) => (&item.attrs, None),
        Item::Enum(item) => (&item.attrs, Some(&item.variants)),
        Item::Static(item) => (&item.attrs, None),
        _ => return Vec::new(),
    };
    let mut strays = Vec::new();
    stray(
        attrs,
        is_instrumented,
        StrayPlace::InstrumentedAgain,
        &mut strays,
    );
    stray(attrs, is_lock, StrayPlace::LockOnItem(place), &mut strays);
    for variant in variants.into_iter().flatten() {
        stray(
            &variant.attrs,
            is_lock,
            StrayPlace::LockOnVariant,
            &mut strays,
        );
    }
    strays
}

fn stray(
    attrs: &[Attribute],
    is_ours: fn(&Attribute) -> bool,
    place: StrayPlace,
    strays: &mut Vec<Stray>,
) {
    let ours = attrs.iter().filter(|attribute| is_ours(attribute));
    strays.extend(ours.map(|attribute| Stray {
        attribute: attribute.path().clone(),
        place,
    }));
}

/// The keyword is the culprit: it says what kind of item this is.
fn wrong_item(item: &Item) -> Error {
    let (what, span) = match item {
        Item::Const(item) => ("a const", item.const_token.span),
        Item::ExternCrate(item) => ("an extern crate", item.extern_token.span),
        Item::ForeignMod(item) => ("a foreign block", item.abi.extern_token.span),
        Item::Macro(item) => ("a macro", syn::spanned::Spanned::span(&item.mac.path)),
        Item::Trait(item) => ("a trait", item.trait_token.span),
        Item::Type(item) => ("a type alias", item.type_token.span),
        Item::Union(item) => ("a union", item.union_token.span),
        Item::Use(item) => ("a use declaration", item.use_token.span),
        // What syn has no name for: the attribute itself is the culprit.
        _ => ("an item of this kind", Span::call_site()),
    };
    Error::new(span, message::wrong_item(what))
}
