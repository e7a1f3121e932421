//! [`ErrorPolicy`]: what becomes of items whose retries have ended, and when a whole job stops.

mod workflow_keys;
mod read;

use retry_runtime::{BreakerConfig, Field, HalfOpen, Invalid, Policy};
use serde::Deserialize;
use thiserror::Error;

pub use self::read::ErrorPolicyKeys;

/// The treatment of items whose retries have ended, and the limits at which a whole job stops.
///
/// | setting | default |
/// | --- | --- |
/// | [`on_item_failure`](Self::on_item_failure) | a dead letter |
/// | [`continue_on_failure`](Self::continue_on_failure) | true |
/// | [`max_failures`](Self::max_failures): stop when this many items have failed | off |
/// | [`failure_threshold`](Self::failure_threshold): stop when more than this share has failed | off |
/// | [`minimum_items`](Self::minimum_items): how many must have ended before a share counts | 10 |
/// | [`error_collection`](Self::error_collection) | one report at the end |
/// | [`circuit_breaker`](Self::circuit_breaker): start no items while this is open | none |
/// | [`on_open`](Self::on_open) | wait |
/// | [`retry_config`](Self::retry_config): for `on_item_failure: retry` | 3 attempts, 1 s and 2 s apart |
///
/// In code:
///
/// ```
/// use retry_workflow::{ErrorPolicy, OnItemFailure};
///
/// let policy = ErrorPolicy::new()
///     .on_item_failure(OnItemFailure::Skip)
///     .max_failures(100)
///     .failure_threshold(0.25);
/// assert!(policy.validate().is_ok());
/// ```
///
/// and from a file:
///
/// ```
/// use retry_workflow::ErrorPolicy;
///
/// let policy: ErrorPolicy = serde_json::from_str(r#"{
///     "on_item_failure": "retry",
///     "max_failures": 10,
///     "error_collection": { "batched": { "size": 5 } },
///     "circuit_breaker": { "failure_threshold": 5, "timeout": "30s" },
///     "retry_config": { "max_attempts": 3, "backoff": { "exponential": { "initial": "1s" } } }
/// }"#).unwrap();
/// let unknown = serde_json::from_str::<ErrorPolicy>(r#"{ "max_failure": 10 }"#).unwrap_err();
/// assert!(unknown.to_string().contains("did you mean `max_failures`?"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[must_use = "a policy does nothing until a job runs with it"]
pub struct ErrorPolicy {
    pub(crate) on_item_failure: OnItemFailure,
    pub(crate) continue_on_failure: bool,
    pub(crate) max_failures: Option<u64>,
    pub(crate) failure_threshold: Option<f64>,
    pub(crate) minimum_items: u64,
    pub(crate) error_collection: ErrorCollection,
    pub(crate) circuit_breaker: Option<BreakerConfig>,
    pub(crate) on_open: OnOpen,
    pub(crate) retry_config: Policy,
}

/// The treatment of an item whose retries have ended.
///
/// ```
/// use retry_workflow::{ErrorPolicy, OnItemFailure};
///
/// let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::Skip);
/// assert_eq!(*policy.get_on_item_failure(), OnItemFailure::Skip);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnItemFailure {
    /// It becomes a dead letter: kept with its history, to be inspected and re-driven.
    #[default]
    Dlq,
    /// It is put back with the workflow's own backoff, and starts over; when those retries end,
    /// too, it becomes a dead letter.
    Retry,
    /// As [`Retry`](Self::Retry), but it continues where it failed, from the checkpoint that its
    /// attempt [left for that](crate::work::AttemptReport::resume_from): at the failed step of a
    /// workflow file, with all the attempts of that step. Without such a checkpoint it starts over.
    RetryStep,
    /// It is skipped.
    Skip,
    /// It becomes a dead letter, and the job stops.
    Stop,
    /// The handler with this name decides.
    Custom(String),
}

/// The time at which failures of items are reported.
///
/// ```
/// use retry_workflow::job::ErrorCollection;
/// use retry_workflow::ErrorPolicy;
///
/// let policy = ErrorPolicy::new().error_collection(ErrorCollection::Immediate);
/// assert_eq!(policy.validate(), Ok(()));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorCollection {
    /// Only in the report at the end.
    #[default]
    Aggregate,
    /// Also one by one, as they happen.
    Immediate,
    /// Also in groups of this size, with the remainder at the end.
    Batched {
        /// The size of a group.
        size: usize,
    },
}

/// The effect of an open breaker on a job.
///
/// ```
/// use retry_workflow::job::OnOpen;
/// use retry_workflow::{BreakerConfig, ErrorPolicy};
///
/// let policy = ErrorPolicy::new().circuit_breaker(BreakerConfig::new()).on_open(OnOpen::Stop);
/// assert!(policy.validate().is_ok());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum OnOpen {
    /// No item starts until the breaker lets probes through.
    #[default]
    Wait,
    /// The job stops.
    Stop,
}

/// The mistake in an error policy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct InvalidErrorPolicy {
    keys: Vec<&'static str>,
    message: String,
}

impl InvalidErrorPolicy {
    fn new(key: &'static str, message: impl Into<String>) -> Self {
        Self { keys: vec![key], message: message.into() }
    }

    /// The error for a map under this key.
    fn inside(key: &'static str, invalid: Invalid) -> Self {
        let keys = std::iter::once(key).chain(invalid.fields().iter().map(Field::name));
        Self { keys: keys.collect(), message: format!("{key}: {invalid}") }
    }

    /// Returns the keys to blame, as a file spells them: a key of the error policy, and, if its
    /// value is a map, the keys inside it, the main one first.
    pub fn keys(&self) -> Vec<&'static str> {
        self.keys.clone()
    }
}

impl Default for ErrorPolicy {
    fn default() -> Self {
        Self::new()
    }
}

impl ErrorPolicy {
    /// Creates a policy with the defaults of the table above.
    ///
    /// ```
    /// # use retry_workflow::ErrorPolicy;
    /// assert!(ErrorPolicy::new().validate().is_ok());
    /// ```
    pub const fn new() -> Self {
        Self {
            on_item_failure: OnItemFailure::Dlq,
            continue_on_failure: true,
            max_failures: None,
            failure_threshold: None,
            minimum_items: 10,
            error_collection: ErrorCollection::Aggregate,
            circuit_breaker: None,
            on_open: OnOpen::Wait,
            retry_config: Policy::new(),
        }
    }

    retry_rules::accessors! {
        /// Sets what happens to an item whose retries have ended. Default: a dead letter.
        ///
        /// ```
        /// # use retry_workflow::{ErrorPolicy, OnItemFailure};
        /// let lenient = ErrorPolicy::new().on_item_failure(OnItemFailure::Skip);
        /// assert_eq!(*lenient.get_on_item_failure(), OnItemFailure::Skip);
        /// ```
        pub fn on_item_failure(self, action: OnItemFailure /* such as `OnItemFailure::Skip` */) -> Self { on_item_failure: action }

        /// Sets whether the job continues after an item has failed. Default: it does.
        ///
        /// ```
        /// # use retry_workflow::{ErrorPolicy, Workflow, policy};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .max_parallel(1)
        ///     .retry(policy!(attempts = 1))
        ///     .error_policy(ErrorPolicy::new().continue_on_failure(false))
        ///     .run(1..=9_u32, |_: u32, _| async { Err::<(), _>("no address") })
        ///     .await?;
        /// assert_eq!(report.dead(), 1);
        /// # Ok(())
        /// # }
        /// ```
        pub fn continue_on_failure(self, continues: bool) -> Self { continue_on_failure: continues }

        /// Stops the job when this many items have failed. Default: it does not stop.
        ///
        /// ```
        /// # use retry_workflow::{ErrorPolicy, Workflow, policy};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .max_parallel(1)
        ///     .retry(policy!(attempts = 1))
        ///     .error_policy(ErrorPolicy::new().max_failures(3))
        ///     .run(1..=9_u32, |_: u32, _| async { Err::<(), _>("no address") })
        ///     .await?;
        /// assert_eq!(report.dead(), 3);
        /// # Ok(())
        /// # }
        /// ```
        pub fn max_failures(self, failures: u64 /* a share: `failure_threshold(0.25)` */) -> Self { max_failures: Some(failures) }

        /// Stops the job when more than this share of the ended items failed; above 0, below 1.
        /// Default: it does not stop.
        ///
        /// ```
        /// # use retry_workflow::{ErrorPolicy, Workflow, policy};
        /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
        /// let report = Workflow::new("import")
        ///     .max_parallel(1)
        ///     .retry(policy!(attempts = 1))
        ///     .error_policy(ErrorPolicy::new().failure_threshold(0.25).minimum_items(4))
        ///     .run(1..=9_u32, |_: u32, _| async { Err::<(), _>("no address") })
        ///     .await?;
        /// assert_eq!(report.dead(), 4);
        /// # Ok(())
        /// # }
        /// ```
        pub fn failure_threshold(self, share: f64 /* `0.25` is one in four; a number: `max_failures(3)` */) -> Self { failure_threshold: Some(share) }

        /// Sets how many items must have ended before the threshold counts. Default: 10.
        ///
        /// ```
        /// # use retry_workflow::ErrorPolicy;
        /// let policy = ErrorPolicy::new().failure_threshold(0.25).minimum_items(100);
        /// assert!(policy.validate().is_ok());
        /// ```
        pub fn minimum_items(self, items: u64) -> Self { minimum_items: items }

        /// Sets when failures are reported. Default: in one report at the end.
        ///
        /// ```
        /// # use retry_workflow::job::ErrorCollection;
        /// # use retry_workflow::ErrorPolicy;
        /// let policy = ErrorPolicy::new().error_collection(ErrorCollection::Batched { size: 20 });
        /// assert!(policy.validate().is_ok());
        /// ```
        pub fn error_collection(self, collection: ErrorCollection) -> Self { error_collection: collection }

        /// Sets a breaker for the whole job: no item starts while it is open. It makes no item fail,
        /// and loses none. Default: none. While it is half-open, `half_open_requests` items run at a
        /// time; `half_open = gradual` is refused, because no calls come of which a share could be
        /// admitted.
        ///
        /// ```
        /// # use retry_workflow::{BreakerConfig, ErrorPolicy};
        /// let policy = ErrorPolicy::new().circuit_breaker(BreakerConfig::new().failure_threshold(20));
        /// assert!(policy.validate().is_ok());
        /// ```
        pub fn circuit_breaker(self, breaker: BreakerConfig) -> Self { circuit_breaker: Some(breaker) }

        /// Sets what an open breaker does to the job. Default: it waits.
        ///
        /// ```
        /// # use retry_workflow::job::OnOpen;
        /// # use retry_workflow::{BreakerConfig, ErrorPolicy};
        /// let policy = ErrorPolicy::new().circuit_breaker(BreakerConfig::new()).on_open(OnOpen::Stop);
        /// assert!(policy.validate().is_ok());
        /// ```
        pub fn on_open(self, action: OnOpen) -> Self { on_open: action }

        /// Sets how often, and how far apart, [`OnItemFailure::Retry`] puts an item back.
        ///
        /// ```
        /// # use retry_workflow::{ErrorPolicy, OnItemFailure, Policy};
        /// let policy = ErrorPolicy::new()
        ///     .on_item_failure(OnItemFailure::Retry)
        ///     .retry_config(Policy::new().attempts(5));
        /// assert!(policy.validate().is_ok());
        /// ```
        pub fn retry_config(self, policy: Policy) -> Self { retry_config: policy }

        /// Returns what happens to an item whose retries have ended.
        pub fn get_on_item_failure(&self) -> &OnItemFailure { &on_item_failure }

        /// Returns the policy for putting items back.
        pub fn get_retry_config(&self) -> &Policy { &retry_config }
    }

    /// Checks that the settings are valid.
    ///
    /// ```
    /// # use retry_workflow::ErrorPolicy;
    /// let error = ErrorPolicy::new().failure_threshold(25.0).validate().unwrap_err();
    /// assert!(error.to_string().contains("`0.25` for a quarter"));
    /// ```
    ///
    /// # Errors
    /// The first invalid setting, and what to write instead.
    pub fn validate(&self) -> Result<(), InvalidErrorPolicy> {
        let invalid = if self.max_failures == Some(0) {
            InvalidErrorPolicy::new(
                "max_failures",
                "max_failures is 0: to stop at the first failure, write `continue_on_failure: \
                 false`, or `max_failures: 1`",
            )
        } else if let Some(share) = self.failure_threshold
            && !(share > 0.0 && share < 1.0)
        {
            let message = format!(
                "a failure_threshold of {share} is not a share of the items: write a number above \
                 0 and below 1, such as `0.25` for a quarter"
            );
            InvalidErrorPolicy::new("failure_threshold", message)
        } else if self.minimum_items == 0 {
            let message = "minimum_items is 0: a share needs at least 1 item to be computed from";
            InvalidErrorPolicy::new("minimum_items", message)
        } else if self.error_collection == (ErrorCollection::Batched { size: 0 }) {
            InvalidErrorPolicy::new(
                "error_collection",
                "a batch of 0 errors is never full: write `batched: { size: 5 }`, or `immediate`",
            )
        } else if let Some(Err(invalid)) = self.circuit_breaker.map(|breaker| breaker.validate()) {
            InvalidErrorPolicy::inside("circuit_breaker", invalid)
        } else if self.circuit_breaker.is_some_and(|it| it.get_half_open() == HalfOpen::Gradual) {
            InvalidErrorPolicy::new(
                "circuit_breaker",
                "circuit_breaker: `half_open = gradual` admits a share of the calls that come, and a \
                 job starts its items itself: remove it; `half_open_requests` says how many items \
                 run at a time until the breaker closes",
            )
        } else if let Err(invalid) = self.retry_config.validate() {
            InvalidErrorPolicy::inside("retry_config", invalid)
        } else if self.on_item_failure == OnItemFailure::Custom(String::new()) {
            InvalidErrorPolicy::new(
                "on_item_failure",
                "a custom handler needs a name: write `on_item_failure: { custom: name }`",
            )
        } else {
            return Ok(());
        };
        Err(invalid)
    }
}
