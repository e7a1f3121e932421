//! [`Identity`]: who a visitor is, and whether they may act.

use std::sync::Arc;

use axum::http::request::Parts;

use super::secret::Secret;

/// Takes who it is from a request that the surrounding program has authenticated.
#[derive(Clone)]
pub(crate) struct ActorOf(pub(crate) Arc<NameOf>);

type NameOf = dyn Fn(&Parts) -> Option<String> + Send + Sync;

retry_rules::partial_debug!(ActorOf);

/// The identity of a visitor.
#[derive(Clone, Debug)]
pub(crate) struct Identity {
    /// Their name, if there is one.
    pub(crate) name: Option<String>,
    /// Set if they may act, where the board allows it.
    pub(crate) acts: bool,
    /// The key that signs what their browser stores.
    pub(crate) secret: Secret,
}

impl Identity {
    /// The name in the events of actions.
    pub(crate) fn who(&self) -> &str {
        self.name.as_deref().unwrap_or("somebody")
    }
}
