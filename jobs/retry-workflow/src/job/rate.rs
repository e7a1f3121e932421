//! [`Rate`]: items per unit of time, as people write it: `10/s`.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::item::sanitize::OneLine;

/// A number of items per unit of time.
///
/// ```
/// use std::time::Duration;
/// use retry_workflow::Rate;
///
/// let rate: Rate = "600/m".parse().unwrap();
/// assert_eq!(rate.every(), Duration::from_millis(100));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    items: NonZeroU64,
    per: TimeUnit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TimeUnit {
    Second,
    Minute,
    Hour,
}

/// The units that a rate may have, for messages.
const UNITS: &str = "per second, minute or hour, such as \"10/s\", \"600/m\" or \"100/h\"";

impl TimeUnit {
    fn named(word: &str) -> Option<Self> {
        match word {
            "s" | "sec" | "secs" | "second" | "seconds" => Some(Self::Second),
            "m" | "min" | "mins" | "minute" | "minutes" => Some(Self::Minute),
            "h" | "hr" | "hour" | "hours" => Some(Self::Hour),
            _ => None,
        }
    }

    const fn nanos(self) -> u64 {
        let seconds = match self {
            Self::Second => 1,
            Self::Minute => 60,
            Self::Hour => 3_600,
        };
        seconds * 1_000_000_000
    }
}

impl Rate {
    /// Creates a rate of this many items per second.
    ///
    /// ```
    /// # use std::num::NonZeroU64;
    /// # use std::time::Duration;
    /// # use retry_workflow::Rate;
    /// let rate = Rate::per_second(NonZeroU64::new(10).unwrap());
    /// assert_eq!(rate.every(), Duration::from_millis(100));
    /// ```
    pub const fn per_second(items: NonZeroU64) -> Self {
        Self { items, per: TimeUnit::Second }
    }

    /// Creates a rate of this many items per minute.
    ///
    /// ```
    /// # use std::num::NonZeroU64;
    /// # use std::time::Duration;
    /// # use retry_workflow::Rate;
    /// let rate = Rate::per_minute(NonZeroU64::new(60).unwrap());
    /// assert_eq!(rate.every(), Duration::from_millis(1000));
    /// ```
    pub const fn per_minute(items: NonZeroU64) -> Self {
        Self { items, per: TimeUnit::Minute }
    }

    /// Creates a rate of this many items per hour.
    ///
    /// ```
    /// # use std::num::NonZeroU64;
    /// # use std::time::Duration;
    /// # use retry_workflow::Rate;
    /// let rate = Rate::per_hour(NonZeroU64::new(3600).unwrap());
    /// assert_eq!(rate.every(), Duration::from_millis(1000));
    /// ```
    pub const fn per_hour(items: NonZeroU64) -> Self {
        Self { items, per: TimeUnit::Hour }
    }

    /// Returns the time between two items; at least a microsecond, the smallest step of a
    /// [`Timestamp`](crate::Timestamp).
    pub fn every(self) -> Duration {
        Duration::from_nanos(self.per.nanos() / self.items).max(Duration::from_micros(1))
    }
}

/// The form that parsing reads: `10/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.per {
            TimeUnit::Second => "s",
            TimeUnit::Minute => "m",
            TimeUnit::Hour => "h",
        };
        write!(f, "{}/{unit}", self.items)
    }
}

/// A value for the rate of a limit: a [`Rate`], or the text of one, such as `"30/s"`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a rate",
    label = "not a rate",
    note = "write a text such as `\"30/s\"`, `\"600/m\"` or `\"100/h\"`, or pass a \
            `retry_workflow::Rate`"
)]
pub trait IntoRate: sealed::Sealed {
    /// Returns the rate.
    ///
    /// # Errors
    /// The text is not a rate.
    fn into_rate(self) -> Result<Rate, InvalidRate>;
}

setting_value!(IntoRate::into_rate -> Result<Rate, InvalidRate>, from Rate);

/// A text that is not a rate, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRate(String);

/// The rate that these words probably mean: `100 per second`, `100rps`.
fn meant(text: &str) -> Option<Rate> {
    let text = text.to_lowercase();
    let (number, words) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let items = number.parse().ok()?;
    let mut words = words.split(|c: char| !c.is_ascii_alphabetic()).rev();
    let per = words.find_map(|word| TimeUnit::named(word.strip_prefix("rp").unwrap_or(word)))?;
    Some(Rate { items, per })
}

/// As a text, such as `10/s`.
impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl FromStr for Rate {
    type Err = InvalidRate;

    /// Reads a whole number, `/`, and `s`, `m` or `h`.
    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let text = text.trim();
        let shown = OneLine(text);
        let no_number = || {
            InvalidRate(format!(
                "\"{shown}\" does not begin with a whole number: write a rate such as \"10/s\"; for \
                 one every two seconds, write \"30/m\""
            ))
        };
        let whole = |number: &str| {
            let number = number.trim();
            let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
            digits.then(|| number.parse::<u64>().ok()).flatten()
        };
        let Some((number, unit)) = text.split_once('/') else {
            if whole(text).is_some() {
                return Err(InvalidRate(format!(
                    "\"{shown}\" has no unit: write \"{shown}/s\", \"{shown}/m\" or \"{shown}/h\""
                )));
            }
            let begins_with_number = text.starts_with(|c: char| c.is_ascii_digit());
            if !begins_with_number || text.contains(['.', ',']) {
                return Err(no_number());
            }
            let instead = match meant(text) {
                Some(meant) => format!("\"{meant}\""),
                None => format!("one {UNITS}"),
            };
            return Err(InvalidRate(format!("\"{shown}\" is not a rate: write {instead}")));
        };
        let items = NonZeroU64::new(whole(number).ok_or_else(no_number)?).ok_or_else(|| {
            InvalidRate(format!(
                "\"{shown}\" never makes progress: write a rate of at least 1, such as \"1/h\""
            ))
        })?;
        let per = TimeUnit::named(unit.trim()).ok_or_else(|| {
            InvalidRate(format!("\"{shown}\" has an unknown unit: write a rate {UNITS}"))
        })?;
        Ok(Self { items, per })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_as_people_write_them() {
        for (text, every) in [
            ("10/s", Duration::from_millis(100)),
            (" 600 / m ", Duration::from_millis(100)),
            ("100/h", Duration::from_secs(36)),
            ("1/hour", Duration::from_secs(3_600)),
            ("18446744073709551615/s", Duration::from_micros(1)),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().every(), every, "{text}");
        }
        assert_eq!("10/sec".parse::<Rate>().unwrap().to_string(), "10/s");
    }

    #[test]
    fn an_invalid_rate_is_refused_with_a_valid_form() {
        for (text, says) in [
            ("10", "\"10\" has no unit: write \"10/s\", \"10/m\" or \"10/h\""),
            ("10/w", "per second, minute or hour"),
            ("10/", "per second, minute or hour"),
            ("0/s", "at least 1"),
            ("0.5/s", "\"30/m\""),
            ("-1/s", "whole number"),
            ("18446744073709551616/s", "whole number"),
            ("fast", "whole number"),
            ("100 per second", "\"100 per second\" is not a rate: write \"100/s\""),
            ("5 every minute", "write \"5/m\""),
            ("7rph", "write \"7/h\""),
            ("3 a day", "is not a rate: write one per second, minute or hour"),
            ("0 per second", "is not a rate: write one per second"),
            ("1.5 per second", "whole number"),
            ("", "whole number"),
            ("\u{1b}[31m", "\\u{1b}[31m"),
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
