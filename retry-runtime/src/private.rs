//! The functions that expansions call. Not part of the public interface: it changes together with
//! the macros, which have the same version.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::convert::Infallible;
use core::future::Future;
use core::ops::ControlFlow;
use core::time::Duration;

use crate::base::sealed::Never;
use crate::call::session::Wait;
use crate::call::verdict::{Judgement, OwnWait};
use crate::event::retry_event::RetryEvent;
use crate::outcome::Nothing;
use crate::outcome::error::RetryError;

pub use core::option::Option::{None, Some};
pub use core::result::Result::{Err, Ok};

pub use retry_rules::{
    Backoff, Bound, BreakerConfig, Fields, HalfOpen, Jitter, Policy, Rule, Rules, history,
};

pub use crate::base::class::Class;
pub use crate::base::hint::Hint;
pub use crate::call::attempt::Attempt;
pub use crate::call::attempt_limit::{
    CallLimits, Choose, Is, LimitOutcome, RuntimeLimits, Untimed,
};
pub use crate::call::attempt_result::{AttemptResultFuture, attempt_result, ended, gave_up};
pub use crate::call::call_context::{CallContext, Timing};
pub use crate::call::cancel::Cancel;
pub use crate::call::hedge::latencies::Latencies;
pub use crate::call::hedge::race_attempts::RaceAttempts;
pub use crate::call::hedge::{HedgedAttempt, Hedges};
pub use crate::call::last_failure::{LastFailure, NoFailure};
pub use crate::call::not_awaited::NotAwaited;
pub use crate::call::session::{Next, Session};
pub use crate::call::verdict::Verdict;
#[cfg(feature = "pattern")]
pub use crate::classify::pattern::Pattern;
#[cfg(feature = "macros")]
pub use crate::classify::registered::RETRY_CLASSIFIERS_0_1;
pub use crate::event::log_level::LogLevel;
pub use crate::outcome::error::IntoError;
pub use crate::outcome::hidden::{AnyOutcome, OutcomeOf};
pub use crate::outcome::interrupted::{AttemptError, Interrupted};
pub use crate::outcome::{Continue, Fallback, FallbackNow, Interruptible, Outcome, Plain};
pub use crate::protect::as_breaker::{AsBreaker, AsQuota, Kept, declared};
pub use crate::protect::breaker::CircuitBreaker;
pub use crate::site::Site;
#[cfg(feature = "sites")]
pub use crate::site::registry::RETRY_SITES_0_1;
#[cfg(feature = "testing")]
pub use crate::test_hooks::inject;

pub mod probe {
    pub use crate::classify::probe::*;
}

#[cfg(feature = "macros")]
pub mod registered {
    pub use crate::classify::registered::entry::*;
    pub use crate::classify::registered::fields::*;
}

pub mod runtime {
    pub use crate::call::runtime::policy_source::*;
    pub use crate::call::runtime::*;
}

pub mod interruption {
    pub use crate::outcome::interruption::*;
}

pub mod shape {
    pub use crate::outcome::shape::*;
}

pub use crate::__retry_for_tests as for_tests;
#[cfg(feature = "macros")]
pub use crate::__retry_linked as linked;
pub use crate::__retry_site as site;
#[cfg(all(feature = "macros", not(all(target_family = "wasm", target_os = "unknown"))))]
pub use linkme;
#[cfg(feature = "macros")]
pub use retry_macros::{policy, retrying};

// The steps of every function. Functions rather than methods: the compiler finds them at once,
// while it would look for a method, or a type's own function, again in each function of a program.

/// The policy that options change.
pub const POLICY: Policy = Policy::new();

/// The value of an option.
pub const fn time(secs: u64, nanos: u32) -> Duration {
    Duration::new(secs, nanos)
}

/// The site of a function.
#[track_caller]
pub const fn site(name: &'static str, policy: Option<Policy>) -> Site {
    Site::new(name, policy)
}

/// A call that keeps no failure.
#[inline(always)]
pub const fn session() -> Session {
    Session::new()
}

/// A call without protection and time limits has failed.
#[cold]
#[inline(never)]
pub fn failed(session: &mut Session, site: &'static Site, verdict: Verdict<'_>) -> Next {
    session.failed(CallContext::of(site), None, verdict)
}

/// A call has succeeded.
#[inline(always)]
pub fn succeeded<K>(session: Session<K>, site: &'static Site) {
    session.succeeded(site, None);
}

/// A call has ended without success.
#[inline(always)]
pub fn close<K: Default>(session: Session<K>) -> K {
    session.close()
}

/// A call sleeps for the wait that has been decided.
#[inline(always)]
pub fn wait<K, T>(session: &mut Session<K, T>) -> Wait<'_, K> {
    session.wait()
}

/// The verdict on an error, without its class.
#[inline]
pub fn verdict_of(probed: probe::Probed<'_>, retry: bool) -> Verdict<'_> {
    let hint = probed.classifier.stated_hint(Class::empty());
    Judgement { retry, failure: retry, hint, ..Judgement::VALUE }.on(probed.display)
}

/// The verdict on an error of this class, with the wait that a function has read from the error, if
/// it has. A text of the error may state a wait, unless the class is one that the program has stated.
#[inline]
pub fn verdict_on(
    probed: probe::Probed<'_>,
    class: Class,
    is_stated: bool,
    retry: bool,
    hint: Option<Hint>,
) -> Verdict<'_> {
    let read = if is_stated { Class::empty() } else { class };
    let hint = hint.or_else(|| probed.classifier.hint(read));
    Judgement { retry, failure: retry, hint, class, ..Judgement::VALUE }.on(probed.display)
}

/// Never called: it gives a block the type of its `return`.
pub fn never_return<T>() -> T {
    unreachable!("the `return` that gives the type is never reached")
}

/// Requires a closure that can be called while what it returned before still runs. The name is part
/// of the compiler's message about one that cannot.
pub fn may_run_twice_at_once<F: Fn() -> A, A: Future>(body: F) -> F {
    body
}

/// Requires the shared policy given as `policy = …` to be a `Policy`.
#[rustfmt::skip]
pub const fn shared(policy: Policy /* of a constant: otherwise, write `policy = runtime(HTTP)` */) -> Policy {
    policy
}

crate::base::sync::const_fn! {
    /// Creates an inline breaker. If its settings break a rule, an assertion next to it reports
    /// that, so this must not report it again.
    pub const fn breaker_in_place(name: &'static str, config: BreakerConfig) -> CircuitBreaker {
        match config.validate() {
            Ok(()) => CircuitBreaker::new(name, config),
            Err(_) => CircuitBreaker::new(name, BreakerConfig::new()),
        }
    }
}

/// Returns the message of the first of `rules` that is `broken`. The macro could not check these
/// itself.
pub const fn complaint(broken: Rules, rules: &[Rule]) -> Option<&'static str> {
    let mut i = 0;
    while i < rules.len() {
        if broken.contains(rules[i]) {
            return Some(rules[i].message());
        }
        i += 1;
    }
    None
}

/// Returns the complaint about a shared policy on a function that makes one attempt at a time.
pub const fn complaint_about_shared(policy: &Policy, is_async: bool) -> Option<&'static str> {
    if policy.get_timeout().is_some() && !is_async {
        return Some(
            "this policy has a `timeout`, which cuts off an attempt, and a function that is not \
             `async` cannot be cut off: make it an `async fn`, or use a policy without a timeout",
        );
    }
    match (policy.is_hedged(), is_async) {
        (false, _) => None,
        (true, true) => Some(
            "this policy has a `hedge`, which runs the body twice at once: write `hedge` beside \
             `policy` if the body allows that, or `hedge = unlimited` for none",
        ),
        (true, false) => Some(
            "this policy has a `hedge`, which runs the body twice at once, and a function that is \
             not `async` makes one attempt after another: make it an `async fn`, or use a policy \
             without a hedge",
        ),
    }
}

/// Makes const evaluation fail, with the error pointing at the caller.
#[track_caller]
pub const fn const_panic(message: &'static str) {
    panic!("{}", message);
}

/// The attempts after one that moves arguments.
pub struct NextAttempt;

/// Needs a `T` that an attempt before it may have moved, because that copies it, or borrows it
/// again.
#[diagnostic::on_unimplemented(
    message = "an attempt moves this `{T}`, and the next attempt needs it",
    label = "moved by the first attempt",
    note = "of a type that is `Clone`, name the argument in `clone(…)`, and each attempt gets a clone; a generic type \
            needs that bound",
    note = "for a future, take a function that creates one, such as `f: impl AsyncFn() -> T`, and call \
            it in the body; for another value that cannot be cloned, pass a reference (a request has \
            `try_clone()`), or create it in the body; for a sender, return the value, and send it after the call"
)]
pub trait Needs<T, Kind> {
    /// Requires that an attempt may move this value.
    fn check(_: &T) {}
}

/// Has a clone of a `T`.
#[diagnostic::on_unimplemented(
    message = "`clone(…)` gives each attempt a clone, and a `{T}` has none: it is not `Clone`",
    label = "this is a `{T}`",
    note = "a type of your own derives `Clone`, and a generic type needs it as a bound; of another one, take a \
            reference, and its `try_clone()` if it has one, or create the value in the body; of what a `&mut` \
            refers to, a clone is made in the body: `let items = &mut items.clone();`"
)]
pub trait HasClone<T, Kind> {
    /// Clones it.
    fn cloned(value: &T) -> T;
}

#[diagnostic::do_not_recommend]
impl<T: Clone> HasClone<T, ()> for NextAttempt {
    #[inline(always)]
    fn cloned(value: &T) -> T {
        value.clone()
    }
}

// With one implementation for all types, the compiler would propose a bound of `NextAttempt`.
#[diagnostic::do_not_recommend]
impl<T: Clone + Never> HasClone<T, Infallible> for NextAttempt {
    fn cloned(value: &T) -> T {
        value.clone()
    }
}

/// Needs `self`, or a part of it, which cannot be named in `clone(…)`.
#[diagnostic::on_unimplemented(
    message = "an attempt moves this `{T}`, and the next attempt needs it: take `&self`, and clone \
               what the body consumes",
    label = "moved by the first attempt"
)]
pub trait NeedsOfSelf<T, Kind> {
    /// Requires that an attempt may move this value.
    fn check(_: &T) {}
}

#[diagnostic::do_not_recommend]
impl<Next: Needs<T, Kind>, T, Kind> NeedsOfSelf<T, Kind> for Next {}

#[diagnostic::do_not_recommend]
impl<T: Copy> Needs<T, ()> for NextAttempt {}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> Needs<&mut T, Infallible> for NextAttempt {}

// With one implementation for all types, the compiler would propose a bound of `NextAttempt`.
#[diagnostic::do_not_recommend]
impl<T: Never> Needs<T, Option<Infallible>> for NextAttempt {}

/// Returns whether a predicate of a value holds. A function, so that the type of a closure's
/// argument is inferred.
pub fn is<T: ?Sized, P>(value: &T, predicate: P) -> bool
where
    P: FnOnce(&T) -> bool, // not async: `|value| *value == 0`, `Option::is_none`
{
    predicate(value)
}

/// Returns whether a predicate of an error holds.
pub fn is_error<E: ?Sized, P>(error: &E, predicate: P) -> bool
where
    // rustc quotes this line, with its comment, if a predicate is of another type.
    P: FnOnce(&E) -> bool, // not async; inside `anyhow::Error`: `|error| error.downcast_ref::<io::Error>().is_some_and(…)`
{
    predicate(error)
}

/// The wait that a server asked for. A function, so that the type of a closure's argument is
/// inferred.
pub fn hint<E: ?Sized, F>(error: &E, hint: F) -> Option<Hint>
where
    F: FnOnce(&E) -> Option<Duration>, // `Some(Duration::from_secs(5))`, or `None`
{
    hint(error).map(Hint::Wait)
}

/// The wait that follows the failure of attempt `attempt` in place of `due`. A function, so that the
/// types of a closure's arguments are inferred.
pub fn wait_by<E: ?Sized, F>(attempt: u32, error: &E, due: Duration, wait_by: F) -> OwnWait
where
    F: FnOnce(u32, &E, Duration) -> ControlFlow<(), Duration>, // `|attempt, error, wait| ControlFlow::Continue(wait)`
{
    Some(wait_by(attempt, error, due))
}

/// Returns the class that a user's function gives to an error. A function, so that the type of a
/// closure's argument is inferred.
pub fn kind_of<E: ?Sized, F>(error: &E, classify: F) -> Option<Class>
where
    F: FnOnce(&E) -> Option<Class>, // `Some(Class::CONFLICT)`; `None` if the error itself says it
{
    classify(error).map(Class::completed)
}

/// Calls the function's own listener.
pub fn call_on_retry<E, R: Nothing>(
    event: &RetryEvent<'_, E>,
    on_retry: impl FnOnce(&RetryEvent<'_, E>) -> R, // `|event| eprintln!("{event}")`
) {
    on_retry(event);
}

/// A function that a fallback names. A closure needs [`call_fallback`], from which the compiler infers
/// its argument.
#[diagnostic::on_unimplemented(
    message = "a fallback is called with the `RetryError` of the call alone, and a closure sees the \
               arguments, as in `fallback(|_| f(id))`, or `fallback(|error| f(id, error))`",
    label = "this is not a function of the `RetryError` alone",
    note = "`error.into_error()` is the last error itself, as in `fallback(|error| \
            f(error.into_error()))`"
)]
pub trait FallbackFunction<E, Kind> {
    /// The value that it returns.
    type Returned;

    /// Calls it.
    fn call(self, error: RetryError<E>) -> Self::Returned;
}

#[diagnostic::do_not_recommend]
impl<E, X, F: FnOnce(RetryError<E>) -> X> FallbackFunction<E, ()> for F {
    type Returned = X;

    fn call(self, error: RetryError<E>) -> X {
        self(error)
    }
}

#[diagnostic::do_not_recommend]
impl<E, F: Never> FallbackFunction<E, Infallible> for F {
    type Returned = ();

    fn call(self, _: RetryError<E>) {}
}

/// Calls the fallback. A function, so that the type of a closure's argument is inferred.
pub fn call_fallback<E, X, F>(error: RetryError<E>, fallback: F) -> X
where
    F: FnOnce(RetryError<E>) -> X, // for a value, `|_| value`
{
    fallback(error)
}

/// Makes an error `F`, which the caller gets, of the `RetryError<E>` of a call.
#[diagnostic::on_unimplemented(
    message = "`map_error` takes a function of a `RetryError<{E}>` that returns `{F}`",
    label = "takes or returns something else",
    note = "if the body fails with another error, write a closure that names it: `map_error = |error: \
            RetryError<std::io::Error>| …`; in it, `error.into_error()` is that error itself"
)]
pub trait MapsError<E, F, Kind> {
    /// The function. Unknown if it does not fit, so that its use is not reported as well.
    type Map: FnOnce(RetryError<E>) -> F;

    /// Returns the function itself.
    fn error_map(self) -> Self::Map;

    /// Requires that the function fits.
    fn check(_: &Self) {}
}

#[diagnostic::do_not_recommend]
impl<E, F, M: FnOnce(RetryError<E>) -> F> MapsError<E, F, ()> for M {
    type Map = M;

    fn error_map(self) -> M {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<E, F, M: FnOnce(RetryError<E>) -> F + Never> MapsError<E, F, Infallible> for M {
    type Map = M;

    fn error_map(self) -> M {
        self
    }
}

/// Maps the last error for the caller. A function, so that the type of a closure's
/// argument is inferred.
///
/// # Errors
/// The error that `map` returns.
pub fn map_error<T, E, F>(
    result: Result<T, RetryError<E>>,
    map: impl FnOnce(RetryError<E>) -> F, // `|error: RetryError<std::io::Error>| AppError::from(error)`
) -> Result<T, F> {
    result.map_err(map)
}
