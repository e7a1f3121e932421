//! [`from_known_keys`]: keys that are checked before they are read.

use core::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::command::CommandKeys;

/// The keys that a map may have.
pub trait Keys: Copy {
    /// Returns the key of this name.
    ///
    /// # Errors
    /// There is none.
    fn key<E: Error>(self, word: &str) -> Result<&'static str, E>;
}

/// Reads a map of `keys`, each of which is checked where it is. `what` describes the map.
///
/// # Errors
/// It is not a map, a key is not one of these, or a value cannot be read.
pub fn from_known_keys<'de, D: Deserializer<'de>>(
    deserializer: D,
    what: &'static str,
    keys: impl Keys,
) -> Result<CommandKeys, D::Error> {
    deserializer.deserialize_map(KnownKeys(what, keys))
}

struct KnownKeys<T, K>(T, K);

impl<'de, K: Keys> Visitor<'de> for KnownKeys<&'static str, K> {
    type Value = CommandKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CommandKeys, A::Error> {
        CommandKeys::deserialize(MapAccessDeserializer::new(KnownKeys(map, self.1)))
    }
}

impl<'de, A: MapAccess<'de>, K: Keys> MapAccess<'de> for KnownKeys<A, K> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.0.next_key_seed(KnownKey(seed, self.1))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

struct KnownKey<S, K>(S, K);

impl<'de, S: DeserializeSeed<'de>, K: Keys> DeserializeSeed<'de> for KnownKey<S, K> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>, K: Keys> Visitor<'de> for KnownKey<S, K> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key, such as `attempts`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<S::Value, E> {
        self.0.deserialize(self.1.key(word)?.into_deserializer())
    }
}
