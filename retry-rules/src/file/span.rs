//! [`Span`]: a duration in a file.

use core::time::Duration;
use std::format;
use std::string::ToString as _;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};

use super::scalar::{MapFrom, Scalar, WrittenNumber};
use crate::{deserialize_scalar, duration};

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

deserialize_scalar!(Span);

impl Scalar for Span {
    const EXPECTED: &'static str = "a duration such as \"30s\", or a map with `secs` and `nanos`";

    fn from_text<E: Error>(text: &str) -> Result<Self, E> {
        duration::parse(text).map(Self).map_err(|error| E::custom(format!("\"{text}\": {error}")))
    }

    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        Self::from_text(&number.text())
    }

    fn from_map<'de, A: MapAccess<'de>>(map: MapFrom<A>) -> Result<Self, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Parts {
            secs: u64,
            #[serde(default)]
            nanos: u32,
        }

        let parts = Parts::deserialize(MapAccessDeserializer::new(map))?;
        if parts.nanos >= 1_000_000_000 {
            return Err(A::Error::custom(
                "`nanos` must be below 1000000000, which is a whole second",
            ));
        }
        Ok(Self(Duration::new(parts.secs, parts.nanos)))
    }
}
