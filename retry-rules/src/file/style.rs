//! The three styles, each read whole and then checked by the one rule list.

use core::fmt;
use core::time::Duration;
use std::format;
use std::string::{String, ToString};
use std::vec::Vec;

use serde::de::{Error, Expected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::backoff::Curve;
use super::map_only::from_map;
use super::span::Span;
use crate::duration;
use crate::policy::backoff::Backoff;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};
use crate::rules::{Field, Fields, Rules};

/// The keys of the command style, as a person wrote them.
///
/// `retry_on` and `on_failure` are the runtime's, which says with `R` and `F`
/// what may stand there; a bare policy has neither. They are keys here, and not
/// a flattened struct around these, for flattening loses the place of an error
/// and lets unknown keys pass.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CommandStyle<R = NotHere, F = NotHere> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    attempts: Option<Count>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    backoff: Option<Curve>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    initial_delay: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_delay: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jitter: Option<Spread>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    jitter_factor: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "budget")]
    retry_budget: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deadline: Option<Span>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    timeout: Option<Span>,
    /// Which failures are retried.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub retry_on: Option<R>,
    /// What happens at the end.
    #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<F>,
}

/// A key that stands beside a policy's in some files, but not in this one.
#[derive(Clone, Copy, Debug, Serialize)]
pub enum NotHere {}

impl<'de> Deserialize<'de> for NotHere {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        Err(D::Error::custom(
            "`retry_on` and `on_failure` are no part of a bare policy: remove the key",
        ))
    }
}

/// What a file says that no policy can be made of.
#[derive(Debug)]
pub struct Unusable(String);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The keys of a policy in the command style; its other name of `retry_budget` included.
pub const KEYS: &[&str] = &[
    "attempts",
    "backoff",
    "initial_delay",
    "max_delay",
    "jitter",
    "jitter_factor",
    "retry_budget",
    "budget",
    "deadline",
    "timeout",
];

impl<R, F> CommandStyle<R, F> {
    /// The policy, checked by all rules.
    ///
    /// # Errors
    /// A rule is broken, or two keys say different things.
    pub fn policy(&self) -> Result<Policy, Unusable> {
        let mut draft = Draft::default();
        self.write_to(&mut draft)?;
        if self.retry_on.is_some() {
            draft.write(Field::RetryOn);
        }
        draft.finish(&[])
    }

    /// Writes these keys over what `draft` holds. Judging it is left to the caller.
    ///
    /// # Errors
    /// Two keys say different things.
    pub fn write_to(&self, draft: &mut Draft) -> Result<(), Unusable> {
        if let Some(Count(attempts)) = self.attempts {
            draft.attempts(attempts);
        }
        if let Some(curve) = self.backoff {
            draft.curve(curve, self.initial_delay.is_some())?;
        }
        if let Some(Span(delay)) = self.initial_delay {
            draft.initial_delay(delay);
        }
        if let Some(Span(delay)) = self.max_delay {
            draft.write(Field::MaxDelay).max_delay = delay;
        }
        draft.jitter(self.jitter, self.jitter_factor)?;
        if let Some(Span(budget)) = self.retry_budget {
            draft.write(Field::Budget).budget = Some(budget);
        }
        if let Some(Span(deadline)) = self.deadline {
            draft.write(Field::Deadline).deadline = Some(deadline);
        }
        if let Some(Span(timeout)) = self.timeout {
            draft.write(Field::Timeout).timeout = Some(timeout);
        }
        Ok(())
    }
}

impl CommandStyle {
    /// The bound in time that is set here, and that `base` does not have.
    pub fn bound_beyond(&self, base: &Policy) -> Option<&'static str> {
        if self.deadline.is_some() && base.deadline.is_none() {
            Some("deadline")
        } else if self.timeout.is_some() && base.timeout.is_none() {
            Some("timeout")
        } else {
            None
        }
    }

    /// The same keys without those that change something that `base` does not
    /// have: a bound in time, the factor of a jitter.
    pub fn as_far_as_in(&self, base: &Policy) -> Self {
        let mut keys = self.clone();
        keys.deadline = keys.deadline.filter(|_| base.deadline.is_some());
        keys.timeout = keys.timeout.filter(|_| base.timeout.is_some());
        let has_factor = keys.jitter.is_some() || matches!(base.jitter, Jitter::Proportional(_));
        keys.jitter_factor = keys.jitter_factor.filter(|_| has_factor);
        keys
    }
}

impl<R, F> From<Policy> for CommandStyle<R, F> {
    /// Writes what differs from the default, and nothing that the rules call useless.
    fn from(policy: Policy) -> Self {
        fn unless<T: PartialEq, U>(value: T, default: &T, wrap: impl FnOnce(T) -> U) -> Option<U> {
            (value != *default).then(|| wrap(value))
        }

        let default = Policy::new();
        let replaced = policy.jitter == Jitter::Decorrelated;
        let custom = matches!(policy.backoff, Backoff::Custom(_)) && !replaced;
        // A single attempt never waits: what is about waits would be refused beside it.
        let waits = policy.attempts != Attempts::Limited(1);
        let curve = |backoff| Curve { backoff, initial: None };
        Self {
            attempts: unless(policy.attempts, &default.attempts, Count),
            backoff: unless(policy.backoff, &default.backoff, curve).filter(|_| waits && !replaced),
            initial_delay: unless(policy.initial_delay, &default.initial_delay, Span)
                .filter(|_| waits && !custom),
            max_delay: unless(policy.max_delay, &default.max_delay, Span).filter(|_| waits),
            jitter: unless(policy.jitter, &default.jitter, Spread).filter(|_| waits),
            jitter_factor: match policy.jitter {
                Jitter::Proportional(factor) if waits => Some(factor),
                _ => None,
            },
            retry_budget: policy.budget.map(Span).filter(|_| waits),
            deadline: policy.deadline.map(Span),
            timeout: policy.timeout.map(Span),
            retry_on: None,
            on_failure: None,
        }
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let style: CommandStyle = from_map(deserializer, "a map of a policy's settings")?;
        style.policy().map_err(D::Error::custom)
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        <CommandStyle>::from(*self).serialize(serializer)
    }
}

/// A policy in the workflow style: `max_attempts`, and a `backoff` that holds
/// its delays itself.
///
/// ```
/// use retry_rules::Policy;
/// use retry_rules::file::WorkflowStyle;
///
/// let json = r#"{ "max_attempts": 4, "backoff": { "linear": { "initial": "1s", "increment": "2s" } } }"#;
/// let style: WorkflowStyle = serde_json::from_str(json).unwrap();
/// assert_eq!(Policy::from(style).wait(3).as_secs(), 5);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorkflowStyle(Policy);

impl<'de> Deserialize<'de> for WorkflowStyle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: WorkflowKeys =
            from_map(deserializer, "a map of a policy's settings in the workflow style")?;
        keys.try_into().map_err(D::Error::custom)
    }
}

impl From<WorkflowStyle> for Policy {
    fn from(style: WorkflowStyle) -> Self {
        style.0
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WorkflowKeys {
    max_attempts: Option<Count>,
    backoff: Option<Curve>,
    max_delay: Option<Span>,
    jitter: Option<Spread>,
    jitter_factor: Option<f64>,
    #[serde(alias = "budget")]
    retry_budget: Option<Span>,
}

impl TryFrom<WorkflowKeys> for WorkflowStyle {
    type Error = Unusable;

    fn try_from(keys: WorkflowKeys) -> Result<Self, Unusable> {
        let mut draft = Draft::default();
        if let Some(Count(attempts)) = keys.max_attempts {
            draft.attempts(attempts);
        }
        if let Some(curve) = keys.backoff {
            draft.curve(curve, false)?;
        }
        if let Some(Span(delay)) = keys.max_delay {
            draft.write(Field::MaxDelay).max_delay = delay;
        }
        draft.jitter(keys.jitter, keys.jitter_factor)?;
        if let Some(Span(budget)) = keys.retry_budget {
            draft.write(Field::Budget).budget = Some(budget);
        }
        draft.finish(&WORKFLOW_WORDS).map(Self)
    }
}

/// A policy in the task style: `max_retries` (3), `retry_delay` (1.0 s) and
/// `max_retry_delay` (300 s), exponential with base 2. Retries, not attempts:
/// 3 retries are 4 calls.
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

impl<'de> Deserialize<'de> for TaskStyle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: TaskKeys =
            from_map(deserializer, "a map of a policy's settings in the task style")?;
        keys.try_into().map_err(D::Error::custom)
    }
}

impl TaskStyle {
    /// Retries after the first call.
    pub const MAX_RETRIES: u32 = 3;
    /// The first wait.
    pub const RETRY_DELAY: Duration = Duration::from_secs(1);
    /// No wait is longer.
    pub const MAX_RETRY_DELAY: Duration = Duration::from_secs(300);

    /// The policy that such settings stand for, taken as it is: [`Policy::validate`] checks it.
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

impl From<TaskStyle> for Policy {
    fn from(style: TaskStyle) -> Self {
        style.0
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TaskKeys {
    #[serde(default = "default_retries")]
    max_retries: u32,
    #[serde(default = "default_retry_delay")]
    retry_delay: Seconds,
    #[serde(default = "default_max_retry_delay")]
    max_retry_delay: Seconds,
}

fn default_retries() -> u32 {
    TaskStyle::MAX_RETRIES
}

fn default_retry_delay() -> Seconds {
    Seconds(TaskStyle::RETRY_DELAY)
}

fn default_max_retry_delay() -> Seconds {
    Seconds(TaskStyle::MAX_RETRY_DELAY)
}

impl TryFrom<TaskKeys> for TaskStyle {
    type Error = Unusable;

    fn try_from(keys: TaskKeys) -> Result<Self, Unusable> {
        let (delay, longest) = (keys.retry_delay.0, keys.max_retry_delay.0);
        let policy = Self::policy(keys.max_retries, delay, longest);
        // The keys come together, so none of them is written in vain.
        Draft { policy, written: Fields::NONE }.finish(&TASK_WORDS).map(Self)
    }
}

/// Seconds as a number, `0.5`; a humantime string is welcome too.
#[derive(Clone, Copy)]
struct Seconds(Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SecondsVisitor;

        impl Visitor<'_> for SecondsVisitor {
            type Value = Seconds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("seconds, such as 0.5")
            }

            fn visit_f64<E: Error>(self, seconds: f64) -> Result<Seconds, E> {
                Duration::try_from_secs_f64(seconds)
                    .map(Seconds)
                    .map_err(|error| E::custom(format!("{seconds} seconds: {error}")))
            }

            fn visit_u64<E: Error>(self, seconds: u64) -> Result<Seconds, E> {
                Ok(Seconds(Duration::from_secs(seconds)))
            }

            fn visit_i64<E: Error>(self, seconds: i64) -> Result<Seconds, E> {
                u64::try_from(seconds)
                    .map(|seconds| Seconds(Duration::from_secs(seconds)))
                    .map_err(|_| E::custom(format!("{seconds} seconds: a delay is not negative")))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Seconds, E> {
                duration::parse(text).map(Seconds).map_err(E::custom)
            }
        }

        deserializer.deserialize_any(SecondsVisitor)
    }
}

/// `5`, or `unlimited`.
#[derive(Clone, Copy, Debug)]
struct Count(Attempts);

impl Serialize for Count {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Attempts::Limited(attempts) => serializer.serialize_u32(attempts),
            Attempts::Unlimited => serializer.serialize_str("unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;

        impl Visitor<'_> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of attempts, or `unlimited`")
            }

            fn visit_u64<E: Error>(self, attempts: u64) -> Result<Count, E> {
                u32::try_from(attempts).map(|attempts| Count(Attempts::Limited(attempts))).map_err(
                    |_| {
                        E::custom(format!(
                            "{attempts} attempts: at most {}, or `unlimited`",
                            u32::MAX
                        ))
                    },
                )
            }

            fn visit_i64<E: Error>(self, attempts: i64) -> Result<Count, E> {
                match u64::try_from(attempts) {
                    Ok(attempts) => self.visit_u64(attempts),
                    Err(_) => Err(E::custom(format!("{attempts} attempts: at least 1"))),
                }
            }

            fn visit_str<E: Error>(self, word: &str) -> Result<Count, E> {
                match word {
                    "unlimited" => Ok(Count(Attempts::Unlimited)),
                    // Not `invalid_value`: of a `custom` error readers of YAML know the place.
                    other => {
                        Err(E::custom(format!("\"{other}\": expected {}", &self as &dyn Expected)))
                    }
                }
            }
        }

        deserializer.deserialize_any(CountVisitor)
    }
}

/// `true`, `false`, a factor, or the name of a jitter.
#[derive(Clone, Copy, Debug)]
struct Spread(Jitter);

impl Serialize for Spread {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Jitter::Proportional(_) => serializer.serialize_bool(true),
            other => serializer.serialize_str(other.name()),
        }
    }
}

impl<'de> Deserialize<'de> for Spread {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpreadVisitor;

        impl Visitor<'_> for SpreadVisitor {
            type Value = Spread;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a jitter: true, false, a factor such as 0.25, full, equal, decorrelated or none")
            }

            fn visit_bool<E: Error>(self, on: bool) -> Result<Spread, E> {
                Ok(Spread(if on { Jitter::DEFAULT } else { Jitter::None }))
            }

            fn visit_f64<E: Error>(self, factor: f64) -> Result<Spread, E> {
                Ok(Spread(Jitter::Proportional(factor)))
            }

            #[expect(clippy::cast_precision_loss, reason = "only 0 and 1 are factors")]
            fn visit_u64<E: Error>(self, factor: u64) -> Result<Spread, E> {
                self.visit_f64(factor as f64)
            }

            #[expect(clippy::cast_precision_loss, reason = "only 0 and 1 are factors")]
            fn visit_i64<E: Error>(self, factor: i64) -> Result<Spread, E> {
                self.visit_f64(factor as f64)
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Spread, E> {
                Ok(Spread(match name {
                    "none" => Jitter::None,
                    "proportional" => Jitter::DEFAULT,
                    "full" => Jitter::Full,
                    "equal" => Jitter::Equal,
                    "decorrelated" => Jitter::Decorrelated,
                    other => {
                        return Err(E::custom(format!(
                            "\"{other}\": expected {}",
                            &self as &dyn Expected
                        )));
                    }
                }))
            }
        }

        deserializer.deserialize_any(SpreadVisitor)
    }
}

/// What the rules call by the names of the attribute, and its names in the workflow style.
const WORKFLOW_WORDS: [(&str, &str); 3] =
    [("`attempts", "`max_attempts"), ("initial_delay", "initial"), ("`base:", "`multiplier:")];

/// The same for the task style, which has a default of its own as well.
const TASK_WORDS: [(&str, &str); 3] = [
    ("initial_delay", "retry_delay"),
    ("max_delay", "max_retry_delay"),
    ("(30s unless set)", "(300s unless set)"),
];

/// A change is of a policy that is there: what is not set in it is no default.
const CHANGE_WORDS: [(&str, &str); 4] = [
    (" (1s unless set)", ""),
    (" (30s unless set)", ""),
    (" (3 unless set)", ""),
    ("leave it out for 3", "leave it out for as many as are compiled"),
];

/// The rules tell what to write in the attribute; in a file it is written otherwise.
fn in_words_of_a_file(complaint: &str, words: &[(&str, &str)]) -> String {
    let complaint = complaint.replace(" = ", ": ");
    words.iter().fold(complaint, |complaint, (ours, theirs)| complaint.replace(ours, theirs))
}

/// A policy under construction, and which of its fields somebody wrote.
#[derive(Clone, Copy, Debug, Default)]
pub struct Draft {
    policy: Policy,
    written: Fields,
}

impl Draft {
    /// Of this policy, of which nothing is written anew.
    pub fn of(policy: Policy) -> Self {
        Self { policy, written: Fields::NONE }
    }

    /// As it stands.
    pub fn policy(&self) -> Policy {
        self.policy
    }

    /// Which fields are written.
    pub fn written(&self) -> Fields {
        self.written
    }

    /// `base` with the fields that are written here.
    pub fn written_over(&self, base: Policy) -> Self {
        let Self { policy: from, written } = *self;
        let mut policy = base;
        if written.contains(Field::Attempts) {
            policy.attempts = from.attempts;
        }
        if written.contains(Field::Backoff) {
            policy.backoff = from.backoff;
        }
        if written.contains(Field::InitialDelay) {
            policy.initial_delay = from.initial_delay;
        }
        if written.contains(Field::MaxDelay) {
            policy.max_delay = from.max_delay;
        }
        if written.contains(Field::Jitter) {
            policy.jitter = from.jitter;
        }
        if written.contains(Field::Budget) {
            policy.budget = from.budget;
        }
        if written.contains(Field::Deadline) {
            policy.deadline = from.deadline;
        }
        if written.contains(Field::Timeout) {
            policy.timeout = from.timeout;
        }
        Self { policy, written }
    }

    fn write(&mut self, field: Field) -> &mut Policy {
        self.written = self.written.with(field);
        &mut self.policy
    }

    fn attempts(&mut self, attempts: Attempts) {
        self.write(Field::Attempts).attempts = attempts;
    }

    fn initial_delay(&mut self, delay: Duration) {
        self.write(Field::InitialDelay).initial_delay = delay;
    }

    fn curve(&mut self, curve: Curve, initial_beside: bool) -> Result<(), Unusable> {
        self.write(Field::Backoff).backoff = curve.backoff;
        if let Some(initial) = curve.initial {
            if initial_beside {
                let name = curve.backoff.name();
                return Err(Unusable(format!(
                    "the first wait stands twice, as `initial_delay` and inside `{name}`: keep one"
                )));
            }
            self.initial_delay(initial);
        }
        Ok(())
    }

    fn jitter(&mut self, jitter: Option<Spread>, factor: Option<f64>) -> Result<(), Unusable> {
        let jitter = match (jitter, factor) {
            (None, None) => return Ok(()),
            (Some(Spread(jitter)), None) => jitter,
            (Some(Spread(Jitter::Proportional(_))), Some(factor)) => Jitter::Proportional(factor),
            (None, Some(factor)) if matches!(self.policy.jitter, Jitter::Proportional(_)) => {
                Jitter::Proportional(factor)
            }
            (None, Some(factor)) => {
                return Err(Unusable(format!(
                    "`jitter_factor` only matters to `jitter: true`: add it, or write `jitter: {factor:?}` instead"
                )));
            }
            (Some(Spread(other)), Some(_)) => {
                return Err(Unusable(format!(
                    "`jitter_factor` only matters to `jitter: true`, and jitter is {}: remove one",
                    other.name()
                )));
            }
        };
        self.write(Field::Jitter).jitter = jitter;
        Ok(())
    }

    /// The policy, or what is wrong with it, in the `words` of the style.
    fn finish(self, words: &[(&str, &str)]) -> Result<Policy, Unusable> {
        judged(self.policy, self.written, Rules::NONE, words)
    }

    /// Whether the policy keeps the rules but for those that are `spared`; in vain may
    /// be what is in `written`.
    ///
    /// # Errors
    /// A rule is broken.
    pub fn judge(&self, written: Fields, spared: Rules) -> Result<Policy, Unusable> {
        judged(self.policy, written, spared, &CHANGE_WORDS)
    }
}

fn judged(
    policy: Policy,
    written: Fields,
    spared: Rules,
    words: &[(&str, &str)],
) -> Result<Policy, Unusable> {
    let complaints: Vec<String> = Rules::broken_by_policy(&policy, written)
        .iter()
        .filter(|rule| !spared.contains(*rule))
        .map(|rule| in_words_of_a_file(&rule.explain(&policy).to_string(), words))
        .collect();
    if complaints.is_empty() { Ok(policy) } else { Err(Unusable(complaints.join("; "))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_keys_are_those_that_are_read() {
        let unknown =
            serde_json::from_str::<CommandStyle>(r#"{ "?": 1 }"#).unwrap_err().to_string();
        let mut read: Vec<_> = unknown.split('`').skip(3).step_by(2).collect();
        let mut listed = [KEYS, &["retry_on", "on_failure"]].concat();
        read.sort_unstable();
        listed.sort_unstable();
        assert_eq!(read, listed);
    }
}
