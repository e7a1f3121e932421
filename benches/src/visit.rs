//! How a measurement sees contenders whose futures are of different types.

use std::future::Future;
use std::io;

/// Looks at one contender after the other.
pub trait Visit {
    /// The contender of this name is called by `call`.
    fn visit<F>(&mut self, name: &'static str, call: impl Fn(u64) -> F + Copy + 'static)
    where
        F: Future<Output = io::Result<u64>> + 'static;
}
