//! Types that classify themselves, which the linker collects, and rules about types of other crates:
//! they are found wherever they stand in an error's chain.

#[cfg(feature = "macros")]
pub(crate) mod entry;
#[cfg(feature = "macros")]
pub(crate) mod fields;

use core::error::Error;
use core::sync::atomic::{AtomicBool, Ordering};
#[cfg(feature = "macros")]
use std::sync::OnceLock;
use std::sync::{Arc, RwLock};

use super::known::held;
use super::{Class, Hint};

use crate::base::sync::unpoisoned;

#[cfg(feature = "macros")]
crate::base::linked::linked! {
    /// The types that classify themselves, in one array assembled by the linker; named after the release, as
    /// the sites are.
    pub static RETRY_CLASSIFIERS_0_1: [entry::Rule];
}

/// The rules of [`register`].
static ADDED: RwLock<Option<Arc<[Arc<Added>]>>> = RwLock::new(None);

type Added = dyn Fn(&(dyn Error + 'static)) -> Option<Class> + Send + Sync;

/// The class of one link, if its type is registered.
pub(super) fn class(link: &(dyn Error + 'static)) -> Option<Class> {
    #[cfg(feature = "macros")]
    if let Some(class) = RETRY_CLASSIFIERS_0_1.iter().find_map(|rule| (rule.class)(link)) {
        return Some(class.completed());
    }
    // Not under the lock: a rule may classify what it finds inside, or register another one.
    let added = unpoisoned(ADDED.read()).clone();
    added?.iter().find_map(|rule| rule(link)).map(Class::completed)
}

/// Set if a breaker has held calls: the error of a rejected one knows a wait.
static HELD: AtomicBool = AtomicBool::new(false);

/// Records that an error of this crate may know a wait.
pub(crate) fn note_waits() {
    HELD.store(true, Ordering::Relaxed);
}

/// Returns whether a breaker has ever held calls.
#[inline]
pub(super) fn has_been_held() -> bool {
    HELD.load(Ordering::Relaxed)
}

/// Returns whether there is a type that may know a wait.
#[inline]
pub(super) fn know_waits() -> bool {
    #[cfg(feature = "macros")]
    let any = {
        // The linker's array is checked each time it is looked at.
        static ANY: OnceLock<bool> = OnceLock::new();

        *ANY.get_or_init(|| !RETRY_CLASSIFIERS_0_1.is_empty())
    };
    #[cfg(not(feature = "macros"))]
    let any = false;
    any || has_been_held()
}

/// Returns the hint of a type that classifies itself.
#[expect(clippy::option_option, reason = "no such type, no hint, or a hint")]
pub(super) fn hint(link: &(dyn Error + 'static), class: Class) -> Option<Option<Hint>> {
    let _ = (link, class);
    #[cfg(feature = "macros")]
    return RETRY_CLASSIFIERS_0_1.iter().find_map(|rule| (rule.hint)(link, class));
    #[cfg(not(feature = "macros"))]
    None
}

/// Registers a rule about an error type of another crate at runtime.
///
/// Call it when the program starts. A rule that returns [`None`] leaves the error to the other rules,
/// to its text and to what it wraps. Rules are applied to each error in a chain. Each rule
/// costs some nanoseconds per failure.
///
/// If a function returns the type itself instead of wrapping it, the rule does not apply: the type
/// could borrow, so it cannot be compared. Use the option `classify = f` of `#[retry]` there.
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
    let mut added = unpoisoned(ADDED.write());
    let before = added.iter().flat_map(|rules| rules.iter().cloned());
    let new: Arc<Added> = Arc::new(move |link| held::<E>(link).and_then(rule));
    *added = Some(before.chain([new]).collect());
}

#[cfg(test)]
mod tests {
    use core::fmt;

    use super::*;
    use crate::classify;

    #[derive(Debug)]
    struct Outer(std::io::Error);

    impl fmt::Display for Outer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("outer")
        }
    }

    impl Error for Outer {}

    #[test]
    fn a_rule_may_classify_other_errors_and_register_rules() {
        register(|error: &Outer| {
            register(|_: &fmt::Error| None);
            Some(classify::error(&error.0))
        });
        let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        assert_eq!(classify::error(&Outer(reset)), Class::NETWORK);
    }
}
