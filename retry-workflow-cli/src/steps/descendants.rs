//! Finds all descendants of a process, including those that have started their own session and
//! those whose parents have ended.
//!
//! A command is the root of a tree of processes. Orphans in that tree become children of this
//! process, which adopts them ([`adopt`]), and are recognised by a variable that they have
//! inherited ([`Mark`]). Without `/proc`, only process groups are known.

use std::sync::atomic::{AtomicU64, Ordering};

/// The variable that all processes of a command inherit.
pub(crate) const VARIABLE: &str = "RETRY_WORKFLOW_COMMAND";

/// Identifies the processes of a command.
#[derive(Clone, Debug)]
pub(crate) struct Mark(String);

impl Mark {
    /// Returns a mark that no other command has.
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);

        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}.{count}", std::process::id()))
    }

    /// The value of the variable.
    pub(crate) fn value(&self) -> &str {
        &self.0
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{adopt, below, end_all, of_command, reap};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{HashMap, HashSet};
    use std::fs;
    use std::io;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use rustix::process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, set_child_subreaper,
        waitid, waitpid,
    };

    use super::{Mark, VARIABLE};

    /// How long to try to end processes; a process that survives this is blocked in the kernel.
    const LONGEST: Duration = Duration::from_secs(5);

    /// A process, as listed by the system.
    struct Process {
        id: Pid,
        parent: Option<Pid>,
        /// A zombie: it has ended, but its parent has not waited for it.
        ended: bool,
    }

    /// Makes this process the parent of its orphaned descendants.
    pub(crate) fn adopt() -> io::Result<()> {
        Ok(set_child_subreaper(Some(getpid()))?)
    }

    /// All running descendants of this process.
    pub(crate) fn below(root: Pid) -> Vec<Pid> {
        running(&processes(), [root])
    }

    /// All running processes of a command, including the command itself.
    pub(crate) fn of_command(leader: Pid, mark: &Mark) -> Vec<Pid> {
        let all = processes();
        let marked = all.iter().filter(|process| !process.ended && is_marked(process.id, mark));
        let mut found: HashSet<_> = marked.map(|process| process.id).collect();
        let below = running(&all, found.iter().copied().chain([leader]));
        found.extend(below);
        found.into_iter().collect()
    }

    /// Ends all of these processes, and those that they start in the meantime, until none is left.
    pub(crate) fn end_all(find: impl Fn() -> Vec<Pid>) {
        let last = Instant::now() + LONGEST;
        loop {
            let found = find();
            if found.is_empty() || Instant::now() > last {
                return;
            }
            for process in found {
                // It may just have ended by itself.
                let _ = kill_process(process, Signal::KILL);
            }
            sleep(Duration::from_millis(2));
        }
    }

    /// Reaps adopted children that have ended. `seen` has those of the previous call: a zombie that
    /// is still there by then is one that no other part of this process waits for.
    pub(crate) fn reap(seen: &mut HashSet<Pid>) {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if !matches!(waitid(WaitId::All, options), Ok(Some(_))) {
            seen.clear();
            return;
        }
        let own = getpid();
        let ended = |process: &Process| process.ended && process.parent == Some(own);
        let ended: HashSet<_> =
            processes().into_iter().filter(ended).map(|process| process.id).collect();
        for process in ended.intersection(seen) {
            let _ = waitpid(Some(*process), WaitOptions::NOHANG);
        }
        *seen = ended;
    }

    fn running(all: &[Process], roots: impl IntoIterator<Item = Pid>) -> Vec<Pid> {
        let mut children = HashMap::<Pid, Vec<&Process>>::new();
        for process in all {
            if let Some(parent) = process.parent {
                children.entry(parent).or_default().push(process);
            }
        }
        let mut found = Vec::new();
        let mut open: Vec<_> = roots.into_iter().collect();
        while let Some(parent) = open.pop() {
            for process in children.remove(&parent).unwrap_or_default() {
                open.push(process.id);
                if !process.ended {
                    found.push(process.id);
                }
            }
        }
        found
    }

    fn processes() -> Vec<Process> {
        let Ok(folder) = fs::read_dir("/proc") else { return Vec::new() };
        let id = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
        folder.filter_map(id).filter_map(process).collect()
    }

    fn process(id: i32) -> Option<Process> {
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        // The format is `id (name) state parent …`; the name may contain anything.
        let (_, rest) = stat.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let ended = matches!(fields.next()?, "Z" | "X");
        let parent = Pid::from_raw(fields.next()?.parse().ok()?);
        Some(Process { id: Pid::from_raw(id)?, parent, ended })
    }

    fn is_marked(process: Pid, mark: &Mark) -> bool {
        let path = format!("/proc/{}/environ", process.as_raw_nonzero());
        // The environment of other users' processes cannot be read.
        let Ok(variables) = fs::read(path) else { return false };
        let wanted = format!("{VARIABLE}={}", mark.value());
        variables.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes())
    }
}
