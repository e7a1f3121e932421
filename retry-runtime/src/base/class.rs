//! [`Class`]: the kinds of failure.

use core::fmt;
use core::ops::BitOr;

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
    /// assert_eq!(classify::text("connection reset by peer"), Class::NETWORK);
    /// ```
    pub const NETWORK: Self = Self(1);

    /// Something took longer than allowed.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert_eq!(classify::text("operation timed out"), Class::TIMEOUT);
    /// ```
    pub const TIMEOUT: Self = Self(1 << 1);

    /// The server itself failed: HTTP 5xx except 501 and 505, and the like.
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

    /// A transaction lost against another one: a serialization failure, a deadlock, a lock that
    /// another session holds.
    ///
    /// The server works, so a conflict never counts against a breaker. A retry has to
    /// repeat the whole transaction, from `BEGIN` on: a single statement of it fails again.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert_eq!(classify::text("ERROR 1213 (40001): Deadlock found"), Class::CONFLICT);
    /// assert_eq!(classify::text("database is locked"), Class::CONFLICT);
    /// assert!(classify::text("HTTP 409 Conflict").is_empty());
    /// ```
    pub const CONFLICT: Self = Self(1 << 4);

    /// The request was certainly not sent: the connection was refused, the name of the host was not
    /// found, or the client failed while it connected.
    ///
    /// Such a failure is always [`NETWORK`](Self::NETWORK) as well, and a connect timeout is also
    /// [`TIMEOUT`](Self::TIMEOUT). It is not one of [`NAMES`](Self::NAMES): `Debug` and stored
    /// classes show those five.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// let refused = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    /// assert!(classify::error(&refused).contains(Class::NETWORK | Class::CONNECT));
    /// let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
    /// assert!(!classify::error(&reset).contains(Class::CONNECT));
    /// ```
    pub const CONNECT: Self = Self(1 << 5);

    /// All five kinds: every failure that another attempt may cure.
    ///
    /// ```
    /// # use retry_runtime::{Class, classify};
    /// assert!(classify::text("503 Service Unavailable").intersects(Class::TRANSIENT));
    /// assert!(classify::text("deadlock detected").intersects(Class::TRANSIENT));
    /// assert!(!classify::text("404 Not Found").intersects(Class::TRANSIENT));
    /// ```
    pub const TRANSIENT: Self = Self::NETWORK
        .union(Self::TIMEOUT)
        .union(Self::SERVER_ERROR)
        .union(Self::RATE_LIMIT)
        .union(Self::CONFLICT);

    /// The kinds whose servers ask callers to wait.
    pub(crate) const ASKING: Self = Self::RATE_LIMIT.union(Self::SERVER_ERROR);

    /// The single kinds with their names, which are words of `retry_on`.
    ///
    /// ```
    /// # use retry_runtime::Class;
    /// let names: Vec<_> = Class::NAMES.iter().map(|(_, name)| *name).collect();
    /// assert_eq!(names, ["network", "timeout", "server_error", "rate_limit", "conflict"]);
    /// ```
    pub const NAMES: [(Self, &'static str); 5] = [
        (Self::NETWORK, "network"),
        (Self::TIMEOUT, "timeout"),
        (Self::SERVER_ERROR, "server_error"),
        (Self::RATE_LIMIT, "rate_limit"),
        (Self::CONFLICT, "conflict"),
    ];

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

    /// Returns the set without the other kinds if one of them is a conflict: that is what the
    /// failure is then, whatever else its text or its code says.
    pub(crate) const fn settled(self) -> Self {
        if self.contains(Self::CONFLICT) { Self::CONFLICT } else { self }
    }

    /// Returns the set with what [`CONNECT`](Self::CONNECT) implies: for the classes that programs
    /// return.
    pub(crate) const fn completed(self) -> Self {
        if self.contains(Self::CONNECT) { self.union(Self::NETWORK) } else { self }
    }

    /// Returns the set without [`CONNECT`](Self::CONNECT).
    pub(crate) const fn without_connect(self) -> Self {
        Self(self.0 & !Self::CONNECT.0)
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

/// Shows [`CONNECT`](Class::CONNECT) only where [`NETWORK`](Class::NETWORK) does not stand for it:
/// in a matcher.
impl fmt::Debug for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connect = (!self.contains(Self::NETWORK)).then_some((Self::CONNECT, "connect"));
        let mut empty = true;
        for (class, name) in Class::NAMES.into_iter().chain(connect) {
            if self.contains(class) {
                if !empty {
                    f.write_str(" | ")?;
                }
                f.write_str(&name.to_ascii_uppercase())?;
                empty = false;
            }
        }
        if empty { f.write_str("NONE") } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connect_is_shown_as_network_if_it_is_one() {
        for (class, shown) in [
            (Class::NETWORK | Class::CONNECT, "NETWORK"),
            (Class::TIMEOUT | Class::NETWORK | Class::CONNECT, "NETWORK | TIMEOUT"),
            (Class::CONNECT, "CONNECT"),
            (Class::CONNECT | Class::TIMEOUT, "TIMEOUT | CONNECT"),
            (Class::empty(), "NONE"),
        ] {
            assert_eq!(format!("{class:?}"), shown);
        }
    }

    #[test]
    fn only_connect_is_completed() {
        assert!(Class::CONNECT.completed() == Class::NETWORK | Class::CONNECT);
        for (class, _) in Class::NAMES {
            assert!(class.completed() == class && class.without_connect() == class);
        }
        assert!(!Class::TRANSIENT.contains(Class::CONNECT));
    }
}
