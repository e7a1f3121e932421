//! Numbers and times as servers write them: `1.5`, `1m30s`, `27 seconds`.

use core::time::Duration;

use crate::base::text::words::{cut, find, is_word_char, starts};

/// The units of time with their names: so many seconds, divided by so many.
const UNITS: [(&str, u32, u32); 6] = [
    ("µs μs us microsecond microseconds", 1, 1_000_000),
    ("ms millis msec msecs millisecond milliseconds", 1, 1_000),
    ("s sec secs second seconds", 1, 1),
    ("m min mins minute minutes", 60, 1),
    ("h hr hrs hour hours", 3_600, 1),
    ("d day days", 86_400, 1),
];

/// A number with or without a fraction, as seconds; one beyond `u64` saturates.
pub(crate) fn number(value: &str) -> Option<Duration> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return None;
    }
    // A string of digits fails to parse only if it is too long.
    let whole = Duration::from_secs(whole.parse().unwrap_or(u64::MAX));
    // Nine digits of the fraction are nanoseconds.
    let nanos = fraction.bytes().chain(core::iter::repeat(b'0')).take(9);
    let nanos = nanos.fold(0, |number, digit| number * 10 + u64::from(digit - b'0'));
    Some(whole.saturating_add(Duration::from_nanos(nanos)))
}

/// Returns the time at the beginning of a text, and the text behind it: numbers with units, the
/// largest unit first.
pub(crate) fn time(text: &str) -> Option<(Duration, &str)> {
    let (mut total, mut unit, mut rest) = part(text)?;
    while let Some((more, smaller, behind)) = next_part(rest).filter(|(_, next, _)| *next < unit) {
        (total, unit, rest) = (total.saturating_add(more), smaller, behind);
    }
    // "8s4", "8s_max"
    (!starts(rest, is_word_char)).then_some((total, rest))
}

/// A number with a unit: its time, the place of the unit among all, and the text behind it.
fn part(text: &str) -> Option<(Duration, usize, &str)> {
    let digits = find(text, 0, |c| !c.is_ascii_digit() && c != '.');
    let number = number(cut(text, 0, digits))?;
    let begin = find(text, digits, |c| c != ' ');
    let end = find(text, begin, |c| !c.is_alphabetic());
    let (name, rest) = (cut(text, begin, end), cut(text, end, text.len()));
    let is_named = |names: &str| names.split(' ').any(|one| one.eq_ignore_ascii_case(name));
    let unit = UNITS.iter().position(|(names, ..)| is_named(names))?;
    let (_, times, per) = UNITS[unit];
    Some((number.saturating_mul(times) / per, unit, rest))
}

/// Like [`part`], for one behind another: `1m30s`, `1 minute and 30 seconds`.
fn next_part(text: &str) -> Option<(Duration, usize, &str)> {
    let text = text.trim_start_matches([' ', ',']);
    part(text.strip_prefix("and ").unwrap_or(text))
}
