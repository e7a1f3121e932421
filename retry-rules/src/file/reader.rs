//! Reads the entries of a map, one after the other, so that each mistake is reported where it is.
//!
//! Messages are for files in any format. An error type for values on one line, such as environment
//! variables, formats them with `{:#}`, and one for the YAML of the command with `{:-}`.

use core::convert::Infallible;
use core::fmt;
use std::borrow::ToOwned as _;
use std::boxed::Box;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use serde::de::value::StringDeserializer;
use serde::de::{Deserialize as _, Deserializer, Unexpected};
use serde::de::{DeserializeSeed, Error, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor};

use crate::foreign_names::{BACKOFF, BREAKER, ForeignName, QUOTA, RETRY, counts_retries};
use crate::rules::options;
use crate::suggest::key_meant;

/// Settings that are read from the entries of a map.
#[doc(hidden)]
pub trait Keys {
    /// Returns the keys that the map may have, with all their names.
    fn keys(&self) -> &'static [&'static str];

    /// Reads the value of one of these keys.
    ///
    /// # Errors
    /// The value is invalid, or contradicts an earlier one.
    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error>;

    /// Returns the key of this name.
    ///
    /// # Errors
    /// There is none: the message about that.
    fn key(&self, word: &str) -> Result<&'static str, Message> {
        let known = self.keys();
        let key = known.iter().find(|key| **key == word).copied();
        key.ok_or_else(|| Box::new(UnknownKey { word: word.to_owned(), known }) as Message)
    }

    /// Returns whether an unknown first key may be the name of a table with all settings.
    fn may_be_table(&self, word: &str) -> bool {
        owner_of(word).is_none() && hint(word, self.keys()).is_none()
    }
}

/// A message that is formatted by the error type.
pub type Message = Box<dyn fmt::Display>;

/// Reads settings from a map. `what` describes the map.
///
/// # Errors
/// It is not a map, has an unknown key, a key twice, or an invalid value.
pub fn read<'de, K: Keys, D: Deserializer<'de>>(
    keys: K,
    what: &'static str,
    deserializer: D,
) -> Result<K, D::Error> {
    deserializer.deserialize_map(Settings { keys, what })
}

struct Settings<K> {
    keys: K,
    what: &'static str,
}

impl<'de, K: Keys> Visitor<'de> for Settings<K> {
    type Value = K;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<K, A::Error> {
        read_entries(self.keys, map)
    }
}

pub(super) fn read_entries<'de, K: Keys, A: MapAccess<'de>>(
    mut keys: K,
    mut map: A,
) -> Result<K, A::Error> {
    let mut seen = Vec::new();
    while let Some(key) = map.next_key_seed(KeySeed { keys: &keys, seen: &seen })? {
        match key {
            Ok(key) => {
                keys.read(key, &mut map)?;
                seen.push(key);
            }
            Err(name) => match map.next_value_seed(UnknownTable { name, keys: &keys })? {},
        }
    }
    Ok(keys)
}

/// Keys with a second name.
const SPELLINGS: [(&str, &str); 4] = [
    ("attempts", "max_attempts"),
    ("retry_budget", "budget"),
    ("initial", "delay"),
    ("base", "multiplier"),
];

/// Returns the first name of the setting that has this key.
pub fn first_name(key: &str) -> &str {
    SPELLINGS.iter().find(|(_, other)| *other == key).map_or(key, |(first, _)| first)
}

/// Reads a key, or returns its name if it may be a table of settings.
struct KeySeed<'a, K> {
    keys: &'a K,
    seen: &'a [&'static str],
}

impl<'de, K: Keys> DeserializeSeed<'de> for KeySeed<'_, K> {
    type Value = Result<&'static str, String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<K: Keys> Visitor<'_> for KeySeed<'_, K> {
    type Value = Result<&'static str, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a setting")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        let Self { keys, seen } = self;
        match keys.key(word) {
            Ok(key) if seen.iter().any(|seen| first_name(seen) == first_name(key)) => {
                Err(E::custom(format_args!("duplicate field `{}`", first_name(key))))
            }
            Ok(key) => Ok(Ok(key)),
            Err(_) if seen.is_empty() && keys.may_be_table(word) => Ok(Err(word.to_owned())),
            Err(message) => Err(E::custom(message)),
        }
    }
}

/// The value of an unknown key, which is a mistake: if it has settings, of another kind.
struct UnknownTable<'a, K> {
    name: String,
    keys: &'a K,
}

impl<'de, K: Keys> DeserializeSeed<'de> for UnknownTable<'_, K> {
    type Value = Infallible;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Infallible, D::Error> {
        let Self { name, keys } = self;
        let known = keys.keys();
        let inside = BTreeMap::<String, IgnoredAny>::deserialize(deserializer).unwrap_or_default();
        if !inside.keys().any(|key| known.contains(&key.as_str())) {
            return Err(D::Error::unknown_field(&name, known));
        }
        Err(D::Error::custom(format_args!(
            "these settings are one level too deep, in `{name}`: write them without the key \
             `{name}`; or read the file as a struct with a field `{name}`. In TOML, the key is the \
             header `[{name}]`, or the `.{name}` of a longer one, such as `[retry.{name}]`"
        )))
    }
}

/// The names of settings in other libraries.
const TABLES: &[&[ForeignName]] = &[RETRY, BREAKER, QUOTA, BACKOFF];

/// A key that is not one of the known ones.
struct UnknownKey {
    word: String,
    known: &'static [&'static str],
}

impl fmt::Display for UnknownKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { word, known } = self;
        let known_keys = format!("expected one of `{}`", known.join("`, `"));
        match (hint(word, known), f.sign_minus()) {
            (Some(hint), true) => write!(f, "unknown key `{word}`: {hint}"),
            (None, true) => write!(f, "unknown key `{word}`: {known_keys}"),
            (Some(hint), false) => write!(f, "unknown field `{word}`: {hint} {known_keys}"),
            (None, false) => write!(f, "unknown field `{word}`, {known_keys}"),
        }
    }
}

/// Returns what an unknown key probably means.
fn hint(word: &str, known: &[&str]) -> Option<String> {
    if let Some(owner) = owner_of(word).filter(|_| known.contains(&"attempts")) {
        return Some(format!(
            "it is a setting of a {owner}: move it to the settings of the {owner};"
        ));
    }
    let meant = key_meant(word, known, TABLES)?;
    Some(if meant == "attempts" && counts_retries(word) {
        "`attempts` counts all calls, including the first, so it is one more than the number of \
         retries;"
            .to_owned()
    } else {
        format!("did you mean {}?", in_any_format(&meant))
    })
}

/// Returns the owner of a setting that is not part of a policy: a breaker or a quota.
fn owner_of(key: &str) -> Option<&'static str> {
    let is_of_breaker = options::BREAKER.iter().any(|setting| setting.name() == key);
    let is_of_quota = || options::QUOTA.iter().any(|setting| setting.name() == key);
    is_of_breaker.then_some("breaker").or_else(|| is_of_quota().then_some("quota"))
}

/// Returns a key that was meant, with the example of its value, in words for all formats of files.
fn in_any_format(meant: &str) -> String {
    if meant.contains('{') {
        // `backoff: { exponential: { base: 2.0 } }` becomes `base` in `exponential` in `backoff`.
        let words = meant.split(|c: char| !(c.is_alphanumeric() || "_.".contains(c)));
        let mut keys: Vec<_> = words.filter(|word| !word.is_empty()).collect();
        keys.truncate(keys.len() - 1);
        keys.reverse();
        return format!("`{}`", keys.join("` in `"));
    }
    let settings = meant.split(", ").map(|setting| match setting.split_once(": ") {
        Some((key, value)) => format!("`{key}` (such as {value})"),
        None => format!("`{setting}`"),
    });
    settings.collect::<Vec<_>>().join(" and ")
}

/// The entries of a map whose first key has been read.
pub(super) struct Entries<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> Entries<A> {
    pub(super) fn new(mut map: A) -> Result<Self, A::Error> {
        Ok(Self { first: map.next_key()?, map })
    }

    pub(super) fn first(&self) -> Option<&str> {
        self.first.as_deref()
    }

    /// Returns the number that the map stands for. A format that keeps all digits of a number
    /// passes it as a map of one entry: a key that begins with `$`, and the number's text.
    pub(super) fn number(&mut self) -> Result<Option<f64>, A::Error> {
        if self.first.take_if(|key| key.starts_with('$')).is_none() {
            return Ok(None);
        }
        let text = self.map.next_value::<String>()?;
        text.parse()
            .map(Some)
            .map_err(|_| A::Error::invalid_value(Unexpected::Str(&text), &"a number"))
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => {
                let first: StringDeserializer<A::Error> = first.into_deserializer();
                seed.deserialize(first).map(Some)
            }
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString as _;

    use crate::{BreakerConfig, Policy, QuotaConfig};

    #[track_caller]
    fn assert_meant<T: serde::de::DeserializeOwned>(file: &str, message: &str) {
        let error = serde_json::from_str::<T>(file).err().expect("an unknown key").to_string();
        assert!(error.starts_with(message), "{error}");
        assert!(error.contains("expected one of `"), "{error}");
    }

    #[test]
    fn unknown_key_is_reported_with_the_one_that_was_meant() {
        assert_meant::<Policy>(
            r#"{ "attemts": 5 }"#,
            "unknown field `attemts`: did you mean `attempts`?",
        );
        assert_meant::<Policy>(
            r#"{ "max_interval": "5s" }"#,
            "unknown field `max_interval`: did you mean `max_delay`?",
        );
        assert_meant::<Policy>(
            r#"{ "multiplier": 2.0 }"#,
            "unknown field `multiplier`: did you mean `base` in `exponential` in `backoff`?",
        );
        assert_meant::<Policy>(
            r#"{ "wait_fixed": 2.0 }"#,
            "unknown field `wait_fixed`: did you mean `backoff` (such as fixed) and \
             `initial_delay` (such as 1s)?",
        );
        assert_meant::<BreakerConfig>(
            r#"{ "failure_rate_threshold": 50 }"#,
            "unknown field `failure_rate_threshold`: did you mean `failure_rate` (such as 0.5)?",
        );
        assert_meant::<Policy>(
            r#"{ "backoff": { "exponential": { "bas": 2.0 } } }"#,
            "unknown field `bas`: did you mean `base`?",
        );
        assert_meant::<Policy>(
            r#"{ "backoff": { "type": "linear", "incremnt": "1s" } }"#,
            "unknown field `incremnt`: did you mean `increment`?",
        );
        assert_meant::<BreakerConfig>(
            r#"{ "reset_timeout": "30s" }"#,
            "unknown field `reset_timeout`: did you mean `timeout`?",
        );
        assert_meant::<QuotaConfig>(
            r#"{ "max_tokens": 100 }"#,
            "unknown field `max_tokens`: did you mean `capacity`?",
        );
    }

    #[test]
    fn setting_of_a_breaker_or_a_quota_is_reported_with_its_owner() {
        assert_meant::<Policy>(
            r#"{ "failure_threshold": 5 }"#,
            "unknown field `failure_threshold`: it is a setting of a breaker",
        );
        assert_meant::<Policy>(
            r#"{ "refill_per_sec": 5 }"#,
            "unknown field `refill_per_sec`: it is a setting of a quota",
        );
    }

    #[test]
    fn key_that_counts_retries_says_so() {
        assert_meant::<Policy>(
            r#"{ "max_retries": 3 }"#,
            "unknown field `max_retries`: `attempts` counts all calls, including the first",
        );
    }

    #[test]
    fn settings_one_level_too_deep_are_reported_as_such() {
        let message = |file| serde_json::from_str::<Policy>(file).unwrap_err().to_string();
        let too_deep = message(r#"{ "http": { "attempts": 5, "jitter": true } }"#);
        assert!(
            too_deep.starts_with(
                "these settings are one level too deep, in `http`: write them without the key \
                 `http`; or read the file as a struct with a field `http`"
            ),
            "{too_deep}"
        );
        let other = message(r#"{ "http": { "port": 80 } }"#);
        assert!(other.starts_with("unknown field `http`, expected one of"), "{other}");
    }

    #[test]
    fn key_that_is_like_no_other_lists_them() {
        assert_meant::<Policy>(r#"{ "zzz": 1 }"#, "unknown field `zzz`, expected one of");
    }
}
