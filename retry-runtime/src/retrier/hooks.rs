//! The closures that are added to matchers: those that belong to a retrier, which are `Fn` and
//! shared, and those of one call, which may be `FnMut`.

use core::cell::RefCell;
use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use crate::event::retry_event::RetryEvent;
use crate::retrier::decision::{FailedAttempt, MatchOutcome};

/// What a closure adds to matchers.
pub trait Hook<E> {
    /// Adjusts the decision of the matchers.
    fn refine(&self, _: &FailedAttempt<'_, E>, _: &mut MatchOutcome) {}

    /// Receives a failure that will be retried.
    fn on_retry(&self, _: &RetryEvent<'_, E>) {}
}

/// Declares a hook: a struct that holds a closure.
macro_rules! hook {
    ($(#[$docs:meta])* $Hook:ident($Kept:ident)) => {
        $(#[$docs])*
        pub struct $Hook<F>(pub(super) $Kept<F>);

        impl<F> fmt::Debug for $Hook<F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($Hook))
            }
        }
    };
}

/// Declares a hook of a retrier, which is cheap to clone, whatever the closure captures.
macro_rules! shared_hook {
    ($(#[$docs:meta])* $Hook:ident) => {
        hook!($(#[$docs])* $Hook(Arc));

        impl<F> Clone for $Hook<F> {
            fn clone(&self) -> Self {
                Self(Arc::clone(&self.0))
            }
        }
    };
}

shared_hook!(
    /// A predicate that picks failures to retry: [`Retrier::when`](crate::Retrier::when).
    When
);
shared_hook!(
    /// A closure that knows the wait that a server asked for:
    /// [`Retrier::retry_after`](crate::Retrier::retry_after).
    RetryAfter
);
shared_hook!(
    /// A closure that is called for each retry: [`Retrier::on_retry`](crate::Retrier::on_retry).
    OnRetry
);
hook!(
    /// The predicate of one call: [`Run::when`](super::Run::when).
    CallWhen(RefCell)
);
hook!(
    /// The listener of one call: [`Run::on_retry`](super::Run::on_retry).
    CallOnRetry(RefCell)
);

/// Applies a predicate. An attempt that was cut off has no error to test, so the predicate does not
/// pick it, as in the attribute. Values are not tested.
fn refine_by<E>(
    failed: &FailedAttempt<'_, E>,
    outcome: &mut MatchOutcome,
    predicate: impl FnOnce(&E) -> bool,
) {
    match failed {
        FailedAttempt::Error(error) => outcome.or_matches(|| predicate(error)),
        FailedAttempt::Interrupted(_) => outcome.or_matches(|| false),
        FailedAttempt::Value(_) => {}
    }
}

impl<E, F: Fn(&E) -> bool> Hook<E> for When<F> {
    fn refine(&self, failed: &FailedAttempt<'_, E>, outcome: &mut MatchOutcome) {
        refine_by(failed, outcome, &*self.0);
    }
}

impl<E, F: FnMut(&E) -> bool> Hook<E> for CallWhen<F> {
    fn refine(&self, failed: &FailedAttempt<'_, E>, outcome: &mut MatchOutcome) {
        refine_by(failed, outcome, &mut *self.0.borrow_mut());
    }
}

impl<E, F: Fn(&E) -> Option<Duration>> Hook<E> for RetryAfter<F> {
    fn refine(&self, failed: &FailedAttempt<'_, E>, outcome: &mut MatchOutcome) {
        if let FailedAttempt::Error(error) = failed {
            outcome.hint = (self.0)(error).or(outcome.hint);
        }
    }
}

impl<E, F: Fn(&RetryEvent<'_, E>)> Hook<E> for OnRetry<F> {
    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        (self.0)(event);
    }
}

impl<E, F: FnMut(&RetryEvent<'_, E>)> Hook<E> for CallOnRetry<F> {
    fn on_retry(&self, event: &RetryEvent<'_, E>) {
        (self.0.borrow_mut())(event);
    }
}
