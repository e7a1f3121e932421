//! The keys that a type reads from a map, taken from the type itself: it receives an unknown key,
//! and its error names the known ones.

use std::fmt::{self, Display};
use std::iter::once;

use serde::de::value::MapDeserializer;
use serde::de::{self, DeserializeOwned, Deserializer, IntoDeserializer, Visitor};
use serde::forward_to_deserialize_any;

/// Returns the keys that `T` knows in the map below these keys, with all their names. There are
/// none where `T` reads something else.
pub(super) fn keys_of<T: DeserializeOwned>(below: &[&str]) -> &'static [&'static str] {
    T::deserialize(Probe(below)).err().map_or(&[], |Known(keys)| keys)
}

/// A map with one key: the next one of the path, or an unknown one.
#[derive(Clone, Copy)]
struct Probe<'a>(&'a [&'a str]);

/// The keys that an unknown one was compared with.
#[derive(Debug)]
struct Known(&'static [&'static str]);

impl<'de> Deserializer<'de> for Probe<'_> {
    type Error = Known;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        let (key, rest) = self.0.split_first().unwrap_or((&"", &[]));
        visitor.visit_map(MapDeserializer::new(once((*key, Probe(rest)))))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        visitor.visit_some(self)
    }

    /// A value that is not read has no keys; as a map, it would have no end.
    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Known> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string
        bytes byte_buf unit unit_struct newtype_struct seq tuple
        tuple_struct map struct enum identifier
    }
}

impl IntoDeserializer<'_, Known> for Probe<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl de::Error for Known {
    fn custom<T: Display>(_: T) -> Self {
        Self(&[])
    }

    fn unknown_field(_: &str, known: &'static [&'static str]) -> Self {
        Self(known)
    }
}

impl std::error::Error for Known {}

impl Display for Known {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the keys are {:?}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use retry_runtime::{Policy, RetryConfig};

    use super::keys_of;

    #[test]
    fn a_type_names_its_keys_with_their_other_names() {
        let keys = keys_of::<RetryConfig>(&[]);
        for key in ["attempts", "max_attempts", "budget", "retry_on"] {
            assert!(keys.contains(&key), "{keys:?}");
        }
        assert_eq!(keys_of::<Policy>(&[]), keys, "a policy is read from the same keys");
    }

    #[test]
    fn a_type_that_is_not_a_map_has_no_keys() {
        assert!(keys_of::<u32>(&[]).is_empty());
        assert!(keys_of::<RetryConfig>(&["attempts"]).is_empty());
    }
}
