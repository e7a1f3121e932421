//! A case: its source, and the messages about it with what they propose.

use std::fs;
use std::path::Path;

use crate::place::edit;
use crate::proposals::{IN_CODE, proposals};

pub struct Case {
    pub name: String,
    source: String,
    /// The last lines of the case.
    instructions: String,
    messages: Vec<Message>,
}

struct Message {
    headline: String,
    place: String,
    line: String,
    /// The first byte to which it points, and the number of bytes.
    at: usize,
    length: usize,
    /// Each in one or more pieces of code: "write `a` and `b`".
    proposals: Vec<Vec<String>>,
}

impl Case {
    pub fn all(folder: &Path) -> Vec<Self> {
        let mut cases = Vec::new();
        for entry in fs::read_dir(folder).expect("the cases") {
            let path = entry.expect("a file").path();
            let Ok(stderr) = fs::read_to_string(path.with_extension("stderr")) else { continue };
            if path.extension().is_some_and(|extension| extension == "rs") {
                let source = fs::read_to_string(&path).expect("cases");
                let name = path.file_stem().expect("a name").to_str().expect("text");
                cases.extend(Self::of_file(name, &source, &stderr));
            }
        }
        cases
    }

    /// The modules of a file that begins with one, or else the whole file.
    fn of_file<'a>(file: &str, source: &'a str, stderr: &str) -> Vec<Self> {
        if !source.starts_with("mod ") {
            return vec![Self::new(file.to_owned(), source, stderr, 0)];
        }
        let name = |line: &'a str| line.strip_prefix("mod ")?.strip_suffix(" {");
        let modules =
            (1..).zip(source.lines()).filter_map(|(line, text)| Some((line, name(text)?)));
        let case = |(line, name): (usize, &str)| {
            let lines = source.split_inclusive('\n').skip(line);
            let body: String = lines.take_while(|text| *text != "}\n").collect();
            // The compiler writes the path of an item of the module.
            let stderr = stderr.replace(&format!("{name}::"), "");
            Self::new(format!("{file}_{name}"), &body, &stderr, line)
        };
        modules.map(case).collect()
    }

    fn new(name: String, source: &str, stderr: &str, lines_before: usize) -> Self {
        let messages = Message::all(stderr, source, lines_before);
        let kinds = ["// cured ", "// remains: "].into_iter();
        let end = kinds.filter_map(|kind| source.find(kind)).min().unwrap_or(source.len());
        let (source, instructions) = source.split_at(end);
        Self { name, source: source.to_owned(), instructions: instructions.to_owned(), messages }
    }

    /// The instructions of this kind in the last lines of the case.
    fn instructions(&self, kind: &str) -> impl Iterator<Item = &str> {
        self.instructions.lines().filter_map(move |line| {
            line.trim_start().strip_prefix("// ")?.strip_prefix(kind)?.strip_prefix(' ')
        })
    }

    /// The beginnings of the errors that may remain.
    pub fn remaining(&self) -> Vec<String> {
        let silent = self.messages.iter().filter(|message| message.proposals.is_empty());
        let silent = silent.map(|message| message.headline.replace("retry_runtime::", ""));
        let silent = silent.map(|headline| headline.chars().take(60).collect());
        silent.chain(self.instructions("remains:").map(str::to_owned)).collect()
    }

    /// The modules, the first with the first proposal of each message, and so on; and the number of
    /// proposals that the others do not have.
    pub fn cured(&self) -> Vec<Result<(String, usize), String>> {
        let most = self.messages.iter().map(|message| message.proposals.len()).max().unwrap_or(0);
        (0..most).filter_map(|number| self.module(number).transpose()).collect()
    }

    fn module(&self, number: usize) -> Result<Option<(String, usize)>, String> {
        let (mut edits, mut added, mut count) = (Vec::new(), String::new(), 0);
        for message in &self.messages {
            let Some(last) = message.proposals.len().checked_sub(1) else { continue };
            let at = number.min(last);
            let of = |prefix: &str| [prefix.to_owned(), format!("{prefix}/{}", at + 1)];
            let keys = [of(&message.line), of(&message.place)].concat();
            let meant = |instruction: &str| {
                let (key, text) = instruction.split_once(": ")?;
                keys.iter().any(|known| known == key).then(|| text.to_owned())
            };
            let by_case: Vec<String> = self.instructions("cured").filter_map(meant).collect();
            if by_case.iter().any(|text| text == "by hand") {
                continue;
            }
            let pieces = &message.proposals[at];
            let gap = pieces.iter().find(|piece| piece.contains('…') && by_case.is_empty());
            if let Some(piece) = gap {
                return Err(format!("{}: `{piece}` has a gap", message.place));
            }
            count += usize::from(number <= last) * pieces.len();
            if by_case.is_empty() {
                for piece in pieces {
                    match edit(&self.source, message.at, message.length, piece) {
                        Some(edit) => edits.push(edit),
                        None => added += &format!("\n{piece}\n"),
                    }
                }
            }
            for text in by_case {
                let (old, new) = text.split_once("=>").ok_or("`cured` without `=>`")?;
                let (old, mut new) = (old.trim(), new.trim().replace("{}", &pieces.join("\n")));
                for (at, piece) in pieces.iter().enumerate() {
                    new = new.replace(&format!("{{{at}}}"), piece);
                }
                if old.is_empty() {
                    added += &format!("\n{new}\n");
                } else {
                    let item = self.source[..message.at].rfind("\n\n").unwrap_or(0);
                    let found = self.source[item..].find(old).map(|found| item + found);
                    let found = found.or_else(|| self.source.find(old)).ok_or("not in the case")?;
                    edits.push((found..found + old.len(), new));
                }
            }
        }
        if count == 0 {
            return Ok(None);
        }
        edits.sort_by_key(|(range, _)| range.start);
        edits.dedup();
        if let Some([(_, first), (_, second)]) =
            edits.array_windows().find(|[(first, _), (second, _)]| second.start < first.end)
        {
            return Err(format!("`{first}` and `{second}` are proposed for the same tokens"));
        }
        let mut text = self.source.clone();
        for (range, new) in edits.into_iter().rev() {
            text.replace_range(range, &new);
        }
        // Imports are left to the reader of a message.
        Ok(Some((
            format!("{text}{added}\nuse retry_runtime::*;\nuse crate::examples::*;\n"),
            count,
        )))
    }
}

impl Message {
    fn all(stderr: &str, source: &str, lines_before: usize) -> Vec<Self> {
        let mut messages = Vec::<Vec<&str>>::new();
        for line in stderr.lines() {
            if line.starts_with("error") || line.starts_with("warning") {
                messages.push(Vec::new());
            }
            messages.last_mut().expect("a message").push(line);
        }
        messages.iter().filter_map(|lines| Self::new(lines, source, lines_before)).collect()
    }

    /// Nothing for a message about another part of the file.
    fn new(lines: &[&str], source: &str, lines_before: usize) -> Option<Self> {
        let place = lines.iter().find_map(|line| line.trim_start().strip_prefix("--> "))?;
        let place = place.split_once(".rs:")?.1;
        let (line, column) = place.split_once(':')?;
        let line = line.parse::<usize>().ok()?.checked_sub(lines_before + 1)?;
        source.lines().nth(line)?;
        let before: usize = source.split_inclusive('\n').take(line).map(str::len).sum();
        let carets = lines.iter().find_map(|line| {
            let (_, marked) =
                line.split_once('|').filter(|(before, _)| before.trim().is_empty())?;
            Some(marked.chars().filter(|mark| *mark == '^').count()).filter(|count| *count > 0)
        });
        let is_source =
            |line: &str| line.trim_start().starts_with(|first: char| first.is_ascii_digit());
        let words: Vec<&str> = lines.iter().copied().filter(|line| !is_source(line)).collect();
        Some(Self {
            headline: lines[0].split_once(": ").map_or("", |(_, headline)| headline).to_owned(),
            place: format!("{}:{column}", line + 1),
            line: (line + 1).to_string(),
            at: before + column.parse::<usize>().ok()? - 1,
            length: carets.unwrap_or(0),
            proposals: proposals(&words.join("\n"), IN_CODE),
        })
    }
}
