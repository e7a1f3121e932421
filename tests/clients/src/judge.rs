//! The verdict of the real attribute on an error: the first attempt returns it, the second
//! succeeds, so that success means that it was retried.

use std::error::Error;

use retry_runtime::{classify, testing};

use crate::report::{Verdict, Wrapping};

/// The matchers that are asked.
#[derive(Clone, Copy)]
pub enum Words {
    /// The decision of an experienced engineer.
    Transient,
    Conflict,
}

/// Words that are usual when an error is passed on; none of them may overrule the cause.
pub const CONTEXTS: [&str; 14] = [
    "could not connect to the database",
    "request failed",
    "failed to fetch user 503",
    "while waiting for the lock",
    "the upstream service did not answer",
    "loading the configuration",
    "the connection to the broker failed",
    "sending the message",
    "retrying the payment of order 429",
    "timeout while calling the inventory",
    "server error",
    "saving the invoice",
    "network",
    "rate limit service",
];

/// The type of a client's errors, with the two enums that people put around it.
///
/// [`judged!`](crate::judged) implements it, because the attribute wants concrete types.
pub trait Judged: Error + Send + Sync + Sized + 'static {
    type From: Error + From<Self> + 'static;
    type Transparent: Error + From<Self> + 'static;

    fn plain(error: Self, words: Words) -> bool;
    fn from(error: Self::From, words: Words) -> bool;
    fn transparent(error: Self::Transparent, words: Words) -> bool;
}

/// Defines a function that says whether the library retries an error of a type.
#[macro_export]
macro_rules! retried {
    ($name:ident, $Error:ty) => {
        fn $name(error: $Error, words: $crate::judge::Words) -> bool {
            #[::retry_runtime::retry(attempts = 2, backoff = fixed, initial_delay = "0s", retry_on = [transient], name = "judged")]
            fn transient(first: &::std::cell::Cell<Option<$Error>>) -> Result<(), $Error> {
                first.take().map_or(Ok(()), Err)
            }
            #[::retry_runtime::retry(attempts = 2, backoff = fixed, initial_delay = "0s", retry_on = [conflict], name = "judged")]
            fn conflict(first: &::std::cell::Cell<Option<$Error>>) -> Result<(), $Error> {
                first.take().map_or(Ok(()), Err)
            }
            let first = ::std::cell::Cell::new(Some(error));
            match words {
                $crate::judge::Words::Transient => transient(&first).is_ok(),
                $crate::judge::Words::Conflict => conflict(&first).is_ok(),
            }
        }
    };
}

/// Implements [`Judged`](crate::judge::Judged) for the type of a client's errors.
#[macro_export]
macro_rules! judged {
    ($Error:ty) => {
        const _: () = {
            #[derive(Debug, ::thiserror::Error)]
            #[allow(unreachable_pub)]
            pub enum From {
                #[error("fetching failed")]
                Client(#[from] $Error),
            }

            #[derive(Debug, ::thiserror::Error, ::retry_runtime::Classify)]
            #[allow(unreachable_pub)]
            pub enum Transparent {
                #[error(transparent)]
                Client(#[from] $Error),
            }

            $crate::retried!(of_plain, $Error);
            $crate::retried!(of_from, From);
            $crate::retried!(of_transparent, Transparent);

            impl $crate::judge::Judged for $Error {
                type From = From;
                type Transparent = Transparent;

                fn plain(error: Self, words: $crate::judge::Words) -> bool {
                    of_plain(error, words)
                }

                fn from(error: Self::From, words: $crate::judge::Words) -> bool {
                    of_from(error, words)
                }

                fn transparent(error: Self::Transparent, words: $crate::judge::Words) -> bool {
                    of_transparent(error, words)
                }
            }
        };
    };
}

type Boxed = Box<dyn Error + Send + Sync>;

retried!(of_anyhow, anyhow::Error);
retried!(of_boxed, Boxed);
retried!(of_string, String);

/// The texts of an error and of what it wraps, outermost first.
pub fn texts(error: &(dyn Error + 'static)) -> Vec<String> {
    std::iter::successors(Some(error), |&link| link.source()).map(ToString::to_string).collect()
}

/// The library's verdict on an error in a wrapping.
pub fn judge<E: Judged>(
    error: E,
    wrapping: Wrapping,
    context: &'static str,
    words: Words,
) -> Verdict {
    let seen = |error: &(dyn Error + 'static)| (texts(error), classify::error(error));
    // Waits are recorded instead of slept.
    let retries = testing::start();
    retries.skip_waits();
    let ((texts, class), matched) = match wrapping {
        Wrapping::Plain => (seen(&error), E::plain(error, words)),
        Wrapping::Anyhow => {
            let error = anyhow::Error::new(error);
            (seen(error.as_ref()), of_anyhow(error, words))
        }
        Wrapping::Context => {
            let error = anyhow::Error::new(error).context(context);
            (seen(error.as_ref()), of_anyhow(error, words))
        }
        Wrapping::Boxed => {
            let error: Boxed = Box::new(error);
            (seen(error.as_ref()), of_boxed(error, words))
        }
        Wrapping::From => {
            let error = E::From::from(error);
            (seen(&error), E::from(error, words))
        }
        Wrapping::Transparent => {
            let error = E::Transparent::from(error);
            (seen(&error), E::transparent(error, words))
        }
        Wrapping::String => {
            let text = error.to_string();
            ((vec![text.clone()], classify::text(&text)), of_string(text, words))
        }
    };
    let wait = retries.waits("judged").first().copied().unwrap_or_default();
    Verdict { wrapping, matched, wait, class: format!("{class:?}"), texts }
}
