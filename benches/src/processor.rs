//! The processor time of child processes, which does not depend on what else the machine does.

use std::fs;
use std::time::Duration;

/// Linux reports times in `/proc` in hundredths of a second.
const TICK: Duration = Duration::from_millis(10);

/// The processor time of all child processes that have ended; `None` without `/proc`.
pub fn used_by_children() -> Option<Duration> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    // The second field is a name, which may contain spaces; `cutime` and `cstime` are fields 16 and
    // 17 (proc_pid_stat(5)).
    let (_, after_the_name) = stat.rsplit_once(')')?;
    let ticks = after_the_name.split_whitespace().skip(13).take(2);
    let ticks = ticks.map(|field| field.parse::<u32>().ok()).sum::<Option<u32>>()?;
    Some(TICK * ticks)
}
