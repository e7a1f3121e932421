//! Locks that are good although a thread panicked while it held them.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, whatever happened to other threads that did: what is guarded here is consistent after
/// every statement.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
