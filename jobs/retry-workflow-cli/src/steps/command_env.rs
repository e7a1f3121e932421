//! The environment of a command: its values in variables, and values that are too large for a
//! variable in a file.
//!
//! A system limits a variable or an argument to about 128 KiB. The shell itself reads a longer
//! value from a file into a variable that is not exported: the script can use it, but programs
//! cannot get it. A command that mentions `RETRY_WORKFLOW_ITEM_FILE` or
//! `RETRY_WORKFLOW_RESULTS_FILE` finds in it the path of a file with the item, or with the results
//! of all items, as JSON, which exists for as long as the command runs.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::steps::environment::Environment;
use crate::steps::notices::Notices;
use crate::steps::process::{Invocation, StepError, advice_on_shortage};
use crate::steps::retry_after::RETRY_AFTER;
use crate::steps::stream::Excerpt;
use crate::steps::tap::Tap;
use crate::steps::temporary;
use crate::template::placeholder::{Meaning, Placeholder};
use crate::template::scope::Scope;
use crate::template::shell::{Script, variable};
use crate::template::text::Template;
use retry_workflow::ItemContext;

/// Linux limits an argument to 128 KiB, including a variable's name and the final NUL.
const LONGEST_VALUE: usize = 128 * 1024 - 64;

/// The part of the roughly 2 MiB for all arguments and variables that values may use.
const ROOM: usize = 1024 * 1024;

const ITEM_FILE: &str = "RETRY_WORKFLOW_ITEM_FILE";
const RESULTS_FILE: &str = "RETRY_WORKFLOW_RESULTS_FILE";

/// The command of a step.
#[derive(Clone, Debug)]
pub(crate) enum Run {
    Shell(Script),
    /// A program and its arguments, without a shell.
    Exec(String, Vec<Template>),
    /// A prompt for the agent.
    Agent(Template),
}

/// The program that runs prompts; the prompt is its last argument.
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

/// The state shared by all steps of a file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Workspace {
    /// The folder that commands run in.
    pub(crate) folder: PathBuf,
    pub(crate) agent: Agent,
    pub(crate) environment: Environment,
    /// Receives the output of commands.
    pub(crate) tap: Option<Arc<dyn Tap>>,
    /// The amount of output that the history of an attempt keeps.
    pub(crate) excerpt: Excerpt,
    /// Receives what the user should know.
    pub(crate) notices: Notices,
}

/// An invocation, and the files that exist for as long as it runs.
pub(crate) struct PreparedCommand {
    pub(crate) invocation: Invocation,
    pub(crate) files: Vec<ValueFile>,
    /// The file in which the command may write the wait that a server asks for.
    pub(crate) retry_after: Option<ValueFile>,
    /// A hint for the case that a program cannot be started.
    pub(crate) hint: Option<String>,
}

impl Run {
    pub(crate) fn placeholders(&self) -> Box<dyn Iterator<Item = &Placeholder> + '_> {
        match self {
            Self::Shell(script) => Box::new(script.values.iter()),
            Self::Exec(_, arguments) => Box::new(arguments.iter().flat_map(Template::placeholders)),
            Self::Agent(prompt) => Box::new(prompt.placeholders()),
        }
    }

    /// Returns the command, as written in the file.
    pub(crate) fn written(&self) -> String {
        match self {
            Self::Shell(script) => {
                let values = script.values.iter().enumerate();
                values.fold(script.text.clone(), |text, (number, value)| {
                    let variable = format!("${{RETRY_WORKFLOW_VALUE_{}}}", number + 1);
                    text.replace(&variable, &value.written)
                })
            }
            Self::Exec(program, arguments) => {
                let words = arguments.iter().map(Template::written);
                let words: Vec<_> = std::iter::once(program.clone()).chain(words).collect();
                serde_json::to_string(&words).unwrap_or_default()
            }
            Self::Agent(prompt) => prompt.written(),
        }
    }

    /// Prepares the command with the values of this scope.
    pub(crate) fn prepare(
        &self,
        workspace: &Workspace,
        scope: &Scope,
    ) -> Result<PreparedCommand, StepError> {
        if let Some(Err(why)) = scope.map.as_deref().map(|map| &map.results)
            && (self.placeholders().any(|placeholder| placeholder.meaning == Meaning::Results)
                || matches!(self, Self::Shell(script) if script.text.contains(RESULTS_FILE)))
        {
            return Err(StepError::not_started(why.as_str()));
        }
        let mut values = CommandValues::default();
        let (program, args) = match self {
            Self::Shell(script) => {
                values = CommandValues::new(script, scope)?;
                let text = format!("{}{}", values.reads, script.text);
                ("sh".into(), vec!["-c".into(), text.into()])
            }
            Self::Exec(program, arguments) => {
                let arguments = arguments.iter().map(|argument| {
                    let value = argument.render(scope).map_err(StepError::payload)?;
                    if value.len() <= LONGEST_VALUE {
                        return Ok(value.into());
                    }
                    Err(StepError::payload(format!(
                        "an argument of `{program}` is {} bytes long, but the limit is \
                         {LONGEST_VALUE}: use `shell: …`, whose programs can read it from a file",
                        value.len()
                    )))
                });
                (program.into(), arguments.collect::<Result<_, _>>()?)
            }
            Self::Agent(prompt) => {
                let prompt = prompt.render(scope).map_err(StepError::payload)?;
                if prompt.len() > LONGEST_VALUE {
                    return Err(StepError::not_started(format!(
                        "the prompt is {} bytes long, but the limit for an argument is \
                         {LONGEST_VALUE}: write large content to a file, and put the file's name \
                         in the prompt",
                        prompt.len()
                    )));
                }
                let agent = &workspace.agent;
                if prompt.starts_with('-') && agent.args.last().is_none_or(|last| last != "--") {
                    return Err(StepError::not_started(format!(
                        "the prompt starts with `-`, so `{}` would read it as an option: start the \
                         prompt with a word, or end the agent's `args` with \"--\"",
                        agent.program
                    )));
                }
                let args = agent.args.iter().map(OsString::from).chain([prompt.into()]);
                (OsString::from(&agent.program), args.collect())
            }
        };
        let missing = match self {
            Self::Shell(_) | Self::Exec(..) => "",
            Self::Agent(_) => ": install it, or name another one: `agent: { program: … }`",
        };
        let folder = workspace.folder.clone();
        let CommandValues { variables: own, files, hint, .. } = values;
        let Environment { mut variables, masks } = workspace.environment.clone();
        variables.extend(own);
        let retry_after = ValueFile::create(RETRY_AFTER, "").map(Some);
        let retry_after = retry_after.or_else(|error| {
            without_retry_after(&error, &args, &workspace.notices).map(|()| None)
        })?;
        // Some programs do not run without a file.
        let path = retry_after.as_ref().map_or(Path::new("/dev/null"), ValueFile::path);
        variables.push((RETRY_AFTER.to_owned(), path.into()));
        let invocation = Invocation {
            program,
            args,
            variables,
            folder,
            timeout: None,
            missing,
            masks,
            sinks: <[_; 2]>::default(),
            excerpt: workspace.excerpt,
        };
        Ok(PreparedCommand { invocation, files, retry_after, hint })
    }
}

/// Lets a command run although the file that it may write a wait to cannot be created. The command,
/// or a script that it calls, may use the file without naming it in the workflow file, so that each
/// command has one; but few write to it.
///
/// # Errors
/// This machine lacks a resource for now, and the command's arguments name the file: it runs later.
fn without_retry_after(
    error: &io::Error,
    args: &[OsString],
    notices: &Notices,
) -> Result<(), StepError> {
    let shortage = advice_on_shortage(error);
    let names_it = || args.iter().any(|arg| arg.to_string_lossy().contains(RETRY_AFTER));
    if shortage.is_some() && names_it() {
        return Err(ValueFile::not_written(RETRY_AFTER, error));
    }
    let folder = std::env::temp_dir();
    notices.add("no file", &format!(
        "warning: cannot write to {}: {error}: ${RETRY_AFTER} is /dev/null, so that commands cannot \
         say how long to wait; {}",
        folder.display(),
        shortage.unwrap_or("set TMPDIR to another folder")
    ));
    Ok(())
}

/// Variables that tell every command which item it works on, for example to build an idempotency
/// key.
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
    // Skip what a variable cannot hold: the command may not need it.
    .filter(|(_, value)| !value.contains('\0') && value.len() <= LONGEST_VALUE)
    .map(|(name, value)| (name.to_owned(), value.into()))
    .collect()
}

/// The values of a command.
#[derive(Default)]
struct CommandValues {
    variables: Vec<(String, OsString)>,
    files: Vec<ValueFile>,
    /// The beginning of the script, which reads values that are too large for a variable.
    reads: String,
    /// A hint about such values.
    hint: Option<String>,
}

impl CommandValues {
    fn new(script: &Script, scope: &Scope) -> Result<Self, StepError> {
        let mut values = Self::default();
        let mut room = ROOM;
        for (number, placeholder) in script.values.iter().enumerate() {
            let value = scope.value(placeholder).map_err(StepError::payload)?;
            if script.connects(number, &value) {
                return Err(StepError::payload(format!(
                    "the value of `{}` starts with `/dev/`, so `bash` would open a network \
                     connection instead of a file: start the file's name with its folder, as in `> \
                     ./{}`",
                    placeholder.written, placeholder.written
                )));
            }
            let name = variable(number);
            let file = format!("{name}_FILE");
            let fits = value.len() <= LONGEST_VALUE && value.len() <= room;
            if !fits || script.text.contains(&file) {
                values.files.push(ValueFile::new(&file, &value)?);
            }
            if fits {
                room -= value.len();
                values.variables.push((name, value.into()));
            } else {
                // A command substitution strips trailing newlines, so append an `x` and remove it
                // again.
                let read = "unset V; V=$(cat \"$V_FILE\"; printf x); V=${V%x}; ";
                values.reads.push_str(&read.replace('V', &name));
                let hint = || too_long(placeholder, value.len(), &file);
                values.hint.get_or_insert_with(hint);
            }
        }
        let item = scope.item.as_deref().map(|item| move || item.to_string());
        if let Some(item) = item.filter(|_| script.text.contains(ITEM_FILE)) {
            values.files.push(ValueFile::new(ITEM_FILE, &item())?);
        }
        let results = scope.map.as_deref().map(|map| &map.results);
        if let Some(Ok(path)) = results.filter(|_| script.text.contains(RESULTS_FILE)) {
            let path = path.as_os_str().to_owned();
            values.variables.push((RESULTS_FILE.to_owned(), path));
        }
        let paths = values.files.iter().map(|file| (file.name.clone(), file.path.clone().into()));
        values.variables.extend(paths);
        Ok(values)
    }
}

/// A hint that a program cannot be given this value, and where to find it.
fn too_long(placeholder: &Placeholder, len: usize, file: &str) -> String {
    let file = match placeholder.meaning {
        Meaning::Item(_) => ITEM_FILE,
        Meaning::Results => RESULTS_FILE,
        _ => file,
    };
    format!(
        "the value of `{}` is {len} bytes long, but the limit for an argument is {LONGEST_VALUE}: \
         let the program read the file \"${file}\" instead",
        placeholder.written
    )
}

/// A file for one command, removed when the command has ended.
#[derive(Debug)]
pub(crate) struct ValueFile {
    name: String,
    path: PathBuf,
}

impl ValueFile {
    pub(crate) fn new(name: &str, text: &str) -> Result<Self, StepError> {
        Self::create(name, text).map_err(|error| Self::not_written(name, &error))
    }

    /// The item is not to blame, whatever the reason.
    fn not_written(name: &str, error: &io::Error) -> StepError {
        let advice = advice_on_shortage(error).unwrap_or("set TMPDIR to a folder with room for it");
        StepError::not_begun(format!("cannot write the file for ${name}: {error}: {advice}"))
    }

    fn create(name: &str, text: &str) -> io::Result<Self> {
        Ok(Self { name: name.to_owned(), path: temporary::file(text.as_bytes())? })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ValueFile {
    fn drop(&mut self) {
        // Ignore errors: the whole folder is removed at the end.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::sync::Mutex;

    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_shortage_of_files_delays_only_commands_that_name_the_file_for_a_wait() {
        for (errno, advice) in [
            (Errno::MFILE, "raise the limit of open files"),
            (Errno::NFILE, "all files that this system can open are open"),
            (Errno::NOMEM, "run fewer items"),
            (Errno::ACCESS, "set TMPDIR to another folder"),
        ] {
            let printed = Arc::new(Mutex::new(Vec::new()));
            let prints = Arc::clone(&printed);
            let notices =
                Notices::new(move |notice| prints.lock().unwrap().push(notice.to_owned()));
            let without = |script: &str| {
                let args = [OsString::from("-c"), OsString::from(script)];
                without_retry_after(&errno.into(), &args, &notices)
            };
            let named = without("echo 5 > \"$RETRY_WORKFLOW_RETRY_AFTER\"");
            let is_delayed = named.is_err_and(|error| error.shortage().is_some());
            assert_eq!(is_delayed, errno != Errno::ACCESS, "{errno}");
            without("true").unwrap();
            let printed = printed.lock().unwrap();
            assert_eq!(printed.len(), 1, "{printed:?}");
            assert!(printed[0].contains("is /dev/null") && printed[0].contains(advice));
        }
    }
}
