//! [`POLICY`], [`BREAKER`] and [`QUOTA`]: the options of a policy, and the settings of a breaker and
//! of a quota, as tables.

use core::fmt;
use core::time::Duration;

use super::field::{Field, Fields};
use super::option_rows::{breaker_settings, policy_options, quota_settings};
use crate::breaker::{BreakerConfig, HalfOpen};
use crate::policy::backoff::Backoff;
use crate::policy::bound::Bound;
use crate::policy::jitter::Jitter;
use crate::policy::{Attempts, Policy};
use crate::quota::QuotaConfig;

/// A setting of a configuration, such as a policy.
#[derive(Debug)]
pub struct Setting<C> {
    /// The field that it sets.
    pub field: Field,
    /// The kind of its value.
    pub kind: Kind<C>,
    /// The fields that are parts of this one.
    pub parts: &'static [Field],
    /// A value, as written in the attribute.
    pub example: &'static str,
    /// The default, in words.
    pub default: &'static str,
    /// The sentence that describes it, and further ones for the attribute only.
    pub docs: &'static [&'static str],
    /// The code that the expansion of a function contains for it. Where it is missing, the option
    /// cannot be set at runtime.
    pub needs: &'static [Needs],
    /// Its keys in files.
    pub keys: &'static [&'static str],
}

/// The kind of a value, with the function that sets it in a configuration.
#[derive(Debug)]
pub enum Kind<C> {
    /// `5`, or `unlimited`.
    Attempts(fn(C, Attempts) -> C),
    /// `5`
    Count(fn(C, u32) -> C),
    /// `0.5`
    Share(fn(C, f64) -> C),
    /// `"1s"`
    Time(fn(C, Duration) -> C),
    /// `"1s"`, or `unlimited`.
    Bound(fn(C, Bound) -> C),
    /// `linear(increment = "2s")`
    Backoff(fn(C, Backoff) -> C),
    /// `full`
    Jitter(fn(C, Jitter) -> C),
    /// `"200ms"`, with the largest number of hedges.
    Hedge(fn(C, (Bound, Option<u32>)) -> C),
    /// `gradual`
    HalfOpen(fn(C, HalfOpen) -> C),
    /// `true`
    Flag(fn(C, bool) -> C),
}

/// Code that the expansion of a function may contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// The time is read between attempts.
    Clock,
    /// Attempts are cut off.
    Timer,
    /// Attempts run at once.
    Hedges,
}

impl<C> Setting<C> {
    /// Returns its name in the attribute.
    pub const fn name(&self) -> &'static str {
        self.field.name()
    }
}

/// Displayed as its sentence, with its default.
impl<C> fmt::Display for Setting<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sentence = self.docs.first().map_or("", |sentence| sentence.trim());
        let (sentence, default) = (sentence.trim_end_matches('.'), self.default.trim_matches('`'));
        write!(f, "{sentence} [default: {default}]")
    }
}

macro_rules! table {
    ($(#[$about:meta])* $TABLE:ident of $Config:ident; $(
        $(#[doc = $docs:literal])+
        $name:ident => $Field:ident { $($part:ident => $Part:ident $(: $Key:ident)?)* }
            [$($key:literal or $other:literal)?]
            $Kind:ident($set:ident, $example:literal $(, $default:literal $(, $Needs:ident)?)?);
    )*) => {
        $(#[$about])*
        pub static $TABLE: [Setting<$Config>; [$( Field::$Field ),*].len()] = [$(
            Setting {
                field: Field::$Field,
                kind: Kind::$Kind($Config::$set),
                parts: &[$( Field::$Part ),*],
                example: $example,
                default: concat!($( $default )?),
                docs: &[$( $docs ),+],
                needs: &[$( $( Needs::$Needs )? )?],
                keys: keys!($name $($key $other)? $( $($part $Key)? )*),
            },
        )*];
    };
}

macro_rules! policy {
    ($(
        $(#[$docs:meta])*
        $name:ident => $Field:ident $parts:tt $keys:tt $Kind:ident $words:tt;
    )*) => {
        /// Policies are equal if they behave the same: an explicit `max_delay` equals the same
        /// default.
        impl PartialEq for Policy {
            fn eq(&self, other: &Self) -> bool {
                self.get_max_delay() == other.get_max_delay()
                    && self.max_hedges == other.max_hedges
                    $( && (self.$name == other.$name || Field::$Field == Field::MaxDelay) )*
            }
        }

        impl Policy {
            /// Sets the options in `fields` to their values in `from`.
            #[doc(hidden)]
            pub fn copy(&mut self, from: &Self, fields: Fields) {
                $(
                    if fields.contains(Field::$Field) {
                        self.$name = from.$name;
                    }
                )*
                if fields.contains(Field::MaxHedges) {
                    self.max_hedges = from.max_hedges;
                }
            }

            /// Returns the time that is set for a field, if it takes one.
            #[doc(hidden)]
            pub fn time(&self, field: Field) -> Bound {
                match field {
                    $( Field::$Field => time!($Kind self.$name), )*
                    _ => Bound::None,
                }
            }
        }
    };
}

macro_rules! keys {
    ($name:ident $key:literal $other:literal) => { &[$key, $other] };
    ($name:ident $($part:ident $Key:ident)*) => { &[stringify!($name), $( stringify!($part) ),*] };
}

macro_rules! time {
    (Time $time:expr) => {
        Bound::from($time)
    };
    (Bound $bound:expr) => {
        $bound
    };
    (Hedge $bound:expr) => {
        $bound
    };
    ($Kind:ident $other:expr) => {
        Bound::None
    };
}

policy_options! {
    table! {
        /// The options of a policy, in the order in which they are listed.
        POLICY of Policy;
    }
}

breaker_settings! {
    table! {
        /// The settings of a breaker, in the order in which they are listed.
        BREAKER of BreakerConfig;
    }
}

quota_settings! {
    table! {
        /// The settings of a quota, in the order in which they are listed.
        QUOTA of QuotaConfig;
    }
}

policy_options!(policy! {});

impl Policy {
    const fn with_attempts(mut self, attempts: Attempts) -> Self {
        self.attempts = attempts;
        self
    }

    const fn with_hedges(mut self, (after, max): (Bound, Option<u32>)) -> Self {
        self.hedge = after;
        if let Some(max) = max {
            self.max_hedges = max;
        }
        self
    }
}
