//! A YAML file as a tree in which every value has a source location.

mod reader;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use retry_rules::duration::format;
use retry_rules::suggest::{instead, meant, shortened};
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::options::DuplicateKeyPolicy;
use serde_saphyr::{DefaultMessageFormatter, MergeKeyPolicy, MessageFormatter as _, Spanned};

use self::reader::ReadError;
use crate::yaml::foreign_keys::key_of_others;
use crate::yaml::span::{FileError, Mistake, Source, SourceSpan};

/// A value and its location.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) value: Value,
    pub(crate) span: SourceSpan,
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    /// A number, and its text in the file: `1.10` is not the text `1.1`.
    Number(Number, String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Signed(i64),
    Unsigned(u64),
    Float(f64),
}

#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) span: SourceSpan,
}

impl Node {
    /// Parses a file.
    pub(crate) fn read(source: &Arc<Source>) -> Result<Self, FileError> {
        let options = serde_saphyr::options! {
            // Commands called `yes` or `on` are texts; only `true` and `false` are booleans.
            strict_booleans: true,
            duplicate_keys: DuplicateKeyPolicy::Error,
            merge_keys: MergeKeyPolicy::Merge,
            with_snippet: false,
        };
        match serde_saphyr::from_str_with_options::<Spanned<Raw>>(&source.text, options) {
            Ok(raw) => Ok(Self::from_raw(raw, &source.text)),
            Err(error) => {
                let mut span =
                    error.location().map(|location| span_from_location(location, &source.text));
                let mut message = yaml_message(&error);
                if let Some(cure) = span.and_then(|span| quoted(&source.text, span)) {
                    message = cure;
                } else if message.contains("quoted scalar")
                    && let Some(quote) = span.and_then(|span| open_quote(&source.text, span))
                {
                    span = Some(quote);
                    "this quote is never closed: write another one at the end of the text"
                        .clone_into(&mut message);
                } else if BLOCK_ENDS.iter().any(|end| message.ends_with(end)) {
                    message = format!("{INDENTATION} ({message})");
                }
                Err(FileError::at(source, span, message))
            }
        }
    }

    fn from_raw(raw: Spanned<Raw>, text: &str) -> Self {
        let span = span_from_location(raw.referenced, text);
        let value = match raw.value {
            Raw::Scalar(Value::Number(number, shown)) => {
                // An alias refers to the text at its anchor.
                let SourceSpan { start, end } = span_from_location(raw.defined, text);
                let written = text.get(start..end).filter(|written| !written.is_empty());
                Value::Number(number, written.map_or(shown, str::to_owned))
            }
            Raw::Scalar(value) => value,
            Raw::List(list) => {
                Value::List(list.into_iter().map(|node| Self::from_raw(node, text)).collect())
            }
            Raw::Map(map) => Value::Map(
                map.into_iter()
                    .map(|(key, value)| (Key::from_raw(&key, text), Self::from_raw(value, text)))
                    .collect(),
            ),
        };
        Self { value, span }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        self.entry(name).map(|(_, node)| node)
    }

    fn entry(&self, name: &str) -> Option<&(Key, Self)> {
        match &self.value {
            Value::Map(map) => map.iter().find(|(key, _)| key.name == name),
            _ => None,
        }
    }

    /// The entries of a list, or this value as the only one.
    pub(crate) fn each(&self) -> &[Self] {
        match &self.value {
            Value::List(list) => list,
            _ => std::slice::from_ref(self),
        }
    }

    /// The text of a scalar, as written in the file: a text, a number, `true` or `false`.
    pub(crate) fn scalar(&self) -> Option<String> {
        match &self.value {
            Value::Bool(value) => Some(value.to_string()),
            Value::Number(_, text) | Value::Text(text) => Some(text.clone()),
            Value::Null | Value::List(_) | Value::Map(_) => None,
        }
    }

    /// Converts a number of seconds to a duration in text form; `None` for any other value.
    pub(crate) fn in_seconds(&self) -> Option<Self> {
        let Value::Number(number, _) = &self.value else { return None };
        let time = match *number {
            Number::Unsigned(seconds) => Duration::from_secs(seconds),
            Number::Signed(seconds) => Duration::from_secs(u64::try_from(seconds).ok()?),
            Number::Float(seconds) if seconds >= 0.0 => {
                Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
            }
            Number::Float(_) => return None,
        };
        Some(Self { value: Value::Text(format(time).to_string()), span: self.span })
    }

    /// Returns whether both have the same contents, regardless of location.
    pub(crate) fn has_same_contents(&self, other: &Self) -> bool {
        match (&self.value, &other.value) {
            (Value::List(one), Value::List(two)) => {
                one.len() == two.len() && one.iter().zip(two).all(|(a, b)| a.has_same_contents(b))
            }
            (Value::Map(one), Value::Map(two)) => {
                one.len() == two.len()
                    && one.iter().all(|(key, value)| {
                        other.get(&key.name).is_some_and(|other| value.has_same_contents(other))
                    })
            }
            (Value::Null, Value::Null) => true,
            _ => self.scalar().is_some() && self.scalar() == other.scalar(),
        }
    }

    /// Describes the value in words.
    pub(crate) fn kind(&self) -> String {
        match &self.value {
            Value::Null => "empty".to_owned(),
            Value::Bool(value) => format!("`{value}`"),
            Value::Number(_, written) => format!("the number {}", shortened(written)),
            Value::Text(text) if text.len() <= 40 => format!("the text \"{}\"", text.trim_end()),
            Value::Text(_) => "a text".to_owned(),
            Value::List(_) => "a list".to_owned(),
            Value::Map(_) => "a map".to_owned(),
        }
    }

    /// Deserializes a type.
    pub(crate) fn parse<T: DeserializeOwned>(&self) -> Result<T, Mistake> {
        T::deserialize(self).map_err(|complaint| self.mistake(complaint))
    }

    /// Deserializes a type from some of the keys of a map, as if there were no others, with the
    /// values in `instead` replaced.
    pub(crate) fn parse_only<T: DeserializeOwned>(
        &self,
        keys: &[&str],
        instead: &[(&str, Self)],
    ) -> Result<T, Mistake> {
        let Value::Map(entries) = &self.value else { return self.parse() };
        let entries = entries.iter().filter(|(key, _)| keys.contains(&key.name.as_str()));
        let entries = entries.map(|(key, value)| {
            let other = instead.iter().find(|(name, _)| *name == key.name);
            (key.clone(), other.map_or(value, |(_, other)| other).clone())
        });
        Self { value: Value::Map(entries.collect()), span: self.span }.parse()
    }

    fn mistake(&self, ReadError { message, span, known, .. }: ReadError) -> Mistake {
        let known = known.unwrap_or_default().iter().map(|key| (*key).to_owned()).collect();
        Mistake { known, ..Mistake::at(span.unwrap_or(self.span), message) }
    }

    /// Returns the value as it is written on one line of the file.
    pub(crate) fn written<'s>(&self, source: &'s str) -> Option<&'s str> {
        let written = source.get(self.span.start..self.span.end);
        written.filter(|written| !written.is_empty() && !written.contains('\n'))
    }

    /// Renames the keys at these places.
    pub(crate) fn rename(&mut self, names: &[(SourceSpan, String)]) {
        match &mut self.value {
            Value::List(list) => list.iter_mut().for_each(|node| node.rename(names)),
            Value::Map(map) => {
                for (key, value) in map {
                    if let Some((_, name)) = names.iter().find(|(span, _)| *span == key.span) {
                        key.name.clone_from(name);
                    }
                    value.rename(names);
                }
            }
            _ => {}
        }
    }

    /// Returns the name of the entry that this mistake is in.
    pub(crate) fn entry_of(&self, mistake: &Mistake) -> Option<&str> {
        let (Value::Map(map), Some(span)) = (&self.value, mistake.span) else { return None };
        let keys = map.iter().map(|(key, _)| key).filter(|key| key.span.start <= span.start);
        keys.max_by_key(|key| key.span.start).map(|key| key.name.as_str())
    }

    /// A mistake about the values of `keys`. It is located at the first of them that exists, and
    /// inside its value at the next.
    pub(crate) fn mistake_at(
        &self,
        keys: impl IntoIterator<Item = &'static str>,
        message: impl fmt::Display,
    ) -> Mistake {
        let mut node = self;
        let mut span = self.span;
        for name in keys {
            if let Some((key, value)) = node.entry(name) {
                span = key.span;
                node = value;
            }
        }
        Mistake::at(span, message.to_string())
    }

    /// The location in the file of `part`, which is at `at` in this text. If it cannot be
    /// determined (because of escapes), the location of the whole text.
    pub(crate) fn span_within(&self, source: &str, at: usize, part: &str) -> SourceSpan {
        let Value::Text(text) = &self.value else { return self.span };
        let written = source.get(self.span.start..self.span.end).unwrap_or_default();
        let Some(before) = text.get(..at) else { return self.span };
        let quote = usize::from(written.starts_with(['"', '\'']));
        if written.get(quote..).is_some_and(|written| written.starts_with(text.as_str())) {
            return SourceSpan::new(self.span.start + quote + at, part.len().max(1));
        }
        // If the part occurs equally often in both, it is the occurrence with the same number.
        if !part.is_empty() && text.matches(part).count() == written.matches(part).count() {
            let number = before.matches(part).count();
            if let Some((offset, _)) = written.match_indices(part).nth(number) {
                return SourceSpan::new(self.span.start + offset, part.len());
            }
        }
        self.span
    }
}

impl Key {
    /// Returns whether the key is ignored wherever keys are checked: `x-…` keys are for anchors.
    pub(crate) fn is_ignored(&self) -> bool {
        self.name.starts_with("x-")
    }

    fn from_raw(raw: &Spanned<Raw>, text: &str) -> Self {
        let span = span_from_location(raw.referenced, text);
        let name = match &raw.value {
            Raw::Scalar(Value::Text(name)) => name.clone(),
            // The key in `1: …` is a name, as written.
            _ => text.get(span.start..span.end).unwrap_or_default().to_owned(),
        };
        Self { name, span }
    }
}

fn span_from_location(location: serde_saphyr::Location, text: &str) -> SourceSpan {
    let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
    let span = location.span();
    match (span.byte_offset(), span.byte_len()) {
        (Some(offset), Some(len)) => SourceSpan::new(size(offset), size(len)),
        // Some errors have only a line and a column.
        _ => {
            let line = size(location.line()).saturating_sub(1);
            let column = size(location.column()).saturating_sub(1);
            let start = text.split_inclusive('\n').take(line).map(str::len).sum::<usize>();
            let rest = text.get(start..).unwrap_or_default();
            let within = rest.char_indices().nth(column).map_or(rest.len(), |(at, _)| at);
            SourceSpan::new(start + within, 0)
        }
    }
}

/// Returns the last quote before this place that begins a value.
fn open_quote(text: &str, place: SourceSpan) -> Option<SourceSpan> {
    let before = text.get(..place.start)?;
    let mut quotes = before.match_indices(['"', '\'']).map(|(at, _)| at);
    let begins_value = |at: &usize| before[..*at].ends_with([' ', '\t']);
    Some(SourceSpan::new(quotes.rfind(begins_value)?, 1))
}

/// Returns how to quote the text in the line of the mistake, if that makes it valid, such as
/// `shell: 'echo note: x'`.
fn quoted(text: &str, span: SourceSpan) -> Option<String> {
    let line = text.get(span.start..)?.lines().next().unwrap_or_default().len();
    let begin = text[..span.start].rfind('\n').map_or(0, |at| at + 1);
    let line = text[begin..span.start + line].trim_start_matches([' ', '-']).trim_end();
    let (key, value) = line.split_once(": ")?;
    let value = value.trim();
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    // A value in brackets, or one that follows on other lines, is more than a text.
    if !key.chars().all(is_word) || value.starts_with(['{', '[', '|', '>']) {
        return None;
    }
    let is_valid = |line: &str| serde_saphyr::from_str::<Raw>(line).is_ok();
    if is_valid(line) {
        return None;
    }
    let within = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\''));
    let why = match within {
        Some(_) => "an apostrophe ends a text that began with one",
        None => "this text needs quotes in YAML",
    };
    let quoted = format!("{key}: '{}'", within.unwrap_or(value).replace('\'', "''"));
    is_valid(&quoted).then(|| format!("{why}: write `{quoted}`"))
}

/// The ends of the messages for a line that does not belong to its block.
const BLOCK_ENDS: [&str; 2] = ["expected '-' indicator", "expected key"];
const INDENTATION: &str = "check the indentation of this line and those around it: the keys of a \
                           map begin in the same column, and so does each `-` of a list";

/// The message for invalid YAML.
fn yaml_message(error: &serde_saphyr::Error) -> String {
    use serde_saphyr::Error;

    match error.without_snippet() {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("the key `{key}` appears twice: keep one")
        }
        Error::DuplicateMappingKey { key: None, .. } => "a key appears twice: keep one".to_owned(),
        Error::MultipleDocuments { .. } => {
            "a second document starts here, but a workflow file is a single document: remove the \
             `---` and what follows"
                .to_owned()
        }
        Error::Budget { .. } => {
            "this file is too large or too deep for a workflow, or has too many \
                                 aliases: put lists of items into a file of their own, and name it \
                                 under `input`"
                .to_owned()
        }
        other => {
            // Without the location, which we show ourselves.
            let message = DefaultMessageFormatter.format_message(other);
            let cure = if message.starts_with("tabs ") { ": indent with spaces" } else { "" };
            format!("this is not valid YAML: {message}{cure}")
        }
    }
}

/// The tree as parsed, with the parser's own locations.
enum Raw {
    Scalar(Value),
    List(Vec<Spanned<Raw>>),
    Map(Vec<(Spanned<Raw>, Spanned<Raw>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawVisitor;

        impl<'de> Visitor<'de> for RawVisitor {
            type Value = Raw;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }

            fn visit_unit<E>(self) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Null))
            }

            fn visit_bool<E>(self, value: bool) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Bool(value)))
            }

            fn visit_i64<E>(self, number: i64) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Number(Number::Signed(number), number.to_string())))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Number(Number::Unsigned(number), number.to_string())))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Number(Number::Float(number), number.to_string())))
            }

            fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
                Ok(Raw::Scalar(Value::Text(text.to_owned())))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Raw, A::Error> {
                let mut list = Vec::new();
                while let Some(node) = seq.next_element()? {
                    list.push(node);
                }
                Ok(Raw::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
                let mut map = Vec::new();
                while let Some(entry) = access.next_entry()? {
                    map.push(entry);
                }
                Ok(Raw::Map(map))
            }
        }

        deserializer.deserialize_any(RawVisitor)
    }
}

/// The message about an unknown key with the value `written`, with what to write instead: what it is
/// called in other tools or libraries, or a known key that is like it, or those that are known.
pub(crate) fn unknown_key(key: &str, written: &str, known: &[&str]) -> String {
    let instead = match key_of_others(key, written, known) {
        Some(instead) => format!(": did you mean `{instead}`?"),
        None => known_here(key, known),
    };
    format!("unknown key `{key}`{instead}")
}

/// Suggests a known word for an unknown one, or lists those that are known, unless they are many.
pub(crate) fn known_here(word: &str, known: &[&str]) -> String {
    let meant = meant(word, known);
    if meant.is_none() && known.len() > 8 {
        return ": remove it; `retry-workflow check --schema` lists all".to_owned();
    }
    instead(meant, known, "")
}
