//! The JSON schema of workflow files, with which editors complete and check them. Its keys come
//! from the reader's own tables. It accepts everything that the reader accepts, and leaves to the
//! reader what a schema cannot express.

use std::iter::once;

use serde_json::{Map, Value, json};

use retry_runtime::file::CURVES;
use retry_runtime::{Class, CommandConfigKeys};
use retry_workflow::job::ErrorPolicyKeys;

use super::exit_codes::EXIT_CODE;
use super::keys::keys_of;
use super::on_failure::REPAIR;
use super::tasks::TASK;
use super::{AFTER, AGENT, INPUT, LIMIT, MAP, MODES, SECRET, STEP, TIMEOUT_CONFIG, TOP, VARIABLE};
use crate::file::input::read::Format;
use crate::steps::step::CaptureFormat;

/// Returns the schema, in the draft that every editor supports.
pub(crate) fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A workflow file of retry-workflow",
        "anyOf": [{ "$ref": "#/definitions/file" }, { "$ref": "#/definitions/list" }],
        "definitions": {
            "file": file(),
            "steps": { "anyOf": [{ "$ref": "#/definitions/step" }, { "$ref": "#/definitions/list" }] },
            "list": {
                "description": "Steps, one after another",
                "type": "array", "minItems": 1, "items": { "$ref": "#/definitions/step" },
            },
            "step": step(object(STEP, step_key)),
            "task": step(object(&[STEP, TASK].concat(), step_key)),
            "repair": step(object(&[STEP, &REPAIR].concat(), step_key)),
            "map": with(object(MAP, map_key), &json!({ "required": ["input", "agent_template"] })),
            "error_policy": object(keys_of::<ErrorPolicyKeys>(&[]), error_policy_key),
            "retry_config": object(keys_of::<CommandConfigKeys>(&[]), retry_key),
            "item_retry_config": object(keys_of::<ErrorPolicyKeys>(&["retry_config"]), retry_key),
            "matchers": matchers(),
            "backoff": backoff(),
            "duration": {
                "anyOf": [
                    { "type": "string", "pattern": "[0-9]", "examples": ["30s", "500ms", "1h30m"] },
                    {
                        "type": "object", "required": ["secs"], "additionalProperties": false,
                        "properties": {
                            "secs": { "type": "integer", "minimum": 0 },
                            "nanos": { "type": "integer", "minimum": 0, "maximum": 999_999_999 },
                        },
                        "patternProperties": { "^x-": true },
                    },
                ],
            },
            "timeout": {
                "anyOf": [
                    { "$ref": "#/definitions/duration" },
                    { "type": "number", "exclusiveMinimum": 0 },
                ],
            },
            "variables": {
                "type": "object",
                "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
                "additionalProperties": { "type": ["string", "number", "boolean"] },
            },
            "text": { "type": "string", "pattern": "\\S" },
            "texts": {
                "anyOf": [
                    { "$ref": "#/definitions/text" },
                    { "type": "array", "items": { "$ref": "#/definitions/text" } },
                ],
            },
        },
    })
}

/// The schema of a key's value, with a description.
fn key(form: &Value, says: &str) -> Value {
    with(form.clone(), &json!({ "description": says }))
}

/// The same for a form that has a name.
fn named(form: &str, says: &str) -> Value {
    key(&json!({ "$ref": format!("#/definitions/{form}") }), says)
}

fn words(names: impl IntoIterator<Item = &'static str>, says: &str) -> Value {
    key(&json!({ "enum": names.into_iter().collect::<Vec<_>>() }), says)
}

fn whole(least: u32, says: &str) -> Value {
    key(&json!({ "type": "integer", "minimum": least }), says)
}

fn yes_or_no(says: &str) -> Value {
    key(&json!({ "type": "boolean" }), says)
}

/// Adds members to a schema.
fn with(mut schema: Value, more: &Value) -> Value {
    if let (Value::Object(schema), Value::Object(more)) = (&mut schema, more) {
        schema.extend(more.clone());
    }
    schema
}

/// A map that has only these keys, and ignored ones.
fn object(keys: &[&'static str], of: fn(&'static str) -> Value) -> Value {
    let properties: Map<_, _> = keys.iter().map(|key| ((*key).to_owned(), of(key))).collect();
    json!({
        "type": "object", "properties": properties, "additionalProperties": false,
        "patternProperties": { "^x-": true },
    })
}

fn file() -> Value {
    let mut rules = Vec::new();
    let mut apart = Map::new();
    for (mode, own) in MODES {
        let foreign = MODES.iter().filter(|(other, _)| *other != mode);
        let foreign = foreign.flat_map(|(_, keys)| keys.iter().copied());
        let none: Map<_, _> = foreign.map(|key| (key.to_owned(), Value::Bool(false))).collect();
        let none = json!({ "properties": none });
        let is_it = json!({ "properties": { "mode": { "const": mode } }, "required": ["mode"] });
        rules.push(json!({ "if": is_it, "then": none }));
        apart.extend(own.iter().map(|key| ((*key).to_owned(), none.clone())));
    }
    let needed = MODES.map(|(_, own)| json!({ "required": own[..1] }));
    let whole = json!({ "anyOf": needed, "dependencies": apart, "allOf": rules });
    with(object(TOP, file_key), &whole)
}

fn file_key(name: &'static str) -> Value {
    match name {
        "name" => {
            named("text", "The name of its jobs: import-1, import-2, … [default: the file's name]")
        }
        "mode" => words(
            MODES.map(|(mode, _)| mode),
            "What kind of workflow this is [default: from the other keys]",
        ),
        "agent" => key(
            &object(AGENT, agent_key),
            "The program that receives the prompts of `claude` steps [default: claude -p]",
        ),
        "env" => key(&variables(), "Variables of all commands"),
        "env_files" => named("texts", "Files with variables: lines of NAME=value"),
        "secrets" => key(
            &secrets(),
            "Variables whose values are masked wherever they are shown or stored, also URL-encoded and JSON-escaped",
        ),
        "commands" => named("steps", "mode standard: steps, one after another"),
        "setup" => named("steps", "mode mapreduce: steps that run once, before the items"),
        "map" => named("map", "mode mapreduce: the steps for each item"),
        "reduce" => {
            named("steps", "mode mapreduce: steps that run once, when the items have ended")
        }
        "tasks" => {
            key(&each("task"), "mode graph: steps by name, each after the ones it depends on")
        }
        "error_policy" => named("error_policy", "What happens to items that fail"),
        "handlers" => {
            key(&each("steps"), "Steps by name that decide what happens to an item that has failed")
        }
        "after" => key(
            &json!({ "anyOf": [
                { "$ref": "#/definitions/text" },
                with(object(AFTER, after_key), &json!({ "required": ["job"] })),
            ] }),
            "Another job that has to succeed first: its id, or the workflow's name",
        ),
        "not_before" => {
            named("text", "No item begins before: a time after the job's creation, or a fixed one")
        }
        "skip_after" => named("text", "Items that have not begun by then are skipped"),
        "on_finish" => named("steps", "Steps that run once the job has ended or stopped"),
        _ => Value::Bool(true),
    }
}

fn after_key(name: &'static str) -> Value {
    match name {
        "job" => named("text", "Its id, or the workflow's name"),
        "newer_than" => named(
            "duration",
            "Only a job that was created at most this long before this one counts",
        ),
        _ => Value::Bool(true),
    }
}

/// A map whose keys are names that the author chooses.
fn each(form: &str) -> Value {
    json!({
        "type": "object",
        "additionalProperties": { "$ref": format!("#/definitions/{form}") },
    })
}

fn agent_key(name: &'static str) -> Value {
    match name {
        "program" => named("text", "A program on the PATH"),
        "args" => key(
            &json!({ "type": "array", "items": { "type": "string" } }),
            "Its arguments; the prompt comes after them",
        ),
        _ => Value::Bool(true),
    }
}

fn variables() -> Value {
    let with_secret = object(VARIABLE, |name| match name {
        "value" => key(&json!({ "type": ["string", "number", "boolean"] }), "The value"),
        "secret" => yes_or_no("Whether it is masked [default: false]"),
        _ => Value::Bool(true),
    });
    let with_secret = with(with_secret, &json!({ "required": ["value"] }));
    let value = json!({ "anyOf": [{ "type": ["string", "number", "boolean"] }, with_secret] });
    json!({
        "type": "object",
        "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
        "additionalProperties": value,
    })
}

fn secrets() -> Value {
    let from = object(SECRET, |name| match name {
        "env" => named("text", "A variable of this process"),
        _ => Value::Bool(true),
    });
    json!({
        "type": "object",
        "propertyNames": { "pattern": "^[A-Za-z_][A-Za-z0-9_]*$" },
        "additionalProperties": with(from, &json!({ "required": ["env"] })),
    })
}

/// A map of a step's keys, of which exactly one says what to run.
fn step(keys: Value) -> Value {
    let one = ["exec", "shell", "claude"].map(|kind| json!({ "required": [kind] }));
    with(keys, &json!({ "oneOf": one }))
}

fn step_key(name: &'static str) -> Value {
    match name {
        "name" => named("text", "Its name in histories and reports"),
        "exec" => key(
            &json!({ "type": "array", "minItems": 1, "items": { "type": "string" } }),
            "A program and its arguments, run without a shell",
        ),
        "shell" => named("text", "A command for sh"),
        "claude" => named("text", "A prompt for the agent"),
        "when" => key(
            &json!({ "type": ["string", "boolean"] }),
            "A condition: the step is skipped unless it holds [default: always]",
        ),
        "env" => named("variables", "Variables of this step; values may contain placeholders"),
        "working_dir" => {
            named("text", "A folder, relative to that of the file [default: that folder]")
        }
        "timeout" => named("timeout", "Bounds one run of the command: a duration, or seconds"),
        "max_retry_after" => key(
            &bound("duration"),
            "If a server asks for a longer wait, the retries of the step end [default: 1h]",
        ),
        "max_postponed" => key(
            &bound("duration"),
            "How long an item may be postponed in a run, because this step exits with 75 and \
             writes a wait [default: 24h]",
        ),
        "retry_config" => named("retry_config", "How it is retried [default: one attempt]"),
        "capture" | "capture_output" => key(
            &json!({ "type": ["string", "boolean"] }),
            "The name of its output for later steps: lowercase letters, digits and _",
        ),
        "capture_format" => words(
            CaptureFormat::NAMES.map(|(name, _)| name),
            "The type of the captured output [default: string]",
        ),
        "on_failure" => key(&on_failure(), "What happens after its last attempt [default: stop]"),
        "on_success" => key(
            &json!({ "anyOf": [
                { "$ref": "#/definitions/text" }, { "$ref": "#/definitions/steps" },
            ] }),
            "A command or steps to run after it has succeeded",
        ),
        "depends_on" => key(
            &json!({ "anyOf": [
                { "$ref": "#/definitions/text" },
                { "type": "array", "items": { "type": "string" } },
            ] }),
            "Tasks that must succeed first",
        ),
        "max_retries" => whole(0, "Retries after the first call [default: 3]"),
        "retry_delay" => key(&seconds(), "The first wait, in seconds [default: 1.0]"),
        "max_retry_delay" => key(&seconds(), "The longest wait, in seconds [default: 300.0]"),
        // Keys of a repair.
        "max_attempts" => whole(1, "How often the repair runs [default: 1]"),
        "fail_workflow" => {
            yes_or_no("Whether the step fails if the repair did not help [default: true]")
        }
        _ => Value::Bool(true),
    }
}

fn seconds() -> Value {
    json!({ "anyOf": [{ "type": "number", "minimum": 0 }, { "$ref": "#/definitions/duration" }] })
}

/// A keyword, a fallback, a repair, or steps.
fn on_failure() -> Value {
    json!({ "anyOf": [
        { "enum": ["stop", "continue"] },
        { "type": "boolean" },
        { "$ref": "#/definitions/text" },
        { "$ref": "#/definitions/repair" },
        { "$ref": "#/definitions/list" },
        end(),
    ] })
}

/// The forms of `on_failure` that contain no steps.
fn end() -> Value {
    let command = json!({
        "type": "object", "required": ["command"], "additionalProperties": false,
        "properties": { "command": named("text", "A command to run instead, once") },
    });
    json!({
        "type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": false,
        "properties": {
            "stop": { "type": "null" }, "continue": { "type": "null" }, "fallback": command,
        },
    })
}

fn map_key(name: &'static str) -> Value {
    match name {
        "input" => key(&input(), "Where items come from: a file, a command, or - for stdin"),
        "json_path" => {
            named("text", "Which parts of a JSON document are the items [default: $[*]]")
        }
        "filter" => named("text", "A condition over the item's fields"),
        "distinct" => {
            named("text", "A field: of the items with the same value in it, only the first is used")
        }
        "sort_by" => named("texts", "Fields, each ASC or DESC"),
        "offset" => whole(0, "How many items to skip at the beginning [default: 0]"),
        "max_items" => whole(1, "How many items to use at most [default: all]"),
        "item_id" => {
            named("text", "The id of an item [default: its field id, or else its position]")
        }
        "priority" => named(
            "text",
            "How urgent an item is, from -9 to 9, such as ${item.priority}: the higher, the sooner [default: 0]",
        ),
        "agent_template" => named("steps", "The steps for each item"),
        "max_parallel" => whole(1, "How many items run at the same time [default: 10]"),
        "rate" => key(
            &one_or_more(&json!([rate(), limit_by_key(&rate())])),
            "How many items start per unit of time, or how many of those that share a key",
        ),
        "concurrency" => key(
            &one_or_more(&json!([limit_by_key(&json!({ "type": "integer", "minimum": 1 }))])),
            "How many items that share a key run at the same time",
        ),
        "agent_timeout_secs" => {
            named("timeout", "The time that all steps of an item together may take")
        }
        "timeout_config" => key(&object(TIMEOUT_CONFIG, map_key), "The same as agent_timeout_secs"),
        _ => Value::Bool(true),
    }
}

fn rate() -> Value {
    json!({ "type": "string", "pattern": "^\\s*[0-9]+\\s*/\\s*[smh]", "examples": ["10/s", "600/m"] })
}

/// A limit for items that share a key.
fn limit_by_key(limit: &Value) -> Value {
    let mut form = object(LIMIT, |_| named("text", "The key, such as ${item.host}"));
    form["properties"]["limit"] = key(limit, "For all items that have the same key");
    with(form, &json!({ "required": LIMIT }))
}

/// One of these forms, or a list of them.
fn one_or_more(forms: &Value) -> Value {
    json!({ "anyOf": [
        { "anyOf": forms },
        { "type": "array", "minItems": 1, "items": { "anyOf": forms } },
    ] })
}

fn input() -> Value {
    let keys = object(INPUT, |name| match name {
        "file" => named("text", "A file, relative to the folder of the workflow file; - for stdin"),
        "command" => named("text", "A command for sh, whose stdout is the input"),
        "format" => words(Format::NAMES.map(|(name, _)| name), "What is in it"),
        _ => Value::Bool(true),
    });
    let one = ["file", "command"].map(|key| json!({ "required": [key] }));
    json!({ "anyOf": [{ "$ref": "#/definitions/text" }, with(keys, &json!({ "oneOf": one }))] })
}

fn retry_key(name: &'static str) -> Value {
    match name {
        "attempts" | "max_attempts" => key(
            &json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "unlimited" }] }),
            "All calls, including the first [default: 3]",
        ),
        "backoff" => named("backoff", "How the waits grow [default: exponential]"),
        "initial_delay" => named("duration", "The first wait [default: 1s]"),
        "max_delay" => key(&bound("duration"), "The longest wait [default: 30s]"),
        "first_delay" => named("duration", "A different first wait"),
        "jitter" => key(
            &json!({ "anyOf": [
                { "type": ["boolean", "number"] },
                { "enum": ["full", "equal", "decorrelated", "proportional", "none"] },
                { "type": "string", "pattern": "^up\\(.*\\)$|\\.\\." },
            ] }),
            "How waits are spread; true is ±30 % [default: none]",
        ),
        "jitter_factor" => {
            key(&json!({ "type": "number" }), "The share of jitter: true [default: 0.3]")
        }
        "retry_budget" | "budget" => key(&bound("duration"), "Bounds the sum of the waits"),
        "deadline" => key(
            &json!({ "not": {} }),
            "is rejected, because waits may outlive the process: use retry_budget, max_elapsed or \
             timeout",
        ),
        "max_retry_after" => {
            key(&json!({ "not": {} }), "is rejected, because it is a key of the step")
        }
        "hedge" | "max_hedges" => {
            key(&json!({ "not": {} }), "is rejected, because a step is worked on once at a time")
        }
        "max_elapsed" => {
            key(&bound("duration"), "No attempt begins later than this after the first failure")
        }
        "timeout" => key(&bound("timeout"), "Bounds one attempt: a duration, or seconds"),
        "retry_on" => named("matchers", "Which failures are retried [default: every one]"),
        "abort_on" => named("matchers", "Which failures are not retried, whatever retry_on says"),
        "on_failure" => key(
            &json!({ "anyOf": [{ "enum": ["stop", "continue"] }, end()] }),
            "What happens after the last attempt [default: stop]",
        ),
        _ => Value::Bool(true),
    }
}

fn matchers() -> Value {
    let words = ["transient", "connect"].into_iter().chain(Class::NAMES.map(|(_, name)| name));
    let items = json!({ "anyOf": [
        { "enum": words.collect::<Vec<_>>() },
        {
            "type": "object", "required": ["pattern"], "additionalProperties": false,
            "properties": { "pattern": named("text", "A regular expression") },
        },
        {
            "type": "object", "required": [EXIT_CODE], "additionalProperties": false,
            "properties": { EXIT_CODE: key(
                &one_or_more(&json!([
                    { "type": "integer", "minimum": 1, "maximum": 255 },
                    { "type": "string", "pattern": "^\\s*[0-9]+\\s*(-\\s*[0-9]+\\s*)?$" },
                ])),
                "Exit codes of the command: 75, 64-78, or a list of them",
            ) },
        },
    ] });
    let covers = ["network", "connect"].map(|word| json!({ "contains": { "const": word } }));
    json!({ "type": "array", "minItems": 1, "items": items, "not": { "allOf": covers } })
}

fn bound(form: &str) -> Value {
    json!({ "anyOf": [{ "$ref": format!("#/definitions/{form}") }, { "const": "unlimited" }] })
}

/// A name, a name with its settings, or settings with the name as their `type`.
fn backoff() -> Value {
    let bare = CURVES.iter().filter(|(_, _, needed)| needed.is_empty());
    let mut forms = vec![json!({ "enum": bare.map(|(curve, ..)| curve).collect::<Vec<_>>() })];
    for (curve, keys, needed) in CURVES {
        let settings = with(object(keys, curve_key), &json!({ "required": needed }));
        let nothing = needed.is_empty().then(|| json!({ "type": "null" }));
        let inside: Vec<_> = once(settings).chain(nothing).collect();
        forms.push(json!({
            "type": "object", "required": [curve], "additionalProperties": false,
            "properties": { curve: { "anyOf": inside } },
        }));
        let needed = [&["type"], needed].concat();
        let mut typed = object(&[&["type"], keys].concat(), curve_key);
        typed["properties"]["type"] = key(&json!({ "const": curve }), "The curve");
        forms.push(with(typed, &json!({ "required": needed })));
    }
    json!({ "anyOf": forms })
}

fn curve_key(name: &'static str) -> Value {
    match name {
        "initial" | "delay" => named("duration", "The first wait"),
        "increment" => named("duration", "How much waits grow by"),
        "base" | "multiplier" => {
            key(&json!({ "type": "number" }), "The factor by which waits grow [default: 2.0]")
        }
        "delays" => key(
            &json!({ "type": "array", "items": { "$ref": "#/definitions/duration" } }),
            "The list of waits",
        ),
        _ => Value::Bool(true),
    }
}

fn error_policy_key(name: &'static str) -> Value {
    match name {
        "on_item_failure" => key(
            &json!({ "anyOf": [
                { "enum": ["dlq", "retry", "skip", "stop"] },
                { "$ref": "#/definitions/text" },
                {
                    "type": "object", "required": ["custom"], "additionalProperties": false,
                    "properties": { "custom": named("text", "The name of a handler") },
                },
            ] }),
            "What happens to an item whose steps have failed for good [default: dlq]",
        ),
        "continue_on_failure" => {
            yes_or_no("false: the first failure stops the job [default: true]")
        }
        "max_failures" => whole(0, "The number of failed items at which the job stops"),
        "failure_threshold" => key(
            &json!({ "type": "number" }),
            "The job stops when more than this share of the ended items failed",
        ),
        "minimum_items" => {
            whole(0, "How many items must have ended before failure_threshold counts [default: 10]")
        }
        "error_collection" => key(
            &json!({ "anyOf": [
                { "enum": ["aggregate", "immediate"] },
                { "type": "string", "pattern": "^batched: *[0-9]+ *$" },
                {
                    "type": "object", "required": ["batched"], "additionalProperties": false,
                    "properties": { "batched": {
                        "type": "object", "required": ["size"], "additionalProperties": false,
                        "properties": { "size": whole(1, "How many failures to report together") },
                    } },
                },
            ] }),
            "When failures are reported [default: aggregate]",
        ),
        "circuit_breaker" => {
            let keys = keys_of::<ErrorPolicyKeys>(&["circuit_breaker"]);
            key(&object(keys, breaker_key), "While it is open, no item starts")
        }
        "retry_config" => {
            named("item_retry_config", "How `retry` re-queues items [default: 3 attempts]")
        }
        _ => Value::Bool(true),
    }
}

fn breaker_key(name: &'static str) -> Value {
    match name {
        "failure_threshold" => whole(1, "Failures in a row that open it [default: 5]"),
        "success_threshold" => whole(1, "Successful probes that close it [default: 3]"),
        "timeout" => {
            named("timeout", "How long it stays open: a duration, or seconds [default: 30s]")
        }
        "half_open_requests" => {
            whole(1, "How many items may probe at the same time after that [default: 3]")
        }
        "hold" => named(
            "timeout",
            "Starts no item for as long as a server asks one of them to wait, and at most for this: a \
             duration, or seconds [default: off]",
        ),
        "on_open" => words(["wait", "stop"], "stop ends the job instead [default: wait]"),
        _ => Value::Bool(true),
    }
}
