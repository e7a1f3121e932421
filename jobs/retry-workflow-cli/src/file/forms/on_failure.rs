//! `on_failure`: a keyword, a fallback, a repair, or a list of steps.

use retry_rules::suggest::nearest;

use super::Forms;
use super::command_keys::OnFailure;
use super::keys::{REPAIR, STEP};
use crate::steps::step::{AfterFailure, Repair, Steps};
use crate::template::available::AvailableValues;
use crate::yaml::node::{Node, Value};
use crate::yaml::span::Mistake;

/// The keywords, which are not commands.
const WORDS: [&str; 5] = ["stop", "continue", "fallback", "true", "false"];
/// Keywords of other settings and other tools.
const FOREIGN: [&str; 7] = ["ignore", "skip", "retry", "dlq", "fail", "abort", "none"];

impl Forms<'_> {
    /// A step's own `on_failure`.
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
                self.keyword(node, available)
            }
            Value::Text(text) if is_command(text.trim()) => {
                let steps = self.script_or_steps(node, available);
                Some(AfterFailure::Repair(Repair { steps, rounds: 1, fails: true }))
            }
            _ => self.keyword(node, available),
        }
    }

    fn keyword(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<AfterFailure> {
        if matches!(&node.value, Value::Text(text) if text.trim().eq_ignore_ascii_case("retry")) {
            self.wrong(
                node.span,
                "`on_failure` says what follows the last failure: to retry the step, write \
                 `retry_config: { attempts: 3 }` instead",
            );
            return None;
        }
        let action = node.parse::<OnFailure>().map_err(|mistake| Mistake {
            message: format!(
                "{}, a command that repairs it, such as `shell: ./repair.sh`, or a list of steps",
                mistake.message
            ),
            ..mistake
        });
        let action = self.parsed(action)?;
        self.action(action, node, available)
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
                        "a repair that never runs repairs nothing: write 1 or more, or \
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

    pub(super) fn action(
        &mut self,
        action: OnFailure,
        node: &Node,
        available: AvailableValues<'_>,
    ) -> Option<AfterFailure> {
        match action {
            OnFailure::Continue => Some(AfterFailure::Continue),
            OnFailure::Fallback => {
                let command = node.get("fallback").and_then(|node| node.get("command"))?;
                self.script(command, available).map(AfterFailure::Fallback)
            }
            OnFailure::Stop => Some(AfterFailure::Stop),
        }
    }
}

/// Returns whether a text is a command, rather than a keyword or a misspelt one.
fn is_command(text: &str) -> bool {
    let is_word = text.chars().all(|c| c.is_ascii_alphabetic() || matches!(c, '_' | '-'));
    let lower = text.to_ascii_lowercase();
    !(is_word && (FOREIGN.contains(&lower.as_str()) || nearest(&lower, WORDS).is_some())
        || text.is_empty())
}
