//! Runs one command to its end: in its own process group, with a time limit, draining both pipes
//! and keeping as much of the output as is useful.

pub(crate) mod descriptors;

use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::steps::mask::Masks;
use crate::steps::process_tree::{Child, ProcessTree};
use crate::steps::stream::{Excerpt, Stream, end_of_both, excerpt};
use crate::steps::tap::Sink;
use retry_workflow::Output;

/// The part of a command's stdout that is kept: the beginning.
const LONGEST_OUTPUT: usize = 1024 * 1024;
/// The part of its stderr that is kept: the end, where errors are.
const LONGEST_TAIL: usize = 4 * 1024;
/// The part of the stdout of a failed command that is kept: it has to fit into an argument.
const LONGEST_FAILED_OUTPUT: usize = 60 * 1024;
/// The number of these lines in the error message.
const SHOWN_LINES: usize = 3;
/// The time for which reading continues after the command has ended. Its own output is in the pipe
/// by then; only processes that it has left in the background keep the pipe open.
const DRAIN: Duration = Duration::from_millis(500);

/// A command that is ready to run.
pub(crate) struct Invocation {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) variables: Vec<(String, OsString)>,
    pub(crate) folder: PathBuf,
    pub(crate) timeout: Option<Duration>,
    /// A hint for the case that the program does not exist.
    pub(crate) missing: &'static str,
    /// Hidden from reports about the command.
    pub(crate) masks: Arc<Masks>,
    /// The receivers of its stdout and its stderr while it runs.
    pub(crate) sinks: [Vec<Sink>; 2],
    /// The amount of output that the history keeps.
    pub(crate) excerpt: Excerpt,
}

/// The output of a successful command.
#[derive(Debug, Default)]
pub(crate) struct CommandOutput {
    /// Stdout without trailing newlines, secrets included.
    pub(crate) output: String,
    /// The end of stderr.
    pub(crate) stderr: String,
    /// The end of both, without secrets.
    pub(crate) printed: String,
    /// The wait that a server asks for, if the command has written it.
    pub(crate) retry_after: Option<Duration>,
}

/// The reason why a step failed.
#[derive(Debug)]
pub(crate) struct StepError {
    status: Status,
    wrote: Box<FailedOutput>,
    /// More of the output than the message shows, or what marks the error as a timeout.
    source: Option<Box<dyn Error + Send + Sync>>,
    /// The possible cause.
    hint: Option<Box<str>>,
    /// The wait that a server asks for, if the command has written it.
    retry_after: Option<Duration>,
}

/// The output of a failed command, without secrets.
#[derive(Debug, Default)]
struct FailedOutput {
    /// The end of stdout.
    stdout: String,
    /// The end of stderr.
    stderr: String,
    /// The output that the history keeps.
    excerpt: Output,
}

impl FailedOutput {
    /// The stream that probably has the error message.
    fn error_stream(&self) -> &str {
        if self.stderr.trim().is_empty() { &self.stdout } else { &self.stderr }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Exit(i32),
    Signal(i32),
    Timeout(Duration),
    /// The command never ran, for this reason.
    NotStarted(String),
    /// The command never ran and never will, because of what its item contains.
    Payload(String),
    /// The command never ran, because this machine lacks the resources to start it.
    NotBegun(String),
    /// The command succeeded, but its output cannot be used, for this reason.
    BadOutput(String),
    /// The command succeeded, but would pass on a secret.
    SecretOutput(String),
}

/// The exit status of a shell that could not start a program.
const CANNOT_START: i32 = 126;

impl StepError {
    fn new(status: Status, wrote: FailedOutput) -> Self {
        let source: Option<Box<dyn Error + Send + Sync>> = match status {
            Status::Timeout(_) => Some(io::Error::from(io::ErrorKind::TimedOut).into()),
            _ if wrote.error_stream().lines().count() > SHOWN_LINES => {
                let text = wrote.error_stream();
                let tail = text.len().saturating_sub(LONGEST_TAIL);
                let begin = (tail..text.len()).find(|&at| text.is_char_boundary(at));
                Some(text[begin.unwrap_or(text.len())..].into())
            }
            _ => None,
        };
        Self { status, wrote: Box::new(wrote), source, hint: None, retry_after: None }
    }

    /// An error of a step that could not begin.
    pub(crate) fn not_started(why: impl Into<String>) -> Self {
        Self::new(Status::NotStarted(why.into()), FailedOutput::default())
    }

    /// An error for a value that cannot be passed to a command.
    pub(crate) fn payload(why: impl Into<String>) -> Self {
        Self::new(Status::Payload(why.into()), FailedOutput::default())
    }

    /// An error of a command that this machine lacks the resources to start.
    pub(crate) fn not_begun(why: impl Into<String>) -> Self {
        Self::new(Status::NotBegun(why.into()), FailedOutput::default())
    }

    /// The resource that this machine lacks, if the command could not begin.
    pub(crate) fn shortage(&self) -> Option<&str> {
        match &self.status {
            Status::NotBegun(why) => Some(why),
            _ => None,
        }
    }

    /// Returns whether the step would fail in the same way every time.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self.status, Status::Payload(_) | Status::SecretOutput(_))
    }

    /// Adds a hint, which is shown if a program could not be started.
    pub(crate) fn hint(mut self, hint: Option<String>) -> Self {
        if self.status == Status::Exit(CANNOT_START) {
            self.hint = hint.map(String::into_boxed_str);
        }
        self
    }

    /// Adds what is wrong with the wait that the command has written.
    pub(crate) fn unreadable(mut self, why: &str) -> Self {
        self.hint = Some(why.into());
        self
    }

    /// Adds how long to wait before the next attempt.
    pub(crate) fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.retry_after = wait;
        self
    }

    /// Returns how long to wait before the next attempt, if a server has asked for a wait.
    pub(crate) fn wait(&self) -> Option<Duration> {
        self.retry_after
    }

    /// An error of a command that succeeded, but whose output cannot be used.
    pub(crate) fn bad_output(
        status: Status,
        written: &CommandOutput,
        length: Excerpt,
        masks: &Masks,
    ) -> Self {
        let CommandOutput { output, stderr, .. } = written;
        let mut excerpt =
            Output::new(excerpt(output, length, masks), excerpt(stderr, length, masks));
        excerpt.exit_code = Some(0);
        let wrote = FailedOutput { stdout: String::new(), stderr: stderr.clone(), excerpt };
        Self::new(status, wrote).retry_after(written.retry_after)
    }

    /// The output: stdout, then stderr.
    pub(crate) fn output(&self) -> String {
        let parts = [self.stdout(), self.stderr()];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    /// The end of stderr.
    pub(crate) fn stderr(&self) -> &str {
        &self.wrote.stderr
    }

    /// The end of stdout.
    pub(crate) fn stdout(&self) -> &str {
        &self.wrote.stdout
    }

    /// Takes the part of both streams that the history of the attempt keeps, if it is not empty.
    pub(crate) fn take_excerpt(&mut self) -> Option<Box<Output>> {
        let excerpt = std::mem::take(&mut self.wrote.excerpt);
        (excerpt != Output::default()).then(|| Box::new(excerpt))
    }

    /// The exit status, unless the command was killed or never ran.
    pub(crate) fn exit_code(&self) -> Option<i32> {
        match self.status {
            Status::Exit(code) => Some(code),
            _ => None,
        }
    }

    pub(crate) fn status(&self) -> &Status {
        &self.status
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status {
            Status::Exit(code) => write!(f, "exit status {code}")?,
            Status::Signal(signal) => write!(f, "terminated by signal {signal}")?,
            Status::Timeout(limit) => {
                write!(f, "timed out after {}", retry_rules::duration::format(*limit))?;
            }
            Status::NotStarted(why)
            | Status::Payload(why)
            | Status::NotBegun(why)
            | Status::BadOutput(why)
            | Status::SecretOutput(why) => f.write_str(why)?,
        }
        let lines: Vec<_> =
            self.wrote.error_stream().lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        if !shown.is_empty() {
            write!(f, ": {}", shown.join("\n"))?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl Error for StepError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&**self.source.as_ref()?)
    }
}

/// This process is ending, and its commands with it: none is started or reported any more.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Ensures that no more commands start, and that commands killed from now on are not reported.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "no process has a keeper"))]
pub(crate) fn end_of_commands() {
    ENDS.store(true, Ordering::SeqCst);
}

async fn unless_it_ends() {
    if ENDS.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
}

impl Invocation {
    /// Runs the command to its end, and returns its output. Dropping the future kills everything
    /// that the command has started.
    pub(crate) async fn run(mut self) -> Result<CommandOutput, StepError> {
        unless_it_ends().await;
        let started =
            self.start(|command| tokio::process::Command::from(command).kill_on_drop(true).spawn());
        let (mut child, mut tree) = started.map_err(|error| self.not_started(&error))?;

        let [to_out, to_err] = std::mem::take(&mut self.sinks);
        let masks = &self.masks;
        let part = self.excerpt.part();
        let mut out = Stream::new(LONGEST_OUTPUT, LONGEST_FAILED_OUTPUT.max(part), masks)
            .tapped(masks, to_out);
        let mut err = Stream::new(part, LONGEST_TAIL.max(part), masks).tapped(masks, to_err);
        let ended = {
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            let mut reading = pin!(async { tokio::join!(out.read(stdout), err.read(stderr)) });
            let mut drained = false;
            let mut too_long = pin!(limit(self.timeout));
            let ended = loop {
                tokio::select! {
                    biased;
                    status = child.wait() => break ProcessEnd::Status(status),
                    _ = &mut reading, if !drained => drained = true,
                    () = &mut too_long => {
                        // Read while waiting: a command that writes while it ends would block
                        // otherwise.
                        let reading = async {
                            if !drained {
                                let _ = (&mut reading).await;
                                drained = true;
                            }
                        };
                        tree.end(&mut child, reading).await;
                        break ProcessEnd::TooLong;
                    }
                }
            };
            if !drained {
                let _ = timeout_at(Instant::now() + DRAIN, reading).await;
            }
            ended
        };
        unless_it_ends().await;
        tree.disarm();
        let stderr = || err.end(masks, LONGEST_TAIL).trim().to_owned();
        let failed = |status| {
            let length = self.excerpt;
            let mut excerpt = Output::new(out.excerpt(length, masks), err.excerpt(length, masks));
            match status {
                Status::Exit(code) => excerpt.exit_code = Some(code),
                Status::Signal(signal) => excerpt.signal = Some(signal),
                _ => {}
            }
            let stdout = out.end(masks, LONGEST_FAILED_OUTPUT);
            StepError::new(status, FailedOutput { stdout, stderr: stderr(), excerpt })
        };
        match ended {
            ProcessEnd::TooLong => Err(failed(Status::Timeout(self.timeout.unwrap_or_default()))),
            ProcessEnd::Status(Ok(status)) if status.success() => {
                let most = self.excerpt.of_success();
                let printed = end_of_both(&out.end(masks, most), &err.end(masks, most), most);
                let output = out.beginning(masks, LONGEST_OUTPUT);
                Ok(CommandOutput { output, stderr: stderr(), printed, retry_after: None })
            }
            ProcessEnd::Status(Ok(status)) => Err(failed(to_status(status))),
            ProcessEnd::Status(Err(error)) => {
                Err(StepError::not_started(format!("could not be waited for: {error}")))
            }
        }
    }

    /// Starts the command with `spawn`, its output in pipes.
    pub(crate) fn start<C: Child>(
        &self,
        spawn: impl FnOnce(Command) -> io::Result<C>,
    ) -> io::Result<(C, ProcessTree)> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        ProcessTree::start(command, spawn)
    }

    fn not_started(&self, error: &io::Error) -> StepError {
        let program = self.program.to_string_lossy();
        if let Some(advice) = advice_on_shortage(error) {
            return StepError::not_begun(format!("cannot start `{program}`: {error}: {advice}"));
        }
        let why = if !self.folder.is_dir() {
            format!("cannot start in {}: there is no such folder", self.folder.display())
        } else if error.kind() == io::ErrorKind::NotFound && program.contains('/') {
            if self.folder.join(&*program).exists() {
                format!(
                    "cannot start `{program}`: the program in its first line does not exist, or it is \
                     for another system"
                )
            } else {
                format!(
                    "cannot start `{program}`: there is no such file in {}",
                    self.folder.display()
                )
            }
        } else if error.kind() == io::ErrorKind::NotFound {
            format!(
                "cannot start `{program}`: there is no such program on the PATH{}",
                self.missing
            )
        } else if error.kind() == io::ErrorKind::ArgumentListTooLong {
            format!(
                "cannot start `{program}`: its arguments and variables are too long for this \
                 system: pass large values in a file"
            )
        } else {
            format!("cannot start `{program}`: {error}")
        };
        StepError::not_started(why)
    }
}

/// Returns how to get more of a resource, if a call of the system has failed because this machine
/// lacks it: the command is not to blame then.
pub(crate) fn advice_on_shortage(error: &io::Error) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use rustix::io::Errno;

        match Errno::from_io_error(error)? {
            Errno::MFILE => Some("raise the limit of open files (`ulimit -n`), or run fewer items"),
            Errno::NFILE => Some("all files that this system can open are open"),
            Errno::AGAIN => Some(
                "raise the limit of processes (`ulimit -u`, `TasksMax=` of a service), or run \
                 fewer items",
            ),
            Errno::NOMEM => Some("the memory is used up: run fewer items"),
            _ => None,
        }
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        None
    }
}

enum ProcessEnd {
    Status(io::Result<ExitStatus>),
    TooLong,
}

async fn limit(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => sleep(timeout).await,
        None => std::future::pending().await,
    }
}

fn to_status(status: ExitStatus) -> Status {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return Status::Signal(signal);
    }
    Status::Exit(status.code().unwrap_or(-1))
}

#[cfg(all(test, unix))]
mod tests;
