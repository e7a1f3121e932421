//! [`Failure`]: what went wrong with an item, for people to read and for grouping.

use std::fmt;

use retry_runtime::Class;
use retry_runtime::durable::Description;
use retry_runtime::retrier::Fault;
use serde::{Deserialize, Serialize};

use crate::item::output::Output;
use crate::item::signature::Signature;

/// A failure of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// The kind of failure: one of [`CLASSES`](Self::CLASSES), several of the transient ones joined
    /// with `+`, or what a handler has chosen.
    pub class: String,
    /// The error's message.
    pub message: String,
    /// The messages of the errors inside it, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub chain: Vec<String>,
    /// The message and its cause without the body of a response, with variable parts folded:
    /// similar failures have the same signature.
    pub signature: Signature,
    /// For a `dependency`: the tasks whose failure caused this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub culprits: Vec<String>,
    /// The number of times in a row an attempt was
    /// [postponed](crate::store::AttemptOutcome::Postponed) for it, in the row of the history that
    /// stands for all of them; otherwise 1.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub times: u32,
    /// The output of the attempt before it failed. Only the history keeps it, with the failure's
    /// [`AttemptRecord`](crate::store::AttemptRecord); dead letters, checkpoints and skipped items
    /// do not repeat it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<Output>>,
}

const fn once() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it so")]
const fn is_once(times: &u32) -> bool {
    *times == 1
}

/// Longer messages are shortened, because they are for people to read.
const LONGEST_MESSAGE: usize = 16 * 1024;
/// The number of errors inside an error that are kept.
const LONGEST_CHAIN: usize = 16;

/// The class of items that had not begun in time.
pub(crate) const LATE: &str = "late";
/// The class of items that a user has cancelled, alone or with their job.
pub(crate) const CANCELLED: &str = "cancelled";

impl Failure {
    /// The classes that failures get unless a handler chooses another: the transient ones; `panic`;
    /// `lost`, whose worker has disappeared; `payload`, which could not be read; `dependency`,
    /// which needs a task that failed; `cancelled`; `late`, which had not begun in time;
    /// `postponed`, which was not ready for too long; and `other`.
    ///
    /// ```
    /// use retry_workflow::Failure;
    ///
    /// assert!(Failure::CLASSES.contains(&"timeout"));
    /// ```
    pub const CLASSES: [&str; 13] = {
        let mut classes = ["panic"; 13];
        let own = ["panic", "lost", "payload", "dependency", CANCELLED, LATE, "postponed", "other"];
        let mut next = 0;
        while next < classes.len() {
            let transient = Class::NAMES.len();
            classes[next] =
                if next < transient { Class::NAMES[next].1 } else { own[next - transient] };
            next += 1;
        }
        classes
    };

    /// Creates a failure with this class and message.
    ///
    /// ```
    /// use retry_workflow::Failure;
    ///
    /// let failure = Failure::new("other", "order 4711 has no customer");
    /// assert_eq!(failure.signature.as_str(), "order <n> has no customer");
    /// ```
    pub fn new(class: impl Into<String>, message: impl Into<String>) -> Self {
        let message = shortened(message.into());
        let signature = Signature::new(&message);
        Self {
            class: class.into(),
            message,
            chain: Vec::new(),
            signature,
            culprits: Vec::new(),
            times: 1,
            output: None,
        }
    }

    /// Describes an error: its class, its message, and what the errors inside it say.
    ///
    /// ```
    /// use retry_workflow::Failure;
    ///
    /// let failure = Failure::from_error(&std::io::Error::from(std::io::ErrorKind::TimedOut));
    /// assert_eq!((failure.class.as_str(), failure.message.as_str()), ("timeout", "timed out"));
    /// ```
    pub fn from_error<Kind>(error: &impl Fault<Kind>) -> Self {
        Self::described(Description::of(error))
    }

    /// The same failure without what the attempt wrote.
    pub(crate) fn without_output(self) -> Self {
        Self { output: None, ..self }
    }

    /// Returns whether its class is one of these, or several that include one of these.
    pub(crate) fn is_of(&self, classes: Class) -> bool {
        let mut own = self.class.split('+');
        !classes.is_empty() && own.any(|own| names(classes).any(|name| name == own))
    }

    /// Creates a failure from a description.
    pub(crate) fn described(description: Description) -> Self {
        let Description { class, texts, texts_without_bodies } = description;
        let mut texts = texts.into_iter();
        let message = shortened(texts.next().unwrap_or_default());
        // A message that contains its causes is not followed by them.
        let is_new = |inner: &String| !message.contains(inner.as_str());
        let chain = texts.take(LONGEST_CHAIN).map(shortened).filter(is_new).collect();
        Self {
            class: class_name(class),
            message,
            chain,
            signature: signature_of(texts_without_bodies),
            culprits: Vec::new(),
            times: 1,
            output: None,
        }
    }
}

/// The signature of an error and of those inside it, outermost first.
fn signature_of(texts: Vec<String>) -> Signature {
    let mut texts = texts.into_iter();
    let message = shortened(texts.next().unwrap_or_default());
    // The message around a cause is often the same for all: `.context("importing")`.
    match texts.take(LONGEST_CHAIN).next_back().map(shortened) {
        Some(cause) if !cause.contains('\n') && !message.contains(cause.as_str()) => {
            Signature::new(&format!("{message}: {cause}"))
        }
        _ => Signature::new(&message),
    }
}

/// The message, and the messages inside it, except those that it repeats.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for inner in &self.chain {
            if !self.message.contains(inner.as_str()) {
                write!(f, ": {inner}")?;
            }
        }
        Ok(())
    }
}

/// The name of a class in a history: `network`, `timeout+server_error`, `other`.
pub(crate) fn class_name(class: Class) -> String {
    if class.is_empty() {
        return "other".to_owned();
    }
    names(class).collect::<Vec<_>>().join("+")
}

/// The names of the classes in a set.
fn names(class: Class) -> impl Iterator<Item = &'static str> {
    Class::NAMES.into_iter().filter(move |(one, _)| class.contains(*one)).map(|(_, name)| name)
}

/// The message itself, or its beginning and its end if it is very long.
fn shortened(mut message: String) -> String {
    if message.len() <= LONGEST_MESSAGE {
        return message;
    }
    let boundary = |at: usize| (0..=at).rev().find(|&at| message.is_char_boundary(at)).unwrap_or(0);
    let head = boundary(LONGEST_MESSAGE / 2);
    let tail = boundary(message.len() - LONGEST_MESSAGE / 2);
    message.replace_range(head..tail, " … ");
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(texts: &[&str]) -> Failure {
        let texts: Vec<String> = texts.iter().map(|&text| text.to_owned()).collect();
        let texts_without_bodies = texts.clone();
        Failure::described(Description { class: Class::empty(), texts, texts_without_bodies })
    }

    #[test]
    fn classes_have_the_names_of_the_matchers() {
        assert_eq!(class_name(Class::empty()), "other");
        assert_eq!(class_name(Class::SERVER_ERROR | Class::TIMEOUT), "timeout+server_error");
    }

    #[test]
    fn a_long_message_keeps_its_beginning_and_its_end() {
        let long = format!("begin {} end", "ä".repeat(1_000_000));
        let failure = Failure::new("other", long);
        assert!(failure.message.len() <= LONGEST_MESSAGE + 8);
        assert!(failure.message.starts_with("begin") && failure.message.ends_with("end"));
    }

    #[test]
    fn causes_with_one_context_are_kept_apart() {
        let signature = |cause: &str| described(&["importing customer 7", cause]).signature;
        assert_eq!(signature("disk full").as_str(), "importing customer <n>: disk full");
        assert_ne!(signature("disk full"), signature("no tax rate"));
    }

    #[test]
    fn a_repeated_source_is_printed_once() {
        let failure = described(&["could not save: disk full", "disk full"]);
        assert_eq!(failure.to_string(), "could not save: disk full");
        assert_eq!(failure.chain, [""; 0]);

        let failure = described(&["could not save", "disk full"]);
        assert_eq!(failure.chain, ["disk full"]);
    }
}
