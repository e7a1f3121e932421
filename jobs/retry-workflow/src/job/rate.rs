//! [`Rate`]: items per unit of time, as people write it: `10/s`; and [`Rates`], of which several can
//! limit the same items.

use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

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
    unit: Duration,
}

/// The units that a rate may have, for messages.
const UNITS: &str = "per second, minute, hour or day, such as `10/s`, `600/m`, `100/h` or `500/d`";

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);
pub(crate) const DAY: Duration = Duration::from_secs(86_400);

fn unit_named(word: &str) -> Option<Duration> {
    match word {
        "s" | "sec" | "secs" | "second" | "seconds" => Some(SECOND),
        "m" | "min" | "mins" | "minute" | "minutes" => Some(MINUTE),
        "h" | "hr" | "hour" | "hours" => Some(HOUR),
        "d" | "day" | "days" => Some(DAY),
        _ => None,
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
        Self { items, unit: SECOND }
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
        Self { items, unit: MINUTE }
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
        Self { items, unit: HOUR }
    }

    /// Creates a rate of this many items per day, which is any 24 hours. They need not be spread
    /// evenly.
    ///
    /// ```
    /// # use std::num::NonZeroU64;
    /// # use std::time::Duration;
    /// # use retry_workflow::Rate;
    /// let rate = Rate::per_day(NonZeroU64::new(24).unwrap());
    /// assert_eq!(rate.every(), Duration::from_secs(3600));
    /// ```
    pub const fn per_day(items: NonZeroU64) -> Self {
        Self { items, unit: DAY }
    }

    /// Limits the sum of the items' costs instead of their number. `cost` takes the cost of an item
    /// from its payload: a whole number from 1, paid by each attempt. An item without such a cost
    /// (`None` or 0), or with one above the limit, is not run: it becomes a dead letter of the class
    /// `payload`, unless the [`ErrorPolicy`](crate::ErrorPolicy) decides otherwise. Several costs
    /// of the same items are told apart by their order: a new one comes last.
    ///
    /// ```
    /// use retry_workflow::job::Rates;
    /// use retry_workflow::{Rate, Workflow};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let began = tokio::time::Instant::now();
    /// let calls: Rate = "10/s".parse()?;
    /// let tokens: Rate = "90000/m".parse()?;
    /// let report = Workflow::new("summarise")
    ///     .rate(vec![calls.into(), tokens.cost(|item| item["tokens"].as_u64())])
    ///     .run([40_000, 40_000, 20_000, 100_000].map(|tokens| serde_json::json!({ "tokens": tokens })),
    ///         |_: serde_json::Value, _| async { Ok::<_, String>(()) })
    ///     .await?;
    /// // The third item starts when a minute has passed, and the last one never.
    /// assert_eq!((report.succeeded(), report.dead()), (3, 1));
    /// assert!((60..=61).contains(&began.elapsed().as_secs()));
    /// # Ok(())
    /// # }
    /// ```
    pub fn cost(self, cost: impl Fn(&Value) -> Option<u64> + Send + Sync + 'static) -> Rates {
        self.named_cost(String::new(), cost)
    }

    /// As [`cost`](Self::cost), for costs that are told apart by a name.
    #[doc(hidden)]
    pub fn named_cost(
        self,
        name: String,
        cost: impl Fn(&Value) -> Option<u64> + Send + Sync + 'static,
    ) -> Rates {
        Rates(vec![(self, Some((name, Arc::new(cost))))])
    }

    /// Returns the number of items, or the sum of their costs.
    pub(crate) const fn limit(self) -> u64 {
        self.items.get()
    }

    /// Returns the unit of time.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let rate: retry_workflow::Rate = "600/m".parse().unwrap();
    /// assert_eq!(rate.unit(), Duration::from_secs(60));
    /// ```
    pub const fn unit(self) -> Duration {
        self.unit
    }

    /// Returns the unit as a rate has it: `s`, `m`, `h` or `d`.
    pub(crate) fn unit_letter(self) -> &'static str {
        match self.unit {
            DAY => "d",
            HOUR => "h",
            MINUTE => "m",
            _ => "s",
        }
    }

    /// Returns the time between two items; at least a microsecond, the smallest step of a
    /// [`Timestamp`](crate::Timestamp).
    pub fn every(self) -> Duration {
        Duration::from_nanos(self.unit.as_secs() * 1_000_000_000 / self.items)
            .max(Duration::from_micros(1))
    }
}

/// The form that parsing reads: `10/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.items, self.unit_letter())
    }
}

/// The name of a cost, and the function that takes it from an item's payload.
pub(crate) type CostOf = (String, Arc<dyn Fn(&Value) -> Option<u64> + Send + Sync>);

/// Rates that hold together for the same items: each is a [`Rate`] of items, or of
/// [costs](Rate::cost).
#[derive(Clone, Default)]
pub struct Rates(pub(crate) Vec<(Rate, Option<CostOf>)>);

retry_rules::conversion!(|rate: Rate| -> Rates { Self(vec![(rate, None)]) });

impl FromStr for Rates {
    type Err = InvalidRate;

    /// Reads one rate, as [`Rate`] does.
    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        text.parse::<Rate>().map(Self::from)
    }
}

/// All of them: `10/s, 90000/m of costs`.
impl fmt::Display for Rates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (rate, cost)) in self.0.iter().enumerate() {
            let before = if place == 0 { "" } else { ", " };
            write!(f, "{before}{rate}{}", if cost.is_some() { " of costs" } else { "" })?;
        }
        Ok(())
    }
}

retry_rules::partial_debug!(Rates, |self| { rates: &self.to_string() });

/// A value for the rates of a limit: a [`Rate`], the text of one, such as `"30/s"`, or a list of
/// them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a rate",
    label = "not a rate",
    note = "write a text such as `\"30/s\"`, `\"600/m\"` or `\"100/h\"`, or pass a \
            `retry_workflow::Rate`"
)]
pub trait IntoRates: sealed::Sealed {
    /// Returns the rates.
    ///
    /// # Errors
    /// A text is not a rate.
    fn into_rates(self) -> Result<Rates, InvalidRate>;
}

setting_value!(IntoRates::into_rates -> Result<Rates, InvalidRate>, from Rate, Rates);

impl<T: IntoRates> IntoRates for Vec<T> {
    fn into_rates(self) -> Result<Rates, InvalidRate> {
        let rates: Vec<_> = self.into_iter().map(T::into_rates).collect::<Result<_, _>>()?;
        Ok(Rates(rates.into_iter().flat_map(|rates| rates.0).collect()))
    }
}

impl<T: IntoRates, const N: usize> IntoRates for [T; N] {
    fn into_rates(self) -> Result<Rates, InvalidRate> {
        Vec::from(self).into_rates()
    }
}

impl<T> sealed::Sealed for Vec<T> {}
impl<T, const N: usize> sealed::Sealed for [T; N] {}

/// A text that is not a rate, and what to write instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRate(String);

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

    /// Reads a whole number, `/`, and `s`, `m`, `h` or `d`.
    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let text = text.trim();
        let shown = OneLine(text);
        let no_number = || {
            InvalidRate(format!(
                "\"{shown}\" does not begin with a whole number: write a rate such as `10/s`; for \
                 one every two seconds, write `30/m`"
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
                    "\"{shown}\" has no unit: write `{shown}/s`, `{shown}/m` or `{shown}/h`"
                )));
            }
            let begins_with_number = text.starts_with(|c: char| c.is_ascii_digit());
            if !begins_with_number || text.contains(['.', ',']) {
                return Err(no_number());
            }
            return Err(InvalidRate(format!("\"{shown}\" is not a rate: write one {UNITS}")));
        };
        let items = NonZeroU64::new(whole(number).ok_or_else(no_number)?).ok_or_else(|| {
            InvalidRate(format!(
                "\"{shown}\" never makes progress: write a rate of at least 1, such as `1/h`"
            ))
        })?;
        let unit = unit_named(unit.trim()).ok_or_else(|| {
            InvalidRate(format!("\"{shown}\" has an unknown unit: write a rate {UNITS}"))
        })?;
        Ok(Self { items, unit })
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
            ("48/d", Duration::from_secs(1_800)),
            ("18446744073709551615/s", Duration::from_micros(1)),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().every(), every, "{text}");
        }
        assert_eq!("10/sec".parse::<Rate>().unwrap().to_string(), "10/s");
    }

    #[test]
    fn an_invalid_rate_is_refused_with_a_valid_form() {
        for (text, says) in [
            ("10", "\"10\" has no unit: write `10/s`, `10/m` or `10/h`"),
            ("10/w", "per second, minute, hour or day"),
            ("10/", "per second, minute, hour or day"),
            ("0/s", "at least 1"),
            ("0.5/s", "`30/m`"),
            ("-1/s", "whole number"),
            ("18446744073709551616/s", "whole number"),
            ("fast", "whole number"),
            ("100 per second", "is not a rate: write one per second, minute, hour or day, such as"),
            ("7rph", "is not a rate: write one per second"),
            ("1.5 per second", "whole number"),
            ("", "whole number"),
            ("\u{1b}[31m", "\\u{1b}[31m"),
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }
}
