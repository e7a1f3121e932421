//! A backoff in a file: a name, or a name with its settings.
//!
//! - `fixed`, `linear(increment = 2s)`, `custom(500ms, 1s)`
//! - `{ fixed: null }`, `{ linear: { increment: "2s" } }`, `{ custom: { delays: ["500ms", "1s"] } }`
//! - with the first wait inside, in the workflow style: `{ fixed: { delay: "2s" } }`
//! - with the name as one of the settings: `{ type: exponential, initial: "1s" }`

use std::collections::BTreeMap;
use std::format;
use std::string::String;
use std::vec::Vec;

use serde::Deserializer;
use serde::de::{Deserialize, Error, MapAccess};

use super::{ParsedBackoff, ParsedValue, ValueKind, ValueSeed};
use crate::file::reader::{Keys, first_name, read, read_entries, twice};
use crate::policy::backoff::Backoff;
use crate::suggest::{shortened, unknown_word};

/// A curve; its settings, with all their names; and those that it requires.
type Curve = (&'static str, &'static [&'static str], &'static [&'static str]);

/// The curves.
#[doc(hidden)]
pub const CURVES: [Curve; 5] = [
    ("fixed", &["initial", "delay"], &[]),
    ("linear", &["initial", "delay", "increment"], &["increment"]),
    ("exponential", &["initial", "delay", "base", "multiplier"], &[]),
    ("fibonacci", &["initial", "delay"], &[]),
    ("custom", &["delays"], &["delays"]),
];

/// The names of the curves, the key of a name beside the settings, and the keys of all settings.
#[rustfmt::skip]
const KEYS: &[&str] = &[
    "fixed", "linear", "exponential", "fibonacci", "custom",
    "type",
    "initial", "delay", "increment", "base", "multiplier", "delays",
];

/// Returns the curve of this name.
fn curve<E: Error>(word: &str) -> Result<&'static Curve, E> {
    let found = CURVES.iter().find(|(name, ..)| *name == word);
    found.ok_or_else(|| unknown_word(word, &KEYS[..5], &ValueKind::Backoff))
}

/// Returns a curve with a setting, as a text.
fn example(curve: &str) -> &'static str {
    match curve {
        "linear" => "linear(increment = 2s)",
        "exponential" => "exponential(base = 2.0)",
        "fibonacci" => "fibonacci(initial = 2s)",
        "custom" => "custom(500ms, 1s)",
        _ => "fixed(initial = 2s)",
    }
}

/// The settings of a curve, by their first names.
#[derive(Default)]
struct Settings(BTreeMap<&'static str, ParsedValue>);

impl Keys for Settings {
    fn keys(&self) -> &'static [&'static str] {
        &KEYS[6..]
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        let set = |value| {
            self.0.insert(first_name(key), value);
            Ok(())
        };
        map.next_value_seed(ValueSeed(kind(key), set))
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let what = "the settings of the backoff, such as `{ base: 2.0 }` of an exponential \
                    one, `{ increment: \"2s\" }` of a linear one, or `{ delays: [\"1s\"] }` of a \
                    custom one";
        read(Self::default(), what, deserializer)
    }
}

fn kind(key: &str) -> ValueKind {
    match first_name(key) {
        "base" => ValueKind::Share,
        "delays" => ValueKind::Delays,
        _ => ValueKind::Time,
    }
}

impl Settings {
    fn backoff<E: Error>(self, (name, keys, needed): &Curve) -> Result<ParsedBackoff, E> {
        if let Some(key) = self.0.keys().find(|key| !keys.contains(key)) {
            return Err(E::custom(format!("`{key}` is not a setting of the `{name}` backoff")));
        }
        if let Some(key) = needed.iter().find(|key| !self.0.contains_key(*key)) {
            let example = example(name);
            return Err(E::custom(format!("a {name} backoff needs `{key}`: write `{example}`")));
        }
        let (mut backoff, mut initial) = match *name {
            "fixed" => (Backoff::Fixed, None),
            "fibonacci" => (Backoff::Fibonacci, None),
            _ => (Backoff::DEFAULT, None),
        };
        for (key, value) in self.0 {
            match value {
                ParsedValue::Time(time) if key == "initial" => initial = Some(time),
                ParsedValue::Time(increment) => backoff = Backoff::Linear { increment },
                ParsedValue::Share(base) => backoff = Backoff::Exponential { base },
                ParsedValue::Delays(delays) => backoff = Backoff::custom(delays),
                _ => {}
            }
        }
        Ok(ParsedBackoff { backoff, initial })
    }
}

/// A curve by its name, so that a misspelt name is reported with its place.
struct Named(&'static Curve);

impl<'de> Deserialize<'de> for Named {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        curve(&String::deserialize(deserializer)?).map(Self)
    }
}

/// A backoff as a map: a name with its settings, or settings with the name as their `type`.
#[derive(Default)]
struct Form {
    is_typed: bool,
    curve: Option<&'static Curve>,
    settings: Settings,
}

impl Keys for Form {
    fn keys(&self) -> &'static [&'static str] {
        if self.is_typed { &KEYS[5..] } else { KEYS }
    }

    fn read<'de, A: MapAccess<'de>>(
        &mut self,
        key: &'static str,
        map: &mut A,
    ) -> Result<(), A::Error> {
        if let (Some((name, ..)), false) = (self.curve, self.is_typed) {
            return Err(A::Error::custom(format!(
                "a backoff is a single curve, and `{name}` is already given: keep one"
            )));
        }
        self.is_typed = KEYS[5..].contains(&key);
        match key {
            "type" => self.curve = Some(map.next_value::<Named>()?.0),
            _ if self.is_typed => self.settings.read(key, map)?,
            name => {
                self.curve = Some(curve(name)?);
                self.settings = map.next_value::<Option<_>>()?.unwrap_or_default();
            }
        }
        Ok(())
    }
}

/// Reads a backoff from a map.
pub(super) fn read_map<'de, A: MapAccess<'de>>(map: A) -> Result<ParsedBackoff, A::Error> {
    let Form { curve, settings, .. } = read_entries(Form::default(), map)?;
    let missing = "this backoff has no `type`: write one, such as `exponential`";
    settings.backoff(curve.ok_or_else(|| A::Error::custom(missing))?)
}

/// Reads a backoff from a text, which may have settings in parentheses: `increment = 2s`, or delays.
pub(super) fn read_text<E: Error>(text: &str) -> Result<ParsedBackoff, E> {
    let text = text.trim();
    let called = text.strip_suffix(')').and_then(|text| text.split_once('('));
    let (name, inside) = called.unwrap_or((text, ""));
    let curve = curve(name.trim())?;
    // A value may be quoted, as in the attribute.
    let read = |kind, text: &str| ParsedValue::read_text(kind, text.trim().trim_matches('"'));
    let (mut settings, mut delays) = (Settings::default(), Vec::new());
    for setting in inside.split(',').map(str::trim).filter(|setting| !setting.is_empty()) {
        match setting.split_once('=') {
            Some((key, text)) => {
                let key = settings.key(key.trim())?;
                if settings.0.insert(first_name(key), read(kind(key), text)?).is_some() {
                    return Err(twice(first_name(key), first_name(key)));
                }
            }
            None if curve.0 == "custom" => {
                if let ParsedValue::Time(delay) = read(ValueKind::Time, setting)? {
                    delays.push(delay);
                }
            }
            None => {
                let example = example(curve.0);
                let setting = shortened(setting);
                let message = format!("`{setting}` needs the name of a setting: write `{example}`");
                return Err(E::custom(message));
            }
        }
    }
    if !delays.is_empty() {
        settings.0.insert("delays", ParsedValue::Delays(delays));
    }
    settings.backoff(curve)
}

#[cfg(test)]
mod tests {
    use std::string::{String, ToString as _};

    use crate::Policy;

    #[track_caller]
    fn error_of(backoff: &str) -> String {
        let file = std::format!(r#"{{ "backoff": {backoff} }}"#);
        serde_json::from_str::<Policy>(&file).expect_err("an invalid backoff").to_string()
    }

    #[test]
    fn settings_may_be_in_parentheses() {
        for (text, map) in [
            ("exponential(base = 3.0)", r#"{ "exponential": { "base": 3.0 } }"#),
            ("linear(increment = 2s)", r#"{ "linear": { "increment": "2s" } }"#),
            (
                "linear( increment = 2s , initial = 5s )",
                r#"{ "linear": { "increment": "2s", "delay": "5s" } }"#,
            ),
            ("custom(500ms, 1s)", r#"{ "custom": { "delays": ["500ms", "1s"] } }"#),
            ("fixed(initial = 2s)", r#"{ "fixed": { "initial": "2s" } }"#),
        ] {
            let read = |backoff: &str| -> Policy {
                serde_json::from_str(&std::format!(r#"{{ "backoff": {backoff} }}"#)).unwrap()
            };
            assert_eq!(read(&std::format!("\"{text}\"")), read(map), "{text}");
        }
    }

    #[test]
    fn setting_without_a_name_is_answered_with_an_example() {
        for (written, instead) in [
            (
                r#""exponential(1.5)""#,
                "`1.5` needs the name of a setting: write `exponential(base = 2.0)`",
            ),
            (r#""fixed(2s)""#, "write `fixed(initial = 2s)`"),
            (
                r#"{ "exponential": 3.5 }"#,
                "expected the settings of the backoff, such as `{ base: 2.0 }`",
            ),
            (r#"{ "linear": "2s" }"#, "`{ increment: \"2s\" }` of a linear one"),
            (r#"{ "custom": ["500ms", "3s"] }"#, "or `{ delays: [\"1s\"] }` of a custom one"),
            (r#""linear""#, "a linear backoff needs `increment`: write `linear(increment = 2s)`"),
        ] {
            let error = error_of(written);
            assert!(error.contains(instead), "{error}");
        }
    }

    #[test]
    fn factor_of_other_libraries_is_reported_as_base() {
        for written in [
            r#"{ "exponential": { "factor": 3.0 } }"#,
            r#"{ "type": "exponential", "factor": 3.0 }"#,
            r#"{ "factor": 3.0, "type": "exponential" }"#,
        ] {
            let error = error_of(written);
            assert!(error.contains("unknown key `factor`: did you mean `base`?"), "{error}");
        }
    }

    #[test]
    fn unknown_curve_is_reported_with_the_one_that_was_meant() {
        for (written, message) in [
            (r#"{ "exponental": { "base": 2.0 } }"#, "unknown key `exponental`"),
            (r#"{ "type": "exponental" }"#, "\"exponental\""),
        ] {
            let error = error_of(written);
            let message = std::format!("{message}: did you mean `exponential`?");
            assert!(error.starts_with(&message), "{error}");
        }
        for name in ["constant", "const", "static", "flat"] {
            let error = error_of(&std::format!(r#"{{ "{name}": {{}} }}"#));
            let message = std::format!("unknown key `{name}`: did you mean `fixed`?");
            assert!(error.starts_with(&message), "{error}");
        }
    }
}
