//! [`Shared`]: the state shared by all handles to a store.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

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
    pub(crate) waking: Arc<Waking>,
    pub(super) names: Mutex<Names>,
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
            waking: Waking::new(&server, plain),
            server,
            prefix: format!("{schema}."),
            clock,
            cursors: ClaimCursors::default(),
            names: Mutex::default(),
        }
    }

    /// A statement on the tables of this store: `@` stands for their schema.
    pub(crate) fn sql(&self, text: &str) -> String {
        text.replace('@', &self.prefix)
    }

    /// The name of a job that is known to this process.
    pub(crate) fn name_of(&self, job: i64) -> Option<String> {
        let names = self.names.lock();
        names.jobs.iter().find(|(_, number)| **number == job).map(|(name, _)| name.clone())
    }
}
