//! [`MemberId`]: the identity of a process in a fleet.

use core::fmt;
use core::time::Duration;
use std::sync::Arc;

use retry_runtime::random_between;

/// A member of a fleet: one process, from joining to its end. No two are ever the same.
///
/// ```
/// use retry_fleet::MemberId;
///
/// assert_ne!(MemberId::new(), MemberId::new());
/// println!("{}", MemberId::new()); // web-3-4711-9f03c1aa5be2
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MemberId(Arc<str>);

impl MemberId {
    /// Creates the identity of a joining process from its host name, its process id and a random
    /// number.
    #[expect(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        let host = std::env::var("HOSTNAME").ok().filter(|name| !name.is_empty());
        let host = host.or_else(|| std::fs::read_to_string("/etc/hostname").ok());
        let host: String = host.as_deref().unwrap_or("host").trim().chars().take(64).collect();
        let number = random_between(Duration::ZERO, Duration::from_nanos((1 << 48) - 1));
        Self(format!("{host}-{}-{:012x}", std::process::id(), number.as_nanos()).into())
    }

    /// Returns the identity as stored by a hub.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<String> for MemberId {
    fn from(id: String) -> Self {
        Self(id.into())
    }
}

impl fmt::Display for MemberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}
