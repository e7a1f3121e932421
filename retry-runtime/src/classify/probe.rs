//! Finds out what it can about an error whose type is known only where a macro expands: its class,
//! its text, a description.
//!
//! A ladder ([`lenient`], [`strict`]) serves the attribute's expansion, which sees tokens and no
//! types. It uses method resolution to pick the best that the type offers: each rung is a type that
//! derefs to the rung below it, and has the method only for errors that satisfy its bounds, so the
//! highest rung whose bounds hold is found first ("autoderef specialisation"). A rung has a second
//! place: the method of a trait, [`Rung`], which is found where its own method is not. It works
//! with whatever bounds are in scope, even in generic functions. The compiler examines each rung at
//! once, unlike with the variant that uses traits on stacked references, and two places cost it
//! less than two rungs.
//!
//! [`Fault`](super::fault::Fault) serves the closure API, where the type is a parameter and a bound
//! has to be named. Both produce a [`Classifier`], so nothing behind them depends on the error's
//! type.

// Its types are public for expansions, and nothing shows them.
#![allow(missing_debug_implementations)]

use core::any::type_name;
use core::error::Error;
use core::fmt::{self, Debug, Display};
use core::ops::Deref;
use std::sync::Arc;

use crate::base::full_text::{full_text, text_with_sources, text_without_bodies};
use crate::base::text::wait_in_text::wait_in_text;
use crate::classify::{self, Class, Classify, Hint, KnownError};

/// Everything that is probed from an error.
#[derive(Clone, Copy)]
pub struct Probed<'a> {
    /// Determines the class of the error, and what the server said about the next attempt.
    pub classifier: Classifier<'a>,
    /// The text of the error in events.
    pub display: ErrorDisplay<'a>,
}

impl<'a> Probed<'a> {
    /// Returns the error that the error wraps.
    #[cold]
    pub fn source(self) -> Option<&'a (dyn Error + 'static)> {
        self.classifier.source()
    }
}

/// The source of an error's class and hint, whatever its type.
#[derive(Clone, Copy)]
pub enum Classifier<'a> {
    /// The error classifies itself.
    Own(&'a dyn Classify),
    /// The error is judged from its types and texts.
    View(ErrorView<'a>),
}

impl<'a> Classifier<'a> {
    /// Returns the error that the error wraps.
    pub(crate) fn source(self) -> Option<&'a (dyn Error + 'static)> {
        match self {
            Self::Own(error) => error.__source(),
            Self::View(ErrorView::Typed(error)) => error.source(),
            Self::View(view) => view.typed(),
        }
    }

    /// Returns the class of the error.
    #[inline(always)]
    pub fn class(self) -> Class {
        match self {
            Self::Own(error) => error.class().completed(),
            Self::View(view) => view.class(),
        }
    }

    /// As [`hint`](Self::hint), without reading the text of an error whose type is not known.
    #[inline]
    pub(crate) fn stated_hint(self, class: Class) -> Option<Hint> {
        let hint = match self {
            Self::Own(error) => error.__hint(class),
            Self::View(view) => view.typed().and_then(|error| classify::hint(error, class)),
        };
        hint.filter(|hint| *hint != Hint::NOTHING)
    }

    /// Returns what the server said about the next attempt, if the error knows. A wait of zero is
    /// dropped: the server has a clock that lags, or does not know when to come back. `class` is the
    /// class of the error if it was read, and empty otherwise; then no text is read either.
    #[inline]
    pub fn hint(self, class: Class) -> Option<Hint> {
        match self {
            // Decided here: a program whose failures have no class needs no code that reads texts.
            Self::View(view) if class.intersects(Class::ASKING) => {
                view.hint(class).filter(|hint| *hint != Hint::NOTHING)
            }
            _ => self.stated_hint(class),
        }
    }
}

/// Returns the class of the error, and what the server said about the next attempt.
pub(crate) fn read(classifier: Classifier<'_>) -> (Class, Option<Hint>) {
    let class = classifier.class();
    (class, classifier.hint(class))
}

/// As [`read`], for errors that classify themselves, or have no class.
pub(crate) fn read_own(classifier: Classifier<'_>) -> (Class, Option<Hint>) {
    let class = match classifier {
        Classifier::Own(error) => error.class().completed(),
        Classifier::View(_) => Class::empty(),
    };
    (class, classifier.stated_hint(class))
}

/// The view of an error that does not classify itself: its types and texts.
#[derive(Clone, Copy)]
pub enum ErrorView<'a> {
    /// An error whose type can be inspected.
    Typed(&'a (dyn Error + 'static)),
    /// An error of which only the text and the source can be inspected, because it may borrow, or
    /// its type is not a known one.
    Borrowed(&'a (dyn Error + 'a)),
    /// Only a text.
    Text(&'a dyn Display),
    /// Nothing at all.
    Nothing,
}

impl<'a> ErrorView<'a> {
    /// Returns the outermost error whose type can be inspected.
    fn typed(self) -> Option<&'a (dyn Error + 'static)> {
        match self {
            Self::Typed(error) => Some(error),
            Self::Borrowed(error) => error.source(),
            Self::Text(_) | Self::Nothing => None,
        }
    }

    /// Returns the class of the error.
    #[cold]
    pub fn class(self) -> Class {
        match self {
            Self::Typed(error) => classify::error(error),
            Self::Borrowed(error) => classify::borrowed(error),
            Self::Text(text) => classify::display(text),
            Self::Nothing => Class::empty(),
        }
    }

    /// Returns the server's hint about the next attempt, if a known type in the error has one. If no
    /// type is known, a text states it: the innermost one with a wait.
    #[cold]
    pub(crate) fn hint(self, class: Class) -> Option<Hint> {
        let typed = self.typed();
        let hint = typed.and_then(|error| classify::hint(error, class));
        if hint.is_some()
            || !class.intersects(Class::ASKING)
            || typed.is_some_and(classify::is_known)
        {
            return hint;
        }
        let mut wait = None;
        self.any_link(&mut |link| {
            wait = wait_in_text(&text_without_bodies(link)).or(wait);
            false
        });
        wait.map(Hint::InText)
    }

    /// Returns whether a breaker that holds calls has rejected the call: the error is that
    /// rejection, or wraps it.
    #[cold]
    pub fn is_held(self) -> bool {
        self.typed().is_some_and(classify::is_held)
    }

    /// Returns whether the text of the error, or of any error that it wraps, satisfies `is_wanted`.
    /// It is compiled once, and not for each pattern of a program.
    #[cold]
    pub fn any_text(self, is_wanted: &dyn Fn(&str) -> bool) -> bool {
        self.any_link(&mut |link| is_wanted(&full_text(link)))
    }

    /// Returns whether the error, or any error that it wraps, satisfies `matches`; the outermost comes
    /// first.
    pub(crate) fn any_link(self, matches: &mut dyn FnMut(&dyn Display) -> bool) -> bool {
        match self {
            Self::Typed(error) => classify::links(error).any(|link| matches(&link)),
            Self::Borrowed(error) => {
                matches(&error)
                    || error
                        .source()
                        .is_some_and(|source| classify::links(source).any(|link| matches(&link)))
            }
            Self::Text(text) => matches(text),
            Self::Nothing => false,
        }
    }
}

/// The text of an error in events: its `Display`, else its `Debug`, else the name of its type.
#[derive(Clone, Copy)]
pub enum ErrorDisplay<'a> {
    /// Its `Display`, with the texts of the errors that it wraps.
    Display(&'a dyn Display, Classifier<'a>),
    /// The text of a value that is retried.
    Value(&'a dyn Display),
    /// Its `Debug`.
    Debug(&'a dyn Debug),
    /// The name of its type.
    Type(&'static str),
}

impl ErrorDisplay<'_> {
    /// Returns whether the failure is a value.
    pub(crate) const fn is_value(&self) -> bool {
        matches!(self, Self::Value(_))
    }
}

impl Display for ErrorDisplay<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Display(error, of) => {
                let inner = of.source().into_iter().flat_map(classify::links);
                f.write_str(&text_with_sources(error, inner))
            }
            Self::Value(value) => f.write_str(&full_text(value)),
            Self::Debug(error) => Debug::fmt(error, f),
            Self::Type(name) => f.write_str(name),
        }
    }
}

/// Probes `error` for a matcher that needs the answer: a type that cannot answer is a compile
/// error.
pub const fn strict<E>(error: &E) -> ByItself<'_, E, true> {
    ByItself::above(error)
}

/// Probes `error`; a type that cannot answer yields nothing.
pub const fn lenient<E>(error: &E) -> ByItself<'_, E, false> {
    ByItself::above(error)
}

/// The methods of a rung in the second place: method resolution tries its own methods first.
pub trait Rung<'a> {
    /// Probes the error.
    fn __probe(&self) -> Probed<'a>;

    /// Returns what can be read from the error.
    fn __view(&self) -> ErrorView<'a>;
}

/// The bottom of the ladder: an error of any type, of which only the `Debug` can be shown, if it
/// has one.
pub struct Base<'a, E, const STRICT: bool>(&'a E);

impl<'a, E> Base<'a, E, true> {
    /// Always a compile error: a type that satisfies the bound is found on a higher rung.
    pub fn __probe(&self) -> Probed<'a>
    where
        E: Classify,
    {
        unreachable!("a higher rung has this error")
    }

    /// Always a compile error: a type that satisfies the bound is found on a higher rung.
    pub fn __view(&self) -> ErrorView<'a>
    where
        E: Classify,
    {
        unreachable!("a higher rung has this error")
    }
}

impl<'a, E: Debug> Base<'a, E, false> {
    /// Probes the error.
    pub fn __probe(&self) -> Probed<'a> {
        let classifier = Classifier::View(ErrorView::Nothing);
        Probed { classifier, display: ErrorDisplay::Debug(self.0) }
    }
}

/// Nothing is known but the name of the type.
impl<'a, E> Rung<'a> for Base<'a, E, false> {
    fn __probe(&self) -> Probed<'a> {
        let classifier = Classifier::View(ErrorView::Nothing);
        Probed { classifier, display: ErrorDisplay::Type(type_name::<E>()) }
    }

    fn __view(&self) -> ErrorView<'a> {
        ErrorView::Nothing
    }
}

/// Probes an error that is judged from outside, as `view`.
const fn probed<'a, E: Display>(error: &'a E, view: ErrorView<'a>) -> Probed<'a> {
    let classifier = Classifier::View(view);
    Probed { classifier, display: ErrorDisplay::Display(error, classifier) }
}

/// The highest rung: the error classifies itself, or it is a pointer to any error; in the second
/// place, it is any other error.
///
/// Most errors end here: each rung above costs compile time in every function. `'static` errors
/// have no rung: method resolution ignores lifetimes, and a `'static` bound would reject errors
/// that borrow. Types worth inspecting are covered by the first place; only where the error is a
/// type parameter does its own type remain unknown, and its text is read instead. What it wraps is
/// inspected either way.
pub struct ByItself<'a, E, const STRICT: bool> {
    error: &'a E,
    below: ByText<'a, E, STRICT>,
}

impl<'a, E, const STRICT: bool> ByItself<'a, E, STRICT> {
    const fn above(error: &'a E) -> Self {
        Self { error, below: ByText { error, below: Base(error) } }
    }
}

impl<'a, E, const STRICT: bool> Deref for ByItself<'a, E, STRICT> {
    type Target = ByText<'a, E, STRICT>;

    fn deref(&self) -> &Self::Target {
        &self.below
    }
}

impl<'a, E: Classified, const STRICT: bool> ByItself<'a, E, STRICT> {
    /// Probes the error.
    #[inline]
    pub fn __probe(&self) -> Probed<'a> {
        let classifier = self.error.classifier();
        Probed { classifier, display: ErrorDisplay::Display(self.error, classifier) }
    }
}

impl<'a, E: Typed, const STRICT: bool> ByItself<'a, E, STRICT> {
    /// Returns what can be read from the error.
    pub fn __view(&self) -> ErrorView<'a> {
        ErrorView::Typed(self.error.typed())
    }
}

impl<'a, E: Error, const STRICT: bool> Rung<'a> for ByItself<'a, E, STRICT> {
    fn __probe(&self) -> Probed<'a> {
        probed(self.error, ErrorView::Borrowed(self.error))
    }

    fn __view(&self) -> ErrorView<'a> {
        ErrorView::Borrowed(self.error)
    }
}

/// The error exposes a `dyn Error + Send + Sync`: `anyhow::Error`, `Box<dyn Error + Send + Sync>`;
/// in the second place, it is only a text.
pub struct ByText<'a, E, const STRICT: bool> {
    error: &'a E,
    below: Base<'a, E, STRICT>,
}

impl<'a, E, const STRICT: bool> Deref for ByText<'a, E, STRICT> {
    type Target = Base<'a, E, STRICT>;

    fn deref(&self) -> &Self::Target {
        &self.below
    }
}

impl<'a, E, const STRICT: bool> ByText<'a, E, STRICT>
where
    E: AsRef<dyn Error + Send + Sync> + Display,
{
    /// Probes the error.
    pub fn __probe(&self) -> Probed<'a> {
        probed(self.error, self.__view())
    }

    /// Returns what can be read from the error.
    pub fn __view(&self) -> ErrorView<'a> {
        ErrorView::Typed(self.error.as_ref())
    }
}

impl<'a, E: Display, const STRICT: bool> Rung<'a> for ByText<'a, E, STRICT> {
    fn __probe(&self) -> Probed<'a> {
        probed(self.error, ErrorView::Text(self.error))
    }

    fn __view(&self) -> ErrorView<'a> {
        ErrorView::Text(self.error)
    }
}

/// An error whose class is definite: through its [`Classify`], which known types implement, or
/// through the error to which it points.
pub trait Classified: Display {
    /// Returns what determines its class.
    fn classifier(&self) -> Classifier<'_>;
}

impl<E: Classify> Classified for E {
    #[inline]
    fn classifier(&self) -> Classifier<'_> {
        self.__classifier()
    }
}

/// An error whose type can be inspected without requiring `'static` of all errors.
pub trait Typed {
    /// Returns the error.
    fn typed(&self) -> &(dyn Error + 'static);
}

impl<E: KnownError> Typed for E {
    fn typed(&self) -> &(dyn Error + 'static) {
        self
    }
}

/// Pointers to any error.
macro_rules! pointers {
    ($($Pointer:ty),+) => {$(
        impl Typed for $Pointer {
            fn typed(&self) -> &(dyn Error + 'static) {
                &**self
            }
        }

        impl Classified for $Pointer {
            fn classifier(&self) -> Classifier<'_> {
                Classifier::View(ErrorView::Typed(self.typed()))
            }
        }
    )+};
}

pointers!(Box<dyn Error>, Box<dyn Error + Send>, Arc<dyn Error>, Arc<dyn Error + Send + Sync>);

#[cfg(test)]
mod tests {
    use core::time::Duration;
    use std::io;

    use super::*;

    /// Expands like the attribute.
    macro_rules! probe {
        ($entry:ident $method:ident $error:expr) => {
            match $error {
                error => super::$entry(error).$method(),
            }
        };
    }

    macro_rules! class {
        // `match` keeps temporaries in `$error` alive.
        ($error:expr) => {
            match $error {
                error => {
                    let class = probe!(lenient __probe error).classifier.class();
                    assert_eq!(class, probe!(strict __probe error).classifier.class());
                    class
                }
            }
        };
    }

    fn reset() -> io::Error {
        io::Error::from(io::ErrorKind::ConnectionReset)
    }

    #[derive(Debug)]
    struct Wrapper<S>(&'static str, S);

    impl<S> Display for Wrapper<S> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl<S: Error + 'static> Error for Wrapper<S> {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&self.1)
        }
    }

    #[derive(Debug)]
    struct Borrowing<'a>(&'a str);

    impl Display for Borrowing<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Borrowing<'_> {}

    /// Its text and its type contradict what it says itself.
    #[derive(Debug)]
    struct Everything;

    impl Display for Everything {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("HTTP 500")
        }
    }

    impl Error for Everything {}

    impl Classify for Everything {
        fn class(&self) -> Class {
            Class::RATE_LIMIT
        }

        fn retry_after(&self) -> Option<Duration> {
            Some(Duration::from_secs(7))
        }
    }

    struct OnlyClassify<'a>(&'a Class);

    impl Display for OnlyClassify<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("HTTP 500")
        }
    }

    impl Classify for OnlyClassify<'_> {
        fn class(&self) -> Class {
            *self.0
        }
    }

    struct OnlyText;

    impl Display for OnlyText {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("request timeout")
        }
    }

    #[derive(Debug)]
    struct OnlyDebug;

    struct Mute;

    type Alias = Box<dyn Error + Send + Sync>;

    #[test]
    fn an_error_that_classifies_itself_has_the_last_word() {
        assert_eq!(class!(&Everything), Class::RATE_LIMIT);
        let judge = probe!(lenient __probe &Everything).classifier;
        assert_eq!(judge.hint(Class::empty()), Some(Hint::Wait(Duration::from_secs(7))));
    }

    #[test]
    fn an_error_that_classifies_itself_only_needs_a_text() {
        let class = Class::NETWORK;
        assert_eq!(class!(&OnlyClassify(&class)), Class::NETWORK);
    }

    #[test]
    fn an_error_that_does_not_classify_itself_has_no_wait() {
        assert_eq!(probe!(lenient __probe &reset()).classifier.hint(Class::empty()), None);
    }

    #[test]
    fn erased_errors_are_looked_into() {
        let error = || Wrapper("wrapped", reset());
        assert_eq!(class!(&anyhow::Error::from(error()).context("more")), Class::NETWORK);
        assert_eq!(class!(&Alias::from(error())), Class::NETWORK);
        let send: Box<dyn Error + Send> = Box::new(error());
        assert_eq!(class!(&send), Class::NETWORK);
        let local: Box<dyn Error> = Box::new(error());
        assert_eq!(class!(&local), Class::NETWORK);
        let shared: Arc<dyn Error + Send + Sync> = Arc::new(error());
        assert_eq!(class!(&shared), Class::NETWORK);
        assert_eq!(class!(&anyhow::anyhow!("HTTP 500")), Class::SERVER_ERROR);
    }

    #[test]
    fn known_types_are_known_without_a_wrapper() {
        assert_eq!(class!(&reset()), Class::NETWORK);
        assert_eq!(class!(&Box::new(reset())), Class::NETWORK);
        assert_eq!(class!(&Arc::new(reset())), Class::NETWORK);
        let invalid = io::Error::new(io::ErrorKind::InvalidData, "timed out");
        assert_eq!(class!(&invalid), Class::empty());
    }

    #[test]
    fn other_errors_are_read_and_looked_into() {
        assert_eq!(class!(&Wrapper("HTTP 500", reset())), Class::NETWORK);
        assert_eq!(class!(&Wrapper("HTTP 500", Everything)), Class::SERVER_ERROR);
        let text = String::from("broken pipe");
        assert_eq!(class!(&Borrowing(&text)), Class::NETWORK);
    }

    #[test]
    fn texts_are_read() {
        assert_eq!(class!(&OnlyText), Class::TIMEOUT);
        assert_eq!(class!(&"HTTP 429"), Class::RATE_LIMIT);
        assert_eq!(class!(&String::from("HTTP 500")), Class::SERVER_ERROR);
    }

    #[test]
    fn a_mute_error_is_unclassified_if_leniently_probed() {
        assert_eq!(probe!(lenient __probe &Mute).classifier.class(), Class::empty());
        assert!(!probe!(lenient __view &Mute).any_text(&|_| true));
        assert_eq!(probe!(lenient __probe &()).classifier.class(), Class::empty());
    }

    #[test]
    fn generic_functions_use_the_bounds_in_scope() {
        fn by_display<E: Display>(error: &E) -> Class {
            class!(error)
        }
        fn by_error<E: Error>(error: &E) -> Class {
            class!(error)
        }
        fn by_static_error<E: Error + Send + Sync + 'static>(error: &E) -> Class {
            class!(error)
        }
        fn by_classify<E: Classify>(error: &E) -> Class {
            class!(error)
        }
        fn by_as_ref<E: AsRef<dyn Error + Send + Sync> + Display>(error: &E) -> Class {
            class!(error)
        }
        fn by_nothing<E>(error: &E) -> Class {
            probe!(lenient __probe error).classifier.class()
        }
        fn inside<S: Error + 'static>(error: &Wrapper<S>) -> Class {
            class!(error)
        }
        assert_eq!(by_display(&Everything), Class::SERVER_ERROR);
        assert_eq!(by_error(&Borrowing("HTTP 500")), Class::SERVER_ERROR);
        assert_eq!(by_error(&Wrapper("", reset())), Class::NETWORK);
        assert_eq!(by_static_error(&Everything), Class::SERVER_ERROR);
        assert_eq!(by_classify(&Everything), Class::RATE_LIMIT);
        assert_eq!(by_as_ref(&anyhow::Error::from(reset())), Class::NETWORK);
        assert_eq!(by_nothing(&Everything), Class::empty());
        assert_eq!(inside(&Wrapper("", reset())), Class::NETWORK);
    }

    #[test]
    fn a_pattern_sees_every_text_of_the_chain() {
        let error = anyhow::Error::from(Wrapper("outer", Everything)).context("outermost");
        for wanted in ["outermost", "outer", "HTTP 500"] {
            assert!(probe!(strict __view &error).any_text(&|text| text == wanted), "{wanted}");
        }
        assert!(!probe!(strict __view &error).any_text(&|text| text.contains("other")));
        assert!(probe!(strict __view &Everything).any_text(&|text| text == "HTTP 500"));
        assert!(probe!(strict __view &OnlyText).any_text(&|text| text == "request timeout"));
        let wrapper = Wrapper("outer", Everything);
        assert!(probe!(strict __view &wrapper).any_text(&|text| text == "HTTP 500"));
        let hidden = io::Error::other(Wrapper("outer", Everything));
        assert!(probe!(strict __view &hidden).any_text(&|text| text == "HTTP 500"));
    }

    #[test]
    fn descriptions_take_the_best_that_there_is() {
        assert_eq!(probe!(lenient __probe &Everything).display.to_string(), "HTTP 500");
        assert_eq!(probe!(lenient __probe &OnlyDebug).display.to_string(), "OnlyDebug");
        assert!(probe!(lenient __probe &Mute).display.to_string().ends_with("::Mute"));
        let chain = anyhow::anyhow!("inner").context("outer");
        assert_eq!(format!("{:#}", probe!(lenient __probe &chain).display), "outer: inner");
    }
}
