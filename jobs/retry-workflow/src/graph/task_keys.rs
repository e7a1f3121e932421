//! The policy of a task, and its keys in a file: retries, not attempts, and delays in seconds.

use std::time::Duration;

use retry_rules::file::{Draft, InvalidKeys, Seconds};
use retry_runtime::{Backoff, Field, Policy, Style};
use serde::Deserialize;

/// Retries after the first call.
pub(super) const MAX_RETRIES: u32 = 3;
/// The first wait.
pub(super) const RETRY_DELAY: Duration = Duration::from_secs(1);
/// The longest wait.
pub(super) const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);

/// Returns the policy for these settings, unchecked.
pub(super) fn policy(retries: u32, retry_delay: Duration, max_retry_delay: Duration) -> Policy {
    Policy::new()
        .attempts(retries.saturating_add(1))
        .backoff(if retry_delay.is_zero() { Backoff::Fixed } else { Backoff::DEFAULT })
        .initial_delay(retry_delay)
        .max_delay(max_retry_delay)
}

/// The keys of a task that set its policy, as written in a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskKeys {
    max_retries: Option<u32>,
    retry_delay: Option<Seconds>,
    max_retry_delay: Option<Seconds>,
}

impl TaskKeys {
    /// Returns the policy, checked against all rules.
    ///
    /// # Errors
    /// A rule is broken.
    pub fn policy(&self) -> Result<Policy, InvalidKeys> {
        let Self { max_retries, retry_delay, max_retry_delay } = *self;
        let mut draft = Draft::from_config(policy(
            max_retries.unwrap_or(MAX_RETRIES),
            retry_delay.map_or(RETRY_DELAY, |Seconds(delay)| delay),
            max_retry_delay.map_or(MAX_RETRY_DELAY, |Seconds(delay)| delay),
        ));
        for (is_written, field) in [
            (max_retries.is_some(), Field::Attempts),
            (retry_delay.is_some(), Field::InitialDelay),
            (max_retry_delay.is_some(), Field::MaxDelay),
        ] {
            if is_written {
                draft.write(field);
            }
        }
        draft.finish(Style::Task)
    }
}
