//! Synchronization primitives: the standard library's, or, under `--cfg retry_loom`, loom's, which
//! tries every interleaving of threads.
//!
//! The flag is not loom's own `--cfg loom` because that would change tokio too.

use std::sync::PoisonError;

#[cfg(retry_loom)]
pub(crate) use loom::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64,
};
#[cfg(not(retry_loom))]
pub(crate) use std::sync::{
    Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, atomic::AtomicU64,
};

// Not modelled: nothing depends on the order of accesses to these.
pub(crate) use std::sync::{Arc, OnceLock, atomic::Ordering};

/// Locks even if a thread panicked while it held the lock: the guarded data is consistent after
/// every statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for reading, under the same condition as [`lock`].
pub(crate) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for writing, under the same condition as [`lock`].
pub(crate) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
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
