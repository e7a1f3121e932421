//! A command that runs jobs consists of two processes: the keeper, which the caller sees, and its
//! child, the worker, which does everything. If either of them is killed, the other one ends what
//! the commands of the job have started.
//!
//! If the worker is killed, its descendants become children of the keeper, which ends them. If the
//! keeper is killed, the worker gets a signal, ends its commands itself, and exits. The keeper
//! forwards its signals to the worker, and exits the way the worker does.
//!
//! A terminal sends Ctrl-C to both processes, and a service manager stops both. The worker
//! therefore counts the signals that it receives directly and those that are forwarded separately
//! (see `signals`).

use std::process::ExitCode;

/// The role of this process.
pub(crate) enum Role {
    /// The worker has exited with this code.
    Keeper(ExitCode),
    /// This process is the worker, with these tasks beside its work.
    Worker(WorkerTasks),
}

/// The tasks of a worker beside its work.
pub(crate) struct WorkerTasks {
    #[cfg(target_os = "linux")]
    keeper: Option<rustix::process::Pid>,
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn begin() -> Role {
    Role::Worker(WorkerTasks {})
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn is_ending(_: &retry_workflow::job::WorkerRecord) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
impl WorkerTasks {
    pub(crate) fn begin(self, _: &tokio::runtime::Runtime) {}
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{begin, is_ending};

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashSet;
    use std::io;
    use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
    use std::path::PathBuf;
    use std::process::{Command, ExitCode, ExitStatus};
    use std::time::Duration;

    use rustix::process::{
        Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal,
    };
    use tokio::runtime::{Builder, Runtime};

    use retry_workflow::job::WorkerRecord;

    use super::{Role, WorkerTasks};
    use crate::command::run::signals::{FORWARDED, HANGUP, REQUESTS, SignalSet, hangup};
    use crate::steps::process::end_of_commands;
    use crate::steps::process_tree::{KEEPER, adopt, below, end_all, reap};
    use crate::steps::temporary;

    /// Tells the worker that its keeper has ended.
    const ORPHANED: Signal = Signal::PROF;
    /// The interval at which adopted processes that have ended are reaped.
    const REAP_INTERVAL: Duration = Duration::from_secs(1);

    /// Starts this program once more as the worker, and watches it until it ends. If that is not
    /// possible, this process becomes the worker.
    pub(crate) fn begin() -> Role {
        if let Some(keeper) = keeper() {
            let registered = set_parent_process_death_signal(Some(ORPHANED));
            if registered.is_ok() && getppid() != Some(keeper) {
                // The keeper had ended before the signal was set up.
                return Role::Keeper(ExitCode::FAILURE);
            }
            let _ = adopt();
            return Role::Worker(WorkerTasks { keeper: Some(keeper) });
        }
        match keep() {
            Ok(code) => Role::Keeper(code),
            Err(_) => Role::Worker(WorkerTasks { keeper: None }),
        }
    }

    /// The keeper that started this process, if there is one.
    fn keeper() -> Option<Pid> {
        let named = std::env::var(KEEPER).ok()?.parse().ok().and_then(Pid::from_raw);
        // Commands of a worker inherit the variable, but the keeper is not their parent.
        named.filter(|named| getppid() == Some(*named))
    }

    /// Returns whether this worker is about to end, or has just ended: its keeper has ended, or its
    /// process is exiting.
    pub(crate) fn is_ending(worker: &WorkerRecord) -> bool {
        worker.is_on_this_machine() && is_process_ending(worker.process)
    }

    fn is_process_ending(process: u32) -> bool {
        let read = |name: &str| std::fs::read(format!("/proc/{process}/{name}"));
        let is_gone = |error: &io::Error| {
            let no_such_process = Some(rustix::io::Errno::SRCH.raw_os_error());
            error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == no_such_process
        };
        match (read("environ"), read("stat")) {
            // The memory of a process is freed before its number.
            (Ok(variables), _) if variables.is_empty() => true,
            (Ok(variables), Ok(stat)) => {
                let pair = keeper_in(&variables).zip(parent_in(&stat));
                pair.is_some_and(|(keeper, parent)| keeper != parent)
            }
            (Err(error), _) | (_, Err(error)) => is_gone(&error),
        }
    }

    /// The keeper that the environment of a worker names.
    fn keeper_in(variables: &[u8]) -> Option<i32> {
        let variables = String::from_utf8_lossy(variables);
        let prefix = format!("{KEEPER}=");
        variables.split('\0').find_map(|one| one.strip_prefix(&prefix)?.parse().ok())
    }

    /// The parent of a process, the fourth field of its `stat`; the name before it may contain
    /// anything.
    fn parent_in(stat: &[u8]) -> Option<i32> {
        let stat = String::from_utf8_lossy(stat);
        stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
    }

    fn keep() -> io::Result<ExitCode> {
        adopt()?;
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let (status, passed) = runtime.block_on(work())?;
        drop(runtime);
        let Some(number) = status.signal() else {
            return Ok(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1).into());
        };
        end_all(|| below(getpid()));
        temporary::remove_left_over();
        // For a forwarded signal, use the number of the original one.
        let number = if number == FORWARDED.as_raw() { passed.unwrap_or(number) } else { number };
        if number != HANGUP
            && !REQUESTS.contains(&number)
            && let Some(signal) = Signal::from_named_raw(number)
        {
            let _ = kill_process(getpid(), signal);
        }
        // The exit code that a shell would report.
        Ok(u8::try_from(128 + number).unwrap_or(1).into())
    }

    /// Runs the worker to its end, and returns its status and the last signal that was forwarded.
    async fn work() -> io::Result<(ExitStatus, Option<i32>)> {
        let mut signals = SignalSet::new(&[REQUESTS, hangup()].concat())?;
        let program = std::env::current_exe().ok().filter(|path| path.exists());
        let mut arguments = std::env::args_os();
        let mut command = Command::new(program.unwrap_or_else(|| PathBuf::from("/proc/self/exe")));
        if let Some(name) = arguments.next() {
            command.arg0(name);
        }
        command.args(arguments).env(KEEPER, std::process::id().to_string());
        let mut worker = tokio::process::Command::from(command).spawn()?;
        let id = worker.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        let mut passed = None;
        loop {
            let number = tokio::select! {
                status = worker.wait() => return Ok((status?, passed)),
                number = signals.next() => number,
            };
            passed = Some(number);
            // A hangup may arrive several times; it is still one request.
            let with = if number == HANGUP { Signal::HUP } else { FORWARDED };
            if let Some(id) = id {
                let _ = kill_process(id, with);
            }
        }
    }

    impl WorkerTasks {
        /// Watches for the end of the keeper, and reaps adopted children that have ended.
        pub(crate) fn begin(self, runtime: &Runtime) {
            let Some(keeper) = self.keeper else { return };
            runtime.spawn(async move {
                let Ok(mut orphaned) = SignalSet::new(&[ORPHANED.as_raw()]) else { return };
                // The keeper may have ended before the handler was installed.
                while getppid() == Some(keeper) {
                    orphaned.next().await;
                }
                end_of_commands();
                end_all(|| below(getpid()));
                temporary::remove();
                let _ = kill_process(getpid(), Signal::KILL);
            });
            runtime.spawn(async {
                let mut seen = HashSet::new();
                loop {
                    tokio::time::sleep(REAP_INTERVAL).await;
                    reap(&mut seen);
                }
            });
        }
    }

    #[cfg(test)]
    mod tests {
        use std::io::{Read as _, Write as _};
        use std::process::{Child, Stdio};

        use super::*;

        /// Starts a process, and waits until it has been loaded: before, it has no environment.
        fn process(keeper: u32) -> Child {
            let mut cat = Command::new("cat");
            cat.env(KEEPER, keeper.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
            let mut cat = cat.spawn().unwrap();
            cat.stdin.as_mut().unwrap().write_all(b".").unwrap();
            cat.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
            cat
        }

        #[test]
        fn a_process_is_ending_once_it_is_killed() {
            let mut child = process(std::process::id());
            assert!(!is_process_ending(child.id()));
            child.kill().unwrap();
            while !is_process_ending(child.id()) {
                std::thread::yield_now();
            }
            child.wait().unwrap();
            assert!(is_process_ending(child.id()), "its number is free");
        }

        #[test]
        fn a_worker_is_ending_if_its_keeper_is_not_its_parent() {
            let mut worker = process(1);
            assert!(is_process_ending(worker.id()));
            worker.kill().unwrap();
            worker.wait().unwrap();
        }
    }
}
