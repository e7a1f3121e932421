//! How many dead letters are re-driven at once, and how fast.

use super::rate::Rate;

/// How many items are re-driven at once, and how far apart they become due.
///
/// ```
/// use retry_workflow::Redrive;
///
/// let gently = Redrive::new().max(1_000).rate("10/s".parse().unwrap());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "options do nothing until dead letters are re-driven with them"]
pub struct Redrive {
    pub(super) max: Option<u64>,
    pub(super) rate: Option<Rate>,
}

impl Redrive {
    /// Creates options that re-drive everything that the filter selects, all due at once.
    ///
    /// ```
    /// # use retry_workflow::Redrive;
    /// assert_eq!(Redrive::new(), Redrive::default());
    /// ```
    pub const fn new() -> Self {
        Self { max: None, rate: None }
    }

    /// Limits how many items are re-driven. Default: no limit.
    ///
    /// ```
    /// # use retry_workflow::Redrive;
    /// let a_few = Redrive::new().max(100);
    /// # let _ = a_few;
    /// ```
    pub const fn max(mut self, items: u64) -> Self {
        self.max = Some(items);
        self
    }

    /// Limits how fast they become due. Default: all are due at once.
    ///
    /// ```
    /// # use retry_workflow::Redrive;
    /// # fn main() -> Result<(), retry_workflow::InvalidRate> {
    /// let gently = Redrive::new().rate("600/m".parse()?);
    /// # let _ = gently;
    /// # Ok(())
    /// # }
    /// ```
    pub const fn rate(mut self, rate: Rate) -> Self {
        self.rate = Some(rate);
        self
    }
}
