//! Overrides from any serde format. Each mistake is raised while the reader is at its place, so
//! that readers that track lines can report it.

use core::fmt;

use retry_rules::file::{self, Draft, Keys};
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
            let changes = map.next_value_seed(ChangesSeed { target, layer: &layer })?;
            layer.insert(target, changes);
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
struct ChangesSeed<'a> {
    target: Target,
    layer: &'a Layer,
}

impl<'de> DeserializeSeed<'de> for ChangesSeed<'_> {
    type Value = Draft;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Draft, D::Error> {
        let what = "a map of the settings to change, such as { attempts: 2 }";
        let changes = Changes { target: self.target, draft: Draft::default() };
        let Changes { draft, .. } = file::read(changes, what, deserializer)?;
        self.layer.check_insert(self.target, draft).map_err(D::Error::custom)?;
        Ok(draft)
    }
}

/// The changes to one target; unknown keys are rejected with our own message.
struct Changes {
    target: Target,
    draft: Draft,
}

impl Keys for Changes {
    fn keys(&self) -> &'static [&'static str] {
        self.draft.keys()
    }

    fn key<E: Error>(&self, word: &str) -> Result<&'static str, E> {
        names::key(word).map_err(E::custom)
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        self.draft.read_checked(key, map, |draft| layer::check_absent(self.target, draft))
    }
}
