//! [`Field`]: the settings, with their names in the attribute.

use super::option_rows::{breaker_settings, policy_options, quota_settings};
use super::set::set;

/// Declares [`Field`], and for each section a module in which the fields are constants with the
/// names that people write: `policy::max_delay`. Rules of one section may read the fields of the
/// `other` as well. The fields of a policy, of a breaker and of a quota are those of their rows.
macro_rules! fields {
    (
        { $($sections:tt)* }
        $(
            $(#[$docs:meta])*
            $name:ident => $Field:ident { $($part:ident => $Part:ident $(: $Key:ty)?)* }
                $keys:tt $Kind:ident $words:tt;
        )*
    ) => {
        quota_settings! {
            quota! {
                {
                    policy and function { $( $name => $Field $( $part => $Part )* )* }
                    $($sections)*
                }
            }
        }
    };
}

macro_rules! quota {
    (
        { $($sections:tt)* }
        $(
            $(#[$docs:meta])*
            $setting:ident => $Setting:ident $parts:tt $keys:tt $Kind:ident $words:tt;
        )*
    ) => {
        breaker_settings! {
            breaker! { { $($sections)* quota { $( $setting => $Setting )* } } }
        }
    };
}

macro_rules! breaker {
    (
        { $($sections:tt)* }
        $(
            $(#[$docs:meta])*
            $setting:ident => $Setting:ident $parts:tt $keys:tt $Kind:ident $words:tt;
        )*
    ) => {
        declare! { $($sections)* breaker { $( $setting => $Setting )* } }
    };
}

macro_rules! declare {
    ($( $section:ident $(and $other:ident)? { $( $name:ident => $Field:ident )* } )*) => {
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

policy_options! {
    fields! {
        {
            function {
                retry_on => RetryOn
                uncounted => Uncounted
                retry_after => RetryAfter
                wait_by => WaitBy
                on_retry => OnRetry
                cancel => Cancel
                when_open => WhenOpen
                quota => Quota
            }
        }
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
