//! Processor time of children: what they cost whatever else the machine does.

use std::fs;
use std::time::Duration;

/// Linux counts in hundredths of a second for whoever reads `/proc`.
const TICK: Duration = Duration::from_millis(10);

/// What all children have used that have ended; nothing where there is no `/proc`.
pub fn used_by_children() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name, which may have spaces in it; `cutime` and `cstime`
    // are the 16th and the 17th (proc_pid_stat(5)).
    let (_, after_the_name) = stat.rsplit_once(')')?;
    let ticks = after_the_name.split_whitespace().skip(13).take(2);
    let ticks = ticks.map(|field| field.parse::<u32>().ok()).sum::<Option<u32>>()?;
    Some(TICK * ticks)
}
