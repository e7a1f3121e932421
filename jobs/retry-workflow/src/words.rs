//! Numbers and times as the command and the board write them.
//!
//! ```
//! use retry_workflow::words::{count, thousands};
//!
//! assert_eq!(thousands(1_204), "1,204");
//! assert_eq!(count(1, "item"), "1 item");
//! assert_eq!(count(1_204, "item"), "1,204 items");
//! ```

use std::error::Error;
use std::time::Duration;

use crate::item::clock::Timestamp;
use crate::item::sanitize::OneLine;

/// Returns a number with commas between groups of three digits.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// Returns a number, such as a coordinate in a picture, with two decimals at most.
#[doc(hidden)]
pub fn px(number: f64) -> String {
    let digits = format!("{number:.2}");
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Returns a number of things: `1 item`, `2 items`, `1,204 items`.
pub fn count(number: u64, one: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {one}{plural}", thousands(number))
}

/// Returns a part of a whole in percent, rounded down: 100 only if there is no rest.
pub fn percent(part: u64, whole: u64) -> u64 {
    let percent = u128::from(part) * 100 / u128::from(whole.max(1));
    u64::try_from(percent).unwrap_or(100)
}

/// Returns the text of an error and the texts of its causes.
pub fn chain(error: &dyn Error) -> String {
    let below = std::iter::successors(error.source(), |&error| error.source());
    below.fold(error.to_string(), |text, error| format!("{text}: {error}"))
}

/// Returns a text for a command line, in quotes if necessary.
///
/// ```
/// use retry_workflow::words::argument;
///
/// assert_eq!(argument("import-1"), "import-1");
/// assert_eq!(argument("ada's"), r"'ada'\''s'");
/// ```
pub fn argument(text: &str) -> String {
    let shown = OneLine(text).to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:@".contains(c);
    if !shown.is_empty() && !shown.starts_with('-') && shown.chars().all(is_plain) {
        shown
    } else {
        format!("'{}'", shown.replace('\'', r"'\''"))
    }
}

/// Returns a text, or its beginning with `…` if it is longer than `most` characters.
///
/// ```
/// use retry_workflow::words::cut;
///
/// assert_eq!(cut("no tax rate", 6), "no ta…");
/// ```
pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => text.chars().take(most.saturating_sub(1)).chain(['…']).collect(),
    }
}

/// Returns how long ago `then` was, in its largest unit: `3h`.
pub fn age(now: Timestamp, then: Timestamp) -> String {
    let seconds = now.since(then).as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        _ => format!("{}d", thousands(seconds / 86_400)),
    }
}

/// Returns a time to the second: `2026-11-21 06:52:51Z`, which [`Timestamp`] can parse.
pub fn moment(time: Timestamp) -> String {
    let exact = time.to_string();
    let seconds = exact.split(['.', 'Z']).next().unwrap_or(&exact);
    format!("{}Z", seconds.replacen('T', " ", 1))
}

/// Returns a duration to the millisecond, which is precise enough for a history.
pub fn duration(duration: Duration) -> String {
    let millis = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    if millis == 0 && !duration.is_zero() {
        return "<1ms".to_owned();
    }
    retry_rules::duration::format(Duration::from_millis(millis)).to_string()
}

/// Returns a sum of durations, in whole seconds from a minute on.
pub fn total(sum: Duration) -> String {
    duration(if sum < Duration::from_secs(60) { sum } else { Duration::from_secs(sum.as_secs()) })
}

/// Returns a future time, and how far away it is: `2026-11-21 08:01:30Z, in 1m 30s`.
pub fn in_a_while(until: Timestamp, now: Timestamp) -> String {
    let left = until.since(now);
    let left = if left.as_secs() == 0 { left } else { Duration::from_secs(left.as_secs()) };
    format!("{}, in {}", moment(until), duration(left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_short_and_can_be_read_again() {
        let exact: Timestamp = "2026-11-21T06:52:51.250000Z".parse().unwrap();
        assert_eq!(moment(exact), "2026-11-21 06:52:51Z");
        let read: Timestamp = moment(exact).parse().unwrap();
        assert_eq!(exact.since(read), Duration::from_millis(250));
        assert!(moment(Timestamp::NEVER).starts_with("9999-12-31 "));
    }

    #[test]
    fn a_share_is_of_a_hundred_whatever_the_numbers() {
        assert_eq!(percent(0, 0), 0);
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }

    #[test]
    fn large_numbers_are_readable() {
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(123), "123");
        assert_eq!(count(1, "item"), "1 item");
        assert_eq!(count(0, "item"), "0 items");
    }

    #[test]
    fn a_wait_is_reported_with_its_end() {
        let now: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
        let until = now + Duration::from_secs(90);
        assert_eq!(in_a_while(until, now), "2026-11-21 08:01:30Z, in 1m 30s");
        let until = |millis| in_a_while(now + Duration::from_millis(millis), now);
        assert_eq!(until(29_971), "2026-11-21 08:00:29Z, in 29s", "as exact as the end");
        assert_eq!(until(971), "2026-11-21 08:00:00Z, in 971ms");
    }
}
