//! The `#[instrumented]` attribute of the `instrumented-lock` crate, which re-exports it.
//!
//! Parse (`ast`, `attr`, `types`), validate (`lint`), expand (`expand`); on any error `fallback`
//! emits the item as it was, and all errors. Every text a user may read is in `message`.

mod ast;
mod attr;
mod expand;
mod fallback;
mod lint;
mod message;
mod types;

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;

/// Gives every lock of a struct, an enum or a static its own lock class.
///
/// A class is named after the module, the item and the field, and is in the registry before its
/// first use. A lock is a `Mutex` or `RwLock`, also inside `Vec`, `Option`, `Box`, arrays, tuples,
/// map values and other owners; all locks of one field share a class, unless the type names
/// several. A lock behind `Arc`, `Rc` or a reference is left alone unless the field is marked.
/// Put the attribute above derives that read the types of fields, as serde's do.
///
/// ```ignore
/// #[instrumented(prefix = "storage")]
/// struct Store {
///     index: RwLock<HashMap<String, u64>>,              // storage::Store::index
///     #[lock(name = "journal")] log: Mutex<Vec<String>>, // journal
///     pair: (Mutex<u8>, Mutex<u8>),                     // storage::Store::pair.0 and .1
///     #[lock] shared: Arc<Mutex<u64>>,                  // storage::Store::shared
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
/// | `crate = path::to::instrumented_lock` | on the item | where the library is found |
/// | `name = "journal"` | on a static; `#[lock(name = "...")]` on a field | the whole name |
/// | `#[lock]` | on a field | classes a lock behind `Arc`, `Rc`, a reference or a type alias |
/// | `#[lock(skip)]` | on a field | leaves the field as it is |
#[proc_macro_attribute]
pub fn instrumented(args: TokenStream, item: TokenStream) -> TokenStream {
    let item = Tokens::from(item);
    let tokens = match checked(args.into(), item.clone()) {
        Ok(input) => expand::expand(input),
        Err(errors) => fallback::item_and_errors(item, &errors),
    };
    tokens.into()
}

fn checked(args: Tokens, item: Tokens) -> syn::Result<ast::Input> {
    let input = ast::Input::parse(args, item)?;
    lint::check(&input)?;
    Ok(input)
}
