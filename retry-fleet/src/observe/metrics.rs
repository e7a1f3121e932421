//! The metrics of a fleet, through the `metrics` facade.
//!
//! | name | kind | labels | |
//! | --- | --- | --- | --- |
//! | `retry_fleet_members` | gauge | `fleet` | live members, as this one knows |
//! | `retry_fleet_hub_up` | gauge | `fleet` | 1 while the hub answers, else 0 |
//! | `retry_fleet_breaker_total` | counter | `fleet`, `breaker`, `event` | what this member did for all: `opened`, `probing`, `reopened`, `closed` |

use ::metrics::{counter, describe_counter, describe_gauge, gauge};

use super::FleetEvent;

const MEMBERS: &str = "retry_fleet_members";
const HUB_UP: &str = "retry_fleet_hub_up";
const BREAKER: &str = "retry_fleet_breaker_total";

/// Describes the metrics to the recorder. Call it once, after the recorder is installed.
///
/// ```
/// retry_fleet::metrics::describe();
/// ```
pub fn describe() {
    describe_gauge!(MEMBERS, "Live members of a fleet");
    describe_gauge!(HUB_UP, "1 while the hub of a fleet answers");
    describe_counter!(BREAKER, "What this member did for all with a circuit breaker");
}

pub(crate) fn members(fleet: &str, members: u32) {
    gauge!(MEMBERS, "fleet" => fleet.to_owned()).set(f64::from(members));
}

pub(crate) fn hub_up(fleet: &str, up: bool) {
    gauge!(HUB_UP, "fleet" => fleet.to_owned()).set(if up { 1.0 } else { 0.0 });
}

pub(crate) fn count(event: &FleetEvent<'_>) {
    let (fleet, breaker, event) = match *event {
        FleetEvent::HubLost { fleet, .. } => return hub_up(fleet, false),
        FleetEvent::HubBack { fleet, .. } => return hub_up(fleet, true),
        FleetEvent::Opened { fleet, breaker, .. } => (fleet, breaker, "opened"),
        FleetEvent::Probing { fleet, breaker } => (fleet, breaker, "probing"),
        FleetEvent::Reopened { fleet, breaker, .. } => (fleet, breaker, "reopened"),
        FleetEvent::Closed { fleet, breaker } => (fleet, breaker, "closed"),
        FleetEvent::NameTaken { .. } => return,
    };
    let (fleet, breaker) = (fleet.to_owned(), breaker.to_owned());
    counter!(BREAKER, "fleet" => fleet, "breaker" => breaker, "event" => event).increment(1);
}
