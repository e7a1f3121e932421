//! The JSON schema of workflow files, with which editors complete and check them. Its keys come
//! from the reader's own tables. It accepts everything that the reader accepts, and leaves to the
//! reader what a schema cannot express.

use std::iter::once;

use retry_rules::matchers::{CLASSES, covers};
use retry_rules::options::{Kind, POLICY, Setting};
use retry_runtime::file::CURVES;
use retry_runtime::{Class, Policy};
use retry_workflow::job::ErrorPolicyKeys;
use serde_json::{Map, Value, json};

use super::exit_codes::EXIT_CODE;
use super::form::{
    bound, key, named, needing, number, object, one_or_more, reference, whole, with, words,
    yes_or_no,
};
use super::keys::{
    MAP, MODES, REPAIR, STEP, TASK, TOP, file_key, map_key, repair_key, step_key, task_key,
    variables_with,
};
use super::steps::{REJECTED, retry_keys};

/// Returns the schema, in the draft that every editor supports.
pub(crate) fn schema() -> Value {
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A workflow file of retry-workflow",
        "anyOf": [reference("file"), reference("list")],
        "definitions": {
            "file": file(),
            "steps": { "anyOf": [reference("step"), reference("list")] },
            "list": {
                "description": "Steps, one after another",
                "type": "array", "minItems": 1, "items": reference("step"),
            },
            "step": step(&json!({})),
            "task": step(&object(TASK, task_key)),
            "repair": step(&object(REPAIR, repair_key)),
            "map": needing(&["input", "agent_template"], MAP, map_key),
            "error_policy": object(ErrorPolicyKeys::below(""), error_policy_key),
            "retry_config": object(&retry_keys(), retry_key),
            "item_retry_config": object(ErrorPolicyKeys::below("retry_config"), retry_key),
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
                "anyOf": [reference("duration"), { "type": "number", "exclusiveMinimum": 0 }],
            },
            "variables": variables_with(&json!({ "type": ["string", "number", "boolean"] })),
            "text": { "type": "string", "pattern": "\\S" },
            "texts": {
                "anyOf": [reference("text"), { "type": "array", "items": reference("text") }],
            },
        },
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

/// A map of a step's keys and `more`, of which exactly one says what to run.
fn step(more: &Value) -> Value {
    let one = ["exec", "shell", "claude"].map(|kind| json!({ "required": [kind] }));
    let mut form = with(object(STEP, step_key), &json!({ "oneOf": one }));
    if let (Some(keys), Some(more)) =
        (form["properties"].as_object_mut(), more["properties"].as_object())
    {
        keys.extend(more.clone());
    }
    form
}

fn retry_key(name: &'static str) -> Value {
    if let Some((_, why)) = REJECTED.iter().find(|(keys, _)| keys.contains(&name)) {
        return key(&json!({ "not": {} }), why);
    }
    match name {
        "jitter_factor" => number("The share of jitter: true [default: 0.3]"),
        "max_elapsed" => {
            key(&bound("duration"), "No attempt begins later than this after the first failure")
        }
        "timeout" => key(&bound("timeout"), "Bounds one attempt: a duration, or seconds"),
        "retry_on" => named("matchers", "Which failures are retried [default: every one]"),
        "abort_on" => named("matchers", "Which failures are not retried, whatever retry_on says"),
        "uncounted" => key(
            &json!({ "allOf": [reference("matchers")], "items": { "type": "string" } }),
            "Kinds of failure that use up no attempt: they postpone the item [default: none]",
        ),
        "on_failure" => step_key("on_failure"),
        _ => {
            let option = POLICY.iter().find(|option| option.keys.contains(&name));
            option.map_or(Value::Bool(true), policy_option)
        }
    }
}

/// The schema of an option that means the same in all files.
fn policy_option(option: &Setting<Policy>) -> Value {
    let says = option.to_string();
    match option.kind {
        Kind::Attempts(_) => key(
            &json!({ "anyOf": [{ "type": "integer", "minimum": 1 }, { "const": "unlimited" }] }),
            &says,
        ),
        Kind::Backoff(_) => named("backoff", &says),
        Kind::Jitter(_) => key(
            &json!({ "anyOf": [
                { "type": ["boolean", "number"] },
                { "enum": ["full", "equal", "decorrelated", "proportional", "none"] },
                { "type": "string", "pattern": "^up\\(.*\\)$|\\.\\." },
            ] }),
            &format!("{says}; true is ±30 %"),
        ),
        Kind::Time(_) => named("duration", &says),
        _ => key(&bound("duration"), &says),
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
    let covered = ["transient", "network"].map(|outer| {
        let inner: Vec<_> = CLASSES.into_iter().filter(|inner| covers(outer, inner)).collect();
        json!({ "allOf": [{ "contains": { "const": outer } }, { "contains": { "enum": inner } }] })
    });
    json!({ "type": "array", "minItems": 1, "items": items, "not": { "anyOf": covered } })
}

/// A name, a name with its settings, or settings with the name as their `type`.
fn backoff() -> Value {
    let bare = CURVES.iter().filter(|(_, _, needed)| needed.is_empty());
    let bare = bare.map(|(curve, ..)| curve).collect::<Vec<_>>();
    let in_parentheses = json!({ "type": "string", "pattern": "\\(.*\\)\\s*$" });
    let mut forms = vec![json!({ "anyOf": [{ "enum": bare }, in_parentheses] })];
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
        "base" | "multiplier" => number("The factor by which waits grow [default: 2.0]"),
        "delays" => {
            key(&json!({ "type": "array", "items": reference("duration") }), "The list of waits")
        }
        _ => Value::Bool(true),
    }
}

fn error_policy_key(name: &'static str) -> Value {
    match name {
        "on_item_failure" => key(
            &json!({ "anyOf": [
                { "enum": ["dlq", "retry", "skip", "stop"] },
                reference("text"),
                {
                    "type": "object", "required": ["custom"], "additionalProperties": false,
                    "properties": { "custom": named("text", "The name of a handler") },
                },
            ] }),
            "The decision on an item whose steps have failed permanently [default: dlq]",
        ),
        "continue_on_failure" => {
            yes_or_no("false: the first failure stops the job [default: true]")
        }
        "max_failures" => whole(0, "The number of failed items at which the job stops"),
        "failure_threshold" => {
            number("The job stops when more than this share of the ended items failed")
        }
        "minimum_items" => whole(
            0,
            "The number of items that must have ended before failure_threshold counts [default: 10]",
        ),
        "error_collection" => key(
            &json!({ "anyOf": [
                { "enum": ["aggregate", "immediate"] },
                { "type": "string", "pattern": "^batched: *[0-9]+ *$" },
                {
                    "type": "object", "required": ["batched"], "additionalProperties": false,
                    "properties": { "batched": {
                        "type": "object", "required": ["size"], "additionalProperties": false,
                        "properties": { "size": whole(1, "The number of failures that are reported together") },
                    } },
                },
            ] }),
            "The time at which failures are reported [default: aggregate]",
        ),
        "circuit_breaker" => {
            let keys = ErrorPolicyKeys::below("circuit_breaker");
            key(&object(keys, breaker_key), "While it is open, no item starts")
        }
        "retry_config" => named(
            "item_retry_config",
            "The policy with which `retry` re-queues items [default: 3 attempts]",
        ),
        _ => Value::Bool(true),
    }
}

fn breaker_key(name: &'static str) -> Value {
    match name {
        "failure_threshold" => whole(1, "Failures in a row that open it [default: 5]"),
        "success_threshold" => whole(1, "Successful probes that close it [default: 3]"),
        "timeout" => named(
            "timeout",
            "The time for which it stays open: a duration, or seconds [default: 30s]",
        ),
        "half_open_requests" => {
            whole(1, "The number of items that may probe at the same time after that [default: 3]")
        }
        "hold" => named(
            "duration",
            "Starts no item for as long as a server asks one of them to wait, and at most for this \
             [default: off]",
        ),
        "on_open" => words(["wait", "stop"], "stop ends the job instead [default: wait]"),
        _ => Value::Bool(true),
    }
}
