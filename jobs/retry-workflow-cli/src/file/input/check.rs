//! [`Checks`]: whether each item has what the steps refer to, and a usable, unique id.
//!
//! Only a hash and a position are kept per id, unless it may be a duplicate.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use retry_workflow::store::{MAX_ID_BYTES, PRIORITIES};
use serde_json::Value;

use super::read::Item;
use crate::file::item_path::similar;
use crate::file::shown_value::{contents, short};
use crate::file::{ItemId, ItemPriority};
use crate::template::path::{PathPart, at, is_key};
use crate::template::placeholder::{Meaning, Placeholder};
use crate::template::scope::{Scope, as_text};
use crate::template::text::Template;
use crate::terminal::text::thousands;
use crate::yaml::span::{Mistake, SourceSpan};

/// A longer text is not a useful id.
const LONGEST_ID: usize = 200;

/// The source of the ids of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// `map.item_id`.
    Template,
    /// Their `id` field.
    Own,
    Position,
}

impl IdRule {
    /// The id of an item.
    pub(crate) fn id(self, item: &Item, template: Option<&ItemId>) -> Result<String, String> {
        match (self, template) {
            (Self::Template, Some(id)) => render(&id.template, &item.value),
            (Self::Own, _) => {
                own_id(&item.value).ok_or_else(|| "no longer identifies it".to_owned())
            }
            _ => Ok(item.position.to_string()),
        }
    }
}

/// Collects what is wrong with the items of an input.
pub(crate) struct Checks<'a> {
    /// The name of the input in messages.
    name: String,
    template: Option<&'a ItemId>,
    priority: Option<&'a ItemPriority>,
    required: Vec<RequiredPath<'a>>,
    total: u64,
    /// Every item so far has a usable `id` field.
    has_own: bool,
    /// Hashes of ids, with the items' positions.
    ids: Vec<(u64, u64)>,
    /// Items whose `id` is a text that is not an id, although all before them have a usable one.
    odd: Problem,
    empty: Problem,
    failed: Problem,
    /// Items whose priority is not valid.
    unranked: Problem,
}

/// A path that a step refers to, and the items that lack it.
struct RequiredPath<'a> {
    placeholder: &'a Placeholder,
    path: &'a [PathPart],
    lacking: Problem,
}

/// A problem with the first item that has it, and how many items have it.
#[derive(Default)]
struct Problem {
    first: Option<String>,
    count: u64,
}

impl Problem {
    fn add(&mut self, told: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(told);
    }

    fn more(&self) -> u64 {
        self.count.saturating_sub(1)
    }
}

/// The positions of items that may have the same id as another.
pub(crate) type Suspects = HashSet<u64>;

impl<'a> Checks<'a> {
    pub(crate) fn new(
        name: String,
        (template, priority): (Option<&'a ItemId>, Option<&'a ItemPriority>),
        placeholders: impl IntoIterator<Item = &'a Placeholder>,
    ) -> Self {
        let required =
            placeholders.into_iter().filter_map(|placeholder| match &placeholder.meaning {
                Meaning::Item(path) => {
                    Some(RequiredPath { placeholder, path, lacking: Problem::default() })
                }
                _ => None,
            });
        Self {
            name,
            template,
            priority,
            required: required.collect(),
            total: 0,
            has_own: true,
            ids: Vec::new(),
            odd: Problem::default(),
            empty: Problem::default(),
            failed: Problem::default(),
            unranked: Problem::default(),
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Returns why items are named by their positions, although all up to this one have an `id`.
    pub(crate) fn odd_id(&self) -> Option<String> {
        let first = self.odd.first.as_ref()?;
        Some(format!(
            "the `id` of {first}, so all items are named by their positions: correct it, or say by \
             `item_id` what tells them apart"
        ))
    }

    /// Checks an item.
    pub(crate) fn check(&mut self, item: &Item) {
        self.total += 1;
        let name = &self.name;
        for RequiredPath { path, lacking, .. } in &mut self.required {
            if at(&item.value, path).is_none() {
                lacking.add(|| missing(name, item, path));
            }
        }
        if let Some(Err(text)) = self.priority.map(|it| it.of(&item.value)) {
            self.unranked.add(|| no_priority(name, item, &text));
        }
        let id = match self.template {
            Some(id) => match render(&id.template, &item.value) {
                Ok(id) if id.is_empty() => {
                    self.empty.add(|| describe(name, item));
                    return;
                }
                Ok(id) => id,
                Err(why) => {
                    self.failed.add(|| format!("{} {why}", describe(name, item)));
                    return;
                }
            },
            None if self.has_own => match own_id(&item.value) {
                Some(id) => id,
                None => {
                    if let Some(why) = id_text(&item.value).as_deref().and_then(odd_id) {
                        self.odd.add(|| format!("{} {why}", describe(name, item)));
                    }
                    self.has_own = false;
                    self.ids = Vec::new();
                    return;
                }
            },
            None => return,
        };
        self.ids.push((hash(&id), item.position));
    }

    /// Finishes the checks: where the ids come from, which items may have the same id, and the
    /// mistakes. `hint` is appended to messages about missing fields.
    pub(crate) fn finish(mut self, hint: &str) -> (IdRule, Suspects, Vec<Mistake>) {
        let mut mistakes = Vec::new();
        for RequiredPath { placeholder, lacking, .. } in &self.required {
            let Some(first) = &lacking.first else { continue };
            let message = format!("{first}{}{hint}", others(self.total, lacking.more()));
            mistakes.push(Mistake { message, span: Some(placeholder.span) });
        }
        if let Some(ItemId { span, .. }) = self.template {
            let mut add = |message| mistakes.push(Mistake { message, span: Some(*span) });
            if let Some(first) = &self.empty.first {
                let more = and_more(self.empty.more(), "has an empty id", "have an empty id", "");
                add(format!("the id of {first} is empty: use something that every item has{more}"));
            }
            if let Some(first) = &self.failed.first {
                let more =
                    and_more(self.failed.more(), "has an id like that", "have an id like that", "");
                add(format!("the id of {first}{more}"));
            }
        }
        if let (Some(ItemPriority { span, .. }), Some(first)) =
            (self.priority, &self.unranked.first)
        {
            let more = and_more(
                self.unranked.more(),
                "has a priority like that",
                "have a priority like that",
                "",
            );
            mistakes.push(Mistake { message: format!("{first}{more}"), span: Some(*span) });
        }
        self.ids.sort_unstable();
        let suspects: Suspects = self
            .ids
            .chunk_by(|one, two| one.0 == two.0)
            .filter(|same| same.len() > 1)
            .flatten()
            .map(|(_, position)| *position)
            .collect();
        let rule = match self.template {
            Some(_) => IdRule::Template,
            None if self.has_own && self.total > 0 => IdRule::Own,
            None => IdRule::Position,
        };
        (rule, suspects, mistakes)
    }

    /// Returns where mistakes about ids are shown.
    pub(crate) fn id_span(template: Option<&ItemId>, input: SourceSpan) -> SourceSpan {
        template.map_or(input, |id| id.span)
    }
}

/// Finds real duplicates among the suspects.
pub(crate) struct Duplicates {
    name: String,
    known: HashMap<String, String>,
    first: Option<String>,
    more: u64,
}

impl Duplicates {
    pub(crate) fn new(name: String) -> Self {
        Self { name, known: HashMap::new(), first: None, more: 0 }
    }

    pub(crate) fn check(&mut self, item: &Item, id: String) {
        let here = format!("{} ({})", item.position, item.place);
        let Some(other) = self.known.get(&id) else {
            self.known.insert(id, here);
            return;
        };
        if self.first.is_some() {
            self.more += 1;
        } else {
            let id = short(&id);
            self.first = Some(format!(
                "items {other} and {here} of {} have the same id, \"{id}\"",
                self.name
            ));
        }
    }

    /// The mistake, if two items really have the same id.
    pub(crate) fn finish(self, rule: IdRule) -> Option<String> {
        let first = self.first?;
        let more = and_more(self.more, "has the id", "have the id", " of an earlier item");
        Some(format!("{first}: {}{more}", differ(rule)))
    }
}

pub(crate) fn differ(rule: IdRule) -> &'static str {
    match rule {
        IdRule::Template => "use something that differs between items",
        _ => "set `item_id` to something that differs, or keep one of each with `distinct: id`",
    }
}

fn hash(id: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    hasher.finish()
}

/// The `id` field, if it is a usable id.
pub(crate) fn own_id(value: &Value) -> Option<String> {
    id_text(value).filter(|id| odd_id(id).is_none())
}

/// The `id` field, if it is a text or a number.
fn id_text(value: &Value) -> Option<String> {
    let id = value.get("id")?;
    matches!(id, Value::String(_) | Value::Number(_)).then(|| as_text(id))
}

/// Returns why a text is not a usable id.
fn odd_id(id: &str) -> Option<String> {
    match id.len() {
        0 => Some("is empty".to_owned()),
        long if long > LONGEST_ID => {
            Some(format!("is {long} bytes long, and {LONGEST_ID} are the most"))
        }
        _ => id.contains(char::is_control).then(|| "contains a line break or the like".to_owned()),
    }
}

/// Renders the id of an item. An error continues the sentence "the id of the item …".
fn render(template: &Template, value: &Value) -> Result<String, String> {
    let item = Some(Arc::new(value.clone()));
    let id = template
        .render(&Scope { item, ..Scope::default() })
        .map_err(|why| format!("cannot be read: {why}"))?;
    if id.len() > MAX_ID_BYTES {
        return Err(format!(
            "is {} bytes long, and {} are the most: use a shorter field, such as a number",
            thousands(id.len() as u64),
            thousands(MAX_ID_BYTES as u64)
        ));
    }
    Ok(id)
}

/// `item 3 of customers.json (`$[2]`, id "c3")`.
pub(crate) fn describe(name: &str, item: &Item) -> String {
    let id = match item.value.get("id") {
        // Lists and maps are not shown: their `id` field is hardly an id.
        Some(id @ (Value::String(_) | Value::Number(_))) => {
            format!(", id \"{}\"", short(&as_text(id)))
        }
        _ => String::new(),
    };
    let Item { position, place, .. } = item;
    format!("item {position} of {name} ({place}{id})")
}

/// Reports that this text is not a priority.
pub(crate) fn no_priority(name: &str, item: &Item, text: &str) -> String {
    let (lowest, highest) = PRIORITIES.into_inner();
    format!(
        "the priority of {} is \"{}\": write a whole number from {lowest} to {highest}, the higher the \
         sooner",
        describe(name, item),
        short(text)
    )
}

/// Reports that an item lacks this path, and what it has instead.
pub(crate) fn missing(name: &str, item: &Item, path: &[PathPart]) -> String {
    let meant = match similar_path(&item.value, path) {
        Some(meant) => format!("did you mean `${{item.{meant}}}`? "),
        None => String::new(),
    };
    format!(
        "{} has no `{}`: {meant}{}",
        describe(name, item),
        written(path),
        has(&item.value, path, if meant.is_empty() { "it" } else { "It" }),
    )
}

/// Returns how many of the other items lack it as well.
fn others(all: u64, more: u64) -> String {
    match (all, more) {
        (1, _) => String::new(),
        (2, 0) => "; the other item has one".to_owned(),
        (_, 0) => format!("; the other {} items have one", all - 1),
        _ if more == all - 1 => format!("; none of the {all} items has one"),
        (_, 1) => format!("; 1 other of the {all} items has none either"),
        _ => format!("; {more} others of the {all} items have none either"),
    }
}

fn and_more(more: u64, one: &str, many: &str, of: &str) -> String {
    match more {
        0 => String::new(),
        1 => format!("; 1 more item {one}{of}"),
        _ => format!("; {more} more items {many}{of}"),
    }
}

fn written(path: &[PathPart]) -> String {
    let mut text = String::new();
    for part in path {
        match part {
            PathPart::Key(key) if text.is_empty() => text.push_str(key),
            PathPart::Key(key) => text.extend([".", key]),
            PathPart::Index(index) => text.extend(["[", &index.to_string(), "]"]),
        }
    }
    text
}

/// Returns how many parts of the path exist in the item.
fn reach(item: &Value, path: &[PathPart]) -> usize {
    (0..path.len()).rev().find(|end| at(item, &path[..*end]).is_some()).unwrap_or(0)
}

/// A similar path that does exist.
fn similar_path(item: &Value, path: &[PathPart]) -> Option<String> {
    let end = reach(item, path);
    let PathPart::Key(missing) = path.get(end)? else { return None };
    let with = |key: &str| {
        let mut other = path.to_vec();
        other[end] = PathPart::Key(key.to_owned());
        other
    };
    let keys = at(item, &path[..end])?.as_object()?.keys().map(String::as_str);
    let keys = keys.filter(|key| is_key(key) && at(item, &with(key)).is_some());
    similar(missing, keys).map(|key| written(&with(key)))
}

/// Describes the part of the path that exists, and the value there. `it` is the noun for the item.
fn has(item: &Value, path: &[PathPart], it: &str) -> String {
    let end = reach(item, path);
    let what = if end == 0 { it.to_owned() } else { format!("`{}`", written(&path[..end])) };
    format!("{what} {}", contents(at(item, &path[..end]).unwrap_or(&Value::Null)))
}
