//! [`Waking`]: who waits for changes to a job in this process, and what was announced to others.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher as _;
use std::time::Instant;

use parking_lot::Mutex;
use retry_workflow::store::Changes;
use retry_workflow::work::fnv1a;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::server::text::decode;

#[derive(Debug)]
pub(crate) struct Waking {
    /// Those who wait in this process.
    pub(crate) changes: Changes,
    pub(super) channel: String,
    /// The sender of notifications, so that a process ignores its own.
    pub(super) own: String,
    /// Set while notifications from other processes arrive.
    pub(super) is_connected: watch::Sender<bool>,
    pub(super) listener: Mutex<Option<JoinHandle<()>>>,
    /// The time at which each job was last announced; `true` if it is to be announced again.
    pub(super) announced: Mutex<HashMap<String, (Instant, bool)>>,
}

impl Waking {
    pub(crate) fn new(schema: &str) -> Self {
        Self {
            changes: Changes::default(),
            channel: channel(schema),
            own: format!("{:016x}", RandomState::new().hash_one(schema)),
            is_connected: watch::Sender::new(false),
            listener: Mutex::default(),
            announced: Mutex::default(),
        }
    }

    /// Handles a notification.
    pub(super) fn on_notification(&self, said: &str) {
        match said.split_once(' ') {
            Some((by, _)) if by == self.own => {}
            Some((_, job)) if !job.is_empty() => self.changes.wake(&decode(job.to_owned())),
            _ => self.changes.wake_all(),
        }
    }
}

impl Drop for Waking {
    fn drop(&mut self) {
        let listener = self.listener.get_mut();
        if let Some(listener) = listener.take() {
            listener.abort();
        }
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
