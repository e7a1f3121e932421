//! [`ItemPath`]: the JSONPath that selects the items, and why it selects none.
//!
//! An empty list is fine: there may be nothing to do today. A path that leads nowhere is a mistake:
//! otherwise a job without items would silently succeed.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use retry_rules::suggest::nearest;
use serde_json::Value;
use serde_json_path::{JsonPath, LocatedNode};

use crate::file::shown_value::{contents, short};
use crate::yaml::node::Node;
use crate::yaml::span::{Mistake, SourceSpan};

/// The default: each entry of a list.
const EACH: &str = "$[*]";

/// The path to the items in the input.
#[derive(Debug)]
pub(crate) struct ItemPath {
    path: JsonPath,
    text: String,
    segments: Vec<Segment>,
    pub(super) is_written: bool,
}

/// One step of a path: `.items`, `[*]`, `..name`.
#[derive(Debug)]
struct Segment {
    range: Range<usize>,
    /// Its place in the workflow file.
    span: SourceSpan,
    kind: PathKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PathKind {
    /// Names or indices, which are expected to exist.
    Names,
    /// Part of a list.
    Slice,
    /// A wildcard or a filter: whatever exists.
    Any,
}

impl ItemPath {
    /// Parses the text of a node.
    pub(super) fn read(node: &Node, text: &str, source: &str) -> Result<Self, Mistake> {
        /// The parser recurses once per level, and may try each level twice.
        const DEEPEST: usize = 8;
        const LONGEST: usize = 2_000;

        let deepest = text.chars().scan(0_usize, |depth, c| {
            match c {
                '(' | '[' => *depth = depth.saturating_add(1),
                ')' | ']' => *depth = depth.saturating_sub(1),
                _ => {}
            }
            Some(*depth)
        });
        if text.len() > LONGEST || deepest.max() > Some(DEEPEST) {
            let message = format!(
                "this JSONPath is too long (over {LONGEST} bytes) or nested too deeply (over \
                 {DEEPEST} brackets): prepare the input with a command first"
            );
            return Err(Mistake::at(node.span, message));
        }
        let path = JsonPath::parse(text).map_err(|error| {
            let at = text
                .char_indices()
                .nth(error.position().saturating_sub(1))
                .map_or(text.len(), |(at, _)| at);
            // jq writes `.items[]`.
            let dot = if text.starts_with(['.', '[']) { "" } else { "." };
            let meant = format!("${dot}{text}").replace("[]", "[*]").replace(".[", "[");
            let cure = match JsonPath::parse(&meant) {
                Ok(_) => format!("write `{meant}`"),
                Err(_) => "write one such as `$.items[*]`".to_owned(),
            };
            let message = format!("this is not a valid JSONPath from here on: {cure}");
            Mistake::at(node.span_within(source, at, ""), message)
        })?;
        let span = |range: &Range<usize>| {
            let part = text.get(range.clone()).unwrap_or_default();
            let meant = part.trim_start_matches('.');
            node.span_within(source, range.end.saturating_sub(meant.len()), meant)
        };
        let segments = segments(text, span);
        Ok(Self { path, text: text.to_owned(), segments, is_written: true })
    }

    /// The default path, for an input that is written here.
    pub(super) fn each(input: SourceSpan) -> Option<Self> {
        let path = JsonPath::parse(EACH).ok()?;
        let segment = Segment { range: 1..EACH.len(), span: input, kind: PathKind::Any };
        Some(Self { path, text: EACH.to_owned(), segments: vec![segment], is_written: false })
    }

    /// The path as written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The names that lead to the list whose entries are the items; `None` if the path is not that
    /// simple.
    pub(super) fn streamed(&self) -> Option<Vec<String>> {
        let part = |segment: &Segment| self.text.get(segment.range.clone());
        let (last, names) = self.segments.split_last()?;
        if part(last)? != "[*]" {
            return None;
        }
        let name = |segment: &Segment| {
            let part = part(segment).filter(|part| !part.starts_with(".."))?;
            segment_name(part).filter(|name| *name != "*").map(str::to_owned)
        };
        names.iter().map(name).collect()
    }

    /// Finds the items, in document order.
    pub(super) fn find<'a>(&self, document: &'a Value) -> Vec<LocatedNode<'a>> {
        self.path.query_located(document).all()
    }

    /// The segment at which a path without results leads nowhere; `None` if there is just nothing
    /// to select. `name` is the name of the document.
    pub(super) fn lost(&self, document: &Value, name: &str) -> Option<Mistake> {
        let mut here = vec![document];
        for segment in &self.segments {
            let found = JsonPath::parse(self.text.get(..segment.range.end)?).ok()?;
            let found = found.query(document).all();
            if !found.is_empty() {
                here = found;
                continue;
            }
            let part = self.text.get(segment.range.clone())?;
            let why = match self.text.get(..segment.range.start)?.trim_end() {
                "$" => segment.why(part, name, &here)?,
                before => segment.why(part, &format!("`{}`", short(before)), &here)?,
            };
            let what = if self.is_written { "`json_path` finds" } else { "there are" };
            let message = format!("{what} no items, because {why}");
            return Some(Mistake::at(segment.span, message));
        }
        None
    }
}

impl Segment {
    /// Returns why nothing is found `here`, among the values that `parent` has found.
    fn why(&self, part: &str, parent: &str, here: &[&Value]) -> Option<String> {
        let goes_down = part.starts_with("..");
        let is_list = |value: &&Value| value.is_array();
        let is_any = |value: &&Value| value.is_array() || value.is_object();
        let first = here.first()?;
        match self.kind {
            PathKind::Any if here.iter().any(is_any) => None,
            PathKind::Slice
                if here.iter().any(|value| is_list(value) || goes_down && is_any(value)) =>
            {
                None
            }
            PathKind::Any => Some(format!("{parent} {}, not a list", contents(first))),
            PathKind::Slice => {
                let part = short(part);
                Some(format!("{parent} {}, but `{part}` is part of a list", contents(first)))
            }
            PathKind::Names => {
                let name = segment_name(part);
                let what = short(name.unwrap_or(part));
                if goes_down {
                    return Some(format!("nothing in {parent} is named `{what}`"));
                }
                let none = match here.len() {
                    1 => format!("{parent} has no `{what}`"),
                    many => format!("none of the {many} that {parent} finds has `{what}`"),
                };
                let keys = first.as_object().into_iter().flat_map(|map| map.keys());
                let meant = name.and_then(|name| similar(name, keys.map(String::as_str)));
                let that = if here.len() == 1 { "it" } else { "the first" };
                let has = format!("{none}: {that} {}", contents(first));
                Some(match meant {
                    Some(meant) => format!("{has}; did you mean `{}`?", short(meant)),
                    None if first.is_array() && name.is_some() => {
                        format!("{has}, whose entries are `[*]`")
                    }
                    None => has,
                })
            }
        }
    }
}

/// The known name that was probably meant: the same in another case, or a similar one.
pub(super) fn similar<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let mut same = known.clone().filter(|known| known.eq_ignore_ascii_case(name));
    same.next().or_else(|| nearest(name, known))
}

/// A text in quotes, as JSONPath has them.
const QUOTED: &str = r#"'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*""#;

/// A segment. A bracket may contain texts, and two levels of the brackets of filters.
static SEGMENT: LazyLock<Regex> = LazyLock::new(|| {
    let around = |inner| format!(r#"\[(?:{QUOTED}|{inner}[^\]\['"])*\]"#);
    let bracket = (0..2).fold(around(String::new()), |inner, _| around(inner + "|"));
    Regex::new(&format!(r"\.*(?:{bracket}|[^.\[\s]+)")).expect("a pattern of ours")
});

static QUOTATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(QUOTED).expect("a pattern of ours"));

/// The segments of a path that has been parsed.
fn segments(path: &str, span: impl Fn(&Range<usize>) -> SourceSpan) -> Vec<Segment> {
    let found = SEGMENT.find_iter(path).skip_while(|found| found.start() == 0);
    found
        .map(|found| {
            let range = found.range();
            Segment { span: span(&range), range, kind: kind(found.as_str()) }
        })
        .collect()
}

fn kind(part: &str) -> PathKind {
    let bare = QUOTATION.replace_all(part, "");
    if bare.contains(['*', '?']) {
        PathKind::Any
    } else if bare.contains(':') {
        PathKind::Slice
    } else {
        PathKind::Names
    }
}

/// The name in a segment, if it has exactly one.
fn segment_name(part: &str) -> Option<&str> {
    let part = part.trim_start_matches('.');
    let Some(inside) = part.strip_prefix('[') else { return Some(part) };
    let inside = inside.strip_suffix(']')?.trim();
    let quote = inside.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let name = inside.strip_prefix(quote)?.strip_suffix(quote)?;
    (!name.contains(['\\', quote])).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_split_into_segments() {
        use PathKind::{Any, Names, Slice};

        for (path, expected) in [
            ("$", &[][..]),
            ("$[*]", &[("[*]", Any)]),
            ("$.a.b", &[(".a", Names), (".b", Names)]),
            ("$ .a [0]", &[(".a", Names), ("[0]", Names)]),
            ("$..a[*].*", &[("..a", Names), ("[*]", Any), (".*", Any)]),
            ("$..[?@.a[0] == ']'][1:2]", &[("..[?@.a[0] == ']']", Any), ("[1:2]", Slice)]),
            (
                "$.a[?@.b[?@.c[0] == ']'][']']].d",
                &[(".a", Names), ("[?@.b[?@.c[0] == ']'][']']]", Any), (".d", Names)],
            ),
            (r"$['a\']*:?']['ä', 1:]", &[(r"['a\']*:?']", Names), ("['ä', 1:]", Slice)]),
        ] {
            assert!(JsonPath::parse(path).is_ok(), "{path}");
            let found = segments(path, |_| SourceSpan::default());
            let found: Vec<_> =
                found.iter().map(|segment| (&path[segment.range.clone()], segment.kind)).collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn the_name_of_a_part_is_read_in_either_form() {
        assert_eq!(segment_name("..a"), Some("a"));
        assert_eq!(segment_name("[ 'a b' ]"), Some("a b"));
        assert_eq!(segment_name("['a','b']"), None);
        assert_eq!(segment_name("[0]"), None);
    }
}
