//! Keys of other tools and libraries. None of them is accepted; an error about one names the key to
//! write.

use retry_rules::foreign_names::{BACKOFF, BREAKER, RETRY, WORKFLOW, cures, in_file};
use retry_rules::suggest::nearest;

/// Returns what to write for a key that is called `key` in another tool or library and has the
/// value `written` there, if it is one of the `known` keys.
pub(crate) fn key_of_others(key: &str, written: &str, known: &[&str]) -> Option<String> {
    let cures = |table| cures(key, written, table).map(|cure| in_file(&cure));
    // A word that is common to both means what it means in the tool: `when` is also a predicate.
    let of_tools = cures(BACKOFF).chain(cures(WORKFLOW)).find(|cure| known.contains(&name(cure)));
    let is_misspelt = || nearest(key, known.iter().copied()).is_some();
    of_tools.or_else(|| {
        // The names of retries, and of a step with retries.
        cures(RETRY).chain(cures(BREAKER)).find_map(|cure| {
            if known.contains(&name(&cure)) {
                return Some(cure);
            }
            let is_in_config =
                known.contains(&"retry_config") && is_setting(name(&cure)) && !is_misspelt();
            let value = if cure.contains(':') { "" } else { ": …" };
            is_in_config.then(|| format!("retry_config: {{ {cure}{value} }}"))
        })
    })
}

/// The key of a cure.
fn name(cure: &str) -> &str {
    cure.split(':').next().unwrap_or_default()
}

/// Returns whether this is a setting of how a step is retried.
fn is_setting(name: &str) -> bool {
    ["attempts", "backoff", "initial_delay", "max_delay", "jitter"].contains(&name)
}
