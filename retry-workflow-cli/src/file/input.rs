//! The items of a map: read from a JSON file, picked by a JSONPath, checked for what
//! the steps need of them, and named.
//!
//! What is wrong is shown in the workflow file, where it can be mended; only an
//! input that is no JSON is shown itself.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize as _;
use serde_json::Value;

use super::{ItemId, MapPlan, WorkflowFile};
use crate::file::item_path::like;
use crate::file::shown_value::{contents, short};
use crate::steps::step::Steps;
use crate::template::placeholder::{
    Meaning, Part, Placeholder, Scope, Template, as_text, at, is_key,
};
use crate::yaml::span::{FileError, Mistake, Source, SourceSpan};
use retry_workflow::NewItem;

/// What is longer names no item well.
const LONGEST_ID: usize = 200;

/// The input of a map, and what it is called in the workflow file.
struct Input<'a> {
    name: String,
    items: Vec<Item<'a>>,
}

/// An item, and where in the input it stands.
struct Item<'a> {
    /// From 1.
    position: usize,
    location: String,
    value: &'a Value,
}

impl MapPlan {
    /// The path of the input.
    pub(super) fn input(&self, file: &WorkflowFile) -> PathBuf {
        match file.path().parent() {
            Some(folder) => folder.join(&self.input),
            None => self.input.clone(),
        }
    }

    /// Reads the items, each with everything that `steps` (and these of the map) refer to.
    pub(super) fn items(
        &self,
        file: &WorkflowFile,
        others: &[&Steps],
    ) -> Result<Vec<NewItem>, FileError> {
        let file_error = |mistakes| FileError::new(Arc::clone(&file.source), mistakes);
        let path = self.input(file);
        let bytes = fs::read(&path).map_err(|error| {
            let message = format!("cannot read the items: {}", self.unread(file, &error));
            file_error(vec![Mistake { message, span: Some(self.input_span) }])
        })?;
        let document = document(&path, bytes)?;
        let input = Input::new(self, &document);
        if input.items.is_empty() {
            let lost = self.item_path.lost(&document, &input.name);
            return lost.map_or_else(|| Ok(Vec::new()), |mistake| Err(file_error(vec![mistake])));
        }
        let mut wanted = self.steps.placeholders();
        wanted.extend(others.iter().flat_map(|steps| steps.placeholders()));
        wanted.extend(self.item_id.iter().flat_map(|id| id.template.placeholders()));
        let hint = self.other_list(&document);
        let missing: Vec<_> =
            wanted.into_iter().filter_map(|wanted| input.missing(wanted, &hint)).collect();
        if !missing.is_empty() {
            return Err(file_error(missing));
        }
        let ids = match &self.item_id {
            Some(id) => input.named(id).map_err(file_error)?,
            None => input.own_ids().unwrap_or_else(|| input.positions()),
        };
        let new = |(id, item): (String, &Item<'_>)| NewItem::new(id, item.value.to_string());
        Ok(ids.into_iter().zip(&input.items).map(new).collect())
    }

    /// Why the input cannot be read, and which one may be meant.
    fn unread(&self, file: &WorkflowFile, error: &io::Error) -> String {
        let name = short(&self.input.to_string_lossy());
        let path = self.input(file);
        // Not every system says so by the kind of the error.
        if path.is_dir() {
            return format!("`{name}` is a folder: name a file in it");
        }
        if error.kind() != io::ErrorKind::NotFound {
            return format!("`{name}`: {error}");
        }
        let seen =
            if self.input.is_absolute() { "" } else { ", seen from the folder of this file" };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        if !folder.is_dir() {
            let folder = self.input.parent().unwrap_or(folder);
            return format!("there is no folder `{}`{seen}", short(&folder.to_string_lossy()));
        }
        let meant = beside(folder, &path, file.path());
        let meant = meant.map(|meant| self.input.with_file_name(meant));
        let meant =
            meant.map(|meant| format!(": did you mean `{}`?", short(&meant.to_string_lossy())));
        format!("there is no file `{name}`{seen}{}", meant.unwrap_or_default())
    }

    /// Without a `json_path` the values of a map are the items, and rarely meant to be.
    fn other_list(&self, document: &Value) -> String {
        let lists = document.as_object().filter(|_| !self.item_path.is_written);
        let list = lists.and_then(|map| map.iter().find(|(_, value)| value.is_array()));
        let Some((key, _)) = list.filter(|(key, _)| is_plain(key)) else { return String::new() };
        format!("; if the items are those in `{key}`, write `json_path: \"$.{key}[*]\"`")
    }
}

/// The file of the folder that is called most like this one.
fn beside(folder: &Path, missing: &Path, workflow: &Path) -> Option<String> {
    /// A folder may have a million.
    const MOST: usize = 1_000;

    let workflow = workflow.file_name().unwrap_or_default();
    let entries = fs::read_dir(folder).ok()?.take(MOST).flatten();
    let files = entries.filter(|entry| entry.path().is_file() && entry.file_name() != workflow);
    let mut names: Vec<_> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    // What is meant is not to depend on the order that a system lists files in.
    names.sort();
    like(missing.file_name()?.to_str()?, names.iter().map(String::as_str)).map(str::to_owned)
}

fn document(path: &Path, bytes: Vec<u8>) -> Result<Value, FileError> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        FileError::whole(path, format!("this input is no text: byte {at} is not UTF-8"))
    })?;
    let text = text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text);
    if text.trim().is_empty() {
        let message = "this input is empty: write a list of items, which is `[]` if there are none";
        return Err(FileError::whole(path, message));
    }
    let mistake = |error: &serde_json::Error, what: &str| {
        let start = text
            .split_inclusive('\n')
            .take(error.line().saturating_sub(1))
            .map(str::len)
            .sum::<usize>();
        let span = SourceSpan::new(start.saturating_add(error.column().saturating_sub(1)), 1);
        let message = format!("this input is no JSON: {what}");
        let source = Source { path: path.to_owned(), text: text.clone() };
        FileError::new(Arc::new(source), vec![Mistake { message, span: Some(span) }])
    };
    let mut deserializer = serde_json::Deserializer::from_str(&text);
    let document = Value::deserialize(&mut deserializer).map_err(|error| {
        let text = error.to_string();
        // The place is shown by us.
        let suffix = format!(" at line {} column {}", error.line(), error.column());
        mistake(&error, text.strip_suffix(&suffix).unwrap_or(&text))
    })?;
    deserializer.end().map_err(|error| {
        mistake(&error, "something follows its end: write one list of all items")
    })?;
    Ok(document)
}

impl<'a> Input<'a> {
    fn new(plan: &MapPlan, document: &'a Value) -> Self {
        let found = plan.item_path.find(document).into_iter().enumerate();
        let items = found.map(|(index, node)| Item {
            position: index + 1,
            location: node.location().to_string(),
            value: node.node(),
        });
        Self { name: short(&plan.input.to_string_lossy()), items: items.collect() }
    }

    /// `item 3 of customers.json (`$[2]`, id "c3")`.
    fn describe(&self, item: &Item<'_>) -> String {
        let id = match item.value.get("id") {
            // Not those of a list, nor of a map that is an item's id by accident.
            Some(id @ (Value::String(_) | Value::Number(_))) => {
                format!(", id \"{}\"", short(&as_text(id)))
            }
            _ => String::new(),
        };
        let Item { position, location, .. } = item;
        format!("item {position} of {} (`{}`{id})", self.name, short(location))
    }

    /// What a placeholder refers to and items have not.
    fn missing(&self, placeholder: &Placeholder, hint: &str) -> Option<Mistake> {
        let Meaning::Item(path) = &placeholder.meaning else { return None };
        let mut lacking = self.items.iter().filter(|item| at(item.value, path).is_none());
        let first = lacking.next()?;
        let more = lacking.count();
        let meant = match meant(first.value, path) {
            Some(meant) => format!("did you mean `${{item.{meant}}}`? "),
            None => String::new(),
        };
        let message = format!(
            "{} has no `{}`: {meant}{}{}{hint}",
            self.describe(first),
            written(path),
            has(first.value, path, if meant.is_empty() { "it" } else { "It" }),
            others(self.items.len(), more),
        );
        Some(Mistake { message, span: Some(placeholder.span) })
    }

    /// What `map.item_id` calls them.
    fn named(&self, id: &ItemId) -> Result<Vec<String>, Vec<Mistake>> {
        let mut ids = Vec::with_capacity(self.items.len());
        let mut holders = HashMap::new();
        let mut empty = Vec::new();
        let mut twice = Vec::new();
        let mut failed = Vec::new();
        for item in &self.items {
            match render(&id.template, item) {
                Ok(id) if id.is_empty() => empty.push(item),
                Ok(id) => {
                    if let Some(other) = holders.get(&id).copied() {
                        twice.push((other, item, id.clone()));
                    } else {
                        holders.insert(id.clone(), item.position);
                    }
                    ids.push(id);
                }
                Err(why) => failed.push((item, why)),
            }
        }
        let mut mistakes = Vec::new();
        if let Some((other, item, id)) = twice.first() {
            mistakes.push(format!(
                "items {other} and {} of {} have the same id, \"{}\": name something that differs{}",
                item.position,
                self.name,
                short(id),
                and_more(twice.len() - 1, "has the id", "have the id", " of an item before it"),
            ));
        }
        if let Some(item) = empty.first() {
            mistakes.push(format!(
                "the id of {} is empty: name something that every item has{}",
                self.describe(item),
                and_more(empty.len() - 1, "has an empty id", "have an empty id", ""),
            ));
        }
        if let Some((item, why)) = failed.first() {
            mistakes.push(format!(
                "the id of {} cannot be read: {why}{}",
                self.describe(item),
                and_more(failed.len() - 1, "has such an id", "have such an id", ""),
            ));
        }
        if mistakes.is_empty() {
            return Ok(ids);
        }
        let mistake = |message| Mistake { message, span: Some(id.span) };
        Err(mistakes.into_iter().map(mistake).collect())
    }

    /// The field `id` of each, if all have one that names them well.
    fn own_ids(&self) -> Option<Vec<String>> {
        let mut seen = HashSet::new();
        self.items
            .iter()
            .map(|item| {
                let id = match item.value.get("id")? {
                    id @ (Value::String(_) | Value::Number(_)) => as_text(id),
                    _ => return None,
                };
                let good =
                    !id.is_empty() && id.len() <= LONGEST_ID && !id.contains(char::is_control);
                (good && seen.insert(id.clone())).then_some(id)
            })
            .collect()
    }

    fn positions(&self) -> Vec<String> {
        self.items.iter().map(|item| item.position.to_string()).collect()
    }
}

fn render(template: &Template, item: &Item<'_>) -> Result<String, String> {
    let item = Some(Arc::new(item.value.clone()));
    template.render(&Scope { item, ..Scope::default() })
}

/// How many of the other items lack it, too.
fn others(all: usize, more: usize) -> String {
    match (all, more) {
        (1, _) => String::new(),
        (2, 0) => "; the other item has one".to_owned(),
        (_, 0) => format!("; the other {} items have one", all - 1),
        _ if more == all - 1 => format!("; none of the {all} items has one"),
        (_, 1) => format!("; 1 more of the {all} items has none either"),
        _ => format!("; {more} more of the {all} items have none either"),
    }
}

fn and_more(more: usize, one: &str, many: &str, of: &str) -> String {
    match more {
        0 => String::new(),
        1 => format!("; 1 more item {one}{of}"),
        _ => format!("; {more} more items {many}{of}"),
    }
}

fn written(path: &[Part]) -> String {
    let mut text = String::new();
    for part in path {
        match part {
            Part::Key(key) if text.is_empty() => text.push_str(key),
            Part::Key(key) => text.extend([".", key]),
            Part::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    text
}

/// How many parts of the path lead somewhere.
fn reach(item: &Value, path: &[Part]) -> usize {
    (0..path.len()).rev().find(|end| at(item, &path[..*end]).is_some()).unwrap_or(0)
}

/// The path that is there, and like this one.
fn meant(item: &Value, path: &[Part]) -> Option<String> {
    let end = reach(item, path);
    let Part::Key(missing) = path.get(end)? else { return None };
    let with = |key: &str| {
        let mut other = path.to_vec();
        other[end] = Part::Key(key.to_owned());
        other
    };
    let keys = at(item, &path[..end])?.as_object()?.keys().map(String::as_str);
    let keys = keys.filter(|key| is_key(key) && at(item, &with(key)).is_some());
    like(missing, keys).map(|key| written(&with(key)))
}

/// How far the path leads, and what is there. `it` is the item.
fn has(item: &Value, path: &[Part], it: &str) -> String {
    let end = reach(item, path);
    let what = if end == 0 { it.to_owned() } else { format!("`{}`", written(&path[..end])) };
    format!("{what} {}", contents(at(item, &path[..end]).unwrap_or(&Value::Null)))
}

/// Whether a JSONPath can name it without quotes.
fn is_plain(key: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !key.is_empty() && key.chars().all(is_word) && !key.starts_with(|c: char| c.is_ascii_digit())
}
