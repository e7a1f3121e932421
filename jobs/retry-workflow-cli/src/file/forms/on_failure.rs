//! `on_failure`: a keyword, a fallback, a repair, or a list of steps.

use retry_rules::suggest::{meant, nearest};

use super::Forms;
use super::keys::{REPAIR, STEP};
use crate::steps::step::{AfterFailure, Repair, Steps};
use crate::template::available::AvailableValues;
use crate::yaml::node::{Node, Value};

/// The actions that have a name.
const ACTIONS: [&str; 3] = ["stop", "continue", "fallback"];
/// The booleans, which are no commands either.
const BOOLEANS: [&str; 2] = ["true", "false"];
/// Keywords of other settings and other tools.
const FOREIGN: [&str; 7] = ["ignore", "skip", "retry", "dlq", "fail", "abort", "none"];

impl Forms<'_> {
    /// `on_failure` of a step.
    pub(super) fn after_failure(
        &mut self,
        node: &Node,
        available: AvailableValues<'_>,
    ) -> Option<AfterFailure> {
        match &node.value {
            Value::List(_) => Some(AfterFailure::Handle(self.steps(node, available))),
            Value::Bool(true) => Some(AfterFailure::Continue),
            Value::Bool(false) => Some(AfterFailure::Stop),
            Value::Map(entries) => {
                let known = || STEP.iter().chain(REPAIR).copied();
                if entries.iter().any(|(key, _)| nearest(&key.name, known()).is_some()) {
                    return self.repair(node, available);
                }
                self.action(node, available)
            }
            Value::Text(text) if is_command(text.trim()) => {
                let steps = self.script_or_steps(node, available);
                Some(AfterFailure::Repair(Repair { steps, rounds: 1, fails: true }))
            }
            _ => self.action(node, available),
        }
    }

    /// The name of an action, alone or with its setting.
    fn action(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<AfterFailure> {
        const EXPECTED: &str = "`stop`, `continue`, `{ fallback: { command: ./save-locally.sh } }`, \
                                a repair such as `{ shell: ./repair.sh }`, or a list of steps";

        let entries = match &node.value {
            Value::Map(entries) => &entries[..],
            _ => &[],
        };
        let mut entries = entries.iter().filter(|(key, _)| !key.is_ignored());
        let (name, span, setting) = match (&node.value, entries.next()) {
            (Value::Text(name), _) => (name.trim(), node.span, None),
            (_, Some((key, setting))) => (key.name.as_str(), key.span, Some(setting)),
            _ => return self.unexpected(node, EXPECTED),
        };
        if let Some((second, _)) = entries.next() {
            return self.refuse(second.span, "`on_failure` is a single action: keep one");
        }
        match (name, setting) {
            ("stop" | "continue", Some(setting)) if !matches!(setting.value, Value::Null) => {
                self.refuse(setting.span, format!("`{name}` has no settings: remove this"))
            }
            ("stop", _) => Some(AfterFailure::Stop),
            ("continue", _) => Some(AfterFailure::Continue),
            ("fallback", Some(setting)) => {
                self.entries(setting, "a map with a `command`", &["command"])?;
                let command = self.needed(setting, "command", "fallback")?;
                self.script(command, available).map(AfterFailure::Fallback)
            }
            (name, _) if name.eq_ignore_ascii_case("retry") => self.refuse(
                span,
                "`on_failure` says what follows the last failure: to retry the step, write \
                 `retry_config: { attempts: 3 }` instead",
            ),
            (name, _) => {
                let meant = meant(name, &ACTIONS).filter(|meant| *meant != name);
                let cure = meant.map_or_else(
                    || format!("write {EXPECTED}"),
                    |meant| format!("did you mean `{meant}`?"),
                );
                self.refuse(span, format!("\"{name}\": {cure}"))
            }
        }
    }

    /// A repair: a step, and how often it may run.
    fn repair(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<AfterFailure> {
        let known = [STEP, REPAIR].concat();
        self.entries(node, "a step that repairs", &known);
        let rounds = match node.get("max_attempts") {
            Some(most) => {
                let rounds = self.parsed(most.parse::<u32>())?;
                if rounds == 0 {
                    self.wrong(
                        most.span,
                        "a repair that never runs repairs nothing: write `1` or more, or \
                         `on_failure: stop`",
                    );
                }
                rounds
            }
            None => 1,
        };
        let fails = match node.get("fail_workflow") {
            Some(fails) => self.parsed(fails.parse::<bool>())?,
            None => true,
        };
        let step = self.read_step(node, "repair".to_owned(), available)?;
        Some(AfterFailure::Repair(Repair { steps: Steps::new(vec![step]), rounds, fails }))
    }
}

/// Returns whether a text is a command, rather than a keyword or a misspelt one.
fn is_command(text: &str) -> bool {
    let is_word = text.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-'));
    let lower = text.to_ascii_lowercase();
    !(is_word
        && (FOREIGN.contains(&lower.as_str())
            || nearest(&lower, ACTIONS.into_iter().chain(BOOLEANS)).is_some())
        || text.is_empty())
}
