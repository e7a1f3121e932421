//! Changes for a single task, on top of those in force.

use core::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use retry_rules::{Fields, Policy};

use super::layer::{self, Checked};
use crate::site::Site;

tokio::task_local! {
    /// The scopes around the running code, innermost last.
    static SCOPES: Arc<[Arc<Checked>]>;
}

/// Runs `future` with these overrides on top.
pub(super) async fn around<F: Future>(checked: Arc<Checked>, future: F) -> F::Output {
    // Read when the future is polled, not when it is created.
    SCOPES.scope(within(checked), future).await
}

/// Like [`around`], for synchronous code.
pub(super) fn around_sync<R>(checked: Arc<Checked>, run: impl FnOnce() -> R) -> R {
    SCOPES.sync_scope(within(checked), run)
}

/// Set if there has ever been a scope. Calls with a `timeout`, a `deadline` or a `context` check
/// it before anything has failed, so this must be cheap.
static EVER: AtomicBool = AtomicBool::new(false);

/// The current scopes, with this one added.
fn within(checked: Arc<Checked>) -> Arc<[Arc<Checked>]> {
    EVER.store(true, Ordering::Relaxed);
    let around = SCOPES.try_with(Arc::clone).unwrap_or_default();
    around.iter().cloned().chain([checked]).collect()
}

/// Returns whether there is a scope that sets one of these fields of the function's policy.
pub(super) fn sets(site: &'static Site, fields: Fields) -> bool {
    let sets = |scopes: &Arc<[Arc<Checked>]>| {
        let mut drafts = scopes.iter().filter_map(|checked| checked.draft(site));
        drafts.any(|draft| draft.written().intersects(fields))
    };
    EVER.load(Ordering::Relaxed) && SCOPES.try_with(sets).unwrap_or_default()
}

/// The policy in force with the current scopes applied; `None` if they do not change it.
pub(super) fn over(site: &'static Site, in_force: &Policy) -> Option<Policy> {
    // Code inside a scope has entered it before, so it sees the flag.
    if !EVER.load(Ordering::Relaxed) {
        return None;
    }
    SCOPES
        .try_with(|scopes| {
            let drafts = scopes.iter().filter_map(|checked| checked.draft(site));
            let over = |policy: Option<Policy>, draft| {
                Some(layer::over(site, policy.as_ref().unwrap_or(in_force), draft))
            };
            drafts.fold(None, over)
        })
        .ok()
        .flatten()
}
