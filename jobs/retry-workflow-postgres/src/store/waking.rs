//! [`Waking`]: wakes the tasks that wait for changes to a job by any process, with `LISTEN` and
//! `NOTIFY`.
//!
//! Once a task waits, a separate connection listens. If it is refused or lost, or a pooler does not
//! let its probe through, waiting tasks poll every second while it is tried again.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::future::poll_fn;
use std::hash::BuildHasher as _;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use retry_workflow::store::Changes;
use retry_workflow::work::fnv1a;
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tokio_postgres::AsyncMessage;

use crate::server::text::{decode, encode};
use crate::server::{PostgresError, Server};

/// The interval at which waiting tasks poll if notifications do not reach them.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The first change to a job is announced at once, and further ones no more often than this:
/// `NOTIFY` takes a lock that all who notify share.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(100);

/// A connection that has not received its own probe within this time receives no notifications.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);

/// The time for which a notification is retried; after that, other processes find the change by
/// polling.
const NOTIFY_TIMEOUT: Duration = Duration::from_secs(2);

/// The delay until a lost or refused connection is tried again: the first one, and the longest.
const RECONNECT_DELAY: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Longer names do not fit into a notification: a change to such a job is announced as one to any
/// job.
const LONGEST_NAME: usize = 7000;

/// The tasks that wait for changes to a job in this process, and what was announced to others.
#[derive(Debug)]
pub(crate) struct Waking {
    server: Arc<Server>,
    changes: Changes,
    channel: String,
    /// The sender of notifications, so that a process ignores its own.
    own: String,
    /// Set while notifications from other processes arrive.
    is_connected: watch::Sender<bool>,
    listener: Mutex<Option<JoinHandle<()>>>,
    /// The time at which each job was last announced; `true` if it is to be announced again.
    announced: Mutex<HashMap<String, (Instant, bool)>>,
}

impl Waking {
    pub(crate) fn new(server: &Arc<Server>, schema: &str) -> Arc<Self> {
        Arc::new(Self {
            server: Arc::clone(server),
            changes: Changes::default(),
            channel: channel(schema),
            own: format!("{:016x}", RandomState::new().hash_one(schema)),
            is_connected: watch::Sender::new(false),
            listener: Mutex::default(),
            announced: Mutex::default(),
        })
    }

    /// Waits for a change to a job.
    pub(crate) async fn changed(self: &Arc<Self>, job: &str, seen: u64) -> u64 {
        self.listen();
        let mut changed = pin!(self.changes.changed(job, seen));
        let mut is_connected = self.is_connected.subscribe();
        loop {
            if !*is_connected.borrow_and_update() {
                // Changes by others go unheard, so the caller looks.
                return tokio::time::timeout(POLL_INTERVAL, changed).await.unwrap_or(seen);
            }
            tokio::select! {
                count = &mut changed => return count,
                _ = is_connected.changed() => {}
            }
        }
    }

    /// Wakes the tasks that wait for changes to this job, in this process and in others.
    pub(crate) async fn notify(self: &Arc<Self>, job: &str) {
        self.changes.wake(job);
        if self.schedule(job, true) {
            self.publish(job).await;
        }
    }

    /// As [`notify`](Self::notify), but does not wait until others are notified.
    pub(crate) fn notify_soon(self: &Arc<Self>, job: &str) {
        self.changes.wake(job);
        self.schedule(job, false);
    }

    /// Wakes all who wait, whatever the job.
    pub(crate) async fn notify_all(&self) {
        self.changes.wake_all();
        self.publish("").await;
    }

    /// Schedules the announcement of a job. If this is `true`, the caller has to make it now.
    fn schedule(self: &Arc<Self>, job: &str, at_once: bool) -> bool {
        let mut announced = self.announced.lock();
        let now = Instant::now();
        // Forgets announcements that no longer delay the next one.
        announced.retain(|_, (at, is_due)| *is_due || now.duration_since(*at) < NOTIFY_INTERVAL);
        if let Some((_, is_due)) = announced.get_mut(job) {
            if std::mem::replace(is_due, true) {
                return false;
            }
        } else {
            announced.insert(job.to_owned(), (now, !at_once));
            if at_once {
                return true;
            }
        }
        drop(announced);
        let (weak, job) = (Arc::downgrade(self), job.to_owned());
        self.server.runtime().spawn(async move {
            tokio::time::sleep(NOTIFY_INTERVAL).await;
            if let Some(waking) = weak.upgrade() {
                waking.announced.lock().insert(job.clone(), (Instant::now(), false));
                waking.publish(&job).await;
            }
        });
        false
    }

    /// Announces a change to this job, or to any job if it has no name.
    async fn publish(&self, job: &str) {
        let name = encode(job);
        let name = if name.len() > LONGEST_NAME { "" } else { &*name };
        let said = format!("{} {name}", self.own);
        if let Err(error) = send(&self.server, self.channel.clone(), said).await {
            // Others find the change by polling.
            tracing::debug!(
                error = &error as &dyn std::error::Error,
                "other processes were not notified"
            );
        }
    }

    /// Starts to listen, unless it has been started.
    fn listen(self: &Arc<Self>) {
        self.listener.lock().get_or_insert_with(|| {
            self.server.runtime().spawn(keep_listening(Arc::downgrade(self)))
        });
    }

    /// Handles a notification.
    fn on_notification(&self, said: &str) {
        match said.split_once(' ') {
            Some((by, _)) if by == self.own => {}
            Some((_, job)) if !job.is_empty() => self.changes.wake(&decode(job.to_owned())),
            _ => self.changes.wake_all(),
        }
    }
}

impl Drop for Waking {
    fn drop(&mut self) {
        if let Some(listener) = self.listener.get_mut() {
            listener.abort();
        }
    }
}

/// Sends a notification.
async fn send(server: &Arc<Server>, channel: String, said: String) -> Result<(), PostgresError> {
    server
        .run_for(NOTIFY_TIMEOUT, (channel, said), |client, (channel, said), _| {
            Box::pin(async move {
                let statement = client.prepare_cached("SELECT pg_notify($1, $2)").await?;
                client.execute(&statement, &[channel, said]).await?;
                Ok(())
            })
        })
        .await
}

/// Listens for as long as the store exists.
async fn keep_listening(weak: Weak<Waking>) {
    let mut wait = RECONNECT_DELAY.0;
    loop {
        let begun = Instant::now();
        let Some(waking) = weak.upgrade() else { return };
        let server = Arc::clone(&waking.server);
        let (channel, own) = (waking.channel.clone(), waking.own.clone());
        drop(waking);
        let lost = listen_once(&weak, &server, channel, &own).await;
        let Some(waking) = weak.upgrade() else { return };
        // Those who wait poll from now on.
        if waking.is_connected.send_replace(false) {
            waking.changes.wake_all();
        }
        drop(waking);
        if let Err(error) = lost {
            tracing::info!(
                error = &error as &dyn std::error::Error,
                server = server.name(),
                "notifications from other processes do not arrive: jobs are polled every second"
            );
        }
        // After a connection that lasted, waiting starts over.
        wait = if begun.elapsed() > RECONNECT_DELAY.1 { RECONNECT_DELAY.0 } else { wait };
        tokio::time::sleep(wait).await;
        wait = wait.saturating_mul(2).min(RECONNECT_DELAY.1);
    }
}

/// Listens until the connection ends.
async fn listen_once(
    weak: &Weak<Waking>,
    server: &Arc<Server>,
    channel: String,
    own: &str,
) -> Result<(), PostgresError> {
    let (client, mut connection) = server.connect_alone().await?;
    let (arrived, mut probed) = watch::channel(false);
    let (listening, probe) = (weak.clone(), format!("{own} ?"));
    let is_probe = probe.clone();
    let reading = async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(said) = message? {
                if said.payload() == is_probe {
                    arrived.send_replace(true);
                } else if let Some(waking) = listening.upgrade() {
                    waking.on_notification(said.payload());
                }
            }
        }
        Ok::<_, PostgresError>(())
    };
    // A set aborts its tasks when it is dropped: reading ends when this returns, whatever the reason.
    let mut tasks = JoinSet::new();
    tasks.spawn_on(reading, server.runtime());
    client.batch_execute(&format!("LISTEN \"{channel}\"")).await?;
    // Sent through another connection: a pooler may accept `LISTEN` without effect.
    send(server, channel, probe).await?;
    let answer = probed.wait_for(|arrived| *arrived);
    let is_connected =
        tokio::time::timeout(PROBE_TIMEOUT, answer).await.is_ok_and(|seen| seen.is_ok());
    if !is_connected {
        return Err(PostgresError::other(
            "notifications sent with NOTIFY do not arrive: is a connection pooler in between?",
        ));
    }
    if let Some(waking) = weak.upgrade() {
        waking.is_connected.send_replace(true);
        // Changes may have been announced before.
        waking.changes.wake_all();
    }
    match tasks.join_next().await {
        Some(Ok(ended)) => ended,
        _ => Err(PostgresError::closed()),
    }
}

/// The name of a schema's channel, no longer than Postgres allows, whatever the schema is called.
fn channel(schema: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if schema.len() <= 48 && schema.bytes().all(is_plain) {
        return format!("retry_{schema}");
    }
    let mut name = "retry_".to_owned();
    for byte in schema.bytes().take(24) {
        name.push(if is_plain(byte) { char::from(byte) } else { '_' });
    }
    // The same in each process.
    format!("{name}_{:016x}", fnv1a(schema))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_schema_has_a_channel_of_its_own_that_is_a_name() {
        let names = ["retry", "Retry", "a b", "a_b", &"x".repeat(63), &"é".repeat(31)].map(channel);
        assert_eq!(names[0], "retry_retry");
        for (place, name) in names.iter().enumerate() {
            assert!(name.len() <= 63 && !name.contains(['"', ' ']), "{name}");
            assert!(!names[..place].contains(name), "{name}");
        }
    }
}
