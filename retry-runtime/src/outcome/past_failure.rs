//! [`PastFailure`]: one failed attempt of a call that was given up.

use core::fmt::{self, Write};
use core::time::Duration;

use crate::base::class::Class;

/// The longest text of a failure, in bytes.
const LONGEST_TEXT: usize = 1024;

/// A failed attempt of a call: one entry of [`RetryError::history`](crate::RetryError::history).
///
/// It holds the text of the error instead of the error, so it is `Clone`, `Send` and `'static`
/// whatever the type of the error is.
///
/// ```
/// use std::time::Duration;
/// use retry_runtime::{Class, Policy, Retrier};
///
/// let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(1));
/// let retrier = Retrier::new(policy).history(5);
/// let error = retrier.run_sync(|| Err::<(), _>("connection reset")).unwrap_err();
/// let [first, last] = error.history() else { panic!("both attempts are kept") };
/// assert_eq!((first.number(), first.text()), (1, "connection reset"));
/// assert_eq!((first.class(), first.wait()), (Class::NETWORK, Some(Duration::from_millis(1))));
/// assert_eq!((last.number(), last.wait()), (2, None));
/// assert_eq!(last.to_string(), "attempt 2: connection reset");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastFailure {
    number: u32,
    text: Box<str>,
    class: Class,
    wait: Option<Duration>,
}

impl PastFailure {
    /// Creates the failure of attempt `number`, with the beginning of the text of `error`.
    pub(crate) fn new(
        number: u32,
        error: &dyn fmt::Display,
        class: Class,
        wait: Option<Duration>,
    ) -> Self {
        let mut beginning = Beginning::default();
        // Ignored: if `Display` fails, the text is what it wrote before.
        let _ = write!(beginning, "{error}");
        Self { number, text: beginning.text.into(), class, wait }
    }

    retry_rules::accessors! {
        /// Returns the number of the attempt; the first is 1. A hedge has the number of the attempt
        /// that it joined.
        ///
        /// ```
        /// # use retry_runtime::{Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(1)).history(5);
        /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
        /// assert_eq!(error.history()[0].number(), 1);
        /// ```
        pub fn number(&self) -> u32 { number }

        /// Returns the text of the error with the texts of its sources, as events show it: its
        /// first 1,024 bytes at most.
        ///
        /// ```
        /// # use retry_runtime::{Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(1)).history(5);
        /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
        /// assert_eq!(error.history()[0].text(), "busy");
        /// ```
        pub fn text(&self) -> &str { &text }

        /// Returns the class of the error, as `retry_on` matches it; empty for a value that was
        /// retried.
        ///
        /// ```
        /// # use retry_runtime::{Class, Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(1)).history(5);
        /// let error = retrier.run_sync(|| Err::<(), _>("operation timed out")).unwrap_err();
        /// assert_eq!(error.history()[0].class(), Class::TIMEOUT);
        /// ```
        pub fn class(&self) -> Class { class }

        /// Returns the wait that followed; [`None`] after the last failure, and after a hedged
        /// attempt that failed while another one ran.
        ///
        /// ```
        /// # use retry_runtime::{Policy, Retrier};
        /// let retrier = Retrier::new(Policy::new().attempts(1)).history(5);
        /// let error = retrier.run_sync(|| Err::<(), _>("busy")).unwrap_err();
        /// assert_eq!(error.history()[0].wait(), None);
        /// ```
        pub fn wait(&self) -> Option<Duration> { wait }
    }
}

/// Displayed as `attempt 2: connection reset`.
impl fmt::Display for PastFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { number, text, .. } = self;
        write!(f, "attempt {number}: {text}")
    }
}

/// The beginning of a text that is being written. The rest is accepted and dropped, because a
/// `Display` may panic if writing fails.
#[derive(Default)]
struct Beginning {
    text: String,
    is_cut: bool,
}

impl Write for Beginning {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.is_cut {
            return Ok(());
        }
        let room = LONGEST_TEXT - self.text.len();
        let end = if more.len() <= room {
            more.len()
        } else {
            self.is_cut = true;
            (0..=room).rev().find(|&at| more.is_char_boundary(at)).unwrap_or(0)
        };
        self.text.push_str(&more[..end]);
        Ok(())
    }
}
