//! [`Input`]: where the items of a map come from; and [`InputReader`], which reads them one by one,
//! checks that they have what the steps refer to, and gives them ids.
//!
//! Mistakes are shown in the workflow file, where they can be fixed; only an input that is not JSON
//! is shown itself.

pub(crate) mod read;
pub(crate) mod select;
pub(crate) mod check;
mod pipe;

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use self::check::CheckedInput;
use self::check::{IdRule, ItemChecker, ItemNumber, describe};
pub(crate) use self::pipe::Pipe;
use self::read::{Format, Halt, InputEnd, Opened, Sink};
use super::{COST, MapPlan, folder_of, priorities};
use crate::file::item_path::similar;
use crate::file::shown_value::short;
use crate::steps::command_env::Workspace;
use crate::template::placeholder::Placeholder;
use crate::template::scope::StepOutputs;
use crate::template::shell::Script;
use crate::yaml::span::{FileError, Mistake, Source, SourceSpan};
use retry_workflow::condition::expression::Types;
use retry_workflow::store::NewItem;
use retry_workflow::work::ContentIds;

/// `map.input`.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) from: InputFrom,
    /// The format; if it is not set, it is inferred from the file's name or from the first
    /// character.
    pub(crate) format: Option<Format>,
    /// The place of `input` in the file.
    pub(crate) span: SourceSpan,
}

#[derive(Debug)]
pub(crate) enum InputFrom {
    /// As written: relative to the workflow file's folder.
    File(PathBuf),
    Command(Box<Script>),
    Stdin,
}

impl InputFrom {
    /// The file of this name, or stdin, which is `-`.
    pub(crate) fn named(name: &str) -> Self {
        if name == "-" { Self::Stdin } else { Self::File(name.into()) }
    }
}

/// Reads the input of a map.
#[derive(Clone, Debug)]
pub(crate) struct InputReader {
    pub(crate) source: Arc<Source>,
    pub(crate) map: Arc<MapPlan>,
    pub(crate) workspace: Arc<Workspace>,
    /// The placeholders of the steps.
    pub(crate) placeholders: Vec<Placeholder>,
    /// The outputs of `setup`.
    pub(crate) given: StepOutputs,
}

/// Receives the items to be processed, and the rule for their ids.
pub(crate) type Give<'a> = dyn FnMut(NewItem, Option<IdRule>) -> Result<(), Halt> + 'a;

impl InputReader {
    /// Returns whether the input can be read twice.
    pub(crate) fn is_file(&self) -> bool {
        matches!(self.map.input.from, InputFrom::File(_))
    }

    pub(crate) fn is_stdin(&self) -> bool {
        matches!(self.map.input.from, InputFrom::Stdin)
    }

    fn checker(&self, is_ahead: bool) -> ItemChecker<'_> {
        let MapPlan { input, item_id, priority, limits, .. } = &*self.map;
        let costs = limits.rates.iter().filter_map(|rate| rate.cost.as_ref());
        let (lowest, highest) = priorities().into_inner();
        let sooner = format!("from {lowest} to {highest}, the higher the sooner");
        let priority = priority.iter().map(|text| (text, "priority", priorities(), sooner.clone()));
        let costs = costs.map(|text| (text, "cost", COST, "from 1".to_owned()));
        let numbers: Vec<ItemNumber<'_>> = priority.chain(costs).collect();
        let given = (item_id.as_ref(), numbers);
        ItemChecker::new((self.name(), input.span), given, &self.placeholders, is_ahead)
    }

    /// Checks all items of a file.
    pub(crate) fn check(&self) -> Result<CheckedInput, FileError> {
        let mut checker = self.checker(true);
        let end = self.each(&Pipe::default(), &mut |mut item| {
            checker.check(&mut item);
            Ok(())
        })?;
        if checker.total == 0 {
            self.find_none(&end)?;
        }
        let mistakes = checker.mistakes(&self.other_list(&end));
        if mistakes.is_empty() { Ok(checker.checked()) } else { Err(self.wrong(mistakes)) }
    }

    /// Passes on the items. If they have not been checked, which is so if they can be read only
    /// once, mistakes are reported when they are reached.
    pub(crate) fn give(
        &self,
        before: Option<&CheckedInput>,
        pipe: &Pipe,
        give: &mut Give<'_>,
    ) -> Result<(), FileError> {
        let mut checker = self.checker(false);
        let mut contents = ContentIds::default();
        let end = self.each(pipe, &mut |mut item| {
            let (id, rule) = match before {
                Some(CheckedInput { rule, .. }) => {
                    let id = rule.id(&mut item, self.map.item_id.as_ref(), &mut contents);
                    let id = id.map_err(|why| {
                        let message = format!("the id of {} {why}", describe(&self.name(), &item));
                        self.wrong_input(message)
                    })?;
                    (id, Some(*rule))
                }
                None => {
                    let id = checker.check(&mut item);
                    (id.ok_or_else(|| self.wrong(checker.mistakes("")))?, checker.rule)
                }
            };
            give(NewItem::new(id, item.value.to_string()), rule)
        })?;
        if before.is_none() && checker.total == 0 { self.find_none(&end) } else { Ok(()) }
    }

    /// Passes on all values that are items, in order.
    fn each(&self, pipe: &Pipe, each: &mut Sink<'_>) -> Result<InputEnd, FileError> {
        let map = &*self.map;
        let opened = match &map.input.from {
            InputFrom::File(_) => self.open()?,
            InputFrom::Stdin => pipe.stdin(map.input.known_format()),
            InputFrom::Command(script) => pipe.command(self, script)?,
        };
        let types = match opened.format {
            Some(Format::Csv) => Types::Texts,
            _ => Types::Json,
        };
        let mut enough = false;
        let read = |sink: &mut Sink<'_>| {
            let mut watched = |item| {
                let taken = sink(item);
                enough = matches!(taken, Err(Halt::Enough));
                taken
            };
            read::read(opened, &map.item_path, &mut watched)
        };
        let end = map.selection.run(types, &self.source, read, each)?;
        pipe.ended(enough).map_err(|why| self.wrong_input(why))?;
        Ok(end)
    }

    fn open(&self) -> Result<Opened, FileError> {
        let path = self.path().unwrap_or_default();
        let opened = File::open(&path).and_then(|file| {
            let is_folder = file.metadata()?.is_dir();
            if is_folder { Err(io::ErrorKind::IsADirectory.into()) } else { Ok(file) }
        });
        let file = opened.map_err(|error| {
            let message = format!("cannot read the items: {}", self.unread(&path, &error));
            self.wrong_input(message)
        })?;
        let reader = Box::new(BufReader::with_capacity(64 * 1024, file));
        Ok(Opened { reader, name: path, is_file: true, format: self.map.input.known_format() })
    }

    /// The path of the input, if it is a file.
    pub(crate) fn path(&self) -> Option<PathBuf> {
        self.map.input.path(&self.source.path)
    }

    /// The name of the input in messages.
    fn name(&self) -> String {
        match &self.map.input.from {
            InputFrom::File(path) => short(&path.to_string_lossy()),
            InputFrom::Command(_) => "the command's output".to_owned(),
            InputFrom::Stdin => "stdin".to_owned(),
        }
    }

    fn wrong(&self, mistakes: Vec<Mistake>) -> FileError {
        FileError::new(Arc::clone(&self.source), mistakes)
    }

    /// An error that concerns the input as a whole.
    pub(crate) fn wrong_input(&self, message: impl Into<String>) -> FileError {
        FileError::at(&self.source, self.map.input.span, message)
    }

    /// A mistake that concerns the input as a whole.
    fn mistake(&self, message: String) -> Mistake {
        Mistake::at(self.map.input.span, message)
    }

    /// A list without items is fine; a path that leads nowhere is a mistake.
    fn find_none(&self, end: &InputEnd) -> Result<(), FileError> {
        if end.was_found {
            return Ok(());
        }
        let path = &self.map.item_path;
        let lost = match &self.map.input.from {
            InputFrom::File(_) => {
                let Opened { reader, name, .. } = self.open()?;
                let document = read::document(reader, &name, true)?;
                path.lost(&document, &self.name())
            }
            InputFrom::Command(_) | InputFrom::Stdin => Some(self.mistake(format!(
                "`{}` does not lead to a list in {}",
                path.text(),
                self.name()
            ))),
        };
        lost.map_or(Ok(()), |mistake| Err(self.wrong(vec![mistake])))
    }

    /// Returns why the input cannot be read, and which file was probably meant.
    fn unread(&self, path: &Path, error: &io::Error) -> String {
        let InputFrom::File(input) = &self.map.input.from else { return error.to_string() };
        let name = short(&input.to_string_lossy());
        // Not every system reports this through the kind of the error.
        if path.is_dir() {
            return format!("`{name}` is a folder: name a file in it");
        }
        if error.kind() != io::ErrorKind::NotFound {
            return format!("`{name}`: {error}");
        }
        let seen = if input.is_absolute() {
            ""
        } else {
            " (paths are relative to the folder of this file)"
        };
        let folder = folder_of(path);
        let command = if name.contains(' ') {
            "; for a command with such an ending, write `{ command: … }`"
        } else {
            ""
        };
        if !folder.is_dir() {
            let folder = input.parent().unwrap_or(folder);
            let folder = short(&folder.to_string_lossy());
            return format!("there is no folder `{folder}`{seen}{command}");
        }
        let meant = beside(path, &self.source.path);
        let meant = meant.map(|meant| input.with_file_name(meant));
        let meant =
            meant.map(|meant| format!(": did you mean `{}`?", short(&meant.to_string_lossy())));
        format!("there is no file `{name}`{seen}{}{command}", meant.unwrap_or_default())
    }

    /// Returns the mistake of a missing file, if a file with a similar name exists.
    pub(crate) fn misspelt(&self) -> Option<Mistake> {
        let path = self.path()?;
        beside(&path, &self.source.path)?;
        let error = io::ErrorKind::NotFound.into();
        Some(self.mistake(format!("cannot read the items: {}", self.unread(&path, &error))))
    }

    /// A hint for the case that a map's values were taken as the items because there is no
    /// `json_path`.
    fn other_list(&self, end: &InputEnd) -> String {
        let list = end.list_inside.as_ref().filter(|_| !self.map.item_path.is_written);
        let Some(key) = list.filter(|key| is_plain(key)) else { return String::new() };
        format!("; if the items are those in `{key}`, write `json_path: \"$.{key}[*]\"`")
    }
}

impl Input {
    /// The format, if it is known before the input is read.
    pub(crate) fn known_format(&self) -> Option<Format> {
        self.format.or_else(|| match &self.from {
            InputFrom::File(path) => Format::of_name(&path.to_string_lossy()),
            InputFrom::Command(_) | InputFrom::Stdin => None,
        })
    }

    /// The path of the input, if it is a file; `workflow` is the path of the workflow file.
    pub(crate) fn path(&self, workflow: &Path) -> Option<PathBuf> {
        let InputFrom::File(path) = &self.from else { return None };
        Some(workflow.parent().unwrap_or(Path::new("")).join(path))
    }
}

/// The file beside a missing one whose name is most similar to it.
fn beside(missing: &Path, workflow: &Path) -> Option<String> {
    /// A folder may have a million entries.
    const MOST: usize = 1_000;

    let workflow = workflow.file_name().unwrap_or_default();
    let entries = fs::read_dir(folder_of(missing)).ok()?.take(MOST).flatten();
    let files = entries.filter(|entry| entry.path().is_file() && entry.file_name() != workflow);
    let mut names: Vec<_> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    // The suggestion must not depend on the order in which the system lists files.
    names.sort();
    similar(missing.file_name()?.to_str()?, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns whether a key needs no quotes in a JSONPath.
fn is_plain(key: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !key.is_empty() && key.chars().all(is_word) && !key.starts_with(|c: char| c.is_ascii_digit())
}
