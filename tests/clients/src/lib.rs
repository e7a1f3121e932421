//! Real clients against real servers, and whether the library judges their failures as an
//! experienced engineer would.
//!
//! A file of [`clients`] provokes the failures of one client; [`judge`] hands each to functions
//! with the real attribute, bare and wrapped in the usual ways; [`report`] counts.

pub mod clients;
pub mod judge;
pub mod page;
pub mod report;
pub mod servers;
pub mod suite;

/// Its code needs crates of which the library's own tests stay free.
#[cfg(doctest)]
#[doc = include_str!("../../../retry-runtime/src/guide/beside.md")]
pub struct BesideOtherCrates;

/// Provokes and judges everything.
///
/// # Panics
/// A server does not start, or a failure cannot be provoked: then the figures would mean nothing.
pub async fn run() -> report::Report {
    // Two clients have no provider of their own. It fails only where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut suite = suite::Suite::default();
    clients::all(&mut suite).await;
    suite.report
}
