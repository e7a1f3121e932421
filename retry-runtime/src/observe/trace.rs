//! Events through `tracing`. The names of the fields are documented in a table and must not change.

use core::time::Duration;

use retry_rules::Attempts;

use crate::event::Event;
use crate::event::log_level::LogLevel;
use crate::event::transition::{State, Transition};
use crate::event::warning::Warning;

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Returns how many attempts the policy allows: a number or nothing, so that the field has the same
/// type in every event.
fn allowed(attempts: Attempts) -> Option<u32> {
    match attempts {
        Attempts::Limited(attempts) => Some(attempts),
        Attempts::Unlimited => None,
    }
}

/// Returns whether the program's level may let the event pass. That of a retry is the only frequent
/// one.
#[inline]
pub(crate) fn may_be_traced(event: &Event<'_>) -> bool {
    let level = match event {
        Event::Retry { level: LogLevel::Off, .. } => return false,
        Event::Retry { level: LogLevel::Debug, .. } => tracing::Level::DEBUG,
        _ => tracing::Level::ERROR,
    };
    tracing::level_filters::LevelFilter::current() >= level
}

/// Emits an event at a level that a function sets.
macro_rules! at_level {
    ($level:ident, $($fields:tt)*) => {
        match $level {
            LogLevel::Off => {}
            LogLevel::Debug => tracing::debug!(target: "retry", $($fields)*),
            LogLevel::Info => tracing::info!(target: "retry", $($fields)*),
            LogLevel::Warn => tracing::warn!(target: "retry", $($fields)*),
        }
    };
}

pub(crate) fn emit(event: &Event<'_>) {
    match *event {
        Event::Retry { name, attempt, attempts, wait, waited, level, error } => {
            at_level!(
                level,
                name = name.as_str(),
                attempt,
                attempts = allowed(attempts),
                wait_ms = millis(wait),
                waited_ms = millis(waited),
                %error,
                "attempt failed, will be retried"
            );
        }
        Event::GaveUp { name, reason, attempts, waited, level, error, .. } => {
            at_level!(
                level,
                name = name.as_str(),
                attempts,
                waited_ms = millis(waited),
                reason = reason.as_str(),
                %error,
                "gave up"
            );
        }
        Event::Recovered { name, attempt, waited } => {
            tracing::info!(target: "retry", name = name.as_str(), attempt, waited_ms = millis(waited), "recovered");
        }
        Event::Breaker(Transition { breaker, from, to, cause, error, observe_only }) => {
            let closes = *to == State::Closed;
            let observe_only = observe_only.then_some(true);
            let (from, to, cause) = (from.as_str(), to.as_str(), cause.as_str());
            // Closing again is good news.
            if closes {
                tracing::info!(target: "retry", breaker = breaker.as_str(), from, to, cause, observe_only, "circuit breaker changed state");
            } else {
                tracing::warn!(target: "retry", breaker = breaker.as_str(), from, to, cause, error = error.as_deref(), observe_only, "circuit breaker changed state");
            }
        }
        Event::Held { breaker, held, observe_only } => {
            let observe_only = observe_only.then_some(true);
            tracing::info!(target: "retry", breaker = breaker.as_str(), held_ms = millis(held), observe_only, "circuit breaker holds all calls");
        }
        Event::QuotaEmpty { quota } => {
            tracing::warn!(target: "retry", quota = quota.as_str(), "quota empty, failed calls are not retried");
        }
        Event::QuotaShareReached { quota } => {
            tracing::warn!(target: "retry", quota = quota.as_str(), "share of the calls reached, failed calls are not retried");
        }
        Event::Nested { name, retries, inner, inner_attempts } => {
            // With `nested = once`, each retry makes one inner attempt.
            if inner_attempts > retries {
                tracing::info!(
                    target: "retry",
                    name = name.as_str(),
                    retries,
                    inner = inner.as_str(),
                    inner_attempts,
                    "retries inside retries: `nested = once` makes each inner call a single \
                     attempt"
                );
            } else {
                tracing::debug!(target: "retry", name = name.as_str(), retries, inner = inner.as_str(), inner_attempts, "nested retries");
            }
        }
        Event::Policy { name, text, .. } => {
            tracing::info!(target: "retry", name = name.as_str(), policy = %text, "policy changed");
        }
        Event::Hedged { name, attempt, hedge, after } => {
            tracing::debug!(target: "retry", name = name.as_str(), attempt, hedge, after_ms = millis(after), "hedged");
        }
        Event::HedgeWon { name, attempt, hedge } => {
            tracing::debug!(target: "retry", name = name.as_str(), attempt, hedge, "hedge won");
        }
        Event::AwaitsBreaker { name, breaker, wait } => {
            tracing::debug!(target: "retry", name = name.as_str(), breaker, wait_ms = millis(wait), "waits for the circuit breaker");
        }
        Event::Warning(warning) => warn(warning),
    }
}

/// One event for all warnings, because each place that makes one adds to the size of a program.
fn warn(warning: Warning<'_>) {
    let (mut name, mut breaker) = (Some(warning.subject().as_str()), None);
    let (mut rule, mut lists, mut timeout, mut hedge, mut sleep) = (None, None, None, None, None);
    match warning {
        Warning::InvalidPolicy { invalid, .. } => rule = Some(tracing::field::display(invalid)),
        Warning::ManyDelayLists { lists: kept, .. } => lists = Some(kept),
        Warning::TimeoutNotObeyed { timeout: limit, .. } => timeout = Some(millis(limit)),
        Warning::HedgeNotObeyed { hedge: after, .. } => hedge = Some(millis(after)),
        Warning::UncountedNotObeyed { .. } => {}
        Warning::BlocksTasks { wait, .. } | Warning::CannotWait { wait, .. } => {
            sleep = Some(millis(wait));
        }
        Warning::BreakersFull { .. } => breaker = name.take(),
    }
    tracing::warn!(
        target: "retry", name, breaker, invalid = rule, lists, timeout_ms = timeout,
        hedge_ms = hedge, wait_ms = sleep, "{}", warning.message()
    );
}
