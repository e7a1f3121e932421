//! [`Span`]: a duration in a file.

use core::fmt;
use core::time::Duration;
use std::format;
use std::string::ToString as _;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::float::float_or_map;
use crate::duration;

/// A duration in a file: a humantime string such as `"30s"`, or `{ secs, nanos }`.
///
/// For other crates' settings, so that durations look the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl From<Span> for Duration {
    fn from(span: Span) -> Self {
        span.0
    }
}

impl From<Span> for Option<Duration> {
    fn from(span: Span) -> Self {
        Some(span.0)
    }
}

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
        deserializer.deserialize_any(SpanVisitor)
    }
}

/// Reads a span from a text, or from its parts.
pub(super) struct SpanVisitor;

impl<'de> Visitor<'de> for SpanVisitor {
    type Value = Span;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a duration such as \"30s\", or a map with `secs` and `nanos`")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Span, E> {
        duration::parse(text).map(Span).map_err(|error| E::custom(format!("\"{text}\": {error}")))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Span, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Span, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Span, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Span, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Parts {
            secs: u64,
            #[serde(default)]
            nanos: u32,
        }

        float_or_map(self, map, |_, map| {
            let parts = Parts::deserialize(MapAccessDeserializer::new(map))?;
            if parts.nanos >= 1_000_000_000 {
                return Err(A::Error::custom(
                    "`nanos` must be below 1000000000, which is a whole second",
                ));
            }
            Ok(Span(Duration::new(parts.secs, parts.nanos)))
        })
    }
}
