//! Keys of other tools and libraries. None of them is accepted; an error about one names the key to
//! write.

use retry_rules::foreign_names::{BACKOFF, BREAKER, ForeignName, RETRY, cures, in_file};
use retry_rules::suggest::nearest;

/// Keys of workflows in GitHub Actions, GitLab, Ansible, make, GNU parallel, Argo and Airflow.
///
/// Some mean one thing in a step and another one in a map, so a name may stand in several rows.
const WORKFLOW: &[ForeignName] = &[
    // Of a step.
    ("run command cmd script bash sh bashcommand", "shell"),
    ("needs dependencies after requires upstream", "depends_on"),
    ("if onlyif condition", "when"),
    ("continueonerror allowfailure ignoreerrors ignorefailure", "on_failure = continue"),
    ("cwd dir chdir workdir directory", "working_dir"),
    ("variables vars environ environment", "env"),
    ("register output outputs saveas", "capture"),
    ("timeoutminutes", "timeout = 5m"),
    ("executiontimeout timeoutseconds timelimit activedeadlineseconds", "timeout"),
    ("retrystrategy retrypolicy retryoptions", "retry_config"),
    ("catch rescue onfailurecallback fallback", "on_failure"),
    ("label title", "name"),
    (
        "exitcode exitcodes retryexitcodes retryonexitcode retryonexitcodes",
        "retry_on = [{ exit_code: … }]",
    ),
    // Of a limit.
    ("by key field each group groupby partition", "per"),
    ("rate max most count concurrency", "limit"),
    ("weight weights tokens price units", "cost"),
    // Of an input.
    ("path filename", "file"),
    // Of a map.
    ("items source data loop matrix list over inputs", "input"),
    ("itemspath itempath", "json_path"),
    ("ratelimit throttle rps qps", "rate"),
    ("steps commands do template tasks run shell command script", "agent_template"),
    ("parallelism parallel jobs workers maxconcurrency maxworkers forks threads", "max_parallel"),
    ("limit take first", "max_items"),
    ("skip", "offset"),
    ("key id idfield", "item_id"),
    ("where", "filter"),
    ("orderby sort", "sort_by"),
    ("unique uniqueby", "distinct"),
    ("priorityweight weight urgency rank nice", "priority"),
    // Of a file.
    ("steps jobs script run stages do", "commands"),
    ("envfile dotenv", "env_files"),
    ("onerror errors errorhandling", "error_policy"),
    ("foreach mapreduce items", "map"),
    ("finally always teardown cleanup onexit", "on_finish"),
    // Of an error policy.
    ("onfailure onitemerror", "on_item_failure"),
    ("deadletterqueue deadletter dlq", "on_item_failure = dlq"),
    ("toleratedfailurepercentage failurerate errorrate", "failure_threshold = 0.1"),
];

/// Keys of other tools that have no counterpart, and what takes their place.
const ADVICE: &[ForeignName] = &[
    ("needs dependson", "orders `tasks`, which have `depends_on`; steps run one after another"),
    ("commitrequired merge", "belongs to tools that run steps in git worktrees"),
    ("validate analyze goalseek", "lets a model judge, but here only the exit status counts"),
    ("writefile", "writes a file in other tools; here, a `shell` step does that"),
    ("foreach param strategy matrix", "is a loop; here, `map` runs steps for each item of a file"),
    ("parallel", "is not for steps; `tasks` and the items of a `map` run at the same time"),
    ("sleep pause", "is a step of its own here, such as `shell: sleep 5`"),
    ("batchsize itembatcher", "has no meaning here, as each item has its own steps"),
    ("uses runson container image", "has no meaning here: a step is a command of this machine"),
    ("apiversion kind metadata spec", "is not needed: a file has `commands`, `map` or `tasks`"),
    ("backofflimit restartpolicy defaultargs", "is the `retry_config` of each step here"),
    ("triggerrule", "has no meaning here; `on_finish` of the file runs after failures, too"),
    ("retryexponentialbackoff", "is not needed, as the waits of a task double"),
    ("args arguments", "is part of the list of `exec` here, after the program"),
    ("failureratethreshold", "is `failure_threshold` of `error_policy` here"),
    (
        "after",
        "is not a key of a file: let a shell run the other job first, as in `retry-workflow run \
         import.yml --job-id import-$NIGHT --continue --if-running wait --if-ended report && \
         retry-workflow run export.yml`, or write both as `tasks` of one file",
    ),
    (
        "schedule scheduleinterval cron on every interval timer calendar trigger",
        "says in other tools when a job starts, but this command does not schedule jobs: start \
         `retry-workflow run` by cron or a systemd timer, as \
         https://docs.rs/retry-workflow-cli/latest/retry_workflow_cli/guide/schedule/ shows",
    ),
];

/// Returns what takes the place of a key of another tool, in a map that may have the `known` ones.
pub(crate) fn advice(key: &str, known: &[&str]) -> Option<String> {
    cures(key, "", ADVICE).next().filter(|_| key_of_others(key, "", known).is_none())
}

/// Returns what to write for a key that is called `key` in another tool or library and has the
/// value `written` there, if it is one of the `known` keys.
pub(crate) fn key_of_others(key: &str, written: &str, known: &[&str]) -> Option<String> {
    if SETTINGS.contains(&key) && known.contains(&"retry_config") && !known.contains(&key) {
        let value = if written.is_empty() { "…" } else { written };
        return Some(format!("retry_config: {{ {key}: {value} }}"));
    }
    let cures = |table| cures(key, written, table).map(|cure| in_file(&cure));
    // A word that is common to both means what it means in the tool: `when` is also a predicate.
    let of_tools = cures(BACKOFF).chain(cures(WORKFLOW)).find(|cure| known.contains(&name(cure)));
    // Names such as `retry_delay` resemble the key of the map that has the setting.
    let is_misspelt =
        || nearest(key, known.iter().copied()).is_some_and(|near| near != "retry_config");
    of_tools.or_else(|| {
        // The names of retries, and of a step with retries.
        cures(RETRY).chain(cures(BREAKER)).find_map(|cure| {
            if known.contains(&name(&cure)) {
                return Some(cure);
            }
            let is_in_config = known.contains(&"retry_config")
                && SETTINGS.contains(&name(&cure))
                && !is_misspelt();
            let value = if cure.contains(':') { "" } else { ": …" };
            is_in_config.then(|| format!("retry_config: {{ {cure}{value} }}"))
        })
    })
}

/// The key of a cure.
pub(crate) fn name(cure: &str) -> &str {
    cure.split(':').next().unwrap_or_default()
}

/// The settings of how a step is retried.
const SETTINGS: [&str; 5] = ["attempts", "backoff", "initial_delay", "max_delay", "jitter"];

#[cfg(test)]
mod tests {
    use retry_rules::foreign_names::plain;

    use super::*;

    #[test]
    fn keys_of_other_tools_are_known_with_what_is_written_here() {
        for (names, _) in WORKFLOW {
            assert!(names.split(' ').all(|name| name == plain(name)), "{names}");
        }
        let here = key_of_others("retry_wait_seconds", "5", &["retry_config", "shell"]);
        assert_eq!(here.as_deref(), Some("retry_config: { initial_delay: … }"));
        let here = key_of_others("max", "3", &["attempts", "max_delay"]);
        assert_eq!(here.as_deref(), Some("attempts"));
        let here = key_of_others("exit_codes", "[75]", &["retry_on"]);
        assert_eq!(here.as_deref(), Some("retry_on: [{ exit_code: … }]"));
    }
}
