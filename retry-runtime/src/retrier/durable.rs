//! The decisions about a call that another program stores and repeats.

use core::fmt::Display;
use core::mem;
use core::time::Duration;

use crate::base::full_text::{full_text, text_without_bodies};
use crate::base::sealed::{Seal, Sealed};
use crate::call::call_context::CallContext;
use crate::call::session::{Next, Session};
use crate::classify::fault::Fault;
use crate::classify::probe::{self, Classifier};
use crate::classify::{Class, Classify};
use crate::outcome::ended::Reason;
use crate::outcome::interrupted::Interrupted;
use crate::protect::breaker::Permit;
use crate::retrier::Retrier;
use crate::retrier::decider::{Classified, Decider, FailedAttempt, ForError, Opaque, Readable};

pub use crate::call::call_state::CallState;

/// The decision after a failure.
///
/// A call continues or is over, so no variant will be added: match it exhaustively.
///
/// ```
/// use retry_runtime::durable::{CallState, Decision, Failed};
/// use retry_runtime::{Policy, Retrier};
/// use std::time::Duration;
///
/// let retrier = Retrier::new(Policy::new());
/// let decision = retrier.decide(&mut CallState::default(), &Failed::now(&"busy"));
/// assert_eq!(decision, Decision::Wait(Duration::from_secs(1)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Wait this long, then try again.
    Wait(Duration),
    /// The call is over.
    GiveUp(Reason),
}

/// An attempt that failed.
///
/// ```
/// use retry_runtime::durable::{CallState, Decision, Failed};
/// use retry_runtime::{Policy, Reason, Retrier};
/// use std::time::Duration;
///
/// // The budget ends by the clock, too: this call was not continued for an hour.
/// let retrier = Retrier::new(Policy::new().budget(Duration::from_secs(60)));
/// let failed = Failed::after(Duration::from_secs(3_600), &"busy");
/// let decision = retrier.decide(&mut CallState::default(), &failed);
/// assert_eq!(decision, Decision::GiveUp(Reason::Budget));
/// ```
#[derive(Debug)]
pub struct Failed<'a, E> {
    error: Result<&'a E, &'a Interrupted>,
    since_first: Duration,
    postponable: Option<Duration>,
}

impl<'a, E> Failed<'a, E> {
    /// Creates the first failure of its call.
    pub fn now(error: &'a E) -> Self {
        Self::after(Duration::ZERO, error)
    }

    /// Creates a failure that came `since_first` after the first one of its call. The budget is
    /// also checked against that time, for a call that was not continued. `max_elapsed` counts from
    /// the first failure.
    pub fn after(since_first: Duration, error: &'a E) -> Self {
        Self { error: Ok(error), since_first, postponable: None }
    }

    /// Creates the failure of an attempt that timed out.
    ///
    /// ```
    /// use retry_runtime::durable::{CallState, Decision, Failed};
    /// use retry_runtime::{Interrupted, Policy, Reason, Retrier};
    /// use std::time::Duration;
    ///
    /// let timed_out = Interrupted::timeout(Duration::from_secs(2));
    /// let failed = Failed::<std::io::Error>::timed_out(Duration::ZERO, &timed_out);
    /// let retrier = Retrier::new(Policy::new().attempts(1));
    /// let decision = retrier.decide(&mut CallState::default(), &failed);
    /// assert_eq!(decision, Decision::GiveUp(Reason::Attempts));
    /// ```
    pub fn timed_out(since_first: Duration, interrupted: &'a Interrupted) -> Self {
        Self { error: Err(interrupted), since_first, postponable: None }
    }

    retry_rules::accessors! {
        /// Makes a failure that is retried use up neither an attempt nor the budget and
        /// `max_elapsed`, unless its wait is longer than `longest`. [`CallState::uncounted`] counts
        /// it, and [`CallState::waited`] leaves its wait out. Leave both the attempt and the wait out
        /// of the `since_first` of later failures.
        ///
        /// ```
        /// use retry_runtime::durable::{CallState, Decision, Failed};
        /// use retry_runtime::{Policy, Reason, Retrier};
        /// use std::time::Duration;
        ///
        /// let retrier = Retrier::new(Policy::new().attempts(1));
        /// let mut state = CallState::default();
        /// let failed = || Failed::now(&"busy").postponable(Duration::from_secs(1));
        /// let decision = retrier.decide(&mut state, &failed());
        /// assert_eq!((decision, state.uncounted), (Decision::Wait(Duration::from_secs(1)), 1));
        /// // The second wait is of 2 s.
        /// assert_eq!(retrier.decide(&mut state, &failed()), Decision::GiveUp(Reason::Attempts));
        /// ```
        #[must_use]
        pub fn postponable(self, longest: Duration) -> Self { postponable: Some(longest) }
    }
}

/// A wait that a server has asked all callers for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskedWait {
    /// The wait before the next attempt.
    pub wait: Duration,
    /// Set if the failure is a rate limit, which is neither a failure nor a success of a breaker
    /// that holds calls for it. Otherwise it is a server error, which counts.
    pub is_rate_limit: bool,
}

impl AskedWait {
    /// Reports it to the breaker that admitted the attempt. Returns the permit if the outcome
    /// remains to be reported: the breaker does not hold calls, or the failure counts.
    pub fn report<'b>(&self, permit: Permit<'b>) -> Option<Permit<'b>> {
        if !permit.may_hold() {
            return Some(permit);
        }
        if self.is_rate_limit {
            permit.rate_limited(self.wait);
            return None;
        }
        permit.hold(self.wait);
        Some(permit)
    }
}

impl<D, V> Retrier<D, V> {
    /// Decides what to do after a failure of a call that is stored elsewhere, and updates its
    /// `state`. Reports the same events as [`run`](Self::run), and calls the closures of the retrier:
    /// those that set the wait, and those that listen to retries. Unless a closure states the class of
    /// the error, it is always read, and with it the wait that only a text states. A server may ask for
    /// any wait, unless the policy has a `max_retry_after`.
    ///
    /// ```
    /// use retry_runtime::durable::{CallState, Decision, Failed};
    /// use retry_runtime::{Policy, Reason, Retrier};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(1));
    /// let mut state = CallState::default();
    /// let decision = retrier.decide(&mut state, &Failed::now(&"busy"));
    /// assert_eq!(decision, Decision::GiveUp(Reason::Attempts));
    /// ```
    pub fn decide<E, Kind>(&self, state: &mut CallState, failed: &Failed<'_, E>) -> Decision
    where
        D: Decider<E, Kind>,
    {
        let attempt = failed.error.map_or_else(FailedAttempt::Interrupted, FailedAttempt::Error);
        let rules = self.decider.rules();
        let wait_by = |number, due| rules.wait_by(&attempt, number, due, &mut ());
        let settings = &self.common.settings;
        settings.warn(rules, &attempt);
        // A store keeps the class of each failure.
        let verdict =
            rules.verdict(&settings.lists, Some(probe::read), &attempt, None).waiting_by(&wait_by);
        let context = settings.context();
        // The state does not keep failures: a store has a history of its own.
        let end = context.end.with_history(0);
        let Failed { since_first, postponable, .. } = *failed;
        let context = CallContext { since_first, is_stored: true, postponable, end, ..context };

        let mut session = Session::<()>::new().resumed(*state);
        match session.failed(context, None, verdict) {
            Next::Wait => {
                rules.on_retry(&session.event(&context, failed.error));
                let before = mem::replace(state, session.state());
                if postponable.is_some() && state.uncounted > before.uncounted {
                    state.waited = before.waited;
                }
                Decision::Wait(state.last_delay.unwrap_or_default())
            }
            Next::GiveUp(ended) => {
                state.attempts = ended.attempts;
                Decision::GiveUp(ended.reason)
            }
        }
    }

    /// Returns the wait for which a breaker is to hold all calls after this failure, if its server
    /// has asked for one: see [`BreakerConfig::hold`](crate::BreakerConfig::hold). The error is
    /// read once more for it.
    ///
    /// ```
    /// use retry_runtime::durable::AskedWait;
    /// use retry_runtime::{Policy, Retrier};
    /// use std::time::Duration;
    ///
    /// let wait = Duration::from_secs(30);
    /// let retrier = Retrier::new(Policy::new()).retry_after(move |_: &&str| Some(wait));
    /// let asked = retrier.asked_wait(&"429 Too Many Requests");
    /// assert_eq!(asked, Some(AskedWait { wait, is_rate_limit: true }));
    /// ```
    pub fn asked_wait<E, Kind>(&self, error: &E) -> Option<AskedWait>
    where
        D: Decider<E, Kind>,
    {
        let judgement = self.decider.rules().unlisted_judgement(error);
        let wait = judgement.held_wait()?;
        Some(AskedWait { wait, is_rate_limit: judgement.is_rate_limit() })
    }

    /// Reports that a call that is stored elsewhere has succeeded.
    ///
    /// ```
    /// use retry_runtime::durable::{CallState, Decision, Failed};
    /// use retry_runtime::{Policy, Retrier};
    ///
    /// let retrier = Retrier::new(Policy::new());
    /// let mut state = CallState::default();
    /// let decision = retrier.decide(&mut state, &Failed::now(&"busy"));
    /// assert!(matches!(decision, Decision::Wait(_)));
    ///
    /// // After the wait, the second attempt succeeded.
    /// retrier.succeeded_after(state);
    /// ```
    pub fn succeeded_after(&self, state: CallState) {
        Session::<()>::new().resumed(state).succeeded(self.common.settings.origin(), None);
    }
}

/// The class and the texts of an error, to be kept in a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The kind of failure.
    pub class: Class,
    /// The text of the error, and of each error inside it; the outermost first.
    pub texts: Vec<String>,
    /// The same texts without the bodies of responses, which differ between similar failures.
    pub texts_without_bodies: Vec<String>,
}

impl Description {
    /// Describes an error and those inside it.
    ///
    /// ```
    /// use retry_runtime::Class;
    /// use retry_runtime::durable::Description;
    ///
    /// let description = Description::of(&std::io::Error::from(std::io::ErrorKind::TimedOut));
    /// assert_eq!(description.class, Class::TIMEOUT);
    /// assert_eq!(description.texts, ["timed out"]);
    /// ```
    pub fn of<Kind>(error: &impl Fault<Kind>) -> Self {
        let view = error.view(Seal);
        let (mut texts, mut texts_without_bodies) = (Vec::new(), Vec::new());
        view.any_link(&mut |link| {
            texts.push(full_text(link));
            texts_without_bodies.push(text_without_bodies(link));
            false
        });
        Self { class: view.class(), texts, texts_without_bodies }
    }
}

/// Describes errors of type `E` for a history. `Kind` is inferred.
///
/// Sealed: [`Readable`], [`Classified`], [`Opaque`] and [`ForError`] implement it.
#[diagnostic::on_unimplemented(
    message = "errors of type `{E}` cannot be described in a history",
    note = "implement `std::error::Error` for `{E}`, so that its text and its causes can be read",
    note = "or add `.opaque()` if it has nothing but a text"
)]
pub trait Describes<E, Kind>: Sealed {
    /// Describes an error.
    #[doc(hidden)]
    fn describe(&self, error: &E) -> Description;
}

impl<E: Fault<Kind>, Kind> Describes<E, Kind> for Readable {
    fn describe(&self, error: &E) -> Description {
        Description::of(error)
    }
}

impl<E: Classify + Fault<Kind>, Kind> Describes<E, Kind> for Classified {
    fn describe(&self, error: &E) -> Description {
        Description { class: Classifier::Own(error).class(), ..Description::of(error) }
    }
}

impl<E: Display> Describes<E, ()> for Opaque {
    fn describe(&self, error: &E) -> Description {
        let texts = vec![error.to_string()];
        Description { class: Class::empty(), texts_without_bodies: texts.clone(), texts }
    }
}

impl<E: Fault<Kind>, Kind> Describes<E, Kind> for ForError<E> {
    fn describe(&self, error: &E) -> Description {
        Description { class: self.0.class_of(error), ..Description::of(error) }
    }
}

impl<D, V> Retrier<D, V> {
    /// Describes an error for a history: its class is what this retrier makes of it.
    ///
    /// ```
    /// use retry_runtime::{Class, Policy, Retrier};
    ///
    /// let retrier = Retrier::new(Policy::new());
    /// let description = retrier.describe(&"connection reset");
    /// assert_eq!(description.class, Class::NETWORK);
    /// assert_eq!(retrier.opaque().describe(&503_u16).texts, ["503"]);
    /// ```
    pub fn describe<E, Kind>(&self, error: &E) -> Description
    where
        D: Describes<E, Kind>,
    {
        self.decider.describe(error)
    }
}
