//! A number in a file, such as a share; a text is answered with the number to write.

use std::format;
use std::string::String;

use serde::Serialize;
use serde::de::Error;

use crate::deserialize_scalar;
use crate::file::scalar::{Scalar, WrittenNumber};

/// A number such as `0.5`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(in crate::file) struct Number(pub(in crate::file) f64);

crate::conversion!(|number: Number| -> f64 { number.0 });

deserialize_scalar!(Number);

impl Scalar for Number {
    const EXPECTED: &'static str = "a number such as 0.5";

    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        Ok(Self(number.as_f64()))
    }

    fn from_text<E: Error>(text: &str) -> Result<Self, E> {
        Err(E::custom(
            Self::meant(text).unwrap_or_else(|| format!("\"{text}\": expected {}", Self::EXPECTED)),
        ))
    }
}

impl Number {
    /// Returns the message for a text that stands for a number.
    pub(in crate::file) fn meant(text: &str) -> Option<String> {
        let percent = text.trim().strip_suffix('%').map(|number| (number, 100.0));
        let per_second = ["/s", "/sec", "/second"];
        let per_second = per_second.iter().find_map(|unit| text.trim().strip_suffix(unit));
        let (number, divisor) = percent.unwrap_or((per_second.unwrap_or(text).trim(), 1.0));
        let number = number.trim().parse::<f64>().ok().filter(|number| number.is_finite())?;
        let number = number / divisor;
        let is_number = text.trim().parse::<f64>().is_ok();
        let unquoted = if is_number { ", without quotes" } else { "" };
        Some(format!("\"{text}\" is a text: write the number `{number:?}`{unquoted}"))
    }
}

/// A whole number such as `3`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub(in crate::file) struct Count(pub(in crate::file) u32);

crate::conversion!(|count: Count| -> u32 { count.0 });

deserialize_scalar!(Count);

impl Scalar for Count {
    const EXPECTED: &'static str = "a whole number such as 3";

    fn from_number<E: Error>(number: WrittenNumber) -> Result<Self, E> {
        let count = match number {
            WrittenNumber::Unsigned(count) => u32::try_from(count).ok(),
            _ => None,
        };
        count.map(Self).ok_or_else(|| number.unexpected(Self::EXPECTED))
    }

    fn from_text<E: Error>(text: &str) -> Result<Self, E> {
        Err(E::custom(format!("\"{text}\" is a text: write {}", Self::EXPECTED)))
    }
}

#[cfg(test)]
mod tests {
    use std::format;
    use std::string::ToString as _;

    use crate::{BreakerConfig, Policy, QuotaConfig};

    #[track_caller]
    fn assert_instead<T: serde::de::DeserializeOwned>(file: &str, instead: &str) {
        let error = serde_json::from_str::<T>(file).err().expect("a text").to_string();
        assert!(error.contains(instead), "{error}");
    }

    #[test]
    fn text_with_a_number_is_answered_with_the_number() {
        assert_instead::<QuotaConfig>(r#"{ "share": "20%" }"#, "write the number `0.2`");
        assert_instead::<QuotaConfig>(r#"{ "refill_per_sec": "10/s" }"#, "the number `10.0`");
        assert_instead::<BreakerConfig>(r#"{ "failure_rate": "0.5" }"#, "the number `0.5`");
        assert_instead::<BreakerConfig>(r#"{ "slow_rate": "half" }"#, "expected a number");
        assert_instead::<Policy>(r#"{ "attempts": "5" }"#, "write the number `5`");
        assert_instead::<Policy>(r#"{ "jitter": "30%" }"#, "write the number `0.3`");
        let jitter_factor = r#"{ "jitter": true, "jitter_factor": "30%" }"#;
        assert_instead::<Policy>(jitter_factor, "write the number `0.3`");
        let base = r#"{ "backoff": { "exponential": { "base": "2.0" } } }"#;
        assert_instead::<Policy>(base, "write the number `2.0`, without quotes");
    }

    #[test]
    fn number_is_read_in_each_of_its_forms() {
        for number in ["1", "1.0", r#"{ "$serde_json::private::Number": "1.0" }"#] {
            let quota = format!(r#"{{ "share": {number} }}"#);
            let quota: QuotaConfig = serde_json::from_str(&quota).unwrap();
            assert_eq!(quota, QuotaConfig::new().share(1.0));
        }
    }
}
