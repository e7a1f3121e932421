//! Circuit breakers that many processes share.
//!
//! A breaker in a hundred processes is a hundred breakers: each has to fail on its own before it
//! opens, and all of them probe. A fleet turns them into one:
//!
//! ```
//! use core::time::Duration;
//! use std::io;
//!
//! use retry_fleet::{Fleet, HubError, MemoryHub};
//! use retry_runtime::{BreakerConfig, CircuitBreaker, retry};
//!
//! static DB: CircuitBreaker =
//!     CircuitBreaker::new("db", BreakerConfig::new().timeout(Duration::from_secs(10)));
//!
//! #[retry(breaker = DB, retry_on = [network, timeout])]
//! async fn charge(order: u64) -> io::Result<u64> {
//!     Ok(order)
//! }
//!
//! # #[tokio::main(flavor = "current_thread", start_paused = true)]
//! # async fn main() -> Result<(), HubError> {
//! # let hub = MemoryHub::new();
//! // Once, where the process begins:
//! let fleet = Fleet::join(hub, "billing").await?;
//! fleet.share(&DB).opens_at(0.5); // open everywhere once half of its callers have opened it
//!
//! // Calls are as before: none ever waits for the hub.
//! assert_eq!(charge(7).await.unwrap(), 7);
//!
//! // Where the process ends:
//! fleet.leave().await;
//! # Ok(())
//! # }
//! ```
//!
//! Members meet in a [`Hub`]: `PostgresHub` in the crate `retry-workflow-postgres`, [`MemoryHub`]
//! for tests, or one of your own. The hub keeps what they report; each member decides by the same
//! rules, in the background, on its own breaker.
//!
//! # Members
//!
//! Each process has its own identity, sends a heartbeat every 3 s, and queries the hub for changes
//! at least every 400 ms, once for all that it shares. A member that is silent for 10 s no longer
//! counts. Members that start together join within 400 ms, each at a random moment.
//! [`Fleet::members`] lists them; [`FleetEvent`]s, `tracing` (target `retry`) and the feature
//! `metrics` report what happens.
//!
//! # Breakers
//!
//! Each member's breaker decides by its own settings, as without a fleet. In addition:
//!
//! - It *opens everywhere* once the share `opens_at` of the members that called it in the last
//!   10 s have opened it themselves: at least two, unless there is only one. A bad node therefore
//!   harms no other member. A rejected call counts as a call, and a member that has opened the
//!   breaker counts as a caller.
//! - It stays open everywhere for the breaker's own open time (`timeout`, `timeout_growth`). Then
//!   *one member at a time probes*: one that has rejected calls in the last second requests
//!   permission, and its next calls are the probes, one after another, until
//!   `success_threshold` of them have succeeded or one has failed. A permission that is not used
//!   within 2 s goes to another member.
//! - The verdict *closes it for all* within a second, each at a random moment; or opens it
//!   everywhere once more.
//! - Being open everywhere is a *lease with an end*: if no member has probed by 10 s after the
//!   open time, each member decides alone. A member that is cut off decides alone as well.
//!
//! A state that a person has forced on one member (`force_open`, `force_closed`) stays, and does
//! not open the breaker elsewhere.
//!
//! # Quotas
//!
//! Quotas need no fleet. A quota of 500 tokens in a hundred processes is a quota of 50,000, but a
//! share of the calls bounds any number of processes: with
//! [`share(0.2)`](retry_runtime::QuotaConfig::share), each process retries at most a fifth of its
//! own calls, so all processes together retry at most a fifth of all calls. Only the ten retries
//! that are free in ten seconds add up.
//!
//! ```
//! use retry_runtime::{QuotaConfig, RetryQuota};
//!
//! static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new().share(0.2));
//! ```
//!
//! # Without the hub
//!
//! Breakers work as if they were not shared. This is reported once. Members query the hub again at
//! least every 3 s, and follow it once it answers.
//!
//! # What sharing gains
//!
//! A thousand members on virtual time, each calling between 20 times a second and once in 5 s; five
//! failures open a breaker for 5 s, three successes close it (`tests/fleet/simulation.rs`):
//!
//! | | shared | alone |
//! | --- | --- | --- |
//! | nothing answers: open, median and 99th | 2.3 s, 2.6 s | 2.3 s, 21.5 s |
//! | calls in the first 30 s of it | 3,400 | 9,100 |
//! | calls in the next 30 s | 6 | 5,500 |
//! | it answers again: closed, median and 99th | 3.3 s, 3.7 s | 3.7 s, 16.5 s |
//! | 50 bad nodes in 1,000 | open their own breakers, and no others | |
//! | all restart in the middle of an outage | 2 calls in 12 s: they know it from the beginning | |
//! | half of them cannot reach the hub | 940 calls in 20 s of outage, as 500 alone; closed 5.9 s (those with the hub) and 14.2 s (those without) after its end, 99th | |
//! | requests to the hub | 2.9/s for each member | none |
//!
//! Ten real processes with Postgres on the same, busy machine: open everywhere 0.2 to 0.4 s after
//! the fifth of ten had opened its own, one probe at a time, and closed everywhere 0.5 to 0.7 s
//! after the verdict.
//!
//! # Features
//!
//! | feature | default | |
//! | --- | --- | --- |
//! | `metrics` | | gauges and counters of the fleet, through the `metrics` facade |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

// In order of dependency: each module imports only from those above it.
mod sync;
mod rules;
pub mod hub;
mod observe;
mod member;
mod fleet;

pub use fleet::{BreakerSharing, Fleet};
#[doc(inline)]
pub use hub::{Hub, HubError, MemoryHub};
pub use observe::FleetEvent;
#[cfg(feature = "metrics")]
pub use observe::metrics;
pub use rules::fleet_breaker::{Change, FleetBreaker, OpenLease};
pub use rules::member_id::MemberId;
pub use rules::quorum::Tally;
