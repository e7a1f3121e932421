//! Overrides from any serde format. Each mistake is raised while the reader is at its place, so
//! that readers that track lines can report it.

use core::fmt;

use retry_rules::file::{self, CommandKeys};
use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, Visitor};

use super::error::OverridesError;
use super::layer::{self, Checked, Layer};
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
        let what = "a map of the settings to change, such as { attempts: 2 }";
        let keys = file::from_known_keys(deserializer, what, ChangeableKeys(self.target))?;
        self.layer.check_insert(self.target, &keys).map_err(D::Error::custom)?;
        Ok(keys)
    }
}

/// The keys that can be changed; others are rejected with our own message.
#[derive(Clone, Copy)]
struct ChangeableKeys(Target);

impl file::Keys for ChangeableKeys {
    fn key<E: Error>(self, word: &str) -> Result<&'static str, E> {
        names::key(word).map_err(E::custom)
    }

    fn only_unlimited(self, key: &str) -> Option<String> {
        layer::absent_key(self.0, key)
    }
}
