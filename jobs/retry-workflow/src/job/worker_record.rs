//! [`WorkerRecord`]: who works on a job, and whether that process is still alive.

use std::fmt;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::item::clock::Timestamp;
use crate::item::record::Filter;
use crate::store::{Alteration, Store, StoreError};

/// A worker of a job, in the job's record: written when it begins, updated while it lives, and
/// removed when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerRecord {
    /// Its name, as in histories; empty before it has started.
    pub worker: String,
    /// Its process.
    pub process: u32,
    /// The machine, without which the process number means nothing; `None` if the system does not
    /// say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    machine: Option<String>,
    /// The start of the process, by the system's own count, because process numbers are reused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started: Option<u64>,
    /// Until when its last heartbeat is valid.
    pub until: Timestamp,
    /// Set while fewer items than its `max_parallel` may run at the same time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttle: Option<Throttle>,
}

/// The limit of a worker that runs fewer items at the same time than its `max_parallel`, because a
/// service rejects some of them, or the machine lacks the resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Throttle {
    /// The number of items that may run at the same time now.
    pub limit: usize,
    /// The `max_parallel` of the worker.
    pub max_parallel: usize,
}

/// `4 of 20`.
impl fmt::Display for Throttle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.limit, self.max_parallel)
    }
}

impl WorkerRecord {
    /// Creates the record of a worker in this process.
    pub(crate) fn new(worker: &str, until: Timestamp) -> Self {
        let process = std::process::id();
        let machine = MACHINE.clone();
        let started = machine.as_ref().and_then(|_| system::started(process));
        Self { worker: worker.to_owned(), process, machine, started, until, throttle: None }
    }

    /// Returns `true` if the worker is alive, as far as this process can know: its heartbeat is
    /// valid, and its process is not known to have ended.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.until > now && !self.is_dead()
    }

    /// Returns whether its process has certainly ended: it ran on this machine, and no longer does.
    pub(crate) fn is_dead(&self) -> bool {
        self.is_on_this_machine()
            && self.started.is_some()
            && system::started(self.process) != self.started
    }

    /// Ends the leases of workers that are known to be dead, and returns how many they held.
    pub(crate) async fn end_leases(
        store: &dyn Store,
        job: &str,
        dead: &[Self],
    ) -> Result<u64, StoreError> {
        if dead.is_empty() {
            return Ok(0);
        }
        let names = dead.iter().map(|worker| worker.worker.clone()).collect();
        let expired = Alteration::Expire(names);
        store.alter(&Filter::job(job), expired, usize::MAX, store.now()).await
    }

    /// Returns whether its process is one of this machine, so that its number can be looked up here.
    /// It may have ended.
    pub fn is_on_this_machine(&self) -> bool {
        self.machine.is_some() && self.machine == *MACHINE
    }

    /// Returns whether it is a worker of this process.
    pub fn is_of_this_process(&self) -> bool {
        let this = Self::new("", self.until);
        (self.process, &self.machine, self.started) == (this.process, &this.machine, this.started)
    }

    /// Returns whether it was reserved for a worker of the same process, which has now begun.
    pub(crate) fn is_begun_by(&self, other: &Self) -> bool {
        self.worker.is_empty() && (self.process, self.started) == (other.process, other.started)
    }
}

/// Identifies this boot of the machine and its process namespace: containers have their own process
/// numbers.
static MACHINE: LazyLock<Option<String>> = LazyLock::new(system::machine);

#[cfg(target_os = "linux")]
mod system {
    use std::fs;

    pub(super) fn machine() -> Option<String> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        let numbers = fs::read_link("/proc/self/ns/pid").ok()?;
        Some(format!("{} {}", boot.trim(), numbers.display()))
    }

    /// Returns when a process began; `None` if it does not exist, or is a zombie.
    pub(super) fn started(process: u32) -> Option<u64> {
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
        // A process name may contain anything, and ends with the last parenthesis.
        let (_, after) = stat.rsplit_once(')')?;
        let mut fields = after.split_ascii_whitespace();
        let state = fields.next()?;
        let is_gone = matches!(state, "Z" | "X" | "x");
        // The 22nd field, counting the name as the second.
        fields.nth(18)?.parse().ok().filter(|_| !is_gone)
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn machine() -> Option<String> {
        None
    }

    pub(super) fn started(_: u32) -> Option<u64> {
        None
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_dead_when_it_is_gone_and_not_before() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let now = Timestamp::from_micros(1);
        let of = |process: u32| WorkerRecord {
            process,
            started: system::started(process),
            ..WorkerRecord::new("w", Timestamp::from_micros(2))
        };
        let other = of(child.id());
        assert!(other.is_live(now) && !other.is_dead());
        assert!(!other.is_live(Timestamp::from_micros(2)), "its heartbeat is old");
        child.kill().unwrap();
        while !other.is_dead() {
            std::thread::yield_now();
        }
        assert!(!other.is_live(now), "nobody has waited for it yet");
        child.wait().unwrap();
        assert!(other.is_dead());
        // A process that reuses its number is a different one.
        let own = of(std::process::id());
        assert!(!own.is_dead());
        let earlier = WorkerRecord { started: own.started.map(|tick| tick - 1), ..own };
        assert!(earlier.is_dead());
        assert!(other.is_on_this_machine());
        let elsewhere = WorkerRecord { machine: Some("another".to_owned()), ..other };
        assert!(elsewhere.is_live(now) && !elsewhere.is_dead());
        assert!(!elsewhere.is_on_this_machine());
        assert!(WorkerRecord::new("w", Timestamp::NEVER).is_live(now));
    }
}
