//! Reads an input one value at a time: a JSON document, JSON lines, CSV, or lines of text. If the
//! path allows it, only one value of a JSON document is in memory at a time.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::file::item_path::ItemPath;
use crate::file::shown_value::short;
use crate::yaml::span::{FileError, Source, SourceSpan};

/// The beginning of keys that `serde_json` has for itself. It reads a map with such a key as a number
/// or as the JSON in its text, so that no item can have one.
const RESERVED: &str = "\"$serde_json::private::";

/// Returns the mistake in a JSON text that has a reserved key, and its place.
pub(crate) fn reserved(text: &str) -> Option<(usize, String)> {
    let why = || format!("a key that begins with `{}` is reserved: rename it", &RESERVED[1..]);
    let is_key = |(at, begin): &(usize, &str)| {
        let (name, after) = text[at + begin.len()..].split_once('"').unwrap_or_default();
        let is_escaped = text[..*at].ends_with('\\') || name.ends_with('\\');
        !is_escaped && after.trim_start().starts_with(':')
    };
    text.match_indices(RESERVED).find(is_key).map(|(at, _)| (at, why()))
}

/// The format of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    JsonLines,
    Csv,
    Lines,
}

impl Format {
    /// All formats with their names.
    pub(crate) const NAMES: [(&str, Self); 4] = [
        ("json", Self::Json),
        ("jsonl", Self::JsonLines),
        ("csv", Self::Csv),
        ("lines", Self::Lines),
    ];

    /// Infers the format from the extension of a file's name.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (_, ending) = name.rsplit_once('.')?;
        match ending.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}

/// A value of the input.
#[derive(Debug)]
pub(crate) struct Item {
    /// From 1, counted before any value is filtered out.
    pub(crate) position: u64,
    pub(crate) place: ItemPlace,
    pub(crate) value: Value,
}

/// The place of a value in the input.
#[derive(Clone, Debug)]
pub(crate) enum ItemPlace {
    /// An entry of the list at this path of a document.
    Listed(Arc<str>, u64),
    Path(String),
    Line(u64),
}

impl fmt::Display for ItemPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(list, index) => write!(f, "`{list}[{index}]`"),
            Self::Path(path) => write!(f, "`{}`", short(path)),
            Self::Line(number) => write!(f, "line {number}"),
        }
    }
}

/// The reason why reading stopped.
pub(crate) enum Halt {
    /// Everything that was asked for has been read.
    Enough,
    Failed(FileError),
}

retry_rules::conversion!(|error: FileError| -> Halt { Self::Failed(error) });

/// Receives values one by one.
pub(crate) type Sink<'a> = dyn FnMut(Item) -> Result<(), Halt> + 'a;

/// An input that has been opened.
pub(crate) struct Opened {
    pub(crate) reader: Box<dyn BufRead + Send>,
    /// The name of the input in messages.
    pub(crate) name: PathBuf,
    /// Set if it can be read again.
    pub(crate) is_file: bool,
    pub(crate) format: Option<Format>,
}

/// The counts of a JSON document that was read.
pub(crate) struct InputEnd {
    /// Set if the path led to a list or a map.
    pub(crate) was_found: bool,
    /// The key of the first list in a map whose values are the items.
    pub(crate) list_inside: Option<String>,
}

/// Reads all values, until `each` has enough.
pub(crate) fn read(
    mut input: Opened,
    path: &ItemPath,
    each: &mut Sink<'_>,
) -> Result<InputEnd, FileError> {
    let failed = |input: &Opened, error: &io::Error| {
        FileError::whole(&input.name, format!("cannot read the items: {error}"))
    };
    match input.reader.fill_buf() {
        Ok(begin) if begin.starts_with(b"\xEF\xBB\xBF") => input.reader.consume(3),
        Ok(_) => {}
        Err(error) => return Err(failed(&input, &error)),
    }
    let format = match input.format {
        Some(format) => format,
        None => sniffed(&mut *input.reader, path).map_err(|error| failed(&input, &error))?,
    };
    let found = || InputEnd { was_found: true, list_inside: None };
    let read = match format {
        Format::Json => json(input, path, each),
        Format::JsonLines => json_lines(input, each).map(|()| found()),
        Format::Csv => csv(input, each).map(|()| found()),
        Format::Lines => lines(input, each).map(|()| found()),
    };
    read.or_else(|halt| match halt {
        Halt::Failed(error) => Err(error),
        Halt::Enough => Ok(found()),
    })
}

/// Infers the format from the first character that is not a blank.
fn sniffed(reader: &mut dyn BufRead, path: &ItemPath) -> io::Result<Format> {
    loop {
        let buffer = reader.fill_buf()?;
        let blanks = buffer.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match buffer.get(blanks) {
            Some(b'[') => return Ok(Format::Json),
            Some(b'{') if path.is_written => return Ok(Format::Json),
            Some(b'{') => return Ok(Format::JsonLines),
            None if !buffer.is_empty() => {}
            _ => return Ok(Format::Lines),
        }
        reader.consume(blanks);
    }
}

fn json_lines(input: Opened, each: &mut Sink<'_>) -> Result<(), Halt> {
    each_line(input, &mut |input, position, number, text| {
        if let Some((column, message)) = reserved(text) {
            return Err(in_line(input, number, text, column, message).into());
        }
        let value = serde_json::from_str(text).map_err(|error| {
            let column = error.column().saturating_sub(1).min(text.len());
            let what = if error.is_eof() {
                "it ends too early; each line must be a complete value".to_owned()
            } else {
                why(&error)
            };
            let message = format!("this line is not JSON: {what}");
            in_line(input, number, text, column, message)
        })?;
        each(Item { position, place: ItemPlace::Line(number), value })
    })
}

fn lines(input: Opened, each: &mut Sink<'_>) -> Result<(), Halt> {
    each_line(input, &mut |_, position, number, text| {
        let value = text.trim_end_matches(['\n', '\r']).into();
        each(Item { position, place: ItemPlace::Line(number), value })
    })
}

/// Receives a line that is not blank, with its position among them and its number.
type EachLine<'a> = dyn FnMut(&Opened, u64, u64, &str) -> Result<(), Halt> + 'a;

fn each_line(mut input: Opened, each: &mut EachLine<'_>) -> Result<(), Halt> {
    let mut line = Vec::new();
    let (mut position, mut number) = (0, 0);
    loop {
        line.clear();
        match input.reader.read_until(b'\n', &mut line) {
            Ok(0) => return Ok(()),
            Ok(_) => number += 1,
            Err(error) => {
                let message = format!("cannot read the items: {error}");
                return Err(FileError::whole(&input.name, message).into());
            }
        }
        let Ok(text) = std::str::from_utf8(&line) else {
            let message = format!("this input is not UTF-8 text: see line {number}");
            return Err(FileError::whole(&input.name, message).into());
        };
        if !text.trim().is_empty() {
            position += 1;
            each(&input, position, number, text)?;
        }
    }
}

/// A mistake in one line of an input, with the line.
fn in_line(input: &Opened, number: u64, line: &str, column: usize, message: String) -> FileError {
    let before = usize::try_from(number).unwrap_or(usize::MAX).saturating_sub(1);
    let source =
        Source { path: input.name.clone(), text: line.trim_end().to_owned(), before: (before, 0) };
    FileError::at(&Arc::new(source), SourceSpan::new(column, 1), message)
}

fn csv(input: Opened, each: &mut Sink<'_>) -> Result<(), Halt> {
    let Opened { reader, name, .. } = input;
    let mut reader = csv::ReaderBuilder::new().from_reader(Quotes::new(reader));
    let wrong = |error: &csv::Error| {
        let line = error.position().map_or(0, csv::Position::line);
        let what = match error.kind() {
            csv::ErrorKind::UnequalLengths { expected_len, len, .. } => format!(
                "line {line} has {len} fields, but the header has {expected_len}: quote text that \
                 contains a comma"
            ),
            csv::ErrorKind::Utf8 { .. } => format!("line {line} is not UTF-8"),
            _ => error.to_string(),
        };
        FileError::whole(&name, format!("this input is not CSV: {what}"))
    };
    let names = reader.headers().map_err(|error| wrong(&error))?.clone();
    for (at, header) in names.iter().enumerate() {
        if let Some((_, message)) = reserved(&format!("\"{header}\":")) {
            return Err(FileError::whole(&name, message).into());
        }
        if names.iter().take(at).any(|other| other == header) {
            let header = short(header);
            let message =
                format!("the header of this CSV names `{header}` twice: name each column once");
            return Err(FileError::whole(&name, message).into());
        }
    }
    let mut record = csv::StringRecord::new();
    let mut position = 0;
    loop {
        let read = reader.read_record(&mut record);
        // The rest of the input would be a single field.
        if let Some(line) = reader.get_ref().never_closed() {
            let message = format!(
                "this input is not CSV: the quoted field that begins in line {line} never ends: \
                 close it, and write a quote within it twice, `\"\"`"
            );
            return Err(FileError::whole(&name, message).into());
        }
        if !read.map_err(|error| wrong(&error))? {
            return Ok(());
        }
        position += 1;
        let line = record.position().map_or(0, csv::Position::line);
        let fields = names.iter().zip(&record);
        let map: Map<_, _> = fields.map(|(name, field)| (name.to_owned(), field.into())).collect();
        each(Item { position, place: ItemPlace::Line(line), value: map.into() })?;
    }
}

/// Follows the quotes of a CSV, whose reader does not report that the last field is not closed.
struct Quotes<R> {
    reader: R,
    place: QuotePlace,
    line: u64,
    /// The line in which the last quoted field began.
    opened: u64,
    is_at_end: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum QuotePlace {
    FieldStart,
    Plain,
    Quoted,
    /// After a quote in a quoted field: its end, or the first of two.
    Quote,
}

impl<R> Quotes<R> {
    const fn new(reader: R) -> Self {
        Self { reader, place: QuotePlace::FieldStart, line: 1, opened: 1, is_at_end: false }
    }

    /// Returns the line in which the last field begins, if the input has ended inside it.
    fn never_closed(&self) -> Option<u64> {
        (self.is_at_end && self.place == QuotePlace::Quoted).then_some(self.opened)
    }

    fn follow(&mut self, byte: u8) {
        self.place = match (self.place, byte) {
            (QuotePlace::FieldStart, b'"') => {
                self.opened = self.line;
                QuotePlace::Quoted
            }
            (QuotePlace::Quoted, b'"') => QuotePlace::Quote,
            (QuotePlace::Quoted, _) | (QuotePlace::Quote, b'"') => QuotePlace::Quoted,
            // The first three are the mark of UTF-8 at the beginning.
            (QuotePlace::FieldStart, 0xEF | 0xBB | 0xBF) | (_, b',' | b'\n' | b'\r') => {
                QuotePlace::FieldStart
            }
            _ => QuotePlace::Plain,
        };
        self.line += u64::from(byte == b'\n');
    }
}

impl<R: Read> Read for Quotes<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.is_at_end = read == 0 && !buffer.is_empty();
        buffer[..read].iter().for_each(|byte| self.follow(*byte));
        Ok(read)
    }
}

fn json(input: Opened, path: &ItemPath, each: &mut Sink<'_>) -> Result<InputEnd, Halt> {
    let Opened { reader, name, is_file, .. } = input;
    let Some(names) = path.streamed() else {
        let document = document(reader, &name, is_file)?;
        let was_found = path.lost(&document, "it").is_none();
        for (position, node) in (1..).zip(path.find(&document)) {
            let place = ItemPlace::Path(node.location().to_string());
            each(Item { position, place, value: node.node().clone() })?;
        }
        return Ok(InputEnd { was_found, list_inside: None });
    };
    let mut reader = watched(reader);
    let mut walk =
        DocumentWalk { each, position: 0, halted: None, was_found: false, list_inside: None };
    let mut deserializer = serde_json::Deserializer::from_reader(&mut reader);
    let down = Down { walk: &mut walk, names: &names, prefix: "$".to_owned() };
    let read = down.deserialize(&mut deserializer);
    let end = match (walk.halted.take(), read) {
        (Some(Halt::Enough), _) => Ok(()),
        (Some(failed), _) => return Err(failed),
        (None, Err(error)) => Err((error, None)),
        (None, Ok(())) => deserializer.end().map_err(|error| {
            let what = "something follows its end: write a single list of all items, or name the \
                        file .jsonl if each line is an item";
            (error, Some(what))
        }),
    };
    let DocumentWalk { was_found, list_inside, .. } = walk;
    let failed = |(error, what)| no_json(&name, is_file, reader.get_ref(), &error, what);
    end.map_err(failed)?;
    Ok(InputEnd { was_found, list_inside })
}

/// Reads a whole document.
pub(crate) fn document(
    reader: Box<dyn BufRead + Send>,
    name: &Path,
    is_file: bool,
) -> Result<Value, FileError> {
    let mut reader = watched(reader);
    let mut deserializer = serde_json::Deserializer::from_reader(&mut reader);
    let read = serde::Deserialize::deserialize(&mut deserializer);
    let ended = read.and_then(|value| deserializer.end().map(|()| value));
    ended.map_err(|error| no_json(name, is_file, reader.get_ref(), &error, None))
}

/// Buffers again, because `serde_json` reads byte by byte.
fn watched(reader: Box<dyn BufRead + Send>) -> BufReader<Watched> {
    BufReader::with_capacity(64 * 1024, Watched { reader, is_empty: true, last: Vec::new() })
}

/// Knows whether the input contained anything but blanks, and refuses [reserved] keys.
struct Watched {
    reader: Box<dyn BufRead + Send>,
    is_empty: bool,
    /// The last bytes, in which a reserved key may have begun.
    last: Vec<u8>,
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer)?;
        self.is_empty &= buffer[..read].iter().all(u8::is_ascii_whitespace);
        self.last.extend_from_slice(&buffer[..read]);
        if let Some((_, message)) = reserved(&String::from_utf8_lossy(&self.last)) {
            return Err(io::Error::other(message));
        }
        // Blanks may be between a key and its `:`; the names of the parser are shorter than this.
        self.last.truncate(self.last.trim_ascii_end().len());
        self.last.drain(..self.last.len().saturating_sub(2 * RESERVED.len()));
        Ok(read)
    }
}

/// The message without the position, which we show ourselves.
fn why(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let suffix = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&suffix).unwrap_or(&text).to_owned()
}

fn no_json(
    name: &Path,
    is_file: bool,
    read: &Watched,
    error: &serde_json::Error,
    what: Option<&str>,
) -> FileError {
    if read.is_empty {
        let message = "this input is empty: write a list of items, or `[]` if there are none";
        return FileError::whole(name, message);
    }
    if error.is_io() {
        return FileError::whole(name, format!("cannot read the items: {error}"));
    }
    let what = what.map_or_else(|| why(error), str::to_owned);
    let message = format!("this input is not JSON: {what}");
    let found = is_file.then(|| excerpt(name, error.line(), error.column()).ok()).flatten();
    match found {
        Some((source, at)) => FileError::at(&Arc::new(source), SourceSpan::new(at, 1), message),
        None => FileError::whole(
            name,
            format!("{message} (line {}, column {})", error.line(), error.column()),
        ),
    }
}

/// The part of a line (from 1) around a column, and where the column is in it.
fn excerpt(path: &Path, line: usize, column: usize) -> io::Result<(Source, usize)> {
    const BEFORE: usize = 1_000;
    const AFTER: usize = 1_000;

    let is_start = |byte: u8| byte & 0xC0 != 0x80;
    let mut reader = BufReader::new(File::open(path)?);
    for _ in 1..line {
        reader.skip_until(b'\n')?;
    }
    let at = column.saturating_sub(1);
    let begin = at.saturating_sub(BEFORE);
    let mut skipped = 0;
    for byte in reader.by_ref().take(begin as u64).bytes() {
        // Count characters, not bytes.
        skipped += usize::from(is_start(byte?));
    }
    let mut kept = Vec::new();
    reader.take((at - begin + AFTER) as u64).read_until(b'\n', &mut kept)?;
    let cut = kept.iter().take_while(|byte| !is_start(**byte)).count();
    let (before, after) =
        kept[cut..].split_at(at.saturating_sub(begin + cut).min(kept.len() - cut));
    let before = String::from_utf8_lossy(before).into_owned();
    let text =
        format!("{before}{}", String::from_utf8_lossy(after)).trim_end_matches('\n').to_owned();
    let source = Source { path: path.to_owned(), text, before: (line.saturating_sub(1), skipped) };
    Ok((source, before.len()))
}

/// `serde_json` passes a number with all of its digits as a map with this key.
const NUMBER: &str = "$serde_json::private::Number";

/// A walk through a document to the values of a list or a map.
struct DocumentWalk<'a, 'b> {
    each: &'a mut Sink<'b>,
    position: u64,
    halted: Option<Halt>,
    was_found: bool,
    list_inside: Option<String>,
}

impl DocumentWalk<'_, '_> {
    /// Passes on a value; an error ends the walk.
    fn give<E: serde::de::Error>(&mut self, place: ItemPlace, value: Value) -> Result<(), E> {
        self.position += 1;
        let position = self.position;
        (self.each)(Item { position, place, value }).map_err(|halt| {
            self.halted = Some(halt);
            E::custom("halted")
        })
    }
}

/// Descends along these names, then visits each value.
struct Down<'w, 'a, 'b, 'n> {
    walk: &'w mut DocumentWalk<'a, 'b>,
    names: &'n [String],
    prefix: String,
}

impl<'de> DeserializeSeed<'de> for Down<'_, '_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

/// Values that contain no others.
macro_rules! ignored {
    ($($visit:ident($value:ty)),+) => {
        $(fn $visit<E>(self, _: $value) -> Result<(), E> {
            Ok(())
        })+
    };
}

impl<'de> Visitor<'de> for Down<'_, '_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut next = map.next_key::<String>()?;
        if next.as_deref() == Some(NUMBER) {
            map.next_value::<IgnoredAny>()?;
            return Ok(());
        }
        let Some((name, rest)) = self.names.split_first() else {
            self.walk.was_found = true;
            while let Some(key) = next {
                let value = map.next_value::<Value>()?;
                if self.walk.list_inside.is_none() && value.is_array() {
                    self.walk.list_inside = Some(key.clone());
                }
                let place = ItemPlace::Path(format!("{}['{key}']", self.prefix));
                self.walk.give(place, value)?;
                next = map.next_key()?;
            }
            return Ok(());
        };
        while let Some(key) = next {
            if key == *name {
                let prefix = format!("{}['{key}']", self.prefix);
                map.next_value_seed(Down { walk: &mut *self.walk, names: rest, prefix })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
            next = map.next_key()?;
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        if !self.names.is_empty() {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        }
        self.walk.was_found = true;
        let list: Arc<str> = self.prefix.into();
        let mut index = 0;
        while let Some(value) = seq.next_element::<Value>()? {
            self.walk.give(ItemPlace::Listed(Arc::clone(&list), index), value)?;
            index += 1;
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    ignored!(visit_bool(bool), visit_i64(i64), visit_u64(u64), visit_f64(f64), visit_str(&str));
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a document in two blocks, for each place where the first may end.
    fn in_two_blocks(text: &str) -> impl Iterator<Item = Result<Value, String>> {
        (0..text.len()).map(move |at| {
            let blocks = [&text[..at], &text[at..]].map(|block| io::Cursor::new(block.to_owned()));
            let [first, second] = blocks;
            let read = document(Box::new(first.chain(second)), Path::new("x.json"), true);
            read.map_err(|error| error.to_string())
        })
    }

    #[test]
    fn a_reserved_key_is_refused_wherever_a_block_begins() {
        for key in ["Number", "RawValue"] {
            let text =
                format!("[{{ \"id\": 1, \"n\": {{ \"$serde_json::private::{key}\": \"2\" }} }}]");
            for read in in_two_blocks(&text) {
                let told = read.unwrap_err();
                assert!(
                    told.contains("begins with `$serde_json::private::` is reserved"),
                    "{told}"
                );
            }
        }
    }

    #[test]
    fn a_text_may_be_what_no_key_may_be() {
        for id in [
            "$serde_json::private::Number",
            "a $serde_json::private::Number",
            "\"$serde_json::private::Number\": 1",
            "\\\"$serde_json::private::Number\" : 1",
            "$serde_json::private::Number\": 1",
        ] {
            let value = serde_json::json!([{ "id": id }]);
            for read in in_two_blocks(&value.to_string()) {
                assert_eq!(read.unwrap(), value);
            }
        }
    }
}
