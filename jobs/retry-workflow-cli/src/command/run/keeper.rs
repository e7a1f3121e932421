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
pub(crate) fn is_orphan(_: u32) -> bool {
    false
}

#[cfg(not(target_os = "linux"))]
impl WorkerTasks {
    pub(crate) fn begin(self, _: &tokio::runtime::Runtime) {}
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{begin, is_orphan};

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

    use super::{Role, WorkerTasks};
    use crate::command::run::signals::{FORWARDED, HANGUP, REQUESTS, SignalSet, hangup};
    use crate::steps::process::end_of_commands;
    use crate::steps::process_tree::{KEEPER, adopt, below, end_all, reap};
    use crate::steps::temporary;

    /// Tells the worker that its keeper has ended.
    const ORPHANED: Signal = Signal::USR2;
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

    /// Returns whether this process is a worker whose keeper has ended, so that it will end as well.
    pub(crate) fn is_orphan(process: u32) -> bool {
        let read = |name: &str| std::fs::read(format!("/proc/{process}/{name}")).ok();
        let keeper = read("environ").and_then(|variables| {
            let variables = String::from_utf8_lossy(&variables).into_owned();
            let prefix = format!("{KEEPER}=");
            variables.split('\0').find_map(|one| one.strip_prefix(&prefix)?.parse::<i32>().ok())
        });
        let parent = read("stat").and_then(|stat| {
            // The fourth field; the name before it may contain anything.
            let stat = String::from_utf8_lossy(&stat).into_owned();
            stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse::<i32>().ok()
        });
        matches!((keeper, parent), (Some(keeper), Some(parent)) if keeper != parent)
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
}
