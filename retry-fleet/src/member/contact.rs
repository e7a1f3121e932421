//! The connection to the hub: each request has a time limit, and losing the hub and getting it back
//! are each reported once.

use std::sync::Arc;

use tokio::time::{Instant, timeout};

use crate::hub::{AnyHub, Beat, Changed, HubError, HubResult, View};
use crate::observe::{FleetEvent, Listeners};
use crate::rules::fleet_breaker::Change;
use crate::rules::member_id::MemberId;
use crate::rules::timing::REQUEST;

/// The identity of this member, and its connection to the hub.
pub(crate) struct Contact {
    pub(crate) fleet: String,
    pub(crate) id: MemberId,
    pub(crate) hub: Arc<dyn AnyHub>,
    pub(crate) listeners: Listeners,
}

impl Contact {
    pub(crate) async fn poll(&self, beat: &Beat) -> HubResult<View> {
        within(self.hub.poll(&self.fleet, beat)).await
    }

    pub(crate) async fn change(&self, breaker: &str, change: Change) -> HubResult<Changed> {
        within(self.hub.change(&self.fleet, breaker, &self.id, change)).await
    }

    pub(crate) async fn leave(&self) -> HubResult<()> {
        within(self.hub.leave(&self.fleet, &self.id)).await
    }

    pub(crate) fn emit(&self, event: &FleetEvent<'_>) {
        self.listeners.emit(event);
    }
}

async fn within<T>(answer: impl Future<Output = HubResult<T>>) -> HubResult<T> {
    timeout(REQUEST, answer).await.unwrap_or(Err(HubError::Timeout(REQUEST)))
}

/// The moment at which the hub stopped answering.
#[derive(Debug, Default)]
pub(crate) struct Outage(Option<Instant>);

impl Outage {
    /// Records the result of a request, and reports when the hub is lost or back.
    pub(crate) fn note(&mut self, contact: &Contact, error: Option<&HubError>) {
        let fleet = contact.fleet.as_str();
        match (error, self.0) {
            (Some(error), None) => {
                self.0 = Some(Instant::now());
                contact.emit(&FleetEvent::HubLost { fleet, error });
            }
            (None, Some(since)) => {
                self.0 = None;
                contact.emit(&FleetEvent::HubBack { fleet, after: since.elapsed() });
            }
            _ => {}
        }
    }
}
