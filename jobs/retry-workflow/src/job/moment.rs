//! [`Moment`]: a point in time that a job refers to.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::item::clock::{InvalidTimestamp, Timestamp, lacks_zone};
use crate::item::sanitize::OneLine;

/// A point in time: a fixed one, or some time after the job was created.
///
/// ```
/// use std::time::Duration;
/// use retry_workflow::Timestamp;
/// use retry_workflow::job::Moment;
///
/// assert_eq!("6h".parse(), Ok(Moment::from(Duration::from_secs(6 * 3_600))));
/// let fixed: Timestamp = "2026-11-25T06:00:00Z".parse().unwrap();
/// assert_eq!("2026-11-25T06:00:00Z".parse(), Ok(Moment::from(fixed)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// At this time.
    At(Timestamp),
    /// This long after the job was created.
    After(Duration),
}

impl Moment {
    /// Returns when it is, for a job that was created then.
    pub fn of(self, created: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::After(after) => created + after,
        }
    }
}

retry_rules::conversion!(|at: Timestamp| -> Moment { Self::At(at) });
retry_rules::conversion!(|after: Duration| -> Moment { Self::After(after) });

/// A value for `not_before` and `skip_after`: a [`Moment`], a [`Timestamp`], a `Duration` since the
/// job was created, or the text of one of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a moment",
    label = "not a moment",
    note = "pass a `std::time::Duration` since the job was created, or a \
            `retry_workflow::Timestamp`",
    note = "or write a text such as `\"6h\"` or `\"2026-11-25T06:00:00Z\"`"
)]
pub trait IntoMoment: sealed::Sealed {
    /// Returns the moment.
    ///
    /// # Errors
    /// The text is not a moment.
    fn into_moment(self) -> Result<Moment, InvalidMoment>;
}

setting_value!(
    IntoMoment::into_moment -> Result<Moment, InvalidMoment>, from Moment, Timestamp, Duration
);

/// A text that is not a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidMoment(String);

impl fmt::Display for InvalidMoment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if lacks_zone(&self.0) {
            return InvalidTimestamp(self.0.clone()).fmt(f);
        }
        write!(
            f,
            "\"{}\" is neither a time after the job was created, such as `6h`, nor a point in \
             time, such as `2026-11-25T06:00:00Z` or `2026-11-25T06:00:00+01:00`",
            OneLine(&self.0)
        )
    }
}

impl std::error::Error for InvalidMoment {}

impl FromStr for Moment {
    type Err = InvalidMoment;

    /// Reads a duration (`6h`), RFC 3339 with `Z` or an offset, or a date (its beginning, in UTC).
    fn from_str(text: &str) -> Result<Self, InvalidMoment> {
        if let Ok(after) = retry_rules::duration::parse(text) {
            return Ok(Self::After(after));
        }
        match text.parse() {
            Ok(at) if !text.trim_end().ends_with("ago") => Ok(Self::At(at)),
            _ => Err(InvalidMoment(text.to_owned())),
        }
    }
}
