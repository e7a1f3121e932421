//! The programs that read files and arguments.

use std::env;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use retry_runtime::{BreakerConfig, Policy, QuotaConfig, RetryConfig};
use retry_workflow::{ErrorPolicy, TaskKeys};
use retry_workflow_cli::WorkflowFile;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::files::{with_place, words};

/// Set for the process that is the command.
pub const IS_COMMAND: &str = "RETRY_CURES_COMMAND";

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reader {
    Workflow,
    RetryConfig,
    Policy,
    Breaker,
    Quota,
    Items,
    Task,
    ConfigInToml,
    BreakerInToml,
    QuotaInToml,
    Command,
}

impl Reader {
    pub fn named(name: &str) -> Self {
        match name {
            "workflow" => Self::Workflow,
            "RetryConfig" => Self::RetryConfig,
            "Policy" => Self::Policy,
            "BreakerConfig" => Self::Breaker,
            "QuotaConfig" => Self::Quota,
            "ErrorPolicy" => Self::Items,
            "TaskKeys" => Self::Task,
            "RetryConfig, TOML" => Self::ConfigInToml,
            "BreakerConfig, TOML" => Self::BreakerInToml,
            "QuotaConfig, TOML" => Self::QuotaInToml,
            "command" => Self::Command,
            other => panic!("there is no reader `{other}`"),
        }
    }

    /// Returns a proposal as it is written in this format.
    pub fn spelt(self, piece: &str) -> String {
        if !matches!(self, Self::ConfigInToml | Self::BreakerInToml | Self::QuotaInToml) {
            return piece.to_owned();
        }
        let value = |text: &str| serde_saphyr::from_str::<Value>(text).ok();
        if let Some(Value::Object(settings)) = value(&format!("{{ {piece} }}"))
            && settings.values().all(|value| !value.is_null())
        {
            let settings =
                settings.iter().map(|(key, value)| format!("{key} = {}", in_toml(value)));
            return settings.collect::<Vec<_>>().join("\n");
        }
        value(piece).map_or_else(|| piece.to_owned(), |value| in_toml(&value))
    }

    /// Returns the messages about a text; none if it is accepted.
    pub fn read(self, text: &str) -> Vec<String> {
        match self {
            Self::Workflow => match WorkflowFile::parse("job.yml", text) {
                Ok(_) => Vec::new(),
                Err(error) => error.mistakes().map(|(_, message)| message.to_owned()).collect(),
            },
            Self::RetryConfig => yaml::<RetryConfig>(text),
            Self::Policy => yaml::<Policy>(text),
            Self::Breaker => yaml::<BreakerConfig>(text),
            Self::Quota => yaml::<QuotaConfig>(text),
            Self::Items => yaml::<ErrorPolicy>(text),
            Self::Task => {
                match serde_saphyr::from_str::<TaskKeys>(text).map(|keys| keys.policy()) {
                    Ok(policy) => {
                        policy.err().map(|invalid| invalid.to_string()).into_iter().collect()
                    }
                    Err(_) => yaml::<TaskKeys>(text),
                }
            }
            Self::ConfigInToml => toml::<RetryConfig>(text),
            Self::BreakerInToml => toml::<BreakerConfig>(text),
            Self::QuotaInToml => toml::<QuotaConfig>(text),
            Self::Command => command(text),
        }
    }
}

fn in_toml(value: &Value) -> String {
    match value {
        Value::Array(list) => {
            format!("[{}]", list.iter().map(in_toml).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let entries = map.iter().map(|(key, value)| format!("{key} = {}", in_toml(value)));
            format!("{{ {} }}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn yaml<T: DeserializeOwned>(text: &str) -> Vec<String> {
    let Err(error) = serde_saphyr::from_str::<T>(text) else {
        return Vec::new();
    };
    vec![with_place(&error.without_snippet().to_string()).0.to_owned()]
}

fn toml<T: DeserializeOwned>(text: &str) -> Vec<String> {
    toml::from_str::<T>(text).err().map(|error| error.message().to_owned()).into_iter().collect()
}

/// Runs the command in a folder with a workflow file.
fn command(line: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("job.yml"), "commands: [{ shell: \"true\" }]\n").expect("a file");
    let words = words(line).into_iter().skip(1).map(|range| line[range].replace('\'', ""));
    let output = Command::new(env::current_exe().expect("a program"))
        .arg0("retry-workflow")
        .args(words)
        .env(IS_COMMAND, "1")
        .env_remove("RETRY_WORKFLOW_STORE")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .output()
        .expect("the command runs");
    let shown = String::from_utf8_lossy(&output.stderr);
    // A store that is not there is no mistake in the arguments.
    let is_read = output.status.code() != Some(2) || shown.contains("no job has run yet");
    if is_read { Vec::new() } else { vec![shown.trim_end().to_owned()] }
}
