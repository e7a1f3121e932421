//! Jobs of [`retry-workflow`](retry_workflow) in a Postgres database, for more than one machine.
//!
//! [`PostgresStore`] is a [`Store`](retry_workflow::Store) like the one in an SQLite file: a job is
//! the same on both. Any number of processes, on any number of machines, may work on a job at once,
//! and each that dies is replaced by the others.
//!
//! ```no_run
//! use retry_workflow::{Workflow, keyed, policy};
//! use retry_workflow_postgres::PostgresStore;
//!
//! # async fn import() -> Result<(), Box<dyn std::error::Error>> {
//! let store = PostgresStore::connect("postgres://ada:secret@db.example.com/jobs").await?;
//! let report = Workflow::new("import")
//!     .retry(policy!(attempts = 3, initial_delay = "10ms", jitter))
//!     .max_parallel(100)
//!     .store(store)
//!     .run(keyed(1..=20_u32, u32::to_string), |_: u32, _| async { Ok::<_, String>(()) })
//!     .await?;
//! println!("{report}");
//! # Ok(())
//! # }
//! ```
//!
//! # What it needs
//!
//! Postgres 13 or later, in UTF-8; its own schema (`retry`, or another one with
//! [`PostgresOptions::schema`]), and at most [`pool_size`](PostgresOptions::pool_size) connections
//! of each process. The first process creates the tables, in numbered steps under a lock. Where
//! the workers' user may not create tables, an operator runs [`PostgresOptions::sql`].
//!
//! # What it promises
//!
//! - Each method of the store is one transaction; a claim, a settlement of many items or an
//!   enqueued batch is one statement, and one round trip.
//! - Workers do not wait for each other: a claim skips what another one is about to lease.
//! - Time is the server's: workers whose clocks differ by hours work together.
//! - A lost connection, a failover, a server that restarts or has no connection to spare, a
//!   conflict or a statement that took too long is retried, with a `#[retry]` policy and a
//!   breaker: events of `tracing` under the name `retry_workflow_postgres` show it. A settlement
//!   whose answer was lost is looked up by its token, not done twice. A server that is gone for a
//!   minute costs that minute; see [`PostgresOptions::patience`].
//! - An idle worker makes no queries: a re-drive, a pause or new items wake it within milliseconds,
//!   through `LISTEN` on one more connection. Where that one is refused, or nothing arrives on it,
//!   jobs are polled every second.
//!
//! Two answers may say less than was done, where a connection is lost in the middle of them: how
//! many items were *new* in an enqueued batch, and how many a re-drive, a purge or a removal has
//! moved. What they did is right.
//!
//! # Operating it
//!
//! When to move a job from one machine to many, how, and what changes: the page "One machine or
//! many" in the guide of `retry-workflow`.
//!
//! - **Watch it.** Each process reports through `tracing` when it waits for the server, and when it
//!   does not hear of changes by others. On the server, `pg_stat_activity` shows the workers under
//!   `retry-workflow`; `n_dead_tup` of the table `states` in `pg_stat_user_tables` says whether
//!   autovacuum keeps up: its settings for that table are made for it. A transaction of another
//!   program that stays open for hours keeps vacuum from its work, here as everywhere.
//! - **Back it up** as the rest of the database: a dump, or a point in time. Leases that were held
//!   at that time have ended when it is restored, and their items are worked on again.
//! - **Failover.** Name all hosts with `target_session_attrs=read-write`. What a standby that is
//!   asynchronous has not heard of is done again; with `synchronous_commit` on a synchronous one,
//!   nothing is.
//! - **Versions.** The first program of a newer layout that opens the tables brings them to it;
//!   older ones refuse to open them from then on.
//!
//! # Behind a pooler
//!
//! `PgBouncer` in session mode passes all on but some settings, which are left out then. In
//! transaction mode it needs version 1.21 with `max_prepared_statements`: behind an older one the
//! first error says so. `LISTEN` does not work in transaction mode, so that waits look each second.
//!
//! # Further tables on the same server
//!
//! [`server::Server`] is the pool, with what is tried again; another part of a program may share
//! [that of a store](PostgresStore::server).
//!
//! # Breakers and quotas of many processes
//!
//! `PostgresHub` (feature `fleet`, on by default) is where the members of a fleet meet: a hub of
//! `retry-fleet`, whose documentation explains what a fleet is.
#![forbid(unsafe_code)]

// From the ground up: each imports from those above it.
pub mod server;
mod store;
#[cfg(feature = "fleet")]
mod hub;

#[cfg(feature = "fleet")]
pub use hub::PostgresHub;
#[doc(inline)]
pub use server::PostgresOptions;
pub use store::PostgresStore;
/// What the statements of [`server::Server::run`] are written with.
pub use tokio_postgres;

/// The code of the README is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
