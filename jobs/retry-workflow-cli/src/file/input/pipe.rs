//! [`Pipe`]: an input that can be read only once: stdin, or the output of a command. The command
//! and everything that it has started are killed if the input is not read any further.

use std::io::{self, BufReader};
use std::path::PathBuf;
use std::process::Child;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::Mutex;

use super::InputReader;
use super::read::{Format, Opened};
use crate::steps::command_env::{PreparedCommand, Run, ValueFile};
use crate::steps::process_tree::ProcessTree;
use crate::steps::stream::Stream;
use crate::template::scope::Scope;
use crate::template::shell::Script;
use crate::yaml::span::FileError;

/// The part of a command's stderr that is kept: the last 4 KiB.
const LONGEST_TAIL: usize = 4 * 1024;

/// An input that is being read; any clone of this can stop it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pipe(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    is_stopped: bool,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    tree: ProcessTree,
    stderr: Option<JoinHandle<String>>,
    _files: Vec<ValueFile>,
}

impl Pipe {
    /// Stops reading.
    pub(crate) fn stop(&self) {
        let mut state = self.0.lock();
        state.is_stopped = true;
        if let Some(running) = &mut state.running {
            running.kill();
        }
    }

    pub(super) fn stdin(&self, format: Option<Format>) -> Opened {
        let _ = self;
        let reader = Box::new(BufReader::with_capacity(64 * 1024, io::stdin()));
        Opened { reader, name: PathBuf::from("stdin"), is_file: false, format }
    }

    pub(super) fn command(
        &self,
        input: &InputReader,
        script: &Script,
    ) -> Result<Opened, FileError> {
        let scope = Scope { given: input.given.clone(), ..Scope::default() };
        let wrong = |why: &dyn std::fmt::Display| {
            let message = format!("cannot start the command of the input: {why}");
            FileError::at(&input.source, input.map.input.span, message)
        };
        let prepared = Run::Shell(script.clone()).prepare(&input.workspace, &scope);
        let PreparedCommand { invocation, files, .. } = prepared.map_err(|error| wrong(&error))?;
        let mut state = self.0.lock();
        if state.is_stopped {
            return Err(wrong(&"the job stops"));
        }
        let started = invocation.start(|mut command| command.spawn());
        let (mut child, tree) = started.map_err(|error| wrong(&error))?;
        let stdout = child.stdout.take().ok_or_else(|| wrong(&"its stdout cannot be read"))?;
        let masks = Arc::clone(&invocation.masks);
        let stderr = child.stderr.take().map(|stderr| {
            std::thread::spawn(move || {
                let mut kept = Stream::new(0, LONGEST_TAIL, &masks);
                kept.read_blocking(stderr);
                kept.end(&masks, LONGEST_TAIL)
            })
        });
        state.running = Some(Running { child, tree, stderr, _files: files });
        drop(state);
        let reader = Box::new(BufReader::with_capacity(64 * 1024, stdout));
        let format = input.map.input.format;
        Ok(Opened { reader, name: PathBuf::from("the command's output"), is_file: false, format })
    }

    /// The input has been read. `enough` means that it was not read to its end, so that the result
    /// of its command does not matter.
    ///
    /// # Errors
    /// The command failed.
    pub(super) fn ended(&self, enough: bool) -> Result<(), String> {
        let Some(mut running) = self.0.lock().running.take() else { return Ok(()) };
        if enough { Ok(()) } else { running.wait() }
    }
}

impl Running {
    fn kill(&mut self) {
        self.tree.kill();
        let _ = self.child.kill();
    }

    /// Waits for the command to end, and describes its failure.
    fn wait(&mut self) -> Result<(), String> {
        let status =
            self.child.wait().map_err(|error| format!("the command of the input: {error}"))?;
        self.tree.disarm();
        let stderr = self.stderr.take().and_then(|stderr| stderr.join().ok()).unwrap_or_default();
        let Some(code) = status.code().filter(|_| !status.success()) else {
            #[cfg(unix)]
            if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
                return Err(format!("the command of the input was terminated by signal {signal}"));
            }
            return Ok(());
        };
        let said = stderr.trim();
        let colon = if said.is_empty() { "" } else { ": " };
        Err(format!("the command of the input failed: exit status {code}{colon}{said}"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // If reading failed, the command may still be writing.
        if let Ok(None) = self.child.try_wait() {
            self.kill();
            let _ = self.child.wait();
        }
        self.tree.disarm();
    }
}
