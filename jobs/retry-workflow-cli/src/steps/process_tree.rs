//! [`ProcessTree`]: a command with all processes that it starts, including those that have started
//! their own session and those whose parents have ended.
//!
//! A command is the root of a tree of processes. Orphans in that tree become children of this
//! process, which adopts them ([`adopt`]), and are recognised by a variable that they have
//! inherited ([`Mark`]). Without `/proc`, only process groups are known.

use std::collections::HashMap;
use std::io;
use std::process::Command;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
#[cfg(unix)]
use rustix::process::{
    Pid, Signal, getpgid, kill_process, kill_process_group, test_kill_process_group,
};
use tokio::time::{Instant, sleep, timeout_at};

/// The variable that names a worker's keeper; removed for its commands, which are not
/// workers.
pub(crate) const KEEPER: &str = "RETRY_WORKFLOW_KEEPER";
/// The variable that all processes of a command inherit.
const VARIABLE: &str = "RETRY_WORKFLOW_COMMAND";

/// Identifies the processes of a command.
#[derive(Debug)]
struct Mark(String);

impl Mark {
    /// Returns a mark that no other command has.
    fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);

        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(format!("{}.{count}", std::process::id()))
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
struct Awaited(Option<u32>);

/// A process that has just been started.
pub(crate) trait Child {
    /// Its number; `None` if it has been waited for.
    fn number(&self) -> Option<u32>;
}

impl Child for std::process::Child {
    fn number(&self) -> Option<u32> {
        Some(self.id())
    }
}

impl Child for tokio::process::Child {
    fn number(&self) -> Option<u32> {
        self.id()
    }
}

impl Awaited {
    fn start<C: Child>(spawn: impl FnOnce() -> io::Result<C>) -> io::Result<(C, Self)> {
        let _starting = STARTING.read();
        let child = spawn()?;
        let number = child.number();
        if let Some(number) = number {
            *COMMANDS.lock().entry(number).or_default() += 1;
        }
        Ok((child, Self(number)))
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

/// The time between SIGTERM and SIGKILL.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// A child that this process has started and waits for: its process group and, on Linux, all its
/// other descendants. They are killed when this is dropped, unless it is disarmed.
#[derive(Debug)]
pub(crate) struct ProcessTree {
    #[cfg(unix)]
    leader: Option<Pid>,
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "no process can be found by it")
    )]
    mark: Mark,
    _awaited: Awaited,
}

impl ProcessTree {
    /// Starts a command with `spawn`, as the leader of its own process group.
    pub(crate) fn start<C: Child>(
        mut command: Command,
        spawn: impl FnOnce(Command) -> io::Result<C>,
    ) -> io::Result<(C, Self)> {
        let mark = Mark::new();
        command.env_remove(KEEPER).env(VARIABLE, &mark.0);
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let (child, awaited) = Awaited::start(|| spawn(command))?;
        let tree = Self {
            #[cfg(unix)]
            leader: awaited.0.and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)),
            mark,
            _awaited: awaited,
        };
        Ok((child, tree))
    }
}

#[cfg(unix)]
impl ProcessTree {
    /// The running processes that the child has started.
    #[cfg(target_os = "linux")]
    fn processes(&self) -> Vec<Pid> {
        self.leader.map(|leader| of_command(leader, &self.mark)).unwrap_or_default()
    }

    #[cfg(not(target_os = "linux"))]
    fn processes(&self) -> Vec<Pid> {
        Vec::new()
    }

    /// Kills all of them at once.
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
        #[cfg(target_os = "linux")]
        end_all(|| self.processes());
    }

    fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            // It may just have ended by itself.
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Ends the processes with SIGTERM, and after a grace period with SIGKILL.
    ///
    /// They count as gone when the child has ended and both pipes have been read to their end
    /// (`reading`), because then no process holds the pipes. Zombies without a waiting parent may
    /// stay in the process group for longer.
    pub(crate) async fn end(
        &mut self,
        child: &mut tokio::process::Child,
        reading: impl Future<Output = ()>,
    ) {
        let last = Instant::now() + GRACE;
        let elsewhere = self.processes();
        self.signal(Signal::TERM);
        for process in elsewhere {
            let is_in_group = getpgid(Some(process)).ok() == self.leader;
            if !is_in_group {
                let _ = kill_process(process, Signal::TERM);
            }
        }
        let has_ended = async {
            while self.leader.is_some_and(|leader| test_kill_process_group(leader).is_ok()) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // Other processes may need time to clean up as well.
        let is_read = async { tokio::join!(child.wait(), reading) };
        let gone = async {
            tokio::select! {
                () = has_ended => {}
                _ = is_read => {}
            }
        };
        let gone = async {
            gone.await;
            while !self.processes().is_empty() {
                sleep(Duration::from_millis(20)).await;
            }
        };
        let _ = timeout_at(last, gone).await;
        self.kill();
        let _ = child.wait().await;
    }

    /// Leaves processes that the child has left in the background alone.
    pub(crate) fn disarm(&mut self) {
        self.leader = None;
    }
}

#[cfg(unix)]
impl Drop for ProcessTree {
    fn drop(&mut self) {
        if self.leader.is_some() {
            self.kill();
        }
    }
}

#[cfg(not(unix))]
impl ProcessTree {
    /// Kills the child's processes, as far as the system has a way to find them.
    pub(crate) fn kill(&self) {}

    pub(crate) async fn end(
        &mut self,
        child: &mut tokio::process::Child,
        reading: impl Future<Output = ()>,
    ) {
        let _ = tokio::join!(child.kill(), timeout_at(Instant::now() + GRACE, reading));
    }

    pub(crate) fn disarm(&mut self) {}
}

#[cfg(target_os = "linux")]
use linux::of_command;
#[cfg(target_os = "linux")]
pub(crate) use linux::{adopt, below, end_all, reap};

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
    pub(super) fn of_command(leader: Pid, mark: &Mark) -> Vec<Pid> {
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
        let wanted = format!("{VARIABLE}={}", mark.0);
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
            let (mut child, awaited) = Awaited::start(|| Command::new("true").spawn()).unwrap();
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
