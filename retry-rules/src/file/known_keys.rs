//! [`from_known_keys`]: keys that are checked before they are read.

use core::fmt;
use std::string::String;

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

    /// Returns why this key may only be `unlimited`, if that is so.
    fn only_unlimited(self, _key: &str) -> Option<String> {
        None
    }
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
        let entries = KnownEntries { map, keys: self.1, refused: None };
        CommandKeys::deserialize(MapAccessDeserializer::new(entries))
    }
}

/// The entries of a map of known keys.
struct KnownEntries<A, K> {
    map: A,
    keys: K,
    /// The reason why the next value may only be `unlimited`.
    refused: Option<String>,
}

impl<'de, A: MapAccess<'de>, K: Keys> MapAccess<'de> for KnownEntries<A, K> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        self.map.next_key_seed(KnownKey { seed, keys: self.keys, refused: &mut self.refused })
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(KnownValue(seed, self.refused.take()))
    }
}

/// Reads a value, which may only be `unlimited` if there is a reason.
struct KnownValue<V>(V, Option<String>);

impl<'de, V: DeserializeSeed<'de>> DeserializeSeed<'de> for KnownValue<V> {
    type Value = V::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        let Self(seed, Some(refused)) = self else { return self.0.deserialize(deserializer) };
        match String::deserialize(deserializer) {
            Ok(text) if text == "unlimited" => seed.deserialize(text.into_deserializer()),
            _ => Err(D::Error::custom(refused)),
        }
    }
}

struct KnownKey<'a, S, K> {
    seed: S,
    keys: K,
    refused: &'a mut Option<String>,
}

impl<'de, S: DeserializeSeed<'de>, K: Keys> DeserializeSeed<'de> for KnownKey<'_, S, K> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>, K: Keys> Visitor<'de> for KnownKey<'_, S, K> {
    type Value = S::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key, such as `attempts`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<S::Value, E> {
        let key = self.keys.key(word)?;
        *self.refused = self.keys.only_unlimited(key);
        self.seed.deserialize(key.into_deserializer())
    }
}
