//! A limit in a file: `"30s"`, or `unlimited`.

use serde::de::{Error, MapAccess};
use serde::{Serialize, Serializer};

use super::scalar::{MapFrom, Scalar, WrittenNumber};
use super::span::Span;
use crate::deserialize_scalar;
use crate::policy::bound::Bound;

/// `"30s"`, or `unlimited`.
#[derive(Clone, Copy, Debug)]
pub(super) struct BoundKey(pub(super) Bound);

crate::conversion!(|key: BoundKey| -> Bound { key.0 });

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

deserialize_scalar!(BoundKey);

impl Scalar for BoundKey {
    const EXPECTED: &'static str =
        "a duration such as \"30s\", or a map with `secs` and `nanos`, or `unlimited`";

    fn from_text<E: Error>(text: &str) -> Result<Self, E> {
        match text {
            "unlimited" => Ok(Self(Bound::Unlimited)),
            _ => Span::from_text(text).map(Self::from),
        }
    }

    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        Span::from_number(number).map(Self::from)
    }

    fn from_map<'de, A: MapAccess<'de>>(map: MapFrom<A>) -> Result<Self, A::Error> {
        Span::from_map(map).map(Self::from)
    }
}
