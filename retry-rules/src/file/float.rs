//! Numbers of programs that keep all of their digits.

use std::string::String;

use serde::de::value::StringDeserializer;
use serde::de::{DeserializeSeed, Error, IntoDeserializer as _, MapAccess, Unexpected, Visitor};

/// With its feature `arbitrary_precision`, which is on for a whole program, `serde_json` passes a
/// number that may be a float as a map with this key, and its text.
const KEY: &str = "$serde_json::private::Number";

/// Passes the number that a map stands for to `visitor`, and any other map to `otherwise`.
///
/// # Errors
/// The map cannot be read, or what it is passed to fails.
#[doc(hidden)]
pub fn float_or_map<'de, V: Visitor<'de>, A: MapAccess<'de>>(
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

/// Passes the number that a map stands for to `visitor`, which reads no other map.
///
/// # Errors
/// It is not a number, or `visitor` fails.
pub(super) fn float<'de, V: Visitor<'de>, A: MapAccess<'de>>(
    visitor: V,
    map: A,
) -> Result<V::Value, A::Error> {
    float_or_map(visitor, map, |visitor, _| Err(A::Error::invalid_type(Unexpected::Map, &visitor)))
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
