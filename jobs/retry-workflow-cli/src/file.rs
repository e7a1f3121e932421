//! Workflow files: reading them, checking them as a whole before anything runs, and running their
//! steps.
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

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use retry_rules::suggest::nearest;
use retry_runtime::Class;
use serde_json::Value;

use self::environment::{EnvironmentPlan, NeededVariable};
pub(crate) use self::forms::schema::schema;
use self::input::select::Selection;
use self::input::{Input, InputFrom, InputReader, Pipe};
use self::item_path::ItemPath;
use crate::steps::command_env::{Agent, Workspace};
use crate::steps::environment::Environment;
use crate::steps::step::Steps;
use crate::template::placeholder::Placeholder;
use crate::template::scope::{Scope, StepOutputs};
use crate::template::text::Template;
pub use crate::yaml::span::FileError;
use crate::yaml::span::{Mistake, Source, SourceSpan};
use retry_workflow::job::Moment;
use retry_workflow::store::{NewItem, PRIORITIES};
use retry_workflow::{ErrorPolicy, OnItemFailure, Policy, Rate};

/// A workflow file that has been read and checked.
#[derive(Debug)]
pub struct WorkflowFile {
    source: Arc<Source>,
    name: String,
    error_policy: ErrorPolicy,
    pub(crate) handlers: BTreeMap<String, Steps>,
    /// Steps that run when the job has ended.
    pub(crate) on_finish: Option<Steps>,
    pub(crate) schedule: Schedule,
    pub(crate) plan: WorkflowPlan,
    /// The number of workers that an item may kill while it runs alone.
    pub(crate) max_lost: Option<u32>,
    environment: EnvironmentPlan,
    /// Notes on what is valid, but may be a mistake.
    hints: Vec<Mistake>,
    /// The variables that scripts need.
    needed: Vec<NeededVariable>,
    /// Hints about those that the environment of this machine does not set.
    unset: Vec<Mistake>,
    pub(crate) workspace: Arc<Workspace>,
}

/// The times at which the jobs of a file begin.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Schedule {
    pub(crate) not_before: Option<Moment>,
    pub(crate) skip_after: Option<Moment>,
}

/// The work that a file defines, by mode.
#[derive(Debug)]
pub(crate) enum WorkflowPlan {
    Standard(Steps),
    MapReduce(Arc<MapPlan>),
    Graph(Vec<TaskPlan>),
}

/// `setup`, `map` and `reduce`.
#[derive(Debug)]
pub(crate) struct MapPlan {
    /// Steps that run once, before the items.
    pub(crate) setup: Option<Steps>,
    pub(crate) input: Input,
    pub(crate) item_path: ItemPath,
    pub(crate) selection: Selection,
    pub(crate) item_id: Option<ItemText>,
    pub(crate) priority: Option<ItemText>,
    pub(crate) steps: Steps,
    pub(crate) max_parallel: usize,
    pub(crate) slow_down_on: Class,
    pub(crate) limits: Limits,
    /// The time limit of all steps of an item together.
    pub(crate) agent_timeout: Option<Duration>,
    pub(crate) reduce: Option<Steps>,
}

/// `map.rate` and `map.concurrency`.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    pub(crate) rates: Vec<RateLimit>,
    /// The number of items that share a key and run at the same time.
    pub(crate) concurrency: Vec<(ItemText, NonZeroU32)>,
}

/// A rate of all items, or of those that share a key; of starts, or of costs.
#[derive(Clone, Debug)]
pub(crate) struct RateLimit {
    pub(crate) per: Option<ItemText>,
    /// The text of the key, empty if all items share the rate.
    pub(crate) key: String,
    pub(crate) limit: Rate,
    pub(crate) cost: Option<ItemText>,
}

impl Limits {
    /// The rates that hold for the same items, each list with its key.
    pub(crate) fn rates_by_key(&self) -> BTreeMap<&str, Vec<&RateLimit>> {
        let mut by_key = BTreeMap::<_, Vec<_>>::new();
        for rate in &self.rates {
            by_key.entry(rate.key.as_str()).or_default().push(rate);
        }
        by_key
    }

    fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let rates = self.rates.iter().flat_map(|rate| rate.per.iter().chain(&rate.cost));
        let texts = rates.chain(self.concurrency.iter().map(|(per, _)| per));
        texts.flat_map(|text| text.template.placeholders())
    }
}

/// `map.item_id`, `map.priority`, or a text of a limit, and where it is written.
#[derive(Clone, Debug)]
pub(crate) struct ItemText {
    pub(crate) template: Template,
    pub(crate) text: String,
    pub(crate) span: SourceSpan,
}

impl ItemText {
    /// Returns the text for an item; empty if the item has no such field.
    pub(crate) fn of(&self, item: &Value) -> String {
        let scope = Scope { item: Some(Arc::new(item.clone())), ..Scope::default() };
        self.template.render(&scope).unwrap_or_default()
    }

    /// Returns the number of an item. Without a value it is 0.
    ///
    /// # Errors
    /// The value is not in the range; it is returned. An item without the field is reported
    /// elsewhere.
    pub(crate) fn number(
        &self,
        item: &Value,
        range: &RangeInclusive<i128>,
    ) -> Result<i128, String> {
        let text = self.of(item);
        let number = if text.trim().is_empty() { Some(0) } else { text.trim().parse().ok() };
        number.filter(|number| range.contains(number)).ok_or(text)
    }

    /// Returns the priority of an item that has been checked.
    pub(crate) fn priority(&self, item: &Value) -> i8 {
        let number = self.number(item, &priorities()).unwrap_or_default();
        i8::try_from(number).unwrap_or_default()
    }

    /// Returns the cost of an item, if it has one. A number that is too large is above any limit.
    pub(crate) fn cost(&self, item: &Value) -> Option<u64> {
        let number = self.number(item, &COST).ok()?;
        Some(u64::try_from(number).unwrap_or(u64::MAX))
    }
}

/// The priorities of items.
pub(crate) fn priorities() -> RangeInclusive<i128> {
    (*PRIORITIES.start()).into()..=(*PRIORITIES.end()).into()
}

/// The costs of items.
pub(crate) const COST: RangeInclusive<i128> = 1..=i128::MAX;

/// One of `tasks`.
#[derive(Debug)]
pub(crate) struct TaskPlan {
    pub(crate) name: String,
    pub(crate) depends_on: Vec<String>,
    /// A single step, with the task's own retries.
    pub(crate) steps: Steps,
}

/// Returns whether a name is that of a workflow file.
pub(crate) fn names_file(name: &Path) -> bool {
    name.extension().is_some_and(|end| end == "yml" || end == "yaml")
}

/// Returns the name of the workflow file beside `path` that is most similar to its own.
fn similar_file(path: &Path) -> Option<String> {
    let entries = fs::read_dir(folder_of(path)).ok()?;
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names: Vec<_> = names.filter(|name| names_file(Path::new(name))).collect();
    let similar = nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str))?;
    Some(path.with_file_name(similar).display().to_string())
}

impl WorkflowFile {
    /// Reads and checks a file.
    ///
    /// # Errors
    /// The file cannot be read, is not YAML, or has mistakes; all of them are reported, each with
    /// its place.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|error| {
            let why = match error.kind() {
                io::ErrorKind::NotFound => match similar_file(path) {
                    Some(similar) => format!("there is no such file: did you mean `{similar}`?"),
                    None => "there is no such file".to_owned(),
                },
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

    /// Reads and checks a text as if it were the file at this path.
    ///
    /// # Errors
    /// See [`read`](Self::read).
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, FileError> {
        let path = path.as_ref().to_owned();
        let text = text.strip_prefix('\u{feff}').unwrap_or(text).to_owned();
        forms::read(&Arc::new(Source { path, text, before: (0, 0) }))
    }

    /// A file that has only this plan.
    fn new(source: &Arc<Source>, agent: Agent, plan: WorkflowPlan) -> Self {
        let folder = folder_of(&source.path).to_owned();
        Self {
            source: Arc::clone(source),
            name: stem(&source.path),
            error_policy: ErrorPolicy::new(),
            handlers: BTreeMap::new(),
            on_finish: None,
            schedule: Schedule::default(),
            plan,
            max_lost: None,
            environment: EnvironmentPlan::default(),
            hints: Vec::new(),
            needed: Vec::new(),
            unset: Vec::new(),
            workspace: Arc::new(Workspace { folder, agent, ..Workspace::default() }),
        }
    }

    retry_rules::accessors! {
        /// The path of the file, as it was given.
        pub fn path(&self) -> &Path { &source.path }

        /// The text of the file.
        pub fn text(&self) -> &str { &source.text }

        /// The workflow's name, or the file's name if it has none.
        pub fn name(&self) -> &str { &name }
    }

    /// `standard`, `mapreduce` or `graph`.
    pub fn mode(&self) -> &'static str {
        match self.plan {
            WorkflowPlan::Standard(_) => "standard",
            WorkflowPlan::MapReduce(_) => "mapreduce",
            WorkflowPlan::Graph(_) => "graph",
        }
    }

    /// Returns the policy for items that fail.
    pub fn error_policy(&self) -> &ErrorPolicy {
        &self.error_policy
    }

    /// The path of the file that `map` reads its items from; `None` if a command writes them, they
    /// come from stdin, or there is no `map`.
    pub fn input(&self) -> Option<PathBuf> {
        match &self.plan {
            WorkflowPlan::MapReduce(map) => map.input.path(&self.source.path),
            WorkflowPlan::Standard(_) | WorkflowPlan::Graph(_) => None,
        }
    }

    /// The items of `map`, in order; none in other modes. If a command writes them, it is run.
    ///
    /// # Errors
    /// The input cannot be read or is not JSON, `json_path` leads nowhere, an item lacks something
    /// that a step refers to, or two items have the same id. The error points into the workflow
    /// file, or into the input if that is not JSON.
    pub fn items(&self) -> Result<Vec<NewItem>, FileError> {
        let Some(reader) = self.reader() else { return Ok(Vec::new()) };
        let mut items = Vec::new();
        let mut keep = |item, _| {
            items.push(item);
            Ok(())
        };
        let checked = if reader.is_file() { Some(reader.check()?) } else { None };
        reader.give(checked.as_ref(), &Pipe::default(), &mut keep)?;
        Ok(items)
    }
}

impl WorkflowFile {
    /// Reads the variables for the file's commands from the environment of this machine.
    pub(crate) fn with_environment(mut self) -> Result<Self, FileError> {
        let environment = self.environment.read(&self.source, &self.workspace.folder, false)?;
        self.unset = self.unset_variables(&environment)?;
        let Workspace { folder, agent, .. } = (*self.workspace).clone();
        self.workspace = Arc::new(Workspace { folder, agent, environment, ..Workspace::default() });
        Ok(self)
    }

    /// Returns hints about variables that scripts insert and that this environment does not set.
    /// A script may insert such a variable on purpose, as in `curl ${OPTS}`.
    ///
    /// # Errors
    /// Such a name is probably a misspelt one of a variable that is set.
    fn unset_variables(&self, environment: &Environment) -> Result<Vec<Mistake>, FileError> {
        let missing = self.needed.iter().filter_map(|needed| needed.missing(environment));
        let (misspelt, unset): (Vec<_>, Vec<_>) =
            missing.partition(|(_, is_misspelt)| *is_misspelt);
        if !misspelt.is_empty() {
            let mistakes = misspelt.into_iter().map(|(mistake, _)| mistake).collect();
            return Err(FileError::new(Arc::clone(&self.source), mistakes));
        }
        let mut messages = BTreeSet::new();
        let unset = unset.into_iter().map(|(mistake, _)| mistake);
        Ok(unset.filter(|mistake| messages.insert(mistake.message.clone())).collect())
    }

    /// Returns the hints about unset variables that [`with_environment`](Self::with_environment)
    /// has found, in the form of errors.
    pub(crate) fn unset(&self) -> FileError {
        FileError::new(Arc::clone(&self.source), self.unset.clone())
    }

    /// Returns a reader for the input of `map`.
    pub(crate) fn reader(&self) -> Option<InputReader> {
        let WorkflowPlan::MapReduce(map) = &self.plan else { return None };
        let mut placeholders = map.steps.placeholders();
        placeholders.extend(self.handlers.values().flat_map(Steps::placeholders));
        placeholders.extend(map.item_id.iter().flat_map(|id| id.template.placeholders()));
        placeholders.extend(map.priority.iter().flat_map(|it| it.template.placeholders()));
        placeholders.extend(map.limits.placeholders());
        Some(InputReader {
            source: Arc::clone(&self.source),
            map: Arc::clone(map),
            workspace: Arc::clone(&self.workspace),
            placeholders: placeholders.into_iter().cloned().collect(),
            given: StepOutputs::default(),
        })
    }

    /// Notes on things that are not errors, but may be mistakes, in the form of errors.
    pub(crate) fn hints(&self) -> FileError {
        FileError::new(Arc::clone(&self.source), self.hints.clone())
    }

    /// Checks the input as far as possible before anything runs. Returns the number of items, if it
    /// can be known, and what could not be checked, with the reason.
    pub(crate) fn check_input(&mut self) -> Result<(Option<u64>, Vec<String>), FileError> {
        let known = self.environment.read(&self.source, &self.workspace.folder, true)?;
        let unset = self.unset_variables(&known)?;
        self.hints.extend(unset);
        let mut unseen = self.environment.unseen(&self.workspace.folder);
        let WorkflowPlan::MapReduce(map) = &self.plan else { return Ok((None, unseen)) };
        let why = match &map.input.from {
            InputFrom::Command(_) => "the items, because a check runs no commands".to_owned(),
            InputFrom::Stdin => "the items, because a check does not read stdin".to_owned(),
            InputFrom::File(file) => {
                let file = file.display();
                match (self.input().is_some_and(|path| path.exists()), &map.setup) {
                    (true, None) => {
                        let checked = self.reader().map(|reader| reader.check()).transpose()?;
                        let items = checked.as_ref().map(|checked| checked.items);
                        let hint = checked.and_then(|checked| checked.hint);
                        self.hints.extend(hint.map(|message| Mistake::at(map.input.span, message)));
                        return Ok((items, unseen));
                    }
                    (true, Some(_)) => format!("{file}, which `setup` may rewrite"),
                    (false, Some(_)) => {
                        format!("{file}, which does not exist before `setup` has run")
                    }
                    (false, None) => {
                        let meant = self.reader().and_then(|reader| reader.misspelt());
                        if let Some(mistake) = meant {
                            return Err(FileError::new(Arc::clone(&self.source), vec![mistake]));
                        }
                        format!(
                            "{file}, which does not exist yet: this file has no `setup` that could \
                             create it, so something else has to before `run`"
                        )
                    }
                }
            }
        };
        unseen.push(why);
        Ok((None, unseen))
    }

    /// The policies of the steps and tasks, in the order of the file, each with the name of its
    /// place, then the policy of the items.
    pub(crate) fn policies(&self) -> Vec<NamedPolicy> {
        let mut found = Vec::new();
        match &self.plan {
            WorkflowPlan::Standard(steps) => collect_policies("commands", steps, &mut found),
            WorkflowPlan::MapReduce(map) => {
                if let Some(setup) = &map.setup {
                    collect_policies("setup", setup, &mut found);
                }
                collect_policies("map", &map.steps, &mut found);
                if let Some(reduce) = &map.reduce {
                    collect_policies("reduce", reduce, &mut found);
                }
            }
            WorkflowPlan::Graph(tasks) => {
                for task in tasks {
                    collect_policies("tasks", &task.steps, &mut found);
                }
            }
        }
        for (name, steps) in &self.handlers {
            collect_policies(&format!("handlers, {name}"), steps, &mut found);
        }
        if let Some(steps) = &self.on_finish {
            collect_policies("on_finish", steps, &mut found);
        }
        if *self.error_policy.get_on_item_failure() == OnItemFailure::Retry {
            let policy = *self.error_policy.get_retry_config();
            found.push(("error_policy (items that are re-queued)".to_owned(), policy, Vec::new()));
        }
        found
    }
}

/// A policy with the name of its place, and the kinds of failure that use up no attempt.
pub(crate) type NamedPolicy = (String, Policy, Vec<&'static str>);

fn collect_policies(place: &str, steps: &Steps, found: &mut Vec<NamedPolicy>) {
    for step in &steps.0 {
        let name = format!("{place}, {}", step.label);
        if let Some(&policy) = step.policy() {
            found.push((name.clone(), policy, step.uncounted()));
        }
        if let Some(handler) = step.after_failure.steps() {
            collect_policies(&format!("{name}, on_failure"), handler, found);
        }
        if let Some(then) = &step.on_success {
            collect_policies(&format!("{name}, on_success"), then, found);
        }
    }
}

/// The folder of a file, in which its commands run.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| "workflow".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
