//! `#[derive(Classify)]`, which gives each variant of an error a class.
//!
//! ```text
//! // Input:
//! enum Error {
//!     Http(#[from] reqwest::Error),
//!     #[classify(rate_limit, retry_after = wait)]
//!     Full { wait: Duration },
//! }
//!
//! // Output:
//! impl Classify for Error {
//!     fn class(&self) -> Class {
//!         match self {
//!             Self::Http { 0: field, .. } => probe::strict(field).__probe().classifier.class(),
//!             Self::Full { .. } => Class::RATE_LIMIT,
//!         }
//!     }
//!     fn retry_after(&self) -> Option<Duration> {
//!         match self {
//!             Self::Http { 0: field, .. } => probe::strict(field).__probe().classifier.hint(Class::empty()).and_then(Hint::wait),
//!             Self::Full { wait: wait, .. } => WaitField::wait(wait),
//!         }
//!     }
//!     // … and `__hint`, because the field of `Http` may also know that there is to be no next attempt,
//!     // or have a text with a wait.
//! }
//! // … and an entry in the list of types that are found inside `anyhow::Error`.
//! ```
//!
//! The steps are `words` (reads `#[classify(…)]`), `shape` (reads the type, and finds out what
//! decides about each variant) and `expand`.

mod expand;
mod shape;
pub(crate) mod words;

use proc_macro2::TokenStream;

use crate::tokens::errors::Errors;

/// `#[derive(Classify)]`.
pub(crate) fn derive(item: TokenStream) -> TokenStream {
    let item = match syn::parse2(item) {
        Ok(item) => item,
        Err(error) => return error.to_compile_error(),
    };
    let mut errors = Errors::new();
    let Some(shape) = shape::Shape::read(item, &mut errors) else {
        return errors.into_tokens();
    };
    // With mistakes too, so that nothing else complains that the trait is not implemented.
    let mut tokens = expand::expand(&shape);
    tokens.extend(errors.into_tokens());
    tokens
}
