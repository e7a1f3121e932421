//! The mistakes in files and in arguments of the command, each with the recorded messages.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use crate::proposals::{IN_FILES, proposals};
use crate::readers::Reader;
use crate::yaml::{Position, edit, marks_key};

/// A text with mistakes.
pub struct Case {
    pub name: String,
    reader: Reader,
    text: String,
    /// The last lines of the case.
    instructions: String,
    messages: Vec<Message>,
}

struct Message {
    text: String,
    /// `line:column`
    place: String,
    at: usize,
    /// The number of bytes to which it points; 0 if unknown.
    length: usize,
}

/// The result of all proposals.
#[derive(Default)]
pub struct Outcome {
    pub count: usize,
    pub by_hand: usize,
    pub wrong: Vec<String>,
}

impl Case {
    /// The files `*.yml` of a folder, with the messages in the `*.txt` beside each.
    pub fn workflows(folder: &Path) -> Vec<Self> {
        let entries = fs::read_dir(folder).expect("the cases").map(|entry| entry.expect("a file"));
        let paths = entries.map(|entry| entry.path());
        let mut paths: Vec<_> =
            paths.filter(|path| path.extension().is_some_and(|end| end == "yml")).collect();
        paths.sort();
        paths
            .iter()
            .map(|path| {
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                let text = fs::read_to_string(path).expect("a case");
                let recorded = fs::read_to_string(path.with_extension("txt")).expect("messages");
                let recorded = recorded.strip_prefix("error: ").unwrap_or(&recorded);
                let messages = recorded.split("\n\nerror: ");
                let messages = messages.filter_map(|shown| Message::drawn(shown, &text)).collect();
                let ends = ["\n# cured ", "\n# remains: "].map(|kind| text.find(kind));
                let end = ends.into_iter().flatten().min().map_or(text.len(), |end| end + 1);
                let (text, instructions) = (text[..end].to_owned(), text[end..].to_owned());
                Self { name, reader: Reader::Workflow, text, instructions, messages }
            })
            .collect()
    }

    /// The blocks of a file: a line with the reader, the text, `---`, and the message.
    pub fn blocks(path: &Path) -> Vec<Self> {
        let file = fs::read_to_string(path).expect("the cases");
        let blocks = file.split("=== ").skip(1);
        blocks
            .map(|block| {
                let (reader, rest) = block.split_once('\n').expect("a reader");
                let (text, recorded) = rest.split_once("---\n").expect("a message");
                let end = recorded.find("\n# ").unwrap_or(recorded.len());
                let (shown, instructions) = recorded.split_at(end);
                let reader = Reader::named(reader);
                let message = match reader {
                    Reader::Command => Some(Message::of_command(shown)),
                    _ => Message::placed(shown, text),
                };
                Self {
                    name: format!("{reader:?} {:?}", text.trim_end()),
                    reader,
                    text: text.to_owned(),
                    instructions: instructions.to_owned(),
                    messages: message.into_iter().collect(),
                }
            })
            .collect()
    }

    fn instructions(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.instructions
            .lines()
            .filter_map(move |line| line.strip_prefix("# ")?.strip_prefix(kind)?.strip_prefix(' '))
    }

    /// Applies each proposal alone, and reads the result.
    pub fn outcome(&self) -> Outcome {
        let mut outcome = Outcome::default();
        for message in &self.messages {
            for (number, pieces) in message.proposals().into_iter().enumerate() {
                match self.cured(message, number, &pieces) {
                    Ok(None) => outcome.by_hand += 1,
                    Ok(Some(text)) => {
                        outcome.count += 1;
                        outcome.wrong.extend(self.remaining(message, &text).into_iter().map(
                            |why| {
                                format!(
                                    "{} {}: `{}`: {why}\n{text}",
                                    self.name,
                                    message.place,
                                    pieces.join("` and `")
                                )
                            },
                        ));
                    }
                    Err(why) => {
                        outcome.count += 1;
                        outcome.wrong.push(format!("{} {}: {why}", self.name, message.place));
                    }
                }
            }
        }
        outcome
    }

    /// The text with a proposal; `None` if the proposal is no code.
    fn cured(
        &self,
        message: &Message,
        number: usize,
        pieces: &[String],
    ) -> Result<Option<String>, String> {
        let line = message.place.split(':').next().unwrap_or_default();
        let of = |prefix: &str| [prefix.to_owned(), format!("{prefix}/{}", number + 1)];
        let keys = [of(line), of(&message.place)].concat();
        let by_case: Vec<_> = self
            .instructions("cured")
            .filter_map(|instruction| instruction.split_once(": "))
            .filter(|(key, _)| keys.iter().any(|known| known == key))
            .map(|(_, text)| text)
            .collect();
        if by_case.contains(&"by hand") {
            return Ok(None);
        }
        let mut text = self.text.clone();
        if by_case.is_empty() {
            let mut edits = Vec::new();
            for (index, piece) in pieces.iter().enumerate() {
                let edit = match self.reader {
                    Reader::Command => message.edit_of_command(&text, piece),
                    reader => {
                        let position = match index {
                            0 => message.position(piece),
                            _ => Position::Beside,
                        };
                        // A key is no text.
                        let is_key = marks_key(&text, message.at) && !piece.contains(' ');
                        let piece = if is_key { piece.clone() } else { reader.spelt(piece) };
                        edit(&text, message.at, message.length, &piece, position)
                    }
                };
                edits.push(edit.ok_or_else(|| format!("no place for `{piece}`"))?);
            }
            edits.sort_by_key(|(range, _)| (range.start, range.end));
            for (range, new) in edits.into_iter().rev() {
                if new.contains('…') {
                    return Err(format!("`{new}` has a gap"));
                }
                text.replace_range(range, &new);
            }
        }
        for instruction in by_case {
            let (old, new) = instruction.split_once("=>").ok_or("`cured` without `=>`")?;
            let mut new = new.trim().replace("\\n", "\n").replace("{}", &pieces.join("\n"));
            for (at, piece) in pieces.iter().enumerate() {
                new = new.replace(&format!("{{{at}}}"), piece);
            }
            let start = self.text[..message.at].rfind('\n').map_or(0, |end| end + 1);
            let found = text.get(start..).and_then(|rest| rest.find(old.trim()));
            let found = found.map(|found| start + found).or_else(|| text.find(old.trim()));
            let found = found.ok_or_else(|| format!("`{}` is not in the case", old.trim()))?;
            text.replace_range(found..found + old.trim().len(), &new);
        }
        Ok(Some(text))
    }

    /// The messages about a cured text that were not there before, and that the case does not list;
    /// and the cured message, if it stays.
    fn remaining(&self, cured: &Message, text: &str) -> Vec<String> {
        let mut known = HashMap::<&str, usize>::new();
        for message in &self.messages {
            *known.entry(&message.text).or_default() += 1;
        }
        *known.entry(&cured.text).or_default() -= 1;
        let listed: Vec<_> = self.instructions("remains:").collect();
        let mut new = self.reader.read(text);
        new.retain(|message| match known.get_mut(message.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                false
            }
            _ => !listed.iter().any(|known| message.starts_with(known)),
        });
        new
    }
}

impl Message {
    /// A message with a picture.
    fn drawn(shown: &str, source: &str) -> Option<Self> {
        let arrow = shown.find("--> ")?;
        let place = shown[arrow + 4..].lines().next()?.split_once(".yml:")?.1;
        let carets = shown[arrow..].lines().nth(3).map_or(0, |line| line.matches('^').count());
        Self::new(shown[..arrow].trim_end(), place, carets, source)
    }

    /// A message with its line and column, or about the whole text.
    fn placed(shown: &str, source: &str) -> Option<Self> {
        let (text, place) = with_place(shown.trim_end());
        Self::new(text, &place.unwrap_or_else(|| "1:1".to_owned()), 0, source)
    }

    fn of_command(shown: &str) -> Self {
        let text = shown.trim_end().to_owned();
        Self { text, place: "1:1".to_owned(), at: 0, length: 0 }
    }

    fn new(text: &str, place: &str, characters: usize, source: &str) -> Option<Self> {
        let (line, column) = place.split_once(':')?;
        let (line, column): (usize, usize) = (line.parse().ok()?, column.parse().ok()?);
        let before: usize = source.split_inclusive('\n').take(line - 1).map(str::len).sum();
        let bytes = |from: usize, count: usize| -> usize {
            source[from..].chars().take(count).map(char::len_utf8).sum()
        };
        let at = before + bytes(before, column - 1);
        let length = bytes(at, characters);
        Some(Self { text: text.to_owned(), place: place.to_owned(), at, length })
    }

    fn proposals(&self) -> Vec<Vec<String>> {
        let mut found = proposals(&self.text, IN_FILES);
        for words in ["argument", "subcommand", "value"] {
            let tip = format!("a similar {words} exists: '");
            let tip = self.text.split_once(&tip).and_then(|(_, rest)| rest.split_once('\''));
            found.extend(tip.map(|(word, _)| vec![word.to_owned()]));
        }
        found
    }

    /// Returns where a setting is to be written whose key is not in the map.
    fn position(&self, piece: &str) -> Position {
        let before = self.text.split_once(&format!("`{piece}`")).map_or("", |(before, _)| before);
        if before.ends_with("add ") {
            Position::Beside
        } else if before.ends_with("did you mean ") {
            Position::There
        } else {
            Position::ByMark
        }
    }

    /// Returns the edit of a command line.
    fn edit_of_command(&self, line: &str, piece: &str) -> Option<crate::yaml::Edit> {
        if piece.starts_with("retry-workflow ") {
            return Some((0..line.trim_end().len(), piece.to_owned()));
        }
        let words: Vec<_> = words(line);
        let quoted = |open: &str, close: char| -> Option<&str> {
            Some(self.text.split_once(open)?.1.split_once(close)?.0)
        };
        let same = |word: &str| {
            words.iter().position(|range| line[range.clone()].trim_matches('\'') == word)
        };
        let piece_name = piece.split([' ', '=']).next().unwrap_or_default();
        if piece_name.starts_with("--") {
            let position =
                same(piece_name).or_else(|| same(quoted("unexpected argument '", '\'')?));
            return Some(match position {
                Some(position) => {
                    let start = words[position].start;
                    let takes_value = piece.contains(' ') && position + 1 < words.len();
                    let end = words[position + usize::from(takes_value)].end;
                    (start..end, piece.to_owned())
                }
                None => {
                    let end = line.trim_end().len();
                    (end..end, format!(" {piece}"))
                }
            });
        }
        let position = same(quoted("unrecognized subcommand '", '\'').unwrap_or("-"))
            .or_else(|| same(quoted("invalid value '", '\'')?))
            .or_else(|| same(self.text.split_once("--> ")?.1))
            .or_else(|| Some(same(&format!("--{}", quoted("`--", '`')?))? + 1))?;
        Some((words.get(position)?.clone(), format!("'{}'", piece.trim_matches('"'))))
    }
}

/// Splits a message from its place: "line 1 column 5: …", or "… at line 1, column 5".
pub fn with_place(shown: &str) -> (&str, Option<String>) {
    let place = |text: &str| {
        Some(text.strip_prefix("line ")?.replace([',', ' '], "").replace("column", ":"))
    };
    let before = shown.split_once(": ").and_then(|(start, text)| Some((text, place(start)?)));
    let after = || {
        let (text, end) = shown.rsplit_once(" at ")?;
        Some((text, place(end)?))
    };
    match before.or_else(after) {
        Some((text, place)) => (text, Some(place)),
        None => (shown, None),
    }
}

/// The words of a command line.
pub fn words(line: &str) -> Vec<std::ops::Range<usize>> {
    let (mut words, mut start, mut in_quotes) = (Vec::new(), None, false);
    for (at, c) in line.char_indices() {
        if c == '\'' {
            in_quotes = !in_quotes;
        }
        if c.is_whitespace() && !in_quotes {
            words.extend(start.take().map(|start| start..at));
        } else {
            start.get_or_insert(at);
        }
    }
    words.extend(start.map(|start| start..line.len()));
    words
}
