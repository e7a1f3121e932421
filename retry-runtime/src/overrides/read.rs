//! Overrides from any serde format. Each mistake is raised while the reader is at its place, so
//! that readers that track lines can report it.

use core::fmt;

use retry_rules::file::CommandKeys;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::OverridesError;
use super::layer::{Checked, Layer};
use super::names::{self, Target};

/// Reads and checks overrides.
pub(super) fn checked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Checked, D::Error> {
    deserializer.deserialize_map(Whole)
}

/// The visitor of the whole file: a map of function names to their keys.
struct Whole;

impl<'de> Visitor<'de> for Whole {
    type Value = Checked;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a map of functions, each with a map of the settings to change, such as { attempts: 2 \
             }",
        )
    }

    /// For a file in which everything is commented out.
    fn visit_unit<E: Error>(self) -> Result<Checked, E> {
        Ok(Checked::default())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Checked, A::Error> {
        let mut layer = Layer::default();
        while let Some(target) = map.next_key_seed(Name { layer: &layer })? {
            let keys = map.next_value_seed(Keys { target, layer: &layer })?;
            layer.insert(target, keys);
        }
        // Mostly caused by `"*"`, and then for many functions; readers show only one line.
        Checked::of(vec![layer]).map_err(|unsuitable| match &unsuitable[..] {
            [first, others @ ..] if !others.is_empty() => A::Error::custom(format_args!(
                "{first}; and {} more, of other functions",
                others.len()
            )),
            all => A::Error::custom(OverridesError::of_functions(all)),
        })
    }
}

/// The target of the next keys.
struct Name<'a> {
    layer: &'a Layer,
}

impl<'de> DeserializeSeed<'de> for Name<'_> {
    type Value = Target;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Target, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Name<'_> {
    type Value = Target;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a function with #[retry], or \"*\"")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Target, E> {
        let target = Target::by(word).map_err(E::custom)?;
        if self.layer.contains(target) {
            return Err(E::custom(format_args!("`{word}` appears twice: keep one")));
        }
        Ok(target)
    }
}

/// The keys to change, checked as soon as they have been read.
struct Keys<'a> {
    target: Target,
    layer: &'a Layer,
}

impl<'de> DeserializeSeed<'de> for Keys<'_> {
    type Value = CommandKeys;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<CommandKeys, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Keys<'_> {
    type Value = CommandKeys;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of the settings to change, such as { attempts: 2 }")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<CommandKeys, A::Error> {
        let keys = CommandKeys::deserialize(MapAccessDeserializer::new(KnownKeys(map)))?;
        self.layer.check_insert(self.target, &keys).map_err(A::Error::custom)?;
        Ok(keys)
    }
}

/// A map that rejects keys that cannot be changed, with our own message.
struct KnownKeys<A>(A);

impl<'de, A: MapAccess<'de>> MapAccess<'de> for KnownKeys<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        self.0.next_key_seed(KnownKey(seed))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.0.next_value_seed(seed)
    }
}

struct KnownKey<K>(K);

impl<'de, K: DeserializeSeed<'de>> DeserializeSeed<'de> for KnownKey<K> {
    type Value = K::Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<K::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, K: DeserializeSeed<'de>> Visitor<'de> for KnownKey<K> {
    type Value = K::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key, such as `attempts`")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<K::Value, E> {
        let key = names::key(word).map_err(E::custom)?;
        self.0.deserialize(key.into_deserializer())
    }
}
