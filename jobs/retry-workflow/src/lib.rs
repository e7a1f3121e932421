//! Jobs of many work items, and graphs of tasks, in a process that may be killed at any
//! time.
//!
//! `#[retry]` protects one call; this crate protects a job: thousands of items, some of which fail.
//! An item whose retries have ended becomes a *dead letter*, is skipped, is put back, or stops the
//! job: an [`ErrorPolicy`] decides. Everything that happened is in a store, and each attempt is
//! settled in one transaction, so that a job whose process was killed continues where it was.
//!
//! ```
//! use retry_workflow::{DeadLetters, Filter, Redrive, SqliteStore, Workflow, keyed, policy};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("import.db");
//! let store = SqliteStore::open(&path)?;
//! let import = |is_fixed: bool| {
//!     Workflow::new("import")
//!         .retry(policy!(attempts = 3, initial_delay = "10ms", jitter, budget = "5m"))
//!         .max_parallel(4)
//!         .store(store.clone())
//!         .run(keyed(1..=20_u32, u32::to_string), move |n: u32, _| async move {
//!             if n % 5 == 0 && !is_fixed { Err(format!("{n} has no address")) } else { Ok(()) }
//!         })
//! };
//! let report = import(false).await?;
//! assert_eq!((report.succeeded(), report.dead()), (16, 4));
//! println!("{report}");
//!
//! // What went wrong, by what the failures have in common:
//! let letters = DeadLetters::new(store.clone());
//! let groups = letters.stats(&Filter::job("import-1")).await?;
//! assert_eq!(groups[0].signature.as_str(), "<n> has no address");
//!
//! // The cause is fixed: re-drive them, and resume.
//! letters.retry(Filter::job("import-1"), Redrive::new()).await?;
//! let report = Workflow::new("import")
//!     .store(store.clone())
//!     .resume("import-1", |_: u32, _| async { Ok::<_, String>(()) })
//!     .await?;
//! assert!(report.is_success());
//! # Ok(())
//! # }
//! ```
//!
//! - [`Workflow`]: a job of items, handled by a closure; [`keyed`] gives items their own ids
//! - [`Graph`]: named tasks with dependencies
//! - [`ErrorPolicy`]: dead letters, thresholds, a breaker for the whole job
//! - [`JobReport`]: totals, failures by class and by [`Signature`], patterns with advice
//! - [`DeadLetters`]: list, show, count, re-drive, purge, export, import
//! - [`Search`]: items by a text in their failures, or by a condition on their payloads
//! - [`Operator`]: a user who changes jobs and items; each action is an event
//! - [`store`]: [`SqliteStore`], and the trait for others
//! - [`Work`] and [`Source`]: your own kinds of work and sources of items, which a [`JobRunner`]
//!   runs
//!
//! `retry-runtime` decides what is retried and when, with the same sessions, matchers and breakers
//! as for an annotated function. Waits are durable: an item goes back to the store with a due time,
//! and its slot is free for other items.
//!
//! # At least once
//!
//! A worker *leases* items, and renews its leases while it lives. If it is killed, its leases
//! expire, and another worker claims the items. A worker that was only stopped for a while drops
//! the items that it had not begun, and ends the handlers of items that it has lost; the store
//! rejects its settlements of them. So each item ends in one state, but its handler may have run
//! more than once. Attempts lost with their worker are in the history, and do not count against the
//! policy.
//!
//! Up to half of the items that a worker claims have begun: they were tried before in this run, or
//! lost with their worker. So new items do not starve retries, or the other way round.
//!
//! An item may kill its workers. Once two of its leases have expired unsettled, it is a suspect: it
//! runs alone, while no other handler of its process is running, and only once its worker has lived
//! for 5 s. If its worker then dies three times in a row, it becomes a dead letter of class `lost`.
//! Items that only ran beside it do not, and a burst of kills does not make one.
//!
//! # Compiler errors
//!
//! | rustc | write |
//! | --- | --- |
//! | E0277: "the trait bound `RetryConfig: From<{integer}>` is not satisfied" | `.retry(policy!(attempts = 4))` |
//! | E0277: "`&Task<…>` is neither a `String` nor a list of them", from `depends_on` | the task's name: `.depends_on("render")` |
//! | E0308: "expected `OnItemFailure`, found `&str`" | `OnItemFailure::Skip` |
//! | E0308: "expected `u64`, found floating-point number", from `max_failures` | `failure_threshold(0.25)` for a share |
//! | E0373: "closure may outlive the current function, but it borrows `client`" | `move \|name: String, cx\| …`; each call gets a clone, so wrap what is not `Clone` in an `Arc` |
//! | E0432: "unresolved import `retry_workflow::MemoryStore`", or `InMemoryStore` | `SqliteStore::in_memory()` |
//! | E0521: "borrowed data escapes outside of function", from `Workflow::run` | `let client = client.clone();` before it, of a type that is `Clone` or an `Arc`, and `move \|name: String, cx\| …` |
//! | E0593: "closure is expected to take 2 arguments, but it takes 1 argument" | `\|name: String, _\| …` |
//! | E0599: "no method named `retry_later` found for struct `ItemContext`" | `cx.postpone(wait)`, and return an error |
//! | E0599: "no variant or associated item named `DeadLetter` found for enum `OnItemFailure`" | `OnItemFailure::Dlq` |
//! | E0609: "no field `failed` on type `JobReport`" | `report.dead()`, `report.succeeded()`, `report.is_success()` |
//! | E0631: "type mismatch in closure arguments", from `Workflow::run` | the type of the items: `\|name: String, cx\| …` |
//!
//! # The command
//!
//! [`retry-workflow-cli`](https://docs.rs/retry-workflow-cli) runs such jobs of shell commands from
//! YAML files. Its [guide](https://docs.rs/retry-workflow-cli/latest/retry_workflow_cli/guide/) has
//! a page for each subject: waits, schedules, limits, stores, the board.
//!
//! # Features
//!
//! | feature | default | |
//! | --- | --- | --- |
//! | `sqlite` | yes | [`SqliteStore`], and jobs in memory; SQLite is compiled in. Without it, each job needs a [`store`](Workflow::store) |
//! | `metrics` | | gauges and counters of each job, through the `metrics` facade |
#![cfg_attr(docsrs, feature(doc_cfg))]

// Bottom-up: each module imports from those above it.
mod item;
pub mod words;
#[doc(hidden)]
pub mod condition;
#[doc(hidden)]
pub mod walk;
pub mod store;
pub mod audit;
pub mod job;
pub mod dead_letters;
pub mod search;
mod engine;
mod workflow;
mod graph;
mod operator;
// Documentation only.
#[cfg(all(doc, not(doctest)))]
pub mod guide;

// Each module has the rest of what belongs to a name here.
#[doc(inline)]
pub use dead_letters::{DeadLetters, Redrive};
pub use engine::items::{Items, keyed};
pub use engine::job_runner::JobRunner;
pub use engine::source::Source;
pub use engine::work::Work;
#[doc(hidden)]
pub use graph::TaskKeys;
pub use graph::{Graph, Task};
pub use item::clock::Timestamp;
pub use item::context::ItemContext;
pub use item::failure::Failure;
pub use item::output::Output;
pub use item::record::{Counts, Filter, ItemRecord, ItemState};
pub use item::sanitize;
pub use item::signature::Signature;
pub use job::error::WorkflowError;
pub use job::error_policy::{ErrorPolicy, OnItemFailure};
pub use job::event::{ItemFailure, JobEvent, WaitReason};
pub use job::rate::Rate;
pub use job::record::{Job, JobStatus, StopReason};
pub use job::report::JobReport;
pub use operator::Operator;
pub use search::Search;
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use store::SqliteStore;
#[doc(inline)]
pub use store::{Store, StoreError};
pub use workflow::Workflow;

pub mod work {
    //! The arguments and results of an implementation of [`Work`](crate::Work), and items with
    //! [their own ids](crate::keyed).

    pub use retry_runtime::{Interrupted, Reason, durable};

    pub use crate::engine::items::Keyed;
    #[doc(hidden)]
    pub use crate::engine::items::{ByIterator, ByKey, ByStream, ContentIds, NextItem};
    pub use crate::engine::retry_state::{NextStep, RetryState};
    pub use crate::engine::source::batch::Batch;
    pub use crate::engine::work::{
        AttemptReport, AttemptTimer, StepRecord, WorkItem, WorkOutcome, postponement,
    };
    pub use crate::engine::{checkpoint, failed_step, postponed};
    pub use crate::item::lease::StepTime;
    #[doc(hidden)]
    pub use crate::item::one_or_many::{Many, One, OneOrMany};
    #[doc(hidden)]
    pub use crate::item::signature::fnv1a;
    pub use crate::workflow::closure::{Payload, ReadsErrors};
}

// The parts of a policy. Each has a page here, with the documentation of `retry-runtime`.
pub use retry_runtime::{
    Backoff, BreakerConfig, Jitter, Policy, Retrier, RetryConfig, matchers, policy, retrier,
};
// The class that an error gives itself. The derive writes paths to `retry_runtime`: add that, or
// write `#[classify(crate = retry_workflow::retry_runtime)]`.
#[doc(no_inline)]
pub use retry_runtime;
pub use retry_runtime::{Class, Classify};
