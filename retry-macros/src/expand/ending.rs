//! How a call ends: what the function returns for a success, and for a failure that is not retried.

use proc_macro2::TokenStream;

use super::Expansion;
use crate::args::OnFailure;
use crate::hygiene::{SpanRange, quote};

impl Expansion<'_> {
    /// Converts an outcome to what the function returns.
    pub(super) fn returned(&self, outcome: TokenStream) -> TokenStream {
        if self.args.has_ok() {
            quote!(__retry::shape::Returned::__returned(#outcome))
        } else {
            outcome
        }
    }

    /// How the call leaves the loop when it gives up, given an `outcome` and how it `ended`.
    pub(super) fn finish(&self) -> TokenStream {
        match &self.args.on_failure {
            OnFailure::Stop if self.is_tracked() => {
                let ended = quote!(__retry::ended(outcome, ended));
                match self.map_error {
                    Some(map) => {
                        let path = quote!(__retry::map_error);
                        let mapped = SpanRange::of(map).call(path, quote!(#ended, #map));
                        quote!(return #mapped;)
                    }
                    None => quote!(return #ended;),
                }
            }
            OnFailure::Stop => {
                let returned = self.returned(quote!(outcome));
                quote!(let _ = ended; return #returned;)
            }
            OnFailure::Continue => {
                let outcome = self.return_place.locate(quote!(&outcome));
                let default = self.on_return_type(&quote!(continue_with_default), &outcome);
                if self.is_tracked() {
                    return quote!(return __retry::ended(#default, ended););
                }
                let returned = self.returned(default);
                quote!(let _ = ended; return #returned;)
            }
            OnFailure::Fallback(_) if self.is_tracked() => {
                quote!(break __retry::gave_up(outcome, ended);)
            }
            OnFailure::Fallback(_) => quote!(break __retry::GaveUp::gave_up(outcome, ended);),
        }
    }

    /// The fallback, after the loop: while it is awaited, nothing of an attempt is alive.
    pub(super) fn fall_back(&self, fallback: &syn::Expr, retry_loop: &TokenStream) -> TokenStream {
        let declared = &self.declared;
        let place = SpanRange::of(fallback);
        let call = place.call(quote!(__retry::call_fallback), quote!(error, #fallback));
        let resolved = if self.is_async {
            let resolved = place.call(quote!(__retry::resolve::<#declared, _, _>), call);
            quote!(#resolved.await)
        } else {
            place.call(quote!(__retry::resolve_now::<#declared, _, _>), call)
        };
        quote!(let error = #retry_loop; #resolved)
    }
}
