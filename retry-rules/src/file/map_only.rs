//! Accepts settings only as a map. Derived serde code would also read a sequence, field by field:
//! `[7, "fixed"]` would be a policy.

use core::fmt;
use core::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

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
            T::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(Map { what, read: PhantomData })
}
