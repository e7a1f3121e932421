//! The keys of each map of a workflow file, with the forms and descriptions of their values.

use retry_runtime::Class;
use serde_json::{Value, json};

use super::form::{
    bound, each, key, keys, named, needing, object, one_or_more, reference, whole, with, words,
    yes_or_no,
};
use crate::file::input::read::Format;
use crate::steps::step::CaptureFormat;

/// The modes, and the keys that only they have.
pub(super) const MODES: [(&str, &[&str]); 3] = [
    ("standard", &["commands"]),
    ("mapreduce", &["map", "setup", "reduce", "error_policy", "handlers"]),
    ("graph", &["tasks"]),
];
keys! { TOP, file_key {
    "name" => named("text", "The name of its jobs: import-1, import-2, … [default: the file's name]");
    "mode" => words(
        MODES.map(|(mode, _)| mode), "The kind of workflow [default: from the other keys]");
    "agent" => key(&object(AGENT, agent_key),
        "The program that receives the prompts of `claude` steps [default: claude -p]");
    "env" => key(&variables(), "Variables of all commands");
    "env_files" => named("texts", "Files with variables: lines of NAME=value");
    "secrets" => key(&secrets(), "Variables whose values are masked wherever they are shown or \
        stored, also URL-encoded and JSON-escaped");
    "commands" => named("steps", "mode standard: steps, one after another");
    "setup" => named("steps", "mode mapreduce: steps that run once, before the items");
    "map" => named("map", "mode mapreduce: the steps for each item");
    "reduce" => named("steps", "mode mapreduce: steps that run once, when the items have ended");
    "tasks" => key(&each("task"), "mode graph: steps by name, each after the ones it depends on");
    "error_policy" => named("error_policy", "The action for items that fail");
    "handlers" => key(
        &each("steps"), "Steps by name that decide on an item that has failed");
    "on_finish" => named("steps", "Steps that run once the job has ended or stopped");
    "not_before" => named("text",
        "No item begins before: a time after the job's creation, or a fixed one");
    "skip_after" => named("text", "Items that have not begun by then are skipped");
    "max_lost" => key(
        &json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "unlimited" }] }),
        "The number of workers that may die in a row while they run an item alone [default: 3]");
} }

keys! { STEP, step_key {
    "name" => named("text", "Its name in histories and reports");
    "exec" => key(&json!({ "type": "array", "minItems": 1, "items": { "type": "string" } }),
        "A program and its arguments, run without a shell");
    "shell" => named("text", "A command for sh");
    "claude" => named("text", "A prompt for the agent");
    "when" => key(&json!({ "type": ["string", "boolean"] }),
        "A condition: the step is skipped unless it holds [default: always]");
    "env" => named("variables", "Variables of this step; values may contain placeholders");
    "working_dir" => named("text",
        "A folder, relative to that of the file [default: that folder]");
    "timeout" => named("timeout", "Bounds one run of the command: a duration, or seconds");
    "max_retry_after" => key(&bound("duration"),
        "If the command writes a longer wait to the file $RETRY_WORKFLOW_RETRY_AFTER, because a \
            server asks for it, the retries of the step end [default: 1h]");
    "max_postponed" => key(&bound("duration"), "The time for which an item may be postponed in a run, because \
        this step exits with 75 and writes a wait to $RETRY_WORKFLOW_RETRY_AFTER [default: 24h]");
    "retry_config" => named("retry_config",
        "Its retry policy [default: one attempt; of a task: as its max_retries allows]");
    "capture" => capture_name();
    "capture_output" => capture_name();
    "capture_format" => words(CaptureFormat::NAMES.map(|(name, _)| name),
        "The type of the captured output [default: string]");
    "on_failure" => key(&on_failure(), "The action after its last attempt [default: stop]");
    "on_success" => key(&json!({ "anyOf": [reference("text"), reference("steps")] }),
        "A command or steps to run after it has succeeded");
} }

/// The keys of a step that may change once it has finished: its name, its retries and time limits,
/// and what follows its failure.
pub(super) const BESIDE: &[&str] =
    &["name", "retry_config", "timeout", "max_retry_after", "max_postponed", "on_failure"];

keys! {
/// The keys of a task that a step does not have.
TASK, task_key {
    "depends_on" => key(&json!({ "anyOf": [
            reference("text"), { "type": "array", "items": { "type": "string" } },
        ] }), "Tasks that must succeed first");
    "max_retries" => whole(0,
        "Retries after the first call, of a task without retry_config [default: 3]");
    "retry_delay" => key(&seconds(), "The first wait, in seconds [default: 1.0]");
    "max_retry_delay" => key(&seconds(), "The longest wait, in seconds [default: 300.0]");
} }

keys! {
/// The keys of a repair that a step does not have.
REPAIR, repair_key {
    "max_attempts" => whole(1, "The number of times that the repair may run [default: 1]");
    "fail_workflow" => yes_or_no("Fail the step if the repair did not help [default: true]");
} }

keys! { MAP, map_key {
    "input" => key(&input(), "The source of the items: a file, a command, or - for stdin");
    "json_path" => named("text",
        "The parts of a JSON document that are the items [default: $[*]]");
    "filter" => named("text", "A condition over the item's fields");
    "distinct" => named("text",
        "A field: of the items with the same value in it, only the first is used");
    "sort_by" => named("texts", "Fields, each ASC or DESC");
    "offset" => whole(0, "The number of items to skip at the beginning [default: 0]");
    "max_items" => whole(1, "The largest number of items to use [default: all]");
    "item_id" => named("text",
        "The id of an item [default: its field id, or else by its content]");
    "priority" => named("text", "The priority of an item, from -9 to 9, such as ${item.priority}: \
        the higher, the sooner [default: 0]");
    "agent_template" => named("steps", "The steps for each item");
    "max_parallel" => whole(1,
        "The number of items that run at the same time in each process [default: 10]");
    "slow_down_on" => key(
        &one_or_more(&json!([{ "enum": Class::NAMES.map(|(_, name)| name) }])),
        "Classes of failures for which fewer items run at the same time [default: none]");
    "rate" => key(&one_or_more(&json!([rate(), rate_limit()])),
        "The number of items that start per unit of time, of all or of those that share a key, or \
        the sum of their costs");
    "concurrency" => key(
        &one_or_more(&json!([needing(LIMIT, LIMIT, limit_key)])),
        "The number of items that share a key and run at the same time");
    "agent_timeout_secs" => named("timeout",
        "The time that all steps of an item together may take");
    "timeout_config" => key(&object(TIMEOUT_CONFIG, map_key), "The same as agent_timeout_secs");
} }

pub(super) const TIMEOUT_CONFIG: &[&str] = &["agent_timeout_secs"];

keys! { AGENT, agent_key {
    "program" => named("text", "A program on the PATH");
    "args" => key(&json!({ "type": "array", "items": { "type": "string" } }),
        "Its arguments; the prompt comes after them");
} }

keys! { INPUT, input_key {
    "file" => named("text", "A file, relative to the folder of the workflow file; - for stdin");
    "command" => named("text", "A command for sh, whose stdout is the input");
    "format" => words(Format::NAMES.map(|(name, _)| name), "The format of the input");
} }

keys! {
/// The keys of a limit for items that share a key.
LIMIT, limit_key {
    "per" => named("text", "The key, such as ${item.host}");
    "limit" => key(&json!({ "type": "integer", "minimum": 1 }), LIMIT_TEXT);
} }

keys! {
/// The keys of a rate with a key or with costs.
RATE, rate_key {
    "per" => named("text", "The key, such as ${item.host} [default: all items]");
    "cost" => named("text", "The cost of an item, such as ${item.tokens}: a whole number from 1 \
        [default: 1]");
    "limit" => key(&rate(), LIMIT_TEXT);
} }

keys! {
/// The keys of a variable in the file's `env`, unless its value is written alone.
VARIABLE, variable_key {
    "value" => key(&json!({ "type": ["string", "number", "boolean"] }), "The value");
    "secret" => yes_or_no("Mask it wherever it is shown or stored [default: false]");
} }

keys! { SECRET, secret_key { "env" => named("text", "A variable of this process"); } }

fn capture_name() -> Value {
    key(
        &json!({ "type": ["string", "boolean"] }),
        "The name of its output for later steps: lowercase letters, digits and _",
    )
}

fn seconds() -> Value {
    json!({ "anyOf": [{ "type": "number", "minimum": 0 }, reference("duration")] })
}

/// A map of variables with these values.
pub(super) fn variables_with(value: &Value) -> Value {
    json!({
        "type": "object",
        "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
        "additionalProperties": value,
    })
}

fn variables() -> Value {
    let with_secret = needing(&["value"], VARIABLE, variable_key);
    let plain = json!({ "type": ["string", "number", "boolean"] });
    variables_with(&json!({ "anyOf": [plain, with_secret] }))
}

fn secrets() -> Value {
    variables_with(&needing(&["env"], SECRET, secret_key))
}

/// A keyword, a fallback, a repair, or steps.
fn on_failure() -> Value {
    let command = json!({
        "type": "object", "required": ["command"], "additionalProperties": false,
        "properties": { "command": named("text", "A command to run instead, once") },
    });
    json!({ "anyOf": [
        { "enum": ["stop", "continue"] },
        { "type": "boolean" },
        reference("text"),
        reference("repair"),
        reference("list"),
        {
            "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
            "properties": {
                "stop": { "type": "null" }, "continue": { "type": "null" }, "fallback": command,
            },
        },
    ] })
}

fn rate() -> Value {
    json!({
        "type": "string",
        "pattern": "^\\s*[0-9]+\\s*/\\s*[smhd]",
        "examples": ["10/s", "600/m", "500/d"],
    })
}

const LIMIT_TEXT: &str = "For all items that have the same key";

fn rate_limit() -> Value {
    let one = ["per", "cost"].map(|key| json!({ "required": [key] }));
    with(needing(&["limit"], RATE, rate_key), &json!({ "anyOf": one }))
}

fn input() -> Value {
    let one = ["file", "command"].map(|key| json!({ "required": [key] }));
    let keys = with(object(INPUT, input_key), &json!({ "oneOf": one }));
    json!({ "anyOf": [reference("text"), keys] })
}
