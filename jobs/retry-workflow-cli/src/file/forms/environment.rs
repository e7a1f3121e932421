//! `env`, `env_files` and `secrets` of a file; `env` of a step.

use std::path::PathBuf;

use retry_rules::suggest::shortened;

use super::Forms;
use super::keys::{SECRET, VARIABLE};
use crate::file::environment::{EnvironmentPlan, Variable, VariableValue};
use crate::template::available::AvailableValues;
use crate::template::shell::controls_shell;
use crate::template::shell::variables::is_name;
use crate::template::text::Template;
use crate::yaml::node::{Key, Node, Value};
use crate::yaml::span::SourceSpan;

impl Forms<'_> {
    pub(super) fn environment(&mut self, root: &Node) -> EnvironmentPlan {
        let files = root.get("env_files").map(|node| self.env_files(node)).unwrap_or_default();
        let mut variables = Vec::new();
        for (key, value) in self.variables(root.get("env"), false) {
            variables.extend(self.variable(key, value));
        }
        for (key, value) in self.variables(root.get("secrets"), true) {
            variables.extend(self.secret(key, value));
        }
        EnvironmentPlan { files, variables }
    }

    fn env_files(&mut self, node: &Node) -> Vec<(PathBuf, SourceSpan)> {
        let files = node.each().iter();
        files.filter_map(|node| Some((self.text(node)?.into(), node.span))).collect()
    }

    /// The entries of a map of variables.
    fn variables<'a>(&mut self, node: Option<&'a Node>, of_secrets: bool) -> &'a [(Key, Node)] {
        let Some(node) = node else { return &[] };
        let expected = format!("a map of variables{}", as_map(node, of_secrets));
        let entries = self.map(node, &expected).unwrap_or_default();
        for (Key { name, span }, _) in entries {
            if !is_name(name) {
                let message = format!(
                    "`{name}` is not a valid name of a variable: use letters, digits and `_`"
                );
                self.wrong(*span, message);
            } else if name.starts_with("RETRY_WORKFLOW_") {
                let message =
                    format!("`{name}` is set automatically for each command: choose another name");
                self.wrong(*span, message);
            }
        }
        entries
    }

    /// A plain value, or a map with `value` and `secret`.
    fn variable(&mut self, key: &Key, node: &Node) -> Option<Variable> {
        let (value, is_secret) = match &node.value {
            Value::Map(_) => {
                self.entries(node, "`value` and `secret`", VARIABLE)?;
                let is_secret = match node.get("secret") {
                    Some(secret) => self.parsed(secret.parse::<bool>())?,
                    None => false,
                };
                (self.needed(node, "value", "env")?, is_secret)
            }
            _ => (node, false),
        };
        let text = self.variable_text(value)?;
        if let Some(at) = text.find("${") {
            let span = value.span_within(&self.source.text, at, "${");
            self.wrong(
                span,
                "no shell expands the variables of a file, so `${…}` has no meaning here: write \
                 the value, or set the variable in the command",
            );
        }
        let name = key.name.clone();
        Some(Variable { name, value: VariableValue::Text(text), is_secret, span: value.span })
    }

    /// The variable that a secret comes from.
    fn secret(&mut self, key: &Key, node: &Node) -> Option<Variable> {
        self.entries(node, "where to find the secret, such as `{ env: \"API_KEY\" }`", SECRET)?;
        let from = self.needed(node, "env", "secrets")?;
        let value = VariableValue::Inherited(self.text(from)?.to_owned());
        Some(Variable { name: key.name.clone(), value, is_secret: true, span: from.span })
    }

    fn variable_text(&mut self, node: &Node) -> Option<String> {
        let Some(text) = node.scalar() else { return self.unexpected(node, "a text or a number") };
        if text.contains('\0') {
            self.wrong(node.span, "a variable cannot contain a NUL character: remove it");
        }
        Some(text)
    }

    /// The variables of a step, whose values may hold placeholders.
    pub(super) fn step_env(
        &mut self,
        node: &Node,
        available: AvailableValues<'_>,
    ) -> Vec<(String, Template)> {
        let mut variables = Vec::new();
        for (key, value) in self.variables(Some(node), false) {
            let Some(text) = self.variable_text(value) else { continue };
            let parsed = Template::parse(&text, available);
            let Some(template) = self.located(value, parsed) else { continue };
            let unescaped = text.matches("${").count() - text.matches("$${").count();
            if unescaped > template.placeholders().count() {
                self.wrong(
                    value.span,
                    "no shell expands the variables of a step, so a shell's `${…}` stays as it is: \
                     write the value, or set the variable in the command",
                );
            }
            let name = key.name.as_str();
            if controls_shell(name) && template.placeholders().next().is_some() {
                self.wrong(
                    value.span,
                    format!(
                        "`{name}` controls the shell or the programs it starts, so it cannot \
                         contain a placeholder: give the value another name"
                    ),
                );
            }
            variables.push((key.name.clone(), template));
        }
        variables
    }
}

/// A list such as `[REGION=eu]` as the map that was probably meant.
fn as_map(node: &Node, of_secrets: bool) -> String {
    let entries: Option<Vec<_>> = node
        .each()
        .iter()
        .map(|entry| {
            if let (Some(name), Some(value)) = (entry.get("name"), entry.get("value")) {
                return Some(format!("{}: \"{}\"", name.scalar()?, value.scalar()?));
            }
            let text = entry.scalar()?;
            let text = shortened(&text);
            Some(match text.split_once('=') {
                Some((name, value)) => format!("{name}: \"{value}\""),
                None if of_secrets => format!("{text}: {{ env: \"{text}\" }}"),
                None => return None,
            })
        })
        .collect();
    match entries {
        Some(entries) if !entries.is_empty() => format!(", such as `{{ {} }}`", entries.join(", ")),
        _ => String::new(),
    }
}
