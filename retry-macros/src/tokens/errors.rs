//! Errors are collected, so that one compilation reports them all.

use core::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;
use retry_rules::suggest::shortened_values;

/// Creates an error that is shown at `place`.
pub(crate) fn error(place: impl ToTokens, message: impl Display) -> syn::Error {
    syn::Error::new_spanned(place, message)
}

/// The errors found so far. They must be reported before this is dropped.
pub(crate) struct Errors {
    errors: Vec<syn::Error>,
}

impl Errors {
    pub(crate) fn new() -> Self {
        Self { errors: Vec::new() }
    }

    /// Adds an error, located at `tokens`.
    pub(crate) fn at(&mut self, tokens: impl ToTokens, message: impl Display) {
        self.push(error(tokens, message));
    }

    pub(crate) fn push(&mut self, error: syn::Error) {
        self.errors.push(error);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// One `compile_error!` for each error.
    pub(crate) fn into_tokens(mut self) -> TokenStream {
        let errors = self.errors.drain(..).flatten().map(|error| {
            let message = error.to_string();
            let short = shortened_values(&message);
            // The place of a long error is only its first token.
            let error = if short == message { error } else { syn::Error::new(error.span(), short) };
            error.to_compile_error()
        });
        errors.collect()
    }
}

impl Drop for Errors {
    fn drop(&mut self) {
        // While unwinding, a second panic would abort, and hide the first.
        debug_assert!(self.errors.is_empty() || std::thread::panicking(), "unreported mistakes");
    }
}
