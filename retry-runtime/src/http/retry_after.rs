//! `Retry-After`: how long a server asks callers to wait.
//!
//! Parsed as [RFC 9110, section 10.2.3][rfc] says: seconds, or a date. The `RateLimit` fields are
//! not a standard yet, and every service has its own `X-RateLimit-…`; `retry_after = …` in the
//! attribute, or [`Classify::retry_after`], is the place for them.
//!
//! [rfc]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
//! [`Classify::retry_after`]: crate::Classify::retry_after

use core::time::Duration;
use std::time::SystemTime;

use ::http::HeaderMap;
use ::http::header::{DATE, HeaderName, RETRY_AFTER};

use crate::base::clock;

/// Parses a value of `Retry-After`, and returns how long to wait from `now`.
///
/// | value | meaning |
/// | --- | --- |
/// | `120` | seconds; too large a number saturates |
/// | `Fri, 31 Dec 1999 23:59:59 GMT`, and the two older forms of a date | the time from `now` until then; zero once it has passed |
/// | anything else, including `-1` and `1.5` | `None` |
///
/// Surrounding spaces are ignored.
///
/// ```
/// use retry_runtime::http::retry_after::parse;
/// use std::time::{Duration, SystemTime};
///
/// let now = SystemTime::UNIX_EPOCH;
/// assert_eq!(parse("120", now), Some(Duration::from_secs(120)));
/// assert_eq!(parse("Thu, 01 Jan 1970 00:00:30 GMT", now), Some(Duration::from_secs(30)));
/// assert_eq!(parse("soon", now), None);
/// ```
pub fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A string of digits fails to parse only if it is too long.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let then = httpdate::parse_http_date(value).ok()?;
    Some(then.duration_since(now).unwrap_or_default())
}

/// Returns how long the headers of a response say to wait.
///
/// A date is compared with the `Date` of the same response, so that the server's clock need not
/// agree with the local one; without a `Date`, with the system's clock. If there are several
/// values, the first one counts.
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
    let value = text(headers, &RETRY_AFTER)?;
    let date = text(headers, &DATE).and_then(|date| httpdate::parse_http_date(date.trim()).ok());
    parse(value, date.unwrap_or_else(clock::wall))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(secs: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(secs)
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn seconds_are_digits_and_nothing_else() {
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
            ("1.5", None),
            ("1s", None),
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
}
