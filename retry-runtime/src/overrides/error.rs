//! [`OverridesError`]: what is wrong with overrides.

use core::fmt;

use super::layer::Unsuitable;

/// The reasons why [`Overrides`](crate::Overrides) were not created: every mistake, one per line,
/// with its place and what to write instead.
///
/// ```
/// use retry_runtime::Overrides;
///
/// let error = Overrides::from_pairs([("*", "attempts", "two"), ("*", "jiter", "full")]).unwrap_err();
/// assert_eq!(error.to_string().lines().count(), 2);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverridesError(Vec<String>);

impl OverridesError {
    /// Creates the error from at least one mistake.
    pub(super) fn of(mistakes: Vec<String>) -> Self {
        Self(mistakes)
    }

    pub(super) fn of_functions(unsuitable: &[Unsuitable]) -> Self {
        Self(unsuitable.iter().map(Unsuitable::to_string).collect())
    }
}

impl fmt::Display for OverridesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

impl core::error::Error for OverridesError {}
