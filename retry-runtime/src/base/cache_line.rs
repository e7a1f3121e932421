//! [`CacheLine`]: keeps threads that write from disturbing those that read something else.

/// Starts a new cache line, so that threads that write to it do not disturb those that only read
/// what is beside it.
#[repr(align(64))]
pub(crate) struct CacheLine<T>(pub(crate) T);
