//! The runtime value of `policy = …`: a policy, or a configuration, which also says which
//! failures are retried.
//!
//! The expansion sees an expression and no type, so it climbs a ladder of three rungs, as
//! [`probe`](crate::classify::probe) does: [`ConfigProbe`] has `__source` for types that hold a
//! configuration, and derefs to [`PolicyDerefProbe`], which has it for those that deref to a policy,
//! and derefs to [`PolicyProbe`], which has it for all others.

use core::borrow::Borrow;
use core::ops::Deref;

use retry_rules::Policy;

use crate::classify::Class;
use crate::classify::matchers::Matcher;
use crate::classify::probe::{self, ByItself, ErrorView};

/// A policy, perhaps with lists of failures.
pub trait Config: Clone {
    /// The lists of failures that are retried and that are not, if it has them.
    type Lists<'a>
    where
        Self: 'a;

    /// The policy, without the lists.
    fn policy(&self) -> &Policy;

    /// Returns the lists.
    fn lists(&self) -> Self::Lists<'_>;
}

impl Config for Policy {
    type Lists<'a> = NoLists;

    #[inline(always)]
    fn policy(&self) -> &Policy {
        self
    }

    #[inline(always)]
    fn lists(&self) -> NoLists {
        NoLists
    }
}

/// A configuration, or something that derefs to one, such as an `Arc` or a guard.
pub trait ConfigSource {
    /// The type of the configuration.
    type Config: Config;

    /// The configuration.
    fn config(&self) -> &Self::Config;
}

impl<D: Deref + ?Sized> ConfigSource for D
where
    D::Target: ConfigSource,
{
    type Config = <D::Target as ConfigSource>::Config;

    #[inline(always)]
    fn config(&self) -> &Self::Config {
        (**self).config()
    }
}

/// A policy, or something that holds one.
#[diagnostic::on_unimplemented(
    message = "`policy` must be a `Policy` or a `RetryConfig`, not a `{Self}`",
    label = "this is not a policy",
    note = "name the field that holds the policy, as in `policy = self.config.http`: an expression \
            of type `Policy` or `RetryConfig` (feature `serde`), or one that derefs to it, such as an `Arc`",
    note = "of your own types, those that implement `Borrow<Policy>` are accepted"
)]
pub trait AsPolicy {
    /// The policy.
    fn policy(&self) -> &Policy;
}

#[diagnostic::do_not_recommend]
impl<P: Borrow<Policy> + ?Sized> AsPolicy for P {
    #[inline(always)]
    fn policy(&self) -> &Policy {
        self.borrow()
    }
}

/// The upper rung: for types that hold a configuration.
pub struct ConfigProbe<'a, V: ?Sized>(PolicyDerefProbe<'a, V>);

/// The middle rung: for types that deref to a policy, such as a `LazyLock` or a guard.
pub struct PolicyDerefProbe<'a, V: ?Sized>(PolicyProbe<'a, V>);

/// The lower rung: for all types. One that is not a policy is an error.
pub struct PolicyProbe<'a, V: ?Sized>(&'a V);

/// Begins at the upper rung.
#[inline(always)]
pub const fn source<V: ?Sized>(value: &V) -> ConfigProbe<'_, V> {
    ConfigProbe(PolicyDerefProbe(PolicyProbe(value)))
}

impl<'a, V: ?Sized> Deref for ConfigProbe<'a, V> {
    type Target = PolicyDerefProbe<'a, V>;

    #[inline(always)]
    fn deref(&self) -> &PolicyDerefProbe<'a, V> {
        &self.0
    }
}

impl<'a, V: ?Sized> Deref for PolicyDerefProbe<'a, V> {
    type Target = PolicyProbe<'a, V>;

    #[inline(always)]
    fn deref(&self) -> &PolicyProbe<'a, V> {
        &self.0
    }
}

impl<'a, V: ConfigSource + ?Sized> ConfigProbe<'a, V> {
    /// The configuration.
    #[inline(always)]
    pub fn __source(&self) -> Found<'a, V::Config> {
        Found(self.0.0.0.config())
    }
}

impl<'a, V: Deref<Target: AsPolicy> + ?Sized> PolicyDerefProbe<'a, V> {
    /// The policy.
    #[inline(always)]
    pub fn __source(&self) -> Found<'a, Policy> {
        Found(self.0.0.policy())
    }
}

impl<'a, V: ?Sized> PolicyProbe<'a, V> {
    /// The policy.
    #[inline(always)]
    pub fn __source(&self) -> Found<'a, Policy>
    where
        V: AsPolicy,
    {
        Found(self.0.policy())
    }
}

/// The policy or the configuration that was found.
pub struct Found<'a, C>(&'a C);

impl<'a, C: Config> Found<'a, C> {
    /// Returns what a call keeps of a value that is read before the first attempt.
    #[inline(always)]
    pub fn keep(self) -> C {
        self.0.clone()
    }

    /// The policy, read when it is needed.
    #[cold]
    pub fn policy(self) -> Policy {
        *self.0.policy()
    }

    /// Returns whether the policy has a time limit, so that the call has to know when it began.
    #[inline(always)]
    pub fn is_timed(self) -> bool {
        let policy = self.0.policy();
        policy.is_timed() || policy.has_max_elapsed()
    }

    /// Returns the lists of failures that are retried and that are not, if the value has them.
    #[inline(always)]
    pub fn lists(self) -> C::Lists<'a> {
        self.0.lists()
    }
}

/// `retry_on`, `abort_on` and `uncounted` of a configuration.
#[derive(Clone, Copy, Debug)]
pub struct ConfigLists<'a> {
    pub(crate) retry_on: Option<&'a [Matcher]>,
    pub(crate) abort_on: Option<&'a [Matcher]>,
    pub(crate) uncounted: Option<Class>,
}

impl ConfigLists<'_> {
    /// Probes an error. One that reveals nothing is a compile error, as with `retry_on`.
    pub const fn __probe<'e, E>(&self, error: &'e E) -> ByItself<'e, E, true> {
        probe::strict(error)
    }

    /// Returns the classes of failures that use up no attempt, unless the attribute has its `own`.
    pub fn uncounted(&self, own: Option<Class>) -> Class {
        own.or(self.uncounted).unwrap_or_default()
    }

    /// Returns the class of a failure, if a list needs it.
    pub fn class(&self, read: impl FnOnce() -> Class) -> Class {
        let is_read =
            self.retry_on.is_some() || self.abort_on.is_some() || self.uncounted.is_some();
        if is_read { read() } else { Class::empty() }
    }

    /// Returns whether a failure may be retried. If the attribute has a `retry_on`, that one
    /// `is_overruled`.
    #[cold]
    pub fn permit(&self, is_overruled: bool, class: Class, view: ErrorView<'_>) -> bool {
        let retry_on = self.retry_on.filter(|_| !is_overruled);
        let any = |list: &[Matcher]| list.iter().any(|matcher| matcher.matches(class, view));
        !self.abort_on.is_some_and(any) && retry_on.is_none_or(any)
    }
}

/// A bare policy has no lists.
#[derive(Clone, Copy, Debug)]
pub struct NoLists;

impl NoLists {
    /// Probes an error without reading it.
    pub const fn __probe<'e, E>(&self, error: &'e E) -> ByItself<'e, E, false> {
        probe::lenient(error)
    }

    /// Returns the classes of failures that use up no attempt: those of the attribute.
    pub fn uncounted(&self, own: Option<Class>) -> Class {
        own.unwrap_or_default()
    }

    /// Returns the class of a failure that no list needs.
    #[inline(always)]
    pub fn class(&self, _: impl FnOnce() -> Class) -> Class {
        Class::empty()
    }

    /// Returns whether a failure may be retried: always.
    #[inline(always)]
    pub fn permit(&self, _: bool, _: Class, _: ErrorView<'_>) -> bool {
        true
    }
}
