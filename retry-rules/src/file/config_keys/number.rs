//! A number in a file, such as a share; a text is answered with the number to write.

use std::format;

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
        let percent = text.trim().strip_suffix('%').map(|number| (number, 100.0));
        let per_second = ["/s", "/sec", "/second"];
        let per_second = per_second.iter().find_map(|unit| text.trim().strip_suffix(unit));
        let (number, divisor) = percent.unwrap_or((per_second.unwrap_or(text).trim(), 1.0));
        Err(E::custom(match number.trim().parse::<f64>() {
            Ok(number) => {
                let number = number / divisor;
                let is_number = text.trim().parse::<f64>().is_ok();
                let unquoted = if is_number { ", without quotes" } else { "" };
                format!("\"{text}\" is a text: write the number `{number:?}`{unquoted}")
            }
            Err(_) => format!("\"{text}\": expected {}", Self::EXPECTED),
        }))
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
