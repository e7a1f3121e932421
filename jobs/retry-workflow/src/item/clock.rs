//! The one clock of jobs: times that other processes understand.

use std::fmt;
use std::future::Future;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A point in time, in microseconds since 1970. Arithmetic on it saturates.
///
/// ```
/// use std::time::Duration;
/// use retry_workflow::Timestamp;
///
/// let start: Timestamp = "2026-11-21T08:00:00Z".parse().unwrap();
/// assert_eq!((start + Duration::from_secs(90)).to_string(), "2026-11-21T08:01:30Z");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Later than any other: what is due then is never due.
    pub const NEVER: Self = Self(i64::MAX);

    /// Returns the current time: in a handler, by the clock of the job's store
    /// ([`Store::now`](crate::Store::now)); in a test on virtual time, by tokio's clock; otherwise
    /// by the system's.
    ///
    /// ```
    /// # use retry_workflow::Timestamp;
    /// println!("{}", Timestamp::now()); // 2026-11-22T08:00:00.25Z
    /// ```
    pub fn now() -> Self {
        if let Ok(now) = CLOCK.try_with(|clock| clock()) {
            return now;
        }
        virtual_now().unwrap_or_else(|| Self::from(SystemTime::now()))
    }

    /// Returns the time by tokio's clock if a test has paused it, otherwise `None`. A store with
    /// its own clock uses this in such a test.
    ///
    /// ```
    /// # use retry_workflow::Timestamp;
    /// assert_eq!(Timestamp::paused(), None);
    /// ```
    pub fn paused() -> Option<Self> {
        virtual_now()
    }

    /// Creates a time from microseconds since 1970.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the microseconds since 1970.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Returns how much later this is than `earlier`, or zero if it is not.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # use retry_workflow::Timestamp;
    /// let (start, end) = (Timestamp::from_micros(1_000_000), Timestamp::from_micros(3_000_000));
    /// assert_eq!(end.since(start), Duration::from_secs(2));
    /// assert_eq!(start.since(end), Duration::ZERO);
    /// ```
    pub fn since(self, earlier: Self) -> Duration {
        let micros = self.0.saturating_sub(earlier.0);
        Duration::from_micros(u64::try_from(micros).unwrap_or(0))
    }

    /// Returns the start of its hour, in UTC.
    ///
    /// ```
    /// use retry_workflow::Timestamp;
    ///
    /// let time: Timestamp = "2026-11-21T08:59:59Z".parse().unwrap();
    /// assert_eq!(time.hour().to_string(), "2026-11-21T08:00:00Z");
    /// ```
    #[must_use]
    pub const fn hour(self) -> Self {
        const HOUR: i64 = 3_600_000_000;
        // The very first hour would begin before the earliest time.
        let earliest = i64::MIN + HOUR;
        let micros = if self.0 < earliest { earliest } else { self.0 };
        Self(micros - micros.rem_euclid(HOUR))
    }
}

/// A function that returns the current time.
pub(crate) type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

tokio::task_local! {
    static CLOCK: Clock;
}

/// Runs a handler with the clock of its job's store.
pub(crate) fn by_clock<F: Future>(
    clock: Clock,
    handler: F,
) -> impl Future<Output = F::Output> + use<F> {
    CLOCK.scope(clock, handler)
}

/// Returns whether the caller runs in a handler.
pub(crate) fn is_in_handler() -> bool {
    CLOCK.try_with(|_| ()).is_ok()
}

/// The time by tokio's clock if a test has paused it: in the past or in the future.
pub(crate) fn virtual_now() -> Option<Timestamp> {
    let before = Instant::now();
    let tokios = tokio::time::Instant::now().into_std();
    if (before..=Instant::now()).contains(&tokios) {
        return None;
    }
    let (start, at_start) = *START;
    Some(match tokios.checked_duration_since(start) {
        Some(later) => at_start + later,
        // Rounded down as well, so that waits are exact to the microsecond.
        None => at_start - (start.saturating_duration_since(tokios) + Duration::from_nanos(999)),
    })
}

/// Now, measured since this process first asked: setting the system's clock does not move it.
pub(crate) fn measured() -> Timestamp {
    virtual_now().unwrap_or_else(|| {
        let (start, at_start) = *START;
        at_start + start.elapsed()
    })
}

static START: LazyLock<(Instant, Timestamp)> =
    LazyLock::new(|| (Instant::now(), Timestamp::from(SystemTime::now())));

/// A duration in microseconds, capped at what fits.
pub fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

/// Rounds down to whole microseconds, capped at what fits.
pub(crate) fn whole_micros(duration: Duration) -> Duration {
    Duration::from_micros(micros(duration).unsigned_abs())
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(micros(duration)))
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(micros(duration)))
    }
}

retry_rules::conversion!(|time: SystemTime| -> Timestamp {
    match time.duration_since(UNIX_EPOCH) {
        Ok(since) => Self(micros(since)),
        Err(before) => Self(-micros(before.duration())),
    }
});

/// RFC 3339, in UTC: `2026-11-21T08:01:30Z`, `2026-11-21T08:01:30.250000Z`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The last time that RFC 3339 can write: the end of the year 9999.
        const LAST: u64 = 253_402_300_799_000_000;
        // Nothing in a job is older than 1970.
        let micros = u64::try_from(self.0).unwrap_or(0).min(LAST);
        let time = UNIX_EPOCH + Duration::from_micros(micros);
        f.pad(&if micros.is_multiple_of(1_000_000) {
            humantime::format_rfc3339_seconds(time).to_string()
        } else {
            humantime::format_rfc3339_micros(time).to_string()
        })
    }
}

/// The error for a text that is not a point in time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidTimestamp(pub(crate) String);

impl fmt::Display for InvalidTimestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(text) = self;
        if lacks_zone(text) {
            return write!(
                f,
                "\"{text}\" has no time zone: write `{text}Z` for UTC, or an offset, such as \
                 `{text}+01:00`"
            );
        }
        write!(
            f,
            "\"{text}\" is not a point in time: write one such as `2026-11-21`, \
             `2026-11-21T08:00:00Z`, `2026-11-21T08:00:00+01:00` or `2h ago`"
        )
    }
}

impl std::error::Error for InvalidTimestamp {}

impl FromStr for Timestamp {
    type Err = InvalidTimestamp;

    /// Reads RFC 3339 with `Z` or an offset, a date (its beginning, in UTC), or how long ago it was:
    /// `2h ago`.
    fn from_str(text: &str) -> Result<Self, InvalidTimestamp> {
        let invalid = || InvalidTimestamp(text.to_owned());
        let text = text.trim();
        if let Some(ago) = text.strip_suffix("ago") {
            let ago = retry_rules::duration::parse(ago.trim()).map_err(|_| invalid())?;
            return Ok(Self::now() - ago);
        }
        let day = format!("{text}T00:00:00Z");
        if let Ok(day) = humantime::parse_rfc3339(&day) {
            return Ok(day.into());
        }
        let (local, ahead, behind) = zone(text).ok_or_else(invalid)?;
        let local = humantime::parse_rfc3339_weak(local).map_err(|_| invalid())?;
        Ok(Self::from(local) - ahead + behind)
    }
}

/// Splits a text into the time and the offset of its zone: ahead of UTC, and behind it.
fn zone(text: &str) -> Option<(&str, Duration, Duration)> {
    let zero = Duration::ZERO;
    if let Some(local) = text.strip_suffix(['Z', 'z']) {
        return lacks_zone(local).then_some((local, zero, zero));
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let number = |digits: &str, below: u64| {
        let is_number = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse::<u64>().ok().filter(|number| is_number && *number < below)
    };
    let offset_by = Duration::from_secs(number(hours, 24)? * 3_600 + number(minutes, 60)? * 60);
    match offset.as_bytes()[0] {
        _ if !lacks_zone(local) => None,
        b'+' => Some((local, offset_by, zero)),
        b'-' => Some((local, zero, offset_by)),
        _ => None,
    }
}

/// Returns whether a text is a point in time, except that it has no zone.
pub(crate) fn lacks_zone(text: &str) -> bool {
    !text.ends_with('Z') && humantime::parse_rfc3339_weak(text.trim()).is_ok()
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_test_moves_it_with_tokios_clock() {
        let before = Timestamp::now();
        tokio::time::advance(Duration::from_secs(3600)).await;
        let moved = Timestamp::now().since(before);
        assert_eq!(moved, Duration::from_secs(3600));
    }

    #[test]
    fn extreme_times_do_not_panic() {
        let never = Timestamp::NEVER + Duration::MAX;
        assert_eq!(never, Timestamp::NEVER);
        assert!(never.to_string().starts_with("9999-"));
        assert_eq!((Timestamp::default() - Duration::MAX).to_string(), "1970-01-01T00:00:00Z");
        assert_eq!(Timestamp::default().since(Timestamp::NEVER), Duration::ZERO);
    }

    #[test]
    fn a_day_a_moment_and_a_while_ago_are_read() {
        let day: Timestamp = "2026-11-21".parse().unwrap();
        assert_eq!(day.to_string(), "2026-11-21T00:00:00Z");
        for text in
            ["2026-11-21 08:30:00Z", "2026-11-21T10:00:00+01:30", " 2026-11-20 22:30:00.0-10:00 "]
        {
            assert_eq!(text.parse::<Timestamp>().unwrap().since(day).as_secs(), 30_600, "{text}");
        }
        for text in [
            "2026-11-21T08:30:00+1:00",
            "2026-11-21+01:00",
            "2026-11-21T08:30:00+24:00",
            "é+01:00",
            "Z",
        ] {
            let error = text.parse::<Timestamp>().unwrap_err().to_string();
            assert!(error.contains("is not a point in time"), "{error}");
        }
        let error = "2026-11-21 08:30:00".parse::<Timestamp>().unwrap_err().to_string();
        assert!(
            error.contains("has no time zone: write `2026-11-21 08:30:00Z` for UTC"),
            "{error}"
        );
        assert!("2h ago".parse::<Timestamp>().is_ok());
        let error = "yesterday".parse::<Timestamp>().unwrap_err();
        assert!(error.to_string().contains("2026-11-21T08:00:00Z"));
    }
}
