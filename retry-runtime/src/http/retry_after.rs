//! `Retry-After`: how long a server asks callers to wait.
//!
//! The value is read as [RFC 9110, section 10.2.3][rfc] defines it, seconds or a date. Headers of
//! widely used services and of the draft for rate limits are read as well, in this order:
//!
//! | header | value | sent by |
//! | --- | --- | --- |
//! | `Retry-After-Ms`, `X-Ms-Retry-After-Ms` | milliseconds, also `1.5` | Azure and `OpenAI`; Cosmos DB |
//! | `X-Amz-Retry-After` | whole milliseconds | AWS |
//! | `Retry-After` | seconds, also `1.5`, or a date | most servers |
//! | `X-RateLimit-Reset-After`, unless `X-RateLimit-Remaining` is above 0 | seconds, also `1.5` | Discord |
//! | `X-RateLimit-Reset`, `X-Rate-Limit-Reset`, if `…-Remaining` is 0 | seconds or a date | GitHub, X and many others |
//! | `RateLimit` | `"default";r=0;t=30` ([draft][draft] 8 and later) or `limit=10, remaining=0, reset=30` (7); seconds, the longest one of the limits that are used up | gateways |
//! | `RateLimit-Reset`, if `RateLimit-Remaining` is 0 | seconds or a date | drafts until 6, GitLab |
//! | `X-RateLimit-Reset-Requests`, `-Tokens`, if `X-RateLimit-Remaining-…` is 0 | `6m0s`, `1.5s`, `20ms`, or seconds; the longer one | `OpenAI` |
//! | `Anthropic-RateLimit-…-Reset` of `Requests`, `Tokens`, `Input-Tokens` and `Output-Tokens`, if `…-Remaining` is 0 | a date of RFC 3339; the longest one | Anthropic |
//!
//! A time with units, such as `500ms` or `1m30s`, is read in place of seconds too, except in
//! `RateLimit`, and a date of RFC 3339 in UTC (`2026-11-29T05:00:00Z`) in place of an HTTP date.
//!
//! The first wait above zero counts. A header that cannot be read, asks for no time, or names a
//! date that has passed is passed over.
//!
//! A number of seconds from 1,000,000,000 is a point in time: seconds since 1970, or milliseconds,
//! microseconds or nanoseconds. Dates and points in time are compared with the `Date` of the same
//! response, so that the clocks of server and client need not agree. Without a `Date` they are
//! compared with the system's clock.
//!
//! For a service with headers of its own, use the option `retry_after = …`, or implement
//! [`Classify::retry_after`].
//!
//! [rfc]: https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
//! [draft]: https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
//! [`Classify::retry_after`]: crate::Classify::retry_after

use core::time::Duration;
use std::time::SystemTime;

use ::http::HeaderMap;

use crate::base::clock;
use crate::base::text::amount::{number, time};

/// Parses a value of `Retry-After`, and returns how long to wait from `now`.
///
/// | value | meaning |
/// | --- | --- |
/// | `120`, `1.5` | seconds; a number beyond `u64` saturates |
/// | `1735689600`, `1735689600000` | from 1,000,000,000 on, the time from `now` until that point: seconds since 1970, or milliseconds, microseconds or nanoseconds; zero once it has passed |
/// | `Fri, 31 Dec 1999 23:59:59 GMT`, and the two older forms of a date | the time from `now` until then; zero once it has passed |
/// | `1999-12-31T23:59:59Z`, a date of RFC 3339 | the time from `now` until then; zero once it has passed |
/// | `500ms`, `30s`, `1m30s` | that time |
/// | anything else, including `-1` and `soon` | `None` |
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
/// assert_eq!(parse("1970-01-01T00:00:30Z", now), Some(Duration::from_secs(30)));
/// assert_eq!(parse("1m30s", now), Some(Duration::from_secs(90)));
/// assert_eq!(parse("soon", now), None);
///
/// let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_735_689_600);
/// assert_eq!(parse("1735689630", now), Some(Duration::from_secs(30)));
/// assert_eq!(parse("0", now), Some(Duration::ZERO));
/// ```
pub fn parse(value: &str, now: SystemTime) -> Option<Duration> {
    let value = value.trim_matches([' ', '\t']);
    if let Some(wait) = number(value) {
        return Some(until(wait, 1, now));
    }
    let then = httpdate::parse_http_date(value).ok();
    match then.or_else(|| retry_rules::duration::parse_date(value)) {
        Some(then) => Some(then.duration_since(now).unwrap_or_default()),
        None => time(value).filter(|(_, rest)| rest.is_empty()).map(|(wait, _)| wait),
    }
}

/// Returns how long the headers of a response ask callers to wait: the first wait above zero in the
/// order of [the table](self), or `None` without such a header.
///
/// If there are several values of one header, the first one that asks for a wait counts.
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
///
/// headers.insert(RETRY_AFTER, "0".parse().unwrap());
/// assert_eq!(retry_after::from_headers(&headers), None);
/// ```
pub fn from_headers(headers: &HeaderMap) -> Option<Duration> {
    first_wait(headers, |wait| !wait.is_zero())
}

/// Returns whether the headers of a response ask callers to wait, even for no time: a limit is used
/// up until a point in time that has passed.
pub(crate) fn asks_for_any(headers: &HeaderMap) -> bool {
    first_wait(headers, |_| true).is_some()
}

/// Returns the first wait that `counts`, in the order of the table.
fn first_wait(headers: &HeaderMap, counts: fn(Duration) -> bool) -> Option<Duration> {
    let texts = |name: &str| headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let date = || httpdate::parse_http_date(texts("date").next()?.trim()).ok();
    let now = || date().unwrap_or_else(clock::wall);
    let remaining = |name: &str| texts(name).next().and_then(|left| number(left.trim()));
    let is_used_up = |header: &Header| match header.remaining {
        Some(name) => remaining(name).map_or(!header.needs_remaining, |left| left.is_zero()),
        None => true,
    };
    let asked = |header: &Header| {
        let read = |value: &str| (header.read)(value.trim(), now()).filter(|wait| counts(*wait));
        texts(header.name).find_map(read).filter(|_| is_used_up(header))
    };
    HEADERS.iter().find_map(|row| row.iter().filter_map(asked).max())
}

/// A header that asks for a wait.
struct Header {
    name: &'static str,
    /// The header beside it with the rest of the limit. Services send a reset with each response;
    /// it asks for a wait only if the rest is 0.
    remaining: Option<&'static str>,
    /// Without the header of the rest, this one does not count.
    needs_remaining: bool,
    read: fn(&str, SystemTime) -> Option<Duration>,
}

/// A header that asks for a wait by itself.
const fn asks(name: &'static str, read: fn(&str, SystemTime) -> Option<Duration>) -> Header {
    Header { name, remaining: None, needs_remaining: false, read }
}

/// A header that asks for a wait unless something remains of the limit.
const fn asks_unless_left(
    name: &'static str,
    remaining: &'static str,
    read: fn(&str, SystemTime) -> Option<Duration>,
) -> Header {
    Header { name, remaining: Some(remaining), needs_remaining: false, read }
}

/// A header that asks for a wait if nothing remains of the limit.
const fn resets(
    name: &'static str,
    remaining: &'static str,
    read: fn(&str, SystemTime) -> Option<Duration>,
) -> Header {
    Header { name, remaining: Some(remaining), needs_remaining: true, read }
}

/// The header of one of Anthropic's limits.
macro_rules! anthropic {
    ($limit:literal) => {{
        let remaining = concat!("anthropic-ratelimit-", $limit, "-remaining");
        resets(concat!("anthropic-ratelimit-", $limit, "-reset"), remaining, parse)
    }};
}

/// The headers in the order in which they count. Of the headers in one row the longest wait counts.
const HEADERS: &[&[Header]] = &[
    &[asks("retry-after-ms", millis)],
    &[asks("x-ms-retry-after-ms", millis)],
    &[asks("x-amz-retry-after", whole_millis)],
    &[asks("retry-after", parse)],
    &[asks_unless_left("x-ratelimit-reset-after", "x-ratelimit-remaining", parse)],
    &[resets("x-ratelimit-reset", "x-ratelimit-remaining", parse)],
    &[resets("x-rate-limit-reset", "x-rate-limit-remaining", parse)],
    &[asks("ratelimit", rate_limit)],
    &[resets("ratelimit-reset", "ratelimit-remaining", parse)],
    &[
        resets("x-ratelimit-reset-requests", "x-ratelimit-remaining-requests", parse),
        resets("x-ratelimit-reset-tokens", "x-ratelimit-remaining-tokens", parse),
    ],
    &[
        anthropic!("requests"),
        anthropic!("tokens"),
        anthropic!("input-tokens"),
        anthropic!("output-tokens"),
    ],
];

/// `30`, `1.5`.
fn seconds(value: &str, now: SystemTime) -> Option<Duration> {
    Some(until(number(value)?, 1, now))
}

/// `250`, `250.5`.
pub(super) fn millis(value: &str, now: SystemTime) -> Option<Duration> {
    Some(until(number(value)?, 1_000, now))
}

/// `250`.
fn whole_millis(value: &str, now: SystemTime) -> Option<Duration> {
    if value.contains('.') { None } else { millis(value, now) }
}

/// The longest wait for a limit that is used up, in both forms of the draft's `RateLimit`:
/// `"default";r=0;t=30` for each limit, and `limit=10, remaining=0, reset=30` for the only one.
fn rate_limit(value: &str, now: SystemTime) -> Option<Duration> {
    let (mut longest, mut remaining, mut reset) = (None, None, None);
    for member in unquoted(value, ',')? {
        let mut parts = unquoted(member, ';')?.into_iter().map(|part| part.trim().split_once('='));
        match parts.next().flatten() {
            Some(("remaining", number)) => remaining = Some(number),
            Some(("reset", number)) => reset = Some(number),
            _ => {}
        }
        let (mut r, mut t) = (None, None);
        for parameter in parts.flatten() {
            match parameter {
                ("r", number) => r = Some(number),
                ("t", number) => t = Some(number),
                _ => {}
            }
        }
        longest = longest.max(reset_in(r, t, now));
    }
    longest.max(reset_in(remaining, reset, now))
}

/// The wait for a limit, if nothing remains of it.
fn reset_in(remaining: Option<&str>, reset: Option<&str>, now: SystemTime) -> Option<Duration> {
    if remaining? == "0" { seconds(reset?, now) } else { None }
}

/// The parts of a structured field between separators that are not in quotes; `None` if a quote
/// does not end.
fn unquoted(value: &str, separator: char) -> Option<Vec<&str>> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let parts = value.split(|c: char| {
        let escapes = is_quoted && !is_escaped && c == '\\';
        is_quoted ^= c == '"' && !is_escaped;
        is_escaped = escapes;
        c == separator && !is_quoted
    });
    let parts = parts.collect();
    (!is_quoted).then_some(parts)
}

/// The wait that a number asks for, of which `per_second` are a second: the number itself, or the
/// time until it if it is a point in time.
fn until(number: Duration, per_second: u32, now: SystemTime) -> Duration {
    /// The year 2001 as a point in time, and 31 years as a wait.
    const POINT: Duration = Duration::from_secs(1_000_000_000);
    /// The year 5138 as seconds since 1970, and 1973 as milliseconds.
    const MILLIS: Duration = Duration::from_secs(100_000_000_000);
    // A saturated number is a wait.
    if number.as_secs() == u64::MAX {
        return number;
    }
    let mut asked = number / per_second;
    if asked < POINT {
        return asked;
    }
    while asked >= MILLIS {
        asked /= 1_000;
    }
    asked.saturating_sub(now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    use ::http::header::{DATE, HeaderName, RETRY_AFTER};

    const SECOND: Duration = Duration::from_secs(1);

    fn at(secs: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(secs)
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect()
    }

    #[test]
    fn whole_seconds_are_only_digits() {
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
            ("1s", Some(1)),
            ("7 seconds", Some(7)),
            ("1m30s", Some(90)),
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
    fn dates_are_read_in_all_four_forms() {
        // 23:59:00, 59 seconds before.
        let now = at(946_684_740);
        for value in [
            "Fri, 31 Dec 1999 23:59:59 GMT",
            "Friday, 31-Dec-99 23:59:59 GMT",
            "Fri Dec 31 23:59:59 1999",
            "\t Fri, 31 Dec 1999 23:59:59 GMT ",
            "1999-12-31T23:59:59Z",
            "1999-12-31T23:59:59.000Z",
        ] {
            assert_eq!(parse(value, now), Some(SECOND * 59), "{value:?}");
        }
        for value in [
            "Fri, 31 Dec 1999 23:59:59",
            "Fri, 32 Dec 1999 23:59:59 GMT",
            "1999-12-31T23:59:59",
            "1999-12-31T25:59:59Z",
            "Fri, 31 Dec 1999 23:59:59 +0200",
        ] {
            assert_eq!(parse(value, now), None, "{value:?}");
        }
    }

    #[test]
    fn a_past_date_is_a_wait_of_zero() {
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
    fn a_value_that_is_not_text_is_ignored() {
        let mut asked = HeaderMap::new();
        asked.insert(RETRY_AFTER, http::HeaderValue::from_bytes(b"\xff3").unwrap());
        assert_eq!(from_headers(&asked), None);
    }

    #[test]
    fn the_first_of_several_values_with_a_wait_counts() {
        let asked = headers(&[(RETRY_AFTER, "3"), (RETRY_AFTER, "9")]);
        assert_eq!(from_headers(&asked), Some(SECOND * 3));
        let asked = headers(&[(RETRY_AFTER, "0"), (RETRY_AFTER, "later"), (RETRY_AFTER, "9")]);
        assert_eq!(from_headers(&asked), Some(SECOND * 9));
    }

    #[test]
    fn numbers_from_a_billion_are_points_in_time() {
        let now = at(1_735_689_600);
        for (value, wait) in [
            ("1735689630", 30_000),
            ("1735689630.25", 30_250),
            ("1735689630250", 30_250),
            ("1735689630250000", 30_250),
            ("1735689630250000000", 30_250),
            // Passed: a second ago, in the year 2001, and in 1973.
            ("1735689599", 0),
            ("1000000000", 0),
            ("100000000000", 0),
            ("999999999", 999_999_999_000),
            // The year 5138.
            ("99999999999", 98_264_310_399_000),
        ] {
            let read = parse(value, now).map(|wait| wait.as_millis());
            assert_eq!(read, Some(wait), "{value}");
        }
    }

    #[test]
    fn a_huge_number_is_a_wait_and_not_a_timestamp() {
        let beyond = "99999999999999999999";
        assert_eq!(parse(beyond, at(1_735_689_600)), Some(Duration::from_secs(u64::MAX)));
        for name in ["retry-after", "retry-after-ms", "x-amz-retry-after"] {
            let wait = from_headers(&named(&[(name, beyond)]));
            assert_eq!(wait, Some(Duration::from_secs(u64::MAX)), "{name}");
        }
    }

    #[test]
    fn a_wait_of_zero_leaves_the_word_to_the_next_header() {
        let date = ("date", "Thu, 09 Sep 2010 00:00:00 GMT");
        for zero in [
            vec![("retry-after-ms", "0")],
            vec![("retry-after-ms", "0.0")],
            vec![("x-ms-retry-after-ms", "0")],
            vec![("x-amz-retry-after", "0")],
            vec![("retry-after", "0")],
            vec![("retry-after", "0.0")],
            vec![("retry-after", "Thu, 09 Sep 2010 00:00:00 GMT")],
            vec![("retry-after", "Wed, 08 Sep 2010 23:59:59 GMT")],
            vec![("retry-after", "1283990400")],
            vec![("x-ratelimit-reset-after", "0")],
            vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "1283990399")],
            vec![("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", "0")],
            vec![("ratelimit", "\"default\";r=0;t=0")],
            vec![("ratelimit-remaining", "0"), ("ratelimit-reset", "0")],
        ] {
            let mut pairs = zero.clone();
            pairs.push(date);
            assert_eq!(from_headers(&named(&pairs)), None, "{zero:?}");
            pairs.extend([
                ("x-ratelimit-remaining-requests", "0"),
                ("x-ratelimit-reset-requests", "5s"),
            ]);
            assert_eq!(from_headers(&named(&pairs)), Some(SECOND * 5), "{zero:?}");
        }
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
            (vec![date, ("retry-after-ms", &format!("{reset}250"))], 90_250),
            (vec![("retry-after", "500ms")], 500),
            (vec![date, ("retry-after", "2010-09-09T00:00:30Z")], 30_000),
            (
                vec![("x-ratelimit-remaining-tokens", "0"), ("x-ratelimit-reset-tokens", "1.5")],
                1_500,
            ),
            (
                vec![
                    date,
                    ("anthropic-ratelimit-requests-remaining", "0"),
                    ("anthropic-ratelimit-requests-reset", "2010-09-09T00:00:20Z"),
                    ("anthropic-ratelimit-tokens-remaining", "0"),
                    ("anthropic-ratelimit-tokens-reset", "2010-09-09T00:00:40Z"),
                    ("anthropic-ratelimit-input-tokens-remaining", "7"),
                    ("anthropic-ratelimit-input-tokens-reset", "2010-09-09T00:01:00Z"),
                ],
                40_000,
            ),
            (vec![("x-ms-retry-after-ms", "100")], 100),
            (vec![("retry-after-ms", "0"), ("x-ms-retry-after-ms", "1.5")], 1),
            (vec![("x-amz-retry-after", "1500")], 1_500),
            (vec![("x-amz-retry-after", "1500.5"), ("retry-after", "9")], 9_000),
            (vec![("x-amz-retry-after", "1500"), ("retry-after", "9")], 1_500),
            (vec![date, ("retry-after", &reset)], 90_000),
            (vec![date, ("retry-after", &format!("{reset}000"))], 90_000),
            (vec![("x-ratelimit-reset-after", "64.57")], 64_570),
            (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset-after", "1.5")], 1_500),
            (vec![("retry-after", "2"), ("x-ratelimit-reset-after", "64.57")], 2_000),
            (vec![date, ("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset)], 90_000),
            (vec![("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "30")], 30_000),
            (vec![("x-ratelimit-remaining", "0.0"), ("x-ratelimit-reset", "30.5")], 30_500),
            (
                vec![
                    date,
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", &format!("{reset}000")),
                ],
                90_000,
            ),
            (
                vec![
                    date,
                    ("x-ratelimit-remaining", "0"),
                    ("x-ratelimit-reset", "Thu, 09 Sep 2010 00:00:30 GMT"),
                ],
                30_000,
            ),
            (vec![date, ("x-rate-limit-remaining", "0"), ("x-rate-limit-reset", &reset)], 90_000),
            (vec![("ratelimit-remaining", "0"), ("ratelimit-reset", "7")], 7_000),
            (vec![date, ("ratelimit-remaining", "0"), ("ratelimit-reset", &reset)], 90_000),
            (vec![("retry-after", "3"), ("ratelimit", "\"default\";r=0;t=30")], 3_000),
            (
                vec![
                    ("ratelimit", "\"default\";r=0;t=30"),
                    ("ratelimit-remaining", "0"),
                    ("ratelimit-reset", "7"),
                ],
                30_000,
            ),
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
    fn a_reset_is_ignored_while_the_limit_is_not_used_up() {
        for pairs in [
            vec![("x-ratelimit-remaining", "12"), ("x-ratelimit-reset", "30")],
            vec![("x-ratelimit-remaining", "12"), ("x-ratelimit-reset-after", "0.3")],
            vec![("x-ratelimit-reset", "30")],
            vec![("x-ratelimit-remaining", "-1"), ("x-ratelimit-reset", "30")],
            vec![("x-rate-limit-remaining", "1"), ("x-rate-limit-reset", "30")],
            vec![("x-rate-limit-remaining", "0"), ("x-ratelimit-reset", "30")],
            vec![("ratelimit-remaining", "0.5"), ("ratelimit-reset", "30")],
            vec![("ratelimit-reset", "30")],
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

    #[test]
    fn the_draft_names_each_limit_with_its_rest_and_its_time() {
        for (value, seconds) in [
            // Drafts 8 to 11.
            ("\"default\";r=0;t=30", Some(30)),
            ("\"default\"; r=0; t=30", Some(30)),
            ("permin;r=0;t=23", Some(23)),
            ("\"permin\";r=0;t=12, \"perday\";r=0;t=3600 ,\"free\";r=1;t=9000", Some(3_600)),
            ("\"a, b;r=5\";r=0;t=12", Some(12)),
            ("\"a \\\" b\";t=12;r=0", Some(12)),
            ("\"default\";r=0;pk=:cHJvdmlkZXI=:;t=7", Some(7)),
            ("\"default\";r=5;t=30", None),
            ("\"default\";r=0", None),
            ("\"default\";t=30", None),
            ("\"default\"", None),
            // Draft 7.
            ("limit=100, remaining=0, reset=50", Some(50)),
            ("remaining=0,reset=50", Some(50)),
            ("limit=100, remaining=1, reset=50", None),
            ("limit=100, reset=50", None),
            // Malformed.
            ("\"default;r=0;t=30", None),
            ("\"default\";r=0;t=30, \"day;r=0;t=60", None),
            ("\"default\";r=none;t=30", None),
            ("\"default\";r=0;t=soon", None),
            ("\"default\";r=0;t=-30", None),
            ("\"default\";r=0;t=soon, \"day\";r=0;t=60", Some(60)),
            ("r=0;t=30", None),
            ("30", None),
            (";;,=,\"\\", None),
            ("", None),
        ] {
            let wait = from_headers(&named(&[("ratelimit", value)]));
            assert_eq!(wait, seconds.map(Duration::from_secs), "{value}");
        }
    }
}
