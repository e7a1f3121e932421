//! What expansions call into. No part of the public interface: it changes
//! together with the macros, which are of the same version.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;

pub use retry_policy::{Backoff, BreakerConfig, Fields, Jitter, Policy, Rule, Rules};

pub use crate::breaker::CircuitBreaker;
pub use crate::classify::Class;
pub use crate::cut::{Cut, CutTiming, Cutting, Is, PickCut, Uncut};
pub use crate::error::RetryError;
pub use crate::error::{Ended, Interrupted};
pub use crate::kept::{Forgotten, Keep, Kept, PickKept};
#[cfg(all(feature = "testing", feature = "macros"))]
pub use crate::kit::inject;
#[cfg(all(feature = "testing", feature = "macros"))]
pub use crate::lends::InPlace;
pub use crate::lends::{LendsBreaker, LendsQuota};
pub use crate::nested::{Guard, Inside};
pub use crate::outcome::{
    Continue, Fallback, FallbackNow, GaveUp, Interruptible, Missing, Outcome, Plain, kind,
};
#[cfg(feature = "pattern")]
pub use crate::pattern::Pattern;
pub use crate::plan::{Plan, Timing};
pub use crate::quota::RetryQuota;
#[cfg(feature = "macros")]
pub use crate::registry::Registered;
pub use crate::retry_event::{Failure, RetryEvent};
pub use crate::session::{Next, Session, Verdict};
pub use crate::site::Site;

pub mod ide {
    pub use crate::ide::*;
}

pub mod probe {
    pub use crate::probe::*;
}

pub mod shape {
    pub use crate::shape::*;
}

pub use crate::__retry_for_tests as for_tests;
#[cfg(feature = "macros")]
pub use inventory;
#[cfg(feature = "macros")]
pub use retry_macros::policy;

/// The verdict on a value that `ok(…)` calls a failure.
pub const VALUE: Verdict<'static> = Verdict {
    retry: true,
    hint: None,
    timeout: false,
    error: crate::probe::Described::Display(&"the value is one that is retried"),
};

/// Never called: it gives a block the type of its `return`.
pub fn edge<T>() -> T {
    unreachable!("the edge that tells the type is never taken")
}

/// Never called: it makes a block capture `T` by mutable reference.
pub fn touch<T: ?Sized>(_: &mut T) {}

/// Types the shared policy that `policy = …` names.
pub const fn shared(policy: Policy) -> Policy {
    policy
}

/// The breaker behind a static, a reference, a `Box`, an `Arc` or a `Shared`; or
/// the one of a test in the place of what tests share.
#[inline(always)]
pub fn breaker<B: LendsBreaker + ?Sized>(breaker: &B) -> &CircuitBreaker {
    #[cfg(feature = "testing")]
    if let Some(own) = crate::lends::own_breaker(breaker) {
        return own;
    }
    breaker.lend()
}

/// The quota behind a static, a reference, a `Box`, an `Arc` or a `Shared`; or
/// the one of a test in the place of what tests share.
#[inline(always)]
pub fn quota<Q: LendsQuota + ?Sized>(quota: &Q) -> &RetryQuota {
    #[cfg(feature = "testing")]
    if let Some(own) = crate::lends::own_quota(quota) {
        return own;
    }
    quota.lend()
}

crate::sync::const_fn! {
    /// A breaker in place. Where its settings break a rule, an assertion beside it
    /// says so; one complaint is enough.
    pub const fn breaker_in_place(name: &'static str, config: BreakerConfig) -> CircuitBreaker {
        match config.validate() {
            Ok(()) => CircuitBreaker::new(name, config),
            Err(_) => CircuitBreaker::new(name, BreakerConfig::new()),
        }
    }
}

/// The complaint about the first of `rules` that is among the `broken`.
const fn first_of(broken: Rules, rules: &[Rule]) -> Option<&'static str> {
    let mut i = 0;
    while i < rules.len() {
        if broken.contains(rules[i]) {
            return Some(rules[i].message());
        }
        i += 1;
    }
    None
}

/// What is wrong with a policy, by those rules that the macro could not check.
pub const fn complaint_about_policy(
    policy: &Policy,
    written: Fields,
    rules: &[Rule],
) -> Option<&'static str> {
    first_of(Rules::broken_by_policy(policy, written), rules)
}

/// What is wrong with a breaker, by those rules that the macro could not check.
pub const fn complaint_about_breaker(
    breaker: &BreakerConfig,
    written: Fields,
    rules: &[Rule],
) -> Option<&'static str> {
    first_of(Rules::broken_by_breaker(breaker, written), rules)
}

/// What is wrong with a shared policy on a function that is not async.
pub const fn complaint_about_timeout(policy: &Policy) -> Option<&'static str> {
    if policy.get_timeout().is_some() {
        Some(
            "this policy has a `timeout`, which cuts an attempt off, and a function that is not `async` \
             cannot be cut off: make it an `async fn`, or share a policy without one",
        )
    } else {
        None
    }
}

/// Fails const evaluation with the caret where it is called.
#[track_caller]
pub const fn const_panic(message: &'static str) {
    panic!("{}", message);
}

/// Whether a predicate holds; a function so that a closure's argument has a type.
pub fn is<T: ?Sized>(value: &T, predicate: impl FnOnce(&T) -> bool) -> bool {
    predicate(value)
}

/// What a server asked for; a function so that a closure's argument has a type.
pub fn hint<E: ?Sized>(error: &E, hint: impl FnOnce(&E) -> Option<Duration>) -> Option<Duration> {
    hint(error)
}

/// Tells the function's own listener.
pub fn call_on_retry<E>(event: &RetryEvent<'_, E>, on_retry: impl FnOnce(&RetryEvent<'_, E>)) {
    on_retry(event);
}

/// Calls the fallback; a function so that a closure's argument has a type.
pub fn call_fallback<E, X>(error: RetryError<E>, fallback: impl FnOnce(RetryError<E>) -> X) -> X {
    fallback(error)
}

/// What a fallback returned, as what the function returns.
pub fn resolve<R, Kind, X: Fallback<R, Kind>>(value: X) -> X::Future {
    value.resolve()
}

/// The same for a function that is not async.
pub fn resolve_now<R, Kind, X: FallbackNow<R, Kind>>(value: X) -> R {
    value.resolve_now()
}

/// The default to go on with, of the same type as the outcome.
pub fn go_on<R: Continue>(_: &R) -> R {
    R::go_on()
}

/// The outcome of an attempt of a function that returns `RetryError<E>`.
#[inline(always)]
pub fn tracked<T, E>(outcome: Result<T, E>) -> Result<T, RetryError<E>> {
    outcome.map_err(RetryError::of_attempt)
}

/// The end of such a call.
pub fn ended<T, E>(outcome: Result<T, RetryError<E>>, ended: Ended) -> Result<T, RetryError<E>> {
    outcome.map_err(|error| error.ended(ended))
}

/// What such a call's fallback is called with.
pub fn inner_error<T, E>(outcome: Result<T, RetryError<E>>, ended: Ended) -> RetryError<E> {
    match outcome {
        Ok(_) => RetryError::of_value(ended),
        Err(error) => error.ended(ended),
    }
}

/// The error of such an attempt, or what cut it off.
pub fn cause<E>(error: &RetryError<E>) -> Result<&E, &Interrupted> {
    error.cause()
}

/// How an attempt failed, for events.
pub fn failure<R: Outcome>(outcome: &R) -> Failure<'_, R::Error> {
    outcome.failure().err().map_or(Failure::Value, Failure::Error)
}

/// The same for a function that returns `RetryError<E>`.
pub fn inner_failure<T, E>(outcome: &Result<T, RetryError<E>>) -> Failure<'_, E> {
    match outcome.as_ref().map_err(RetryError::cause) {
        Ok(_) => Failure::Value,
        Err(Ok(error)) => Failure::Error(error),
        Err(Err(interrupted)) => Failure::Interrupted(*interrupted),
    }
}

pin_project_lite::pin_project! {
    /// The future of an attempt of such a function.
    #[derive(Debug)]
    #[must_use = "an attempt does nothing until it is awaited"]
    pub struct Tracked<F> {
        #[pin]
        attempt: F,
    }
}

impl<F> Tracked<F> {
    /// Around the body.
    #[inline(always)]
    pub fn new(attempt: F) -> Self {
        Self { attempt }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for Tracked<F> {
    type Output = Result<T, RetryError<E>>;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.project().attempt.poll(cx).map(tracked)
    }
}
