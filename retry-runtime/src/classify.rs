//! The kind of failure that an error is: its [`Class`], determined by its type, and by its text
//! only where no type is known.
//!
//! Types of the program that state their class with `#[derive(Classify)]` are known anywhere in a
//! chain of sources. The same applies to types that a rule of [`register`] classifies.
//!
//! A class describes a failure; it does not decide whether it is retried. The policy's `retry_on`
//! and `abort_on` decide that.

mod clients;
pub(crate) mod fault;
mod known;
pub(crate) mod matchers;
#[cfg(feature = "pattern")]
pub(crate) mod pattern;
pub(crate) mod probe;
pub(crate) mod registered;
mod sqlstate;
mod text;

use core::error::Error;
use core::fmt::Display;
use core::time::Duration;
use std::sync::Arc;

use crate::base::full_text::{LONGEST_CHAIN, text_without_bodies};
use crate::outcome::interrupted::Interrupted;

pub(crate) use crate::base::class::Class;
pub(crate) use crate::base::hint::Hint;
pub(crate) use known::KnownError;
use probe::{Classifier, ErrorView};
pub use registered::register;
#[doc(hidden)]
pub use text::statuses;
pub use text::text;

/// An error that knows what kind of failure it is.
///
/// If the error that a function returns implements it, that alone decides: neither the
/// types in the error's chain nor its text are examined. Events show its `Display`, and after
/// [`#[derive(Classify)]`](derive@crate::Classify) the texts of its sources too.
///
/// The types that [`error`] lists implement it too, and are judged as that function judges them.
///
/// [`#[derive(Classify)]`](derive@crate::Classify) implements it, and also registers the type, so
/// that it is found inside `anyhow::Error` and `Box<dyn Error>`; an implementation by hand is not.
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
#[diagnostic::on_unimplemented(
    message = "`{Self}` reveals nothing about itself, so `transient`, `network` and the like, and \
               `pattern`, cannot match it",
    label = "this error reveals neither a kind nor a text",
    note = "if `{Self}` is your own type, implement `std::error::Error` (or `Display`) for it, so \
            that its text can be read; a type parameter needs that as a bound",
    note = "or implement `Display` for it and derive `retry_runtime::Classify`, to state its kind \
            directly; where it is the field of a type that derives `Classify`, the variant can \
            state its kind instead",
    note = "or match it by value: `retry_on = [matches(…)]` or `retry_on = [when(…)]`"
)]
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

    /// Returns how long the server asked callers to wait; by default, it did not ask. A wait of
    /// zero counts as none.
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

    /// Like [`retry_after`](Self::retry_after), for types that also know that the server asked not
    /// to be called again, or whose class is read from a text. That text states a wait too, unless
    /// `class` is empty.
    #[doc(hidden)]
    fn __hint(&self, _class: Class) -> Option<Hint> {
        self.retry_after().map(Hint::Wait)
    }

    /// Returns what determines the class of the error. A known type is viewed from outside: only a
    /// program that reads a class then contains the function that reads texts.
    #[doc(hidden)]
    #[inline]
    fn __classifier(&self) -> Classifier<'_>
    where
        Self: Sized,
    {
        Classifier::Own(self)
    }

    /// Returns the error that this one wraps, if it is an [`Error`], for the texts in events.
    #[doc(hidden)]
    fn __source(&self) -> Option<&(dyn Error + 'static)> {
        None
    }
}

/// Implements [`Classify`] for pointers to types that implement it.
macro_rules! classify_by_target {
    ($($Pointer:ident)*) => {$(
        #[diagnostic::do_not_recommend]
        impl<T: Classify + ?Sized> Classify for $Pointer<T> {
            fn class(&self) -> Class {
                T::class(self)
            }

            fn retry_after(&self) -> Option<Duration> {
                T::retry_after(self)
            }

            fn __hint(&self, class: Class) -> Option<Hint> {
                T::__hint(self, class)
            }

            fn __source(&self) -> Option<&(dyn Error + 'static)> {
                T::__source(self)
            }
        }
    )*};
}

classify_by_target!(Box Arc);

/// Implements [`Classify`] for the types that are [`KnownError`], by their whole chain: a type
/// without a class of its own leaves it to what it wraps.
macro_rules! classify_by_chain {
    ($( $feature:tt: $($Type:ty),+ { $(#[$row:meta])+ } )+) => {
        $( classify_by_chain!($feature: $($Type),+); )+
    };
    // `StatusError` decides alone.
    ("http": $Type:ty) => {};
    ($feature:literal: $($Type:ty),+) => {
        #[cfg(feature = $feature)]
        classify_by_chain!($($Type),+);
    };
    ($($Type:ty),+) => {$(
        #[diagnostic::do_not_recommend]
        impl Classify for $Type {
            fn class(&self) -> Class {
                error(self)
            }

            fn retry_after(&self) -> Option<Duration> {
                retry_after(self)
            }

            fn __hint(&self, class: Class) -> Option<Hint> {
                ErrorView::Typed(self).hint(class)
            }

            fn __classifier(&self) -> Classifier<'_> {
                Classifier::View(ErrorView::Typed(self))
            }

            fn __source(&self) -> Option<&(dyn Error + 'static)> {
                Error::source(self)
            }
        }
    )+};
}

classify_by_chain!(std::io::Error, tokio::time::error::Elapsed);
clients::for_each_client!(classify_by_chain);

// Without a text: a call that reads no error may be cut off.
#[diagnostic::do_not_recommend]
impl Classify for Interrupted {
    fn class(&self) -> Class {
        self.known_class().unwrap_or_default()
    }

    fn retry_after(&self) -> Option<Duration> {
        self.held_for()
    }
}

/// Contains the rows of clients in the table of known types.
macro_rules! client_table {
    ($( $feature:tt: $($Type:ty),+ { $(#[doc = $row:literal])+ } )+) => {
        concat!($($( $row, "\n", )+)+)
    };
}

/// Returns the class of an error, judged by every error in its `source()`
/// chain.
///
/// Types decide, from the inside out. The innermost known type says whether the failure is final:
/// nothing around an untrusted certificate or a denied permission makes a network failure of it.
/// Known types further out add to a failure that passes. Only a chain without any known type is
/// judged by its texts, with [`text`], link by link from the inside out as well: the first one that
/// says anything decides, so that a context ("could not connect to the database") never overrules
/// its cause.
///
/// | known type | class |
/// | --- | --- |
/// | [`std::io::Error`], by its kind: `ConnectionRefused` | network and connect |
/// | `ConnectionReset`, `ConnectionAborted`, `NotConnected`, `BrokenPipe`, `HostUnreachable`, `NetworkUnreachable`, `NetworkDown`, `AddrNotAvailable` (no free local port), `UnexpectedEof` (the peer hung up in mid-message) | network |
/// | `TimedOut`, `WouldBlock` (what a blocking socket reports when its read timeout expires) | timeout |
/// | `Other`, and kinds that have no name yet, such as the kind of a failed DNS lookup | not known: the wrapped error, or the text, decides |
/// | any other kind | none |
/// | [`tokio::time::error::Elapsed`] | timeout |
/// | [`Interrupted`] by a timeout or deadline | timeout |
/// | `Interrupted` by an open circuit | none |
/// | `Interrupted` by a circuit breaker that holds calls | rate limit, with the rest of the hold as its wait |
#[doc = clients::for_each_client!(client_table)]
///
/// A failure is [`CONNECT`](Class::CONNECT) only if the innermost known type allows it. A reset is
/// one inside of a client's own connect error, and nowhere else.
///
/// Types are known in the version that stands here; other versions are judged by the rest of their
/// chain and by their texts.
///
/// ```
/// use retry_runtime::{Class, classify};
/// use std::io;
///
/// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
/// assert_eq!(classify::error(&refused), Class::NETWORK | Class::CONNECT);
///
/// // The type is known, so that the text does not count.
/// let corrupt = io::Error::new(io::ErrorKind::InvalidData, "frame says: timed out");
/// assert_eq!(classify::error(&corrupt), Class::empty());
/// ```
pub fn error(error: &(dyn Error + 'static)) -> Class {
    by_types(error, refuses).or_else(|| by_texts(None, Some(error))).unwrap_or_default()
}

/// Returns how long the server asked callers to wait, from the first error in the `source()` chain
/// that has this information; `None` if the wait is zero.
///
/// A wait is read from the types of [`error()`] that carry one, and from registered types
/// ([`register`]). Texts are not read.
///
#[cfg_attr(feature = "http", doc = "```")]
#[cfg_attr(not(feature = "http"), doc = "```ignore")]
/// use http::StatusCode;
/// use retry_runtime::classify;
/// use retry_runtime::http::StatusError;
/// use std::time::Duration;
///
/// let minute = Duration::from_secs(60);
/// let busy = StatusError::new(StatusCode::SERVICE_UNAVAILABLE, Some(minute));
/// let error = anyhow::Error::from(busy).context("cannot load the page");
/// assert_eq!(classify::retry_after(error.as_ref()), Some(minute));
/// ```
pub fn retry_after(error: &(dyn Error + 'static)) -> Option<Duration> {
    hint(error, Class::empty()).and_then(Hint::wait).filter(|wait| !wait.is_zero())
}

/// Returns what the first error in the chain that knows says about the next attempt, in a failure of
/// this class. A type that classifies itself has the last word; a known type that asks for no wait
/// does not.
pub(crate) fn hint(error: &(dyn Error + 'static), class: Class) -> Option<Hint> {
    // Most programs have no type that knows a wait.
    if !(cfg!(any(feature = "http", feature = "tonic")) || registered::know_waits()) {
        return None;
    }
    for link in links(error) {
        if let Some(hint) = registered::hint(link, class) {
            return hint;
        }
        let hint = find(link).and_then(|error| error.hint(class));
        if hint.is_some_and(|hint| hint != Hint::NOTHING) {
            return hint;
        }
    }
    None
}

impl Interrupted {
    /// Returns the interruption in the `source()` chain of an error.
    ///
    /// It is found in every error that is created from one, such as [`std::io::Error`] and the
    /// errors of clients.
    ///
    /// ```
    /// use retry_runtime::Interrupted;
    /// use std::io;
    /// use std::time::Duration;
    ///
    /// let cut = Interrupted::timeout(Duration::from_secs(2));
    /// let error = io::Error::from(cut.clone());
    /// assert_eq!(Interrupted::find_in(&error), Some(&cut));
    ///
    /// let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    /// assert_eq!(Interrupted::find_in(&refused), None);
    /// ```
    pub fn find_in<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        links(error).find_map(known::held)
    }
}

/// Returns whether the rejection by a breaker that holds calls is in the chain.
pub(crate) fn is_held(error: &(dyn Error + 'static)) -> bool {
    registered::has_been_held()
        && matches!(Interrupted::find_in(error), Some(Interrupted::Held { .. }))
}

/// [`error`] for an error that need not be `'static`: only its own text can be read, but the types
/// of the errors that it wraps can be inspected.
pub(crate) fn borrowed(error: &(dyn Error + '_)) -> Class {
    let source = error.source();
    let texts = || by_texts(Some(text_without_bodies(error)), source);
    source.and_then(|source| by_types(source, refuses)).or_else(texts).unwrap_or_default()
}

/// Returns the class of a response with this HTTP status code.
///
/// 408 is a timeout, 429 a rate limit, 5xx a server error, and 504 (like 522 and 524, which proxies
/// use instead) also a timeout. 501 (not implemented) and 505 (HTTP version not supported) belong
/// to no class, because the server answers the same to the next attempt.
///
/// ```
/// use retry_runtime::{Class, classify};
///
/// assert_eq!(classify::status(503), Class::SERVER_ERROR);
/// assert_eq!(classify::status(504), Class::SERVER_ERROR | Class::TIMEOUT);
/// assert_eq!(classify::status(404), Class::empty());
/// assert_eq!(classify::status(501), Class::empty());
/// ```
pub const fn status(code: u16) -> Class {
    match code {
        408 => Class::TIMEOUT,
        429 => Class::RATE_LIMIT,
        504 | 522 | 524 => Class::SERVER_ERROR.union(Class::TIMEOUT),
        501 | 505 => Class::empty(),
        500..=599 => Class::SERVER_ERROR,
        _ => Class::empty(),
    }
}

/// The class of something that is known only by its text.
pub(crate) fn display(text: &(impl Display + ?Sized)) -> Class {
    self::text(&text_without_bodies(text))
}

/// The error and everything that it wraps, outermost first.
pub(crate) fn links<'a>(
    error: &'a (dyn Error + 'static),
) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    core::iter::successors(Some(error), |link| inside(*link)).take(LONGEST_CHAIN)
}

/// The error that this one wraps. Apart, because chains are followed in many places.
#[inline(never)]
fn inside<'a>(link: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    known::inside(link).or_else(|| clients::inside(link)).or_else(|| link.source())
}

/// The link as one of the types whose meaning is known, if it is one.
fn find<'e>(link: &'e (dyn Error + 'static)) -> Option<&'e dyn KnownError> {
    known::find(link).or_else(|| clients::find(link))
}

/// Returns whether a known type determines the class.
pub(crate) fn is_known(error: &(dyn Error + 'static)) -> bool {
    by_types(error, |_| false).is_some()
}

fn text_of(link: &(dyn Error + 'static)) -> String {
    text_without_bodies(link)
}

/// Returns the class by the known types of the chain; `None` if there are none. What is inside of the
/// innermost one may deny that the failure passes.
fn by_types(
    error: &(dyn Error + 'static),
    denies: fn(&(dyn Error + 'static)) -> bool,
) -> Option<Class> {
    let mut said: Option<(Class, &(dyn Error + 'static))> = None;
    // Set by the error of a client that was connecting. The kind of an `io::Error` says less.
    let mut is_connecting = false;
    for link in links(error) {
        // Each one is further inside than all before it, and so decides whether the failure is
        // final.
        let within = |class: Class| match said {
            Some((outside, _)) if !class.is_empty() => {
                class | connect_around(class, outside, is_connecting)
            }
            _ => class,
        };
        // It has asked what it holds.
        if let Some(class) = registered::class(link) {
            return Some(within(class).settled());
        }
        if let Some(class) = find(link).and_then(KnownError::known_class) {
            said = Some((within(class), link));
            is_connecting |= class.contains(Class::CONNECT) && known::is_client(link);
        }
    }
    let (class, innermost) = said?;
    // `is_connect()` and `Unavailable` are also said of a proxy that wants a password, and of a
    // certificate that a library of another version rejects.
    let refused = class.contains(Class::NETWORK) && links(innermost).skip(1).any(denies);
    Some(if refused { Class::empty() } else { class.settled() })
}

/// Returns whether the text of an error says that the failure lasts.
fn refuses(error: &(dyn Error + 'static)) -> bool {
    text::read(&text_of(error)) == Some(Class::empty())
}

/// The class from `outside` of an error of this class, without a failure to connect that the error
/// denies: a request on a broken connection was sent, unless the client was still connecting.
fn connect_around(class: Class, outside: Class, is_connecting: bool) -> Class {
    let passes = Class::NETWORK | Class::TIMEOUT | Class::CONNECT;
    if is_connecting && passes.contains(class) { outside } else { outside.without_connect() }
}

/// Returns the class by the texts of a chain, of which the first one may be known; `None` if they
/// have none.
fn by_texts(first: Option<String>, rest: Option<&(dyn Error + 'static)>) -> Option<Class> {
    let mut texts: Vec<String> = first.into_iter().collect();
    for link in rest.into_iter().flat_map(links) {
        texts.push(text_of(link));
    }
    let mut outwards = texts.iter().rev().peekable();
    while let Some(text) = outwards.next() {
        // "permanent error (550): No such user" around "No such user" is one sentence.
        let is_repeated = outwards.peek().is_some_and(|outer| {
            outer.trim_end_matches(CLOSING).ends_with(text.trim_end_matches(CLOSING))
        });
        if is_repeated {
            continue;
        }
        if let Some(class) = text::read(text) {
            let is_denied =
                class.contains(Class::CONNECT) && outwards.any(|outer| text::denies_connect(outer));
            return Some(if is_denied { class.without_connect() } else { class });
        }
    }
    None
}

/// The characters that may follow a text that another one repeats: `Connect("connection refused")`.
const CLOSING: [char; 6] = [')', ']', '}', '"', '\'', '`'];
