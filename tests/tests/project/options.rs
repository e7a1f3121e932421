//! The lists of options in the documentation agree with the table in `retry-rules`, from which the
//! rest is derived.

use retry_rules::Policy;
use retry_rules::options::{Kind, POLICY, QUOTA, Setting};
use retry_workflow::ErrorPolicy;

use super::root;

/// The page on the retries of workflow files.
const PAGE: &str = "jobs/retry-workflow-cli/src/guide/retries.md";

fn page(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect("a page")
}

/// The lines of a page from the one that begins with `start` up to an empty one.
fn list(path: &str, start: &str) -> String {
    let page = page(path);
    let lines = page.lines().skip_while(|line| !line.starts_with(start));
    let lines: Vec<_> = lines.take_while(|line| !["", "///"].contains(line)).collect();
    assert!(!lines.is_empty(), "{path} has no line `{start}`");
    lines.join("\n")
}

fn is_named(list: &str, name: &str) -> bool {
    list.contains(&format!("`{name}`"))
}

/// The sentences about an option, as they are written in a cell.
fn meaning(option: &Setting<Policy>) -> String {
    let sentences = option.docs.iter().map(|docs| docs.trim().trim_end_matches('.'));
    let text = sentences.collect::<Vec<_>>().join(". ");
    text[..1].to_lowercase() + &text[1..]
}

#[test]
fn the_attribute_lists_each_option_as_the_table_has_it() {
    let attribute = page("retry-runtime/src/attribute.md");
    for option in &POLICY {
        let (name, example, default) = (option.name(), option.example, option.default);
        let row = format!("| `{name} = {example}` | {} | {default} |", meaning(option));
        assert!(attribute.contains(&row), "attribute.md has no row\n{row}");
    }
}

#[test]
fn the_policy_lists_each_option_with_its_default() {
    let parts = list("retry-rules/src/policy.rs", "/// | part | default |");
    for option in &POLICY {
        let name = option.name();
        let row = parts.lines().find(|line| line.contains(&format!("[`{name}`](Self::{name})")));
        let row = row.unwrap_or_else(|| panic!("policy.rs does not list `{name}`"));
        let default = option.default.trim_matches('`');
        assert!(row.contains(&format!(" | {default}")), "the default of `{name}`: {row}");
    }
}

#[test]
fn a_quota_lists_each_setting_with_its_default() {
    let settings = list("retry-rules/src/quota.rs", "/// | setting | default |");
    for setting in &QUOTA {
        let (name, default) = (setting.name(), setting.default);
        let start = format!("/// | [`{name}`](Self::{name}): ");
        let row = settings.lines().find(|line| line.starts_with(&start));
        let row = row.unwrap_or_else(|| panic!("quota.rs does not list `{name}`"));
        assert!(row.ends_with(&format!(" | {default} |")), "the default of `{name}`: {row}");
    }
}

#[test]
fn no_list_of_options_lacks_one() {
    type Is = fn(&Setting<Policy>) -> bool;
    let is_time: Is = |option| matches!(option.kind, Kind::Time(_));
    let is_limit: Is = |option| matches!(option.kind, Kind::Bound(_) | Kind::Hedge(_));
    let is_compiled: Is = |option| !option.needs.is_empty();
    for (path, start, belongs) in [
        ("retry-runtime/src/guide/files.md", "| `RetryConfig` |", None),
        (PAGE, "| `attempts`, or `max_attempts` |", None),
        ("retry-runtime/src/attribute.md", "| `initial_delay`, `first_delay`,", Some(is_time)),
        ("retry-runtime/src/attribute.md", "| `max_delay`, `budget`,", Some(is_limit)),
        ("retry-runtime/src/attribute.md", "Options that are not named there", Some(is_compiled)),
        ("retry-runtime/src/guide/overrides.md", "- `timeout`, `deadline`,", Some(is_compiled)),
    ] {
        let list = list(path, start);
        for option in POLICY.iter().filter(|option| belongs.is_none_or(|is| is(option))) {
            // A list of all of them is a list of keys.
            let names = if belongs.is_none() { option.keys } else { &[option.name()] };
            for key in names {
                assert!(is_named(&list, key), "{path} does not list `{key}` after `{start}`");
            }
        }
    }
}

#[test]
fn the_keys_of_the_workflow_style_are_listed() {
    let text = r#"{ "retry_config": { "x": 1 } }"#;
    let error = serde_json::from_str::<ErrorPolicy>(text).unwrap_err().to_string();
    let keys: Vec<_> = error.split('`').skip(1).step_by(2).filter(|key| *key != "x").collect();
    assert!(keys.contains(&"max_attempts") && !keys.contains(&"attempts"), "{error}");
    let list = list(PAGE, "The `retry_config` of an [`error_policy`]");
    // No server asks for the waits there.
    for key in keys.into_iter().filter(|key| *key != "max_retry_after") {
        assert!(is_named(&list, key), "{PAGE} does not list `{key}` in `error_policy`");
    }
}
