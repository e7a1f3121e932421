//! The work of the part `jobs`, and what is told of it: the same file in our program and
//! in that of the peers, which cannot share a lock file with us.

use std::fs;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What runs the tasks: as many as the figures are to be of, whatever the machine has.
pub(crate) const THREADS: usize = 2;

/// How long an item is as JSON.
const BYTES: usize = 200;

/// An item; handling it takes no time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Chore {
    /// Which one.
    pub(crate) number: u64,
    /// So that it is as long as items are.
    pub(crate) text: String,
}

impl Chore {
    fn new(number: u64) -> Self {
        let frame = r#"{"number":,"text":""}"#.len() + number.to_string().len();
        Self { number, text: "x".repeat(BYTES.saturating_sub(frame)) }
    }
}

/// So many, each made when it is asked for.
pub(crate) fn chores(count: u64) -> impl Iterator<Item = Chore> + Send {
    (0..count).map(Chore::new)
}

/// Tells the parent how long it took, and how much of that was spent after the last item
/// had been put in, where that can be told apart; and the most memory that was ever used.
pub(crate) fn report(all: Duration, handling: Option<Duration>) {
    println!("seconds\t{}", all.as_secs_f64());
    if let Some(handling) = handling {
        println!("handling\t{}", handling.as_secs_f64());
    }
    if let Some(kibibytes) = peak() {
        println!("peak\t{kibibytes}");
    }
}

/// The largest resident set of this process so far, in KiB; nothing where there is no `/proc`.
fn peak() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
