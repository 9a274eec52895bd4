//! `#[instrumented]` on what has locks for fields, and on what makes them.

use crate::edit::{Edit, indentation};
use crate::krate::{Changes, File};
use crate::names::{LOCKS, library_of};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::collections::HashSet;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{
    Attribute, Fields, GenericArgument, ImplItem, Item, ItemEnum, ItemFn, ItemImpl, ItemMacro,
    ItemStatic, ItemStruct, PathArguments, TraitItemFn, Type,
};

/// Functions of a lock that make one.
const MAKING: [&str; 3] = ["new", "default", "from"];

/// Handles: their types keep no class.
const HANDLES: [&str; 3] = ["Arc", "Rc", "Weak"];

/// What there is in a type.
#[derive(Clone, Copy, Default)]
struct Locks {
    is_owned: bool,
    is_behind_handle: bool,
    is_foreign: bool,
}

impl Locks {
    fn any(self) -> bool {
        self.is_owned || self.is_behind_handle
    }

    fn and(self, other: Self) -> Self {
        Locks {
            is_owned: self.is_owned || other.is_owned,
            is_behind_handle: self.is_behind_handle || other.is_behind_handle,
            is_foreign: self.is_foreign || other.is_foreign,
        }
    }
}

/// Whether an item of the file gets classes that are in the types of its locks.
pub(crate) fn has_classes(file: &File, locks: &HashSet<String>) -> bool {
    let mut changes = Changes::default();
    let mut annotator = Annotator::new(file, locks, None, &mut changes);
    annotator.visit_file(&file.syntax);
    annotator.has_classes
}

pub(crate) fn items(
    file: &File,
    locks: &HashSet<String>,
    allow: Option<&str>,
    changes: &mut Changes,
) {
    Annotator::new(file, locks, allow, changes).visit_file(&file.syntax);
}

struct Annotator<'a> {
    file: &'a File,
    locks: &'a HashSet<String>,
    allow: Option<&'a str>,
    changes: &'a mut Changes,
    has_classes: bool,
    /// In a function that is annotated.
    is_inside: bool,
}

impl<'a> Annotator<'a> {
    fn new(
        file: &'a File,
        locks: &'a HashSet<String>,
        allow: Option<&'a str>,
        changes: &'a mut Changes,
    ) -> Self {
        Annotator {
            file,
            locks,
            allow,
            changes,
            has_classes: false,
            is_inside: false,
        }
    }

    /// Puts the attribute above the item, below its documentation and conditions: what it does comes before
    /// what other attributes do.
    fn annotate(&mut self, attrs: &[Attribute], item: TokenStream, options: &str) {
        if attrs.iter().any(is_instrumented) {
            return;
        }
        let is_above =
            |attr: &&Attribute| !attr.path().is_ident("doc") && !attr.path().is_ident("cfg");
        let first = attrs
            .iter()
            .find(is_above)
            .map(|attr| attr.pound_token.span.byte_range().start);
        let own = item
            .into_iter()
            .next()
            .map(|token| token.span().byte_range().start);
        let Some(at) = first.or(own) else { return };
        let indent = indentation(&self.file.text, at);
        let text = format!("#[instrumented_lock::instrumented{options}]\n{indent}");
        self.changes.edits.push(Edit::insert(at, text));
        self.changes.annotations += 1;
    }

    fn allowance(&self) -> String {
        self.allow
            .map_or_else(String::new, |rules| format!("(allow({rules}))"))
    }

    fn in_fields<'b>(&self, fields: impl Iterator<Item = &'b Fields>) -> Locks {
        let fields = fields.flat_map(Fields::iter);
        let found = fields.map(|field| self.in_type(&field.ty, false));
        found.fold(Locks::default(), Locks::and)
    }

    /// The locks in a type, as its names say; not what is in the data of a lock.
    fn in_type(&self, ty: &Type, is_behind: bool) -> Locks {
        let of = |types: &mut dyn Iterator<Item = &Type>, is_behind| {
            let found = types.map(|ty| self.in_type(ty, is_behind));
            found.fold(Locks::default(), Locks::and)
        };
        match ty {
            Type::Array(array) => self.in_type(&array.elem, is_behind),
            Type::Group(group) => self.in_type(&group.elem, is_behind),
            Type::Paren(paren) => self.in_type(&paren.elem, is_behind),
            Type::Slice(slice) => self.in_type(&slice.elem, is_behind),
            Type::Tuple(tuple) => of(&mut tuple.elems.iter(), is_behind),
            Type::Path(path) => {
                let names: Vec<_> = path
                    .path
                    .segments
                    .iter()
                    .map(|segment| segment.ident.to_string())
                    .collect();
                let Some(last) = path.path.segments.last() else {
                    return Locks::default();
                };
                let name = last.ident.to_string();
                if LOCKS.contains(&name.as_str()) {
                    let is_ours = if names.len() > 1 {
                        library_of(&names).is_some()
                    } else {
                        self.locks.contains(&name)
                    };
                    return Locks {
                        is_owned: is_ours && !is_behind,
                        is_behind_handle: is_ours && is_behind,
                        is_foreign: !is_ours,
                    };
                }
                if name.ends_with("Guard") || name == "PhantomData" || name == "Weak" {
                    return Locks::default();
                }
                let is_behind = is_behind || HANDLES.contains(&name.as_str());
                let PathArguments::AngleBracketed(arguments) = &last.arguments else {
                    return Locks::default();
                };
                let mut types = arguments.args.iter().filter_map(|argument| match argument {
                    GenericArgument::Type(ty) => Some(ty),
                    _ => None,
                });
                of(&mut types, is_behind)
            }
            _ => Locks::default(),
        }
    }

    /// Whether code makes a lock: `Mutex::new`, `sync::Mutex::<u8>::new`, also in macros.
    fn makes(&self, tokens: TokenStream) -> bool {
        let mut names = Vec::new();
        flat(tokens, &mut names);
        names.iter().enumerate().any(|(at, name)| {
            let is_lock = self.locks.contains(name)
                || LOCKS.contains(&name.as_str()) && is_written_out(&names[..at]);
            is_lock && is_followed_by_making(&names[at + 1..])
        })
    }

    fn type_item(&mut self, attrs: &[Attribute], locks: Locks, at: usize, item: TokenStream) {
        if !locks.any() {
            return;
        }
        if locks.is_foreign {
            let text = "a lock of another library is beside those that are changed: not annotated";
            self.changes.note(self.file, at, text);
            return;
        }
        self.has_classes |= locks.is_owned;
        self.annotate(attrs, item, "");
    }

    fn function(&mut self, attrs: &[Attribute], item: TokenStream, whole: TokenStream) -> bool {
        let is_made = !self.is_inside && self.makes(whole);
        if is_made {
            let options = self.allowance();
            self.annotate(attrs, item, &options);
        }
        is_made
    }

    fn inside(&mut self, is_inside: bool, visit: impl FnOnce(&mut Self)) {
        let before = self.is_inside;
        self.is_inside |= is_inside;
        visit(self);
        self.is_inside = before;
    }
}

impl Visit<'_> for Annotator<'_> {
    fn visit_item_struct(&mut self, item: &ItemStruct) {
        let locks = self.in_fields(std::iter::once(&item.fields));
        let at = item.span().byte_range().start;
        let bare = ItemStruct {
            attrs: Vec::new(),
            ..item.clone()
        };
        self.type_item(&item.attrs, locks, at, bare.into_token_stream());
    }

    fn visit_item_enum(&mut self, item: &ItemEnum) {
        let locks = self.in_fields(item.variants.iter().map(|variant| &variant.fields));
        let at = item.span().byte_range().start;
        let bare = ItemEnum {
            attrs: Vec::new(),
            ..item.clone()
        };
        self.type_item(&item.attrs, locks, at, bare.into_token_stream());
    }

    fn visit_item_static(&mut self, item: &ItemStatic) {
        let locks = self.in_type(&item.ty, false);
        if !locks.any() {
            return;
        }
        let at = item.span().byte_range().start;
        // `Lazy<Mutex<u8>, fn() -> Mutex<u8>>`, whose function returns a type without a class.
        let has_initialiser = match &*item.ty {
            Type::Path(path) => {
                path.path
                    .segments
                    .last()
                    .is_some_and(|last| match &last.arguments {
                        PathArguments::AngleBracketed(arguments) => {
                            arguments.args.len() > 1 && !LOCKS.iter().any(|lock| last.ident == lock)
                        }
                        _ => false,
                    })
            }
            _ => false,
        };
        if has_initialiser {
            self.changes.note(
                self.file,
                at,
                "a static whose type names its function: not annotated",
            );
            return;
        }
        let bare = ItemStatic {
            attrs: Vec::new(),
            ..item.clone()
        };
        self.has_classes = true;
        self.annotate(&item.attrs, bare.into_token_stream(), "");
    }

    fn visit_item_impl(&mut self, item: &ItemImpl) {
        let bare = ItemImpl {
            attrs: Vec::new(),
            ..item.clone()
        };
        let is_made = self.function(&item.attrs, bare.to_token_stream(), bare.to_token_stream());
        self.inside(is_made, |this| {
            for inner in &item.items {
                if let ImplItem::Fn(method) = inner {
                    visit::visit_block(this, &method.block);
                }
            }
        });
    }

    fn visit_item_fn(&mut self, item: &ItemFn) {
        let bare = ItemFn {
            attrs: Vec::new(),
            ..item.clone()
        };
        let is_made = self.function(
            &item.attrs,
            bare.to_token_stream(),
            item.block.to_token_stream(),
        );
        self.inside(is_made, |this| visit::visit_block(this, &item.block));
    }

    fn visit_trait_item_fn(&mut self, item: &TraitItemFn) {
        let Some(block) = &item.default else { return };
        let bare = TraitItemFn {
            attrs: Vec::new(),
            ..item.clone()
        };
        let is_made = self.function(&item.attrs, bare.to_token_stream(), block.to_token_stream());
        self.inside(is_made, |this| visit::visit_block(this, block));
    }

    fn visit_item_macro(&mut self, item: &ItemMacro) {
        if self.makes(item.mac.tokens.clone()) {
            let at = item.span().byte_range().start;
            self.changes.note(
                self.file,
                at,
                "locks that this macro makes are named by their lines",
            );
        }
    }

    fn visit_item(&mut self, item: &Item) {
        visit::visit_item(self, item);
    }
}

/// Whether `std::sync::` or `parking_lot::` comes before.
fn is_written_out(before: &[String]) -> bool {
    before.ends_with(&["sync".to_owned(), "::".to_owned()])
        || before.ends_with(&["parking_lot".to_owned(), "::".to_owned()])
}

fn is_instrumented(attr: &Attribute) -> bool {
    attr.path()
        .segments
        .last()
        .is_some_and(|last| last.ident == "instrumented")
}

/// Names and `::`; anything else is one token that fits nowhere.
fn flat(tokens: TokenStream, found: &mut Vec<String>) {
    let mut is_colon = false;
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => found.push(ident.to_string()),
            TokenTree::Group(group) => {
                found.push("(".to_owned());
                flat(group.stream(), found);
                found.push(")".to_owned());
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                if is_colon {
                    found.push("::".to_owned());
                    is_colon = false;
                } else {
                    is_colon = true;
                }
                continue;
            }
            TokenTree::Punct(punct) => found.push(punct.to_string()),
            TokenTree::Literal(_) => found.push("0".to_owned()),
        }
        is_colon = false;
    }
}

/// `::new`, `::<u8>::new` or `<u8>>::new`.
fn is_followed_by_making(names: &[String]) -> bool {
    let mut depth = 0_i32;
    let mut rest = names.iter().map(String::as_str).take(32).peekable();
    rest.next_if(|&name| name == "::");
    let mut is_first = true;
    while let Some(name) = rest.next() {
        match name {
            "<" => depth += 1,
            ">" => {
                depth -= 1;
                if depth < -1 {
                    return false;
                }
                if depth <= 0 && rest.peek() == Some(&"::") {
                    rest.next();
                    return rest.peek().is_some_and(|next| MAKING.contains(next));
                }
            }
            _ if is_first => return MAKING.contains(&name),
            ";" | "{" => return false,
            _ => {}
        }
        is_first = false;
    }
    false
}
