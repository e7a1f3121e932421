//! Runs one command to its end: its own process group, a time limit for the whole of it,
//! both pipes drained, and of what it wrote as much as is of use.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout_at};

/// Of a command's stdout so much is kept: its beginning.
const LONGEST_OUTPUT: usize = 1024 * 1024;
/// Of its stderr so much: its end, where errors stand.
const LONGEST_TAIL: usize = 4 * 1024;
/// So many lines of that stand in the error itself.
const SHOWN_LINES: usize = 3;
/// From the polite signal to the other one.
const GRACE: Duration = Duration::from_secs(2);
/// What a command has written is in the pipe when it ends. Only what it has left
/// behind in the background holds the pipe open for longer.
const DRAIN: Duration = Duration::from_millis(500);

/// A command that can be run.
#[derive(Debug)]
pub(crate) struct Invocation {
    pub(crate) program: OsString,
    pub(crate) args: Vec<OsString>,
    pub(crate) variables: Vec<(String, OsString)>,
    pub(crate) folder: PathBuf,
    pub(crate) timeout: Option<Duration>,
    /// What to do about a program that is not there.
    pub(crate) missing: &'static str,
}

/// Why a step has failed.
#[derive(Debug)]
pub(crate) struct StepError {
    status: Status,
    /// The end of what it wrote to stderr.
    stderr: String,
    /// All of that, where the message shows less, or what makes it a timeout.
    source: Option<Source>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Exit(i32),
    Signal(i32),
    Timeout(Duration),
    /// It never ran, for this reason.
    NotStarted(String),
}

#[derive(Debug)]
enum Source {
    Timeout(io::Error),
    Tail(Tail),
}

/// The end of a stderr that is longer than what an error shows of it.
#[derive(Debug)]
struct Tail(String);

impl fmt::Display for Tail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Tail {}

impl StepError {
    fn new(status: Status, stderr: String) -> Self {
        let source = match status {
            Status::Timeout(_) => Some(Source::Timeout(io::ErrorKind::TimedOut.into())),
            _ if stderr.lines().count() > SHOWN_LINES => Some(Source::Tail(Tail(stderr.clone()))),
            _ => None,
        };
        Self { status, stderr, source }
    }

    /// A step that could not even begin.
    pub(crate) fn not_started(why: impl Into<String>) -> Self {
        Self::new(Status::NotStarted(why.into()), String::new())
    }

    #[cfg(test)]
    pub(crate) fn status(&self) -> &Status {
        &self.status
    }
}

impl fmt::Display for StepError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.status {
            Status::Exit(code) => write!(f, "exit status {code}")?,
            Status::Signal(signal) => write!(f, "ended by signal {signal}")?,
            Status::Timeout(limit) => {
                write!(f, "timed out after {}", retry_rules::duration::format(*limit))?;
            }
            Status::NotStarted(why) => f.write_str(why)?,
        }
        let lines: Vec<_> = self.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
        let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
        if !shown.is_empty() {
            write!(f, ": {}", shown.join("\n"))?;
        }
        Ok(())
    }
}

impl std::error::Error for StepError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.source.as_ref()? {
            Source::Timeout(error) => Some(error),
            Source::Tail(tail) => Some(tail),
        }
    }
}

impl Invocation {
    /// Runs it to its end, and gives what it wrote to stdout, without the newlines at
    /// its end. Dropping the future ends the whole process group at once.
    pub(crate) async fn run(self) -> Result<String, StepError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.args)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| self.not_started(&error))?;
        let mut group = Group::led_by(&child);

        let (mut out, mut err) = (Head::default(), Tailed::default());
        let ended = {
            let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
            let mut reading = pin!(async { tokio::join!(out.fill(stdout), err.fill(stderr)) });
            let mut drained = false;
            let mut too_long = pin!(limit(self.timeout));
            let ended = loop {
                tokio::select! {
                    biased;
                    status = child.wait() => break ProcessEnd::Status(status),
                    _ = &mut reading, if !drained => drained = true,
                    () = &mut too_long => {
                        // Both at once: a command that writes while it ends would block.
                        let reading = async {
                            if !drained {
                                let _ = (&mut reading).await;
                                drained = true;
                            }
                        };
                        group.end(&mut child, reading).await;
                        break ProcessEnd::TooLong;
                    }
                }
            };
            if !drained {
                let _ = timeout_at(Instant::now() + DRAIN, reading).await;
            }
            ended
        };
        group.disarm();
        match ended {
            ProcessEnd::TooLong => {
                Err(StepError::new(Status::Timeout(self.timeout.unwrap_or_default()), err.text()))
            }
            ProcessEnd::Status(Ok(status)) if status.success() => Ok(out.text()),
            ProcessEnd::Status(Ok(status)) => Err(StepError::new(to_status(status), err.text())),
            ProcessEnd::Status(Err(error)) => {
                Err(StepError::not_started(format!("could not be waited for: {error}")))
            }
        }
    }

    fn not_started(&self, error: &io::Error) -> StepError {
        let program = self.program.to_string_lossy();
        let why = if !self.folder.is_dir() {
            format!("cannot start in {}: there is no such folder", self.folder.display())
        } else if error.kind() == io::ErrorKind::NotFound {
            format!(
                "cannot start `{program}`: there is no such program on the PATH{}",
                self.missing
            )
        } else if error.kind() == io::ErrorKind::ArgumentListTooLong {
            format!(
                "cannot start `{program}`: its arguments and variables are too long for this \
                 system: hand large values over in a file"
            )
        } else {
            format!("cannot start `{program}`: {error}")
        };
        StepError::not_started(why)
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

/// A child's process group, which ends with this unless it is disarmed.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
}

#[cfg(unix)]
impl Group {
    fn led_by(child: &tokio::process::Child) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw) }
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(leader) = self.leader {
            // It may have ended by itself just now.
            let _ = rustix::process::kill_process_group(leader, signal);
        }
    }

    fn is_there(&self) -> bool {
        self.leader.is_some_and(|leader| rustix::process::test_kill_process_group(leader).is_ok())
    }

    /// Ends it politely, and after a while in the other way.
    ///
    /// It is gone when the child has ended and so has `reading`, that of both pipes: nobody
    /// holds them any more. Its processes may stay for longer, where nobody waits for those
    /// that have ended.
    async fn end(&mut self, child: &mut tokio::process::Child, reading: impl Future<Output = ()>) {
        let last = Instant::now() + GRACE;
        self.signal(rustix::process::Signal::TERM);
        let nobody_is_there = async {
            while self.is_there() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        // What the first one has started may need its time, too.
        let nobody_writes = async { tokio::join!(child.wait(), reading) };
        let gone = async {
            tokio::select! {
                () = nobody_is_there => {}
                _ = nobody_writes => {}
            }
        };
        let _ = timeout_at(last, gone).await;
        self.signal(rustix::process::Signal::KILL);
        let _ = child.wait().await;
    }

    fn disarm(&mut self) {
        self.leader = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        self.signal(rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
impl Group {
    fn led_by(_: &tokio::process::Child) -> Self {
        Self {}
    }

    async fn end(&mut self, child: &mut tokio::process::Child, reading: impl Future<Output = ()>) {
        let _ = tokio::join!(child.kill(), timeout_at(Instant::now() + DRAIN, reading));
    }

    fn disarm(&mut self) {}
}

/// The beginning of a stream.
#[derive(Default)]
struct Head(Vec<u8>);

/// The end of a stream.
#[derive(Default)]
struct Tailed {
    bytes: Vec<u8>,
    cut: bool,
}

/// Reads a stream to its end; a broken pipe is one.
async fn each_part(stream: Option<impl AsyncRead + Unpin>, mut take: impl FnMut(&[u8])) {
    let Some(mut stream) = stream else { return };
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = stream.read(&mut buffer).await {
        take(&buffer[..read]);
    }
}

impl Head {
    async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        each_part(stream, |part| {
            let room = LONGEST_OUTPUT.saturating_sub(self.0.len());
            self.0.extend_from_slice(&part[..part.len().min(room)]);
        })
        .await;
    }

    fn text(&self) -> String {
        // What was cut in the middle of a character is no character.
        String::from_utf8_lossy(&self.0).trim_end_matches(['\n', '\r']).to_owned()
    }
}

impl Tailed {
    async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        each_part(stream, |part| {
            self.bytes.extend_from_slice(part);
            if self.bytes.len() > LONGEST_TAIL {
                self.cut = true;
                self.bytes.drain(..self.bytes.len() - LONGEST_TAIL);
            }
        })
        .await;
    }

    fn text(&self) -> String {
        // Not in the middle of a character.
        let is_start = |byte: &u8| byte & 0xC0 != 0x80;
        let within = self.bytes.iter().take(4).position(is_start).unwrap_or(0);
        let begin = if self.cut { within } else { 0 };
        let text = String::from_utf8_lossy(&self.bytes[begin..]);
        // No command's business in a report or a list.
        text.trim().replace('\0', "\u{fffd}")
    }
}

#[cfg(all(test, unix))]
mod tests;
