//! The common parts of all options: their names in messages.

pub(crate) mod backoff;
pub(crate) mod breaker;
pub(crate) mod check;
pub(crate) mod hedge;
pub(crate) mod jitter;
pub(crate) mod matcher;
pub(crate) mod settings;

/// Formats the names as `` `attempts`, `backoff` ``.
pub(crate) fn listed(options: &[&str]) -> String {
    let names: Vec<_> = options.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
}
