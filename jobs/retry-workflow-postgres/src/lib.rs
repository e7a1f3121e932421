//! Jobs of [`retry-workflow`](retry_workflow) in a Postgres database, for more than one machine.
//!
//! [`PostgresStore`] is a [`Store`](retry_workflow::Store) like the one in an SQLite file: a job is
//! the same in both. Any number of processes, on any number of machines, may work on a job at once,
//! and if one dies, the others take over its items.
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
//! Postgres 13 or later, in UTF-8; a schema of its own (`retry`, or another one with
//! [`PostgresOptions::schema`]), and at most [`pool_size`](PostgresOptions::pool_size) connections
//! per process. The first process creates the tables, in numbered steps under a lock. If the
//! workers' user may not create tables, an operator runs the statements that
//! [`PostgresOptions::sql`] returns.
//!
//! # What it promises
//!
//! - Each method of the store is one transaction; a claim, the settlement of many items and an
//!   enqueued batch are each one statement, and so one round trip.
//! - Workers do not wait for each other: a claim skips the rows that another one has locked.
//! - Time is the server's: workers whose clocks differ by hours can work together.
//! - A lost connection, a failover, a server that restarts or has no connection to spare, a
//!   conflict and a statement that timed out are retried, with a `#[retry]` policy and a breaker;
//!   `tracing` events under the name `retry_workflow_postgres` show it. A settlement whose answer
//!   was lost is looked up by its token, not done twice. An outage of a minute costs that minute;
//!   see [`PostgresOptions::patience`].
//! - An idle worker makes no queries: a re-drive, a pause or new items wake it within milliseconds,
//!   through `LISTEN` on one more connection. If that connection is refused, or nothing arrives on
//!   it, workers poll every second.
//!
//! Two results may be too low if a connection is lost midway: how many items of an enqueued batch
//! were *new*, and how many items a re-drive, a purge or a removal has moved. The work itself is
//! done correctly.
//!
//! # Operating it
//!
//! When and how to move a job from one machine to many, and what changes then: see the page "One
//! machine or many" in the guide of `retry-workflow`.
//!
//! - **Watch it.** Each process reports through `tracing` when it waits for the server, and when it
//!   does not hear of changes by others. On the server, `pg_stat_activity` shows the workers under
//!   `retry-workflow`; `n_dead_tup` of the table `states` in `pg_stat_user_tables` shows whether
//!   autovacuum keeps up: its settings for that table are made for it. A transaction that another
//!   program leaves open for hours keeps vacuum from its work, here as everywhere.
//! - **Back it up** like the rest of the database: with a dump, or for point-in-time recovery. When
//!   it is restored, the leases held at that time have expired, and their items run again.
//! - **Failover.** Name all hosts, with `target_session_attrs=read-write`. A server that becomes
//!   read-only under a running worker is waited for, as any outage; one that is read-only from the
//!   start is refused, with the advice to name the primary. Whatever an asynchronous
//!   standby had not yet received is done again; with `synchronous_commit` on a synchronous one,
//!   nothing is. A re-drive, an edit, a purge or an update whose response to the commit was lost is
//!   looked up by the number of its transaction. A standby that has not reached that number has
//!   lost the change, so it is made again. One that has given the number to another transaction
//!   reports that one: the change may then be reported as done, and lost.
//! - **Versions.** The first program with a newer layout that opens the tables migrates them; older
//!   ones refuse to open them from then on.
//!
//! # Behind a pooler
//!
//! In session mode, `PgBouncer` passes on everything except some settings, which are left out then.
//! Transaction mode needs version 1.21 with `max_prepared_statements`: behind an older one, the
//! first error reports it. `LISTEN` does not work in transaction mode, so workers poll every
//! second.
//!
//! # Further tables on the same server
//!
//! [`server::Server`] is the connection pool with its retries; another part of a program may share
//! [the pool of a store](PostgresStore::server).
//!
//! # Breakers of many processes
//!
//! `PostgresHub` (feature `fleet`, on by default) is where the members of a fleet meet: a hub of
//! `retry-fleet`, whose documentation explains what a fleet is.
#![forbid(unsafe_code)]

// Bottom-up: each module imports from those above it.
pub mod server;
mod migration;
mod store;
#[cfg(feature = "fleet")]
mod hub;

// The server of the tests in `tests/behaviour`, which name this crate.
#[cfg(test)]
extern crate self as retry_workflow_postgres;
#[cfg(test)]
#[expect(dead_code, reason = "the tests in this crate need a part of it")]
#[path = "../tests/behaviour/fixture.rs"]
mod fixture;

#[cfg(feature = "fleet")]
pub use hub::PostgresHub;
#[doc(inline)]
pub use server::PostgresOptions;
pub use store::PostgresStore;
/// The client library with which operations for [`server::Server::run`] are written.
pub use tokio_postgres;

/// Compiles the code of the README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
