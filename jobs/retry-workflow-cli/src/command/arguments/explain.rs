//! The arguments of `explain`: a policy's settings, with the names that they have in files, read
//! with the same rules.

use std::path::PathBuf;

use clap::Args;
use retry_runtime::Policy;
use serde_json::{Map, Value, json};

use crate::command::outcome::CommandError;

/// A policy, and how it is shown.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  retry-workflow explain job.yml
  retry-workflow explain --attempts 5 --initial-delay 1s --max-delay 30s --jitter full
  retry-workflow explain --backoff linear --increment 2s --svg waits.svg
  retry-workflow explain --curves")]
pub(crate) struct ExplainArguments {
    /// Show all policies of this workflow file, instead of the settings below
    #[arg(conflicts_with_all = ["curves", "svg", "attempts", "backoff", "increment", "base", "delays",
        "initial_delay", "max_delay", "first_delay", "jitter", "jitter_factor", "budget", "deadline",
        "max_elapsed", "timeout"])]
    pub(crate) file: Option<PathBuf>,
    /// Show the five curves side by side
    #[arg(long, conflicts_with_all = ["attempts", "backoff", "increment", "base", "delays",
        "initial_delay", "max_delay", "first_delay", "jitter", "jitter_factor", "budget", "deadline",
        "max_elapsed", "timeout"])]
    pub(crate) curves: bool,
    /// Write the chart as a picture to this file; - for standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) svg: Option<PathBuf>,
    /// Calls in all, the first included; or `unlimited` [default: 3]
    #[arg(long, value_name = "N")]
    pub(crate) attempts: Option<String>,
    /// fixed, linear, exponential, fibonacci or custom [default: exponential]
    #[arg(long, value_name = "CURVE")]
    pub(crate) backoff: Option<String>,
    /// The increase of each wait, for a linear backoff
    #[arg(long, value_name = "DURATION")]
    pub(crate) increment: Option<String>,
    /// The factor by which each wait grows, for an exponential backoff [default: 2]
    #[arg(long, value_name = "NUMBER")]
    pub(crate) base: Option<f64>,
    /// The waits of a custom backoff: 500ms,1s,2s
    #[arg(long, value_name = "DURATIONS", value_delimiter = ',')]
    pub(crate) delays: Option<Vec<String>>,
    /// The first wait [default: 1s]
    #[arg(long, value_name = "DURATION")]
    pub(crate) initial_delay: Option<String>,
    /// No wait is longer [default: 30s, or a longer fixed or custom wait]
    #[arg(long, value_name = "DURATION")]
    pub(crate) max_delay: Option<String>,
    /// A different first wait: the curve then starts with the second
    #[arg(long, value_name = "DURATION")]
    pub(crate) first_delay: Option<String>,
    /// The spread of waits: alone for ±30 %, or 0.25, full, equal, decorrelated, up(0.3),
    /// 0ms..250ms, none
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "true")]
    pub(crate) jitter: Option<String>,
    /// The share by which waits are spread, with a bare --jitter
    #[arg(long, value_name = "SHARE")]
    pub(crate) jitter_factor: Option<f64>,
    /// Bounds the sum of the waits
    #[arg(long, value_name = "DURATION")]
    pub(crate) budget: Option<String>,
    /// Bounds the whole call
    #[arg(long, value_name = "DURATION")]
    pub(crate) deadline: Option<String>,
    /// No attempt begins later than this after the call began
    #[arg(long, value_name = "DURATION")]
    pub(crate) max_elapsed: Option<String>,
    /// Bounds one attempt
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
}

impl ExplainArguments {
    /// The policy, as if the settings were written in a file.
    ///
    /// # Errors
    /// The settings break a rule. The message is worded as it would be for a file.
    pub(crate) fn policy(&self) -> Result<Policy, CommandError> {
        serde_json::from_value(Value::Object(self.keys()?))
            .map_err(|error| CommandError::Usage(format!("this is not a valid policy: {error}")))
    }

    fn keys(&self) -> Result<Map<String, Value>, CommandError> {
        let mut keys = Map::new();
        if let Some(attempts) = &self.attempts {
            let number = attempts.parse::<i64>().map(Value::from);
            keys.insert("attempts".to_owned(), number.unwrap_or_else(|_| json!(attempts)));
        }
        if let Some(backoff) = self.curve()? {
            keys.insert("backoff".to_owned(), backoff);
        }
        if let Some(jitter) = &self.jitter {
            keys.insert("jitter".to_owned(), spread(jitter));
        }
        if let Some(factor) = self.jitter_factor {
            keys.insert("jitter_factor".to_owned(), json!(factor));
        }
        for (key, duration) in [
            ("initial_delay", &self.initial_delay),
            ("max_delay", &self.max_delay),
            ("first_delay", &self.first_delay),
            ("budget", &self.budget),
            ("deadline", &self.deadline),
            ("max_elapsed", &self.max_elapsed),
            ("timeout", &self.timeout),
        ] {
            if let Some(duration) = duration {
                keys.insert(key.to_owned(), json!(duration));
            }
        }
        Ok(keys)
    }

    /// The curve with its settings; a curve can be inferred from a setting that only it has.
    fn curve(&self) -> Result<Option<Value>, CommandError> {
        let settings = [
            ("linear", "increment", "2s", self.increment.as_ref().map(|it| json!(it))),
            ("exponential", "base", "2", self.base.map(|it| json!(it))),
            ("custom", "delays", "500ms,1s,2s", self.delays.as_ref().map(|it| json!(it))),
        ];
        let mut inside = Map::new();
        let mut meant = self.backoff.as_deref();
        for (curve, setting, example, value) in settings {
            match value {
                Some(value) => {
                    meant = meant.or(Some(curve));
                    inside.insert(setting.to_owned(), value);
                }
                None if self.backoff.as_deref() == Some(curve) && curve != "exponential" => {
                    return Err(CommandError::Usage(format!(
                        "the {curve} backoff needs the setting {setting}: write `--backoff {curve} \
                         --{setting} {example}`"
                    )));
                }
                None => {}
            }
        }
        Ok(meant.map(|name| if inside.is_empty() { json!(name) } else { json!({ name: inside }) }))
    }
}

/// Reads a jitter as it is written in a file: `true`, a number, or a word.
fn spread(text: &str) -> Value {
    match text {
        "true" => json!(true),
        "false" => json!(false),
        _ => text.parse::<f64>().map_or_else(|_| json!(text), |number| json!(number)),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use retry_runtime::{Backoff, Jitter};

    use super::*;

    #[test]
    fn settings_are_read_by_the_rules_of_files() {
        let arguments = ExplainArguments {
            attempts: Some("5".to_owned()),
            initial_delay: Some("500ms".to_owned()),
            jitter: Some("true".to_owned()),
            jitter_factor: Some(0.5),
            budget: Some("5m".to_owned()),
            ..ExplainArguments::default()
        };
        let policy = arguments.policy().unwrap();
        assert_eq!(policy.get_jitter(), Jitter::Proportional(0.5));
        assert_eq!(policy.get_budget(), Some(Duration::from_secs(300)));

        let unlimited =
            ExplainArguments { attempts: Some("unlimited".to_owned()), ..Default::default() };
        let error = unlimited.policy().unwrap_err().to_string();
        assert!(error.contains("budget"), "{error}");
    }

    #[test]
    fn a_setting_of_a_curve_names_the_curve() {
        let linear = ExplainArguments { increment: Some("2s".to_owned()), ..Default::default() };
        let increment = Duration::from_secs(2);
        assert_eq!(linear.policy().unwrap().get_backoff(), Backoff::Linear { increment });

        let lacking = ExplainArguments { backoff: Some("linear".to_owned()), ..Default::default() };
        assert!(lacking.policy().unwrap_err().to_string().contains("--increment 2s"));
        let stray = ExplainArguments { backoff: Some("fixed".to_owned()), ..linear };
        assert!(
            stray
                .policy()
                .unwrap_err()
                .to_string()
                .contains("is not a setting of the `fixed` backoff")
        );
    }
}
