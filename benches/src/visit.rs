//! Lets a measurement visit contenders whose futures are of different types.

use std::future::Future;
use std::io;

/// Visits the contenders one by one.
pub trait Visit {
    /// Visits a contender with this name, which is called with `call`.
    fn visit<F>(&mut self, name: &'static str, call: impl Fn(u64) -> F + Copy + 'static)
    where
        F: Future<Output = io::Result<u64>> + 'static;
}
