//! Names that the runtime keeps for the life of the program: those of workflows.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

/// The same name, for ever. A program has few workflows, and each name is kept once.
pub(crate) fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<Option<HashSet<&'static str>>> = Mutex::new(None);

    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    let names = names.get_or_insert_default();
    if let Some(known) = names.get(name) {
        return known;
    }
    let kept: &'static str = Box::leak(name.into());
    names.insert(kept);
    kept
}
