//! [`ItemChecker`]: whether each item has what the steps refer to, and a usable, unique id.
//!
//! Only a hash and a position are kept per id.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

use retry_workflow::store::MAX_ID_BYTES;
use serde_json::Value;

use super::read::Item;
use super::select::hash;
use crate::file::ItemText;
use crate::file::item_path::similar;
use crate::file::shown_value::{contents, short};
use crate::template::placeholder::{Meaning, Placeholder};
use crate::template::scope::{Scope, as_text};
use crate::template::text::Template;
use crate::terminal::text::{count as counted, thousands};
use crate::yaml::span::{Mistake, SourceSpan};
use retry_workflow::condition::path::{PathPart, at, is_key};
use retry_workflow::work::ContentIds;

/// A longer text is not a useful id.
const LONGEST_ID: usize = 200;

/// The source of the ids of items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// `map.item_id`.
    Template,
    /// Their `id` field.
    Own,
    Content,
}

impl IdRule {
    /// The rule of a map, if the map itself decides.
    pub(crate) fn of(template: Option<&ItemText>) -> Option<Self> {
        template.map(|_| Self::Template)
    }

    /// The text by which jobs recognise the rule.
    pub(crate) fn describe(self, template: Option<&ItemText>) -> String {
        match (self, template) {
            (Self::Template, Some(id)) => format!("`item_id: {}`", id.template.written()),
            (Self::Own, _) => "their field `id`".to_owned(),
            _ => "their contents".to_owned(),
        }
    }

    /// Returns the id of an item; `contents` has numbered the equal items before it.
    pub(crate) fn id(
        self,
        item: &mut Item,
        template: Option<&ItemText>,
        contents: &mut ContentIds,
    ) -> Result<String, String> {
        match (self, template) {
            (Self::Template, Some(id)) => render(&id.template, &item.value),
            (Self::Own, _) => {
                own_id(&item.value).ok_or_else(|| "no longer identifies it".to_owned())
            }
            _ => Ok(contents.next(&mut item.value)),
        }
    }
}

/// The result of checking an input before its items are processed.
#[derive(Clone, Debug)]
pub(crate) struct CheckedInput {
    pub(crate) rule: IdRule,
    pub(crate) items: u64,
    /// A hint at a value that is valid, but most likely not intended.
    pub(crate) hint: Option<String>,
}

/// Collects what is wrong with the items of an input.
pub(crate) struct ItemChecker<'a> {
    /// The name of the input in messages.
    name: String,
    template: Option<&'a ItemText>,
    /// Set if all items are checked before the first one is processed.
    is_ahead: bool,
    pub(crate) total: u64,
    /// The rule for the ids, once there is an item.
    pub(crate) rule: Option<IdRule>,
    contents: ContentIds,
    /// The positions of items by the hashes of their ids.
    known: HashMap<u128, u64>,
    /// The first item whose `id` is a text that is not an id, although all before it have a usable
    /// one.
    odd: Option<String>,
    lacking: Vec<(&'a [PathPart], Problem)>,
    same: Problem,
    empty: Problem,
    failed: Problem,
    /// The numbers that items have, and those items where they are not valid.
    numbers: Vec<(Problem, ItemNumber<'a>)>,
}

/// A number that each item has: its text, its name, its range, and a description of the range.
pub(crate) type ItemNumber<'a> = (&'a ItemText, &'static str, RangeInclusive<i128>, String);

/// A problem with the first item that has it, and how many items have it.
struct Problem {
    span: SourceSpan,
    /// The property that other items with the problem have: "an empty id".
    others: &'static str,
    first: Option<String>,
    count: u64,
}

impl Problem {
    fn new(span: SourceSpan, others: &'static str) -> Self {
        Self { span, others, first: None, count: 0 }
    }

    fn add(&mut self, message: impl FnOnce() -> String) {
        self.count += 1;
        self.first.get_or_insert_with(message);
    }

    fn mistake(&self) -> Option<Mistake> {
        let (first, others) = (self.first.as_ref()?, self.others);
        let message = match self.count {
            1 => first.clone(),
            count => format!("{first}; {} more with {others}", counted(count - 1, "item")),
        };
        Some(Mistake::at(self.span, message))
    }
}

impl<'a> ItemChecker<'a> {
    /// A checker for the input with this name, which `input` is the place of.
    pub(crate) fn new(
        (name, input): (String, SourceSpan),
        (template, numbers): (Option<&'a ItemText>, Vec<ItemNumber<'a>>),
        placeholders: &'a [Placeholder],
        is_ahead: bool,
    ) -> Self {
        let ids = template.map_or(input, |id| id.span);
        let lacking = placeholders.iter().filter_map(|placeholder| match &placeholder.meaning {
            Meaning::Item(path) => Some((&**path, Problem::new(placeholder.span, ""))),
            _ => None,
        });
        let numbers = numbers.into_iter().map(|number| {
            let invalid = Problem::new(number.0.span, "one like that");
            (invalid, number)
        });
        Self {
            name,
            template,
            is_ahead,
            total: 0,
            rule: IdRule::of(template),
            contents: ContentIds::default(),
            known: HashMap::new(),
            odd: None,
            lacking: lacking.collect(),
            same: Problem::new(ids, "the id of an earlier item"),
            empty: Problem::new(ids, "an empty id"),
            failed: Problem::new(ids, "an id like that"),
            numbers: numbers.collect(),
        }
    }

    /// Checks an item; returns its id if nothing is wrong with it.
    pub(crate) fn check(&mut self, item: &mut Item) -> Option<String> {
        self.total += 1;
        let name = &self.name;
        let mut is_valid = true;
        for (path, lacking) in &mut self.lacking {
            if at(&item.value, path).is_none() {
                lacking.add(|| missing(name, item, path));
                is_valid = false;
            }
        }
        let has_all = is_valid;
        for (invalid, (text, noun, range, instead)) in &mut self.numbers {
            if let (true, Err(text)) = (has_all, text.number(&item.value, range)) {
                let (item, text) = (describe(name, item), short(&text));
                let wrong = format!("the {noun} of {item} is \"{text}\"");
                invalid.add(|| format!("{wrong}: write a whole number {instead}"));
                is_valid = false;
            }
        }
        self.id(item).filter(|_| is_valid)
    }

    fn id(&mut self, item: &mut Item) -> Option<String> {
        let name = &self.name;
        let rule = match self.rule {
            Some(IdRule::Own) if !self.is_ahead => IdRule::Own,
            // No id has been used yet.
            None | Some(IdRule::Own) if own_id(&item.value).is_some() => IdRule::Own,
            None | Some(IdRule::Own) => IdRule::Content,
            Some(rule) => rule,
        };
        if rule == IdRule::Content && self.rule != Some(rule) {
            let why = id_text(&item.value).as_deref().and_then(odd_id);
            self.odd = why.map(|why| format!("{} {why}", describe(name, item)));
            // The fields `id` are not used, so that equal ones are no mistake.
            self.known = HashMap::new();
            (self.same.first, self.same.count) = (None, 0);
        }
        self.rule = Some(rule);
        let id = match rule.id(item, self.template, &mut self.contents) {
            Ok(id) if !id.is_empty() => id,
            Ok(_) => {
                self.empty.add(|| {
                    let item = describe(name, item);
                    format!("the id of {item} is empty: use something that every item has")
                });
                return None;
            }
            Err(_) if rule == IdRule::Own => {
                self.failed.add(|| {
                    format!(
                        "{} has no usable field `id`, but earlier items have: set `item_id` to \
                         something that every item has",
                        describe(name, item)
                    )
                });
                return None;
            }
            Err(why) => {
                self.failed.add(|| format!("the id of {} {why}", describe(name, item)));
                return None;
            }
        };
        if rule == IdRule::Content {
            return Some(id);
        }
        let Item { position, place, .. } = item;
        let Some(first) = self.known.insert(hash(&id), *position) else { return Some(id) };
        self.same.add(|| {
            let differ = match rule {
                IdRule::Template => "use something that differs between items",
                _ => {
                    "set `item_id` to something that differs, or keep one of each with \
                     `distinct: id`"
                }
            };
            format!(
                "items {first} and {position} ({place}) of {name} have the same id, \"{}\": {differ}",
                short(&id)
            )
        });
        None
    }

    /// The mistakes so far. `hint` is appended to messages about missing fields.
    pub(crate) fn mistakes(&self, hint: &str) -> Vec<Mistake> {
        let lacking = self.lacking.iter().filter_map(|(_, lacking)| {
            let first = lacking.first.as_ref()?;
            let (all, count) = (self.total, lacking.count);
            let is_only = !self.is_ahead || all == 1;
            let others = if is_only { "" } else { &format!("; {count} of {all} items lack one") };
            let message = format!("{first}{others}{hint}");
            Some(Mistake::at(lacking.span, message))
        });
        let numbers = self.numbers.iter().map(|(invalid, _)| invalid);
        let own = [&self.empty, &self.failed].into_iter().chain(numbers);
        let same = self.same.mistake().into_iter();
        same.chain(lacking).chain(own.filter_map(Problem::mistake)).collect()
    }

    /// The result, if there are no mistakes.
    pub(crate) fn checked(self) -> CheckedInput {
        let hint = self.odd.map(|first| {
            format!(
                "the `id` of {first}, so the ids of all items come from their contents: correct it, \
                 or say by `item_id` what tells them apart"
            )
        });
        let rule = self.rule.unwrap_or(IdRule::Content);
        CheckedInput { rule, items: self.total, hint }
    }
}

/// The `id` field, if it is a usable id.
fn own_id(value: &Value) -> Option<String> {
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

/// Reports that an item lacks this path, and what it has instead.
fn missing(name: &str, item: &Item, path: &[PathPart]) -> String {
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
