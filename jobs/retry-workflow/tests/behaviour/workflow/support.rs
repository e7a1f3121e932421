//! Handlers for these tests, and counters of their calls.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use retry_workflow::{JobEvent, WaitReason};

pub(super) fn refused() -> io::Error {
    io::ErrorKind::ConnectionRefused.into()
}

pub(super) fn odd(n: u32) -> Result<(), String> {
    if n.is_multiple_of(2) { Ok(()) } else { Err(format!("{n} is odd")) }
}

/// The number of times that each item was handled.
#[derive(Clone, Default)]
pub(super) struct Calls(pub(super) Arc<Mutex<BTreeMap<u32, u32>>>);

impl Calls {
    /// Counts a call, and returns its number.
    pub(super) fn count(&self, item: u32) -> u32 {
        let mut calls = self.0.lock().unwrap();
        let count = calls.entry(item).or_default();
        *count += 1;
        *count
    }

    pub(super) fn sum(&self) -> u32 {
        self.0.lock().unwrap().values().sum()
    }
}

/// The reasons for which the workers of a job have waited, without repetitions.
#[derive(Clone, Default)]
pub(super) struct Waits(Arc<Mutex<Vec<WaitReason>>>);

impl Waits {
    pub(super) fn hear(&self, event: &JobEvent<'_>) {
        if let JobEvent::Progress { waits_for: Some(reason), .. } = event {
            let mut waits = self.0.lock().unwrap();
            let is_same =
                |last: &WaitReason| std::mem::discriminant(last) == std::mem::discriminant(reason);
            if !waits.last().is_some_and(is_same) {
                waits.push(*reason);
            }
        }
    }

    pub(super) fn heard(&self) -> Vec<WaitReason> {
        self.0.lock().unwrap().clone()
    }
}
