//! Settings that are written as one value. Numbers of programs keep all of their digits.

use core::fmt;
use core::marker::PhantomData;
use std::string::{String, ToString as _};

use serde::Deserializer;
use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer as _, MapAccess, Unexpected, Visitor};

/// With its feature `arbitrary_precision`, which is on for a whole program, `serde_json` passes a
/// number that may be a float as a map with this key, and its text.
const KEY: &str = "$serde_json::private::Number";

/// A setting that is written as one value: a text, and perhaps a number, a truth value or a map.
#[doc(hidden)]
pub trait Scalar: Sized {
    /// The values that can be written, as errors describe them.
    const EXPECTED: &'static str;

    /// Reads a text.
    ///
    /// # Errors
    /// It stands for no value.
    fn from_text<E: Error>(text: &str) -> Result<Self, E>;

    /// Reads a number.
    ///
    /// # Errors
    /// It stands for no value.
    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        Err(number.unexpected(Self::EXPECTED))
    }

    /// Reads a truth value.
    ///
    /// # Errors
    /// It stands for no value.
    fn from_bool<E: Error>(value: bool) -> Result<Self, E> {
        Err(E::invalid_type(Unexpected::Bool(value), &Self::EXPECTED))
    }

    /// Reads a map that is not a number.
    ///
    /// # Errors
    /// It stands for no value.
    fn from_map<'de, A: MapAccess<'de>>(_: MapFrom<A>) -> Result<Self, A::Error> {
        Err(A::Error::invalid_type(Unexpected::Map, &Self::EXPECTED))
    }

    /// Reads a value.
    ///
    /// # Errors
    /// It is of another kind, or stands for no value.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor(PhantomData))
    }
}

/// A number in a file.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub enum WrittenNumber {
    /// A whole number from 0 on.
    Unsigned(u64),
    /// A whole number below 0.
    Negative(i64),
    /// Any other number.
    Float(f64),
}

impl WrittenNumber {
    #[expect(clippy::cast_precision_loss, reason = "no setting needs so many digits")]
    pub(super) const fn as_f64(self) -> f64 {
        match self {
            Self::Unsigned(number) => number as f64,
            Self::Negative(number) => number as f64,
            Self::Float(number) => number,
        }
    }

    pub(super) fn text(self) -> String {
        match self {
            Self::Unsigned(number) => number.to_string(),
            Self::Negative(number) => number.to_string(),
            Self::Float(number) => number.to_string(),
        }
    }

    /// Returns the error that a number was written where something else is `expected`.
    pub fn unexpected<E: Error>(self, expected: &str) -> E {
        let unexpected = match self {
            Self::Unsigned(number) => Unexpected::Unsigned(number),
            Self::Negative(number) => Unexpected::Signed(number),
            Self::Float(number) => Unexpected::Float(number),
        };
        E::invalid_type(unexpected, &expected)
    }
}

/// Implements `Deserialize` for a [`Scalar`](crate::file::Scalar).
#[doc(hidden)]
#[macro_export]
macro_rules! deserialize_scalar {
    ($Type:ty) => {
        impl<'de> ::serde::Deserialize<'de> for $Type {
            fn deserialize<D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> Result<Self, D::Error> {
                <Self as $crate::file::Scalar>::read(deserializer)
            }
        }
    };
}

struct ScalarVisitor<T>(PhantomData<T>);

impl<'de, T: Scalar> Visitor<'de> for ScalarVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTED)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<T, E> {
        T::from_bool(value)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<T, E> {
        T::from_number(WrittenNumber::Unsigned(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        T::from_number(
            u64::try_from(number).map_or(WrittenNumber::Negative(number), WrittenNumber::Unsigned),
        )
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        T::from_number(WrittenNumber::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        T::from_text(text)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        float_or_map(self, map, |_, map| T::from_map(map))
    }
}

/// Passes the number that a map stands for to `visitor`, and any other map to `otherwise`.
///
/// # Errors
/// The map cannot be read, or what it is passed to fails.
pub(super) fn float_or_map<'de, V: Visitor<'de>, A: MapAccess<'de>>(
    visitor: V,
    mut map: A,
    otherwise: impl FnOnce(V, MapFrom<A>) -> Result<V::Value, A::Error>,
) -> Result<V::Value, A::Error> {
    let first = map.next_key::<String>()?;
    if first.as_deref() != Some(KEY) {
        return otherwise(visitor, MapFrom { first, map });
    }
    let text = map.next_value::<String>()?;
    match text.parse() {
        Ok(number) => visitor.visit_f64(number),
        Err(_) => Err(A::Error::invalid_value(Unexpected::Str(&text), &visitor)),
    }
}

/// A map whose first key has been read.
#[doc(hidden)]
#[derive(Debug)]
pub struct MapFrom<A> {
    first: Option<String>,
    map: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for MapFrom<A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, A::Error> {
        match self.first.take() {
            Some(first) => {
                let first: StringDeserializer<A::Error> = first.into_deserializer();
                seed.deserialize(first).map(Some)
            }
            None => self.map.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::format;
    use std::string::ToString as _;

    use crate::file::TaskStyle;
    use crate::{Jitter, Policy};

    #[test]
    fn a_number_is_read_with_and_without_all_digits() {
        for number in ["0.25", r#"{"$serde_json::private::Number":"0.25"}"#] {
            let policy: Policy =
                serde_json::from_str(&format!(r#"{{"attempts":2,"jitter":{number}}}"#)).unwrap();
            assert_eq!(policy.get_jitter(), Jitter::Proportional(0.25));
            let task = format!(r#"{{"max_retries":2,"retry_delay":{number}}}"#);
            let task: TaskStyle = serde_json::from_str(&task).unwrap();
            assert_eq!(Policy::from(task).get_initial_delay(), Duration::from_millis(250));
            let span = format!(r#"{{"attempts":2,"initial_delay":{number}}}"#);
            let error = serde_json::from_str::<Policy>(&span).unwrap_err().to_string();
            assert!(error.contains("0.25"), "{error}");
        }
        let map = r#"{"attempts":2,"initial_delay":{"secs":1,"nanos":5}}"#;
        let policy: Policy = serde_json::from_str(map).unwrap();
        assert_eq!(policy.get_initial_delay(), Duration::new(1, 5));
        for wrong in [r#"{"$serde_json::private::Number":"x"}"#, "{}", r#"{"a":1}"#] {
            let policy = format!(r#"{{"attempts":2,"jitter":{wrong}}}"#);
            assert!(serde_json::from_str::<Policy>(&policy).is_err(), "{wrong}");
        }
    }
}
