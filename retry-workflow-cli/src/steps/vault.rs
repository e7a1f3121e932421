//! [`Vault`]: values with secrets in them, which no store may have, while their items wait.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, PoisonError};

use crate::template::placeholder::Captured;

/// What a list of steps has said and captured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outputs {
    pub(crate) last: Option<String>,
    pub(crate) captured: BTreeMap<String, Captured>,
}

/// Outputs that are in memory alone, by the number of their deposit.
#[derive(Debug, Default)]
pub(crate) struct Vault(Mutex<(u64, HashMap<u64, Outputs>)>);

impl Vault {
    /// Returns the number that [`take`](Self::take) asks for.
    pub(crate) fn put(&self, outputs: Outputs) -> u64 {
        let mut vault = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        vault.0 += 1;
        let number = vault.0;
        vault.1.insert(number, outputs);
        number
    }

    pub(crate) fn take(&self, number: u64) -> Option<Outputs> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.remove(&number)
    }
}
