//! The task style: retries, not attempts, and delays in seconds.

use core::time::Duration;
use std::format;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::bound::BoundKey;
use super::draft::Draft;
use super::invalid_keys::InvalidKeys;
use super::map_only::{from_map, style};
use super::scalar::{Scalar, WrittenNumber};
use crate::policy::Policy;
use crate::policy::backoff::Backoff;
use crate::rules::field::Field;
use crate::rules::messages::Style;
use crate::{deserialize_scalar, duration};

/// A policy in the task style: `max_retries` (3), `retry_delay` (1.0 s) and
/// `max_retry_delay` (300 s), exponential with base 2, and `max_retry_after` (`1h`). Retries, not
/// attempts: 3 retries are 4 calls.
///
/// ```
/// use retry_rules::{Attempts, Policy};
/// use retry_rules::file::TaskStyle;
///
/// let style: TaskStyle = serde_json::from_str(r#"{ "retry_delay": 0.5 }"#).unwrap();
/// let policy = Policy::from(style);
/// assert_eq!(policy.get_attempts(), Attempts::Limited(4));
/// assert_eq!(policy.wait(2).as_secs(), 1);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TaskStyle(Policy);

style!(TaskStyle of TaskKeys, "a map of a policy's settings in the task style");

impl TaskStyle {
    /// Retries after the first call.
    pub const MAX_RETRIES: u32 = 3;
    /// The first wait.
    pub const RETRY_DELAY: Duration = Duration::from_secs(1);
    /// The longest wait.
    pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);

    /// Creates the policy for these settings, unchecked: use [`Policy::validate`].
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_rules::file::TaskStyle;
    ///
    /// let policy = TaskStyle::policy(5, Duration::from_secs(2), TaskStyle::MAX_RETRY_DELAY);
    /// assert_eq!(policy.wait(3).as_secs(), 8);
    /// ```
    pub const fn policy(
        max_retries: u32,
        retry_delay: Duration,
        max_retry_delay: Duration,
    ) -> Policy {
        Policy::new()
            .attempts(max_retries.saturating_add(1))
            .backoff(if retry_delay.is_zero() { Backoff::Fixed } else { Backoff::DEFAULT })
            .initial_delay(retry_delay)
            .max_delay(max_retry_delay)
    }
}

/// The keys of the task style as written in a file, parsed but not yet checked.
///
/// For readers that know where each key is: [`InvalidKeys`] says which one is wrong.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskKeys {
    #[serde(default, deserialize_with = "not_null")]
    max_retries: Option<u32>,
    #[serde(default, deserialize_with = "not_null")]
    retry_delay: Option<Seconds>,
    #[serde(default, deserialize_with = "not_null")]
    max_retry_delay: Option<Seconds>,
    #[serde(default, deserialize_with = "not_null")]
    max_retry_after: Option<BoundKey>,
}

/// Requires a key that is present to have a value.
fn not_null<'de, T, D>(deserializer: D) -> Result<Option<T>, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    T::deserialize(deserializer).map(Some)
}

impl TaskKeys {
    /// Returns the policy, checked against all rules.
    ///
    /// # Errors
    /// A rule is broken.
    pub fn policy(&self) -> Result<Policy, InvalidKeys> {
        let seconds = |key: Option<Seconds>, default| key.map_or(default, |Seconds(time)| time);
        let mut draft = Draft::from_policy(TaskStyle::policy(
            self.max_retries.unwrap_or(TaskStyle::MAX_RETRIES),
            seconds(self.retry_delay, TaskStyle::RETRY_DELAY),
            seconds(self.max_retry_delay, TaskStyle::MAX_RETRY_DELAY),
        ));
        for (there, field) in [
            (self.max_retries.is_some(), Field::Attempts),
            (self.retry_delay.is_some(), Field::InitialDelay),
            (self.max_retry_delay.is_some(), Field::MaxDelay),
        ] {
            if there {
                draft.write(field);
            }
        }
        if let Some(BoundKey(longest)) = self.max_retry_after {
            draft.write(Field::MaxRetryAfter).max_retry_after = longest;
        }
        draft.finish(Style::Task)
    }
}

/// Seconds as a number, such as `0.5`; a humantime string is accepted too.
#[derive(Clone, Copy, Debug)]
struct Seconds(Duration);

deserialize_scalar!(Seconds);

impl Scalar for Seconds {
    const EXPECTED: &'static str = "seconds, such as 0.5";

    fn from_text<E: Error>(text: &str) -> Result<Self, E> {
        duration::parse(text).map(Self).map_err(E::custom)
    }

    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        match number {
            WrittenNumber::Unsigned(seconds) => Ok(Self(Duration::from_secs(seconds))),
            WrittenNumber::Negative(seconds) => {
                Err(E::custom(format!("{seconds} seconds: a delay cannot be negative")))
            }
            WrittenNumber::Float(seconds) => Duration::try_from_secs_f64(seconds)
                .map(Self)
                .map_err(|error| E::custom(format!("{seconds} seconds: {error}"))),
        }
    }
}
