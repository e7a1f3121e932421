//! The contenders that are compared, and the format of figures.

use std::collections::BTreeMap;

/// The measured figure of each contender, by name.
pub type Figures = BTreeMap<String, f64>;

/// The unit of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Per call.
    Nanoseconds,
    /// Per run of cargo.
    Seconds,
    /// Per call.
    Instructions,
    /// Per call.
    Allocations,
    /// Per future or per call.
    Bytes,
}

impl Unit {
    /// Formats a figure with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => format!("{value:.1} ns"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Instructions | Self::Allocations => format!("{value:.0}"),
            Self::Bytes => format!("{value:.0} bytes"),
        }
    }

    /// Formats the difference between two figures.
    pub fn show_difference(self, value: f64) -> String {
        let sign = if value < 0.0 { "−" } else { "+" };
        format!("{sign}{}", self.show(value.abs()))
    }

    /// The ratio up to which two figures count as equal, because times always vary.
    pub const fn tolerance(self) -> f64 {
        match self {
            Self::Nanoseconds | Self::Seconds => 1.03,
            Self::Instructions | Self::Allocations | Self::Bytes => 1.0,
        }
    }
}

/// One of our contenders, and those that it is compared with.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// Our contender.
    pub ours: &'a str,
    /// Does less and is shown as the lower bound: no contender can be ahead of it.
    pub floor: Option<&'a str>,
    /// Those that do the same.
    pub rivals: &'a [&'a str],
}
