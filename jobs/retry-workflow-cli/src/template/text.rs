//! [`Template`]: a text with placeholders that no shell parses.

use crate::template::available::AvailableValues;
use crate::template::error::TemplateError;
use crate::template::parse::{Braced, braced};
use crate::template::placeholder::{Placeholder, Placeholders};
use crate::template::scope::Scope;

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
    let line = text[at..].lines().next().unwrap_or_default();
    let end = line[2..].find(|c: char| !c.is_alphanumeric() && !"_.[]".contains(c));
    let (part, rest) = line.split_at(end.map_or(line.len(), |end| end + 2));
    let is_whole = part.ends_with(|c: char| c.is_alphanumeric() || c == ']')
        && part.matches('[').count() == part.matches(']').count()
        && rest.chars().all(|c| c.is_whitespace() || "\"'".contains(c));
    let write = if is_whole { format!(": write `{part}}}`") } else { String::new() };
    let message = format!("this `${{` has no `}}`{write}");
    TemplateError { at, part: part.to_owned(), message }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};

    use super::*;
    use crate::template::placeholder::{Captured, CapturedName};

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
    fn placeholders_of_the_shell_are_left_alone() {
        for text in ["${HOME} $x $$ ${1} ${x:-y} ${#} ${file%.txt} ${A[0]}", "$${item.id}x"] {
            let expected = text.replace("$${", "${");
            assert_eq!(rendered(text, &Scope::default()), expected);
        }
    }

    #[test]
    fn an_unknown_name_is_an_error_with_a_suggestion() {
        let meant = |text| complaint(text, ALL);
        assert!(meant("${itm.id}").ends_with("did you mean `${item.id}`?"));
        assert!(meant("${map.totl}").ends_with("did you mean `${map.total}`?"));
        assert!(meant("${last.outptu}").ends_with("did you mean `${last.output}`?"));
        assert!(meant("${eror}").ends_with("did you mean `${error}`?"));
        assert!(
            meant("${item.}").starts_with("unknown placeholder `${item.}`: this place can use")
        );
        assert!(meant("${file}").ends_with("is written `$file`, without braces"));
        assert!(meant("${attempt}").ends_with("written `$RETRY_WORKFLOW_ATTEMPT`, without braces"));
        assert!(meant("${item:-x}").contains("unknown placeholder"));
    }

    #[test]
    fn a_missing_brace_is_added_only_where_nothing_else_may_be_meant() {
        for text in ["${item.id", "a ${item.id \"'\nb", "${item.ids[0]", "${HOME"] {
            let written = text.trim_start_matches("a ").split([' ', '\n']).next().unwrap();
            let expected = format!("this `${{` has no `}}`: write `{written}}}`");
            assert_eq!(complaint(text, ALL), expected, "{text}");
        }
        for text in ["${", "${item.", "${item.id | json", "${item.ids[0", "${item.a-b", "${a b"] {
            assert_eq!(complaint(text, ALL), "this `${` has no `}`", "{text}");
        }
    }

    #[test]
    fn an_unavailable_name_is_an_error_that_lists_the_available_ones() {
        let reduce = AvailableValues {
            map: true,
            label: "the first step of `reduce`",
            ..AvailableValues::default()
        };
        assert_eq!(
            complaint("${item.id}", reduce),
            "`${item.id}` is not available here, because there is no item at this point: move the \
             step to the `agent_template` of a `map`, which runs for each item, or use a variable, \
             such as `$ITEM_ID`; the first step of `reduce` can use `${map.results}`, `${map.total}`, `${map.successful}`, \
             `${map.failed}`"
        );
        assert!(complaint("${last.output}", reduce).contains("no step before this one"));
    }

    #[test]
    fn a_captured_name_has_a_value_a_status_and_paths() {
        let names = [("branch", false), ("probe", true)]
            .map(|(name, is_json)| CapturedName { name: name.to_owned(), is_json });
        let available =
            AvailableValues { captured: &names, label: "this place", ..AvailableValues::default() };
        let ended =
            |value| Captured { value, success: false, exit_code: Some(7), stderr: "e".into() };
        let mut scope = Scope::default();
        scope.own.captured.insert("branch".to_owned(), ended(json!("main")));
        scope.own.captured.insert("probe".to_owned(), ended(json!({ "a": [1] })));
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
