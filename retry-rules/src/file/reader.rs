//! Reads the entries of a map, one after the other, so that each mistake is reported where it is.

use core::fmt;
use std::format;
use std::string::String;
use std::vec::Vec;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};

use crate::foreign_names::{BACKOFF, BREAKER, ForeignName, QUOTA, RETRY, counts_retries};
use crate::rules::options;
use crate::suggest::{instead, key_meant, shortened};

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
    /// There is none.
    fn key<E: Error>(&self, word: &str) -> Result<&'static str, E> {
        let (word, known) = (&*shortened(word), self.keys());
        let key = known.iter().find(|key| **key == word).copied();
        key.ok_or_else(|| E::custom(format_args!("unknown key `{word}`{}", hint(word, known))))
    }
}

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
        keys.read(key, &mut map)?;
        seen.push(key);
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

/// Reads a key.
struct KeySeed<'a, K> {
    keys: &'a K,
    seen: &'a [&'static str],
}

impl<'de, K: Keys> DeserializeSeed<'de> for KeySeed<'_, K> {
    type Value = &'static str;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<K: Keys> Visitor<'_> for KeySeed<'_, K> {
    type Value = &'static str;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a setting")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        let key = self.keys.key(word)?;
        let same = self.seen.iter().find(|seen| first_name(seen) == first_name(key));
        same.map_or(Ok(key), |seen| Err(twice(seen, key)))
    }
}

/// Returns the error about a key that is set again, perhaps by another name.
pub(super) fn twice<E: Error>(seen: &str, key: &str) -> E {
    if seen != key {
        return E::custom(format_args!("`{seen}` and `{key}` are one setting: remove one of them"));
    }
    E::custom(format_args!("duplicate field `{key}`"))
}

/// The names of settings in other libraries.
const TABLES: &[&[ForeignName]] = &[RETRY, BREAKER, QUOTA, BACKOFF];

/// Returns what an unknown key probably means, or else the known ones.
fn hint(word: &str, known: &[&str]) -> String {
    let is_policy = known.contains(&"attempts");
    let is_of_breaker = options::BREAKER.iter().any(|setting| setting.name() == word);
    let is_of_quota = options::QUOTA.iter().any(|setting| setting.name() == word);
    if is_policy && (is_of_breaker || is_of_quota) {
        let owner = if is_of_breaker { "breaker" } else { "quota" };
        return format!(": it is a setting of a {owner}: move it to the settings of the {owner}");
    }
    let why = match word {
        "retry_on" | "abort_on" | "uncounted" => {
            "it is not part of a bare policy: remove it, or read a `RetryConfig`"
        }
        "on_failure" => {
            "it is code: remove it here and write it in the attribute, as in `on_failure = \
             fallback(f)`"
        }
        "breaker" | "circuit_breaker" | "quota" => {
            "it is not part of a policy: move it to a table of its own, a `BreakerConfig`"
        }
        "enabled" | "disabled" => "remove it: a policy that never retries has 1 as its `attempts`",
        word if counts_retries(word) => {
            "`attempts` counts all calls, including the first, so it is one more than the number \
             of retries"
        }
        _ => "",
    };
    if is_policy && !why.is_empty() {
        return format!(": {why}");
    }
    let meant = key_meant(word, known, TABLES);
    instead(meant.as_deref(), known, "the documentation of the type that is read")
}

#[cfg(test)]
mod tests {
    use std::string::ToString as _;

    use crate::{BreakerConfig, Policy, QuotaConfig};

    #[track_caller]
    fn assert_meant<T: serde::de::DeserializeOwned>(file: &str, message: &str) {
        let error = serde_json::from_str::<T>(file).err().expect("an unknown key").to_string();
        assert!(error.starts_with(message), "{error}");
    }

    #[test]
    fn unknown_key_is_reported_with_the_one_that_was_meant() {
        assert_meant::<Policy>(
            r#"{ "attemts": 5 }"#,
            "unknown key `attemts`: did you mean `attempts`?",
        );
        assert_meant::<Policy>(
            r#"{ "max_interval": "5s" }"#,
            "unknown key `max_interval`: did you mean `max_delay`?",
        );
        assert_meant::<Policy>(
            r#"{ "multiplier": 2.0 }"#,
            "unknown key `multiplier`: did you mean `backoff: { exponential: { base: 2.0 } }`?",
        );
        assert_meant::<Policy>(
            r#"{ "wait_fixed": 2.0 }"#,
            "unknown key `wait_fixed`: did you mean `backoff: fixed, initial_delay: 1s`?",
        );
        assert_meant::<BreakerConfig>(
            r#"{ "failure_rate_threshold": 50 }"#,
            "unknown key `failure_rate_threshold`: did you mean `failure_rate: 0.5`?",
        );
        assert_meant::<Policy>(
            r#"{ "backoff": { "exponential": { "bas": 2.0 } } }"#,
            "unknown key `bas`: did you mean `base`?",
        );
        assert_meant::<Policy>(
            r#"{ "backoff": { "type": "linear", "incremnt": "1s" } }"#,
            "unknown key `incremnt`: did you mean `increment`?",
        );
        assert_meant::<BreakerConfig>(
            r#"{ "reset_timeout": "30s" }"#,
            "unknown key `reset_timeout`: did you mean `timeout`?",
        );
        assert_meant::<QuotaConfig>(
            r#"{ "max_tokens": 100 }"#,
            "unknown key `max_tokens`: did you mean `capacity`?",
        );
    }

    #[test]
    fn setting_of_a_breaker_or_a_quota_is_reported_with_its_owner() {
        assert_meant::<Policy>(
            r#"{ "failure_threshold": 5 }"#,
            "unknown key `failure_threshold`: it is a setting of a breaker",
        );
        assert_meant::<Policy>(
            r#"{ "refill_per_sec": 5 }"#,
            "unknown key `refill_per_sec`: it is a setting of a quota",
        );
    }

    #[test]
    fn key_that_counts_retries_says_so() {
        assert_meant::<Policy>(
            r#"{ "max_retries": 3 }"#,
            "unknown key `max_retries`: `attempts` counts all calls, including the first",
        );
    }

    #[test]
    fn key_that_is_like_no_other_names_the_list() {
        assert_meant::<Policy>(r#"{ "zzz": 1 }"#, "unknown key `zzz`: the documentation ");
    }
}
