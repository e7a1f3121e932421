//! [`RetryState`]: a call that has failed and will be retried, as it waits in the store. The
//! runtime's session decides.

use std::time::Duration;

use retry_runtime::durable::{CallState, Decision, Failed};
use retry_runtime::retrier::Decider;
use retry_runtime::{Interrupted, Policy, Reason, Retrier};
use serde::{Deserialize, Serialize};

use crate::engine::work::{SHORTEST_POSTPONEMENT, WorkOutcome, postponement};
use crate::item::clock::Timestamp;
use crate::item::failure::Failure;

/// Retries with a policy across processes: the state of a failed call until its next attempt.
/// Keep it in the checkpoint of a [`Work`](crate::Work). The checkpoint is of this run if
/// [`WorkItem::is_continued`](crate::work::WorkItem::is_continued) is set.
///
/// ```
/// use std::io::{Error, ErrorKind};
///
/// use retry_workflow::matchers::network;
/// use retry_workflow::store::NewItem;
/// use retry_workflow::work::{AttemptReport, AttemptTimer, RetryState, WorkItem};
/// use retry_workflow::{Failure, JobRunner, Policy, Retrier, Work};
///
/// struct Ping {
///     retrier: Retrier,
/// }
///
/// impl Work for Ping {
///     async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
///         let timer = AttemptTimer::start();
///         let state = item.checkpoint.filter(|_| item.is_continued);
///         let state = state.and_then(|state| serde_json::from_str(&state).ok());
///         let Err(error) = ping(item.payload).await else {
///             return AttemptReport::succeeded(timer, None);
///         };
///         let failure = Failure::from_error(&error);
///         let worker = item.context.worker();
///         let next = RetryState::decide(state, &self.retrier, worker, Ok(&error), &failure, None);
///         AttemptReport::new(next.into_outcome(failure.clone())).record(timer.failed(failure))
///     }
/// }
///
/// # async fn ping(_: &str) -> Result<(), Error> { Err(ErrorKind::ConnectionRefused.into()) }
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let retrier = Retrier::new(Policy::new().attempts(4)).retry_on([network]);
/// let hosts = vec![NewItem::new("db", "\"db.internal\"")];
/// let report = JobRunner::new("ping").run(hosts.into_iter(), Ping { retrier }).await?;
/// assert_eq!((report.dead(), report.counts.attempts), (1, 4));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RetryState {
    call: CallState,
    /// The first failure that counts.
    first_failed: Option<Timestamp>,
    /// The end of the last postponement, if no attempt has begun since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    postponed_until: Option<Timestamp>,
    /// The worker that decided on the last wait.
    worker: String,
    /// The last failure.
    pub(crate) failure: Failure,
}

/// The step after a failure.
///
/// Another attempt follows, counted or not, or none does, so no variant will be added.
#[derive(Clone, Debug)]
pub enum NextStep {
    /// Another attempt.
    Retry {
        /// The wait before it.
        wait: Duration,
        /// The state for the next attempt.
        state: Box<RetryState>,
    },
    /// Another attempt, after a failure that uses up none.
    Postpone {
        /// The wait before it, of at least 1 s.
        wait: Duration,
        /// The state for the next attempt, once [`RetryState::postpone`] has left this one out.
        state: Box<RetryState>,
    },
    /// No further attempt, for this reason.
    GiveUp(Reason),
}

impl NextStep {
    /// Turns it into the outcome of the failed attempt.
    pub fn into_outcome(self, failure: Failure) -> WorkOutcome {
        let (wait, state, is_counted) = match self {
            Self::GiveUp(reason) => return WorkOutcome::Failed { failure, reason },
            Self::Retry { wait, state } => (wait, state, true),
            Self::Postpone { wait, state } => (wait, state, false),
        };
        match serde_json::to_string(&state) {
            Ok(checkpoint) if is_counted => WorkOutcome::Retry { wait, checkpoint },
            Ok(checkpoint) => WorkOutcome::Uncounted { wait, checkpoint: Some(checkpoint) },
            Err(_) => WorkOutcome::Failed { failure, reason: Reason::NotRetryable },
        }
    }
}

impl RetryState {
    /// Decides what follows a failure: an error, or an attempt that was cut off. `state` is the
    /// state of the previous attempt, `None` after the first one; `worker` makes this attempt.
    ///
    /// `postponable` is `None` if the failure counts. Otherwise it uses up no attempt if it is
    /// retried after a wait of at most this time, such as what is left of a `max_postponed`.
    pub fn decide<M, E, Kind>(
        state: Option<Self>,
        retrier: &Retrier<M>,
        worker: &str,
        error: Result<&E, &Interrupted>,
        failure: &Failure,
        postponable: Option<Duration>,
    ) -> NextStep
    where
        M: Decider<E, Kind>,
    {
        let now = Timestamp::now();
        let first_failed = state.as_ref().and_then(|state| state.first_failed);
        let before = state.map(|state| state.call).unwrap_or_default();
        let since_first = first_failed.map_or(Duration::ZERO, |first| now.since(first));
        let postponable = postponable.filter(|longest| *longest >= SHORTEST_POSTPONEMENT);
        let mut failed = match error {
            Ok(error) => Failed::after(since_first, error),
            Err(interrupted) => Failed::timed_out(since_first, interrupted),
        };
        if let Some(longest) = postponable {
            failed = failed.postponable(longest);
        }
        let mut call = before;
        match retrier.decide(&mut call, &failed) {
            Decision::Wait(wait) => {
                let is_counted = postponable.is_none() || call.uncounted == before.uncounted;
                let first_failed = first_failed.or(is_counted.then_some(now));
                let (worker, failure) = (worker.to_owned(), failure.clone().without_output());
                let state = Self { call, first_failed, postponed_until: None, worker, failure };
                let state = Box::new(state);
                if is_counted {
                    return NextStep::Retry { wait, state };
                }
                NextStep::Postpone { wait: postponement(wait), state }
            }
            Decision::GiveUp(reason) => NextStep::GiveUp(reason),
        }
    }

    /// Returns what has run out while no process continued the call, the budget or `max_elapsed`:
    /// for a call that another process left behind, both are measured by the clock. A worker that
    /// decided on the wait itself makes the attempt, even if a queue delayed it.
    pub fn expired_by(&self, policy: &Policy, worker: &str) -> Option<Reason> {
        if *self.worker == *worker {
            return None;
        }
        let elapsed = Timestamp::now().since(self.first_failed?);
        let is_over = |limit: Option<Duration>| limit.is_some_and(|limit| elapsed > limit);
        if is_over(policy.get_budget()) {
            Some(Reason::Budget)
        } else {
            is_over(policy.get_max_elapsed()).then_some(Reason::MaxElapsed)
        }
    }

    /// Leaves out an attempt that took this time, and the wait after it, because the call is
    /// postponed: neither the budget nor `max_elapsed` counts them.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use retry_workflow::work::{NextStep, RetryState};
    /// use retry_workflow::{Failure, Policy, Retrier};
    ///
    /// let retrier = Retrier::new(Policy::new().max_elapsed(Duration::from_secs(60)));
    /// let failure = Failure::new("other", "busy");
    /// let next = RetryState::decide(None, &retrier, "worker-1", Ok(&"busy"), &failure, None);
    /// let NextStep::Retry { mut state, .. } = next else { panic!("{next:?}") };
    /// // The resource is not ready, and the call comes back in an hour.
    /// state.postpone(Duration::from_millis(20), Duration::from_secs(3600));
    /// ```
    pub fn postpone(&mut self, took: Duration, wait: Duration) {
        self.first_failed = self.first_failed.map(|first| first + took + wait);
        self.postponed_until = Some(Timestamp::now() + wait);
    }

    /// Begins an attempt: of a [postponement](Self::postpone) that was cut short, as by
    /// [`Job::make_due`](crate::Job::make_due), only the time that has passed is left out.
    pub fn resume(&mut self) {
        if let Some(until) = self.postponed_until.take() {
            let rest = until.since(Timestamp::now());
            self.first_failed = self.first_failed.map(|first| first - rest);
        }
    }

    /// Reports to the retrier that the call has succeeded after its retries.
    pub fn succeeded<M>(&self, retrier: &Retrier<M>) {
        retrier.succeeded_after(self.call);
    }

    retry_rules::accessors! {
        /// Returns how many attempts have failed.
        pub fn attempts(&self) -> u32 { call.attempts }

        /// Returns what went wrong last.
        pub fn failure(&self) -> &Failure { &failure }
    }
}
