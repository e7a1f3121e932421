//! What is wrong with settings, for those who read them from a file or build
//! them at run time.

use core::error::Error;
use core::fmt;

use super::{Rule, Rules};
use crate::policy::Policy;
use crate::policy::backoff::Backoff;
use crate::policy::shown::Shown;

/// Settings that break rules; all of them, not only the first.
///
/// ```
/// use retry_rules::Policy;
///
/// let error = Policy::new().attempts(0).validate().unwrap_err();
/// assert!(error.to_string().contains("at least 1"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalid {
    broken: Rules,
}

impl Invalid {
    pub(crate) const fn new(broken: Rules) -> Self {
        Self { broken }
    }

    /// The rules that are broken.
    pub const fn broken(&self) -> Rules {
        self.broken
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, rule) in self.broken.iter().enumerate() {
            if i > 0 {
                f.write_str("; ")?;
            }
            rule.fmt(f)?;
        }
        Ok(())
    }
}

impl Error for Invalid {}

/// A rule that a policy breaks, with the numbers behind the complaint.
struct Explained<'a> {
    rule: Rule,
    policy: &'a Policy,
}

impl Rule {
    /// The complaint with the numbers of `policy` behind it, for some may be
    /// defaults that nobody wrote.
    ///
    /// ```
    /// use core::time::Duration;
    /// use retry_rules::{Policy, Rule};
    ///
    /// let policy = Policy::new().initial_delay(Duration::from_secs(60));
    /// let complaint = Rule::InitialAboveMax.explain(&policy).to_string();
    /// assert!(complaint.contains("max_delay 30s"));
    /// ```
    pub fn explain(self, policy: &Policy) -> impl fmt::Display {
        Explained { rule: self, policy }
    }
}

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Policy { initial_delay, max_delay, budget, deadline, timeout, attempts, .. } =
            *self.policy;
        let first = self.policy.wait_interval(1, None).0;
        self.rule.fmt(f)?;
        match self.rule {
            Rule::InitialAboveMax => {
                write!(
                    f,
                    " (initial_delay {}, max_delay {})",
                    Shown(initial_delay),
                    Shown(max_delay)
                )
            }
            Rule::BudgetBelowFirstWait => {
                write!(
                    f,
                    " (first wait {}, budget {})",
                    Shown(first),
                    Shown(budget.unwrap_or_default())
                )
            }
            Rule::DeadlineBelowFirstWait => {
                write!(
                    f,
                    " (first wait {}, deadline {})",
                    Shown(first),
                    Shown(deadline.unwrap_or_default())
                )
            }
            Rule::TimeoutAboveDeadline => write!(
                f,
                " (timeout {}, deadline {})",
                Shown(timeout.unwrap_or_default()),
                Shown(deadline.unwrap_or_default())
            ),
            Rule::CustomDelaysUnused => match self.policy.backoff {
                Backoff::Custom(delays) => {
                    write!(f, " ({} delays, {attempts} attempts)", delays.len())
                }
                _ => Ok(()),
            },
            _ => Ok(()),
        }
    }
}
