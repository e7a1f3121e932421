//! Families of breakers, for the report. They are defined in a module above this one; each family
//! registers itself when it is first used.

use std::sync::{Arc, Mutex, Weak};

use crate::base::name::Name;
use crate::base::sync::unpoisoned;
use crate::event::snapshot::Snapshot;

/// Something with members to report.
pub(crate) trait Family: Send + Sync {
    /// Its name.
    fn name(&self) -> Name;

    /// Its members, in the order in which they are shown.
    fn members(&self) -> Vec<Snapshot>;
}

static FAMILIES: Mutex<Vec<Weak<dyn Family>>> = Mutex::new(Vec::new());

/// Adds a family, for as long as something else keeps it alive.
pub(crate) fn register<F: Family + 'static>(family: &Arc<F>) {
    let family: Weak<F> = Arc::downgrade(family);
    let mut all = unpoisoned(FAMILIES.lock());
    all.retain(|other| other.strong_count() > 0);
    all.push(family);
}

/// All families that exist now, by name.
pub(crate) fn families() -> Vec<Arc<dyn Family>> {
    let all = unpoisoned(FAMILIES.lock());
    let mut families: Vec<_> = all.iter().filter_map(Weak::upgrade).collect();
    drop(all);
    families.sort_by_key(|family| family.name());
    families
}

/// Returns a snapshot of each breaker of all families in use, ordered by family and key.
///
/// [`Breakers::snapshots`](crate::Breakers::snapshots) returns the breakers of one family.
///
/// ```
/// use retry_runtime::{BreakerConfig, Breakers, State, family_breakers};
///
/// static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 1_000);
///
/// HOSTS.of("a.example").force_open();
/// let all = family_breakers();
/// let breaker = all.iter().find(|breaker| *breaker.name == *"hosts[a.example]").unwrap();
/// assert_eq!(breaker.state, State::Open);
/// ```
pub fn family_breakers() -> Vec<Snapshot> {
    families().iter().flat_map(|family| family.members()).collect()
}
