//! The command style: the form of [`Policy`] itself.

mod list;

use core::time::Duration;
use std::sync::LazyLock;
use std::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use self::list::list;
use super::attempts::AttemptsKey;
use super::backoff::BackoffKey;
use super::bound::BoundKey;
use super::config_keys::{Count, Number, non_default};
use super::draft::Draft;
use super::invalid_keys::InvalidKeys;
use super::jitter::JitterKey;
use super::map_only::from_map;
use super::span::Span;
use crate::policy::backoff::Backoff;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};
use crate::rules::field::{Field, Fields};
use crate::rules::messages::Style;
use crate::rules::option_rows::policy_options;
use crate::rules::options::{Needs, POLICY};
use crate::rules::table::{RETRY_ONLY, Rule, Rules};

/// The types of keys, by the kinds of their options.
mod kinds {
    pub(super) use super::{
        AttemptsKey as Attempts, BackoffKey as Backoff, BoundKey as Bound, BoundKey as Hedge,
        JitterKey as Jitter, Span as Time,
    };
}

/// Writes the key of an option into a draft, unless it is read together with others.
macro_rules! write_field {
    (Backoff $draft:ident $Field:ident $key:expr, $name:ident) => {};
    (Jitter $draft:ident $Field:ident $key:expr, $name:ident) => {};
    ($Kind:ident $draft:ident $Field:ident $key:expr, $name:ident) => {
        if let Some(key) = $key {
            $draft.write(Field::$Field).$name = key.into();
        }
    };
}

/// Converts the value of an option to its key, if it was set.
macro_rules! to_key {
    (Attempts $value:expr) => {
        Some(AttemptsKey($value))
    };
    (Backoff $value:expr) => {
        Some(BackoffKey { backoff: $value, initial: None })
    };
    (Jitter $value:expr) => {
        Some(JitterKey($value))
    };
    (Time $value:expr) => {
        Option::from($value).map(Span)
    };
    ($Bound:ident $value:expr) => {
        Some(BoundKey($value)).filter(|key| !key.0.is_none())
    };
}

/// Declares [`CommandKeys`] with a key for each option of a policy, and for each part that has one.
macro_rules! command_keys {
    ($(
        $(#[$docs:meta])*
        $name:ident => $Field:ident { $($part:ident => $Part:ident $(: $Key:ty)?)* }
            [$($key:literal or $other:literal)?] $Kind:ident $words:tt;
    )*) => {
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
                #[serde(default, skip_serializing_if = "Option::is_none" $(, rename = $key, alias = $other)?)]
                $name: Option<kinds::$Kind>,
                $($(
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    $part: Option<$Key>,
                )?)*
            )*
            /// The failures that are retried.
            #[serde(
                default = "Option::default", skip_serializing_if = "Option::is_none",
                deserialize_with = "list", bound(deserialize = "R: Deserialize<'de>")
            )]
            pub retry_on: Option<R>,
            /// The failures that are not retried even if `retry_on` contains them.
            #[serde(
                default = "Option::default", skip_serializing_if = "Option::is_none",
                deserialize_with = "list", bound(deserialize = "R: Deserialize<'de>")
            )]
            pub abort_on: Option<R>,
            /// The action once the retries have ended.
            #[serde(default = "Option::default", skip_serializing_if = "Option::is_none")]
            pub on_failure: Option<F>,
        }

        impl<R, F> CommandKeys<R, F> {
            /// Writes the keys that correspond to one field of a policy each.
            fn write_fields(&self, draft: &mut Draft) {
                $( write_field!($Kind draft $Field self.$name, $name); )*
            }

            /// The keys of the options whose values differ from the default.
            fn of_options(policy: &Policy) -> Self {
                let default = Policy::new();
                Self {
                    $(
                        $name: Some(policy.$name)
                            .filter(|value| *value != default.$name)
                            .and_then(|value| to_key!($Kind value)),
                    )*
                    ..Self::default()
                }
            }

            /// Removes the keys of these options and of their parts.
            fn remove(&mut self, options: Fields) {
                $(
                    if options.contains(Field::$Field) {
                        self.$name = None;
                        $($( self.$part = None::<$Key>; )?)*
                    }
                )*
            }
        }

        impl<R, F> Default for CommandKeys<R, F> {
            fn default() -> Self {
                Self {
                    $( $name: None, $($( $part: None::<$Key>, )?)* )*
                    retry_on: None,
                    abort_on: None,
                    on_failure: None,
                }
            }
        }
    };
}

policy_options!(command_keys! {});

/// The keys of a policy in the command style, with all their names.
#[doc(hidden)]
pub static KEYS: LazyLock<Vec<&'static str>> =
    LazyLock::new(|| POLICY.iter().flat_map(|option| option.keys).copied().collect());

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
        if let Some(max) = self.max_hedges {
            draft.write(Field::MaxHedges).max_hedges = max.into();
        }
        if let Some(backoff) = self.backoff {
            draft.backoff(backoff, self.initial_delay.map(Duration::from))?;
        }
        draft.jitter(self.jitter, self.jitter_factor.map(f64::from))
    }
}

impl CommandKeys {
    /// Returns the options for which a function with the policy `compiled` has no code: a time
    /// limit that is neither there nor one of the `runtime` fields, and hedges unless it is
    /// `hedged`.
    #[doc(hidden)]
    pub fn absent(compiled: &Policy, runtime: Fields, hedged: bool) -> Fields {
        let absent = POLICY.iter().filter(|option| match option.needs {
            [] => false,
            [Needs::Hedges, ..] => !hedged,
            _ => compiled.time(option.field).limit().is_none() && !runtime.contains(option.field),
        });
        absent.fold(Fields::NONE, |absent, option| absent.with(option.field))
    }

    /// Returns the limit or the hedge that is set here, although it is `absent`.
    #[doc(hidden)]
    pub fn bound_beyond(&self, absent: Fields) -> Option<Field> {
        let mut draft = Draft::default();
        self.write_fields(&mut draft);
        let sets_hedges = self.max_hedges.is_some();
        absent.iter().find(|field| {
            draft.policy().time(*field).limit().is_some() || sets_hedges && *field == Field::Hedge
        })
    }

    /// Returns these keys without those that would change something `absent`, or the factor of a
    /// jitter that `base` does not have.
    #[doc(hidden)]
    #[must_use]
    pub fn as_far_as_in(&self, absent: Fields, base: &Policy) -> Self {
        let mut keys = self.clone();
        keys.remove(absent);
        let has_factor = keys.jitter.is_some() || matches!(base.jitter, Jitter::Proportional(_));
        keys.jitter_factor = keys.jitter_factor.filter(|_| has_factor);
        keys
    }
}

impl<R, F> From<Policy> for CommandKeys<R, F> {
    /// Writes what differs from the default, except for what the rules call useless.
    fn from(policy: Policy) -> Self {
        // A single attempt never waits, so settings about waits would be rejected.
        let is_single = policy.attempts == Attempts::Limited(1);
        let mut useless = if is_single { RETRY_ONLY } else { Fields::NONE };
        if policy.jitter == Jitter::Decorrelated {
            useless = useless.with(Field::Backoff);
        } else if matches!(policy.backoff, Backoff::Custom(_)) {
            useless = useless.with(Field::InitialDelay);
        }
        let max_elapsed = Fields::NONE.with(Field::MaxElapsed);
        if Rules::broken_by_policy(&policy, max_elapsed).contains(Rule::MaxElapsedAboveDeadline) {
            useless = useless.union(max_elapsed);
        }
        let mut keys = Self {
            jitter_factor: match policy.jitter {
                Jitter::Proportional(factor) => Some(Number(factor)),
                _ => None,
            },
            max_hedges: non_default(policy.max_hedges, Policy::new().max_hedges)
                .map(Count)
                .filter(|_| !policy.hedge.is_none()),
            ..Self::of_options(&policy)
        };
        keys.remove(useless);
        keys
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let keys: CommandKeys = from_map(deserializer, "a map of a policy's settings")?;
        keys.policy_in(Style::of_file::<D::Error>()).map_err(D::Error::custom)
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        <CommandKeys>::from(*self).serialize(serializer)
    }
}
