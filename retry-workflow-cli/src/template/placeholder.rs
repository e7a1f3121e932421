//! Placeholders: `${item.id}`, `${map.total}`, `${error}`, `${last.output}`; what
//! they mean, where they have a meaning, and texts that hold them.
//!
//! Of what stands between `${` and `}`, these are the shell's and stay as they are:
//! names of capitals, digits and `_` (`${HOME}`), its special parameters (`${1}`, `${#}`),
//! and expansions with an operator (`${file%.txt}`, `${x:-y}`). Every other name is a
//! placeholder, and an unknown one is an error before anything runs. A shell
//! variable in small letters is written without braces: `$file`.

use std::sync::Arc;

use retry_rules::suggest::nearest;
use serde_json::Value;

use crate::yaml::span::SourceSpan;

/// What a placeholder stands for.
#[derive(Clone, Debug)]
pub(crate) struct Placeholder {
    /// As it is written, with its braces.
    pub(crate) written: String,
    pub(crate) meaning: Meaning,
    /// In its own text when that has been parsed; the reader of the file makes
    /// it one of the file.
    pub(crate) span: SourceSpan,
}

/// A text that has been parsed, with its placeholders.
pub(crate) trait Placeholders {
    fn placeholders_mut(&mut self) -> impl Iterator<Item = &mut Placeholder>;
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// The item, or what is at this path in it.
    Item(Vec<Part>),
    Results,
    Total,
    Successful,
    Failed,
    Error,
    LastOutput,
}

/// A part of a path into an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Key(String),
    Index(usize),
}

/// Which placeholders have a meaning in a text.
#[derive(Clone, Copy, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is there or not, whatever the others are")]
pub(crate) struct Offers {
    pub(crate) item: bool,
    pub(crate) map: bool,
    pub(crate) error: bool,
    pub(crate) last: bool,
    /// What messages call it: "a step of `map`".
    pub(crate) label: &'static str,
}

impl Offers {
    fn names(self) -> Vec<&'static str> {
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
        names
    }

    /// The placeholders that there are, for a message.
    fn listed(self) -> String {
        let names = self.names();
        if names.is_empty() {
            return format!("{} has no placeholders", self.label);
        }
        let names: Vec<_> = names.iter().map(|name| format!("`${{{name}}}`")).collect();
        format!("{} has {}", self.label, names.join(", "))
    }

    fn has(self, meaning: &Meaning) -> bool {
        match meaning {
            Meaning::Item(_) => self.item,
            Meaning::Results | Meaning::Total | Meaning::Successful | Meaning::Failed => self.map,
            Meaning::Error => self.error,
            Meaning::LastOutput => self.last,
        }
    }
}

/// What stands between `${` and `}`.
pub(crate) enum Braced {
    Placeholder(Placeholder),
    /// The shell's own affair.
    Shell,
}

/// Reads what stands between `${` and `}`; the `$` is at `at`.
///
/// # Errors
/// It is no placeholder, or has no meaning here.
pub(crate) fn braced(inner: &str, at: usize, offers: Offers) -> Result<Braced, String> {
    let written = format!("${{{inner}}}");
    let name = inner.trim();
    if is_shells(name) {
        return Ok(Braced::Shell);
    }
    let Some(meaning) = meaning(name) else {
        return Err(unknown(&written, name, offers));
    };
    if !offers.has(&meaning) {
        let why = match meaning {
            Meaning::LastOutput => "there is no step before this one",
            Meaning::Error => "nothing has failed here",
            Meaning::Item(_) => "there is no item here",
            _ => "the items are not done here",
        };
        return Err(format!("`{written}` has no meaning here, for {why}: {}", offers.listed()));
    }
    let span = SourceSpan::new(at, written.len());
    Ok(Braced::Placeholder(Placeholder { written, meaning, span }))
}

fn is_shells(name: &str) -> bool {
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
    // Of a placeholder nothing is cut off, and it has no default.
    operator && !word.is_empty() && !ROOTS.contains(&word)
}

const ROOTS: [&str; 4] = ["item", "map", "error", "last"];

fn meaning(name: &str) -> Option<Meaning> {
    Some(match name {
        "item" => Meaning::Item(Vec::new()),
        "map.results" => Meaning::Results,
        "map.total" => Meaning::Total,
        "map.successful" => Meaning::Successful,
        "map.failed" => Meaning::Failed,
        "error" => Meaning::Error,
        "last.output" => Meaning::LastOutput,
        _ => Meaning::Item(path(name.strip_prefix("item")?)?),
    })
}

/// `.path.to[0].field`.
fn path(mut rest: &str) -> Option<Vec<Part>> {
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
            path.push(Part::Key(name.to_owned()));
            rest = &key[end..];
        } else {
            let (index, after) = rest.strip_prefix('[')?.split_once(']')?;
            path.push(Part::Index(index.parse().ok()?));
            rest = after;
        }
    }
    Some(path)
}

/// Whether a placeholder can name this key of an item.
pub(crate) fn is_key(key: &str) -> bool {
    path(&format!(".{key}")).is_some_and(|path| path == [Part::Key(key.to_owned())])
}

fn unknown(written: &str, name: &str, offers: Offers) -> String {
    let names = offers.names();
    let (root, rest) = match name.find(['.', '[', ':', '-', '%', '#', '/']) {
        Some(at) => name.split_at(at),
        None => (name, ""),
    };
    // `${itm.id}` means the item, whatever the path.
    if offers.item
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
            "unknown placeholder `{written}`: a placeholder has no default, and nothing is cut off \
             it: write `${{{bare}}}`"
        );
    }
    if ROOTS.contains(&root) {
        return format!("unknown placeholder `{written}`: {}", offers.listed());
    }
    format!(
        "unknown placeholder `{written}`: {}; a variable of the shell is written `${name}`, without \
         braces",
        offers.listed()
    )
}

/// What placeholders stand for while a step runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) item: Option<Arc<Value>>,
    pub(crate) map: Option<Arc<MapResults>>,
    pub(crate) error: Option<String>,
    pub(crate) last: Option<String>,
}

/// What became of the items of a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapResults {
    /// A JSON list of the outputs.
    pub(crate) results: String,
    pub(crate) total: u64,
    pub(crate) successful: u64,
    pub(crate) failed: u64,
}

impl Scope {
    /// The text that a placeholder stands for.
    ///
    /// # Errors
    /// There is none, or no command can be given it.
    pub(crate) fn value(&self, placeholder: &Placeholder) -> Result<String, String> {
        let map = || self.map.as_deref();
        let value = match &placeholder.meaning {
            Meaning::Item(path) => {
                self.item.as_deref().and_then(|item| at(item, path)).map(as_text)
            }
            Meaning::Results => map().map(|map| map.results.clone()),
            Meaning::Total => map().map(|map| map.total.to_string()),
            Meaning::Successful => map().map(|map| map.successful.to_string()),
            Meaning::Failed => map().map(|map| map.failed.to_string()),
            Meaning::Error => self.error.clone(),
            // The step before was left out, or had nothing to say.
            Meaning::LastOutput => Some(self.last.clone().unwrap_or_default()),
        };
        let written = &placeholder.written;
        let value = value.ok_or_else(|| format!("there is no value for `{written}`"))?;
        if value.contains('\0') {
            return Err(format!(
                "the value of `{written}` has a NUL character in it, which no command can be given"
            ));
        }
        Ok(value)
    }
}

/// What is at this path.
pub(crate) fn at<'a>(item: &'a Value, path: &[Part]) -> Option<&'a Value> {
    path.iter().try_fold(item, |value, part| match part {
        Part::Key(key) => value.get(key),
        Part::Index(index) => value.get(index),
    })
}

/// A text as it is, nothing as nothing, everything else as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// What is wrong with a text: where in it, which part of it, and what to write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) at: usize,
    pub(crate) part: String,
    pub(crate) message: String,
}

/// A text with placeholders that no shell reads: a prompt, or the id of an item.
/// `$${` is `${` to the letter.
#[derive(Clone, Debug, Default)]
pub(crate) struct Template(Vec<Piece>);

#[derive(Clone, Debug)]
enum Piece {
    Text(String),
    Value(Placeholder),
}

impl Template {
    pub(crate) fn parse(text: &str, offers: Offers) -> Result<Self, Vec<Fault>> {
        let mut pieces = Vec::new();
        let mut faults = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(next) = text[at..].find("${") {
            let open = at + next;
            plain.push_str(&text[at..open]);
            if plain.ends_with('$') {
                // The `$` that is there stays, and this one was the escape.
                plain.push('{');
                at = open + 2;
                continue;
            }
            let Some(len) = text[open..].find('}') else {
                faults.push(never_closed(text, open));
                at = text.len();
                break;
            };
            let inner = &text[open + 2..open + len];
            match braced(inner, open, offers) {
                Ok(Braced::Placeholder(placeholder)) => {
                    pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    pieces.push(Piece::Value(placeholder));
                }
                Ok(Braced::Shell) => plain.push_str(&text[open..=open + len]),
                Err(message) => {
                    let part = text[open..=open + len].to_owned();
                    faults.push(Fault { at: open, part, message });
                }
            }
            at = open + len + 1;
        }
        plain.push_str(&text[at..]);
        pieces.push(Piece::Text(plain));
        if faults.is_empty() { Ok(Self(pieces)) } else { Err(faults) }
    }

    pub(crate) fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Value(placeholder) => Some(placeholder),
            Piece::Text(_) => None,
        })
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

pub(crate) fn never_closed(text: &str, at: usize) -> Fault {
    let part = text[at..].lines().next().unwrap_or_default().to_owned();
    let message = "this `${` has no `}`: write a placeholder such as `${item.id}`".to_owned();
    Fault { at, part, message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const ALL: Offers =
        Offers { item: true, map: true, error: true, last: true, label: "this place" };

    fn item(value: Value) -> Scope {
        Scope { item: Some(Arc::new(value)), ..Scope::default() }
    }

    fn rendered(text: &str, scope: &Scope) -> String {
        Template::parse(text, ALL).unwrap().render(scope).unwrap()
    }

    fn complaint(text: &str, offers: Offers) -> String {
        Template::parse(text, offers).unwrap_err().remove(0).message
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
        assert!(meant("${item.}").starts_with("unknown placeholder `${item.}`: this place has"));
        assert!(meant("${file}").ends_with("is written `$file`, without braces"));
        assert!(meant("${item:-x}").contains("unknown placeholder"));
        assert!(meant("${").contains("no `}`"));
    }

    #[test]
    fn what_has_no_meaning_here_is_an_error_that_names_what_has() {
        let reduce = Offers { map: true, label: "the first step of `reduce`", ..Offers::default() };
        assert_eq!(
            complaint("${item.id}", reduce),
            "`${item.id}` has no meaning here, for there is no item here: the first step of \
             `reduce` has `${map.results}`, `${map.total}`, `${map.successful}`, `${map.failed}`"
        );
        assert!(complaint("${last.output}", reduce).contains("no step before this one"));
    }

    #[test]
    fn a_nul_is_refused() {
        let template = Template::parse("${item}", ALL).unwrap();
        assert!(template.render(&item(json!("a\0b"))).unwrap_err().contains("NUL"));
    }
}
