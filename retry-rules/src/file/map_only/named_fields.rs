//! [`NamedFields`]: a map whose unknown keys are reported with the key that was meant.

use core::convert::Infallible;
use core::fmt;
use std::borrow::ToOwned as _;
use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, IntoDeserializer as _, MapAccess, Visitor};
use serde::{Deserialize as _, Deserializer, forward_to_deserialize_any};

use crate::foreign_names::{BACKOFF, BREAKER, ForeignName, QUOTA, RETRY, counts_retries};
use crate::rules::field::Field;
use crate::rules::messages::Style;
use crate::rules::options;
use crate::suggest::key_meant;

/// A map that is read as a struct, which names its fields.
pub(in crate::file) struct NamedFields<A>(pub(in crate::file) A);

impl<'de, A: MapAccess<'de>> Deserializer<'de> for NamedFields<A> {
    type Error = A::Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, A::Error> {
        visitor.visit_map(self.0)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(Entries { map: self.0, fields, at_first: true })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        MapAccessDeserializer::new(self.0).deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Entries<A> {
    map: A,
    fields: &'static [&'static str],
    at_first: bool,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Entries<A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, A::Error> {
        let Self { map, fields, at_first } = self;
        let key = Key { seed, fields, may_be_table: core::mem::take(at_first) };
        match map.next_key_seed(key)? {
            Some(Err(name)) => match map.next_value_seed(Unknown { name, fields })? {},
            key => Ok(key.and_then(Result::ok)),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

/// Reads a key, or returns its name if it is like no field and may be a table of settings.
struct Key<S> {
    seed: S,
    fields: &'static [&'static str],
    may_be_table: bool,
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Key<S> {
    type Value = Result<S::Value, String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<'de, S: DeserializeSeed<'de>> Visitor<'de> for Key<S> {
    type Value = Result<S::Value, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a setting")
    }

    fn visit_str<E: Error>(self, word: &str) -> Result<Self::Value, E> {
        let Self { seed, fields, may_be_table } = self;
        if may_be_table
            && !fields.contains(&word)
            && owner_of(word).is_none()
            && key_meant(word, fields, TABLES).is_none()
        {
            return Ok(Err(word.to_owned()));
        }
        seed.deserialize(word.into_deserializer()).map(Ok).map_err(|error| {
            if fields.contains(&word) { error } else { unknown_key(word, fields, error) }
        })
    }
}

/// The value of an unknown key, which is a mistake: if it has settings, of another kind.
struct Unknown {
    name: String,
    fields: &'static [&'static str],
}

impl<'de> DeserializeSeed<'de> for Unknown {
    type Value = Infallible;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Infallible, D::Error> {
        let Self { name, fields } = self;
        let inside = BTreeMap::<String, IgnoredAny>::deserialize(deserializer).unwrap_or_default();
        if !inside.keys().any(|key| fields.contains(&key.as_str())) {
            return Err(D::Error::unknown_field(&name, fields));
        }
        let instead = match Style::of_file::<D::Error>() {
            Style::Toml => format!(
                "remove the header `[{name}]`, or leave `.{name}` out of a longer one, such as \
                 `[retry.{name}]`"
            ),
            _ => format!("write them without the key `{name}`"),
        };
        Err(D::Error::custom(format!(
            "these settings are one level too deep, in `{name}`: {instead}; or read the file as a \
             struct with a field `{name}`"
        )))
    }
}

/// The names of settings in other libraries.
const TABLES: &[&[ForeignName]] = &[RETRY, BREAKER, QUOTA, BACKOFF];

/// Adds the key that was meant to the `error` about an unknown one. An error that is in words of its
/// reader stays as it is.
pub(in crate::file) fn unknown_key<E: Error>(key: &str, known: &[&str], error: E) -> E {
    let text = format!("{error}");
    let Some(rest) = text.trim_end().strip_prefix(&format!("unknown field `{key}`, ")) else {
        return error;
    };
    if let Some(owner) = owner_of(key).filter(|_| known.contains(&"attempts")) {
        return E::custom(format!(
            "unknown field `{key}`: it is a setting of a {owner}: move it to the settings of the \
             {owner}; {rest}"
        ));
    }
    match key_meant(key, known, TABLES) {
        Some(meant) if meant == "attempts" && counts_retries(key) => E::custom(format!(
            "unknown field `{key}`: `attempts` counts all calls, including the first, so it is one \
             more than the number of retries; {rest}"
        )),
        Some(meant) => {
            let meant = in_any_format(&meant);
            E::custom(format!("unknown field `{key}`: did you mean {meant}? {rest}"))
        }
        None => error,
    }
}

/// Returns the owner of a setting that is not part of a policy: a breaker or a quota.
fn owner_of(key: &str) -> Option<&'static str> {
    const QUOTA: [Field; 7] = [
        Field::Capacity,
        Field::RetryCost,
        Field::TimeoutCost,
        Field::ThrottlingCost,
        Field::SuccessRefund,
        Field::RefillPerSec,
        Field::Share,
    ];
    let is_of_breaker = options::BREAKER.iter().any(|setting| setting.name() == key);
    let is_of_quota = || QUOTA.iter().any(|field| field.name() == key);
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
    fn unknown_curve_is_reported_with_the_one_that_was_meant() {
        assert_meant::<Policy>(
            r#"{ "backoff": { "exponental": { "base": 2.0 } } }"#,
            "unknown variant `exponental`: did you mean `exponential`?",
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
