//! Events through the `metrics` facade, for dashboards.
//!
//! | name | kind | labels | |
//! | --- | --- | --- | --- |
//! | `retry_attempts_total` | counter | `name` | attempts of calls that failed at least once |
//! | `retry_retries_total` | counter | `name` | failed attempts that were followed by a wait |
//! | `retry_recoveries_total` | counter | `name` | calls that succeeded after having failed |
//! | `retry_give_ups_total` | counter | `name`, `reason` | calls that were given up |
//! | `retry_wait_seconds` | histogram | `name` | the waits |
//! | `retry_breaker_state` | gauge | `breaker`, and `key` for one of a family | 0 closed, 1 half-open, 2 open; from the first change on, and 0 once the breaker is dropped |
//! | `retry_breaker_transitions_total` | counter | `breaker`, `to`, and `key` | changes of its state, by the new state: `closed`, `half_open`, `open` |
//! | `retry_breaker_calls_total` | counter | `breaker`, `kind`, and `key` | calls by outcome: `failure`, `slow`, `forgiven`, `held`, `rejected`, or, for a breaker that only observes, `would_reject` |
//! | `retry_quota_tokens` | gauge | `quota` | tokens in the bucket; from the first retry on |
//!
//! The series of a breaker that only observes have the label `mode`, which is `observe`.
//!
//! A call that succeeds at its first attempt touches none of them. A counter exists from the first
//! failure of its function on, or from [`register`] on.
//!
//! A wait is recorded when it begins, with the length that was decided. To aggregate waits over
//! several processes, configure buckets for `retry_wait_seconds` in the exporter: without them,
//! some exporters produce quantiles instead.

use metrics::{
    Counter, Key, Label, Level, Metadata, Unit, describe_counter, describe_gauge,
    describe_histogram, gauge, with_recorder,
};

use crate::base::name::Name;
use crate::event::Event;
use crate::event::transition::{State, Transition};
use crate::outcome::ended::Reason;
use crate::site::labels::{of_name, of_reason, text};
#[cfg(feature = "sites")]
use crate::site::registry::sites;
use crate::site::{Origin, Site};

const ATTEMPTS: &str = "retry_attempts_total";
const RETRIES: &str = "retry_retries_total";
const RECOVERIES: &str = "retry_recoveries_total";
const GIVE_UPS: &str = "retry_give_ups_total";
const HEDGES: &str = "retry_hedges_total";
const HEDGE_WINS: &str = "retry_hedge_wins_total";
const WAIT: &str = "retry_wait_seconds";
const BREAKER: &str = "retry_breaker_state";
const TRANSITIONS: &str = "retry_breaker_transitions_total";
const BREAKER_CALLS: &str = "retry_breaker_calls_total";
const QUOTA: &str = "retry_quota_tokens";

/// Describes each metric to the recorder. Call it once, after the recorder is installed; without
/// it, the numbers are the same, but have no help texts.
///
/// ```
/// retry_runtime::metrics::describe();
/// ```
pub fn describe() {
    describe_counter!(ATTEMPTS, "Attempts of calls that failed at least once");
    describe_counter!(RETRIES, "Failed attempts that were followed by a wait");
    describe_counter!(RECOVERIES, "Calls that succeeded after having failed");
    describe_counter!(GIVE_UPS, "Calls that were given up, by reason");
    describe_counter!(HEDGES, "Attempts that joined one that had not answered");
    describe_counter!(HEDGE_WINS, "Hedges that were the first to succeed");
    describe_histogram!(WAIT, Unit::Seconds, "Waits between attempts");
    describe_gauge!(BREAKER, "State of a circuit breaker: 0 closed, 1 half-open, 2 open");
    describe_counter!(TRANSITIONS, "Changes of a circuit breaker's state, by the new one");
    describe_counter!(BREAKER_CALLS, "Calls to a circuit breaker that did not simply succeed");
    describe_gauge!(QUOTA, "Tokens in a retry quota");
}

/// Starts the counters of every function with `#[retry]` at zero. Call it once, after the
/// recorder is installed.
///
/// Without it, a counter first appears as 1, at its first failure. Prometheus and the like do not
/// see that as an increase, so an alert would miss the first failure. Each function gets five
/// counters and one for each [`Reason`].
///
/// ```
/// retry_runtime::metrics::register();
/// ```
#[cfg(feature = "sites")]
pub fn register() {
    for site in sites() {
        let origin = Origin::from(site);
        for name in [ATTEMPTS, RETRIES, RECOVERIES, HEDGES, HEDGE_WINS] {
            counter(name, origin, None).increment(0);
        }
        for &reason in Reason::ALL {
            counter(GIVE_UPS, origin, Some(reason)).increment(0);
        }
    }
}

fn key(name: &'static str, origin: Origin<'_>, reason: Option<Reason>) -> Key {
    match origin.site {
        Some(site) => {
            let length = if reason.is_some() { 2 } else { 1 };
            let place = reason.map_or(0, Reason::index);
            Key::from_static_parts(name, &site.labels()[place][..length])
        }
        None => {
            let mut labels = vec![of_name(text(origin.name))];
            labels.extend(reason.map(of_reason));
            Key::from_parts(name, labels)
        }
    }
}

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

fn counter(name: &'static str, origin: Origin<'_>, reason: Option<Reason>) -> Counter {
    let key = key(name, origin, reason);
    with_recorder(|recorder| recorder.register_counter(&key, &METADATA))
}

/// Counts an event of a call of `site`, or of a retrier, or of a breaker.
pub(crate) fn record(site: Option<&'static Site>, event: &Event<'_>) {
    let origin = Origin { name: event.subject(), site };
    let count = |name| counter(name, origin, None).increment(1);
    match *event {
        Event::Retry { wait, .. } => {
            count(ATTEMPTS);
            count(RETRIES);
            let key = key(WAIT, origin, None);
            with_recorder(|recorder| recorder.register_histogram(&key, &METADATA)).record(wait);
        }
        Event::Recovered { .. } => {
            count(ATTEMPTS);
            count(RECOVERIES);
        }
        Event::GaveUp { reason, rejected, .. } => {
            if !rejected {
                count(ATTEMPTS);
            }
            counter(GIVE_UPS, origin, Some(reason)).increment(1);
        }
        Event::Hedged { .. } => count(HEDGES),
        Event::HedgeWon { .. } => count(HEDGE_WINS),
        Event::Breaker(transition) => breaker_transition(transition),
        _ => {}
    }
}

fn breaker_transition(transition: &Transition) {
    let state = match transition.to {
        State::Closed => 0.0,
        State::HalfOpen => 1.0,
        State::Open => 2.0,
    };
    let Transition { breaker, observe_only, .. } = transition;
    breaker_state(breaker, *observe_only, state);
    // All three, starting at zero: Prometheus does not see a counter that starts at 1 as an
    // increase.
    for to in [State::Closed, State::HalfOpen, State::Open] {
        let to_label = Label::from_static_parts("to", to.as_str());
        let key = breaker_key(TRANSITIONS, breaker, *observe_only, Some(to_label));
        with_recorder(|recorder| recorder.register_counter(&key, &METADATA))
            .increment(u64::from(to == transition.to));
    }
}

pub(crate) fn breaker_state(breaker: &Name, observes: bool, state: f64) {
    let key = breaker_key(BREAKER, breaker, observes, None);
    with_recorder(|recorder| recorder.register_gauge(&key, &METADATA)).set(state);
}

/// The breaker of a family gets two labels, so that families can be summed.
fn breaker_key(metric: &'static str, breaker: &Name, observes: bool, more: Option<Label>) -> Key {
    let mut labels = match breaker.key() {
        Some(key) => vec![
            Label::new("breaker", breaker.family().to_owned()),
            Label::new("key", key.to_owned()),
        ],
        None => vec![Label::new("breaker", text(breaker))],
    };
    if observes {
        labels.push(Label::from_static_parts("mode", "observe"));
    }
    labels.extend(more);
    Key::from_parts(metric, labels)
}

pub(crate) fn breaker_call(breaker: &Name, observes: bool, kind: &'static str) {
    let kind = Label::from_static_parts("kind", kind);
    let key = breaker_key(BREAKER_CALLS, breaker, observes, Some(kind));
    with_recorder(|recorder| recorder.register_counter(&key, &METADATA)).increment(1);
}

pub(crate) fn quota_level(quota: &Name, tokens: u32) {
    gauge!(QUOTA, "quota" => text(quota)).set(f64::from(tokens));
}
