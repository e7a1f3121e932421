//! Durations as people write them: `"500ms"`, `"30s"`, `"1h30m"`.
//!
//! The grammar is humantime's; the messages are ours, and the same in the attribute and in files.

use core::fmt;
use core::time::Duration;
use std::format;
use std::string::{String, ToString as _};
use std::vec::Vec;

/// The reason why a duration is invalid, and what to write instead.
#[derive(Clone, Debug, PartialEq)]
pub struct InvalidDuration(String);

impl fmt::Display for InvalidDuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for InvalidDuration {}

/// Parses a duration such as `"500ms"`, `"30s"` or `"1h30m"`.
///
/// # Errors
/// The text is not a duration: what is wrong, and what to write. A bare number lacks a unit.
///
/// ```
/// use core::time::Duration;
/// use retry_rules::duration::parse;
///
/// assert_eq!(parse("1h30m"), Ok(Duration::from_secs(5_400)));
/// assert!(parse("5").unwrap_err().to_string().contains("\"5s\""));
/// ```
pub fn parse(text: &str) -> Result<Duration, InvalidDuration> {
    let trimmed = text.trim();
    if lacks_unit(trimmed) && trimmed != "0" {
        return Err(without_unit(trimmed));
    }
    if trimmed.starts_with('-') {
        let message = "a duration cannot be negative: write one such as `\"5s\"`";
        return Err(InvalidDuration(message.to_string()));
    }
    let parsed = if may_overflow(text) {
        Err(humantime::DurationError::NumberOverflow)
    } else {
        humantime::parse_duration(text)
    };
    // Months in humantime, where minutes are meant.
    if parsed.is_ok() && trimmed.contains('M') {
        let minutes = trimmed.replace('M', "m");
        return Err(InvalidDuration(format!("`M` would be months: write `\"{minutes}\"`")));
    }
    parsed.map_err(|error| InvalidDuration(in_words(&error, trimmed)))
}

/// Returns whether the text is a number without a unit.
pub(crate) fn lacks_unit(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Parses a date of RFC 3339 in UTC: `1999-12-31T23:59:59Z`.
#[doc(hidden)]
pub fn parse_date(text: &str) -> Option<std::time::SystemTime> {
    humantime::parse_rfc3339(text).ok()
}

/// Returns what is wrong with a text, and what to write instead.
fn in_words(error: &humantime::DurationError, text: &str) -> String {
    use humantime::DurationError as Wrong;

    let wrong = match error {
        Wrong::UnknownUnit { unit, value, .. } if unit.is_empty() => {
            format!("{value} has no unit")
        }
        Wrong::UnknownUnit { unit, .. } => format!("there is no unit `{unit}`"),
        Wrong::InvalidCharacter(_) => "a duration consists of numbers and units".to_string(),
        Wrong::NumberExpected(0) => "a duration begins with a number".to_string(),
        Wrong::NumberExpected(_) => "each unit of a duration needs a number before it".to_string(),
        Wrong::NumberOverflow => "this number is too large, or too exact".to_string(),
        Wrong::Empty => "this duration is empty".to_string(),
    };
    if let Some(meant) = meant(text) {
        return format!("{wrong}: write `\"{meant}\"`");
    }
    format!("{wrong}: write a duration such as `\"500ms\"`, `\"30s\"` or `\"1h30m\"`")
}

/// Returns the duration that a text in another form certainly means: `30S`, `1,5s`, `00:00:02`.
fn meant(text: &str) -> Option<String> {
    let plain = with_point(&text.to_lowercase())?;
    if plain != text && humantime::parse_duration(&plain).is_ok() {
        return Some(plain);
    }
    let parts: Vec<u32> = text.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hours, minutes, seconds] = parts[..] else { return None };
    let seconds = u64::from(hours) * 3_600 + u64::from(minutes) * 60 + u64::from(seconds);
    Some(format(Duration::from_secs(seconds)).to_string())
}

/// Returns the text with a point for its decimal comma, unless a comma may separate thousands.
pub(crate) fn with_point(text: &str) -> Option<String> {
    let Some((whole, rest)) = text.split_once(',') else { return Some(text.to_string()) };
    let digits = rest.chars().take_while(char::is_ascii_digit).count();
    (digits != 3 && !rest.contains(',')).then(|| format!("{whole}.{rest}"))
}

/// Returns whether humantime might panic: it adds a carry of nanoseconds to the seconds unchecked,
/// so `"18446744073709551615s 1000000000ns"` overflows. No shorter text can overflow, nor one with
/// only small numbers.
fn may_overflow(text: &str) -> bool {
    let large = || text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 9);
    text.len() > 32 && (text.len() > 512 || large())
}

/// Creates the error for a bare number where a duration is expected, or for a range of them.
pub fn without_unit(number: &str) -> InvalidDuration {
    let with = |unit| {
        let added = |end: &str| if end.ends_with(char::is_alphabetic) { "" } else { unit };
        let ends = number.split("..").map(|end| format!("{end}{}", added(end)));
        ends.collect::<Vec<_>>().join("..")
    };
    let (seconds, millis) = (with("s"), with("ms"));
    InvalidDuration(format!(
        "a duration needs a unit: write `\"{seconds}\"` for seconds or `\"{millis}\"` for milliseconds"
    ))
}

/// Creates the error for a range of times that begins at `least` and has no end.
pub(crate) fn without_end(least: &str) -> InvalidDuration {
    InvalidDuration(format!(
        "a range of times needs an end: write one such as `\"{least}..250ms\"`"
    ))
}

/// Formats a duration so that [`parse`] can read it, to the nanosecond.
///
/// ```
/// # use core::time::Duration;
/// assert_eq!(retry_rules::duration::format(Duration::from_secs(90)).to_string(), "1m 30s");
/// ```
pub fn format(duration: Duration) -> impl fmt::Display {
    humantime::format_duration(duration)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_carry_beyond_the_largest_duration_is_refused() {
        let error = parse("18446744073709551615s 1000000000ns").unwrap_err();
        assert!(error.to_string().contains("too large"));
    }

    #[test]
    fn mistake_is_answered_with_the_duration_that_was_meant() {
        for (text, message) in [
            ("30S", "there is no unit `S`: write `\"30s\"`"),
            ("5 Mins", "there is no unit `Mins`: write `\"5 mins\"`"),
            ("1,5s", "a duration consists of numbers and units: write `\"1.5s\"`"),
            ("5M", "`M` would be months: write `\"5m\"`"),
            ("1h 5M 3s", "`M` would be months: write `\"1h 5m 3s\"`"),
            ("00:01:02", "a duration consists of numbers and units: write `\"1m 2s\"`"),
        ] {
            assert_eq!(parse(text).unwrap_err().to_string(), message);
        }
        for (text, message) in [
            ("1m30", "30 has no unit: write a duration such as `\"500ms\"`"),
            ("10 parsecs", "there is no unit `parsecs`: write a duration such as `\"500ms\"`"),
            ("1:30", "a duration consists of numbers and units: write"),
            // Perhaps a thousand.
            ("1,000ms", "a duration consists of numbers and units: write a duration such as"),
            ("1,000,00S", "a duration consists of numbers and units: write a duration such as"),
            ("soon", "a duration begins with a number: write"),
            ("2 hours min", "each unit of a duration needs a number before it: write"),
            ("", "this duration is empty: write"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{text}: {error}");
        }
    }

    #[test]
    fn a_long_duration_of_small_numbers_is_read() {
        let text = "1year 2months 3days 4h 5m 6s 7ms 8us 9ns";
        assert_eq!(parse(text).unwrap().subsec_nanos(), 7_008_009);
    }
}
