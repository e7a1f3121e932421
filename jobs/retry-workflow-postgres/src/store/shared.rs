//! [`Shared`]: the state shared by all handles to a store.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use retry_workflow::Timestamp;
use retry_workflow::store::DURATIONS_KEPT;

use super::clock::ServerClock;
use super::cursors::ClaimCursors;
use super::waking::Waking;
use crate::server::Server;

/// The state shared by all handles to a store.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) server: Arc<Server>,
    /// The schema, quoted for SQL, with a dot.
    pub(crate) prefix: String,
    pub(crate) clock: ServerClock,
    pub(crate) cursors: ClaimCursors,
    pub(crate) waking: Waking,
    /// The last hour in which the roll-up was folded.
    folded: AtomicI64,
    /// The last minute in which old durations were deleted.
    tidied: AtomicI64,
    names: Mutex<Names>,
}

/// Numbers that stand for names in the tables. They never change once they are committed.
#[derive(Debug, Default)]
pub(super) struct Names {
    pub(super) jobs: HashMap<String, i64>,
    pub(super) workers: HashMap<String, i64>,
}

impl Shared {
    /// `schema` is quoted for SQL, `plain` is not.
    pub(crate) fn new(
        server: Arc<Server>,
        (schema, plain): (&str, &str),
        clock: ServerClock,
    ) -> Self {
        Self {
            server,
            prefix: format!("{schema}."),
            clock,
            cursors: ClaimCursors::default(),
            waking: Waking::new(plain),
            folded: AtomicI64::new(i64::MIN),
            tidied: AtomicI64::new(i64::MIN),
            names: Mutex::default(),
        }
    }

    /// A statement on the tables of this store: `@` stands for their schema.
    pub(crate) fn sql(&self, text: &str) -> String {
        text.replace('@', &self.prefix)
    }

    /// Since when durations are kept, if it is time to delete older ones: once a minute is enough.
    pub(crate) fn tidies(&self, minute: Timestamp) -> Option<Timestamp> {
        let before = self.tidied.swap(minute.as_micros(), Ordering::Relaxed);
        (before != minute.as_micros()).then(|| minute - DURATIONS_KEPT)
    }

    /// Returns whether it is time to fold the roll-up: once an hour is enough.
    pub(crate) fn folds(&self, hour: Timestamp) -> bool {
        self.folded.swap(hour.as_micros(), Ordering::Relaxed) != hour.as_micros()
    }

    pub(super) fn names(&self) -> MutexGuard<'_, Names> {
        self.names.lock()
    }

    /// The name of a job that is known to this process.
    pub(crate) fn name_of(&self, job: i64) -> Option<String> {
        let names = self.names();
        names.jobs.iter().find(|(_, number)| **number == job).map(|(name, _)| name.clone())
    }
}
