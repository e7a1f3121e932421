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

use serde::Deserializer;
use serde::de::value::SeqAccessDeserializer;
use serde::de::{Deserialize, DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess};
use serde::de::{Unexpected, Visitor};

use super::Span;
use super::reader::{Entries, Keys, first_name, read_entries};
use super::value::{ParsedBackoff, ParsedValue, ReadValue, ValueKind, ValueSeed};
use crate::foreign_names::BACKOFF;
use crate::policy::backoff::Backoff;
use crate::suggest::{key_meant, meant, unknown_word};

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

/// The keys of all curves, after the key of the form in which the name is one of the settings.
const KEYS: &[&str] = &["type", "initial", "delay", "increment", "base", "multiplier", "delays"];

/// All settings that a backoff may have inside.
#[derive(Default)]
pub(super) struct Settings {
    /// The keys include `type`.
    is_typed: bool,
    curve: Option<String>,
    initial: Option<Duration>,
    increment: Option<Duration>,
    base: Option<f64>,
    delays: Option<Vec<Duration>>,
}

impl Keys for Settings {
    fn keys(&self) -> &'static [&'static str] {
        &KEYS[usize::from(!self.is_typed)..]
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        if key != "type" {
            let set = |value| {
                self.set(key, value);
                Ok(())
            };
            return map.next_value_seed(ValueSeed(Self::kind(key), set));
        }
        let Curve(curve) = map.next_value()?;
        self.curve = Some(curve);
        Ok(())
    }

    fn may_be_table(&self, _: &str) -> bool {
        false
    }
}

/// The name of a curve.
struct Curve(String);

impl<'de> Deserialize<'de> for Curve {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        if NAMES.contains(&word.as_str()) { Ok(Self(word)) } else { Err(unknown_curve(&word)) }
    }
}

fn unknown_curve<E: Error>(word: &str) -> E {
    unknown_word(word, NAMES, &BackoffKind)
}

impl Settings {
    pub(super) fn kind(key: &str) -> ValueKind {
        match first_name(key) {
            "base" => ValueKind::Share,
            "delays" => ValueKind::Delays,
            _ => ValueKind::Time,
        }
    }

    pub(super) fn set(&mut self, key: &str, value: ParsedValue) {
        match (first_name(key), value) {
            ("initial", ParsedValue::Time(time)) => self.initial = Some(time),
            (_, ParsedValue::Time(time)) => self.increment = Some(time),
            (_, ParsedValue::Share(base)) => self.base = Some(base),
            (_, ParsedValue::Delays(delays)) => self.delays = Some(delays),
            _ => {}
        }
    }

    pub(super) fn backoff<E: Error>(self, name: &str) -> Result<ParsedBackoff, E> {
        let keys = CURVES.iter().find(|(curve, ..)| *curve == name).map(|(_, keys, _)| *keys);
        for (is_there, key) in [
            (self.increment.is_some(), "increment"),
            (self.base.is_some(), "base"),
            (self.initial.is_some(), "initial"),
            (self.delays.is_some(), "delays"),
        ] {
            if is_there && keys.is_some_and(|keys| !keys.contains(&key)) {
                return Err(E::custom(format!("`{key}` is not a setting of the `{name}` backoff")));
            }
        }
        let backoff = match (name, self.increment, self.delays) {
            ("fixed", ..) => Backoff::Fixed,
            ("linear", Some(increment), _) => Backoff::Linear { increment },
            ("linear", ..) => return Err(E::custom(lacks_increment())),
            ("exponential", ..) => {
                self.base.map_or(Backoff::DEFAULT, |base| Backoff::Exponential { base })
            }
            ("fibonacci", ..) => Backoff::Fibonacci,
            ("custom", _, Some(delays)) => Backoff::custom(delays),
            ("custom", ..) => return Err(E::custom(lacks_delays())),
            (other, ..) => return Err(unknown_curve(other)),
        };
        Ok(ParsedBackoff { backoff, initial: self.initial })
    }
}

/// Reads the value after the name of a backoff: its settings, or nothing.
struct SettingsOf<'a>(&'a str);

impl<'de> DeserializeSeed<'de> for SettingsOf<'_> {
    type Value = Settings;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Settings, D::Error> {
        deserializer.deserialize_option(self)
    }
}

impl<'de> Visitor<'de> for SettingsOf<'_> {
    type Value = Settings;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the settings of the backoff, such as { base: 2.0 } of an exponential one, or \
             { increment: \"2s\" } of a linear one",
        )
    }

    fn visit_none<E: Error>(self) -> Result<Settings, E> {
        Ok(Settings::default())
    }

    fn visit_unit<E: Error>(self) -> Result<Settings, E> {
        Ok(Settings::default())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Settings, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Settings, A::Error> {
        let mut entries = Entries::new(map)?;
        match entries.number()? {
            Some(number) => self.visit_f64(number),
            None => read_entries(Settings::default(), entries),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Settings, A::Error> {
        if self.0 != "custom" {
            return Err(A::Error::invalid_type(Unexpected::Seq, &self));
        }
        let delays = Vec::<Span>::deserialize(SeqAccessDeserializer::new(list))?;
        let delays = delays.into_iter().map(Duration::from).collect();
        Ok(Settings { delays: Some(delays), ..Settings::default() })
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Settings, E> {
        Err(not_a_map(self.0, value))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Settings, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Settings, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Settings, E> {
        self.visit_str(&format!("{number:?}"))
    }
}

/// The settings of a backoff are no map, or lack one.
struct WriteMap {
    wrong: String,
    map: String,
    in_one_line: Option<&'static str>,
}

impl fmt::Display for WriteMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { wrong, map, in_one_line } = self;
        match in_one_line {
            Some(line) if f.alternate() => write!(f, "{wrong}: write `{line}`"),
            _ if f.sign_minus() => write!(f, "{wrong}: write `{map}`"),
            _ => write!(f, "{wrong}: write `{map}`, in TOML `{}`", map.replace(": ", " = ")),
        }
    }
}

fn lacks_increment() -> WriteMap {
    WriteMap {
        wrong: "a linear backoff needs an `increment`".to_owned(),
        map: "{ linear: { increment: \"2s\" } }".to_owned(),
        in_one_line: Some("linear(increment = 2s)"),
    }
}

fn lacks_delays() -> WriteMap {
    WriteMap {
        wrong: "a custom backoff needs `delays`".to_owned(),
        map: "{ custom: { delays: [\"500ms\", \"1s\"] } }".to_owned(),
        in_one_line: Some("custom(500ms, 1s)"),
    }
}

/// Returns the error for a curve with this text as its settings, such as `base = 3.0`.
fn not_a_map<E: Error>(curve: &str, settings: &str) -> E {
    let number_or_text = |value: &str| {
        let value = value.trim().trim_matches('"');
        if value.parse::<f64>().is_ok() { value.to_owned() } else { format!("\"{value}\"") }
    };
    let (key, value) = match settings.split_once(['=', ':']) {
        Some((key, value)) => (Some(key.trim()), value),
        None => (None, settings),
    };
    let value = value.split(',').map(number_or_text).collect::<Vec<_>>().join(", ");
    let (wrong, setting) = match (curve, key) {
        ("fixed" | "fibonacci", _) => {
            return E::custom(format_args!(
                "the wait of a `{curve}` backoff is a key of its own: set `backoff` to \
                 \"{curve}\" and `initial_delay` to {value}"
            ));
        }
        ("custom", _) => {
            ("a custom backoff has a list of `delays`".to_owned(), format!("delays: [{value}]"))
        }
        (curve, key) => {
            let key = key.unwrap_or(if curve == "linear" { "increment" } else { "base" });
            (format!("the settings of the `{curve}` backoff are a map"), format!("{key}: {value}"))
        }
    };
    let map = format!("{{ {curve}: {{ {setting} }} }}");
    E::custom(WriteMap { wrong, map, in_one_line: None })
}

/// The kind of a backoff.
#[derive(Clone, Copy)]
pub(super) struct BackoffKind;

impl ReadValue for BackoffKind {
    fn read<'de, D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Option<ParsedValue>, D::Error> {
        let backoff = Option::<ParsedBackoff>::deserialize(deserializer)?;
        Ok(backoff.map(ParsedValue::Backoff))
    }
}

impl<'de> Deserialize<'de> for ParsedBackoff {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BackoffKind)
    }
}

impl<'de> Visitor<'de> for BackoffKind {
    type Value = ParsedBackoff;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a backoff: fixed, linear, exponential, fibonacci or custom")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<ParsedBackoff, E> {
        let call = name.split_once('(').map(|(curve, settings)| (curve.trim(), settings));
        if let Some((curve, settings)) = call.filter(|(curve, _)| NAMES.contains(curve)) {
            return Err(not_a_map(curve, settings.trim_end().trim_end_matches(')')));
        }
        Settings::default().backoff(name)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<ParsedBackoff, A::Error> {
        let mut entries = Entries::new(map)?;
        let Some(name) = entries.first().map(str::to_owned) else {
            return Err(A::Error::custom("a backoff needs a name, such as `exponential`"));
        };
        let is_curve = || meant(&name, NAMES).is_some();
        let is_setting = || key_meant(&name, KEYS, &[BACKOFF]).is_some();
        if KEYS.contains(&name.as_str()) || !is_curve() && is_setting() {
            let typed = Settings { is_typed: true, ..Settings::default() };
            let mut settings = read_entries(typed, entries)?;
            return match settings.curve.take() {
                Some(curve) => settings.backoff(&curve),
                None => Err(A::Error::custom(
                    "this backoff has no `type`: write one, such as `exponential`",
                )),
            };
        }
        if !NAMES.contains(&name.as_str()) {
            return Err(unknown_curve(&name));
        }
        entries.next_key::<IgnoredAny>()?;
        let backoff = entries.next_value_seed(SettingsOf(&name))?.backoff(&name)?;
        if entries.next_key::<IgnoredAny>()?.is_some() {
            return Err(A::Error::custom(format!(
                "a backoff is a single curve, and `{name}` is already given: keep one"
            )));
        }
        Ok(backoff)
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

    #[test]
    fn unknown_curve_is_reported_with_the_one_that_was_meant() {
        for written in [r#"{ "exponental": { "base": 2.0 } }"#, r#"{ "type": "exponental" }"#] {
            let error = error_of(written);
            assert!(error.starts_with("\"exponental\": did you mean `exponential`?"), "{error}");
        }
    }
}
