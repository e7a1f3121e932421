//! The number of files that this process may have open, which limits the number of commands that
//! run at the same time.

/// The descriptors that a running command occupies in this process: the ends of its two pipes, and
/// one by which its end is noticed.
#[cfg(unix)]
const OF_A_COMMAND: u64 = 3;
/// The files that its output is saved to.
#[cfg(unix)]
const OF_ITS_OUTPUT: u64 = 2;
/// The descriptors for everything else: the store, the terminal, commands that are being started.
#[cfg(unix)]
const OTHERS: u64 = 256;

/// Raises the soft limit as far as this many commands at the same time need it. Commands inherit
/// it.
#[cfg(unix)]
pub(crate) fn allow_for(commands: usize, saves_output: bool) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let of_each = if saves_output { OF_A_COMMAND + OF_ITS_OUTPUT } else { OF_A_COMMAND };
    let commands = u64::try_from(commands).unwrap_or(u64::MAX);
    let needed = commands.saturating_mul(of_each).saturating_add(OTHERS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(needed, |maximum| needed.min(maximum));
    if current.is_some_and(|current| current < wanted) {
        // Without it, fewer commands run at the same time.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
    }
}

#[cfg(not(unix))]
pub(crate) fn allow_for(_: usize, _: bool) {}
