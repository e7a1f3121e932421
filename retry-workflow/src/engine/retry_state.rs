//! [`RetryState`]: a call of an item that has failed and is tried again, as it waits in
//! the store. Who decides is the runtime's session.

use std::fmt::Display;
use std::sync::Arc;
use std::time::Duration;

use retry_runtime::durable::{Decider, Decision, Failed, Progress};
use retry_runtime::{Interrupted, Policy, Reason, Retrier};
use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::item::failure::Failure;

/// What lies behind a call that waits in the store.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RetryState {
    call: Progress,
    first_failed: Timestamp,
    /// Who has decided on the last wait.
    worker: Arc<str>,
    /// What went wrong last.
    pub failure: Failure,
}

/// What comes after a failure.
pub enum NextStep {
    Wait(Duration, RetryState),
    GiveUp(Reason),
}

/// What failed: an error, or an attempt that was cut off.
pub type Error<'a, E> = Result<&'a E, Interrupted>;

impl RetryState {
    /// Asks the policy what comes after a failure.
    pub fn decide<M, E, Kind>(
        kept: Option<Self>,
        retrier: &Retrier<M>,
        worker: &Arc<str>,
        error: Error<'_, E>,
        failure: &Failure,
    ) -> NextStep
    where
        M: Decider<E, Kind>,
        E: Display,
    {
        let now = Timestamp::now();
        let first_failed = kept.as_ref().map_or(now, |kept| kept.first_failed);
        let mut call = kept.map(|kept| kept.call).unwrap_or_default();
        let since_first = now.since(first_failed);
        let failed = match error {
            Ok(error) => Failed::after(since_first, error),
            Err(interrupted) => Failed::cut(since_first, interrupted),
        };
        match retrier.decide(&mut call, &failed) {
            Decision::Wait(wait) => NextStep::Wait(
                wait,
                Self { call, first_failed, worker: Arc::clone(worker), failure: failure.clone() },
            ),
            Decision::GiveUp(reason) => NextStep::GiveUp(reason),
        }
    }

    /// Whether the budget has ended while nobody went on with the call: it ends by the
    /// clock for what another process has left. A worker that has decided on a wait
    /// itself makes the attempt, though a queue may have made it late.
    pub fn is_expired(&self, policy: &Policy, worker: &str) -> bool {
        *self.worker != *worker
            && policy
                .get_budget()
                .is_some_and(|budget| Timestamp::now() > self.first_failed + budget)
    }

    /// The call has succeeded after all.
    pub fn succeeded<M>(&self, retrier: &Retrier<M>) {
        retrier.succeeded_after(self.call);
    }

    /// Attempts that have failed.
    pub fn attempts(&self) -> u32 {
        self.call.attempts
    }
}
