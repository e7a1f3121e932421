//! [`Scope`]: the values of placeholders while a step runs.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::template::path::at;
use crate::template::placeholder::{Captured, EndOf, Meaning, Placeholder};

/// The values of placeholders while a step runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    pub(crate) item: Option<Arc<Value>>,
    pub(crate) map: Option<Arc<MapResults>>,
    pub(crate) error: Option<String>,
    pub(crate) last: Option<String>,
    /// In `on_failure`: the output of the failed attempt.
    pub(crate) failed_output: Option<String>,
    pub(crate) captured: BTreeMap<String, Captured>,
}

/// The results of a map, which may be too many to keep in memory.
#[derive(Clone, Debug)]
pub(crate) enum Results {
    Text(String),
    /// A file that is removed with its last reference.
    File(Arc<tempfile::TempPath>),
    /// The reason why the file was not written.
    Unwritten(String),
}

impl Default for Results {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl Results {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::File(path) => std::fs::read_to_string(&**path).ok(),
            Self::Unwritten(_) => None,
        }
    }
}

/// The results of a map.
#[derive(Clone, Debug, Default)]
pub(crate) struct MapResults {
    /// A JSON list of the outputs.
    pub(crate) results: Results,
    pub(crate) total: u64,
    pub(crate) successful: u64,
    pub(crate) failed: u64,
}

impl Scope {
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
            Some(Results::Unwritten(why)) if placeholder.meaning == Meaning::Results => why.clone(),
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
        let text = |text: &Option<String>| text.clone().map(|text| Cow::Owned(text.into()));
        let number = |number: fn(&MapResults) -> u64| {
            self.map.as_deref().map(|map| Cow::Owned(number(map).into()))
        };
        match &placeholder.meaning {
            Meaning::Item(path) => at(self.item.as_deref()?, path).map(Cow::Borrowed),
            Meaning::Results => {
                self.map.as_deref()?.results.text().map(|text| Cow::Owned(text.into()))
            }
            Meaning::Total => number(|map| map.total),
            Meaning::Successful => number(|map| map.successful),
            Meaning::Failed => number(|map| map.failed),
            Meaning::Error => text(&self.error),
            Meaning::LastOutput => text(&self.last),
            Meaning::ShellOutput => text(&self.failed_output).or_else(|| text(&self.last)),
            Meaning::Captured(name, path) => {
                at(&self.captured.get(name)?.value, path).map(Cow::Borrowed)
            }
            Meaning::Ended(name, end) => {
                let captured = self.captured.get(name)?;
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
