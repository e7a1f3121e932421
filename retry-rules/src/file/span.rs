//! [`Span`]: a duration in a file.

use core::time::Duration;
use std::string::ToString as _;

use serde::de::{Error, Unexpected};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::value::{ParsedValue, ValueKind};
use crate::duration;

/// A duration in a file: a humantime string such as `"30s"`, or `{ secs, nanos }`.
///
/// For other crates' settings, so that durations look the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

crate::conversion!(|span: Span| -> Duration { span.0 });
crate::conversion!(|span: Span| -> Option<Duration> { Some(span.0) });

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = duration::format(self.0).to_string();
        if duration::parse(&text) == Ok(self.0) {
            return serializer.serialize_str(&text);
        }
        // Millions of years cannot be read back from a text: see `may_overflow`.
        let mut parts = serializer.serialize_struct("Span", 2)?;
        parts.serialize_field("secs", &self.0.as_secs())?;
        parts.serialize_field("nanos", &self.0.subsec_nanos())?;
        parts.end()
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        time(ValueKind::Time, deserializer).map(Self)
    }
}

/// A duration in a file that may also be a number of seconds.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seconds(pub Duration);

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        time(ValueKind::Seconds, deserializer).map(Self)
    }
}

fn time<'de, D: Deserializer<'de>>(kind: ValueKind, deserializer: D) -> Result<Duration, D::Error> {
    match deserializer.deserialize_any(kind)? {
        ParsedValue::Time(time) => Ok(time),
        _ => Err(D::Error::invalid_type(Unexpected::Unit, &kind)),
    }
}
