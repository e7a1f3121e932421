//! The loop: admit, attempt, judge, wait.

use proc_macro2::TokenStream;
use retry_rules::Field;

use super::items::option;
use super::{Expansion, KeepsFailure, Timing};
use crate::args::{Args, OnFailure};
use crate::hygiene::{SpanRange, quote};
use crate::item;
use crate::policy;

/// Methods that take `&self` or `&mut self` are called by path: one of the user's traits may have a
/// blanket implementation with a method of the same name.
impl Expansion<'_> {
    pub(super) fn retry_loop(&self, attempt: &TokenStream) -> TokenStream {
        let mut code = self.before();
        let context = self.context();
        let admit = self.admit();
        let outcome = self.outcome(attempt);
        let start_measuring = self.start_measuring();
        let failure = self.failure();
        let on_value = if self.is_tracked() {
            let (value, verdict) = (self.counted_value(), self.value_verdict(&quote!(value)));
            quote!(__retry::Ok(#value) => #verdict,)
        } else {
            self.on_value()
        };
        let verdict = self.verdict_on_error();
        let ruled = self.args.context.as_ref().map(|_| {
            let attempt = self.decisive_context();
            quote!(let verdict = __retry::Verdict::ruled_by(verdict, #attempt);)
        });
        let adjusted = self.adjusted(&failure);
        let next = self.next();
        let on_retry = self.on_retry();
        let policy = self.bind_policy();
        let keep = self.keeps().then(|| quote!(__retry::Session::keep(&mut session, outcome);));
        let close = self.close();
        let finish = self.finish();
        let wait = self.wait(&quote!(__retry::close(session).last()));
        let end_if_cancelled = self.end_if_cancelled();
        let retry_loop = quote! {
            loop {
                #end_if_cancelled
                #context
                #admit
                {
                    #start_measuring
                    #outcome
                    let verdict = match #failure {
                        #on_value
                        __retry::Err(error) => #verdict,
                    };
                    #adjusted
                    #ruled
                    #policy
                    match #next {
                        __retry::Next::Wait => {
                            #on_retry
                            #keep
                        }
                        __retry::Next::GiveUp(ended) => {
                            #close
                            #finish
                        }
                    }
                }
                #wait
            }
        };
        code.extend(match &self.args.on_failure {
            OnFailure::Fallback(fallback) => self.fall_back(fallback, &retry_loop),
            OnFailure::Stop | OnFailure::Continue => retry_loop,
        });
        code
    }

    /// The failure of an attempt, or its value, as a `Result`. The outcome itself where it is one by
    /// its name: no trait has to be asked.
    fn failure(&self) -> TokenStream {
        let outcome = self.return_place.locate(quote!(&outcome));
        if self.is_tracked() || !self.args.has_ok() && item::is_result(&self.declared) {
            return outcome;
        }
        self.on_return_type(&quote!(Outcome::failure), &outcome)
    }

    /// What comes after a failure.
    fn next(&self) -> TokenStream {
        if self.is_plain() {
            return quote!(__retry::failed(&mut session, &__RETRY_SITE, verdict));
        }
        let (plan, cancelled) = (self.plan(), self.cancelled());
        let permit = option(self.args.breaker.as_ref().map(|_| quote!(permit)));
        quote!(__retry::Session::failed(&mut session, &#plan #cancelled, #permit, verdict))
    }

    /// Whether the site alone says what comes after a failure.
    fn is_plain(&self) -> bool {
        let Args { breaker, quota, cancel, .. } = self.args;
        let is_protected = breaker.is_some() || quota.is_some();
        matches!((&self.cut, &self.kept), (Timing::Never, KeepsFailure::Never))
            && !(is_protected || cancel.is_some() || self.generic)
            && !(self.is_run_time() || self.is_hedged())
    }

    /// Lets `retry_after = |error, wait| …` replace the wait after a `failure`.
    fn adjusted(&self, failure: &TokenStream) -> Option<TokenStream> {
        let adjust = self.args.adjust_wait.as_ref()?;
        let path = quote!(__retry::adjusted);
        let adjusted = SpanRange::of(adjust).call(path, quote!(error, wait, #adjust));
        let failed = if self.is_tracked() {
            quote!(__retry::AttemptError::Error(error))
        } else {
            quote!(error)
        };
        Some(quote! {
            let adjust = |wait| match #failure {
                __retry::Err(#failed) => #adjusted,
                _ => __retry::None,
            };
            let verdict = __retry::Verdict::adjusted(verdict, &adjust);
        })
    }

    /// What may cancel the call, created once, so that it sees what happens during an attempt.
    fn bind_cancel(&self) -> Option<TokenStream> {
        let cancel = self.args.cancel.as_ref()?;
        let cancel = SpanRange::of(cancel).call(quote!(__retry::cancel), cancel);
        Some(quote!(let mut cancel = ::core::pin::pin!(#cancel);))
    }

    /// Tells a plan whether the call has been cancelled.
    fn cancelled(&self) -> Option<TokenStream> {
        self.args.cancel.as_ref()?;
        let is_cancelled = is_cancelled();
        Some(quote!(.cancelled(#is_cancelled)))
    }

    /// The end of a call that is cancelled before an attempt. If it is the first one, and the return
    /// type cannot represent that, the attempt is made.
    fn end_if_cancelled(&self) -> Option<TokenStream> {
        self.args.cancel.as_ref()?;
        let is_cancelled = is_cancelled();
        let interrupted = self.how_to_interrupt(false);
        let wrapped = self.wrapped();
        let (plan, policy, finish) = (self.plan(), self.bind_policy(), self.finish());
        Some(quote! {
            if #is_cancelled {
                let interrupted = #interrupted.map(|interrupted| {
                    let outcome = interrupted(__retry::Interrupted::Cancelled);
                    #wrapped
                    outcome
                });
                if let __retry::Some(outcome) =
                    __retry::Session::take_last_or(&mut session, interrupted)
                {
                    #policy
                    let ended = __retry::Session::cancelled_before_attempt(&session, &#plan);
                    let _ = __retry::close(session);
                    #finish
                }
            }
        })
    }

    /// The wait that was decided. If it is cancelled, the call ends with the `last` outcome.
    fn wait(&self, last: &TokenStream) -> TokenStream {
        if !self.is_async {
            return quote!(__retry::Session::wait_blocking(&mut session, &__RETRY_SITE););
        }
        let wait = match self.quota() {
            Some(quota) => {
                let quota = quota.named("quota");
                quote!(__retry::Session::wait_with_quota(&mut session, #quota))
            }
            None => quote!(__retry::wait(&mut session)),
        };
        self.unless_cancelled(&wait, last)
    }

    /// Like [`wait`](Self::wait), after a refusal of the breaker, which ends the wait when it admits
    /// the call.
    fn wait_for_breaker(&self, last: &TokenStream) -> TokenStream {
        let breaker = self.breaker().map(|breaker| breaker.named("breaker"));
        if !self.is_async {
            let arguments = quote!(&mut session, &__RETRY_SITE, #breaker);
            return quote!(__retry::until_admitted_blocking(#arguments););
        }
        let quota = option(self.quota().map(|quota| quota.named("quota")));
        let wait = quote!(__retry::until_admitted(&mut session, #breaker, #quota));
        self.unless_cancelled(&wait, last)
    }

    /// Awaits `wait`. If it is cancelled, the call ends with the `last` outcome.
    fn unless_cancelled(&self, wait: &TokenStream, last: &TokenStream) -> TokenStream {
        if self.args.cancel.is_none() {
            return quote!(#wait.await;);
        }
        let (plan, policy, finish) = (self.plan(), self.bind_policy(), self.finish());
        quote! {
            if __retry::unless(::core::pin::Pin::as_mut(&mut cancel), #wait).await {
                #policy
                let ended = __retry::Session::cancelled(&session, &#plan);
                let outcome = #last;
                #finish
            }
        }
    }

    /// What the whole call shares.
    fn before(&self) -> TokenStream {
        let plan = self.bare_plan();
        let locals = &self.args.policy.locals;
        let mut before = quote!(#(#locals)*);
        before.extend(match self.kept {
            KeepsFailure::Never => quote!(let mut session = __retry::session();),
            KeepsFailure::Always => {
                quote!(let mut session = __retry::Session::<__retry::LastFailure<_>>::new();)
            }
            KeepsFailure::ByPolicy => {
                let has_deadline = self.ask_policy(&quote!(has_deadline));
                quote! {
                    let mut session = __retry::Session::<
                        <__retry::Is<{ #has_deadline }> as __retry::PickFailureSlot>::Slot<_>,
                    >::new();
                }
            }
        });
        for (name, protection) in [("breaker", self.breaker()), ("quota", self.quota())] {
            before.extend(protection.map(|protection| protection.bound_to(name)));
        }
        before.extend(self.bind_cancel());
        before.extend(self.bind_hedging());
        before.extend(match self.cut {
            Timing::Never => quote!(),
            Timing::BetweenAttempts if self.is_run_time() => {
                let is_timed = self.is_timed_at_run_time();
                let evaluate = self.evaluate();
                quote! {
                    let timing = if #is_timed {
                        let policy = #evaluate;
                        __retry::Timing::start(&#plan)
                    } else {
                        __retry::Timing::NONE
                    };
                }
            }
            Timing::BetweenAttempts => quote!(let timing = __retry::Timing::start(&#plan);),
            Timing::AtRunTime { is_demanded } => {
                let is_timed = self.is_timed_at_run_time();
                let evaluate = self.evaluate();
                let how = self.how_to_interrupt(is_demanded);
                quote! {
                    let mut cut = if #is_timed {
                        let policy = #evaluate;
                        __retry::RunTimeTimer::start(&#plan, #how)
                    } else {
                        __retry::RunTimeTimer::UNTIMED
                    };
                }
            }
            Timing::Always if self.is_run_time() => {
                let evaluate = self.evaluate();
                quote! {
                    let mut cut = {
                        let policy = #evaluate;
                        __retry::Timed::start(&#plan)
                    };
                }
            }
            Timing::Always => quote!(let mut cut = __retry::Timed::start(&#plan);),
            Timing::ByPolicy => {
                let is_timed = self.ask_policy(&quote!(is_timed));
                let has_max_elapsed = self.ask_policy(&quote!(has_max_elapsed));
                let asked = quote!((__retry::Is<{ #is_timed }>, __retry::Is<{ #has_max_elapsed }>));
                quote!(let mut cut = <#asked as __retry::PickTimer>::Timer::start(&#plan);)
            }
        });
        before
    }

    /// Whether the call has a time limit, evaluated before its first attempt.
    fn is_timed_at_run_time(&self) -> TokenStream {
        let policy = &self.args.policy;
        let base = policy.run_time_base().map(|base| base.asked("is_timed"));
        let bounds = [Field::Timeout, Field::Deadline, Field::MaxElapsed];
        let bounds = bounds.into_iter().filter_map(|field| {
            let settings = &policy.settings;
            let entry = settings.entry(field).filter(|_| settings.bounds(field))?;
            Some(match &entry.value.limit {
                Some(limit) => limit.asked("is_bound"),
                None => quote!(true),
            })
        });
        let questions: Vec<TokenStream> = base.into_iter().chain(bounds).collect();
        quote!(#(#questions)||*)
    }

    /// How an interrupted attempt ends, if the return type can represent that.
    fn how_to_interrupt(&self, is_demanded: bool) -> TokenStream {
        if is_demanded || self.is_tracked() {
            let interrupted = self.on_return_type_path(&quote!(Interruptible::interrupted));
            return quote!(__retry::Some(#interrupted));
        }
        let declared = &self.declared;
        quote!({
            #[allow(unused_imports)]
            use __retry::interruption::*;
            (&Returns::<#declared>::this()).__interruption()
        })
    }

    /// Queries the shared policy, for a const generic argument.
    fn ask_policy(&self, question: &TokenStream) -> TokenStream {
        match self.args.policy.constant_base() {
            // There is no inner item if the policy refers to `Self`.
            Some(base) if self.generic => quote!((#base).#question()),
            _ => quote!(__RETRY_POLICY.#question()),
        }
    }

    fn context(&self) -> Option<TokenStream> {
        let plan = self.bare_plan();
        let context = self.args.context.as_ref()?;
        // Of a policy known only at run time, without looking for the nearest one that can be
        // obeyed: an attempt only tells how many there are.
        let attempt = if self.is_run_time() {
            let policy = self.given_policy();
            let written = policy::written(self.checked.written);
            quote!({
                let policy = #policy;
                __retry::Session::context_at_run_time(&session, &#plan, #written)
            })
        } else {
            quote!(__retry::Session::context(&session, &#plan))
        };
        if self.is_hedged() {
            return Some(quote!(let attempt = __retry::Contexts::of(#attempt);));
        }
        Some(quote! {
            let attempt = #attempt;
            let #context = &attempt;
        })
    }

    /// The breaker's permit for the attempt, or the end of the call.
    fn admit(&self) -> Option<TokenStream> {
        self.args.breaker.as_ref()?;
        let plan = self.plan();
        let interrupted =
            self.on_return_type(&quote!(Interruptible::interrupted), &quote!(rejected));
        let finish = self.finish();
        let policy = self.bind_policy();
        let breaker = self.breaker().map(|breaker| breaker.named("breaker"));
        let last = quote!(__retry::close(session).last_or_else(|| #interrupted));
        let ended = if self.args.waits_for_breaker {
            let wait = self.wait_for_breaker(&last);
            let cancelled = self.cancelled();
            quote! {
                let ended = match __retry::Session::refused(&mut session, &#plan #cancelled, &rejected) {
                    __retry::Next::Wait => {
                        #wait
                        continue;
                    }
                    __retry::Next::GiveUp(ended) => ended,
                };
            }
        } else {
            quote!(let ended = __retry::Session::rejected(&session, &#plan, &rejected);)
        };
        // The permit of a hedge may take its place.
        let mutability = self.is_hedged().then(|| quote!(mut));
        Some(quote! {
            let #mutability permit = match #breaker.try_acquire() {
                __retry::Ok(permit) => permit,
                __retry::Err(rejected) => {
                    let rejected = <__retry::Interrupted as ::core::convert::From<_>>::from(rejected);
                    #policy
                    #ended
                    let outcome = #last;
                    #finish
                }
            };
        })
    }

    fn outcome(&self, attempt: &TokenStream) -> TokenStream {
        let declared = &self.declared;
        if self.is_tracked() {
            // Input: an attempt's error or value. Output: the failures among them.
            let guard = self.ok_condition(&quote!(&value)).map(|retried| quote!(if !(#retried)));
            let succeed = self.succeed(&quote!(&value));
            return quote! {
                let outcome = match #attempt {
                    __retry::Ok(value) #guard => {
                        #succeed
                        return __retry::Ok(value);
                    }
                    outcome => outcome,
                };
            };
        }
        let wrapped = self.wrapped();
        quote! {
            let outcome: #declared = #attempt;
            #wrapped
        }
    }

    /// Turns what an attempt returned into an `Outcome`, if `ok(…)` allows it to be of any type.
    fn wrapped(&self) -> Option<TokenStream> {
        if self.is_tracked() || !self.args.has_ok() {
            return None;
        }
        Some(quote! {
            let outcome = {
                #[allow(unused_imports)]
                use __retry::shape::*;
                (&__retry::shape::Shape::of(&outcome)).__shape().__wrap(outcome)
            };
        })
    }

    /// The arm for a value, which is a failure if `ok(…)` says so.
    fn on_value(&self) -> TokenStream {
        let succeed = self.succeed(&quote!(value));
        let returned = self.returned(quote!(outcome));
        let succeed = quote!(#succeed return #returned;);
        let Some(is_retried) = self.ok_condition(&quote!(value)) else {
            let value = self.counted_value();
            return quote!(__retry::Ok(#value) => { #succeed });
        };
        let verdict = self.value_verdict(&quote!(value));
        quote! {
            __retry::Ok(value) => {
                if !(#is_retried) { #succeed }
                #verdict
            }
        }
    }

    /// The pattern for a value that only a breaker's matchers read, if there are any.
    fn counted_value(&self) -> TokenStream {
        if self.ok_counts(&quote!(value)).is_some() { quote!(value) } else { quote!(_) }
    }

    /// The verdict on a value that is retried.
    pub(super) fn value_verdict(&self, value: &TokenStream) -> TokenStream {
        match self.ok_counts(value) {
            Some(counts) => quote!(__retry::Verdict { failure: #counts, ..__retry::VALUE }),
            None => quote!(__retry::VALUE),
        }
    }

    /// Reports the success to the breaker, the quota and the session.
    fn succeed(&self, value: &TokenStream) -> TokenStream {
        let permit = self.args.breaker.as_ref().map(|_| match self.ok_counts(value) {
            Some(counts) => quote!(if #counts { permit.failure() } else { permit.success() }),
            None => quote!(permit.success();),
        });
        let session = match self.quota() {
            Some(quota) => {
                let quota = quota.named("quota");
                quote!(session.succeeded_with_quota(&__RETRY_SITE, #quota);)
            }
            None => quote!(__retry::succeeded(session, &__RETRY_SITE);),
        };
        let measured = self.measured();
        quote!(#permit #measured #session)
    }

    fn on_retry(&self) -> Option<TokenStream> {
        let on_retry = self.args.on_retry.as_ref()?;
        // With the quota, which gets its tokens back if the listener panics.
        let plan = if self.args.quota.is_some() { self.plan() } else { self.bare_plan() };
        let error = if self.is_tracked() {
            quote!(__retry::tracked_failure(&outcome))
        } else {
            quote!(__retry::failure(&outcome))
        };
        let event = quote!(&__retry::Session::event(&session, &#plan, #error));
        let place = SpanRange::of(on_retry);
        let call = place.call(quote!(__retry::call_on_retry), quote!(#event, #on_retry));
        Some(quote!(#call;))
    }

    /// The end of the session. If the deadline has cut an attempt off, the error of the attempt
    /// before it is more informative.
    fn close(&self) -> TokenStream {
        if !self.keeps() {
            return quote!(__retry::close(session););
        }
        match self.cut {
            Timing::Never | Timing::BetweenAttempts => quote!(let _ = __retry::close(session);),
            Timing::Always | Timing::ByPolicy | Timing::AtRunTime { .. } => quote! {
                let kept = __retry::close(session);
                let outcome = if __retry::CallTiming::timing(&cut).is_cut() {
                    kept.last_or_else(|| outcome)
                } else {
                    outcome
                };
            },
        }
    }

    fn keeps(&self) -> bool {
        !matches!(self.kept, KeepsFailure::Never)
    }
}

/// Whether the call has been cancelled.
pub(super) fn is_cancelled() -> TokenStream {
    quote!(__retry::Cancel::is_ready(::core::pin::Pin::as_mut(&mut cancel)))
}
