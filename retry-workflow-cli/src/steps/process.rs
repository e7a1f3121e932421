//! Runs one command to its end: its own process group, a time limit for the whole of it,
//! both pipes drained, and of what it wrote as much as is of use.

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout_at};

use crate::steps::descendants::{self, Mark};
use crate::steps::mask::Masks;

/// The variable that names the keeper of a worker; its commands are not its workers.
pub(crate) const KEEPER: &str = "RETRY_WORKFLOW_KEEPER";

/// Of a command's stdout so much is kept: its beginning.
const LONGEST_OUTPUT: usize = 1024 * 1024;
/// Of its stderr so much: its end, where errors stand.
const LONGEST_TAIL: usize = 4 * 1024;
/// Of the stdout of one that fails so much: room for an argument.
const LONGEST_FAILED_OUTPUT: usize = 60 * 1024;
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
    /// What is told of it is told without these.
    pub(crate) masks: Arc<Masks>,
}

/// What a command has written that succeeded.
#[derive(Debug, Default)]
pub(crate) struct Written {
    /// Its stdout, without the newlines at its end; secrets stay.
    pub(crate) output: String,
    /// The end of its stderr.
    pub(crate) stderr: String,
}

/// Why a step has failed.
#[derive(Debug)]
pub(crate) struct StepError {
    status: Status,
    /// The end of what it wrote to stderr.
    stderr: String,
    /// The end of what it wrote to stdout, as far as that was kept.
    stdout: String,
    /// All of that, where the message shows less, or what makes it a timeout.
    source: Option<Source>,
    /// What may have led to it.
    hint: Option<Box<str>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Status {
    Exit(i32),
    Signal(i32),
    Timeout(Duration),
    /// It never ran, for this reason.
    NotStarted(String),
    /// It never ran, and never will, for what its item holds.
    Payload(String),
}

/// What a shell ends with where a program could not be started.
const CANNOT_START: i32 = 126;

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
    fn new(status: Status, stderr: String, stdout: String) -> Self {
        let source = match status {
            Status::Timeout(_) => Some(Source::Timeout(io::ErrorKind::TimedOut.into())),
            _ if stderr.lines().count() > SHOWN_LINES => Some(Source::Tail(Tail(stderr.clone()))),
            _ => None,
        };
        Self { status, stderr, stdout, source, hint: None }
    }

    /// A step that could not even begin.
    pub(crate) fn not_started(why: impl Into<String>) -> Self {
        Self::new(Status::NotStarted(why.into()), String::new(), String::new())
    }

    /// A value that no command can be given.
    pub(crate) fn payload(why: impl Into<String>) -> Self {
        Self::new(Status::Payload(why.into()), String::new(), String::new())
    }

    /// Whether it would fail in the same way each time.
    pub(crate) fn is_payload(&self) -> bool {
        matches!(self.status, Status::Payload(_))
    }

    /// Says what else is known if a program could not be started.
    pub(crate) fn hint(mut self, hint: Option<String>) -> Self {
        if self.status == Status::Exit(CANNOT_START) {
            self.hint = hint.map(String::into_boxed_str);
        }
        self
    }

    /// A step that ended well, and whose output is not what was asked for.
    pub(crate) fn bad_output(why: String, written: Written) -> Self {
        Self::new(Status::NotStarted(why), written.stderr, String::new())
    }

    /// What it wrote: stdout, then stderr.
    pub(crate) fn output(&self) -> String {
        let parts = [self.stdout.as_str(), self.stderr.as_str()];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join("\n")
    }

    /// Of its two streams, the second.
    pub(crate) fn stderr(&self) -> &str {
        &self.stderr
    }

    /// Of its two streams, the first.
    pub(crate) fn stdout(&self) -> &str {
        &self.stdout
    }

    /// Its exit status, if it ended by one.
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
            Status::Signal(signal) => write!(f, "ended by signal {signal}")?,
            Status::Timeout(limit) => {
                write!(f, "timed out after {}", retry_rules::duration::format(*limit))?;
            }
            Status::NotStarted(why) | Status::Payload(why) => f.write_str(why)?,
        }
        let lines: Vec<_> = self.stderr.lines().filter(|line| !line.trim().is_empty()).collect();
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

impl std::error::Error for StepError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.source.as_ref()? {
            Source::Timeout(error) => Some(error),
            Source::Tail(tail) => Some(tail),
        }
    }
}

/// This process ends now, and its commands with it: none of them is begun or told of any more.
static ENDS: AtomicBool = AtomicBool::new(false);

/// Sees to it that no command is begun any more, and that the end of none is taken for its own.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody has a keeper"))]
pub(crate) fn end_of_commands() {
    ENDS.store(true, Ordering::SeqCst);
}

async fn unless_it_ends() {
    if ENDS.load(Ordering::SeqCst) {
        std::future::pending::<()>().await;
    }
}

impl Invocation {
    /// Runs it to its end, and gives what it wrote. Dropping the future ends all that it has
    /// started at once.
    pub(crate) async fn run(self) -> Result<Written, StepError> {
        unless_it_ends().await;
        let mark = Mark::new();
        let mut command = Command::new(&self.program);
        command
            .env_remove(KEEPER)
            .args(&self.args)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .env(descendants::VARIABLE, mark.value())
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| self.not_started(&error))?;
        let mut group = Group::led_by(&child, mark);

        let margin = self.masks.margin();
        let (mut out, mut err) = (Head::new(margin), Tailed::new(margin));
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
        unless_it_ends().await;
        group.disarm();
        let stderr = err.text(&self.masks);
        let failed = |status| StepError::new(status, stderr.clone(), out.end(&self.masks));
        match ended {
            ProcessEnd::TooLong => Err(failed(Status::Timeout(self.timeout.unwrap_or_default()))),
            ProcessEnd::Status(Ok(status)) if status.success() => {
                Ok(Written { output: out.text(&self.masks), stderr })
            }
            ProcessEnd::Status(Ok(status)) => Err(failed(to_status(status))),
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

/// A child's process group, and on Linux all else that it has started, which end with this unless
/// it is disarmed.
struct Group {
    #[cfg(unix)]
    leader: Option<rustix::process::Pid>,
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "nobody can look for it"))]
    mark: Mark,
}

#[cfg(unix)]
impl Group {
    fn led_by(child: &tokio::process::Child, mark: Mark) -> Self {
        let id = child.id().and_then(|id| i32::try_from(id).ok());
        Self { leader: id.and_then(rustix::process::Pid::from_raw), mark }
    }

    /// What the child has started that runs.
    #[cfg(target_os = "linux")]
    fn processes(&self) -> Vec<rustix::process::Pid> {
        self.leader.map(|leader| descendants::of_command(leader, &self.mark)).unwrap_or_default()
    }

    #[cfg(not(target_os = "linux"))]
    fn processes(&self) -> Vec<rustix::process::Pid> {
        Vec::new()
    }

    /// Ends all of it at once.
    fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
        #[cfg(target_os = "linux")]
        descendants::end_all(|| self.processes());
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
        let elsewhere = self.processes();
        self.signal(rustix::process::Signal::TERM);
        for process in elsewhere {
            let is_in_group = rustix::process::getpgid(Some(process)).ok() == self.leader;
            if !is_in_group {
                let _ = rustix::process::kill_process(process, rustix::process::Signal::TERM);
            }
        }
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

    fn disarm(&mut self) {
        self.leader = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if self.leader.is_some() {
            self.kill();
        }
    }
}

#[cfg(not(unix))]
impl Group {
    fn led_by(_: &tokio::process::Child, mark: Mark) -> Self {
        Self { mark }
    }

    async fn end(&mut self, child: &mut tokio::process::Child, reading: impl Future<Output = ()>) {
        let _ = tokio::join!(child.kill(), timeout_at(Instant::now() + DRAIN, reading));
    }

    fn disarm(&mut self) {}
}

/// The beginning of a stream, and a margin after it.
struct Head {
    bytes: Vec<u8>,
    longest: usize,
}

/// The end of a stream, and a margin before it.
struct Tailed {
    bytes: Vec<u8>,
    cut: bool,
    longest: usize,
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
    fn new(margin: usize) -> Self {
        Self { bytes: Vec::new(), longest: LONGEST_OUTPUT + margin }
    }

    async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        each_part(stream, |part| {
            let room = self.longest.saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&part[..part.len().min(room)]);
        })
        .await;
    }

    fn text(&self, masks: &Masks) -> String {
        // What was cut in the middle of a character is no character.
        let text = String::from_utf8_lossy(&self.bytes);
        let text = &text[..masks.cut(&text, LONGEST_OUTPUT)];
        text.trim_end_matches(['\n', '\r']).to_owned()
    }

    /// The end of what was kept, masked.
    fn end(&self, masks: &Masks) -> String {
        let text = String::from_utf8_lossy(&self.bytes);
        let text = text[..masks.cut(&text, LONGEST_OUTPUT)].trim_end_matches(['\n', '\r']);
        let begin = text.len().saturating_sub(LONGEST_FAILED_OUTPUT);
        masks.part(text, begin..text.len()).replace('\0', "\u{fffd}")
    }
}

impl Tailed {
    fn new(margin: usize) -> Self {
        Self { bytes: Vec::new(), cut: false, longest: LONGEST_TAIL + margin }
    }

    async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        each_part(stream, |part| {
            self.bytes.extend_from_slice(part);
            if self.bytes.len() > self.longest {
                self.cut = true;
                self.bytes.drain(..self.bytes.len() - self.longest);
            }
        })
        .await;
    }

    fn text(&self, masks: &Masks) -> String {
        // Not in the middle of a character.
        let is_start = |byte: &u8| byte & 0xC0 != 0x80;
        let within = self.bytes.iter().take(4).position(is_start).unwrap_or(0);
        let begin = if self.cut { within } else { 0 };
        let text = String::from_utf8_lossy(&self.bytes[begin..]);
        let kept = text.len().saturating_sub(LONGEST_TAIL);
        let text = masks.part(&text, kept..text.len());
        // No command's business in a report or a list.
        text.trim().replace('\0', "\u{fffd}")
    }
}

#[cfg(all(test, unix))]
mod tests;
