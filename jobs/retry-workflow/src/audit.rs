//! Events of `tracing` for the actions of users on jobs and their items.
//!
//! Each is of the target [`TARGET`], at the level `INFO`, and has the fields `user`, `action`,
//! `object` and `count`, the number of items that changed. An [`Operator`](crate::Operator) emits
//! one for each of its actions. One that fails once nobody waits for it, as a cancellation on the
//! board may, has the level `ERROR`, and `error` in place of `count`.

/// The target of the events.
pub const TARGET: &str = "retry_workflow::audit";

/// Emits the event of an action, which has been taken.
///
/// ```
/// retry_workflow::audit::record("ada", "pause", "job import-1", 0);
/// ```
pub fn record(user: &str, action: &str, object: &str, count: u64) {
    tracing::info!(target: TARGET, user, action, object, count);
}
