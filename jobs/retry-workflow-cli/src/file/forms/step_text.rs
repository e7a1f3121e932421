//! The text of a step, by which it is recognised after its file has been edited.

use std::fmt::Write as _;

use super::keys::{BESIDE, REPAIR, TASK};
use crate::steps::step::StepText;
use crate::yaml::node::{Node, Value};
use retry_workflow::Signature;

/// Returns the hashes of a step.
pub(super) fn step_text(node: &Node) -> StepText {
    let mut command = String::new();
    write_step(node, &mut command);
    let mut whole = command.clone();
    if let Some(then) = node.get("on_success") {
        write_steps(then, &mut whole);
    }
    let mut source = String::new();
    write_value(node, &mut source);
    let hash = |text: String| Signature::from(text).id();
    StepText { command: hash(command), whole: hash(whole), source: hash(source) }
}

/// Writes what a step runs, without the steps that follow it.
fn write_step(node: &Node, text: &mut String) {
    match &node.value {
        Value::Map(_) => {
            let is_beside = |key: &str| {
                key == "on_success" || [BESIDE, REPAIR, TASK].iter().any(|keys| keys.contains(&key))
            };
            write_entries(node, is_beside, text);
        }
        _ => write_value(node, text),
    }
}

/// Writes a command, a step or a list of steps, each with the steps that follow its success.
fn write_steps(node: &Node, text: &mut String) {
    for step in node.each() {
        write_step(step, text);
        if let Some(then) = step.get("on_success") {
            text.push('>');
            write_steps(then, text);
        }
        text.push(';');
    }
}

fn write_entries(node: &Node, is_left_out: impl Fn(&str) -> bool, text: &mut String) {
    let Value::Map(entries) = &node.value else { return };
    let mut entries: Vec<_> = entries
        .iter()
        .filter(|(key, _)| !key.is_ignored() && !is_left_out(&key.name))
        .map(|(key, value)| (&key.name, value))
        .collect();
    entries.sort_by_key(|(name, _)| *name);
    text.push('{');
    for (name, value) in entries {
        let _infallible = write!(text, "{name:?}:");
        write_value(value, text);
        text.push(',');
    }
    text.push('}');
}

fn write_value(node: &Node, text: &mut String) {
    match &node.value {
        Value::Map(_) => write_entries(node, |_| false, text),
        Value::List(list) => {
            text.push('[');
            for value in list {
                write_value(value, text);
                text.push(',');
            }
            text.push(']');
        }
        _ => {
            let _infallible = write!(text, "{:?}", node.scalar().unwrap_or_default());
        }
    }
}
