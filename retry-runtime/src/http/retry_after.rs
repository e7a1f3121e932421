//! `Retry-After`: how long a server asks callers to wait.
//!
//! Parsed as [RFC 9110, section 10.2.3][rfc] says: seconds, or a date; and as widely used services
//! say it beside the standard:
//!
//! | header | value | who sends it |
//! | --- | --- | --- |
//! | `Retry-After-Ms` | milliseconds | Azure, `OpenAI` |
//! | `Retry-After` | seconds, also `1.5`, or a date | everybody |
//! | `X-RateLimit-Reset-After` | seconds, also `1.5` | Discord |
//! | `X-RateLimit-Reset`, if `X-RateLimit-Remaining` is 0 | seconds since 1970, or from now | GitHub and many others |
//! | `X-RateLimit-Reset-Requests`, `-Tokens`, if `X-RateLimit-Remaining-…` is 0 | `6m0s`, `1.5s`, `20ms` | `OpenAI` |
//!
//! The first of them that can be read counts. For a service with headers of its own,
//! `retry_after = …` in the attribute, or [`Classify::retry_after`], is the place.
//!
//! [rfc]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
//! [`Classify::retry_after`]: crate::Classify::retry_after

use core::time::Duration;
use std::time::SystemTime;

use ::http::HeaderMap;
use ::http::header::{DATE, RETRY_AFTER};

use crate::base::clock;

/// Parses a value of `Retry-After`, and returns how long to wait from `now`.
///
/// | value | meaning |
/// | --- | --- |
/// | `120`, `1.5` | seconds; too large a number saturates |
/// | `Fri, 31 Dec 1999 23:59:59 GMT`, and the two older forms of a date | the time from `now` until then; zero once it has passed |
/// | anything else, including `-1` and `7 seconds` | `None` |
///
/// Surrounding spaces are ignored.
///
/// ```
/// use retry_runtime::http::retry_after::parse;
/// use std::time::{Duration, SystemTime};
///
/// let now = SystemTime::UNIX_EPOCH;
/// assert_eq!(parse("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(parse("1.5", now), Some(Duration::from_millis(1_500)));
/// assert_eq!(parse("Thu, 01 Jan 1970 00:00:30 GMT", now), Some(Duration::from_secs(30)));
/// assert_eq!(parse("soon", now), None);
/// ```
pub fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if let Some(wait) = seconds(value) {
        return Some(wait);
    }
    let then = httpdate::parse_http_date(value).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}

/// Returns how long the headers of a response say to wait.
///
/// A date is compared with the `Date` of the same response, so that the server's clock need not
/// agree with the local one; without a `Date`, with the system's clock. If there are several
/// values of one header, the first one counts.
///
/// ```
/// use http::HeaderMap;
/// use http::header::{DATE, RETRY_AFTER};
/// use retry_runtime::http::retry_after;
/// use std::time::Duration;
///
/// let mut headers = HeaderMap::new();
/// headers.insert(DATE, "Fri, 31 Dec 1999 23:59:00 GMT".parse().unwrap());
/// headers.insert(RETRY_AFTER, "Fri, 31 Dec 1999 23:59:59 GMT".parse().unwrap());
/// assert_eq!(retry_after::from_headers(&headers), Some(Duration::from_secs(59)));
/// ```
pub fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    let value = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    let now = || {
        let date = value(DATE.as_str()).and_then(|date| httpdate::parse_http_date(date).ok());
        date.unwrap_or_else(clock::wall)
    };
    let milliseconds = |value| seconds(value).map(|wait| wait / 1_000);
    // Services report a reset with each response; it is a wait once nothing is left.
    let is_used_up = |name| value(name).is_some_and(|left| left.parse() == Ok(0_u64));
    let reset_of = |remaining, reset| value(reset).filter(|_| is_used_up(remaining));

    value("retry-after-ms")
        .and_then(milliseconds)
        .or_else(|| parse(value(RETRY_AFTER.as_str())?, now()))
        .or_else(|| seconds(value("x-ratelimit-reset-after")?))
        .or_else(|| {
            let reset = reset_of("x-ratelimit-remaining", "x-ratelimit-reset")?;
            Some(until(seconds(reset)?, now()))
        })
        .or_else(|| {
            let requests = reset_of("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests");
            let tokens = reset_of("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens");
            requests.and_then(units).max(tokens.and_then(units))
        })
}

/// Seconds, with or without a fraction; too large a number saturates.
fn seconds(value: &str) -> Option<Duration> {
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

/// The time until a reset, which is said as a point in time or from now on.
fn until(reset: Duration, now: SystemTime) -> Duration {
    /// Nobody asks for thirty years, and no reset was before the year 2001.
    const POINT: Duration = Duration::from_secs(1_000_000_000);
    if reset < POINT {
        return reset;
    }
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    reset.saturating_sub(now)
}

/// `6m0s`, `1.5s`, `20ms`.
fn units(value: &str) -> Option<Duration> {
    retry_rules::duration::parse(value).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    use ::http::header::HeaderName;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(secs: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(secs)
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn whole_seconds_are_digits_and_nothing_else() {
        for (value, expected) in [
            ("0", Some(0)),
            ("120", Some(120)),
            ("  7\t", Some(7)),
            ("007", Some(7)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", Some(u64::MAX)),
            ("99999999999999999999999999999999", Some(u64::MAX)),
            ("", None),
            (" ", None),
            ("-1", None),
            ("+1", None),
            ("1.", None),
            (".5", None),
            ("1.5.0", None),
            ("1.-5", None),
            ("1s", None),
            ("7 seconds", None),
            ("1 2", None),
            ("0x10", None),
            ("1e3", None),
            ("٣", None),
            ("soon", None),
            ("NaN", None),
        ] {
            assert_eq!(parse(value, at(0)), expected.map(Duration::from_secs), "{value:?}");
        }
    }

    #[test]
    fn dates_are_read_in_all_three_forms() {
        // 23:59:00, 59 seconds before.
        let now = at(946_684_740);
        for value in [
            "Fri, 31 Dec 1999 23:59:59 GMT",
            "Friday, 31-Dec-99 23:59:59 GMT",
            "Fri Dec 31 23:59:59 1999",
            "\t Fri, 31 Dec 1999 23:59:59 GMT ",
        ] {
            assert_eq!(parse(value, now), Some(SECOND * 59), "{value:?}");
        }
        for value in [
            "Fri, 31 Dec 1999 23:59:59",
            "Fri, 32 Dec 1999 23:59:59 GMT",
            "1999-12-31T23:59:59Z",
            "Fri, 31 Dec 1999 23:59:59 +0200",
        ] {
            assert_eq!(parse(value, now), None, "{value:?}");
        }
    }

    #[test]
    fn a_date_that_has_passed_asks_for_no_time() {
        let value = "Fri, 31 Dec 1999 23:59:59 GMT";
        assert_eq!(parse(value, at(946_684_799)), Some(Duration::ZERO));
        assert_eq!(parse(value, at(1_900_000_000)), Some(Duration::ZERO));
    }

    #[test]
    fn a_date_is_compared_with_that_of_the_response() {
        let (date, later) = ("Fri, 31 Dec 1999 23:59:00 GMT", "Fri, 31 Dec 1999 23:59:30 GMT");
        let asked = headers(&[(DATE, date), (RETRY_AFTER, later)]);
        assert_eq!(from_headers(&asked), Some(SECOND * 30));
    }

    #[test]
    fn without_a_date_of_its_own_it_is_compared_with_the_clock() {
        let later = httpdate::fmt_http_date(SystemTime::now() + SECOND * 100);
        for date in [None, Some((DATE, "yesterday"))] {
            let mut asked = headers(&[(RETRY_AFTER, &later)]);
            asked.extend(date.map(|(name, value)| (name, value.parse().unwrap())));
            let wait = from_headers(&asked).unwrap();
            assert!((SECOND * 90..=SECOND * 100).contains(&wait), "{wait:?}");
        }
    }

    #[test]
    fn seconds_need_no_date() {
        assert_eq!(from_headers(&headers(&[(RETRY_AFTER, "3")])), Some(SECOND * 3));
        assert_eq!(from_headers(&headers(&[])), None);
        assert_eq!(from_headers(&headers(&[(RETRY_AFTER, "later")])), None);
    }

    #[test]
    fn a_value_that_is_no_text_says_nothing() {
        let mut asked = HeaderMap::new();
        asked.insert(RETRY_AFTER, http::HeaderValue::from_bytes(b"\xff3").unwrap());
        assert_eq!(from_headers(&asked), None);
    }

    #[test]
    fn of_several_values_the_first_counts() {
        let asked = headers(&[(RETRY_AFTER, "3"), (RETRY_AFTER, "9")]);
        assert_eq!(from_headers(&asked), Some(SECOND * 3));
    }

    #[test]
    fn seconds_may_have_a_fraction() {
        for (value, nanos) in [
            ("1.5", 1_500_000_000),
            ("0.064", 64_000_000),
            ("2.0", 2_000_000_000),
            ("1.0000000019", 1_000_000_001),
        ] {
            assert_eq!(parse(value, at(0)), Some(Duration::from_nanos(nanos)), "{value}");
        }
    }

    fn named(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let header = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), value.parse().unwrap())
        };
        pairs.iter().map(header).collect()
    }

    #[test]
    fn services_have_headers_of_their_own() {
        let date = ("date", "Thu, 09 Sep 2010 00:00:00 GMT");
        let reset = (SECOND * 1_283_990_400 + SECOND * 90).as_secs().to_string();
        for (pairs, millis) in [
            (vec![("retry-after-ms", "250")], 250),
            (vec![("retry-after-ms", "250.5")], 250),
            (vec![("retry-after-ms", "250"), ("retry-after", "9")], 250),
            (vec![("retry-after-ms", "soon"), ("retry-after", "9")], 9_000),
            (vec![("x-ratelimit-reset-after", "64.57")], 64_570),
            (vec![("retry-after", "2"), ("x-ratelimit-reset-after", "64.57")], 2_000),
            (vec![date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset)], 90_000),
            (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "30")], 30_000),
            (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1000000001")], 0),
            (
                vec![
                    ("x-ratelimit-remaining-requests", "0"),
                    ("x-ratelimit-reset-requests", "6m0s"),
                    ("x-ratelimit-remaining-tokens", "12"),
                    ("x-ratelimit-reset-tokens", "1h"),
                ],
                360_000,
            ),
            (
                vec![
                    ("x-ratelimit-remaining-tokens", "0"),
                    ("x-ratelimit-reset-tokens", "1m1.5s20ms"),
                ],
                61_520,
            ),
        ] {
            let wait = from_headers(&named(&pairs)).map(|wait| wait.as_millis());
            assert_eq!(wait, Some(millis), "{pairs:?}");
        }
    }

    #[test]
    fn a_reset_is_no_wait_while_something_is_left() {
        for pairs in [
            vec![("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "30")],
            vec![("x-ratelimit-reset", "30")],
            vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "soon")],
            vec![
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "6 moons"),
            ],
            vec![("x-ratelimit-remaining-requests", "0"), ("x-ratelimit-reset-requests", "")],
        ] {
            assert_eq!(from_headers(&named(&pairs)), None, "{pairs:?}");
        }
    }
}
