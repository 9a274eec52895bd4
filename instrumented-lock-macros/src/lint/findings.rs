//! What is found, to be shown all at once.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{Error, Result};

/// The findings so far.
#[derive(Default)]
pub(crate) struct Findings(Option<Error>);

impl Findings {
    pub(crate) fn add(&mut self, culprit: impl ToTokens, message: String) {
        self.add_error(Error::new_spanned(culprit, message));
    }

    pub(crate) fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }

    /// The errors, as items.
    pub(crate) fn tokens(self) -> TokenStream {
        self.0
            .map_or_else(TokenStream::new, |errors| errors.to_compile_error())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn add_error(&mut self, error: Error) {
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }
}
