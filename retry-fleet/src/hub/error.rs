//! [`HubError`]: why a hub did not do what it was asked for.

use core::error::Error;
use core::fmt;
use core::time::Duration;

type Source = Box<dyn Error + Send + Sync>;

/// An error of a hub.
///
/// ```
/// use retry_fleet::HubError;
///
/// fn may_be_back(error: &HubError) -> bool {
///     !matches!(error, HubError::Refused(_))
/// }
/// assert!(may_be_back(&HubError::unavailable("connection refused")));
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum HubError {
    /// It cannot be reached, or is busy. Members work alone and try again.
    Unavailable(Source),
    /// It did not answer within this time.
    Timeout(Duration),
    /// It refused and would do so again: missing privileges, or tables of another version.
    Refused(Source),
}

impl HubError {
    /// Creates the error of a hub that may be available again soon.
    ///
    /// ```
    /// use retry_fleet::HubError;
    ///
    /// let error = HubError::unavailable("connection refused");
    /// assert_eq!(error.to_string(), "the hub cannot be reached");
    /// ```
    pub fn unavailable(source: impl Into<Source>) -> Self {
        Self::Unavailable(source.into())
    }

    /// Creates the error of a hub that refuses and would do so again.
    ///
    /// ```
    /// use retry_fleet::HubError;
    ///
    /// let error = HubError::refused("permission denied for table members");
    /// assert_eq!(error.to_string(), "the hub refused the request");
    /// ```
    pub fn refused(source: impl Into<Source>) -> Self {
        Self::Refused(source.into())
    }
}

impl fmt::Display for HubError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable(_) => f.write_str("the hub cannot be reached"),
            Self::Timeout(after) => write!(f, "the hub did not answer within {after:?}"),
            Self::Refused(_) => f.write_str("the hub refused the request"),
        }
    }
}

impl Error for HubError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable(source) | Self::Refused(source) => Some(&**source),
            Self::Timeout(_) => None,
        }
    }
}
