//! The end of a call: the values that the function returns for a success, and for a failure that is
//! not retried.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident};
use syn::{Expr, ExprPath};

use super::Expansion;
use super::items::option;
use crate::args::OnFailure;
use crate::function::types;
use crate::tokens::hygiene::{SpanRange, quote};
use crate::tokens::search::mentions;

impl Expansion<'_> {
    /// Converts an outcome to what the function returns.
    pub(super) fn returned(&self, outcome: TokenStream) -> TokenStream {
        if self.args.has_ok() {
            quote!(__retry::shape::Returned::__returned(#outcome))
        } else {
            outcome
        }
    }

    /// Returns whether each way out of the loop repeats the end of the call, because it is short: a
    /// shared end costs the success path an instruction. A `RetryError` needs the type of the error,
    /// which is known only after the attempt.
    pub(super) fn leaves_at_once(&self) -> bool {
        let is_short = !self.returns_retry_error() || self.is_plain();
        is_short && matches!(self.args.on_failure, OnFailure::Stop) && self.map_error.is_none()
    }

    /// Writes the code that leaves the loop with an `outcome` and how the call `ended`.
    pub(super) fn leave(&self) -> TokenStream {
        if self.leaves_at_once() {
            let finish = self.finish();
            return quote!(return { #finish };);
        }
        let end = self.end();
        // With a label: the attempt may stand in a block that has one.
        quote!(break 'call #end;)
    }

    /// Writes what the loop is left with, or the pattern for it.
    pub(super) fn end(&self) -> TokenStream {
        match &self.args.history {
            Some(_) => quote!((outcome, ended, history)),
            None => quote!((outcome, ended)),
        }
    }

    /// Writes the binding of the failures that the call has kept, before the end of its session.
    pub(super) fn take_history(&self) -> Option<TokenStream> {
        let history = quote!(let history = __retry::Session::take_history(&mut session););
        self.args.history.as_ref().map(|_| history)
    }

    /// Writes the failures that the call has kept, an `Option`.
    fn history(&self) -> TokenStream {
        option(self.args.history.as_ref().map(|_| quote!(history)))
    }

    /// Writes the function that returns the error that the call's error wraps, which `{:#}` of a
    /// `RetryError` prints.
    fn source_of(&self) -> TokenStream {
        let probed = self.probe("lenient", "__probe", true);
        quote!(|error| #probed.source())
    }

    /// Writes the expression that the function returns after the call has given up, from an
    /// `outcome` and how the call `ended`.
    pub(super) fn finish(&self) -> TokenStream {
        match &self.args.on_failure {
            OnFailure::Stop if self.returns_retry_error() => {
                let source_of = self.source_of();
                let history = self.history();
                let ended = quote!(__retry::ended(outcome, ended, #source_of, #history));
                match self.map_error {
                    Some(map) => {
                        // The error is named, so that a wrong one is reported in the closure.
                        let mapped = types::error_of(&self.declared);
                        let mapped = mapped.map_or_else(|| quote!(_), ToTokens::to_token_stream);
                        let call = quote!(__retry::map_error::<_, _, #mapped>);
                        let path = self.error_map("error_map", false);
                        let function = path.unwrap_or_else(|| map.to_token_stream());
                        SpanRange::of(map).call(call, quote!(#ended, #function))
                    }
                    None => ended,
                }
            }
            OnFailure::Stop => {
                let returned = self.returned(quote!(outcome));
                quote!(let _ = ended; #returned)
            }
            OnFailure::Continue => {
                let outcome = self.return_place.locate(quote!(&outcome));
                let default = self.on_return_type(&quote!(Continue::default_value), &outcome);
                if self.returns_retry_error() {
                    return quote!(__retry::ended(#default, ended, |_| __retry::None, __retry::None));
                }
                let returned = self.returned(default);
                quote!(let _ = ended; #returned)
            }
            OnFailure::Fallback(fallback) => {
                let (source_of, history) = (self.source_of(), self.history());
                let failure = if self.returns_retry_error() {
                    quote!(outcome.err())
                } else {
                    quote!(
                        __retry::Outcome::into_failure(outcome).map(__retry::AttemptError::Error)
                    )
                };
                let resolved = self.fall_back(fallback);
                quote! {
                    let error = __retry::gave_up(#failure, ended, #source_of, #history);
                    #resolved
                }
            }
        }
    }

    /// Calls a `method` of the function at a path that `map_error` names. If the function does not
    /// fit, the compiler reports that once, because all calls are at the same place.
    pub(super) fn error_map(&self, method: &str, by_reference: bool) -> Option<TokenStream> {
        // The compiler reports a conversion that does not exist at each of its uses.
        let is_conversion =
            |path: &ExprPath| path.path.segments.last().is_some_and(|last| last.ident == "from");
        let is_named = |map: &&Expr| matches!(map, Expr::Path(path) if !is_conversion(path));
        let map = self.map_error.filter(is_named)?;
        let error = types::error_of(&self.declared)?;
        if mentions(error.to_token_stream(), &|word| word == "_") {
            return None;
        }
        let (place, method) = (SpanRange::of(map), format_ident!("{method}"));
        let path = place.write_path(quote!(__retry::MapsError::<#error, #error, _>::#method));
        let borrow = by_reference.then(|| place.write_path(quote!(&)));
        Some(place.call(path, quote!(#borrow #map)))
    }

    /// The fallback, after the loop: while it is awaited, nothing of an attempt is alive.
    fn fall_back(&self, fallback: &Expr) -> TokenStream {
        let declared = &self.declared;
        let place = SpanRange::of(fallback);
        let call = match fallback {
            Expr::Path(_) => {
                place.call(quote!(__retry::FallbackFunction::call), quote!(#fallback, error))
            }
            _ => place.call(quote!(__retry::call_fallback), quote!(error, #fallback)),
        };
        if self.is_async {
            let resolved = place.call(quote!(__retry::Fallback::<#declared, _>::resolve), call);
            quote!(#resolved.await)
        } else {
            place.call(quote!(__retry::FallbackNow::<#declared, _>::resolve_now), call)
        }
    }
}
