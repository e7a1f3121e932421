//! Wakes the tasks that wait for changes to a job by any process, with `LISTEN` and `NOTIFY`.
//!
//! Once a task waits, a separate connection listens. If it is refused or lost, or a pooler does not
//! let its probe through, waiting tasks poll every second while it is tried again.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_postgres::AsyncMessage;

use super::shared::Shared;
use crate::server::text::encode;
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

/// Waits for a change to a job.
pub(crate) async fn changed(shared: &Arc<Shared>, job: &str, seen: u64) -> u64 {
    listen(shared);
    let waking = &shared.waking;
    let mut changed = pin!(waking.changes.changed(job, seen));
    let mut is_connected = waking.is_connected.subscribe();
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
pub(crate) async fn notify(shared: &Arc<Shared>, job: &str) {
    shared.waking.changes.wake(job);
    if schedule(shared, job, true) {
        publish(shared, vec![job.to_owned()]).await;
    }
}

/// As [`notify`], but does not wait until others are notified.
pub(crate) fn notify_soon(shared: &Arc<Shared>, job: &str) {
    shared.waking.changes.wake(job);
    schedule(shared, job, false);
}

/// Wakes all who wait, whatever the job.
pub(crate) async fn notify_all(shared: &Arc<Shared>) {
    shared.waking.changes.wake_all();
    publish(shared, vec![String::new()]).await;
}

/// Schedules the announcement of a job. If this is `true`, the caller has to make it now.
fn schedule(shared: &Arc<Shared>, job: &str, at_once: bool) -> bool {
    let mut announced = shared.waking.announced.lock();
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
    let (weak, job) = (Arc::downgrade(shared), job.to_owned());
    shared.server.runtime().spawn(async move {
        tokio::time::sleep(NOTIFY_INTERVAL).await;
        if let Some(shared) = weak.upgrade() {
            shared.waking.announced.lock().insert(job.clone(), (Instant::now(), false));
            publish(&shared, vec![job]).await;
        }
    });
    false
}

async fn publish(shared: &Arc<Shared>, jobs: Vec<String>) {
    let waking = &shared.waking;
    let said = jobs.into_iter().map(|job| {
        let name = encode(&job);
        let name = if name.len() > LONGEST_NAME { "" } else { &*name };
        format!("{} {name}", waking.own)
    });
    let arguments = (waking.channel.clone(), said.collect());
    if let Err(error) = send(&shared.server, arguments).await {
        // Others find the change by polling.
        tracing::debug!(
            error = &error as &dyn std::error::Error,
            "other processes were not notified"
        );
    }
}

async fn send(
    server: &Arc<Server>,
    (channel, said): (String, Vec<String>),
) -> Result<(), PostgresError> {
    server
        .run_for(NOTIFY_TIMEOUT, (channel, said), |client, (channel, said), _| {
            Box::pin(async move {
                let sql = "SELECT pg_notify($1, said) FROM unnest($2::text[]) AS said";
                let statement = client.prepare_cached(sql).await?;
                client.execute(&statement, &[channel, said]).await?;
                Ok(())
            })
        })
        .await
}

/// Starts to listen, unless it has been started.
fn listen(shared: &Arc<Shared>) {
    let mut listener = shared.waking.listener.lock();
    if listener.is_none() {
        let weak = Arc::downgrade(shared);
        *listener = Some(shared.server.runtime().spawn(keep_listening(weak)));
    }
}

/// Listens for as long as the store exists.
async fn keep_listening(weak: Weak<Shared>) {
    let mut wait = RECONNECT_DELAY.0;
    loop {
        let begun = Instant::now();
        let Some(shared) = weak.upgrade() else { return };
        let server = Arc::clone(&shared.server);
        let (channel, own) = (shared.waking.channel.clone(), shared.waking.own.clone());
        drop(shared);
        let lost = listen_once(&weak, &server, &channel, &own).await;
        let Some(shared) = weak.upgrade() else { return };
        // Those who wait poll from now on.
        if shared.waking.is_connected.send_replace(false) {
            shared.waking.changes.wake_all();
        }
        drop(shared);
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
    weak: &Weak<Shared>,
    server: &Arc<Server>,
    channel: &str,
    own: &str,
) -> Result<(), PostgresError> {
    let (client, mut connection) = server.connect_alone().await?;
    let (arrived, mut probed) = watch::channel(false);
    let (listening, probe) = (weak.clone(), format!("{own} ?"));
    let is_probe = probe.clone();
    // It is aborted when this returns, whatever the reason.
    let mut reading = AbortOnDrop(server.runtime().spawn(async move {
        while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(said) = message? {
                if said.payload() == is_probe {
                    arrived.send_replace(true);
                } else if let Some(shared) = listening.upgrade() {
                    shared.waking.on_notification(said.payload());
                }
            }
        }
        Ok::<_, PostgresError>(())
    }));
    client.batch_execute(&format!("LISTEN \"{channel}\"")).await?;
    // Sent through another connection: a pooler may accept `LISTEN` without effect.
    send(server, (channel.to_owned(), vec![probe])).await?;
    let answer = probed.wait_for(|arrived| *arrived);
    let is_connected =
        tokio::time::timeout(PROBE_TIMEOUT, answer).await.is_ok_and(|seen| seen.is_ok());
    if !is_connected {
        return Err(PostgresError::other(
            "notifications sent with NOTIFY do not arrive: is a connection pooler in between?",
        ));
    }
    if let Some(shared) = weak.upgrade() {
        shared.waking.is_connected.send_replace(true);
        // Changes may have been announced before.
        shared.waking.changes.wake_all();
    }
    (&mut reading.0).await.unwrap_or_else(|_| Err(PostgresError::closed()))
}

struct AbortOnDrop<T>(JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
