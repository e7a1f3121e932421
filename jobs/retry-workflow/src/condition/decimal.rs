//! [`Decimal`]: a JSON number by its value, however it is written, with all of its digits.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// The largest numbers that can be compared, as messages name it.
pub const LARGEST: &str = "1.8e308";

/// A number by its value: 1, 1.0 and 1e0 are equal, and so are no two integers that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    is_negative: bool,
    /// The place of the point: the value is 0.`digits` times ten to this power.
    power: i64,
    /// Neither the first nor the last one is a zero; there are none in a zero.
    digits: String,
}

impl Decimal {
    /// The value of a number; `None` if it is beyond the range of `f64`.
    pub fn of(number: &Number) -> Option<Self> {
        number.as_f64().filter(|value| value.is_finite())?;
        let text = number.to_string();
        let (is_negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.as_str()),
        };
        let (text, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let zeros = all.len() - digits.len();
        let digits = digits.trim_end_matches('0');
        if digits.is_empty() {
            return Some(Self { is_negative: false, power: 0, digits: String::new() });
        }
        // A power that does not fit is far below zero.
        let power = power.parse().unwrap_or(i64::MIN / 2);
        let length = |length: usize| i64::try_from(length).unwrap_or(i64::MAX / 4);
        let power = length(whole.len()).saturating_add(power).saturating_sub(length(zeros));
        Some(Self { is_negative, power, digits: digits.to_owned() })
    }

    fn magnitude(&self, other: &Self) -> Ordering {
        match (self.digits.is_empty(), other.digits.is_empty()) {
            (false, false) => {
                self.power.cmp(&other.power).then_with(|| self.digits.cmp(&other.digits))
            }
            (one, two) => two.cmp(&one),
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self.is_negative, other.is_negative) {
            (false, false) => self.magnitude(other),
            (true, true) => other.magnitude(self),
            (one, two) => two.cmp(&one),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A text that two values share if they are equal, with the numbers in them by their value. `Err`
/// has a number that is beyond the range of `f64`.
pub fn identity(value: &Value) -> Result<String, &Number> {
    Ok(match value {
        Value::Number(number) => {
            let Decimal { is_negative, power, digits } = Decimal::of(number).ok_or(number)?;
            format!("{}0.{digits}e{power}", if is_negative { "-" } else { "" })
        }
        Value::Array(values) => {
            let values = values.iter().map(identity).collect::<Result<Vec<_>, _>>()?;
            format!("[{}]", values.join(","))
        }
        Value::Object(fields) => {
            let field = |(key, value): (&String, _)| {
                Ok(format!("{}:{}", Value::from(key.as_str()), identity(value)?))
            };
            let fields = fields.iter().map(field).collect::<Result<Vec<_>, _>>()?;
            format!("{{{}}}", fields.join(","))
        }
        other => other.to_string(),
    })
}
