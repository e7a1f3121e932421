//! Finds all descendants of a process, including those that have started their own session and
//! those whose parents have ended.
//!
//! A command is the root of a tree of processes. Orphans in that tree become children of this
//! process, which adopts them ([`adopt`]), and are recognised by a variable that they have
//! inherited ([`Mark`]). Without `/proc`, only process groups are known.

use std::collections::HashMap;
use std::io;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};

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

/// Held for reading while a command is started, so that [`reap`] sees no child that is not in
/// [`COMMANDS`] yet.
static STARTING: RwLock<()> = RwLock::new(());
/// The children that this process has started and waits for, by their process numbers. A number may
/// be in use again before the old child has left.
static COMMANDS: LazyLock<Mutex<HashMap<u32, u32>>> = LazyLock::new(Mutex::default);

/// A child that this process waits for: adopted children are reaped, and this one is not, however
/// late the wait for it is.
#[derive(Debug)]
pub(crate) struct Awaited(Option<u32>);

impl Awaited {
    /// Starts a child with `spawn`; `id` returns its process number.
    pub(crate) fn start<C>(
        spawn: impl FnOnce() -> io::Result<C>,
        id: impl FnOnce(&C) -> Option<u32>,
    ) -> io::Result<(C, Self)> {
        let _starting = STARTING.read();
        let child = spawn()?;
        let id = id(&child);
        if let Some(id) = id {
            *COMMANDS.lock().entry(id).or_default() += 1;
        }
        Ok((child, Self(id)))
    }
}

impl Drop for Awaited {
    fn drop(&mut self) {
        let Some(id) = self.0 else { return };
        let mut commands = COMMANDS.lock();
        if let Some(number) = commands.get_mut(&id) {
            *number -= 1;
            if *number == 0 {
                commands.remove(&id);
            }
        }
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

    use super::{COMMANDS, Mark, STARTING, VARIABLE};

    /// The time limit for ending processes; a process that survives this is blocked in the kernel.
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

    /// Reaps adopted children that have ended. `seen` has the children of the previous call: other
    /// children than commands, which this process waits for at once, are gone by then.
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
        let _none_starts = STARTING.write();
        for process in ended.intersection(seen).filter(|process| !is_awaited(**process)) {
            let _ = waitpid(Some(*process), WaitOptions::NOHANG);
        }
        *seen = ended;
    }

    /// Returns whether a child is a command whose end is awaited. On a busy machine, the wait may
    /// be seconds late, and needs the status.
    fn is_awaited(process: Pid) -> bool {
        let id = u32::try_from(process.as_raw_nonzero().get());
        id.is_ok_and(|id| COMMANDS.lock().contains_key(&id))
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

    #[cfg(test)]
    mod tests {
        use std::process::Command;

        use super::super::Awaited;
        use super::*;

        fn pid(child: &std::process::Child) -> Pid {
            Pid::from_child(child)
        }

        #[test]
        fn a_child_is_awaited_from_its_start_to_its_last_wait() {
            let start = || {
                let id = |child: &std::process::Child| Some(child.id());
                Awaited::start(|| Command::new("true").spawn(), id).unwrap()
            };
            let (mut child, awaited) = start();
            // A zombie for as long as the wait is late.
            while !process(pid(&child).as_raw_nonzero().get()).unwrap().ended {
                sleep(Duration::from_millis(1));
            }
            assert!(is_awaited(pid(&child)));
            assert!(child.wait().unwrap().success());
            // Its number is in use again, before it has left.
            *COMMANDS.lock().get_mut(&child.id()).unwrap() += 1;
            drop(awaited);
            assert!(is_awaited(pid(&child)), "the new one");
            drop(Awaited(Some(child.id())));
            assert!(!is_awaited(pid(&child)));
        }
    }
}
