//! What kind of failure an error is: its [`Class`], determined by its type, and by its text only
//! where no type is known.
//!
//! This says what a failure *is*, not whether it is retried; the policy's `retry_on` and
//! `abort_on` decide that.

mod known;
pub mod matchers;
#[cfg(feature = "pattern")]
pub(crate) mod pattern;
pub(crate) mod probe;
mod text;

use core::error::Error;
use core::fmt::{self, Display};
use core::ops::BitOr;
use core::time::Duration;

use crate::base::full_text::full_text;

pub(crate) use known::Known;
pub use text::text;

/// The kinds of failure that an error belongs to, as a set.
///
/// A set, because one failure can be two things: HTTP 504 is a server error and a
/// timeout. Most errors belong to none.
///
/// ```
/// use retry_runtime::Class;
///
/// let gateway_timeout = Class::SERVER_ERROR | Class::TIMEOUT;
/// assert!(gateway_timeout.contains(Class::TIMEOUT));
/// assert!(!gateway_timeout.contains(Class::NETWORK));
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Class(u8);

impl Class {
    /// Returns the empty set: an error that no built-in matcher matches.
    ///
    /// ```
    /// # use retry_runtime::Class;
    /// assert!(Class::empty().is_empty());
    /// ```
    pub const fn empty() -> Self {
        Self(0)
    }

    /// The peer could not be reached, or the connection broke.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert_eq!(classify::text("Connection refused (os error 111)"), Class::NETWORK);
    /// ```
    pub const NETWORK: Self = Self(1);

    /// Something took longer than allowed.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert_eq!(classify::text("operation timed out"), Class::TIMEOUT);
    /// ```
    pub const TIMEOUT: Self = Self(1 << 1);

    /// The server itself failed: HTTP 5xx and the like.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert_eq!(classify::text("HTTP 500"), Class::SERVER_ERROR);
    /// ```
    pub const SERVER_ERROR: Self = Self(1 << 2);

    /// The server asks for fewer requests: HTTP 429 and the like.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert_eq!(classify::text("429 Too Many Requests"), Class::RATE_LIMIT);
    /// ```
    pub const RATE_LIMIT: Self = Self(1 << 3);

    /// Returns `true` if the set has at least one kind of `other`.
    ///
    /// ```
    /// # use retry_runtime::Class;
    /// let wanted = Class::NETWORK | Class::TIMEOUT;
    /// assert!(Class::TIMEOUT.intersects(wanted));
    /// assert!(!Class::RATE_LIMIT.intersects(wanted));
    /// ```
    pub const fn intersects(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns `true` if the set has every kind of `other`.
    ///
    /// ```
    /// # use retry_runtime::Class;
    /// let gateway_timeout = Class::SERVER_ERROR | Class::TIMEOUT;
    /// assert!(gateway_timeout.contains(Class::TIMEOUT));
    /// assert!(!gateway_timeout.contains(Class::TIMEOUT | Class::NETWORK));
    /// ```
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns `true` if the set is empty.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert!(classify::text("permission denied").is_empty());
    /// ```
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the kinds of both sets; `|` for constants.
    ///
    /// ```
    /// # use retry_runtime::Class;
    /// const TRANSIENT: Class = Class::NETWORK.union(Class::TIMEOUT);
    /// assert_eq!(TRANSIENT, Class::NETWORK | Class::TIMEOUT);
    /// ```
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOr for Class {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        self.union(other)
    }
}

impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const NAMES: [(Class, &str); 4] = [
            (Class::NETWORK, "NETWORK"),
            (Class::TIMEOUT, "TIMEOUT"),
            (Class::SERVER_ERROR, "SERVER_ERROR"),
            (Class::RATE_LIMIT, "RATE_LIMIT"),
        ];
        let mut empty = true;
        for (class, name) in NAMES {
            if self.contains(class) {
                if !empty {
                    f.write_str(" | ")?;
                }
                f.write_str(name)?;
                empty = false;
            }
        }
        if empty { f.write_str("NONE") } else { Ok(()) }
    }
}

/// An error that knows what kind of failure it is.
///
/// If the error that a function returns implements it, that alone decides: neither the
/// types in the error's chain nor its text are examined. The implementation of an error
/// inside another one (`anyhow::Error`, `Box<dyn Error>`) is not visible.
///
/// Events show its `Display`.
///
/// ```
/// use core::time::Duration;
/// use retry_runtime::{Class, Classify, classify};
///
/// enum ApiError {
///     Transport(std::io::Error),
///     Status { code: u16, retry_after: Option<Duration> },
///     Malformed,
/// }
///
/// impl core::fmt::Display for ApiError {
///     fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
///         match self {
///             ApiError::Transport(_) => f.write_str("the request did not get through"),
///             ApiError::Status { code, .. } => write!(f, "the server answered {code}"),
///             ApiError::Malformed => f.write_str("the answer makes no sense"),
///         }
///     }
/// }
///
/// impl Classify for ApiError {
///     fn class(&self) -> Class {
///         match self {
///             ApiError::Transport(e) => classify::error(e),
///             ApiError::Status { code, .. } => classify::status(*code),
///             ApiError::Malformed => Class::empty(),
///         }
///     }
///
///     fn retry_after(&self) -> Option<Duration> {
///         match self {
///             ApiError::Status { retry_after, .. } => *retry_after,
///             _ => None,
///         }
///     }
/// }
///
/// let busy = ApiError::Status { code: 429, retry_after: Some(Duration::from_secs(2)) };
/// assert_eq!(busy.class(), Class::RATE_LIMIT);
/// ```
pub trait Classify: Display {
    /// Returns what kind of failure this is.
    ///
    /// ```
    /// # use retry_runtime::{Class, Classify};
    /// struct Unplugged;
    ///
    /// # impl core::fmt::Display for Unplugged {
    /// #     fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
    /// #         f.write_str("it is unplugged")
    /// #     }
    /// # }
    /// impl Classify for Unplugged {
    ///     fn class(&self) -> Class {
    ///         Class::NETWORK
    ///     }
    /// }
    /// assert_eq!(Unplugged.class(), Class::NETWORK);
    /// ```
    fn class(&self) -> Class;

    /// Returns how long the server asked callers to wait; by default, it did not ask.
    ///
    /// ```
    /// # use core::time::Duration;
    /// # use retry_runtime::{Class, Classify};
    /// struct SlowDown(u64);
    ///
    /// # impl core::fmt::Display for SlowDown {
    /// #     fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
    /// #         f.write_str("slow down")
    /// #     }
    /// # }
    /// impl Classify for SlowDown {
    ///     fn class(&self) -> Class {
    ///         Class::RATE_LIMIT
    ///     }
    ///     fn retry_after(&self) -> Option<Duration> {
    ///         Some(Duration::from_secs(self.0))
    ///     }
    /// }
    /// assert_eq!(SlowDown(3).retry_after(), Some(Duration::from_secs(3)));
    /// ```
    fn retry_after(&self) -> Option<Duration> {
        None
    }
}

/// Returns what kind of failure an error is, judged by every error in its `source()`
/// chain.
///
/// If a known type is found anywhere in the chain, types alone decide, and the result
/// combines what all known types in the chain say. Only a chain without any is judged by
/// its texts, with [`text`].
///
/// | known type | class |
/// | --- | --- |
/// | [`std::io::Error`], by its kind: `ConnectionRefused`, `ConnectionReset`, `ConnectionAborted`, `NotConnected`, `BrokenPipe`, `HostUnreachable`, `NetworkUnreachable`, `NetworkDown`, `AddrNotAvailable` (no free local port), `UnexpectedEof` (the peer hung up in mid-message) | network |
/// | `TimedOut`, `WouldBlock` (what a blocking socket reports when its read timeout expires) | timeout |
/// | `Other`, and kinds that have no name yet, such as that of a failed DNS lookup | not known: the wrapped error, or the text, decides |
/// | any other kind | none |
/// | [`tokio::time::error::Elapsed`] | timeout |
/// | [`Interrupted`](crate::Interrupted) by a timeout or deadline | timeout |
/// | `Interrupted` by an open circuit | none |
/// | `retry_runtime::http::StatusError` (feature `http`) | its status, with [`status`] |
/// | `reqwest::Error` (feature `reqwest`) | its status, with [`status`]; timeout; connect → network; a request that could not be built, a redirect or a body that could not be decoded → none |
/// | `hyper::Error` (feature `hyper`) | timeout; canceled, closed, incomplete → network; a message that could not be parsed, a mistake of the caller → none |
/// | `tonic::Status` (feature `tonic`) | `Unavailable` → network and server error; `DeadlineExceeded` → timeout; `ResourceExhausted` → rate limit; `Internal`, and `Unknown` without a source → server error; `Unknown` with one: its source decides; any other code → none |
///
/// Types are known in the version that this crate depends on; other versions are judged
/// by the rest of their chain and by their texts.
///
/// ```
/// use retry_runtime::{Class, classify};
/// use std::io;
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// assert_eq!(classify::error(&refused), Class::NETWORK);
///
/// // The type is known, so that the text does not count.
/// let corrupt = io::Error::new(io::ErrorKind::InvalidData, "frame says: timed out");
/// assert_eq!(classify::error(&corrupt), Class::empty());
/// ```
pub fn error(error: &(dyn Error + 'static)) -> Class {
    chain(error).unwrap_or_else(|| texts(error))
}

/// How long the server asked callers to wait, from the first error in the chain that knows.
pub(crate) fn hint(error: &(dyn Error + 'static)) -> Option<Duration> {
    links(error).find_map(known::hint)
}

/// [`error`] for an error that need not be `'static`: only its own text can be read, but the types
/// of the errors that it wraps can be inspected.
pub(crate) fn borrowed(error: &(dyn Error + '_)) -> Class {
    let source = error.source();
    source.and_then(chain).unwrap_or_else(|| {
        let own = display(error);
        source.map_or(own, |source| own | texts(source))
    })
}

/// Returns the class of a response with this HTTP status code.
///
/// 408 is a timeout, 429 a rate limit, each 5xx a server error, and 504 (like 522 and
/// 524, which proxies use instead) also a timeout.
///
/// ```
/// use retry_runtime::{Class, classify};
///
/// assert_eq!(classify::status(503), Class::SERVER_ERROR);
/// assert_eq!(classify::status(504), Class::SERVER_ERROR | Class::TIMEOUT);
/// assert_eq!(classify::status(404), Class::empty());
/// ```
pub const fn status(code: u16) -> Class {
    match code {
        408 => Class::TIMEOUT,
        429 => Class::RATE_LIMIT,
        504 | 522 | 524 => Class::SERVER_ERROR.union(Class::TIMEOUT),
        500..=599 => Class::SERVER_ERROR,
        _ => Class::empty(),
    }
}

/// The class of something that is known only by its text.
pub(crate) fn display(text: &(impl fmt::Display + ?Sized)) -> Class {
    self::text(&full_text(text))
}

/// The longest chain that is followed; a longer one is assumed to be a cycle.
const LONGEST_CHAIN: usize = 64;

/// The error and everything that it wraps, outermost first.
pub(crate) fn links<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    core::iter::successors(Some(error), |&link| known::inside(link).or_else(|| link.source()))
        .take(LONGEST_CHAIN)
}

/// The combined classes of all known types in the chain; `None` if there are none.
fn chain(error: &(dyn Error + 'static)) -> Option<Class> {
    links(error).filter_map(known::class).reduce(Class::union)
}

fn texts(error: &(dyn Error + 'static)) -> Class {
    links(error).map(display).fold(Class::empty(), Class::union)
}
