//! Changes for what one task does, on top of those in force.

use core::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use retry_rules::file::Draft;
use retry_rules::{Fields, Policy};

use super::layer::{self, Checked};
use crate::site::Site;

tokio::task_local! {
    /// The scopes around what runs, the innermost last.
    static SCOPES: Arc<[Arc<Checked>]>;
}

/// Runs `future` with these on top.
pub(super) async fn around<F: Future>(checked: Arc<Checked>, future: F) -> F::Output {
    // Which scopes are around is known when it is polled, not when it is made.
    SCOPES.scope(within(checked), future).await
}

/// The same for what is called without an await.
pub(super) fn around_sync<R>(checked: Arc<Checked>, run: impl FnOnce() -> R) -> R {
    SCOPES.sync_scope(within(checked), run)
}

/// Whether there has ever been a scope. Calls with a `timeout`, a `deadline` or a
/// `context` ask before anything has failed, so that it has to cost little.
static EVER: AtomicBool = AtomicBool::new(false);

/// The scopes that are around, and this one.
fn within(checked: Arc<Checked>) -> Arc<[Arc<Checked>]> {
    EVER.store(true, Ordering::Relaxed);
    let around = SCOPES.try_with(Arc::clone).unwrap_or_default();
    around.iter().cloned().chain([checked]).collect()
}

/// What the scopes around make of the policy in force; `None`: nothing.
pub(super) fn over(site: &'static Site, in_force: &Policy) -> Option<Policy> {
    // Who is inside a scope has entered it on the way here.
    if !EVER.load(Ordering::Relaxed) {
        return None;
    }
    SCOPES
        .try_with(|scopes| {
            let drafts = scopes.iter().filter_map(|checked| checked.draft(site));
            drafts
                .fold(None, |policy, draft| Some(on_top(site, &policy.unwrap_or(*in_force), draft)))
        })
        .ok()
        .flatten()
}

/// What a scope makes of a policy. It was judged by itself, over the compiled policy;
/// together with others it may still break a rule, as `attempts: unlimited` over waits
/// of 0s would. Then it goes alone.
fn on_top(site: &Site, policy: &Policy, draft: &Draft) -> Policy {
    let both = draft.written_over(*policy);
    let sound =
        site.compiled().is_none_or(|compiled| layer::judge(&both, Fields::NONE, compiled).is_ok());
    if sound { both.policy() } else { draft.policy() }
}
