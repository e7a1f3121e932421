//! Invalid settings, for code that reads them from a file or builds them at runtime.

use core::error::Error;
use core::fmt;

use super::field::Fields;
use super::table::Rules;
use crate::breaker::BreakerConfig;
use crate::policy::Policy;
use crate::quota::QuotaConfig;

/// Settings that break rules, with all of the broken rules, not only the first.
///
/// ```
/// use retry_rules::{Field, Policy};
///
/// let error = Policy::new().attempts(0).validate().unwrap_err();
/// assert!(error.to_string().contains("at least 1"));
/// assert!(error.fields().contains(Field::Attempts));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Invalid {
    broken: Rules,
}

impl Invalid {
    pub(super) const fn unless_empty(broken: Rules) -> Result<(), Self> {
        if broken.is_empty() { Ok(()) } else { Err(Self { broken }) }
    }

    /// Returns the rules that are broken.
    pub const fn broken(&self) -> Rules {
        self.broken
    }

    /// Returns the fields that the broken rules read.
    pub fn fields(&self) -> Fields {
        let fields = self.broken.iter().flat_map(super::table::Rule::fields);
        fields.fold(Fields::NONE, |fields, field| fields.with(*field))
    }
}

/// All messages, as worded for the attribute.
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

/// Shows the same messages, for `unwrap` and `expect`.
impl fmt::Debug for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Invalid({self})")
    }
}

impl Error for Invalid {}

impl Policy {
    /// Checks that this policy obeys all rules; see [`Rule`](crate::Rule) for the list.
    ///
    /// ```
    /// # use retry_rules::Policy;
    /// let invalid = Policy::new().attempts(0).validate().unwrap_err();
    /// assert!(invalid.to_string().contains("at least 1"));
    /// ```
    ///
    /// # Errors
    /// The rules that it breaks.
    pub const fn validate(&self) -> Result<(), Invalid> {
        self.validate_written(Fields::NONE)
    }

    /// Checks a policy of which only the fields `written` were set explicitly: also finds those
    /// that have no effect.
    ///
    /// # Errors
    /// The rules that it breaks.
    pub const fn validate_written(&self, written: Fields) -> Result<(), Invalid> {
        Invalid::unless_empty(Rules::broken_by_policy(self, written))
    }
}

impl BreakerConfig {
    /// Checks that these settings obey all rules; see [`Rule`](crate::Rule) for the list.
    ///
    /// ```
    /// # use retry_rules::BreakerConfig;
    /// assert!(BreakerConfig::new().failure_rate(1.5).validate().is_err());
    /// ```
    ///
    /// # Errors
    /// The rules that they break.
    pub const fn validate(&self) -> Result<(), Invalid> {
        self.validate_written(Fields::NONE)
    }

    /// Checks settings of which only the fields `written` were set explicitly: also finds those
    /// that have no effect.
    ///
    /// # Errors
    /// The rules that they break.
    pub const fn validate_written(&self, written: Fields) -> Result<(), Invalid> {
        Invalid::unless_empty(Rules::broken_by_breaker(self, written))
    }
}

impl QuotaConfig {
    /// Checks that these settings obey all rules; see [`Rule`](crate::Rule) for the list.
    ///
    /// ```
    /// # use retry_rules::QuotaConfig;
    /// assert!(QuotaConfig::new().retry_cost(0).validate().is_err());
    /// ```
    ///
    /// # Errors
    /// The rules that they break.
    pub const fn validate(&self) -> Result<(), Invalid> {
        Invalid::unless_empty(Rules::broken_by_quota(self))
    }
}
