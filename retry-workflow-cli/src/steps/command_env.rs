//! What a command is handed: its values, in variables, and what is too large for one,
//! in a file.
//!
//! A system gives a variable or an argument some 128 KiB. A command that names
//! `RETRY_WORKFLOW_ITEM_FILE` or `RETRY_WORKFLOW_RESULTS_FILE` finds the path of a file there
//! that holds the item, or the results of all items, as JSON, for as long as it runs.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::steps::environment::Environment;
use crate::steps::process::{Invocation, StepError};
use crate::steps::vault::Vault;
use crate::template::placeholder::{Meaning, Placeholder, Scope, Template};
use crate::template::shell::{Script, variable};
use retry_workflow::ItemContext;

/// What Linux gives one argument is 128 KiB, with its name and its end.
const LONGEST_VALUE: usize = 128 * 1024 - 64;

const ITEM_FILE: &str = "RETRY_WORKFLOW_ITEM_FILE";
const RESULTS_FILE: &str = "RETRY_WORKFLOW_RESULTS_FILE";

/// What a step runs.
#[derive(Clone, Debug)]
pub(crate) enum Run {
    Shell(Script),
    /// A prompt for the agent.
    Agent(Template),
}

/// The program that prompts go to; the prompt is its last argument.
#[derive(Clone, Debug)]
pub(crate) struct Agent {
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

impl Default for Agent {
    fn default() -> Self {
        Self { program: "claude".to_owned(), args: vec!["-p".to_owned()] }
    }
}

/// What all steps of a file have in common: where they run, and by which agent.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    /// Commands run here.
    pub(crate) folder: PathBuf,
    pub(crate) agent: Agent,
    pub(crate) environment: Environment,
    pub(crate) vault: Arc<Vault>,
}

/// An invocation, and the files that live as long as it runs.
pub(crate) struct PreparedCommand {
    pub(crate) invocation: Invocation,
    pub(crate) files: Vec<ValueFile>,
}

impl Run {
    pub(crate) fn placeholders(&self) -> Box<dyn Iterator<Item = &Placeholder> + '_> {
        match self {
            Self::Shell(script) => Box::new(script.values.iter()),
            Self::Agent(prompt) => Box::new(prompt.placeholders()),
        }
    }

    /// With these values.
    pub(crate) fn prepare(
        &self,
        workspace: &Workspace,
        scope: &Scope,
    ) -> Result<PreparedCommand, StepError> {
        let (program, args, variables, files) = match self {
            Self::Shell(script) => {
                let (variables, files) = variables(script, scope)?;
                ("sh".into(), vec!["-c".into(), script.text.clone().into()], variables, files)
            }
            Self::Agent(prompt) => {
                let prompt = prompt.render(scope).map_err(StepError::not_started)?;
                if prompt.len() > LONGEST_VALUE {
                    return Err(StepError::not_started(format!(
                        "the prompt is {} bytes long, and an argument has room for {LONGEST_VALUE}: \
                         write what is large to a file, and the file's name into the prompt",
                        prompt.len()
                    )));
                }
                let agent = &workspace.agent;
                if prompt.starts_with('-') && agent.args.last().is_none_or(|last| last != "--") {
                    return Err(StepError::not_started(format!(
                        "the prompt begins with `-`, and `{}` would read it as an option: begin the \
                         prompt with a word, or end the agent's `args` with \"--\"",
                        agent.program
                    )));
                }
                let args = agent.args.iter().map(OsString::from).chain([prompt.into()]);
                (OsString::from(&agent.program), args.collect(), Vec::new(), Vec::new())
            }
        };
        let missing = match self {
            Self::Shell(_) => "",
            Self::Agent(_) => ": install it, or name another one: `agent: { program: … }`",
        };
        let folder = workspace.folder.clone();
        let Environment { variables: mut all, masks } = workspace.environment.clone();
        all.extend(variables);
        let variables = all;
        let invocation =
            Invocation { program, args, variables, folder, timeout: None, missing, masks };
        Ok(PreparedCommand { invocation, files })
    }
}

/// Which item a command works on, in variables that every command has: a good key for what is
/// to happen once only.
pub(crate) fn item_variables(cx: &ItemContext, retries: u32) -> Vec<(String, OsString)> {
    [
        ("RETRY_WORKFLOW_JOB", cx.job().to_owned()),
        ("RETRY_WORKFLOW_ITEM", cx.id().to_owned()),
        ("RETRY_WORKFLOW_CORRELATION_ID", cx.correlation_id()),
        ("RETRY_WORKFLOW_RUN", cx.run().to_string()),
        ("RETRY_WORKFLOW_ATTEMPT", cx.attempt().to_string()),
        ("RETRY_WORKFLOW_RETRY_COUNT", retries.to_string()),
    ]
    .into_iter()
    // What no variable can hold is left out: the command itself may do without it.
    .filter(|(_, value)| !value.contains('\0') && value.len() <= LONGEST_VALUE)
    .map(|(name, value)| (name.to_owned(), value.into()))
    .collect()
}

type Variables = (Vec<(String, OsString)>, Vec<ValueFile>);

fn variables(script: &Script, scope: &Scope) -> Result<Variables, StepError> {
    let mut variables = Vec::new();
    let mut files = Vec::new();
    for (number, placeholder) in script.values.iter().enumerate() {
        let value = scope.value(placeholder).map_err(StepError::not_started)?;
        if value.len() > LONGEST_VALUE {
            return Err(StepError::not_started(too_long(placeholder, value.len())));
        }
        variables.push((variable(number), value.into()));
    }
    let item = scope.item.as_deref().map(|item| move || item.to_string());
    if let Some(item) = item.filter(|_| script.text.contains(ITEM_FILE)) {
        files.push(ValueFile::new(ITEM_FILE, &item())?);
    }
    let results = scope.map.as_deref().map(|map| &map.results);
    if let Some(results) = results.filter(|_| script.text.contains(RESULTS_FILE)) {
        files.push(ValueFile::new(RESULTS_FILE, results)?);
    }
    variables.extend(files.iter().map(|file| (file.name.to_owned(), file.path.clone().into())));
    Ok((variables, files))
}

fn too_long(placeholder: &Placeholder, len: usize) -> String {
    let file = match placeholder.meaning {
        Meaning::Item(_) => Some(ITEM_FILE),
        Meaning::Results => Some(RESULTS_FILE),
        _ => None,
    };
    let instead = match file {
        Some(file) => format!("read the file \"${file}\" instead"),
        None => "have the step write it to a file instead".to_owned(),
    };
    format!(
        "the value of `{}` is {len} bytes long, and an argument has room for {LONGEST_VALUE}: \
         {instead}",
        placeholder.written
    )
}

/// A file for one command, gone when that has ended.
#[derive(Debug)]
pub(crate) struct ValueFile {
    name: &'static str,
    path: PathBuf,
}

impl ValueFile {
    fn new(name: &'static str, text: &str) -> Result<Self, StepError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);

        let failed = |error: &io::Error| {
            StepError::not_started(format!("cannot write the file for ${name}: {error}"))
        };
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = std::env::temp_dir()
                .join(format!("retry-workflow-{}-{count}.json", std::process::id()));
            let mut options = fs::OpenOptions::new();
            // Never a file, or a link, that was put there.
            options.write(true).create_new(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            match options.open(&path) {
                Ok(mut file) => {
                    let handed = Self { name, path };
                    file.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
                    return Ok(handed);
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed(&error)),
            }
        }
    }
}

impl Drop for ValueFile {
    fn drop(&mut self) {
        // The system tidies its folder of such files anyway.
        let _ = fs::remove_file(&self.path);
    }
}
