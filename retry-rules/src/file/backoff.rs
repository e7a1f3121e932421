//! A backoff in a file: a bare name, or a name with its settings.
//!
//! - `fixed`, `{ fixed: null }`, `{ linear: { increment: "2s" } }`
//! - `{ custom: { delays: ["500ms", { secs: 3, nanos: 0 }] } }`, `{ custom: ["500ms", "3s"] }`
//! - with the first wait inside, in the workflow style: `{ fixed: { delay: "2s" } }`
//! - with the name as one of the settings: `{ type: exponential, initial: "1s" }`

use core::fmt;
use core::time::Duration;
use std::borrow::ToOwned as _;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

use serde::de::value::SeqAccessDeserializer;
use serde::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Span;
use super::config_keys::Number;
use super::map_only::{NamedFields, unknown_key};
use super::scalar::float_or_map;
use crate::foreign_names::BACKOFF;
use crate::policy::backoff::Backoff;
use crate::rules::messages::Style;
use crate::suggest::{key_meant, meant, unknown_choice, unknown_word};

/// The curves; the settings of each, with all their names; and those that it requires.
#[doc(hidden)]
pub const CURVES: [(&str, &[&str], &[&str]); 5] = [
    ("fixed", &["initial", "delay"], &[]),
    ("linear", &["initial", "delay", "increment"], &["increment"]),
    ("exponential", &["initial", "delay", "base", "multiplier"], &[]),
    ("fibonacci", &["initial", "delay"], &[]),
    ("custom", &["delays"], &["delays"]),
];

const NAMES: &[&str] = &{
    let mut names = [""; CURVES.len()];
    let mut next = 0;
    while next < names.len() {
        names[next] = CURVES[next].0;
        next += 1;
    }
    names
};

/// The backoff in a file, with the first wait if it is given inside.
#[derive(Clone, Copy, Debug)]
pub(super) struct BackoffKey {
    pub(super) backoff: Backoff,
    pub(super) initial: Option<Duration>,
}

/// Reads the value after the name of a backoff: its settings, or nothing.
struct SettingsOf<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for SettingsOf<'_> {
    type Value = Inside;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Inside, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for SettingsOf<'_> {
    type Value = Inside;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the settings of the backoff, such as { base: 2.0 } of an exponential one, or \
             { increment: \"2s\" } of a linear one",
        )
    }

    fn visit_none<E: Error>(self) -> Result<Inside, E> {
        Ok(Inside::default())
    }

    fn visit_unit<E: Error>(self) -> Result<Inside, E> {
        Ok(Inside::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Inside, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Inside, A::Error> {
        float_or_map(self, map, |_, map| Inside::deserialize(NamedFields(map)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Inside, A::Error> {
        if self.0 != "custom" {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let delays = Vec::deserialize(SeqAccessDeserializer::new(list))?;
        Ok(Inside { delays: Some(delays), ..Inside::default() })
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Inside, E> {
        Err(E::custom(instead_of::<E>(self.0, value)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Inside, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Inside, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Inside, E> {
        self.visit_str(&format!("{number:?}"))
    }
}

/// Returns what to write for a curve with this text as its settings, such as `base = 3.0`.
fn instead_of<E>(curve: &str, settings: &str) -> String {
    let number_or_text = |value: &str| {
        let value = value.trim().trim_matches('"');
        if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("\"{value}\"") }
    };
    let (key, value) = match settings.split_once(['=', ':']) {
        Some((key, value)) => (Some(key.trim()), value),
        None => (None, settings),
    };
    let value = value.split(',').map(number_or_text).collect::<Vec<_>>().join(", ");
    let key = match (curve, key) {
        ("fixed" | "fibonacci", _) => {
            return format!(
                "the wait of a `{curve}` backoff is a key of its own: set `backoff` to \
                 \"{curve}\" and `initial_delay` to {value}"
            );
        }
        ("custom", _) => {
            let written = as_map::<E>(&format!("{{ custom: {{ delays: [{value}] }} }}"));
            return format!("a custom backoff has a list of `delays`: write {written}");
        }
        (_, Some(key)) => key,
        ("linear", None) => "increment",
        (_, None) => "base",
    };
    let written = as_map::<E>(&format!("{{ {curve}: {{ {key}: {value} }} }}"));
    format!("the settings of the `{curve}` backoff are a map: write {written}")
}

/// Returns a map as it is written in the format of the file, as far as the type of its reader's
/// errors reveals it.
fn as_map<E>(map: &str) -> String {
    let reader = core::any::type_name::<E>();
    let in_toml = map.replace(": ", " = ");
    if Style::of_file::<E>() == Style::Toml {
        format!("`{in_toml}`")
    } else if ["yaml", "saphyr", "json"].iter().any(|format| reader.contains(format)) {
        format!("`{map}`")
    } else {
        format!("`{map}`, in TOML `{in_toml}`")
    }
}

/// All settings that a backoff may have inside, with all their names.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Inside {
    #[serde(alias = "delay")]
    initial: Option<Span>,
    increment: Option<Span>,
    #[serde(alias = "multiplier")]
    base: Option<Number>,
    delays: Option<Vec<Span>>,
}

impl Inside {
    fn into_key<E: Error>(self, name: &str) -> Result<BackoffKey, E> {
        let settings = CURVES.iter().find(|(curve, ..)| *curve == name);
        for (is_there, key) in [
            (self.increment.is_some(), "increment"),
            (self.base.is_some(), "base"),
            (self.initial.is_some(), "initial"),
            (self.delays.is_some(), "delays"),
        ] {
            if is_there && settings.is_some_and(|(_, settings, _)| !settings.contains(&key)) {
                return Err(E::custom(format!("`{key}` is not a setting of the `{name}` backoff")));
            }
        }
        let backoff = match name {
            "fixed" => Backoff::Fixed,
            "linear" => {
                let increment =
                    self.increment.ok_or_else(|| E::custom(Missing::increment::<E>()))?;
                Backoff::Linear { increment: increment.into() }
            }
            "exponential" => match self.base {
                Some(base) => Backoff::Exponential { base: base.into() },
                None => Backoff::DEFAULT,
            },
            "fibonacci" => Backoff::Fibonacci,
            "custom" => {
                let delays = self.delays.ok_or_else(|| E::custom(Missing::delays::<E>()))?;
                Backoff::custom(delays.into_iter().map(Duration::from).collect::<Vec<_>>())
            }
            other => return Err(unknown_choice(other, NAMES)),
        };
        Ok(BackoffKey { backoff, initial: self.initial.map(Duration::from) })
    }
}

const NAMELESS: &str = "a backoff needs a name, such as `exponential`";

/// The keys of the form in which the name is one of the settings.
const TYPED: &[&str] = &["type", "initial", "delay", "increment", "base", "multiplier", "delays"];

/// Reads that form, after its first key has been read.
fn typed<'de, A: MapAccess<'de>>(first: String, mut map: A) -> Result<BackoffKey, A::Error> {
    let mut name = None;
    let mut inside = Inside::default();
    let mut key = Some(first);
    while let Some(one) = key {
        match one.as_str() {
            "type" => {
                let word = map.next_value::<String>()?;
                if !NAMES.contains(&word.as_str()) {
                    return Err(unknown_choice(&word, NAMES));
                }
                name = Some(word);
            }
            "initial" | "delay" => inside.initial = Some(map.next_value()?),
            "increment" => inside.increment = Some(map.next_value()?),
            "base" | "multiplier" => inside.base = Some(map.next_value()?),
            "delays" => inside.delays = Some(map.next_value()?),
            other => return Err(unknown_key(other, TYPED, A::Error::unknown_field(other, TYPED))),
        }
        key = map.next_key()?;
    }
    match name {
        Some(name) => inside.into_key(&name),
        None => {
            Err(A::Error::custom("this backoff has no `type`: write one, such as `exponential`"))
        }
    }
}

/// A required setting of a backoff is missing.
///
/// For values written on one line, such as environment variables, the reader formats it with
/// `{:#}`.
struct Missing {
    needed: &'static str,
    as_map: String,
    in_one_line: &'static str,
}

impl Missing {
    fn increment<E>() -> Self {
        Self {
            needed: "a linear backoff needs an `increment`",
            as_map: as_map::<E>("{ linear: { increment: \"2s\" } }"),
            in_one_line: "`linear(increment = 2s)`",
        }
    }

    fn delays<E>() -> Self {
        Self {
            needed: "a custom backoff needs `delays`",
            as_map: as_map::<E>("{ custom: { delays: [\"500ms\", \"1s\"] } }"),
            in_one_line: "`custom(500ms, 1s)`",
        }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { needed, as_map, in_one_line } = self;
        write!(f, "{needed}: write {}", if f.alternate() { in_one_line } else { as_map.as_str() })
    }
}

impl<'de> Deserialize<'de> for BackoffKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BackoffVisitor;

        impl<'de> Visitor<'de> for BackoffVisitor {
            type Value = BackoffKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a backoff: fixed, linear, exponential, fibonacci or custom")
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<BackoffKey, E> {
                let call = name.split_once('(').map(|(curve, settings)| (curve.trim(), settings));
                if let Some((curve, settings)) = call.filter(|(curve, _)| NAMES.contains(curve)) {
                    let settings = settings.trim_end().trim_end_matches(')');
                    return Err(E::custom(instead_of::<E>(curve, settings)));
                }
                if !NAMES.contains(&name) {
                    return Err(unknown_word(name, NAMES, &self));
                }
                Inside::default().into_key(name)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<BackoffKey, A::Error> {
                let Some(name) = map.next_key::<String>()? else {
                    return Err(A::Error::custom(NAMELESS));
                };
                let is_curve = || meant(&name, NAMES).is_some();
                let is_setting = || key_meant(&name, TYPED, &[BACKOFF]).is_some();
                if TYPED.contains(&name.as_str()) || !is_curve() && is_setting() {
                    return typed(name, map);
                }
                if !NAMES.contains(&name.as_str()) {
                    return Err(unknown_choice(&name, NAMES));
                }
                let key = map.next_value_seed(SettingsOf(&name))?.into_key(&name)?;
                if map.next_key::<serde::de::IgnoredAny>()?.is_some() {
                    return Err(A::Error::custom(format!(
                        "a backoff is a single curve, and `{name}` is already given: keep one"
                    )));
                }
                Ok(key)
            }
        }

        deserializer.deserialize_any(BackoffVisitor)
    }
}

impl Serialize for BackoffKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "lowercase")]
        enum Form {
            Fixed,
            Linear { increment: Span },
            Exponential { base: f64 },
            Fibonacci,
            Custom { delays: Vec<Span> },
        }

        let form = match self.backoff {
            Backoff::Fixed => Form::Fixed,
            Backoff::Linear { increment } => Form::Linear { increment: Span(increment) },
            Backoff::Exponential { base } => Form::Exponential { base },
            Backoff::Fibonacci => Form::Fibonacci,
            Backoff::Custom(delays) => {
                Form::Custom { delays: delays.iter().copied().map(Span).collect() }
            }
        };
        form.serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::string::{String, ToString as _};

    use crate::Policy;

    #[track_caller]
    fn error_of(backoff: &str) -> String {
        let file = std::format!(r#"{{ "backoff": {backoff} }}"#);
        serde_json::from_str::<Policy>(&file).expect_err("an invalid backoff").to_string()
    }

    #[test]
    fn settings_in_parentheses_are_shown_as_a_map() {
        for (written, instead) in [
            (r#""exponential(base = 3.0)""#, "`{ exponential: { base: 3.0 } }`"),
            (r#""exponential(1.5)""#, "`{ exponential: { base: 1.5 } }`"),
            (r#""linear(increment = 2s)""#, "`{ linear: { increment: \"2s\" } }`"),
            (r#""custom(500ms, 1s)""#, "`{ custom: { delays: [\"500ms\", \"1s\"] } }`"),
            (r#"{ "exponential": 3.5 }"#, "`{ exponential: { base: 3.5 } }`"),
            (r#"{ "linear": "2s" }"#, "`{ linear: { increment: \"2s\" } }`"),
        ] {
            let error = error_of(written);
            assert!(error.contains(instead), "{error}");
        }
    }

    #[test]
    fn wait_of_a_fixed_backoff_is_shown_as_its_own_key() {
        let error = error_of(r#"{ "fixed": "2s" }"#);
        let instead = "set `backoff` to \"fixed\" and `initial_delay` to \"2s\"";
        assert!(error.contains(instead), "{error}");
    }

    #[test]
    fn factor_of_other_libraries_is_reported_as_base() {
        for written in [
            r#"{ "exponential": { "factor": 3.0 } }"#,
            r#"{ "type": "exponential", "factor": 3.0 }"#,
            r#"{ "factor": 3.0, "type": "exponential" }"#,
        ] {
            let error = error_of(written);
            assert!(error.contains("unknown field `factor`: did you mean `base`?"), "{error}");
        }
    }

    #[test]
    fn custom_backoff_may_be_a_list_of_delays() {
        let file = r#"{ "backoff": { "custom": ["1s", "5s"] } }"#;
        let policy: Policy = serde_json::from_str(file).unwrap();
        assert_eq!(policy.wait(2), Duration::from_secs(5));
        assert!(error_of(r#"{ "linear": ["1s", "5s"] }"#).contains("invalid type: sequence"));
    }
}
