//! [`Name`]: the name of a breaker, a quota, a retrier or a function.

use core::borrow::Borrow;
use core::cmp::Ordering;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::ops::Deref;
use std::sync::Arc;

/// The name of a breaker, a quota, a retrier or an annotated function: a literal, or text
/// made at runtime.
///
/// A clone allocates nothing.
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker, Name};
///
/// let shard = 3;
/// let breaker = CircuitBreaker::named(format!("db-{shard}"), BreakerConfig::new());
/// assert_eq!(breaker.name(), "db-3");
///
/// const NAME: Name = Name::from_static("db");
/// assert_eq!(NAME, "db");
/// ```
#[derive(Clone)]
pub struct Name(pub(crate) NameText);

#[derive(Clone)]
pub(crate) enum NameText {
    Static(&'static str),
    Shared(Arc<str>),
    /// `hosts[example.org]`, and the length in bytes of the family's name.
    Member(Arc<str>, u32),
}

impl Name {
    /// Creates a name from a literal, for a `const` or a `static`.
    ///
    /// ```
    /// # use retry_runtime::Name;
    /// const DB: Name = Name::from_static("db");
    /// assert_eq!(DB.as_str(), "db");
    /// ```
    pub const fn from_static(name: &'static str) -> Self {
        Self(NameText::Static(name))
    }

    /// Returns the name as text.
    ///
    /// ```
    /// # use retry_runtime::Name;
    /// assert_eq!(Name::from("db".to_owned()).as_str(), "db");
    /// ```
    pub fn as_str(&self) -> &str {
        match &self.0 {
            NameText::Static(name) => name,
            NameText::Shared(name) | NameText::Member(name, _) => name,
        }
    }

    /// Creates the name of a member of a family: `hosts[example.org]`.
    pub(crate) fn of_member(family: &Self, key: &impl fmt::Display) -> Self {
        let text = format!("{family}[{key}]").into();
        match u32::try_from(family.len()) {
            Ok(length) => Self(NameText::Member(text, length)),
            Err(_) => Self(NameText::Shared(text)),
        }
    }

    /// Returns the family's name for a breaker in one, or else the name itself.
    ///
    /// ```
    /// use retry_runtime::{BreakerConfig, Breakers};
    ///
    /// let hosts = Breakers::<String>::new("hosts", BreakerConfig::new(), 1_000);
    /// let name = hosts.of("example.org").snapshot().name;
    /// assert_eq!(name, "hosts[example.org]");
    /// assert_eq!((name.family(), name.key()), ("hosts", Some("example.org")));
    /// ```
    pub fn family(&self) -> &str {
        match &self.0 {
            NameText::Member(name, length) => name.get(..*length as usize).unwrap_or(name),
            _ => self,
        }
    }

    /// Returns the key of a breaker in its family, or `None` if the breaker is in none.
    ///
    /// ```
    /// # use retry_runtime::{BreakerConfig, Breakers, Name};
    /// let hosts = Breakers::<String>::new("hosts", BreakerConfig::new(), 1_000);
    /// assert_eq!(hosts.of("example.org").snapshot().name.key(), Some("example.org"));
    /// assert_eq!(Name::from_static("db").key(), None);
    /// ```
    pub fn key(&self) -> Option<&str> {
        match &self.0 {
            NameText::Member(name, length) => name.get(*length as usize + 1..name.len() - 1),
            _ => None,
        }
    }
}

impl Deref for Name {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for Name {
    fn as_ref(&self) -> &str {
        self
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        self
    }
}

retry_rules::conversion!(|name: &'static str| -> Name { Self::from_static(name) });
retry_rules::conversion!(|name: String| -> Name { Self(NameText::Shared(name.into())) });
retry_rules::conversion!(|name: Arc<str>| -> Name { Self(NameText::Shared(name)) });

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl<T: AsRef<str> + ?Sized> PartialEq<T> for Name {
    fn eq(&self, other: &T) -> bool {
        self.as_str() == other.as_ref()
    }
}

impl Eq for Name {}

impl PartialEq<Name> for str {
    fn eq(&self, other: &Name) -> bool {
        self == other.as_str()
    }
}

impl PartialEq<Name> for &str {
    fn eq(&self, other: &Name) -> bool {
        *self == other.as_str()
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        self.as_str().cmp(other)
    }
}

// The same hash as a `str` has, as `Borrow` requires.
impl Hash for Name {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

/// Written as its text.
#[cfg(feature = "serde")]
impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self)
    }
}

#[cfg(all(test, not(retry_loom)))]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn it_makes_no_difference_where_the_text_came_from() {
        const STATIC: Name = Name::from_static("db");
        for made in [Name::from("db".to_owned()), Name::from(Arc::<str>::from("db"))] {
            assert_eq!(made, STATIC);
            assert_eq!(made, "db");
            assert_eq!("db", made);
            assert_eq!(made, *"db");
            assert_eq!(made.cmp(&STATIC), Ordering::Equal);
            assert!(made < Name::from_static("queue"));
            assert!(HashSet::from([made.clone()]).contains("db"));
            assert_eq!(format!("{made} {made:?} {made:>3}"), "db \"db\"  db");
        }
    }

    #[cfg(feature = "serde")]
    #[test]
    fn it_is_written_as_its_text() {
        assert_eq!(serde_json::to_string(&Name::from("db".to_owned())).unwrap(), "\"db\"");
    }
}
