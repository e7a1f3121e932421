//! The threads that own the connections. The writing one takes all that has queued up and commits
//! it at once: many settlements share one commit. A store in memory blocks on nothing, so its
//! callers run its work themselves.

pub(super) mod identity;
pub(super) mod patience;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::Mutex;
use rusqlite::{Connection, Result};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use self::identity::Identity;
use self::patience::Patience;
use super::clock::StoreClock;
use super::sqlite_error;
use super::transaction::{Access, Names, Touched, Transaction};
use crate::item::clock::virtual_now;
use crate::store::{Changes, StoreError, StoreResult};

/// The largest number of commands that share a commit: the first one must not wait for all commands
/// that arrive in the meantime.
const LARGEST_GROUP: usize = 1024;

/// A connection, and the thread that works with it.
pub(super) enum Executor {
    /// Dropping it waits until everything queued up is done.
    Thread {
        queue: Option<Sender<Order>>,
        thread: Option<JoinHandle<()>>,
    },
    Caller(Box<Mutex<Worker>>),
}

impl Executor {
    pub(super) fn start(mut worker: Worker) -> StoreResult<Self> {
        let (queue, orders) = channel();
        let name = match worker.access {
            Access::Read => "retry-store-read",
            Access::Write => "retry-store-write",
        };
        let thread = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || worker.run(&orders))
            .map_err(StoreError::other)?;
        Ok(Self::Thread { queue: Some(queue), thread: Some(thread) })
    }

    /// Runs `work` in a transaction. It is done even if the caller is gone, unless it is done
    /// `only_if_wanted` when its turn comes; it may be rolled back and run again if something else
    /// in the same transaction failed.
    pub(super) async fn run<T, F>(&self, work: F, only_if_wanted: bool) -> StoreResult<T>
    where
        T: Send + 'static,
        F: FnMut(&mut Transaction<'_>) -> Result<T> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let task = QueuedWork { work, done: None, reply, only_if_wanted };
        self.ordered(Order::Do(Box::new(task)), answer).await
    }

    /// Checks whether another process has changed the store since the last check, and wakes those
    /// who wait for that. On the writing thread, because its own writes do not count.
    pub(super) async fn look(&self) -> StoreResult<()> {
        let (reply, answer) = oneshot::channel();
        self.ordered(Order::Look(reply), answer).await
    }

    async fn ordered<T: Send + 'static>(
        &self,
        order: Order,
        answer: oneshot::Receiver<StoreResult<T>>,
    ) -> StoreResult<T> {
        match self {
            Self::Thread { queue, .. } => {
                let queue = queue.as_ref().ok_or(StoreError::Closed)?;
                queue.send(order).map_err(|_| StoreError::Closed)?;
            }
            Self::Caller(worker) => {
                worker.lock().obey([order]);
                return answer.await.unwrap_or(Err(StoreError::Closed));
            }
        }
        // On a paused test clock, a runtime whose tasks all wait for something outside jumps to the
        // next timer. It does not while a blocking task runs.
        let answer = match Handle::try_current() {
            Ok(runtime) if virtual_now().is_some() => {
                match runtime.spawn_blocking(move || answer.blocking_recv()).await {
                    Ok(answer) => answer,
                    Err(_) => return Err(StoreError::Closed),
                }
            }
            _ => answer.await,
        };
        answer.unwrap_or(Err(StoreError::Closed))
    }
}

impl Drop for Executor {
    fn drop(&mut self) {
        if let Self::Thread { queue, thread } = self {
            drop(queue.take());
            // A panic in there has been reported already.
            let _ended = thread.take().map(JoinHandle::join);
        }
    }
}

/// A request to a thread.
pub(super) enum Order {
    Do(Box<dyn Command>),
    Look(oneshot::Sender<StoreResult<()>>),
}

/// Something to do in a transaction, and how its result is returned.
pub(super) trait Command: Send {
    fn is_wanted(&self) -> bool;
    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()>;
    fn answer(self: Box<Self>, committed: StoreResult<()>);
}

struct QueuedWork<T, F> {
    work: F,
    done: Option<T>,
    reply: oneshot::Sender<StoreResult<T>>,
    only_if_wanted: bool,
}

impl<T, F> Command for QueuedWork<T, F>
where
    T: Send,
    F: FnMut(&mut Transaction<'_>) -> Result<T> + Send,
{
    fn is_wanted(&self) -> bool {
        !(self.only_if_wanted && self.reply.is_closed())
    }

    fn run(&mut self, transaction: &mut Transaction<'_>) -> Result<()> {
        self.done = Some((self.work)(transaction)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: StoreResult<()>) {
        let Self { done, reply, .. } = *self;
        let _caller_is_gone = reply.send(committed.and_then(|()| done.ok_or(StoreError::Closed)));
    }
}

/// The reason why a group of commands was not committed.
enum Undone {
    /// The transaction could not even begin.
    NotBegun(StoreError),
    Failed(StoreError),
}

pub(super) struct Worker {
    path: PathBuf,
    connection: Connection,
    access: Access,
    names: Names,
    clock: Arc<StoreClock>,
    /// The time at which the clock was last saved to the file.
    clock_kept: Option<Duration>,
    changes: Arc<Changes>,
    /// The file's version at the last check.
    seen: Option<i64>,
    identity: Identity,
    patience: Patience,
}

impl Worker {
    pub(super) fn new(
        path: &Path,
        connection: Connection,
        access: Access,
        clock: &Arc<StoreClock>,
        changes: &Arc<Changes>,
        patience: &Patience,
    ) -> Self {
        Self {
            path: path.to_path_buf(),
            // Later reads are at least this new.
            seen: data_version(&connection),
            connection,
            access,
            names: Names::default(),
            clock: Arc::clone(clock),
            clock_kept: None,
            changes: Arc::clone(changes),
            identity: Identity::of(path),
            patience: patience.clone(),
        }
    }

    fn run(&mut self, orders: &Receiver<Order>) {
        // Readers gain nothing from sharing a commit.
        let more = match self.access {
            Access::Read => 0,
            Access::Write => LARGEST_GROUP - 1,
        };
        while let Ok(first) = orders.recv() {
            self.obey(std::iter::once(first).chain(orders.try_iter().take(more)));
        }
    }

    fn obey(&mut self, orders: impl IntoIterator<Item = Order>) {
        let mut group = Vec::new();
        for order in orders {
            match order {
                Order::Do(command) if command.is_wanted() => group.push(command),
                Order::Do(_) => {}
                Order::Look(reply) => {
                    let _caller_is_gone = reply.send(self.look());
                }
            }
        }
        if !group.is_empty() {
            self.run_group(group);
        }
    }

    fn look(&mut self) -> StoreResult<()> {
        if !self.identity.is_at(&self.path) {
            return Err(StoreError::Replaced { path: self.path.clone() });
        }
        let version = data_version(&self.connection);
        // A version that cannot be read is reported where it matters.
        if version.is_none() || version != self.seen {
            self.seen = version;
            self.changes.wake_all();
        }
        Ok(())
    }

    fn run_group(&mut self, mut group: Vec<Box<dyn Command>>) {
        match self.commit(&mut group) {
            Ok(touched) => {
                touched.report(&self.changes);
                answer(group, &Ok(()));
            }
            Err(Undone::NotBegun(error)) => answer(group, &Err(error)),
            Err(Undone::Failed(error)) if group.len() == 1 => answer(group, &Err(error)),
            // One of them fails the others: run each on its own.
            Err(Undone::Failed(_)) => {
                for command in group {
                    self.run_group(vec![command]);
                }
            }
        }
    }

    fn commit(&mut self, group: &mut [Box<dyn Command>]) -> std::result::Result<Touched, Undone> {
        let Self { path, connection, access, names, clock, clock_kept, identity, patience, .. } =
            self;
        // Data written to a deleted file is gone with its last reader, and other processes no
        // longer see the data read from it.
        if !identity.is_at(path) {
            return Err(Undone::NotBegun(StoreError::Replaced { path: path.clone() }));
        }
        let begun = patience.wait(|| {
            Transaction::begin(connection, *access)
                .map_err(|error| sqlite_error::store_error(path, &error))
        });
        begun.map_err(Undone::NotBegun)?;
        let mut transaction = Transaction::begun(connection, names);
        let done = group.iter_mut().try_for_each(|command| command.run(&mut transaction));
        let done = done.and_then(|()| match access {
            Access::Read => Ok(()),
            Access::Write => clock.keep(&transaction, clock_kept),
        });
        done.and_then(|()| transaction.commit()).map_err(|error| {
            // SQLite rolls back by itself after some failures.
            if !connection.is_autocommit() {
                let _gone_anyway = connection.execute_batch("ROLLBACK");
            }
            names.forget();
            *clock_kept = None;
            Undone::Failed(sqlite_error::store_error(path, &error))
        })
    }
}

/// Differs from the last value if another connection has changed the file since.
fn data_version(connection: &Connection) -> Option<i64> {
    let read = || connection.prepare_cached("PRAGMA data_version")?.query_row((), |row| row.get(0));
    read().ok()
}

fn answer(group: Vec<Box<dyn Command>>, committed: &StoreResult<()>) {
    for command in group {
        command.answer(committed.clone());
    }
}
