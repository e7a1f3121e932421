//! Placeholders: `${item.id}`, `${map.total}`, `${error}`, `${last.output}`, and captured outputs;
//! what they mean, where they may be used, and texts that contain them.
//!
//! Some forms of `${…}` belong to the shell and are left alone: names of capitals, digits and `_`
//! (`${HOME}`), special parameters (`${1}`, `${#}`), and expansions with an operator
//! (`${file%.txt}`, `${x:-y}`). Every other name is a placeholder, and an unknown one is an error
//! before anything runs. A shell variable in lower case is written without braces: `$file`.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use retry_rules::suggest::nearest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::yaml::span::SourceSpan;

/// A parsed placeholder.
#[derive(Clone, Debug)]
pub(crate) struct Placeholder {
    /// As written, with its braces.
    pub(crate) written: String,
    pub(crate) meaning: Meaning,
    /// Relative to its text when that has been parsed; the reader of the file then makes it
    /// relative to the file.
    pub(crate) span: SourceSpan,
}

impl Placeholder {
    /// The name of the captured output that it refers to.
    pub(crate) fn captured(&self) -> Option<&str> {
        match &self.meaning {
            Meaning::Captured(name, _) | Meaning::Ended(name, _) => Some(name),
            _ => None,
        }
    }
}

/// A parsed text that contains placeholders.
pub(crate) trait Placeholders {
    fn placeholders_mut(&mut self) -> impl Iterator<Item = &mut Placeholder>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The item, or the value at this path in it.
    Item(Vec<PathPart>),
    Results,
    Total,
    Successful,
    Failed,
    Error,
    LastOutput,
    ShellOutput,
    /// The output that was captured under this name, or the value at this path in it.
    Captured(String, Vec<PathPart>),
    /// A fact about the step that captured this output.
    Ended(String, EndOf),
}

/// A fact about how the capturing step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndOf {
    Success,
    ExitCode,
    Stderr,
}

impl EndOf {
    const NAMES: [(&str, Self); 3] =
        [("success", Self::Success), ("exit_code", Self::ExitCode), ("stderr", Self::Stderr)];

    fn named(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, end)| end)
    }
}

/// A name under which an earlier step has captured its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CapturedName {
    pub(crate) name: String,
    /// Set if paths can lead into it.
    pub(crate) is_json: bool,
}

/// A captured output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Captured {
    pub(crate) value: Value,
    pub(crate) success: bool,
    pub(crate) exit_code: Option<i32>,
    pub(crate) stderr: String,
}

/// A segment of a path into an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PathPart {
    Key(String),
    Index(usize),
}

/// The placeholders that may be used in a text.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub(crate) struct AvailableValues<'a> {
    pub(crate) item: bool,
    pub(crate) map: bool,
    pub(crate) error: bool,
    pub(crate) last: bool,
    pub(crate) captured: &'a [CapturedName],
    /// Set if its step may come back later if it is not ready.
    pub(crate) postpones: bool,
    /// The noun for the text in messages: "a step of `map`".
    pub(crate) label: &'static str,
}

/// The label of a step that runs once the job has ended.
pub(crate) const AT_THE_END: &str = "a step of `on_finish`";
/// The label of a task of a graph.
pub(crate) const A_TASK: &str = "a task";

impl<'a> AvailableValues<'a> {
    /// The values of a step that may come back later if it is not ready.
    pub(crate) fn postponable() -> Self {
        Self { postpones: true, ..Self::default() }
    }

    fn names(self) -> Vec<&'a str> {
        const MAP: [&str; 4] = ["map.results", "map.total", "map.successful", "map.failed"];
        let mut names = Vec::new();
        if self.item {
            names.extend(["item", "item.path"]);
        }
        if self.map {
            names.extend(MAP);
        }
        if self.error {
            names.push("error");
        }
        if self.last {
            names.push("last.output");
        }
        if self.last || self.error {
            names.push("shell.output");
        }
        names.extend(self.captured.iter().map(|captured| captured.name.as_str()));
        names
    }

    fn captured(self, name: &str) -> Option<&'a CapturedName> {
        self.captured.iter().rev().find(|captured| captured.name == name)
    }

    /// Lists the available placeholders for a message.
    fn listed(self) -> String {
        let names = self.names();
        if names.is_empty() {
            return format!("{} cannot use placeholders", self.label);
        }
        let names: Vec<_> = names.iter().map(|name| format!("`${{{name}}}`")).collect();
        format!("{} can use {}", self.label, names.join(", "))
    }

    fn has(self, meaning: &Meaning) -> bool {
        match meaning {
            Meaning::Item(_) => self.item,
            Meaning::Results | Meaning::Total | Meaning::Successful | Meaning::Failed => self.map,
            Meaning::Error => self.error,
            Meaning::LastOutput => self.last,
            Meaning::ShellOutput => self.last || self.error,
            Meaning::Captured(..) | Meaning::Ended(..) => true,
        }
    }
}

/// The meaning of a `${…}`.
pub(crate) enum Braced {
    Placeholder(Placeholder),
    /// An expansion of the shell.
    Shell,
}

/// Parses the inside of `${…}`; the `$` is at `at`.
///
/// # Errors
/// It is not a placeholder, or it may not be used here.
pub(crate) fn braced(
    inner: &str,
    at: usize,
    available: AvailableValues<'_>,
) -> Result<Braced, String> {
    let name = inner.trim();
    if let Some(refused) = of_other_tools(inner) {
        return Err(refused);
    }
    if is_shells(name, available) {
        return Ok(Braced::Shell);
    }
    let written = format!("${{{inner}}}");
    named(name, written, at, available).map(Braced::Placeholder)
}

/// The placeholder with this name, written as `written` at `at`.
///
/// # Errors
/// See [`braced`].
pub(crate) fn named(
    name: &str,
    written: String,
    at: usize,
    available: AvailableValues<'_>,
) -> Result<Placeholder, String> {
    let meaning = match captured_meaning(name, &written, available)? {
        Some(meaning) => meaning,
        None => meaning(name).ok_or_else(|| unknown(&written, name, available))?,
    };
    if !available.has(&meaning) {
        let why = match meaning {
            Meaning::LastOutput | Meaning::ShellOutput => "there is no step before this one",
            Meaning::Error => "nothing has failed at this point",
            Meaning::Item(_) => "there is no item at this point",
            _ if available.label == AT_THE_END => "`$RETRY_WORKFLOW_REPORT_FILE` holds the numbers",
            _ => "the items have not run at this point",
        };
        return Err(format!(
            "`{written}` is not available here, because {why}: {}",
            available.listed()
        ));
    }
    let span = SourceSpan::new(at, written.len());
    Ok(Placeholder { written, meaning, span })
}

/// The meaning of a placeholder that refers to a captured output.
fn captured_meaning(
    name: &str,
    written: &str,
    available: AvailableValues<'_>,
) -> Result<Option<Meaning>, String> {
    let (root, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
    let Some(captured) = available.captured(root) else { return Ok(None) };
    let end = rest.strip_prefix('.').and_then(EndOf::named);
    if let Some(end) = end {
        return Ok(Some(Meaning::Ended(root.to_owned(), end)));
    }
    match path(rest) {
        Some(path) if path.is_empty() || captured.is_json => {
            Ok(Some(Meaning::Captured(root.to_owned(), path)))
        }
        _ => Err(format!(
            "unknown placeholder `{written}`: `{root}` has `${{{root}}}`, `${{{root}.success}}`, \
             `${{{root}.exit_code}}` and `${{{root}.stderr}}`; paths need an output captured with \
             `capture_format: json`"
        )),
    }
}

/// Returns why a placeholder of another tool is refused: a shell would expand it to nothing, or
/// fail.
fn of_other_tools(inner: &str) -> Option<String> {
    let (word, rest) = inner.split_once(':')?;
    // `${file:-x}` is an expansion of the shell.
    if rest.starts_with(['-', '=', '?', '+']) {
        return None;
    }
    let instead = match word {
        "cmd" => "run the command in a separate step with `capture: name`, and write `${name}`",
        "file" => {
            "read the file in the command, as in `\"$(cat FILE)\"`, or in a step with `capture: name`"
        }
        "json" => {
            "read it in a step with `capture: name` and `capture_format: json`, and write `${name.field}`"
        }
        "date" => "write `$(date +%F)` in the command, or capture it in a step: `capture: name`",
        _ => return None,
    };
    Some(format!(
        "`${{{inner}}}` is not a placeholder, because placeholders neither run nor read anything: \
         {instead}"
    ))
}

fn is_shells(name: &str, available: AvailableValues<'_>) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if matches!(name, "?" | "#" | "@" | "*" | "!" | "$" | "-") || name.starts_with(['#', '!']) {
        return true;
    }
    let end = name.find(|c| !is_word(c)).unwrap_or(name.len());
    let (word, rest) = name.split_at(end);
    let capital = !word.is_empty()
        && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    if rest.is_empty() || rest.starts_with('[') {
        return capital;
    }
    let operator = rest.starts_with([':', '-', '=', '?', '+', '%', '#', '/', '^', ',', '@']);
    // Operators on a placeholder are not supported: it has no defaults and no suffix removal.
    operator && !word.is_empty() && !ROOTS.contains(&word) && available.captured(word).is_none()
}

const ROOTS: [&str; 5] = ["item", "map", "error", "last", "shell"];

/// Returns why this name cannot be used to capture an output.
pub(crate) fn misnamed(name: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if ROOTS.contains(&name) {
        return Some(format!("`${{{name}}}` already has a meaning: choose another name"));
    }
    let good = name.chars().all(is_part) && name.starts_with(|c: char| c.is_ascii_lowercase());
    (!good).then(|| {
        "write a name in lowercase letters, digits and `_`, such as `branch`; names in capitals \
         belong to the shell"
            .to_owned()
    })
}

fn meaning(name: &str) -> Option<Meaning> {
    Some(match name {
        "item" => Meaning::Item(Vec::new()),
        "map.results" => Meaning::Results,
        "map.total" => Meaning::Total,
        "map.successful" => Meaning::Successful,
        "map.failed" => Meaning::Failed,
        "error" => Meaning::Error,
        "last.output" => Meaning::LastOutput,
        "shell.output" => Meaning::ShellOutput,
        _ => Meaning::Item(path(name.strip_prefix("item")?)?),
    })
}

/// Parses `.path.to[0].field`.
fn path(mut rest: &str) -> Option<Vec<PathPart>> {
    let mut path = Vec::new();
    while !rest.is_empty() {
        if let Some(key) = rest.strip_prefix('.') {
            let end = key.find(['.', '[']).unwrap_or(key.len());
            let name = &key[..end];
            if name.is_empty()
                || name.contains(|c: char| c.is_whitespace() || ":%#/'\"\\$`]{".contains(c))
            {
                return None;
            }
            path.push(PathPart::Key(name.to_owned()));
            rest = &key[end..];
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            path.push(PathPart::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(path)
}

/// Parses the path of a condition or of `sort_by`: `score`, `owner.id`, `item.score`, or `item` for
/// the whole item.
pub(crate) fn item_path(name: &str) -> Option<Vec<PathPart>> {
    let below =
        name.strip_prefix("item").filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
    match below {
        Some(rest) => path(rest),
        None => path(&format!(".{name}")),
    }
}

/// Returns whether a placeholder can refer to this key of an item.
pub(crate) fn is_key(key: &str) -> bool {
    path(&format!(".{key}")).is_some_and(|path| path == [PathPart::Key(key.to_owned())])
}

fn unknown(written: &str, name: &str, available: AvailableValues<'_>) -> String {
    let names = available.names();
    let (root, rest) = match name.find(['.', '[', ':', '-', '%', '#', '/']) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    // `${itm.id}` means the item, whatever the path.
    if available.item
        && root != "item"
        && nearest(root, ["item"]).is_some()
        && path(rest).is_some()
        && nearest(name, names.iter().copied().filter(|name| !name.starts_with("item"))).is_none()
    {
        return format!("unknown placeholder `{written}`: did you mean `${{item{rest}}}`?");
    }
    if let Some(meant) =
        nearest(name, names.iter().copied().filter(|known| *known != "item.path" && *known != name))
        && !ROOTS.contains(&name)
        && !name.starts_with("item")
    {
        return format!("unknown placeholder `{written}`: did you mean `${{{meant}}}`?");
    }
    let bare = name.find([':', '%', '#', '/', '?', '+', '=']).map_or(name, |at| &name[..at]);
    if bare != name && meaning(bare).is_some() {
        return format!(
            "unknown placeholder `{written}`: placeholders support neither defaults nor \
             substrings: write `${{{bare}}}`"
        );
    }
    if let ("secrets" | "env" | "vars" | "github", Some(variable)) = (root, rest.strip_prefix('.'))
    {
        return format!(
            "unknown placeholder `{written}`: secrets and `env` are variables of every command: write \
             `${variable}`, without braces"
        );
    }
    if available.label == A_TASK && rest.starts_with('.') {
        return format!(
            "unknown placeholder `{written}`: tasks do not know the results of each other; a task \
             runs once all those in its `depends_on` have succeeded, and is skipped if one of them \
             fails"
        );
    }
    if ROOTS.contains(&root) || name.contains('.') {
        return format!("unknown placeholder `{written}`: {}", available.listed());
    }
    format!(
        "unknown placeholder `{written}`: {}; a variable of the shell is written `${name}`, without \
         braces",
        available.listed()
    )
}

/// The values of placeholders while a step runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) item: Option<Arc<Value>>,
    pub(crate) map: Option<Arc<MapResults>>,
    pub(crate) error: Option<String>,
    pub(crate) last: Option<String>,
    /// In `on_failure`: the output of the failed attempt.
    pub(crate) failed_output: Option<String>,
    pub(crate) captured: BTreeMap<String, Captured>,
}

/// The results of a map, which may be too many to keep in memory.
#[derive(Clone, Debug)]
pub(crate) enum Results {
    Text(String),
    /// A file that is removed with its last reference.
    File(Arc<tempfile::TempPath>),
    /// The reason why there is no such file.
    Unwritten(String),
}

impl Default for Results {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Results {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::File(path) => std::fs::read_to_string(&**path).ok(),
            Self::Unwritten(_) => None,
        }
    }
}

/// The results of a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapResults {
    /// A JSON list of the outputs.
    pub(crate) results: Results,
    pub(crate) total: u64,
    pub(crate) successful: u64,
    pub(crate) failed: u64,
}

impl Scope {
    /// The text to substitute for a placeholder.
    ///
    /// # Errors
    /// The placeholder has no value, or one that cannot be passed to a command.
    pub(crate) fn value(&self, placeholder: &Placeholder) -> Result<String, String> {
        let value = self.json(placeholder).as_deref().map(as_text);
        let value = match placeholder.meaning {
            // The earlier step was skipped, or had no output.
            Meaning::LastOutput
            | Meaning::ShellOutput
            | Meaning::Captured(..)
            | Meaning::Ended(..) => Some(value.unwrap_or_default()),
            _ => value,
        };
        let written = &placeholder.written;
        let value = value.ok_or_else(|| match self.map.as_deref().map(|map| &map.results) {
            Some(Results::Unwritten(why)) if placeholder.meaning == Meaning::Results => why.clone(),
            _ => format!("there is no value for `{written}`"),
        })?;
        if value.contains('\0') {
            return Err(format!(
                "the value of `{written}` contains a NUL character, which cannot be passed to a \
                 command"
            ));
        }
        Ok(value)
    }

    /// The value of a placeholder, if it has one.
    pub(crate) fn json(&self, placeholder: &Placeholder) -> Option<Cow<'_, Value>> {
        let text = |text: &Option<String>| text.clone().map(|text| Cow::Owned(text.into()));
        let number = |number: fn(&MapResults) -> u64| {
            self.map.as_deref().map(|map| Cow::Owned(number(map).into()))
        };
        match &placeholder.meaning {
            Meaning::Item(path) => at(self.item.as_deref()?, path).map(Cow::Borrowed),
            Meaning::Results => {
                self.map.as_deref()?.results.text().map(|text| Cow::Owned(text.into()))
            }
            Meaning::Total => number(|map| map.total),
            Meaning::Successful => number(|map| map.successful),
            Meaning::Failed => number(|map| map.failed),
            Meaning::Error => text(&self.error),
            Meaning::LastOutput => text(&self.last),
            Meaning::ShellOutput => text(&self.failed_output).or_else(|| text(&self.last)),
            Meaning::Captured(name, path) => {
                at(&self.captured.get(name)?.value, path).map(Cow::Borrowed)
            }
            Meaning::Ended(name, end) => {
                let captured = self.captured.get(name)?;
                Some(Cow::Owned(match end {
                    EndOf::Success => captured.success.into(),
                    EndOf::ExitCode => captured.exit_code.into(),
                    EndOf::Stderr => captured.stderr.clone().into(),
                }))
            }
        }
    }
}

/// The value at this path.
pub(crate) fn at<'a>(item: &'a Value, path: &[PathPart]) -> Option<&'a Value> {
    path.iter().try_fold(item, |value, part| match part {
        PathPart::Key(key) => value.get(key),
        PathPart::Index(index) => value.get(index),
    })
}

/// Texts as they are, null as an empty text, and anything else as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// A mistake in a text: its position, the part that is wrong, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TemplateError {
    pub(crate) at: usize,
    pub(crate) part: String,
    pub(crate) message: String,
}

/// A text with placeholders that no shell parses: a prompt, or the id of an item. `$${` is a
/// literal `${`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(Placeholder),
}

impl Template {
    pub(crate) fn parse(
        text: &str,
        available: AvailableValues<'_>,
    ) -> Result<Self, Vec<TemplateError>> {
        let mut pieces = Vec::new();
        let mut errors = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(next) = text[at..].find("${") {
            let open = at + next;
            plain.push_str(&text[at..open]);
            if plain.ends_with('$') {
                // The `$` has been copied; the second one was the escape.
                plain.push('{');
                at = open + 2;
                continue;
            }
            let Some(len) = text[open..].find('}') else {
                errors.push(never_closed(text, open));
                at = text.len();
                break;
            };
            let inner = &text[open + 2..open + len];
            match braced(inner, open, available) {
                Ok(Braced::Placeholder(placeholder)) => {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::Value(placeholder));
                }
                Ok(Braced::Shell) => plain.push_str(&text[open..=open + len]),
                Err(message) => {
                    let part = text[open..=open + len].to_owned();
                    errors.push(TemplateError { at: open, part, message });
                }
            }
            at = open + len + 1;
        }
        plain.push_str(&text[at..]);
        pieces.push(Piece::Text(plain));
        if errors.is_empty() { Ok(Self(pieces)) } else { Err(errors) }
    }

    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(placeholder) => Some(placeholder),
            Piece::Text(_) => None,
        })
    }

    /// The text as written in the file.
    pub(crate) fn written(&self) -> String {
        let pieces = self.0.iter().map(|piece| match piece {
            Piece::Text(plain) => plain.as_str(),
            Piece::Value(placeholder) => &placeholder.written,
        });
        pieces.collect()
    }

    pub(crate) fn render(&self, scope: &Scope) -> Result<String, String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Value(placeholder) => text.push_str(&scope.value(placeholder)?),
            }
        }
        Ok(text)
    }
}

impl Placeholders for Template {
    fn placeholders_mut(&mut self) -> impl Iterator<Item = &mut Placeholder> {
        self.0.iter_mut().filter_map(|piece| match piece {
            Piece::Value(placeholder) => Some(placeholder),
            Piece::Text(_) => None,
        })
    }
}

pub(crate) fn never_closed(text: &str, at: usize) -> TemplateError {
    let part = text[at..].lines().next().unwrap_or_default().to_owned();
    let message = "this `${` has no `}`: write a placeholder such as `${item.id}`".to_owned();
    TemplateError { at, part, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ALL: AvailableValues<'_> = AvailableValues {
        item: true,
        map: true,
        error: true,
        last: true,
        captured: &[],
        postpones: false,
        label: "this place",
    };

    fn item(value: Value) -> Scope {
        Scope { item: Some(Arc::new(value)), ..Scope::default() }
    }

    fn rendered(text: &str, scope: &Scope) -> String {
        Template::parse(text, ALL).unwrap().render(scope).unwrap()
    }

    fn complaint(text: &str, available: AvailableValues<'_>) -> String {
        Template::parse(text, available).unwrap_err().remove(0).message
    }

    #[test]
    fn a_path_leads_into_the_item() {
        let scope = item(json!({ "a": [{ "b-c": "ä" }, 2], "n": null, "t": true, "f": 1.5 }));
        assert_eq!(rendered("<${item.a[0].b-c}|${item.a[1]}>", &scope), "<ä|2>");
        assert_eq!(rendered("${item.n}${item.t}${item.f}", &scope), "true1.5");
        assert_eq!(rendered("${item.a}", &scope), r#"[{"b-c":"ä"},2]"#);
    }

    #[test]
    fn what_is_the_shells_stays() {
        for text in ["${HOME} $x $$ ${1} ${x:-y} ${#} ${file%.txt} ${A[0]}", "$${item.id}x"] {
            let expected = text.replace("$${", "${");
            assert_eq!(rendered(text, &Scope::default()), expected);
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_that_names_what_was_meant() {
        let meant = |text| complaint(text, ALL);
        assert!(meant("${itm.id}").ends_with("did you mean `${item.id}`?"));
        assert!(meant("${map.totl}").ends_with("did you mean `${map.total}`?"));
        assert!(meant("${last.outptu}").ends_with("did you mean `${last.output}`?"));
        assert!(meant("${eror}").ends_with("did you mean `${error}`?"));
        assert!(
            meant("${item.}").starts_with("unknown placeholder `${item.}`: this place can use")
        );
        assert!(meant("${file}").ends_with("is written `$file`, without braces"));
        assert!(meant("${item:-x}").contains("unknown placeholder"));
        assert!(meant("${").contains("no `}`"));
    }

    #[test]
    fn what_has_no_meaning_here_is_an_error_that_names_what_has() {
        let reduce = AvailableValues {
            map: true,
            label: "the first step of `reduce`",
            ..AvailableValues::default()
        };
        assert_eq!(
            complaint("${item.id}", reduce),
            "`${item.id}` is not available here, because there is no item at this point: the first \
             step of `reduce` can use `${map.results}`, `${map.total}`, `${map.successful}`, \
             `${map.failed}`"
        );
        assert!(complaint("${last.output}", reduce).contains("no step before this one"));
    }

    #[test]
    fn what_was_captured_has_a_value_an_end_and_paths() {
        let names = [("branch", false), ("probe", true)]
            .map(|(name, is_json)| CapturedName { name: name.to_owned(), is_json });
        let available =
            AvailableValues { captured: &names, label: "this place", ..AvailableValues::default() };
        let ended =
            |value| Captured { value, success: false, exit_code: Some(7), stderr: "e".into() };
        let mut scope = Scope::default();
        scope.captured.insert("branch".to_owned(), ended(json!("main")));
        scope.captured.insert("probe".to_owned(), ended(json!({ "a": [1] })));
        let text =
            "${branch} ${branch.success} ${probe.exit_code} ${probe.stderr} ${probe.a[0]} $x";
        let rendered = Template::parse(text, available).unwrap().render(&scope).unwrap();
        assert_eq!(rendered, "main false 7 e 1 $x");
        assert!(complaint("${branch.a}", available).contains("capture_format: json"));
        assert!(complaint("${branch%x}", available).contains("unknown placeholder"));
        assert!(complaint("${brunch}", available).ends_with("did you mean `${branch}`?"));
        // A step that was skipped has captured nothing.
        let nothing = Template::parse("<${branch}>", available).unwrap().render(&Scope::default());
        assert_eq!(nothing.unwrap(), "<>");
    }

    #[test]
    fn placeholders_of_other_tools_are_refused_and_the_shells_defaults_are_not() {
        for text in ["${cmd:ls}", "${file:a.txt}", "${json:a.b}", "${date:%F}"] {
            assert!(complaint(text, ALL).contains("is not a placeholder, because"), "{text}");
        }
        assert_eq!(rendered("${file:-x}", &Scope::default()), "${file:-x}");
    }

    #[test]
    fn a_nul_is_refused() {
        let template = Template::parse("${item}", ALL).unwrap();
        assert!(template.render(&item(json!("a\0b"))).unwrap_err().contains("NUL"));
    }
}
