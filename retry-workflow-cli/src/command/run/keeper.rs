//! A command that works is two processes: the keeper, which the caller knows, and its child, the
//! worker, which does everything. Whichever of them is killed, the other one ends what the
//! commands of the job have started.
//!
//! If the worker is killed, its commands and theirs become the keeper's children, which it ends.
//! If the keeper is killed, a signal informs the worker, which ends them itself, and dies. Signals
//! to the keeper are passed on, and the worker's end is the keeper's.
//!
//! A terminal sends Ctrl-C to both, and a service manager its end to all. So the worker counts
//! what it is sent and what is passed on by itself (see `signals`).

use std::process::ExitCode;

/// What this process is.
pub(crate) enum Role {
    /// The worker has ended in this way.
    Keeper(ExitCode),
    /// The one that is to do the work, with what there is to be done beside it.
    Worker(Duties),
}

/// What a worker does beside its work.
pub(crate) struct Duties {
    #[cfg(target_os = "linux")]
    keeper: Option<rustix::process::Pid>,
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn begin() -> Role {
    Role::Worker(Duties {})
}

#[cfg(not(target_os = "linux"))]
impl Duties {
    pub(crate) fn begin(self, _: &tokio::runtime::Runtime) {}
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{begin, passed_on};

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
    use tokio::signal::unix::{SignalKind, signal};

    use super::{Duties, Role};
    use crate::command::run::signals::outlives_its_terminal;
    use crate::steps::descendants::{adopt, below, end_all, reap};
    use crate::steps::process::{KEEPER, end_of_commands};

    /// Tells the worker that its keeper has ended.
    const ORPHANED: Signal = Signal::USR2;
    /// Passes on one of the signals that ask for an end.
    const PASSED_ON: Signal = Signal::USR1;
    /// How often what has ended of the adopted is asked after.
    const REAPED: Duration = Duration::from_secs(1);

    /// Which signal passes on another one.
    pub(crate) fn passed_on() -> SignalKind {
        SignalKind::from_raw(PASSED_ON.as_raw())
    }

    /// Runs this program once more, as the worker, and keeps it until it ends. Where that cannot
    /// be done, this process works by itself.
    pub(crate) fn begin() -> Role {
        if let Some(keeper) = keeper() {
            let told = set_parent_process_death_signal(Some(ORPHANED));
            if told.is_ok() && getppid() != Some(keeper) {
                // It has ended before it could be registered.
                return Role::Keeper(ExitCode::FAILURE);
            }
            let _ = adopt();
            return Role::Worker(Duties { keeper: Some(keeper) });
        }
        match keep() {
            Ok(code) => Role::Keeper(code),
            Err(_) => Role::Worker(Duties { keeper: None }),
        }
    }

    /// The keeper that has started this process, if one has.
    fn keeper() -> Option<Pid> {
        let named = std::env::var(KEEPER).ok()?.parse().ok().and_then(Pid::from_raw);
        // A command of a worker inherits the variable of nobody: it is another parent's.
        named.filter(|named| getppid() == Some(*named))
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
        // What was passed on has its own name.
        let number = if number == PASSED_ON.as_raw() { passed.unwrap_or(number) } else { number };
        let own = [Signal::INT, Signal::TERM, Signal::QUIT, Signal::HUP];
        if let Some(signal) = Signal::from_named_raw(number).filter(|signal| !own.contains(signal))
        {
            let _ = kill_process(getpid(), signal);
        }
        // As a shell tells it.
        Ok(u8::try_from(128 + number).unwrap_or(1).into())
    }

    /// Runs the worker to its end, and gives the last signal that was passed on.
    async fn work() -> io::Result<(ExitStatus, Option<i32>)> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut quit = signal(SignalKind::quit())?;
        let mut hangup =
            if outlives_its_terminal() { None } else { Some(signal(SignalKind::hangup())?) };
        let mut hung_up = async || match &mut hangup {
            Some(hangup) => hangup.recv().await,
            None => std::future::pending().await,
        };
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
            let (number, with) = tokio::select! {
                status = worker.wait() => return Ok((status?, passed)),
                _ = interrupt.recv() => (Signal::INT, PASSED_ON),
                _ = terminate.recv() => (Signal::TERM, PASSED_ON),
                _ = quit.recv() => (Signal::QUIT, PASSED_ON),
                // However often it comes, it is one request.
                _ = hung_up() => (Signal::HUP, Signal::HUP),
            };
            passed = Some(number.as_raw());
            if let Some(id) = id {
                let _ = kill_process(id, with);
            }
        }
    }

    impl Duties {
        /// Waits for the keeper's end, and asks after adopted children that have ended.
        pub(crate) fn begin(self, runtime: &Runtime) {
            let Some(keeper) = self.keeper else { return };
            runtime.spawn(async move {
                let Ok(mut orphaned) = signal(SignalKind::from_raw(ORPHANED.as_raw())) else {
                    return;
                };
                // From before there was somebody to be told.
                while getppid() == Some(keeper) {
                    orphaned.recv().await;
                }
                end_of_commands();
                end_all(|| below(getpid()));
                let _ = kill_process(getpid(), Signal::KILL);
            });
            runtime.spawn(async {
                let mut seen = HashSet::new();
                loop {
                    tokio::time::sleep(REAPED).await;
                    reap(&mut seen);
                }
            });
        }
    }
}
