//! [`BreakerRecord`]: the breaker of a job, as the store keeps it for the next process.

use std::time::Duration;

use retry_runtime::State;
use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::store::{Store, StoreError};

/// The circuit breaker of a job, as its workers last stored it.
///
/// A job has one once the `circuit_breaker` of its [`ErrorPolicy`](crate::ErrorPolicy) has
/// counted a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct BreakerRecord {
    /// Its state.
    #[serde(with = "StateName")]
    pub state: State,
    /// Failures in a row, while it is closed.
    pub consecutive_failures: u32,
    /// Until when it rejects everything; `None` if it is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open_until: Option<Timestamp>,
    /// Until when it holds all items, because a server has asked one of them to wait; `None` if it
    /// does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_until: Option<Timestamp>,
}

/// The states, as stores write them.
#[derive(Serialize, Deserialize)]
#[serde(remote = "State", rename_all = "snake_case")]
enum StateName {
    Closed,
    Open,
    HalfOpen,
}

impl BreakerRecord {
    /// Finds the breaker of the job with this id.
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn find(store: &dyn Store, job: &str) -> Result<Option<Self>, StoreError> {
        Ok(store.json(&Self::key(job)).await?.1)
    }

    pub(crate) fn key(job: &str) -> String {
        format!("breaker/{job}")
    }

    /// Returns the record as of `now`, without a hold that has ended.
    pub(crate) fn at(self, now: Timestamp) -> Self {
        Self { held_until: self.held_until.filter(|until| *until > now), ..self }
    }

    /// Returns whether both are the same, give or take how exactly the ends of an open time and a
    /// hold are measured.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let are_alike = |ends: (Option<Timestamp>, Option<Timestamp>)| match ends {
            (Some(one), Some(other)) => {
                one.since(other).max(other.since(one)) < Duration::from_millis(100)
            }
            (one, other) => one.is_some() == other.is_some(),
        };
        self.state == other.state
            && self.consecutive_failures == other.consecutive_failures
            && are_alike((self.open_until, other.open_until))
            && are_alike((self.held_until, other.held_until))
    }
}
