//! The work of the part `jobs`, and its report. Our program and that of the peers share this file,
//! because they cannot share a lock file.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The number of runtime threads; fixed, whatever the machine has.
pub(crate) const THREADS: usize = 2;

/// The length of an item as JSON.
const BYTES: usize = 200;

/// An item, which takes no time to handle.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chore {
    /// The number of the item.
    pub(crate) number: u64,
    /// Padding up to a realistic length.
    pub(crate) text: String,
}

impl Chore {
    fn new(number: u64) -> Self {
        let frame = r#"{"number":,"text":""}"#.len() + number.to_string().len();
        Self { number, text: "x".repeat(BYTES.saturating_sub(frame)) }
    }
}

/// This many items, created lazily.
pub(crate) fn chores(count: u64) -> impl Iterator<Item = Chore> + Send {
    (0..count).map(Chore::new)
}

/// Reports to the parent how long it took, how much of that came after the last item had been
/// added, if that is known, and the peak memory.
pub(crate) fn report(all: Duration, handling: Option<Duration>) {
    println!("seconds\t{}", all.as_secs_f64());
    if let Some(handling) = handling {
        println!("handling\t{}", handling.as_secs_f64());
    }
    if let Some(kibibytes) = peak() {
        println!("peak\t{kibibytes}");
    }
}

/// The peak resident set size of this process in KiB; `None` without `/proc`.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
