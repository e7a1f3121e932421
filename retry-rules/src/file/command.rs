//! The command style: the form of [`Policy`] itself.

use core::time::Duration;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::attempts::AttemptsKey;
use super::backoff::BackoffKey;
use super::bound::BoundKey;
use super::draft::Draft;
use super::invalid_keys::InvalidKeys;
use super::jitter::JitterKey;
use super::map_only::from_map;
use super::span::Span;
use crate::policy::backoff::Backoff;
use crate::policy::bound::Bound;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::table::{Rule, Rules};

/// Declares [`CommandKeys`]: a row for each key of a policy, with the field that it sets. Keys
/// without a field are read together with others.
macro_rules! command_keys {
    ($( $key:ident $(or $other:literal)?: $Key:ty $(=> $Field:ident $member:ident)?, )*) => {
        /// The keys of the command style as written in a file, parsed but not yet checked.
        ///
        /// For readers that have the place of each key: [`InvalidKeys`] names the wrong one.
        /// `retry_on`, `abort_on` and `on_failure` accompany a policy's keys in some files; `R` is
        /// the type of the first two, `F` the type of the last; a bare policy has none of them.
        // The keys are fields of this struct, not of a flattened one, because flattening loses the
        // place of an error and accepts unknown keys.
        #[derive(Clone, Debug, Deserialize, Serialize)]
        #[serde(deny_unknown_fields)]
        pub struct CommandKeys<R = NotHere, F = NotHere> {
            $(
                #[serde(default, skip_serializing_if = "Option::is_none" $(, alias = $other)?)]
                $key: Option<$Key>,
            )*
            /// The failures that are retried.
            #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
            pub retry_on: Option<R>,
            /// The failures that are not retried even if `retry_on` contains them.
            #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
            pub abort_on: Option<R>,
            /// The action once the retries have ended.
            #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
            pub on_failure: Option<F>,
        }

        /// The keys of a policy in the command style, with all their names.
        #[doc(hidden)]
        pub const KEYS: &[&str] = &[$( stringify!($key), $($other,)? )*];

        impl<R, F> CommandKeys<R, F> {
            /// Writes the keys that correspond to one field of a policy each.
            fn write_fields(&self, draft: &mut Draft) {
                $($(
                    if let Some(key) = self.$key {
                        draft.write(Field::$Field).$member = key.into();
                    }
                )?)*
            }

            /// The keys that correspond to one field each, where it differs from the default,
            /// except for the `useless` ones.
            fn of_fields(policy: &Policy, useless: Fields) -> Self {
                let default = Policy::new();
                Self {
                    $($(
                        $key: Some(policy.$member)
                            .filter(|value| *value != default.$member)
                            .filter(|_| !useless.contains(Field::$Field))
                            .and_then(IntoKey::into_key),
                    )?)*
                    ..Self::default()
                }
            }
        }

        impl<R, F> Default for CommandKeys<R, F> {
            fn default() -> Self {
                Self { $( $key: None, )* retry_on: None, abort_on: None, on_failure: None }
            }
        }

        impl Draft {
            /// Returns `base` with the written fields of this draft.
            #[must_use]
            pub fn written_over(&self, base: Policy) -> Self {
                let mut over = Self::from_policy(base);
                let (from, written) = (self.policy(), self.written());
                $($(
                    if written.contains(Field::$Field) {
                        over.write(Field::$Field).$member = from.$member;
                    }
                )?)*
                if written.contains(Field::Backoff) {
                    over.write(Field::Backoff).backoff = from.backoff;
                }
                if written.contains(Field::Jitter) {
                    over.write(Field::Jitter).jitter = from.jitter;
                }
                over
            }
        }
    };
}

command_keys! {
    attempts or "max_attempts": AttemptsKey => Attempts attempts,
    backoff: BackoffKey,
    initial_delay: Span => InitialDelay initial_delay,
    max_delay: BoundKey => MaxDelay max_delay,
    first_delay: Span => FirstDelay first_delay,
    jitter: JitterKey,
    jitter_factor: f64,
    retry_budget or "budget": BoundKey => Budget budget,
    deadline: BoundKey => Deadline deadline,
    max_elapsed: BoundKey => MaxElapsed max_elapsed,
    max_retry_after: BoundKey => MaxRetryAfter max_retry_after,
    timeout: BoundKey => Timeout timeout,
    hedge: BoundKey => Hedge hedge,
    max_hedges: u32 => MaxHedges max_hedges,
}

/// Declares the type of a key that accompanies a policy's keys in some files, but not in this one:
/// reading it is an error with these words.
macro_rules! not_here {
    ($(#[$docs:meta])* $NotHere:ident: $message:literal) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug, Serialize)]
        pub enum $NotHere {}

        impl<'de> Deserialize<'de> for $NotHere {
            fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
                Err(D::Error::custom($message))
            }
        }
    };
}

not_here! {
    /// A key that a bare policy does not have.
    NotHere: "`retry_on`, `abort_on` and `on_failure` are not part of a bare policy: remove the key, \
              or read a `RetryConfig`"
}

not_here! {
    /// A key that the settings of a function do not have.
    OnlyForCommands: "`on_failure` is only for commands (`CommandConfig`): for a function, remove it \
                      here and write it in the attribute, as in `on_failure = fallback(f)`"
}

/// Converts the value of a field to its key, if it was set.
trait IntoKey<K> {
    fn into_key(self) -> Option<K>;
}

impl IntoKey<AttemptsKey> for Attempts {
    fn into_key(self) -> Option<AttemptsKey> {
        Some(AttemptsKey(self))
    }
}

impl IntoKey<Self> for u32 {
    fn into_key(self) -> Option<Self> {
        Some(self)
    }
}

impl IntoKey<Span> for Duration {
    fn into_key(self) -> Option<Span> {
        Some(Span(self))
    }
}

impl IntoKey<Span> for Option<Duration> {
    fn into_key(self) -> Option<Span> {
        self.map(Span)
    }
}

impl IntoKey<BoundKey> for Bound {
    fn into_key(self) -> Option<BoundKey> {
        (self != Self::None).then_some(BoundKey(self))
    }
}

impl<R, F> CommandKeys<R, F> {
    /// Returns the policy, checked against all rules.
    ///
    /// # Errors
    /// A rule is broken, or two keys contradict each other.
    pub fn policy(&self) -> Result<Policy, InvalidKeys> {
        self.policy_in(Style::Command)
    }

    /// Returns the policy, with messages in this style.
    ///
    /// # Errors
    /// A rule is broken, or two keys contradict each other.
    #[doc(hidden)]
    pub fn policy_in(&self, style: Style) -> Result<Policy, InvalidKeys> {
        let mut draft = Draft::default();
        self.write_to(&mut draft)?;
        if self.retry_on.is_some() || self.abort_on.is_some() {
            draft.write(Field::RetryOn);
        }
        draft.finish(style)
    }

    /// Writes these keys into `draft`, and leaves validation to the caller.
    ///
    /// # Errors
    /// Two keys contradict each other.
    #[doc(hidden)]
    pub fn write_to(&self, draft: &mut Draft) -> Result<(), InvalidKeys> {
        self.write_fields(draft);
        if let Some(backoff) = self.backoff {
            draft.backoff(backoff, self.initial_delay.map(Duration::from))?;
        }
        draft.jitter(self.jitter, self.jitter_factor)
    }
}

impl CommandKeys {
    /// Returns the time limit that is set here, but not in `base`, or the hedge that is set here
    /// for a function that is not `hedged`.
    #[doc(hidden)]
    pub fn bound_beyond(&self, base: &Policy, hedged: bool) -> Option<Field> {
        let is_set = |key: Option<BoundKey>| key.is_some_and(|key| key.0.limit().is_some());
        let sets_hedge = is_set(self.hedge) || self.max_hedges.is_some();
        let beyond = [
            (Field::Deadline, is_set(self.deadline), base.has_deadline()),
            (Field::MaxElapsed, is_set(self.max_elapsed), base.has_max_elapsed()),
            (Field::Timeout, is_set(self.timeout), base.get_timeout().is_some()),
            (Field::Hedge, sets_hedge, hedged),
        ];
        beyond
            .into_iter()
            .find_map(|(field, is_set, is_there)| (is_set && !is_there).then_some(field))
    }

    /// Returns these keys without those that would change something absent: a time limit that
    /// `compiled` does not have, the hedges of a function that is not `hedged`, the factor of a
    /// jitter that `base` does not have.
    #[doc(hidden)]
    #[must_use]
    pub fn as_far_as_in(&self, compiled: &Policy, hedged: bool, base: &Policy) -> Self {
        let mut keys = self.clone();
        keys.deadline = keys.deadline.filter(|_| compiled.has_deadline());
        keys.max_elapsed = keys.max_elapsed.filter(|_| compiled.has_max_elapsed());
        keys.timeout = keys.timeout.filter(|_| compiled.get_timeout().is_some());
        keys.hedge = keys.hedge.filter(|_| hedged);
        keys.max_hedges = keys.max_hedges.filter(|_| hedged);
        let has_factor = keys.jitter.is_some() || matches!(base.jitter, Jitter::Proportional(_));
        keys.jitter_factor = keys.jitter_factor.filter(|_| has_factor);
        keys
    }
}

impl<R, F> From<Policy> for CommandKeys<R, F> {
    /// Writes what differs from the default, except for what the rules call useless.
    fn from(policy: Policy) -> Self {
        let default = Policy::new();
        let replaced = policy.jitter == Jitter::Decorrelated;
        // A single attempt never waits, so settings about waits would be rejected.
        if policy.attempts == Attempts::Limited(1) {
            let waits = [
                Field::InitialDelay,
                Field::MaxDelay,
                Field::FirstDelay,
                Field::Budget,
                Field::MaxElapsed,
                Field::MaxRetryAfter,
            ];
            return Self::of_fields(&policy, Fields::from_slice(&waits));
        }
        let custom = matches!(policy.backoff, Backoff::Custom(_)) && !replaced;
        let mut useless = Fields::NONE;
        if custom {
            useless = useless.with(Field::InitialDelay);
        }
        let max_elapsed = Fields::NONE.with(Field::MaxElapsed);
        if Rules::broken_by_policy(&policy, max_elapsed).contains(Rule::MaxElapsedAboveDeadline) {
            useless = useless.union(max_elapsed);
        }
        if policy.hedge.is_none() {
            useless = useless.with(Field::MaxHedges);
        }
        Self {
            backoff: (policy.backoff != default.backoff && !replaced)
                .then_some(BackoffKey { backoff: policy.backoff, initial: None }),
            jitter: (policy.jitter != default.jitter).then_some(JitterKey(policy.jitter)),
            jitter_factor: match policy.jitter {
                Jitter::Proportional(factor) => Some(factor),
                _ => None,
            },
            ..Self::of_fields(&policy, useless)
        }
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: CommandKeys = from_map(deserializer, "a map of a policy's settings")?;
        keys.policy().map_err(D::Error::custom)
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        <CommandKeys>::from(*self).serialize(serializer)
    }
}
