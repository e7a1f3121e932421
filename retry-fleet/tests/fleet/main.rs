//! Fleets of many members in one process, on virtual time.

mod breakers;
mod membership;
mod outage;
mod simulation;
mod support;

mod contract {
    retry_tests_contract::hub_contract!(paused, async || Some((retry_fleet::MemoryHub::new(), ())));
}
