//! [`Shared`]: a breaker or a quota that several calls hold.

use std::sync::Arc;

/// A breaker or a quota that calls share: a `static`, or an [`Arc`].
///
/// ```
/// use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, Retrier};
/// use std::sync::Arc;
///
/// static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
///
/// let by_static = Retrier::new(Policy::new()).breaker(&DB);
/// let own = Arc::new(CircuitBreaker::new("mine", BreakerConfig::new()));
/// let by_arc = Retrier::new(Policy::new()).breaker(own);
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Shared<T: 'static> {
    /// Shared by the whole program.
    Static(&'static T),
    /// Shared by its holders.
    Counted(Arc<T>),
}

impl<T> Clone for Shared<T> {
    #[inline]
    fn clone(&self) -> Self {
        match self {
            Self::Static(shared) => Self::Static(shared),
            Self::Counted(shared) => Self::Counted(Arc::clone(shared)),
        }
    }
}

impl<T: Clone> Shared<T> {
    /// Returns the value itself, or a copy if it is shared.
    #[cfg(feature = "tower")]
    pub(crate) fn into_owned(self) -> T {
        match self {
            Self::Static(shared) => shared.clone(),
            Self::Counted(shared) => Arc::unwrap_or_clone(shared),
        }
    }
}

impl<T> From<&'static T> for Shared<T> {
    fn from(shared: &'static T) -> Self {
        Self::Static(shared)
    }
}

impl<T> From<Arc<T>> for Shared<T> {
    fn from(shared: Arc<T>) -> Self {
        Self::Counted(shared)
    }
}

/// A type that turns into a [`Shared`].
#[diagnostic::on_unimplemented(
    message = "calls share a `{T}`: pass a reference to a `static`, such as `&DB`, or an `Arc`",
    label = "this is a `{Self}`",
    note = "for a `LazyLock`, that is `&*DB`; for a key in a family (`Breakers<K>`), the `Arc` of `HOSTS.of(host)`"
)]
pub trait IntoShared<T> {
    /// Turns into a [`Shared`].
    fn into_shared(self) -> Shared<T>;
}

#[diagnostic::do_not_recommend]
impl<T: 'static, S: Into<Shared<T>>> IntoShared<T> for S {
    fn into_shared(self) -> Shared<T> {
        self.into()
    }
}

impl<T> AsRef<T> for Shared<T> {
    #[inline]
    fn as_ref(&self) -> &T {
        match self {
            Self::Static(shared) => shared,
            Self::Counted(shared) => shared,
        }
    }
}
