//! [`Field`]: the settings, with their names in the attribute.

use super::set::set;

/// Declares [`Field`], and for each section a module in which the fields are constants with the
/// names that people write: `policy::max_delay`. Rules of one section may read the fields of the
/// `other` as well.
macro_rules! fields {
    ($( $section:ident $(and $other:ident)? { $( $name:ident => $Field:ident, )* } )*) => {
        /// Something that a person writes: an option of the attribute, a key of a file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Field {
            $($(
                #[doc = concat!("`", stringify!($name), "` of a ", stringify!($section), ".")]
                $Field,
            )*)*
        }

        impl Field {
            /// All fields: of a policy, of a function, of a breaker, of a quota.
            pub const ALL: &'static [Self] = &[$($( Self::$Field, )*)*];

            /// Returns its name in the attribute, or else in files.
            ///
            /// ```
            /// assert_eq!(retry_rules::Field::MaxDelay.name(), "max_delay");
            /// ```
            pub const fn name(self) -> &'static str {
                match self {
                    $($( Self::$Field => stringify!($name), )*)*
                }
            }
        }

        $(
            #[allow(non_upper_case_globals, unused, reason = "as they are written; not all are in rules")]
            pub(crate) mod $section {
                use super::Field;
                $( pub(crate) use super::$other::*; )?

                $( pub(crate) const $name: Field = Field::$Field; )*
            }
        )*
    };
}

fields! {
    policy and function {
        attempts => Attempts,
        backoff => Backoff,
        base => Base,
        increment => Increment,
        delays => Delays,
        initial_delay => InitialDelay,
        max_delay => MaxDelay,
        first_delay => FirstDelay,
        jitter => Jitter,
        jitter_factor => JitterFactor,
        budget => Budget,
        deadline => Deadline,
        max_elapsed => MaxElapsed,
        max_retry_after => MaxRetryAfter,
        timeout => Timeout,
        hedge => Hedge,
        max_hedges => MaxHedges,
    }
    function {
        retry_on => RetryOn,
        abort_on => AbortOn,
        retry_after => RetryAfter,
        on_retry => OnRetry,
        cancel => Cancel,
        when_open => WhenOpen,
        quota => Quota,
    }
    breaker {
        failure_threshold => FailureThreshold,
        failure_rate => FailureRate,
        window_calls => WindowCalls,
        window_time => WindowTime,
        minimum_calls => MinimumCalls,
        slow_call => SlowCall,
        slow_rate => SlowRate,
        success_threshold => SuccessThreshold,
        timeout => OpenTimeout,
        timeout_growth => TimeoutGrowth,
        max_timeout => MaxTimeout,
        timeout_jitter => TimeoutJitter,
        half_open_requests => HalfOpenRequests,
        half_open_for => HalfOpenFor,
        half_open => HalfOpen,
        stage_time => StageTime,
        abandoned_after => AbandonedAfter,
        hold => Hold,
    }
    quota {
        capacity => Capacity,
        retry_cost => RetryCost,
        timeout_cost => TimeoutCost,
        throttling_cost => ThrottlingCost,
        refill_per_sec => RefillPerSec,
        success_refund => SuccessRefund,
        share => Share,
    }
}

set! {
    /// A set of fields.
    ///
    /// ```
    /// use retry_rules::{Field, Fields};
    ///
    /// let waits = Fields::from_slice(&[Field::InitialDelay, Field::Jitter]);
    /// assert!(waits.contains(Field::Jitter));
    /// ```
    pub struct Fields of Field;
}

impl Fields {
    /// Returns the set as a number, for [`from_bits`](Self::from_bits).
    #[doc(hidden)]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the set that [`bits`](Self::bits) came from, for expansions.
    #[doc(hidden)]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }
}
