//! [`Vault`]: values that contain secrets, which must not be stored, while their items wait.

use std::collections::{BTreeMap, HashMap};

use parking_lot::Mutex;

use crate::template::placeholder::Captured;

/// The last output and the captured outputs of a list of steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    pub(crate) last: Option<String>,
    pub(crate) captured: BTreeMap<String, Captured>,
}

/// Outputs that exist in memory only, by the number of their deposit.
#[derive(Debug, Default)]
pub(crate) struct Vault(Mutex<(u64, HashMap<u64, Outputs>)>);

impl Vault {
    /// Stores outputs, and returns the number to pass to [`take`](Self::take).
    pub(crate) fn put(&self, outputs: Outputs) -> u64 {
        let mut vault = self.0.lock();
        vault.0 += 1;
        let number = vault.0;
        vault.1.insert(number, outputs);
        number
    }

    pub(crate) fn take(&self, number: u64) -> Option<Outputs> {
        self.0.lock().1.remove(&number)
    }
}
