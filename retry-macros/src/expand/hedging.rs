//! Hedged attempts: the body in a closure, called again for each hedge.

use proc_macro2::TokenStream;

use super::Expansion;
use super::items::option;
use super::retry_loop::is_cancelled;
use super::verdict::Judging;
use crate::options::hedge::HedgeDelay;
use crate::tokens::hygiene::quote;

impl Expansion<'_> {
    /// Writes the binding of the time at which attempts are hedged, read once for each call.
    pub(super) fn bind_hedging(&self) -> Option<TokenStream> {
        let by = self.hedge_delay?;
        let call_context = self.bare_call_context();
        let policy = self.is_runtime().then(|| {
            let evaluate = self.evaluate();
            quote!(let policy = #evaluate;)
        });
        let hedge = match by {
            HedgeDelay::Percentile(_) => {
                quote!(__retry::CallContext::hedge_by_percentile(&#call_context, &__RETRY_LATENCIES))
            }
            HedgeDelay::Policy => quote!(__retry::CallContext::hedge(&#call_context)),
        };
        Some(quote! {
            let hedge = {
                #policy
                #hedge
            };
        })
    }

    /// An attempt that hedges may join, where `attempt` is the future of one of them.
    pub(super) fn hedged(&self, attempt: &TokenStream) -> TokenStream {
        let goes_on = match &self.args.cancel {
            Some(_) => {
                let is_cancelled = is_cancelled();
                quote!(!#is_cancelled)
            }
            None => quote!(true),
        };
        let judge = self.judge();
        let breaker = self.breaker().map(|breaker| breaker.named("breaker"));
        let (permit, breaker) = (self.permit_of_race(), option(breaker));
        let quota = option(self.quota().map(|quota| quota.named("quota")));
        let attempts = option(self.args.context.as_ref().map(|_| quote!(&attempt)));
        quote! {
            __retry::HedgedAttempt::new(
                &hedge,
                __retry::may_run_twice_at_once(|| #attempt),
                || #goes_on,
                #judge,
                || __retry::Session::race(&session, &__RETRY_SITE, #breaker, #quota, #attempts),
                #permit,
                &mut hedges,
            )
        }
    }

    /// Writes the place of the permit that a race uses and returns, if there is a breaker.
    fn permit_of_race(&self) -> TokenStream {
        option(self.breaker().map(|_| quote!(&mut permit)))
    }

    /// Writes the end of an attempt that may have had a time limit: with an `outcome`, or with that
    /// of a hedge.
    pub(super) fn end_of_limit(&self, outcome: TokenStream) -> TokenStream {
        if !self.is_hedged() {
            return outcome;
        }
        let permit = self.permit_of_race();
        quote!({
            let outcome = #outcome;
            __retry::Session::hedged(&mut session, outcome, &mut hedges, #permit)
        })
    }

    /// Writes the decision whether a value is retried: as the race has decided, or else by
    /// `is_retried`.
    pub(super) fn as_decided(&self, is_retried: TokenStream) -> TokenStream {
        if !self.is_hedged() {
            return is_retried;
        }
        quote!(match __retry::Hedges::has_failed(&hedges) {
            __retry::Some(has_failed) => has_failed,
            __retry::None => #is_retried,
        })
    }

    /// Writes the verdict on a failure: the one that the race has reached, with the text `shown`
    /// for events, or else `verdict`, which asks matchers.
    pub(super) fn verdict_as_decided(
        &self,
        shown: &TokenStream,
        verdict: TokenStream,
    ) -> TokenStream {
        if !self.is_hedged() {
            return verdict;
        }
        quote!(match __retry::Hedges::verdict(&hedges, #shown) {
            __retry::Some(verdict) => verdict,
            __retry::None => #verdict,
        })
    }

    /// Writes the binding of a verdict whose wait is the longest one that a member asked for.
    pub(super) fn extended(&self) -> Option<TokenStream> {
        self.is_hedged().then(|| {
            quote! {
                let mut verdict = verdict;
                __retry::Hedges::extend(&hedges, &mut verdict);
            }
        })
    }

    /// Measures an attempt, if hedges follow a percentile of the times that attempts take.
    pub(super) fn start_measuring(&self) -> Option<TokenStream> {
        self.is_measured().then(|| quote!(let measured = __RETRY_LATENCIES.measure();))
    }

    /// Records the time of an attempt that has succeeded.
    pub(super) fn measured(&self) -> Option<TokenStream> {
        self.is_measured().then(|| quote!(measured.succeeded();))
    }

    /// Returns whether hedges follow a percentile of the times that attempts take.
    fn is_measured(&self) -> bool {
        matches!(self.hedge_delay, Some(HedgeDelay::Percentile(_)))
    }

    /// A closure that judges the outcome of an attempt beside which others may run.
    fn judge(&self) -> TokenStream {
        let failure = if self.args.has_ok() && !self.returns_retry_error() {
            quote!({
                #[allow(unused_imports)]
                use __retry::shape::*;
                (&__retry::shape::Shape::of(outcome)).__shape().__failure(outcome)
            })
        } else {
            self.on_return_type(
                &quote!(Outcome::failure),
                &self.return_place.locate(quote!(outcome)),
            )
        };
        let on_value = match self.ok_condition(&quote!(value)) {
            Some(is_retried) => {
                let verdict = self.value_verdict(&quote!(value));
                quote! {
                    __retry::Ok(value) => {
                        if !(#is_retried) {
                            return;
                        }
                        #verdict
                    }
                }
            }
            None => quote!(__retry::Ok(_) => return,),
        };
        let verdict = self.verdict_on_error(Judging::Member);
        quote! {
            |outcome, judged| {
                let verdict = match #failure {
                    #on_value
                    __retry::Err(error) => #verdict,
                };
                judged(verdict);
            }
        }
    }

    /// Binds the context of a hedged body, which finds out which of them it is when it begins.
    pub(super) fn context_of_hedge(&self) -> Option<TokenStream> {
        let context = self.args.context.as_ref().filter(|_| self.is_hedged())?;
        Some(quote!(let #context = __retry::RaceAttempts::begin(&attempt);))
    }

    /// The context of the attempt whose outcome counts.
    pub(super) fn decisive_context(&self) -> TokenStream {
        if self.is_hedged() {
            quote!(__retry::RaceAttempts::decisive(&attempt))
        } else {
            quote!(&attempt)
        }
    }
}
