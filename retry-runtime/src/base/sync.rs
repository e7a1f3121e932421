//! Synchronization primitives: the standard library's, or, under `--cfg retry_loom`, loom's, which
//! tries every interleaving of threads.
//!
//! The flag is not loom's own `--cfg loom` because that would change tokio too.

use std::sync::{LockResult, PoisonError};

#[cfg(retry_loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicU32, AtomicU64},
};
#[cfg(not(retry_loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard,
    atomic::{AtomicU32, AtomicU64},
};

// Not modelled: nothing depends on the order of accesses to these.
pub(crate) use std::sync::{Arc, OnceLock, atomic::Ordering};

/// Returns the guard of a lock, even if a thread panicked while it held the lock: all that is
/// guarded here is consistent after every statement.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}

/// Locks, whatever happened to other threads that did.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Locks for reading, as [`lock`] does.
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    unpoisoned(lock.read())
}

/// Locks for writing, as [`lock`] does.
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    unpoisoned(lock.write())
}

/// A `const fn`, or a plain one under loom, whose types cannot be created in constants.
macro_rules! const_fn {
    ($(#[$meta:meta])* $vis:vis const fn $($rest:tt)*) => {
        #[cfg(not(retry_loom))]
        $(#[$meta])*
        $vis const fn $($rest)*

        #[cfg(retry_loom)]
        $(#[$meta])*
        $vis fn $($rest)*
    };
}
pub(crate) use const_fn;
