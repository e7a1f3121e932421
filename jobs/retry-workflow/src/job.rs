//! Jobs: what a store keeps of one, how a job handles failures, and what it reports while it runs
//! and at its end.

/// Implements a trait of values for a setting: for these types, and for texts, which are parsed.
macro_rules! setting_value {
    ($name:ident::$into:ident -> $result:ty, from $($value:ty),+) => {
        $(
            impl $name for $value {
                fn $into(self) -> $result {
                    Ok(self.into())
                }
            }

            impl sealed::Sealed for $value {}
        )+

        impl $name for &str {
            fn $into(self) -> $result {
                self.parse()
            }
        }

        impl $name for String {
            fn $into(self) -> $result {
                self.parse()
            }
        }

        mod sealed {
            pub trait Sealed {}

            impl Sealed for &str {}
            impl Sealed for String {}
        }
    };
}

pub(crate) mod name;
pub(crate) mod worker_record;
pub(crate) mod record;
pub(crate) mod breaker_record;
pub(crate) mod moment;
pub(crate) mod rate;
pub(crate) mod rate_record;
pub(crate) mod copy;
pub(crate) mod error_policy;
pub(crate) mod dependencies;
pub(crate) mod event;
#[cfg(feature = "metrics")]
pub mod metrics;
pub(crate) mod error;
pub(crate) mod advice;
pub(crate) mod report;
pub(crate) mod waits;

pub use retry_runtime::{State, Transition};

pub use self::advice::Pattern;
#[doc(hidden)]
pub use self::breaker_record::BreakerRecord;
pub use self::copy::{Copied, CopyError};
pub use self::dependencies::{Dependencies, InvalidGraph};
#[doc(hidden)]
pub use self::error_policy::ErrorPolicyKeys;
pub use self::error_policy::{ErrorCollection, InvalidErrorPolicy, OnOpen};
pub use self::moment::{IntoMoment, InvalidMoment, Moment};
pub use self::name::InvalidName;
pub use self::rate::{IntoRates, InvalidRate, Rates};
#[doc(hidden)]
pub use self::rate_record::RateRecord;
pub use self::record::{PendingRequest, Request};
pub use self::report::Unit;
#[doc(hidden)]
pub use self::waits::Waits;
pub use self::worker_record::Throttle;
#[doc(hidden)]
pub use self::worker_record::WorkerRecord;
pub use crate::item::clock::InvalidTimestamp;
