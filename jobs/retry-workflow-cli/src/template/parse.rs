//! Parses placeholders: `${item.id}`, `${map.total}`, `${error}`, `${last.output}`, and captured
//! outputs.
//!
//! Some forms of `${…}` belong to the shell and are left alone: names of capitals, digits and `_`
//! (`${HOME}`), special parameters (`${1}`, `${#}`), and expansions with an operator
//! (`${file%.txt}`, `${x:-y}`). Every other name is a placeholder, and an unknown one is an error
//! before anything runs. A shell variable in lower case is written without braces: `$file`.

use retry_rules::suggest::nearest;

use crate::template::available::{A_TASK, AT_THE_END, AvailableValues};
use crate::template::placeholder::{EndOf, Meaning, Placeholder};
use crate::yaml::span::SourceSpan;
use retry_workflow::condition::path::path;

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
            Meaning::LastOutput | Meaning::ShellOutput if available.label == A_TASK => {
                "a task is a single step: let the other task write a file, and read it here"
            }
            Meaning::LastOutput | Meaning::ShellOutput => {
                "there is no step before this one: write the step with that output first"
            }
            Meaning::Error => "nothing has failed at this point: use it in a step of `on_failure`",
            Meaning::Item(_) => {
                "there is no item at this point: move the step to the `agent_template` of a `map`, \
                 which runs for each item, or use a variable, such as `$ITEM_ID`"
            }
            _ if available.label == AT_THE_END => {
                "the numbers are in a file: read `$RETRY_WORKFLOW_REPORT_FILE`"
            }
            _ => "the items have not run at this point: use it in a step of `reduce`",
        };
        let others = match available.names().as_slice() {
            [] => String::new(),
            _ => format!("; {}", available.listed()),
        };
        return Err(format!("`{written}` is not available here, because {why}{others}"));
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
    ["cmd", "file", "json", "date"].contains(&word).then(|| {
        format!(
            "`${{{inner}}}` is not a placeholder, because placeholders neither run nor read \
             anything: do that in a step before with `capture: name`, and write `${{name}}`"
        )
    })
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
    match Meaning::NAMES.into_iter().find(|(known, _)| *known == name) {
        Some((_, meaning)) => Some(meaning),
        None => Some(Meaning::Item(path(name.strip_prefix("item")?)?)),
    }
}

fn unknown(written: &str, name: &str, available: AvailableValues<'_>) -> String {
    let names = available.names();
    // `${{ env.REGION }}`.
    let name = name.trim_start_matches(['{', ' ']);
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
            "unknown placeholder `{written}`: secrets and `env` are variables of commands, and not of \
             conditions: in a command, write `${variable}`, without braces"
        );
    }
    if available.label == A_TASK && rest.starts_with('.') {
        return format!(
            "unknown placeholder `{written}`: tasks do not know the results of each other; a task \
             runs once all those in its `depends_on` have succeeded, and is skipped if one of them \
             fails"
        );
    }
    if ROOTS.contains(&root) || name.contains('.') || written == name {
        return format!("unknown placeholder `{written}`: {}", available.listed());
    }
    let variable = match name {
        "attempt" | "retry_count" => format!("RETRY_WORKFLOW_{}", name.to_uppercase()),
        _ => name.to_owned(),
    };
    format!(
        "unknown placeholder `{written}`: {}; a variable of the shell is written `${variable}`, \
         without braces",
        available.listed()
    )
}
