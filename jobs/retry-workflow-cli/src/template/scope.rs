//! [`Scope`]: the values of placeholders while a step runs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tempfile::TempPath;

use crate::template::placeholder::{Captured, EndOf, Meaning, Placeholder};
use retry_workflow::condition::path::at;

/// The values of placeholders while a step runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) item: Option<Arc<Value>>,
    pub(crate) map: Option<Arc<MapResults>>,
    pub(crate) error: Option<String>,
    /// In `on_failure`: the output of the failed attempt.
    pub(crate) failed_output: Option<String>,
    /// The outputs of steps outside the list.
    pub(crate) given: StepOutputs,
    /// The outputs of the list's own steps.
    pub(crate) own: StepOutputs,
}

/// The outputs that steps pass on to later ones, without secrets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct StepOutputs {
    /// The output of the previous step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<String>,
    /// The captured outputs by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) captured: BTreeMap<String, Captured>,
}

impl StepOutputs {
    /// Adds the outputs of later steps.
    pub(crate) fn add(&mut self, later: Self) {
        self.last = later.last.or(self.last.take());
        self.captured.extend(later.captured);
    }
}

/// The results of a map.
#[derive(Clone, Debug)]
pub(crate) struct MapResults {
    /// A file with a JSON list of the outputs, which may be too many to keep in memory; it is
    /// removed with its last reference. Or the reason why it was not written.
    pub(crate) results: Result<Arc<TempPath>, String>,
    pub(crate) total: u64,
    pub(crate) successful: u64,
    pub(crate) failed: u64,
}

impl Scope {
    /// The scope of a list of steps that is part of a step.
    pub(crate) fn inside(&self) -> Self {
        let mut inside = self.clone();
        inside.given.add(std::mem::take(&mut inside.own));
        inside
    }

    /// The output of the previous step.
    pub(crate) fn last(&self) -> Option<&String> {
        self.own.last.as_ref().or(self.given.last.as_ref())
    }

    fn captured(&self, name: &str) -> Option<&Captured> {
        self.own.captured.get(name).or_else(|| self.given.captured.get(name))
    }

    /// The text to substitute for a placeholder.
    ///
    /// # Errors
    /// The placeholder has no value, or one that cannot be passed to a command.
    pub(crate) fn value(&self, placeholder: &Placeholder) -> Result<String, String> {
        let value = self.json(placeholder).as_deref().map(as_text);
        let value = match placeholder.meaning {
            // The earlier step was skipped, or had no output.
            Meaning::LastOutput
            | Meaning::ShellOutput
            | Meaning::Captured(..)
            | Meaning::Ended(..) => Some(value.unwrap_or_default()),
            _ => value,
        };
        let written = &placeholder.written;
        let value = value.ok_or_else(|| match self.map.as_deref().map(|map| &map.results) {
            Some(Err(why)) if placeholder.meaning == Meaning::Results => why.clone(),
            _ => format!("there is no value for `{written}`"),
        })?;
        if value.contains('\0') {
            return Err(format!(
                "the value of `{written}` contains a NUL character, which cannot be passed to a \
                 command"
            ));
        }
        Ok(value)
    }

    /// The value of a placeholder, if it has one.
    pub(crate) fn json(&self, placeholder: &Placeholder) -> Option<Cow<'_, Value>> {
        let text = |text: Option<&String>| text.map(|text| Cow::Owned(text.clone().into()));
        let number = |number: fn(&MapResults) -> u64| {
            self.map.as_deref().map(|map| Cow::Owned(number(map).into()))
        };
        match &placeholder.meaning {
            Meaning::Item(path) => at(self.item.as_deref()?, path).map(Cow::Borrowed),
            Meaning::Results => {
                let path = self.map.as_deref()?.results.as_ref().ok()?;
                Some(Cow::Owned(std::fs::read_to_string(&**path).ok()?.into()))
            }
            Meaning::Total => number(|map| map.total),
            Meaning::Successful => number(|map| map.successful),
            Meaning::Failed => number(|map| map.failed),
            Meaning::Error => text(self.error.as_ref()),
            Meaning::LastOutput => text(self.last()),
            Meaning::ShellOutput => text(self.failed_output.as_ref().or(self.last())),
            Meaning::Captured(name, path) => {
                at(&self.captured(name)?.value, path).map(Cow::Borrowed)
            }
            Meaning::Ended(name, end) => {
                let captured = self.captured(name)?;
                Some(Cow::Owned(match end {
                    EndOf::Success => captured.success.into(),
                    EndOf::ExitCode => captured.exit_code.into(),
                    EndOf::Stderr => captured.stderr.clone().into(),
                }))
            }
        }
    }
}

/// Texts as they are, null as an empty text, and anything else as JSON.
pub(crate) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
