//! The `#[instrumented]` attribute of the `instrumented-lock` crate, which re-exports it.
//!
//! Parse (`ast`, `attr`, `types`), validate (`lint`), expand (`expand`); on any error `fallback`
//! emits the item as it was, and all errors. An `impl` or a function (`code`) is walked by `body`, and
//! `refusal` makes errors of what that finds. Every text a user may read is in `message`.
//! Which of them may use which is in `.ci/layers.txt`.

mod ast;
mod attr;
mod body;
mod code;
mod derived;
mod expand;
mod fallback;
mod foreign;
mod item_attrs;
mod library;
mod lint;
mod message;
mod module;
#[cfg(test)]
mod over_crates;
mod places;
mod refusal;
mod rule;
mod types;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use syn::Item;

/// Gives every lock of a struct, an enum or a static its own lock class; checks the bodies of an
/// `impl`, a function or a module for mistakes with locks, and names the locks that are made there.
///
/// A class is named after the module, the item and the field, and is in the registry before its
/// first use. A lock is a `Mutex` or `RwLock`, also inside `Vec`, `Option`, `Box`, arrays, tuples,
/// map values and other owners; all locks of one field share a class, unless the type names
/// several. A lock behind `Arc` or `Rc` keeps its type, unless the field is marked: it has the class of
/// its field if the code that makes it is annotated too. Put the attribute above derives that read the
/// types of fields, as serde's do, and above a derived `Default` that makes locks behind handles.
///
/// ```ignore
/// #[instrumented(prefix = "storage")]
/// struct Store {
///     index: RwLock<HashMap<String, u64>>,              // storage::Store::index
///     #[lock(name = "journal")] log: Mutex<Vec<String>>, // journal
///     pair: (Mutex<u8>, Mutex<u8>),                     // storage::Store::pair.0 and .1
///     shared: Arc<Mutex<u64>>,                          // storage::Store::shared, if it is made below
///     #[lock(skip)] scratch: Mutex<u8>,                 // unclassed
/// }
///
/// #[instrumented(name = "config")]
/// static CONFIG: RwLock<u32> = RwLock::new(0);          // config
/// ```
///
/// | option | where | meaning |
/// |---|---|---|
/// | `prefix = "storage"` | on the item | stands in the names for the module path |
/// | `crate = path::to::instrumented_lock` | on the item, the impl, the function or the module | where the library is found |
/// | `name = "journal"` | on a static; `#[lock(name = "...")]` on a field | the whole name |
/// | `rank = 10` | on a static; `#[lock(rank = 10)]` on a field | the place in the lock order |
/// | `nested = "reason"` | on a static; `#[lock(nested = "...")]` on a field | locks of this class may be nested in any order, for this reason: the page `order` of the library |
/// | `#[lock]` | on a field | classes a lock behind `Arc`, `Rc`, a reference or a type alias |
/// | `#[lock(skip)]` | on a field | leaves the field as it is |
/// | `allow(rule)` | on the item, the impl, the function or the module; `#[lock(allow(rule))]` on a field or a statement | what a rule would refuse |
/// | `deny(rule)` | on the impl, the function or the module | what a rule refuses only when asked to |
/// | `locks` | on a method | calls of it count as taking a lock |
///
/// On an `impl` or a function the bodies are checked, and locks that are made there get the names of the
/// fields that they become, or of function and variable, if their types do not name them: those behind
/// handles. The code stays as it is, but that a lock whose methods are called before anything tells its
/// class is made as `Mutex::<_>::new(..)`. Methods of an annotated `impl` need no attribute of their own, nor
/// does what is in an annotated module, but for structs, enums and statics. The rules, for types and for
/// bodies, are on the page `lints` of the library; how locks get their names is in `docs/names.md`.
///
/// ```ignore
/// #[instrumented]
/// impl Store {
///     fn share(&mut self) {
///         let shared = Arc::new(Mutex::new(0)); // of the class of the field that it becomes
///         let of_thread = shared.clone();
///         self.shared = shared;
///     }
///     fn lengths(&self) -> usize {
///         self.index.read().len() + self.index.read().len() // refused: `relock`
///     }
/// }
/// ```
#[proc_macro_attribute]
pub fn instrumented(args: TokenStream, item: TokenStream) -> TokenStream {
    let (args, item) = (Tokens::from(args), Tokens::from(item));
    let tokens = match syn::parse2(item.clone()) {
        Ok(Item::Fn(function)) => code::function(args, item, function),
        Ok(Item::Impl(implementation)) => code::implementation(args, item, implementation),
        Ok(Item::Mod(module)) => module::expand(&args, item, module),
        Ok(parsed) => types_of(args, parsed).map_or_else(
            |errors| fallback::item_and_errors(item, &errors),
            expand::expand,
        ),
        Err(error) => fallback::unreadable(item, &error),
    };
    tokens.into()
}

fn types_of(args: Tokens, item: Item) -> syn::Result<ast::Input> {
    let input = ast::Input::parse(args, item)?;
    lint::check(&input)?;
    Ok(input)
}
