//! A limit in a file: `"30s"`, or `unlimited`.

use core::fmt;

use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::span::{Span, SpanVisitor};
use crate::policy::bound::Bound;

/// `"30s"`, or `unlimited`.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundKey(pub(super) Bound);

impl From<BoundKey> for Bound {
    fn from(key: BoundKey) -> Self {
        key.0
    }
}

impl From<Span> for BoundKey {
    fn from(Span(limit): Span) -> Self {
        Self(Bound::Limited(limit))
    }
}

impl Serialize for BoundKey {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.limit() {
            Some(limit) => Span(limit).serialize(serializer),
            None => serializer.serialize_str("unlimited"),
        }
    }
}

impl<'de> Deserialize<'de> for BoundKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BoundVisitor;

        impl<'de> Visitor<'de> for BoundVisitor {
            type Value = BoundKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                SpanVisitor.expecting(f)?;
                f.write_str(", or `unlimited`")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<BoundKey, E> {
                match text {
                    "unlimited" => Ok(BoundKey(Bound::Unlimited)),
                    _ => SpanVisitor.visit_str(text).map(BoundKey::from),
                }
            }

            fn visit_u64<E: Error>(self, number: u64) -> Result<BoundKey, E> {
                SpanVisitor.visit_u64(number).map(BoundKey::from)
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<BoundKey, E> {
                SpanVisitor.visit_i64(number).map(BoundKey::from)
            }

            fn visit_f64<E: Error>(self, number: f64) -> Result<BoundKey, E> {
                SpanVisitor.visit_f64(number).map(BoundKey::from)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<BoundKey, A::Error> {
                SpanVisitor.visit_map(map).map(BoundKey::from)
            }
        }

        deserializer.deserialize_any(BoundVisitor)
    }
}
