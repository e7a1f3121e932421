//! Accepts settings only as a map. Derived serde code would also read a sequence, field by field:
//! `[7, "fixed"]` would be a policy.

mod named_fields;

use core::fmt;
use core::marker::PhantomData;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

pub(super) use self::named_fields::{NamedFields, unknown_key};

/// Reads a `T` from a map only. `what` describes what was expected.
///
/// # Errors
/// It is not a map, or `T` rejects it.
pub fn from_map<'de, T, D>(deserializer: D, what: &'static str) -> Result<T, D::Error>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    struct Map<T> {
        what: &'static str,
        read: PhantomData<T>,
    }

    impl<'de, T: Deserialize<'de>> Visitor<'de> for Map<T> {
        type Value = T;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.what)
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
            T::deserialize(NamedFields(map))
        }
    }

    deserializer.deserialize_map(Map { what, read: PhantomData })
}

/// Implements the reading of a policy in a style of its own, from its keys.
macro_rules! style {
    ($Style:ident of $Keys:ident, $what:literal) => {
        impl<'de> Deserialize<'de> for $Style {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_map::<$Keys, D>(deserializer, $what)?.try_into().map_err(D::Error::custom)
            }
        }

        impl From<$Style> for Policy {
            fn from(style: $Style) -> Self {
                style.0
            }
        }

        impl TryFrom<$Keys> for $Style {
            type Error = InvalidKeys;

            fn try_from(keys: $Keys) -> Result<Self, InvalidKeys> {
                keys.policy().map(Self)
            }
        }
    };
}

pub(super) use style;
