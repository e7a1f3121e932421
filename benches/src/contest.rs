//! Who is compared with whom, and what a comparison says.

use std::collections::BTreeMap;

/// What was measured of each contender, by name.
pub type Figures = BTreeMap<String, f64>;

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Of one call.
    Nanoseconds,
    /// Of one run of cargo.
    Seconds,
    /// Of one call.
    Instructions,
    /// Of one call.
    Allocations,
    /// Of one future or one call.
    Bytes,
}

impl Unit {
    /// A figure with its unit.
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Nanoseconds => format!("{value:.1} ns"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Instructions | Self::Allocations => format!("{value:.0}"),
            Self::Bytes => format!("{value:.0} bytes"),
        }
    }

    /// How much more than another it is.
    pub fn show_difference(self, value: f64) -> String {
        let sign = if value < 0.0 { "−" } else { "+" };
        format!("{sign}{}", self.show(value.abs()))
    }

    /// The ratio up to which two figures are the same: times are never twice the same.
    pub const fn tolerance(self) -> f64 {
        match self {
            Self::Nanoseconds | Self::Seconds => 1.03,
            Self::Instructions | Self::Allocations | Self::Bytes => 1.0,
        }
    }
}

/// Someone of ours, and whom they are compared with.
#[derive(Clone, Copy, Debug)]
pub struct Contest<'a> {
    /// Ours.
    pub ours: &'a str,
    /// Does less, and is there to be seen: nobody can be ahead of it.
    pub floor: Option<&'a str>,
    /// Those who do the same.
    pub rivals: &'a [&'a str],
}
