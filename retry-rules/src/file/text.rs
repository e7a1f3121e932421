//! Values as people write them on one line: `2`, `true`, `500ms`, `linear(increment = 2s)`.

use core::fmt;
use std::format;
use std::string::String;
use std::vec::Vec;

use serde::de::{Error as _, Visitor as _};

use super::backoff::Settings;
use super::draft::Draft;
use super::reader::{Keys as _, first_name};
use super::value::{ParsedValue, ValueKind};
use crate::policy::Policy;

impl Draft<Policy> {
    /// Sets the value of a key from a text.
    ///
    /// # Errors
    /// The value is invalid, or contradicts the value of another key.
    pub fn set_text(&mut self, key: &str, text: &str) -> Result<(), String> {
        let text = text.trim();
        let value = match Self::kind(key) {
            Some(kind) => value(kind, text),
            None => backoff(text),
        };
        self.set(key, value.map_err(|TextError(message)| message)?)
    }
}

/// The reason why a text was rejected.
#[derive(Debug)]
struct TextError(String);

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for TextError {}

impl serde::de::Error for TextError {
    fn custom<T: fmt::Display>(complaint: T) -> Self {
        // `{:#}` asks for the example on one line, which is how these values are written.
        Self(format!("{complaint:#}"))
    }
}

fn value(kind: ValueKind, text: &str) -> Result<ParsedValue, TextError> {
    // Excludes `inf` and `nan`, which would also parse as floats.
    let is_number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
    match text {
        "true" => kind.visit_bool(true),
        "false" => kind.visit_bool(false),
        _ => {
            let number = text.parse().ok().filter(|_: &f64| is_number);
            match (text.parse(), text.parse(), number) {
                (Ok(number), ..) => kind.visit_u64(number),
                (_, Ok(number), _) => kind.visit_i64(number),
                (.., Some(number)) => kind.visit_f64(number),
                _ => kind.visit_str(text),
            }
        }
    }
}

/// Reads a curve, perhaps with the text in its parentheses: `increment = 2s`, or delays.
fn backoff(text: &str) -> Result<ParsedValue, TextError> {
    let (curve, settings_text) =
        text.strip_suffix(')').and_then(|text| text.split_once('(')).unwrap_or((text, ""));
    // A value may be quoted, as in the attribute.
    let of_kind = |kind, text: &str| value(kind, text.trim().trim_matches('"'));
    let mut settings = Settings::default();
    let written = settings_text.split(',').map(str::trim).filter(|setting| !setting.is_empty());
    let mut delays = Vec::new();
    let mut seen = Vec::new();
    for setting in written {
        let Some((key, text)) = setting.split_once('=') else {
            if let ParsedValue::Time(delay) = of_kind(ValueKind::Time, setting)? {
                delays.push(delay);
            }
            continue;
        };
        let key = settings.key(key.trim()).map_err(TextError::custom)?;
        if seen.contains(&first_name(key)) {
            return Err(TextError::custom(format_args!("duplicate field `{}`", first_name(key))));
        }
        settings.set(key, of_kind(Settings::kind(key), text)?);
        seen.push(first_name(key));
    }
    if !delays.is_empty() {
        settings.set("delays", ParsedValue::Delays(delays));
    }
    settings.backoff(curve.trim()).map(ParsedValue::Backoff)
}
