//! The names of workflow keys in other tools: GitHub Actions, GitLab, Ansible, make, GNU parallel,
//! Argo and Airflow. None of these names is accepted; an error about one names the key to write.

use retry_rules::foreign_names::{BREAKER, ForeignName, Is, Place, RETRY, instead};
use retry_rules::suggest::nearest;

const fn row(names: &'static [&'static str], here: &'static [(&'static str, Is)]) -> ForeignName {
    ForeignName { names, here }
}

/// The same value, or `…` for one that has several lines.
const SAME: Is = Is::Same("…");

/// Keys of a step. Some mean something else in a map, so each place has a table of its own.
const OF_STEPS: &[ForeignName] = &[
    row(&["run", "command", "cmd", "script", "bash", "sh"], &[("shell", Is::Text("…"))]),
    row(&["needs", "dependencies", "after", "requires"], &[("depends_on", SAME)]),
    row(&["if", "onlyif", "condition"], &[("when", Is::Text("…"))]),
    row(
        &["continueonerror", "allowfailure", "ignoreerrors", "ignorefailure"],
        &[("on_failure", Is::Text("continue"))],
    ),
    row(&["cwd", "dir", "chdir", "workdir", "directory"], &[("working_dir", SAME)]),
    row(&["variables", "vars", "environ"], &[("env", SAME)]),
    row(&["register", "output", "outputs", "saveas"], &[("capture", SAME)]),
    row(&["timeoutminutes"], &[("timeout", Is::Time { unit: "m", example: "5m" })]),
    row(&["label", "title"], &[("name", SAME)]),
    row(
        &["exitcode", "exitcodes", "retryexitcodes", "retryonexitcode", "retryonexitcodes"],
        &[("retry_on", Is::Text("[{ exit_code: … }]"))],
    ),
];

const OF_MAP: &[ForeignName] = &[
    row(
        &["items", "source", "data", "withitems", "loop", "matrix", "list", "over", "inputs"],
        &[("input", SAME)],
    ),
    row(
        &["steps", "commands", "do", "template", "tasks", "run", "shell", "command", "script"],
        &[("agent_template", Is::Text("[ … ]"))],
    ),
    row(
        &[
            "parallelism",
            "parallel",
            "jobs",
            "workers",
            "maxconcurrency",
            "maxworkers",
            "forks",
            "threads",
        ],
        &[("max_parallel", Is::Same("10"))],
    ),
    row(&["limit", "take", "first"], &[("max_items", Is::Same("100"))]),
    row(&["skip"], &[("offset", Is::Same("10"))]),
    row(&["key", "id", "idfield"], &[("item_id", SAME)]),
    row(&["where"], &[("filter", Is::Text("…"))]),
    row(&["orderby", "sort"], &[("sort_by", SAME)]),
    row(&["unique", "uniqueby"], &[("distinct", SAME)]),
    row(&["priorityweight", "weight", "urgency", "rank", "nice"], &[("priority", SAME)]),
];

const OF_LIMITS: &[ForeignName] = &[
    row(&["by", "key", "field", "each", "group", "groupby", "partition"], &[("per", SAME)]),
    row(&["rate", "max", "most", "count", "concurrency"], &[("limit", SAME)]),
];

const OF_FILE: &[ForeignName] = &[
    row(&["steps", "jobs", "script", "run", "stages", "do"], &[("commands", Is::Text("[ … ]"))]),
    row(&["environment", "variables", "vars"], &[("env", SAME)]),
    row(&["envfile", "dotenv"], &[("env_files", Is::Text("[ … ]"))]),
    row(&["onerror", "errors", "errorhandling"], &[("error_policy", Is::Text("{ … }"))]),
    row(&["foreach", "mapreduce", "items"], &[("map", Is::Text("{ … }"))]),
];

const OF_CURVES: &[ForeignName] = &[
    row(&["factor", "exponentialbase", "ratio", "growth"], &[("base", Is::Same("2.0"))]),
    row(&["step", "by", "add"], &[("increment", Is::Time { unit: "s", example: "1s" })]),
    row(&["start", "min", "first"], &[("initial", Is::Time { unit: "s", example: "1s" })]),
    row(&["list", "waits", "values"], &[("delays", Is::Text("[ … ]"))]),
];

/// Returns the key that is called `key` in another tool or library, as it is to be written with
/// the value `written` there, if it is one of the `known` keys.
pub(crate) fn key_of_others(key: &str, written: &str, known: &[&str]) -> Option<String> {
    let is_known =
        |instead: &str| instead.split(':').next().is_some_and(|name| known.contains(&name));
    // The names of retries, and of a step with retries.
    let of_library = [RETRY, BREAKER]
        .into_iter()
        .filter_map(|table| instead(key, written, table, Place::File))
        .find_map(|instead| {
            let in_config = || format!("retry_config: {{ {instead} }}");
            let is_setting = known.contains(&"retry_config")
                && is_setting(&instead)
                && nearest(key, known.iter().copied()).is_none();
            is_known(&instead).then(|| instead.clone()).or_else(|| is_setting.then(in_config))
        });
    let of_tools = || {
        [OF_CURVES, OF_STEPS, OF_LIMITS, OF_MAP, OF_FILE]
            .into_iter()
            .filter_map(|table| instead(key, written, table, Place::File))
            .find(|instead| is_known(instead))
    };
    // A word that is common to both means what it means in the tool: `when` is also a predicate.
    of_tools().or(of_library)
}

/// Returns whether this is a setting of how a step is retried.
fn is_setting(instead: &str) -> bool {
    ["attempts", "backoff", "initial_delay", "max_delay", "jitter"]
        .iter()
        .any(|setting| instead.split(':').next() == Some(setting))
}
