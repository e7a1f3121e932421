//! A response whose status is a failure, as an error that a policy can read.
//!
//! To an HTTP client, "503 Service Unavailable" is a response like any other; the functions that
//! turn it into an error (reqwest's `error_for_status`) drop its headers, including `Retry-After`.
//! [`check`] keeps what a retry needs.
//!
//! ```
//! use retry_runtime::http::check;
//! use retry_runtime::retry;
//! # type Error = Box<dyn std::error::Error + Send + Sync>;
//! # async fn get(path: &str) -> Result<http::Response<String>, Error> {
//! #     Ok(http::Response::new(path.to_owned()))
//! # }
//!
//! /// Waits as long as the server asks, where it asks.
//! #[retry(attempts = 4, retry_on = [network, server_error, rate_limit])]
//! async fn page(path: &str) -> Result<String, Error> {
//!     let response = check(get(path).await?)?;
//!     Ok(response.into_body())
//! }
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() {
//! # assert_eq!(page("/a").await.unwrap(), "/a");
//! # }
//! ```

pub mod retry_after;

use core::error::Error;
use core::fmt;
use core::time::Duration;

use ::http::{HeaderMap, Response, StatusCode};

/// The head of a response: says whether it is a failure, and when to retry.
///
/// It is implemented for `http::Response`, which hyper, tonic, axum and ureq return, and
/// for `reqwest::Response` (feature `reqwest`).
///
/// ```
/// use http::{HeaderMap, StatusCode};
/// use retry_runtime::http::{Head, StatusError};
///
/// struct AttemptRecord {
///     status: StatusCode,
///     headers: HeaderMap,
/// }
///
/// impl Head for AttemptRecord {
///     fn status(&self) -> StatusCode {
///         self.status
///     }
///     fn headers(&self) -> &HeaderMap {
///         &self.headers
///     }
/// }
///
/// let gone = AttemptRecord { status: StatusCode::GONE, headers: HeaderMap::new() };
/// assert_eq!(StatusError::of(&gone).unwrap().status(), StatusCode::GONE);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no readable status and headers",
    label = "not an `http::Response`",
    note = "for `reqwest::Response`, enable the feature `reqwest` of retry-runtime",
    note = "for your own type, implement `retry_runtime::http::Head`"
)]
pub trait Head {
    /// Returns the status of the response.
    fn status(&self) -> StatusCode;

    /// Returns the headers of the response.
    fn headers(&self) -> &HeaderMap;
}

impl<B> Head for Response<B> {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }
}

#[cfg(feature = "reqwest")]
impl Head for reqwest::Response {
    fn status(&self) -> StatusCode {
        self.status()
    }

    fn headers(&self) -> &HeaderMap {
        self.headers()
    }
}

/// A response whose status is a failure: 4xx or 5xx.
///
/// It implements [`Classify`](crate::Classify): the matchers recognise it, through
/// [`classify::status`](crate::classify::status), and each wait is as long as `Retry-After` asks. A
/// 403 with a `Retry-After` is a rate limit, as GitHub's are.
/// Both work inside `anyhow::Error` and `Box<dyn Error + Send + Sync>` too.
///
/// ```
/// use http::StatusCode;
/// use retry_runtime::http::StatusError;
/// use retry_runtime::{Class, Classify};
/// use std::time::Duration;
///
/// let busy = StatusError::new(StatusCode::TOO_MANY_REQUESTS, Some(Duration::from_secs(2)));
/// assert_eq!(busy.class(), Class::RATE_LIMIT);
/// assert_eq!(busy.to_string(), "429 Too Many Requests, asks for 2s");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StatusError {
    status: StatusCode,
    retry_after: Option<Duration>,
}

impl StatusError {
    /// Creates an error by hand, for a client without a [`Head`].
    ///
    /// ```
    /// # use http::StatusCode;
    /// # use retry_runtime::http::StatusError;
    /// let error = StatusError::new(StatusCode::NOT_FOUND, None);
    /// assert_eq!(error.to_string(), "404 Not Found");
    /// ```
    pub const fn new(status: StatusCode, retry_after: Option<Duration>) -> Self {
        Self { status, retry_after }
    }

    /// Returns the error for a failed response, or [`None`] for any other. The response
    /// is only borrowed.
    ///
    /// ```
    /// # use retry_runtime::http::StatusError;
    /// let response = http::Response::builder().status(503).body("busy").unwrap();
    /// assert_eq!(StatusError::of(&response).unwrap().status().as_u16(), 503);
    /// assert!(StatusError::of(&http::Response::new("fine")).is_none());
    /// ```
    pub fn of(response: &(impl Head + ?Sized)) -> Option<Self> {
        let status = response.status();
        let failed = status.is_client_error() || status.is_server_error();
        failed.then(|| Self::new(status, retry_after::from_headers(response.headers())))
    }

    /// Returns the status.
    ///
    /// ```
    /// # use http::StatusCode;
    /// # use retry_runtime::http::StatusError;
    /// let error = StatusError::new(StatusCode::NOT_FOUND, None);
    /// assert_eq!(error.status(), StatusCode::NOT_FOUND);
    /// ```
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// Returns how long the server asked callers to wait.
    ///
    /// ```
    /// # use retry_runtime::http::StatusError;
    /// # use std::time::Duration;
    /// let response = http::Response::builder()
    ///     .status(503)
    ///     .header("Retry-After", "3")
    ///     .body(())
    ///     .unwrap();
    /// let error = StatusError::of(&response).unwrap();
    /// assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    /// ```
    pub const fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }
}

/// Displayed as `503 Service Unavailable, asks for 2s`.
impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status.canonical_reason() {
            Some(reason) => write!(f, "{} {reason}", self.status.as_str())?,
            None => write!(f, "HTTP {}", self.status.as_str())?,
        }
        match self.retry_after {
            Some(wait) => write!(f, ", asks for {wait:?}"),
            None => Ok(()),
        }
    }
}

impl Error for StatusError {}

/// Returns the response, or, if its status is a failure, an error with what a retry needs.
///
/// The body of a failed response is dropped, and with it, in most HTTP/1 clients, the connection.
/// [`StatusError::of`] only borrows the response.
///
/// ```
/// use retry_runtime::http::check;
///
/// assert_eq!(check(http::Response::new("fine")).unwrap().into_body(), "fine");
/// let busy = http::Response::builder().status(503).body("busy").unwrap();
/// assert_eq!(check(busy).unwrap_err().to_string(), "503 Service Unavailable");
/// ```
///
/// # Errors
/// The status is 4xx or 5xx.
pub fn check<R: Head>(response: R) -> Result<R, StatusError> {
    match StatusError::of(&response) {
        Some(error) => Err(error),
        None => Ok(response),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{self, Class, Classify as _};

    fn response(status: u16) -> Response<()> {
        Response::builder().status(status).header("retry-after", "2").body(()).unwrap()
    }

    #[test]
    fn failures_are_4xx_and_5xx() {
        for status in [101, 200, 204, 301, 304, 399, 600, 999] {
            assert!(check(response(status)).is_ok(), "{status}");
        }
        for status in [400, 404, 408, 429, 500, 503, 599] {
            let error = check(response(status)).unwrap_err();
            assert_eq!(error.status().as_u16(), status);
            assert_eq!(error.retry_after(), Some(Duration::from_secs(2)));
            assert_eq!(error.class(), classify::status(status));
        }
    }

    #[test]
    fn a_403_that_names_a_wait_is_a_rate_limit() {
        let forbidden = StatusError::new(StatusCode::FORBIDDEN, None);
        assert_eq!(forbidden.class(), Class::empty());
        let later = StatusError::of(&response(403)).unwrap();
        assert_eq!(later.class(), Class::RATE_LIMIT);
    }

    #[test]
    fn a_status_without_a_name_is_still_one() {
        let error = StatusError::new(StatusCode::from_u16(599).unwrap(), None);
        assert_eq!(error.to_string(), "HTTP 599");
    }

    #[test]
    fn its_kind_and_its_wait_are_found_behind_other_errors() {
        let busy = StatusError::of(&response(429)).unwrap();
        let error = anyhow::Error::from(busy).context("while fetching");
        assert_eq!(classify::error(error.as_ref()), Class::RATE_LIMIT);
        assert_eq!(classify::hint(error.as_ref()), Some(Duration::from_secs(2)));
        let io = std::io::Error::other(busy);
        assert_eq!(classify::error(&io), Class::RATE_LIMIT);
        assert_eq!(classify::hint(&io), Some(Duration::from_secs(2)));
        assert_eq!(classify::hint(&StatusError::new(busy.status(), None)), None);
        let gone = StatusError::of(&response(404)).unwrap();
        let error = anyhow::Error::from(gone).context("connection refused");
        assert_eq!(classify::error(error.as_ref()), Class::empty(), "its type is known");
    }
}
