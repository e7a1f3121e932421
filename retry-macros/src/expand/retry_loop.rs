//! The loop: admit, attempt, judge, wait.

use proc_macro2::TokenStream;
use retry_rules::options::Needs;

use super::items::option;
use super::policy;
use super::verdict::Judging;
use super::{Expansion, KeepsFailure, TimeoutMode};
use crate::args::Args;
use crate::function::types;
use crate::tokens::hygiene::{SpanRange, quote};
use crate::tokens::search::mentions;

/// Methods that take `&self` or `&mut self` are called by path: one of the user's traits may have a
/// blanket implementation with a method of the same name.
impl Expansion<'_> {
    pub(super) fn retry_loop(&self, attempt: &TokenStream) -> TokenStream {
        let mut code = self.before();
        let end_if_cancelled = self.end_if_cancelled();
        let context = self.context();
        let start_measuring = self.start_measuring();
        let hedges = self.is_hedged();
        let hedges =
            hedges.then(|| quote!(let mut hedges = __retry::Session::hedges(&mut session);));
        let outcome = self.outcome(attempt);
        let failure = self.failure();
        let on_value = if self.returns_retry_error() {
            let (value, verdict) = (self.counted_value(), self.value_verdict_as_decided());
            quote!(__retry::Ok(#value) => #verdict,)
        } else {
            self.on_value()
        };
        let verdict = self.verdict_on_error(Judging::Outcome);
        let extended = self.extended();
        let ruled = self.args.context.as_ref().map(|_| {
            let attempt = self.decisive_context();
            quote!(let verdict = __retry::Verdict::ruled_by(verdict, #attempt);)
        });
        let waiting_by = self.waiting_by(&failure);
        let (policy, next) = (self.bind_policy(), self.next());
        let on_retry = self.on_retry();
        let (keep, end) = if self.is_plain() {
            (None, quote!(__retry::close(session);))
        } else {
            let may_end = self.args.may_end_before_attempt();
            let keep = quote!(__retry::Session::keep(&mut session, outcome, #may_end););
            (Some(keep), quote!(let outcome = __retry::Session::end(session, outcome);))
        };
        let (history, leave) = (self.take_history(), self.leave());
        let attempt = quote! {{
            #start_measuring
            #hedges
            #outcome
            let verdict = match #failure {
                #on_value
                __retry::Err(error) => #verdict,
            };
            #extended
            #waiting_by
            #ruled
            #policy
            match #next {
                __retry::Next::Wait => {
                    #on_retry
                    #keep
                }
                __retry::Next::GiveUp(ended) => {
                    #history
                    #end
                    #leave
                }
            }
        }};
        let (admitted, wait) = (self.admitted(&attempt), self.wait());
        let (bind_state, end_wait) = (self.bind_breaker_state(), self.end_wait());
        let attempt = quote!(#context #admitted #wait #end_wait);
        let retry_loop = if self.infers_interruption() {
            let is_at_runtime = matches!(self.timeout_mode, TimeoutMode::AtRuntime { .. });
            let start = is_at_runtime.then(|| {
                let timer = self.timer();
                quote!(session.timer = #timer;)
            });
            quote! {
                #bind_state
                let returns = __retry::interruption::Returns::this();
                let mut has_begun = false;
                loop {
                    if has_begun {
                        #attempt
                    } else {
                        has_begun = true;
                        #start
                        #end_if_cancelled
                    }
                }
            }
        } else {
            quote!(#end_if_cancelled #bind_state loop { #attempt })
        };
        code.extend(if self.leaves_at_once() {
            retry_loop
        } else {
            let (end, finish) = (self.end(), self.finish());
            quote!(let #end = 'call: { #retry_loop }; #finish)
        });
        code
    }

    /// The failure of an attempt, or its value, as a `Result`. The outcome itself where it is one
    /// by its name: no trait has to be asked.
    fn failure(&self) -> TokenStream {
        let outcome = self.return_place.locate(quote!(&outcome));
        if self.returns_retry_error()
            || !self.args.has_ok() && types::segment(&self.declared, "Result").is_some()
        {
            return outcome;
        }
        self.on_return_type(&quote!(Outcome::failure), &outcome)
    }

    /// Writes the decision after a failure.
    fn next(&self) -> TokenStream {
        if self.is_plain() {
            return quote!(__retry::failed(&mut session, &__RETRY_SITE, verdict));
        }
        let (call_context, cancelled) = (self.call_context(), self.cancelled());
        let permit = self.permit();
        quote!(__retry::Session::failed(&mut session, #call_context #cancelled, #permit, verdict))
    }

    /// Writes the permit of an attempt, an `Option`. That of a race is one already: the permit of a
    /// hedge may take its place.
    fn permit(&self) -> TokenStream {
        match &self.args.breaker {
            Some(_) if self.is_hedged() => quote!(permit),
            breaker => option(breaker.as_ref().map(|_| quote!(permit))),
        }
    }

    /// Returns whether the site alone decides about a failure.
    pub(super) fn is_plain(&self) -> bool {
        let Args { breaker, quota, cancel, .. } = self.args;
        let is_protected = breaker.is_some() || quota.is_some();
        matches!(
            (&self.timeout_mode, &self.keeps_failure),
            (TimeoutMode::Never, KeepsFailure::Never)
        ) && !(is_protected || cancel.is_some() || self.generic)
            && !(self.is_runtime() || self.is_hedged())
    }

    /// Lets `wait_by` set the wait after a `failure`.
    fn waiting_by(&self, failure: &TokenStream) -> Option<TokenStream> {
        let wait_by = self.args.wait_by.as_ref()?;
        let path = quote!(__retry::wait_by);
        let wait = SpanRange::of(wait_by).call(path, quote!(attempt, error, due, #wait_by));
        let failed = if self.returns_retry_error() {
            quote!(__retry::AttemptError::Error(error))
        } else {
            quote!(error)
        };
        Some(quote! {
            let wait_by = |attempt, due| match #failure {
                __retry::Err(#failed) => #wait,
                _ => __retry::None,
            };
            let verdict = __retry::Verdict::waiting_by(verdict, &wait_by);
        })
    }

    /// Writes the call that passes to the context whether the call has been cancelled.
    fn cancelled(&self) -> Option<TokenStream> {
        self.args.cancel.as_ref()?;
        let is_cancelled = is_cancelled();
        Some(quote!(.cancelled(#is_cancelled)))
    }

    /// The end of a call that is cancelled before its first attempt. If the return type cannot
    /// represent that, the attempt is made. Before later attempts, the wait checks it.
    fn end_if_cancelled(&self) -> Option<TokenStream> {
        self.args.cancel.as_ref()?;
        let is_cancelled = is_cancelled();
        let interrupted = self.how_to_interrupt(false);
        let wrapped = self.wrapped();
        let (call_context, policy, leave) = (self.call_context(), self.bind_policy(), self.leave());
        let history = self.take_history();
        Some(quote! {
            if #is_cancelled {
                if let __retry::Some(interrupted) = #interrupted {
                    let outcome = interrupted(__retry::Interrupted::Cancelled);
                    #wrapped
                    #policy
                    #history
                    let ended = __retry::Session::cancelled_before_attempt(session, #call_context);
                    #leave
                }
            }
        })
    }

    /// Writes the wait that was decided. If it is cancelled, the call ends with the last outcome.
    fn wait(&self) -> TokenStream {
        let breaker = self.breaker().filter(|_| self.may_await_breaker());
        let awaited = match &breaker {
            Some(breaker) => {
                let breaker = breaker.named("breaker");
                // Not in a closure, whose error about a `const` would come first.
                quote!(if is_refused { __retry::Some(#breaker) } else { __retry::None })
            }
            None => quote!(__retry::None),
        };
        if !self.is_async {
            return quote!(__retry::Session::wait_blocking(&mut session, &__RETRY_SITE, #awaited););
        }
        let wait = match (self.quota(), &breaker) {
            (None, None) => quote!(__retry::wait(&mut session)),
            (quota, _) => {
                let quota = option(quota.map(|quota| quota.named("quota")));
                quote!(__retry::Session::wait_with(&mut session, #quota, #awaited))
            }
        };
        if self.args.cancel.is_none() {
            return quote!(#wait.await;);
        }
        let (call_context, policy, leave) = (self.call_context(), self.bind_policy(), self.leave());
        let history = self.take_history();
        let awaited = match breaker {
            Some(_) => {
                let interrupted = self.interrupted();
                quote!(is_refused.then(|| #interrupted(__retry::Interrupted::Cancelled)))
            }
            None => quote!(__retry::None),
        };
        quote! {
            if __retry::Cancel::unless(::core::pin::Pin::as_mut(&mut cancel), #wait).await {
                #policy
                #history
                let (outcome, ended) = __retry::Session::cancelled(session, #call_context, #awaited);
                #leave
            }
        }
    }

    /// Writes the statements before the loop, shared by all attempts.
    fn before(&self) -> TokenStream {
        let mut before = self.args.policy.locals.clone();
        // The error of the body follows from the function that maps it, and is reported after it.
        before.extend(self.error_map("check", true).map(|check| quote!(#check;)));
        for (name, protection) in [("breaker", self.breaker()), ("quota", self.quota())] {
            before.extend(protection.map(|protection| protection.bound_to(name)));
        }
        if let Some(cancel) = &self.args.cancel {
            // Created once, so that it also covers attempts.
            let cancel = SpanRange::of(cancel).call(quote!(__retry::Cancel::new), cancel);
            before.extend(quote!(let mut cancel = ::core::pin::pin!(#cancel);));
        }
        before.extend(self.bind_hedging());
        if self.is_plain() {
            before.extend(quote!(let mut session = __retry::session();));
            return before;
        }
        let kept = match self.keeps_failure {
            KeepsFailure::Never => quote!(__retry::NoFailure<_>),
            KeepsFailure::Always => quote!(__retry::LastFailure<_>),
            KeepsFailure::ByPolicy => {
                let has_deadline = self.query_policy(&quote!(has_deadline));
                quote!(<__retry::Is<{ #has_deadline }> as __retry::Choose>::Slot<_>)
            }
        };
        let timer = match self.timeout_mode {
            TimeoutMode::AtRuntime { .. } if self.infers_interruption() => quote!(__retry::None),
            _ => self.timer(),
        };
        before.extend(quote!(let mut session = __retry::Session::<#kept, _>::timed(#timer);));
        before
    }

    /// Returns whether only the attempt shows the type that may have to represent an interruption.
    /// Method resolution needs the type, so the question stands behind the attempt in the code: the
    /// loop asks it first, and begins the attempts in its second round.
    fn infers_interruption(&self) -> bool {
        let is_asked = self.args.cancel.is_some()
            || matches!(self.timeout_mode, TimeoutMode::AtRuntime { is_demanded: false });
        is_asked
            && !self.returns_retry_error()
            && mentions(types::error_tokens(&self.declared), &|word| word == "_")
    }

    /// Writes the timer of the call, started.
    fn timer(&self) -> TokenStream {
        let call_context = self.bare_call_context();
        let (mut how, mut untimed) = (None, quote!(__retry::Timing::NONE));
        let timer = match self.timeout_mode {
            TimeoutMode::Never => return quote!(__retry::Untimed),
            TimeoutMode::BetweenAttempts => quote!(__retry::Timing),
            TimeoutMode::Always => quote!(__retry::CallLimits),
            TimeoutMode::AtRuntime { is_demanded } => {
                let interrupted = self.how_to_interrupt(is_demanded);
                how = Some(quote!(, #interrupted));
                untimed = quote!(__retry::None);
                quote!(__retry::RuntimeLimits)
            }
            TimeoutMode::ByPolicy => {
                let is_timed = self.query_policy(&quote!(is_timed));
                let has_max_elapsed = self.query_policy(&quote!(has_max_elapsed));
                let clock = quote!(__retry::Is<{ #has_max_elapsed }>);
                let clock =
                    quote!(<#clock as __retry::Choose>::Of<__retry::Timing, __retry::Untimed>);
                quote!(<__retry::Is<{ #is_timed }> as __retry::Choose>::Of::<__retry::CallLimits, #clock>)
            }
        };
        let start = quote!(#timer::start(&#call_context #how));
        if !self.is_runtime() {
            return start;
        }
        let evaluate = self.evaluate();
        let start = quote!({ let policy = #evaluate; #start });
        if matches!(self.timeout_mode, TimeoutMode::Always | TimeoutMode::ByPolicy) {
            return start;
        }
        let is_timed = self.is_timed_at_runtime();
        quote!(if #is_timed #start else { #untimed })
    }

    /// Returns whether the call has a time limit, evaluated before its first attempt.
    fn is_timed_at_runtime(&self) -> TokenStream {
        let policy = &self.args.policy;
        let base = policy.runtime_base().map(|base| base.call("is_timed"));
        let limits = [Needs::Timer, Needs::Clock];
        let limits = limits.into_iter().flat_map(|needs| policy.settings.limits(needs));
        let bounds = limits.map(|entry| match &entry.value.limit {
            Some(bound) => quote!(#bound.limit().is_some()),
            None => quote!(true),
        });
        // An override may set a limit.
        let overridden = quote!(__retry::runtime::is_limited(&__RETRY_SITE));
        let questions = base.into_iter().chain(bounds).chain([overridden]);
        quote!(#(#questions)||*)
    }

    /// Writes the end of an interrupted attempt, if the return type can represent it.
    fn how_to_interrupt(&self, is_demanded: bool) -> TokenStream {
        if is_demanded || self.returns_retry_error() {
            let interrupted = self.interrupted();
            return quote!(__retry::Some(#interrupted));
        }
        let declared = &self.declared;
        let known = quote!(Returns::<#declared>::this());
        let returns = if self.infers_interruption() { quote!(returns) } else { known };
        quote!({
            #[allow(unused_imports)]
            use __retry::interruption::*;
            (&#returns).__interruption()
        })
    }

    /// Reads a property of the shared policy, for a const generic argument.
    pub(super) fn query_policy(&self, property: &TokenStream) -> TokenStream {
        match self.args.policy.constant_base() {
            // A policy that refers to `Self` is not an inner item.
            Some(base) if self.generic => quote!((#base).#property()),
            _ => quote!(__RETRY_POLICY.#property()),
        }
    }

    fn context(&self) -> Option<TokenStream> {
        let call_context = self.bare_call_context();
        let context = self.args.context.as_ref()?;
        // The number of a runtime policy, without the search for the nearest valid policy: an
        // attempt only reports the number.
        let attempt = if self.is_runtime() {
            let policy = self.given_policy();
            let written = policy::written(self.checked.written);
            quote!({
                let policy = #policy;
                __retry::Session::attempt_at_runtime(&session, &#call_context, #written)
            })
        } else {
            quote!(__retry::Session::attempt(&session, &#call_context))
        };
        if self.is_hedged() {
            return Some(quote!(let attempt = __retry::RaceAttempts::of(#attempt);));
        }
        Some(quote! {
            let attempt = #attempt;
            let #context = &attempt;
        })
    }

    /// Writes the binding of the breaker's state before the first attempt.
    fn bind_breaker_state(&self) -> Option<TokenStream> {
        let breaker = self.breaker()?.named("breaker");
        Some(quote!(let mut state = __retry::Session::breaker_state(&session, #breaker);))
    }

    /// Writes the end of a wait: the next attempt begins, unless the breaker rejects it.
    fn end_wait(&self) -> Option<TokenStream> {
        if let Some(breaker) = self.breaker() {
            let breaker = breaker.named("breaker");
            let again = quote!(__retry::Session::breaker_state_again(&mut session, #breaker));
            return Some(quote!(state = #again;));
        }
        let keeps = !matches!(self.keeps_failure, KeepsFailure::Never);
        keeps.then(|| quote!(__retry::Session::release(&mut session);))
    }

    /// Writes the `attempt` behind the admission by the breaker.
    fn admitted(&self, attempt: &TokenStream) -> TokenStream {
        let Some(breaker) = self.breaker() else { return attempt.clone() };
        let breaker = breaker.named("breaker");
        let interrupted = self.interrupted();
        let (call_context, policy, cancelled) =
            (self.call_context(), self.bind_policy(), self.cancelled());
        let (history, leave) = (self.take_history(), self.leave());
        let of_race = self.is_hedged().then(|| quote!(let mut permit = __retry::Some(permit);));
        let waits = self.may_await_breaker();
        let wait = if waits { quote!(break 'admitted true) } else { quote!(continue) };
        // Two statements: a scrutinee that contained the attempt would be alive across its awaits.
        let attempt = quote! {
            let permit = match __retry::Session::try_acquire(&mut session, #breaker, state) {
                __retry::Ok(permit) => permit,
                __retry::Err(rejected) => {
                    let rejected = <__retry::Interrupted as ::core::convert::From<_>>::from(rejected);
                    #policy
                    match __retry::Session::refused(&mut session, #call_context #cancelled, &rejected) {
                        __retry::Next::Wait => #wait,
                        __retry::Next::GiveUp(ended) => {
                            #history
                            let outcome = __retry::Session::last_or(session, rejected, #interrupted);
                            #leave
                        }
                    }
                }
            };
            #of_race
            #attempt
        };
        if waits { quote!(let is_refused = 'admitted: { #attempt false };) } else { attempt }
    }

    fn outcome(&self, attempt: &TokenStream) -> TokenStream {
        let declared = &self.declared;
        let hidden = self.hidden_failure.as_ref().map(|warning| {
            quote!(if false {
                #[allow(unused_imports)]
                use __retry::AnyOutcome as _;
                __retry::OutcomeOf(&outcome).#warning();
            })
        });
        if self.returns_retry_error() {
            // Input: an attempt's error or value. Output: the failures among them.
            let guard = self.ok_condition(&quote!(&value)).map(|retried| {
                let retried = self.as_decided(retried);
                quote!(if !(#retried))
            });
            let succeed = self.succeed(&quote!(&value));
            return quote! {
                let outcome = match #attempt {
                    __retry::Ok(value) #guard => {
                        #succeed
                        return __retry::Ok(value);
                    }
                    outcome => outcome,
                };
                #hidden
            };
        }
        let wrapped = self.wrapped();
        let infer = self
            .infers_interruption()
            .then(|| quote!(__retry::interruption::Returns::infer(&returns, &outcome);));
        quote! {
            let outcome: #declared = #attempt;
            #infer
            #hidden
            #wrapped
        }
    }

    /// Turns what an attempt returned into an `Outcome`, if `ok(…)` allows it to be of any type.
    fn wrapped(&self) -> Option<TokenStream> {
        if self.returns_retry_error() || !self.args.has_ok() {
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

    /// The arm for a value, which is a failure if `ok(…)` matches it.
    fn on_value(&self) -> TokenStream {
        let succeed = self.succeed(&quote!(value));
        let returned = self.returned(quote!(outcome));
        let succeed = quote!(#succeed return #returned;);
        let Some(is_retried) = self.ok_condition(&quote!(value)) else {
            let value = self.counted_value();
            return quote!(__retry::Ok(#value) => { #succeed });
        };
        let is_retried = self.as_decided(is_retried);
        let verdict = self.value_verdict_as_decided();
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
            Some(counts) => quote!(__retry::Verdict::VALUE.counted(#counts)),
            None => quote!(__retry::Verdict::VALUE),
        }
    }

    /// The verdict on a retried value of an attempt, which a race may have judged.
    fn value_verdict_as_decided(&self) -> TokenStream {
        let verdict = self.value_verdict(&quote!(value));
        if self.ok_counts(&quote!(value)).is_none() {
            return verdict;
        }
        self.verdict_as_decided(&quote!(__retry::Verdict::VALUE.error), verdict)
    }

    /// Reports the success to the breaker, the quota and the session.
    fn succeed(&self, value: &TokenStream) -> TokenStream {
        let measured = self.measured();
        if self.is_plain() {
            return quote!(#measured __retry::succeeded(session, &__RETRY_SITE););
        }
        let report = match self.ok_counts(value) {
            Some(counts) => quote!(if #counts { permit.failure() } else { permit.success() }),
            None => quote!(permit.success();),
        };
        let permit = self.args.breaker.as_ref().map(|_| {
            if self.is_hedged() {
                quote!(if let __retry::Some(permit) = permit { #report })
            } else {
                report
            }
        });
        let quota = option(self.quota().map(|quota| quota.named("quota")));
        quote!(#permit #measured __retry::Session::succeeded(session, &__RETRY_SITE, #quota);)
    }

    fn on_retry(&self) -> Option<TokenStream> {
        let on_retry = self.args.on_retry.as_ref()?;
        // With the quota, which gets its tokens back if the listener panics.
        let call_context =
            if self.args.quota.is_some() { self.call_context() } else { self.bare_call_context() };
        let event = if self.returns_retry_error() {
            quote!(&__retry::Session::event_of_attempt(&session, &#call_context, &outcome))
        } else {
            quote!(&__retry::Session::event_of(&session, &#call_context, &outcome))
        };
        let place = SpanRange::of(on_retry);
        let call = place.call(quote!(__retry::call_on_retry), quote!(#event, #on_retry));
        Some(quote!(#call;))
    }
}

/// Returns whether the call has been cancelled.
pub(super) fn is_cancelled() -> TokenStream {
    quote!(__retry::Cancel::is_ready(::core::pin::Pin::as_mut(&mut cancel)))
}
