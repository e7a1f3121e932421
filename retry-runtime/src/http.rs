//! A response whose status is a failure, as an error that a policy can read.
//!
//! To an HTTP client, "503 Service Unavailable" is a response like any other; the functions that
//! turn it into an error (reqwest's `error_for_status`) drop its headers, including `Retry-After`.
//! [`check`] keeps what a retry needs, and [`check_body`] the beginning of the body as well.
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

mod check_body;
pub mod retry_after;
mod wait_in_body;

use core::error::Error;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::time::Duration;

use ::http::{HeaderMap, HeaderValue, Response, StatusCode};

use self::wait_in_body::wait_in_body;
use crate::base::hint::Hint;
use crate::base::quota_code::quota_code;

pub use self::check_body::{CheckBody, ReadableResponse, check_body};

/// The head of a response: its status and headers, and where it came from.
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

    /// Returns the URL that was requested, if the response knows it.
    ///
    /// [`StatusError`] keeps scheme, host, port and path. It leaves out user, query and fragment,
    /// which may be secret.
    fn url(&self) -> Option<String> {
        None
    }
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

    fn url(&self) -> Option<String> {
        Some(without_secrets(self.url().as_str()))
    }
}

/// A response whose status is a failure: 4xx or 5xx.
///
/// It implements [`Classify`](crate::Classify): the matchers recognise it, through
/// [`classify::status`](crate::classify::status), and each wait is as long as `Retry-After` asks.
/// Two exceptions look at more than the status:
///
/// - A 403 is a rate limit if it asks for a wait, or if its body or a header contains "secondary
///   rate limit", as GitHub's do.
/// - A 429 has no class if its body contains the exact code of a quota that waiting does not renew:
///   `insufficient_quota`, `billing_hard_limit_reached`, `credit_balance_exhausted`, or a code that
///   ends in `spend_limit_exceeded`.
///
/// Both work inside `anyhow::Error` and `Box<dyn Error + Send + Sync>` too. The body says nothing
/// else about the class: "not found" in the HTML of a 503 does not count.
///
/// `Display` names the status, the code of such a quota, the path and the wait. `{:#}` adds the
/// body, and so do events and dead letters. `pattern("…")` matches the body too. Two errors are
/// equal if their status and wait are.
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
#[derive(Clone, Debug)]
pub struct StatusError {
    status: StatusCode,
    retry_after: Option<Duration>,
    /// Behind a pointer, because each `Result` is as large as its error.
    details: Option<Box<Details>>,
}

/// The details that only some responses have.
#[derive(Clone, Debug, Default)]
struct Details {
    url: Option<String>,
    body: Option<String>,
    /// `true` if the headers of a 403 limit the rate: they ask for a wait, even one of zero, or
    /// contain "secondary rate limit".
    has_limit_in_header: bool,
    /// `true` if only a text in the body states the wait.
    is_wait_in_text: bool,
}

/// The longest body that is kept, in bytes: the errors of APIs are shorter.
const LONGEST_BODY: usize = 2 * 1024;

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
        Self { status, retry_after, details: None }
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
        if !(status.is_client_error() || status.is_server_error()) {
            return None;
        }
        let headers = response.headers();
        let mut error = Self::new(status, retry_after::from_headers(headers));
        if let Some(url) = response.url() {
            error.details_mut().url = Some(without_secrets(&url));
        }
        let is_limit = |value: &HeaderValue| value.to_str().is_ok_and(is_secondary_limit);
        if status == StatusCode::FORBIDDEN
            && (retry_after::asks_for_any(headers) || headers.values().any(is_limit))
        {
            error.details_mut().has_limit_in_header = true;
        }
        Some(error)
    }

    /// Adds the body of the response, or as much of it as is kept: its first 2 KiB.
    ///
    /// If no header asks for a wait, and the failure is a rate limit or a server error, the wait is the
    /// one that a field of a JSON body states, such as `retry_after`, `retryAfterMs` or `retryDelay`:
    /// at the top, or in `error`, `errors`, `details` or `parameters`. If there is none, a `message`,
    /// `detail` or `error` in the same places may state it as a text: "try again in 8s".
    ///
    /// [`check_body`] does this for clients that are async. This is for the others:
    ///
    /// ```
    /// # use retry_runtime::http::StatusError;
    /// use retry_runtime::{Class, Classify};
    ///
    /// fn check(response: http::Response<String>) -> Result<String, StatusError> {
    ///     match StatusError::of(&response) {
    ///         Some(error) => Err(error.with_body(response.into_body())),
    ///         None => Ok(response.into_body()),
    ///     }
    /// }
    ///
    /// let response = http::Response::builder().status(429);
    /// let response = response.body(r#"{"code": "insufficient_quota"}"#.to_owned()).unwrap();
    /// let error = check(response).unwrap_err();
    /// assert_eq!(error.body(), Some(r#"{"code": "insufficient_quota"}"#));
    /// assert_eq!(error.class(), Class::empty(), "a wait does not renew this quota");
    /// ```
    #[must_use]
    pub fn with_body(mut self, body: impl Into<String>) -> Self {
        let mut body = body.into();
        let mut end = body.len().min(LONGEST_BODY);
        while !body.is_char_boundary(end) {
            end -= 1;
        }
        body.truncate(end);
        if !body.trim().is_empty() {
            self.details_mut().body = Some(body);
        }
        let may_ask = match self.status {
            StatusCode::FORBIDDEN => self.is_forbidden_limit(),
            StatusCode::TOO_MANY_REQUESTS => self.quota_code().is_none(),
            StatusCode::NOT_IMPLEMENTED | StatusCode::HTTP_VERSION_NOT_SUPPORTED => false,
            status => status.is_server_error(),
        };
        if self.retry_after.is_none() && may_ask {
            let hint = self.body().and_then(wait_in_body);
            self.retry_after = hint.and_then(Hint::wait);
            if let Some(Hint::InText(_)) = hint {
                self.details_mut().is_wait_in_text = true;
            }
        }
        self
    }

    fn details_mut(&mut self) -> &mut Details {
        self.details.get_or_insert_default()
    }

    retry_rules::accessors! {
        /// Returns the status.
        ///
        /// ```
        /// # use http::StatusCode;
        /// # use retry_runtime::http::StatusError;
        /// let error = StatusError::new(StatusCode::NOT_FOUND, None);
        /// assert_eq!(error.status(), StatusCode::NOT_FOUND);
        /// ```
        pub const fn status(&self) -> StatusCode { status }

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
        pub const fn retry_after(&self) -> Option<Duration> { retry_after }
    }

    /// Returns the URL that was requested: scheme, host, port and path. Returns [`None`] if the
    /// response did not know it, as an `http::Response` does not.
    ///
    /// ```
    /// # use http::StatusCode;
    /// # use retry_runtime::http::StatusError;
    /// assert_eq!(StatusError::new(StatusCode::NOT_FOUND, None).url(), None);
    /// ```
    pub fn url(&self) -> Option<&str> {
        self.details.as_deref()?.url.as_deref()
    }

    /// Returns the beginning of the body, if it was read: by [`check_body`] or
    /// [`with_body`](Self::with_body).
    ///
    /// It is what the server sent, so it may contain secrets, and line breaks.
    ///
    /// ```
    /// # use http::StatusCode;
    /// # use retry_runtime::http::StatusError;
    /// let error = StatusError::new(StatusCode::NOT_FOUND, None);
    /// assert_eq!(error.body(), None);
    /// assert_eq!(error.with_body("no such shop").body(), Some("no such shop"));
    /// ```
    pub fn body(&self) -> Option<&str> {
        self.details.as_deref()?.body.as_deref()
    }

    /// Returns the wait, with its source.
    pub(crate) fn hint(&self) -> Option<Hint> {
        let is_in_text = self.details.as_deref().is_some_and(|details| details.is_wait_in_text);
        self.retry_after.map(if is_in_text { Hint::InText } else { Hint::Wait })
    }

    /// Returns whether this is a 403 that limits the rate, as GitHub does.
    pub(crate) fn is_forbidden_limit(&self) -> bool {
        self.status == StatusCode::FORBIDDEN
            && (self.retry_after.is_some()
                || self.details.as_deref().is_some_and(|details| details.has_limit_in_header)
                || self.body().is_some_and(is_secondary_limit))
    }

    /// Returns the code of a used up quota in the body of a 429.
    pub(crate) fn quota_code(&self) -> Option<&str> {
        let body = self.body().filter(|_| self.status == StatusCode::TOO_MANY_REQUESTS)?;
        quota_code(body)
    }
}

/// Returns whether a text contains what GitHub calls the limits beside its hourly one.
fn is_secondary_limit(text: &str) -> bool {
    text.to_ascii_lowercase().contains("secondary rate limit")
}

/// Returns a URL without user, query and fragment.
fn without_secrets(url: &str) -> String {
    let url = &url[..url.find(['?', '#']).unwrap_or(url.len())];
    let (before_path, path) = url.split_at(url.len() - path_of(url).len());
    let (scheme, authority) = before_path.split_at(authority_start(before_path));
    // A slash in a password: what is before it is not a host with a port.
    let port = authority.rsplit_once(':').filter(|_| !authority.ends_with(']'));
    let is_password = port.is_some_and(|(_, port)| !port.bytes().all(|b| b.is_ascii_digit()));
    if let Some((_, rest)) = path.rsplit_once('@').filter(|_| is_password) {
        return format!("{scheme}{rest}");
    }
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    format!("{scheme}{host}{path}")
}

/// Returns the path of a URL, empty if it has none.
fn path_of(url: &str) -> &str {
    let rest = &url[authority_start(url)..];
    rest.find('/').map_or("", |at| &rest[at..])
}

/// Returns the place behind `https://`, or behind `//` in a URL without a scheme.
fn authority_start(url: &str) -> usize {
    let slash = url.find('/').unwrap_or(url.len());
    if url[slash..].starts_with("//") { slash + 2 } else { 0 }
}

impl PartialEq for StatusError {
    fn eq(&self, other: &Self) -> bool {
        self.status == other.status && self.retry_after == other.retry_after
    }
}

impl Eq for StatusError {}

impl Hash for StatusError {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.status.hash(state);
        self.retry_after.hash(state);
    }
}

/// Displayed as `503 Service Unavailable at /orders, asks for 2s`; `{:#}` adds the body.
impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status.canonical_reason() {
            Some(reason) => write!(f, "{} {reason}", self.status.as_str())?,
            None => write!(f, "HTTP {}", self.status.as_str())?,
        }
        if let Some(code) = self.quota_code() {
            write!(f, " ({code})")?;
        }
        if let Some(path) = self.url().map(path_of).filter(|path| !path.is_empty()) {
            write!(f, " at {path}")?;
        }
        if let Some(wait) = self.retry_after {
            write!(f, ", asks for {wait:?}")?;
        }
        match self.body() {
            // `text_without_bodies` sets this flag.
            Some(body) if f.alternate() && !f.sign_minus() => write!(f, ": {}", body.trim()),
            _ => Ok(()),
        }
    }
}

impl Error for StatusError {}

/// Returns the response, or, if its status is a failure, an error with what a retry needs.
///
/// The body of a failed response is dropped, and with it, in most HTTP/1 clients, the connection.
/// [`check_body`] reads the beginning of the body, and [`StatusError::of`] only borrows the
/// response.
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
    fn a_body_states_a_wait_where_no_header_does() {
        const BODY: &str = r#"{"error": {"retry_after": 7}}"#;
        let of = |status: u16, asked: Option<u64>| {
            let status = StatusCode::from_u16(status).unwrap();
            StatusError::new(status, asked.map(Duration::from_secs)).with_body(BODY)
        };
        let wait = |status, asked| of(status, asked).retry_after().map(|wait| wait.as_secs());
        assert_eq!((wait(429, None), wait(503, None)), (Some(7), Some(7)));
        assert_eq!((wait(429, Some(2)), wait(404, None), wait(403, None)), (Some(2), None, None));
        assert_eq!(of(429, None), of(429, Some(7)), "the wait is part of the equality");
        let used_up = StatusError::new(StatusCode::TOO_MANY_REQUESTS, None)
            .with_body(r#"{"code": "insufficient_quota", "retry_after": 7}"#);
        assert_eq!(used_up.retry_after(), None);
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
    fn url_is_kept_without_its_secrets() {
        struct Answer(&'static str, HeaderMap);

        impl Head for Answer {
            fn status(&self) -> StatusCode {
                StatusCode::NOT_FOUND
            }
            fn headers(&self) -> &HeaderMap {
                &self.1
            }
            fn url(&self) -> Option<String> {
                Some(self.0.to_owned())
            }
        }

        for (url, kept, text) in [
            ("https://u:p@shop:8443/a/b?q=1#f", "https://shop:8443/a/b", "404 Not Found at /a/b"),
            ("https://shop?q=/x@y", "https://shop", "404 Not Found"),
            ("https://[::1]/a@b", "https://[::1]/a@b", "404 Not Found at /a@b"),
            ("//u:p@shop:8443/a?q=1", "//shop:8443/a", "404 Not Found at /a"),
            ("u:p@shop:8443/a//b@c", "shop:8443/a//b@c", "404 Not Found at /a//b@c"),
            ("//u:p@shop", "//shop", "404 Not Found"),
            ("//u:p/w@shop/a?q=1", "//shop/a", "404 Not Found at /a"),
            ("https://u:p/w/@x@shop:80/a", "https://shop:80/a", "404 Not Found at /a"),
            ("u:p/w@shop/a", "shop/a", "404 Not Found at /a"),
            ("https://shop:80/a@b", "https://shop:80/a@b", "404 Not Found at /a@b"),
            ("https://[::1]:80/a@b", "https://[::1]:80/a@b", "404 Not Found at /a@b"),
            ("/a//b@c", "/a//b@c", "404 Not Found at /a//b@c"),
            ("/a?q", "/a", "404 Not Found at /a"),
            ("", "", "404 Not Found"),
        ] {
            let error = StatusError::of(&Answer(url, HeaderMap::new())).unwrap();
            assert_eq!((error.url(), &*error.to_string()), (Some(kept), text), "{url}");
        }
    }

    #[test]
    fn text_of_a_status_names_code_path_wait_and_body() {
        let body = " {\"code\": \"project_spend_limit_exceeded\"}\n";
        let error = StatusError::of(&response(429)).unwrap().with_body(body);
        let text = "429 Too Many Requests (project_spend_limit_exceeded), asks for 2s";
        assert_eq!(error.to_string(), text);
        assert_eq!(format!("{error:#}"), format!("{text}: {}", body.trim()));
        assert_eq!(format!("{error:-#}"), text);
        assert_eq!(crate::classify::text(text), Class::empty());
        assert!(format!("{error:?}").contains("project_spend_limit_exceeded"), "{error:?}");
        let error = StatusError::new(StatusCode::BAD_GATEWAY, None).with_body(body);
        assert_eq!(error.to_string(), "502 Bad Gateway", "only a 429 is about a quota");
        assert_eq!(error.class(), Class::SERVER_ERROR);
    }

    #[test]
    fn equality_and_size_depend_on_status_and_wait_only() {
        let bare = StatusError::new(StatusCode::BAD_GATEWAY, None);
        let full = bare.clone().with_body("no disk");
        let hash = |error: &StatusError| {
            let mut hasher = std::hash::DefaultHasher::new();
            error.hash(&mut hasher);
            hasher.finish()
        };
        assert_eq!((&bare, hash(&bare)), (&full, hash(&full)));
        assert_ne!(bare, StatusError::new(StatusCode::BAD_GATEWAY, Some(Duration::ZERO)));
        let head = size_of::<(StatusCode, Option<Duration>)>();
        assert_eq!(size_of::<StatusError>(), head + size_of::<usize>());
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
        let error = anyhow::Error::from(busy.clone()).context("while fetching");
        assert_eq!(classify::error(error.as_ref()), Class::RATE_LIMIT);
        assert_eq!(classify::retry_after(error.as_ref()), Some(Duration::from_secs(2)));
        let io = std::io::Error::other(busy);
        assert_eq!(classify::error(&io), Class::RATE_LIMIT);
        assert_eq!(classify::retry_after(&io), Some(Duration::from_secs(2)));
        assert_eq!(classify::retry_after(&StatusError::new(StatusCode::BAD_GATEWAY, None)), None);
        let at_once = StatusError::new(StatusCode::BAD_GATEWAY, Some(Duration::ZERO));
        assert_eq!(classify::retry_after(&at_once), None, "a wait of zero is no wait");
        let gone = StatusError::of(&response(404)).unwrap();
        let error = anyhow::Error::from(gone).context("connection refused");
        assert_eq!(classify::error(error.as_ref()), Class::empty(), "its type is known");
    }
}
