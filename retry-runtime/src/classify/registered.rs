//! Types that classify themselves, and rules about somebody else's types: they are registered when
//! the program is linked, so that they are found wherever they stand in an error's chain.

use core::error::Error;
use core::fmt::Display;
use core::marker::PhantomData;
use core::time::Duration;
use std::sync::{PoisonError, RwLock};

use super::known::held;
use super::{Class, Classify, display};

/// The rules of the program, in one array assembled by the linker; named after the release, as the
/// sites are.
#[cfg(feature = "macros")]
#[linkme::distributed_slice]
pub static RETRY_CLASSIFIERS_0_1: [Rule];

/// The rules of [`register`].
static ADDED: RwLock<Vec<Box<Added>>> = RwLock::new(Vec::new());

type Added = dyn Fn(&(dyn Error + 'static)) -> Option<Class> + Send + Sync;

/// What is known of one type.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    class: fn(&(dyn Error + 'static)) -> Option<Class>,
    /// Only a type that classifies itself knows a wait, or that there is none.
    wait: fn(&(dyn Error + 'static)) -> Option<Option<Duration>>,
}

impl Rule {
    /// A rule about somebody else's type.
    pub const fn new(class: fn(&(dyn Error + 'static)) -> Option<Class>) -> Self {
        Self { class, wait: |_| None }
    }
}

/// Whether a type is an [`Error`], and so can stand in a chain. Its own constant is found first if
/// it is, that of [`NotAnError`] otherwise.
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

impl<T: Classify + Error + 'static> Probe<T> {
    /// The type classifies itself.
    pub const RULE: Rule = Rule {
        class: |link| held::<T>(link).map(Classify::class),
        wait: |link| held::<T>(link).map(Classify::retry_after),
    };
}

/// See [`Probe`].
pub trait NotAnError {
    /// The type is in no chain.
    const RULE: Rule = Rule::new(|_| None);
}

impl<T> NotAnError for Probe<T> {}

/// Asks a rule about one link.
pub fn ask<E: Error + 'static>(
    link: &(dyn Error + 'static),
    rule: fn(&E) -> Option<Class>,
) -> Option<Class> {
    held::<E>(link).and_then(rule)
}

/// The class of one link, if its type is registered.
pub(super) fn class(link: &(dyn Error + 'static)) -> Option<Class> {
    #[cfg(feature = "macros")]
    if let Some(class) = RETRY_CLASSIFIERS_0_1.into_iter().find_map(|rule| (rule.class)(link)) {
        return Some(class);
    }
    let added = ADDED.read().unwrap_or_else(PoisonError::into_inner);
    added.iter().find_map(|rule| rule(link))
}

/// What a type that classifies itself says about the wait.
#[expect(clippy::option_option, reason = "no such type, no wait, or a wait")]
pub(super) fn wait(link: &(dyn Error + 'static)) -> Option<Option<Duration>> {
    let _ = link;
    #[cfg(feature = "macros")]
    return RETRY_CLASSIFIERS_0_1.into_iter().find_map(|rule| (rule.wait)(link));
    #[cfg(not(feature = "macros"))]
    None
}

/// Registers a rule about somebody else's error type while the program runs.
///
/// `#[classifies]` does the same without a call at the start, where the linker collects rules. A
/// rule that returns [`None`] leaves the error to the other rules. Rules are asked for each error in
/// a chain, those of `#[classifies]` first.
///
/// ```
/// use std::fmt;
/// use retry_runtime::{Class, classify};
///
/// #[derive(Debug)]
/// struct Code(u8);
///
/// # impl fmt::Display for Code {
/// #     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result { write!(f, "code {}", self.0) }
/// # }
/// impl std::error::Error for Code {}
///
/// classify::register(|error: &Code| (error.0 == 7).then_some(Class::NETWORK));
/// assert_eq!(classify::error(&Code(7)), Class::NETWORK);
/// assert_eq!(classify::error(&std::io::Error::other(Code(7))), Class::NETWORK);
/// ```
pub fn register<E: Error + 'static>(rule: fn(&E) -> Option<Class>) {
    let mut added = ADDED.write().unwrap_or_else(PoisonError::into_inner);
    added.push(Box::new(move |link| ask(link, rule)));
}

/// The class of a text.
pub fn text(error: &impl Display) -> Class {
    display(error)
}

/// Requires what `with = path` returns to be a [`Class`].
pub const fn class_of(class: Class) -> Class {
    class
}

/// The class of an HTTP status.
pub fn status(status: &impl StatusField) -> Class {
    super::status(status.code())
}

/// A wait.
pub fn wait_of(wait: &impl WaitField) -> Option<Duration> {
    wait.wait()
}

/// The types that `status = field` takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an HTTP status",
    label = "`status` takes a field of type `u16` or `http::StatusCode`",
    note = "for `http::StatusCode`, enable the feature `http` of retry-runtime",
    note = "for another type, write `#[classify(with = Self::judge)]`, with `fn judge(&self) -> \
            Class`"
)]
pub trait StatusField {
    /// The code.
    fn code(&self) -> u16;
}

impl StatusField for u16 {
    fn code(&self) -> u16 {
        *self
    }
}

#[cfg(feature = "http")]
impl StatusField for ::http::StatusCode {
    fn code(&self) -> u16 {
        self.as_u16()
    }
}

/// The types that `retry_after = field` takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a wait",
    label = "`retry_after` takes a field of type `Duration` or `Option<Duration>`",
    note = "for another type, implement `Classify` by hand"
)]
pub trait WaitField {
    /// The wait, if there is one.
    fn wait(&self) -> Option<Duration>;
}

impl WaitField for Duration {
    fn wait(&self) -> Option<Duration> {
        Some(*self)
    }
}

impl WaitField for Option<Duration> {
    fn wait(&self) -> Option<Duration> {
        *self
    }
}
