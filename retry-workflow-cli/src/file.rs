//! Workflow files: read, checked as a whole before anything runs, and their steps run.
//!
//! ```text
//! name: import-customers
//! mode: mapreduce
//! map:
//!   input: "items.json"
//!   json_path: "$.items[*]"
//!   agent_template:
//!     - shell: "./process.sh ${item.id}"
//! reduce:
//!   - shell: "./summarise.sh ${map.successful} ${map.failed}"
//! ```

mod shown_value;
mod environment;
mod item_path;
pub(crate) mod input;
mod forms;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use self::environment::EnvironmentPlan;
pub(crate) use self::forms::schema::schema;
use self::input::select::Selection;
use self::input::{Input, InputFrom, InputReader, Pipe};
use self::item_path::ItemPath;
use crate::steps::command_env::Workspace;
use crate::steps::step::{AfterFailure, Steps};
use crate::template::placeholder::Template;
pub use crate::yaml::span::FileError;
use crate::yaml::span::{Mistake, Source, SourceSpan};
use retry_workflow::{ErrorPolicy, NewItem, OnItemFailure, Policy};

/// A workflow file that has been read and checked.
#[derive(Debug)]
pub struct WorkflowFile {
    source: Arc<Source>,
    name: String,
    error_policy: ErrorPolicy,
    pub(crate) handlers: BTreeMap<String, Steps>,
    pub(crate) plan: Plan,
    environment: EnvironmentPlan,
    hints: Vec<Mistake>,
    pub(crate) workspace: Arc<Workspace>,
}

/// What a file has done, by its mode.
#[derive(Debug)]
pub(crate) enum Plan {
    Standard(Steps),
    MapReduce(Arc<MapPlan>),
    Graph(Vec<TaskPlan>),
}

/// `map`, and `reduce`.
#[derive(Debug)]
pub(crate) struct MapPlan {
    /// They run once, before the items.
    pub(crate) setup: Option<Steps>,
    pub(crate) input: Input,
    pub(crate) item_path: ItemPath,
    pub(crate) selection: Selection,
    pub(crate) item_id: Option<ItemId>,
    pub(crate) steps: Steps,
    pub(crate) max_parallel: usize,
    /// How long all steps of an item may run in all.
    pub(crate) agent_timeout: Option<Duration>,
    pub(crate) reduce: Option<Steps>,
}

/// `map.item_id`, and where it is written.
#[derive(Debug)]
pub(crate) struct ItemId {
    pub(crate) template: Template,
    pub(crate) span: SourceSpan,
}

/// One of `tasks`.
#[derive(Debug)]
pub(crate) struct TaskPlan {
    pub(crate) name: String,
    pub(crate) depends_on: Vec<String>,
    /// One, with the task's own retries.
    pub(crate) steps: Steps,
}

impl WorkflowFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file cannot be read, is no YAML, or says something that cannot be done: all such
    /// mistakes, each with its place.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => "there is no such file".to_owned(),
                io::ErrorKind::IsADirectory => "this is a folder".to_owned(),
                _ => error.to_string(),
            };
            FileError::whole(path, format!("cannot read the workflow: {why}"))
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            FileError::whole(path, format!("this is not UTF-8 text: see byte {at}"))
        })?;
        Self::parse(path, &text)
    }

    /// The same of a text that is, or is to be, at this path.
    ///
    /// # Errors
    /// See [`read`](Self::read).
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, FileError> {
        let path = path.as_ref().to_owned();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        let folder = working_folder(&path);
        let source = Arc::new(Source { path, text, before: (0, 0) });
        let read = forms::read(&source)?;
        Ok(Self {
            source,
            name: read.name,
            error_policy: read.error_policy,
            handlers: read.handlers,
            plan: read.plan,
            environment: read.environment,
            hints: read.hints,
            workspace: Arc::new(Workspace { folder, agent: read.agent, ..Workspace::default() }),
        })
    }

    /// Its path, as it was given.
    pub fn path(&self) -> &Path {
        &self.source.path
    }

    /// Its text.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// The workflow's name; that of the file if it has none.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// `standard`, `mapreduce` or `graph`.
    pub fn mode(&self) -> &'static str {
        match self.plan {
            Plan::Standard(_) => "standard",
            Plan::MapReduce(_) => "mapreduce",
            Plan::Graph(_) => "graph",
        }
    }

    /// What happens to items that fail.
    pub fn error_policy(&self) -> &ErrorPolicy {
        &self.error_policy
    }

    /// The path of the file that its `map` reads items from; `None` where a command writes them,
    /// they come from stdin, or there is no `map`.
    pub fn input(&self) -> Option<PathBuf> {
        match &self.plan {
            Plan::MapReduce(map) => map.input.path(&self.source.path),
            Plan::Standard(_) | Plan::Graph(_) => None,
        }
    }

    /// The items of its `map`, in their order; none in other modes. A command that writes them
    /// is run.
    ///
    /// # Errors
    /// The input cannot be read, is no JSON, has nothing where `json_path` leads, an item has
    /// not what a step needs of it, or two have the same id. What is wrong is shown in the
    /// workflow file, or in the input if that is no JSON.
    pub fn items(&self) -> Result<Vec<NewItem>, FileError> {
        let Some(reader) = self.reader() else { return Ok(Vec::new()) };
        let mut items = Vec::new();
        let mut keep = |item| {
            items.push(item);
            Ok(())
        };
        if reader.is_file() {
            reader.give(reader.check()?, &mut keep)?;
        } else {
            reader.give_unchecked(&Pipe::default(), &mut keep)?;
        }
        Ok(items)
    }
}

impl WorkflowFile {
    /// The file with the variables that its commands get: those of this machine, now.
    pub(crate) fn with_environment(mut self) -> Result<Self, FileError> {
        let environment = self.environment.read(&self.source, &self.workspace.folder, false)?;
        let Workspace { folder, agent, .. } = (*self.workspace).clone();
        self.workspace = Arc::new(Workspace { folder, agent, environment, ..Workspace::default() });
        Ok(self)
    }

    /// Whether steps run before its items.
    pub(crate) fn has_setup(&self) -> bool {
        matches!(&self.plan, Plan::MapReduce(map) if map.setup.is_some())
    }

    /// Reads the input of its `map`.
    pub(crate) fn reader(&self) -> Option<InputReader> {
        let Plan::MapReduce(map) = &self.plan else { return None };
        let mut wanted = map.steps.placeholders();
        wanted.extend(self.handlers.values().flat_map(Steps::placeholders));
        wanted.extend(map.item_id.iter().flat_map(|id| id.template.placeholders()));
        Some(InputReader {
            source: Arc::clone(&self.source),
            map: Arc::clone(map),
            workspace: Arc::clone(&self.workspace),
            wanted: wanted.into_iter().cloned().collect(),
            captured: BTreeMap::new(),
        })
    }

    /// What is not an error, but may be a mistake: reported in the same form.
    pub(crate) fn hints(&self) -> FileError {
        FileError::new(Arc::clone(&self.source), self.hints.clone())
    }

    /// How many items it has, as far as that can be known before anything runs; and what a check
    /// cannot look at, with the reason.
    pub(crate) fn looked_at(&self) -> Result<(Option<u64>, Vec<String>), FileError> {
        self.environment.read(&self.source, &self.workspace.folder, true)?;
        let mut unseen = self.environment.unseen(&self.workspace.folder);
        let Plan::MapReduce(map) = &self.plan else { return Ok((None, unseen)) };
        let why = match &map.input.from {
            InputFrom::Command(_) => "the items, because a check runs no commands".to_owned(),
            InputFrom::Stdin => "the items, because a check does not read stdin".to_owned(),
            InputFrom::File(file) => {
                let file = file.display();
                match (self.input().is_some_and(|path| path.exists()), &map.setup) {
                    (true, None) => {
                        let reader = self.reader().map(|reader| reader.check()).transpose()?;
                        return Ok((reader.map(|checked| checked.items), unseen));
                    }
                    (true, Some(_)) => format!("{file}, which `setup` may rewrite"),
                    (false, Some(_)) => {
                        format!("{file}, which does not exist before `setup` has run")
                    }
                    (false, None) => format!("{file}, which does not exist yet"),
                }
            }
        };
        unseen.push(why);
        Ok((None, unseen))
    }

    /// The policies of its steps and tasks, in its order, each with the name of its place; then
    /// that of its items.
    pub(crate) fn policies(&self) -> Vec<(String, Policy)> {
        let mut found = Vec::new();
        match &self.plan {
            Plan::Standard(steps) => collect_policies("commands", steps, &mut found),
            Plan::MapReduce(map) => {
                if let Some(setup) = &map.setup {
                    collect_policies("setup", setup, &mut found);
                }
                collect_policies("map", &map.steps, &mut found);
                if let Some(reduce) = &map.reduce {
                    collect_policies("reduce", reduce, &mut found);
                }
            }
            Plan::Graph(tasks) => {
                for task in tasks {
                    collect_policies("tasks", &task.steps, &mut found);
                }
            }
        }
        for (name, steps) in &self.handlers {
            collect_policies(&format!("handlers, {name}"), steps, &mut found);
        }
        if *self.error_policy.get_on_item_failure() == OnItemFailure::Retry {
            let policy = *self.error_policy.get_retry_config();
            found.push(("error_policy (items that are re-queued)".to_owned(), policy));
        }
        found
    }
}

fn collect_policies(place: &str, steps: &Steps, found: &mut Vec<(String, Policy)>) {
    for step in &steps.0 {
        let name = format!("{place}, {}", step.label);
        if let Some(&policy) = step.policy() {
            found.push((name.clone(), policy));
        }
        let handler = match &step.after_failure {
            AfterFailure::Handle(steps) => Some(steps),
            AfterFailure::Repair(repair) => Some(&repair.steps),
            AfterFailure::Stop | AfterFailure::Continue | AfterFailure::Fallback(_) => None,
        };
        if let Some(handler) = handler {
            collect_policies(&format!("{name}, on_failure"), handler, found);
        }
        if let Some(then) = &step.on_success {
            collect_policies(&format!("{name}, on_success"), then, found);
        }
    }
}

/// Where a file's commands run.
fn working_folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder.as_os_str().is_empty() => PathBuf::from("."),
        Some(folder) => folder.to_owned(),
        None => PathBuf::from("."),
    }
}
