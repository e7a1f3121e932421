//! Changes whose values are texts, as people write them: `2`, `true`, `500ms`, `linear(increment =
//! 2s)`.

use core::fmt;
use std::collections::BTreeMap;

use retry_rules::file::CommandKeys;
use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{IntoDeserializer, Visitor};
use serde::{Deserialize as _, Deserializer, forward_to_deserialize_any};

use super::error::OverridesError;
use super::layer::{Checked, Layer, Unsuitable};
use super::names::{self, Target};

/// One key of one function, as written.
pub(super) struct Written {
    pub(super) target: Target,
    pub(super) key: &'static str,
    pub(super) value: String,
    /// The environment variable, if it came from one.
    pub(super) variable: Option<String>,
}

impl fmt::Display for Written {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.variable {
            Some(variable) => write!(f, "`{variable}`"),
            None => write!(f, "`{}` of `{}`", self.key, self.target.name()),
        }
    }
}

/// Checks changes given as function name, key and value.
pub(super) fn changes<N, K, V>(
    changes: impl IntoIterator<Item = (N, K, V)>,
) -> Result<Checked, OverridesError>
where
    N: AsRef<str>,
    K: AsRef<str>,
    V: core::fmt::Display,
{
    let mut mistakes = Vec::new();
    let mut all = Vec::new();
    for (name, key, value) in changes {
        match (Target::by(name.as_ref()), names::key(key.as_ref())) {
            (Ok(target), Ok(key)) => {
                let value = value.to_string();
                all.push(Written { target, key, value, variable: None });
            }
            (target, key) => {
                let key = key.err().map(|why| format!("`{}`: {why}", name.as_ref()));
                mistakes.extend(target.err().into_iter().chain(key));
            }
        }
    }
    checked(&all, mistakes)
}

/// Checks the written changes, and reports any mistakes together with the given ones.
pub(super) fn checked(
    all: &[Written],
    mut mistakes: Vec<String>,
) -> Result<Checked, OverridesError> {
    let mut by_target = BTreeMap::<Target, Vec<&Written>>::new();
    for written in all {
        // Each one alone first, so that every unreadable value is reported.
        match keys(&[written]) {
            Ok(_) => by_target.entry(written.target).or_default().push(written),
            Err(why) => mistakes.push(format!("{written}: {why}")),
        }
    }
    let mut layer = Layer::default();
    for (target, written) in by_target {
        match keys(&written) {
            Ok(keys) => layer.insert(target, keys),
            Err(_) => mistakes.extend(said_twice(&written)),
        }
    }
    if !mistakes.is_empty() {
        return Err(OverridesError::of(mistakes));
    }
    Checked::of(vec![layer]).map_err(|unsuitable| {
        let with_variables = |name: &str| {
            let about = |written: &&Written| {
                written.variable.is_some() && [name, "*"].contains(&written.target.name())
            };
            places(&all.iter().filter(about).collect::<Vec<_>>())
        };
        let complaint = |why: &Unsuitable| match with_variables(why.name) {
            places if places.is_empty() => why.to_string(),
            places => format!("{places}: {why}"),
        };
        OverridesError::of(unsuitable.iter().map(complaint).collect())
    })
}

/// Each entry is readable alone, but not all together: a key occurs twice, or under both of its
/// names.
fn said_twice(written: &[&Written]) -> Vec<String> {
    let mut twice = Vec::new();
    for (i, first) in written.iter().enumerate() {
        let same = written[i + 1..].iter().filter(|second| keys(&[first, second]).is_err());
        twice.extend(
            same.map(|second| format!("{first} and {second} set the same thing: keep one")),
        );
    }
    twice
}

fn places(written: &[&Written]) -> String {
    written.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Reads the entries as one map, with the same keys as in a file.
fn keys(written: &[&Written]) -> Result<CommandKeys, Error> {
    let entries = written.iter().map(|written| (written.key, Text(&written.value)));
    CommandKeys::deserialize(MapDeserializer::new(entries))
}

/// The reason why a value was rejected.
#[derive(Debug)]
struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for Error {}

impl serde::de::Error for Error {
    fn custom<T: fmt::Display>(complaint: T) -> Self {
        // `{:#}` asks for the example on one line, which is how these values are written.
        Self(format!("{complaint:#}"))
    }
}

/// A value.
#[derive(Clone, Copy)]
struct Text<'a>(&'a str);

impl IntoDeserializer<'_, Error> for Text<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Text<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let text = self.0.trim();
        // Excludes `inf` and `nan`, which would also parse as numbers.
        let number = text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c));
        match (text, text.strip_suffix(')').and_then(|text| text.split_once('('))) {
            ("true", _) => visitor.visit_bool(true),
            ("false", _) => visitor.visit_bool(false),
            // A jitter is a text with its share, as in files.
            (_, Some((name, settings))) if name.trim() != "up" => {
                let curve = [(name.trim(), CurveSettings(settings))];
                visitor.visit_map(MapDeserializer::new(curve.into_iter()))
            }
            _ if !number => visitor.visit_str(text),
            _ => {
                if let Ok(number) = text.parse::<u64>() {
                    visitor.visit_u64(number)
                } else if let Ok(number) = text.parse::<i64>() {
                    visitor.visit_i64(number)
                } else if let Ok(number) = text.parse::<f64>() {
                    visitor.visit_f64(number)
                } else {
                    visitor.visit_str(text)
                }
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// The text in parentheses after the name of a backoff: `increment = 2s`, or delays.
#[derive(Clone, Copy)]
struct CurveSettings<'a>(&'a str);

impl<'a> CurveSettings<'a> {
    fn each(self) -> impl Iterator<Item = &'a str> {
        self.0.split(',').map(str::trim).filter(|setting| !setting.is_empty())
    }
}

impl IntoDeserializer<'_, Error> for CurveSettings<'_> {
    type Deserializer = Self;

    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for CurveSettings<'_> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let named: Option<Vec<_>> = self.each().map(|setting| setting.split_once('=')).collect();
        match named {
            Some(named) => {
                let named = named.into_iter().map(|(name, value)| (name.trim(), unquoted(value)));
                visitor.visit_map(MapDeserializer::new(named))
            }
            None => visitor.visit_map(MapDeserializer::new([("delays", Delays(self))].into_iter())),
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A list of delays.
#[derive(Clone, Copy)]
struct Delays<'a>(CurveSettings<'a>);

impl<'a> IntoDeserializer<'_, Error> for Delays<'a> {
    type Deserializer = Listed<SeqDeserializer<std::vec::IntoIter<Text<'a>>, Error>>;

    fn into_deserializer(self) -> Self::Deserializer {
        let delays: Vec<_> = self.0.each().map(unquoted).collect();
        Listed(SeqDeserializer::new(delays.into_iter()))
    }
}

/// A sequence that is also accepted as an `Option`, which is then `Some`.
struct Listed<S>(S);

impl<'de, S: Deserializer<'de, Error = Error>> Deserializer<'de> for Listed<S> {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        self.0.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_some(self)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct newtype_struct seq tuple tuple_struct map struct enum identifier ignored_any
    }
}

/// A duration may be quoted, as in the attribute.
fn unquoted(text: &str) -> Text<'_> {
    Text(text.trim().trim_matches('"'))
}
