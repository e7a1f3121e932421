//! The matchers of [`crate::matchers`].

use core::fmt;

use crate::base::sealed::Seal;
use crate::classify::Class;
use crate::classify::probe::ErrorView;

/// One entry of `retry_on` or `abort_on`.
///
/// ```
/// use retry_runtime::matchers::{Matcher, network, rate_limit};
/// use retry_runtime::{Policy, Retrier};
///
/// const BUSY: [Matcher; 2] = [network, rate_limit];
///
/// let retrier = Retrier::new(Policy::new()).retry_on(BUSY);
/// ```
#[derive(Clone, Debug)]
pub struct Matcher(MatcherKind);

#[derive(Clone, Debug)]
enum MatcherKind {
    Class(Class),
    #[cfg(feature = "pattern")]
    Pattern(regex::Regex),
}

#[expect(non_upper_case_globals, reason = "they read as the words of the attribute")]
mod named {
    use super::{Class, Matcher, MatcherKind};

    /// Matches failures to reach the other side, and connections that broke.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, Retrier, matchers::network};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
    ///     .retry_on([network]);
    /// let error = retrier.run_sync(|| Err::<(), _>("connection refused")).unwrap_err();
    /// assert_eq!(error.attempts(), 2);
    /// ```
    pub const network: Matcher = Matcher(MatcherKind::Class(Class::NETWORK));
    /// Matches failures whose request was certainly not sent: a refused connection, a failed name
    /// lookup, a client that failed while it connected.
    ///
    /// [`network`] matches these too, and more: beside it in one list, `connect` has no effect, so
    /// files and the attribute reject the pair. A request that must not be made twice, such as a
    /// POST, may retry these.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, Retrier, matchers::connect};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
    ///     .retry_on([connect]);
    /// let refused = retrier.run_sync(|| Err::<(), _>("connection refused")).unwrap_err();
    /// let reset = retrier.run_sync(|| Err::<(), _>("connection reset by peer")).unwrap_err();
    /// assert_eq!((refused.attempts(), reset.attempts()), (2, 1));
    /// ```
    pub const connect: Matcher = Matcher(MatcherKind::Class(Class::CONNECT));
    /// Matches operations that took too long, including attempts that the policy's `timeout` cut
    /// off.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, Retrier, matchers::timeout};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
    ///     .retry_on([timeout]);
    /// let error = retrier.run_sync(|| Err::<(), _>(std::io::Error::from(std::io::ErrorKind::TimedOut))).unwrap_err();
    /// assert_eq!(error.attempts(), 2);
    /// ```
    pub const timeout: Matcher = Matcher(MatcherKind::Class(Class::TIMEOUT));
    /// Matches failures of the server: HTTP 5xx except 501 and 505, and the like.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, Retrier, matchers::server_error};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
    ///     .retry_on([server_error]);
    /// let error = retrier.run_sync(|| Err::<(), _>("503 Service Unavailable")).unwrap_err();
    /// assert_eq!(error.attempts(), 2);
    /// ```
    pub const server_error: Matcher = Matcher(MatcherKind::Class(Class::SERVER_ERROR));
    /// Matches servers that ask for fewer calls: HTTP 429 and the like.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, Retrier, matchers::rate_limit};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
    ///     .retry_on([rate_limit]);
    /// let error = retrier.run_sync(|| Err::<(), _>("429 Too Many Requests")).unwrap_err();
    /// assert_eq!(error.attempts(), 2);
    /// ```
    pub const rate_limit: Matcher = Matcher(MatcherKind::Class(Class::RATE_LIMIT));
    /// Matches transactions that lost against others: serialization failures, deadlocks, locks
    /// that another session holds.
    ///
    /// The operation has to be the whole transaction, because a single statement of it fails
    /// again. A conflict never counts against a breaker.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, Retrier, matchers::conflict};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
    ///     .retry_on([conflict]);
    /// let error = retrier.run_sync(|| Err::<(), _>("deadlock detected")).unwrap_err();
    /// assert_eq!(error.attempts(), 2);
    /// ```
    pub const conflict: Matcher = Matcher(MatcherKind::Class(Class::CONFLICT));
    /// Matches what any of [`network`], [`timeout`], [`server_error`], [`rate_limit`] and
    /// [`conflict`] matches: every failure that another attempt may cure. Beside it, the others have
    /// no effect, so files and the attribute reject them.
    ///
    /// ```
    /// use std::time::Duration;
    /// use retry_runtime::{Policy, Retrier, matchers::transient};
    ///
    /// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
    ///     .retry_on([transient]);
    /// let busy = retrier.run_sync(|| Err::<(), _>("503 Service Unavailable")).unwrap_err();
    /// let gone = retrier.run_sync(|| Err::<(), _>("404 Not Found")).unwrap_err();
    /// assert_eq!((busy.attempts(), gone.attempts()), (2, 1));
    /// ```
    pub const transient: Matcher = Matcher(MatcherKind::Class(Class::TRANSIENT));
}

pub use named::{conflict, connect, network, rate_limit, server_error, timeout, transient};

/// Creates a matcher from a regular expression, applied to the text of an error and of each error
/// that it wraps.
///
/// ```
/// use std::time::Duration;
/// use retry_runtime::matchers::pattern;
/// use retry_runtime::{Policy, Retrier};
///
/// # fn main() -> Result<(), retry_runtime::matchers::InvalidPattern> {
/// let retrier = Retrier::new(Policy::new().attempts(2).initial_delay(Duration::ZERO))
///     .retry_on([pattern("(?i)not ready yet")?]);
/// let early = retrier.run_sync(|| Err::<(), _>("The report is not ready yet")).unwrap_err();
/// let missing = retrier.run_sync(|| Err::<(), _>("no such report")).unwrap_err();
/// assert_eq!((early.attempts(), missing.attempts()), (2, 1));
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// The text is not a valid regular expression; the error shows where.
#[cfg(feature = "pattern")]
pub fn pattern(text: &str) -> Result<Matcher, InvalidPattern> {
    match regex::Regex::new(text) {
        Ok(regex) => Ok(Matcher(MatcherKind::Pattern(regex))),
        Err(error) => {
            let error = error.to_string();
            // All lines but the last quote the pattern, which may be long.
            let cause = error.lines().next_back().filter(|_| text.len() > 200);
            Err(InvalidPattern(cause.unwrap_or(&error).to_owned()))
        }
    }
}

/// A text that is not a valid regular expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPattern(String);

impl fmt::Display for InvalidPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "this pattern is not a valid regular expression: {}", self.0)
    }
}

impl core::error::Error for InvalidPattern {}

/// A list of matchers: whatever iterates over [`Matcher`]s.
///
/// Sealed: it is implemented for every `IntoIterator<Item = Matcher>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of matchers",
    label = "expected a list, such as `[network, timeout]`",
    note = "the matchers are in the module `matchers` of the crate, and without quotation marks",
    note = "to retry the errors for which a closure returns true, use `.when(f)` instead, or \
            `.retry_when(f)` of a `Workflow`"
)]
pub trait Matchers {
    /// Collects them.
    #[doc(hidden)]
    fn into_list(self, _: Seal) -> std::sync::Arc<[Matcher]>;
}

#[diagnostic::do_not_recommend]
impl<L: IntoIterator<Item = Matcher>> Matchers for L {
    fn into_list(self, _: Seal) -> std::sync::Arc<[Matcher]> {
        self.into_iter().collect()
    }
}

impl Matcher {
    #[cfg_attr(
        not(feature = "pattern"),
        expect(unused_variables, reason = "only a pattern reads the text")
    )]
    pub(crate) fn matches(&self, class: Class, view: ErrorView<'_>) -> bool {
        match &self.0 {
            MatcherKind::Class(wanted) => class.intersects(*wanted),
            #[cfg(feature = "pattern")]
            MatcherKind::Pattern(regex) => view.any_text(&|text| regex.is_match(text)),
        }
    }
}

/// The form in a file: `network`, or `pattern: "…"`.
#[cfg(feature = "serde")]
mod file {
    use core::fmt;

    use retry_rules::matchers::of_status;
    use retry_rules::suggest::{shortened, unknown_word};
    use serde::de::{Error, MapAccess, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{Class, Matcher, MatcherKind, pattern};

    const WORDS: [(&str, Matcher); 7] = [
        ("network", super::network),
        ("connect", super::connect),
        ("timeout", super::timeout),
        ("server_error", super::server_error),
        ("rate_limit", super::rate_limit),
        ("conflict", super::conflict),
        ("transient", super::transient),
    ];

    impl Matcher {
        /// Returns whether a file names this matcher `word`.
        pub(crate) fn is(&self, word: &str) -> bool {
            self.kind().is_some_and(|(known, _)| known == word)
        }

        /// Returns the word and the class of the failures that it matches, if it is a kind of failure.
        pub(crate) fn kind(&self) -> Option<(&'static str, Class)> {
            match self.0 {
                MatcherKind::Class(class) => Some((word_of(class), class)),
                #[cfg(feature = "pattern")]
                MatcherKind::Pattern(_) => None,
            }
        }

        /// Returns the matchers of all kinds in this class.
        pub(crate) fn all_in(classes: Class) -> Vec<Self> {
            let all = WORDS.iter().map(|(_, matcher)| matcher);
            all.filter(|matcher| matcher.kind().is_some_and(|(_, class)| classes.contains(class)))
                .cloned()
                .collect()
        }
    }

    fn word_of(class: Class) -> &'static str {
        let is_it =
            |(_, known): &&(_, Matcher)| matches!(known.0, MatcherKind::Class(of) if of == class);
        WORDS.iter().find(is_it).map_or("transient", |(word, _)| word)
    }

    impl<'de> Deserialize<'de> for Matcher {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            deserializer.deserialize_any(MatcherVisitor)
        }
    }

    /// By hand, because people write statuses and texts here.
    struct MatcherVisitor;

    impl<'de> Visitor<'de> for MatcherVisitor {
        type Value = Matcher;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(
                "network, connect, timeout, server_error, rate_limit, conflict, transient, or \
                 `{ pattern: \"(?i)not ready\" }`",
            )
        }

        fn visit_str<E: Error>(self, word: &str) -> Result<Matcher, E> {
            if let Some((_, known)) = WORDS.iter().find(|(known, _)| *known == word) {
                return Ok(known.clone());
            }
            let word = &*shortened(word);
            let of_many = word.to_ascii_lowercase().strip_suffix("xx").map(str::to_owned);
            match word.parse() {
                Ok(status) => self.visit_u64(status),
                Err(_) if of_many.as_deref() == Some("5") => self.visit_u64(500),
                Err(_) if of_many.is_some() => self.visit_u64(0),
                Err(_) if word.contains(' ') => Err(E::custom(format!(
                    "to match the text of a failure, write `{{ pattern: {word:?} }}`"
                ))),
                Err(_) => {
                    let words = WORDS.iter().map(|(word, _)| *word).chain(["pattern"]);
                    Err(unknown_word(word, &words.collect::<Vec<_>>(), &self))
                }
            }
        }

        fn visit_i64<E: Error>(self, status: i64) -> Result<Matcher, E> {
            self.visit_u64(u64::try_from(status).unwrap_or_default())
        }

        fn visit_u64<E: Error>(self, status: u64) -> Result<Matcher, E> {
            let status = u16::try_from(status).unwrap_or_default();
            Err(E::custom(match of_status(status) {
                Some(word) => format!("a status is not a matcher: write `{word}`"),
                None if (400..600).contains(&status) => {
                    format!("a status is not a matcher: write `{{ pattern: \"{status}\" }}`")
                }
                None => "a status is not a matcher: list kinds of failure, such as `transient`"
                    .to_owned(),
            }))
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Matcher, A::Error> {
            let matcher = match map.next_key::<String>()? {
                Some(key) if key == "exit_code" => {
                    return Err(A::Error::custom(
                        "`exit_code` is for steps of workflow files: a call has no exit code",
                    ));
                }
                Some(key) if key == "pattern" => {
                    pattern(&map.next_value::<String>()?).map_err(A::Error::custom)?
                }
                // `network: null`, which some writers produce for a bare word.
                Some(key) => {
                    let matcher = MatcherVisitor.visit_str(&key)?;
                    match map.next_value::<Option<Matcher>>()? {
                        None => matcher,
                        Some(_) => return Err(A::Error::custom("this matcher takes no value")),
                    }
                }
                None => return Err(A::Error::invalid_length(0, &self)),
            };
            match map.next_key::<String>()? {
                None => Ok(matcher),
                Some(_) => Err(A::Error::custom("each matcher is an entry of its own")),
            }
        }
    }

    impl Serialize for Matcher {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match &self.0 {
                MatcherKind::Pattern(regex) => {
                    serializer.serialize_newtype_variant("Matcher", 0, "pattern", regex.as_str())
                }
                MatcherKind::Class(class) => serializer.serialize_str(word_of(*class)),
            }
        }
    }
}

#[cfg(all(test, feature = "serde"))]
mod tests {
    use retry_rules::matchers::of_status;

    use super::*;

    #[test]
    fn the_matcher_that_messages_suggest_matches_the_class_of_the_status() {
        for code in 100..=999 {
            let class = crate::classify::status(code);
            let suggested: Option<Matcher> = of_status(code)
                .map(|word| serde_json::from_value(word.into()).expect("a matcher of files"));
            let is_matched = suggested.map(|Matcher(kind)| match kind {
                MatcherKind::Class(wanted) => class.intersects(wanted),
                #[cfg(feature = "pattern")]
                MatcherKind::Pattern(_) => false,
            });
            assert_eq!(is_matched, (!class.is_empty()).then_some(true), "{code}");
        }
    }
}
