//! The arguments of `explain`: a policy's settings, with the names that they have in files, read
//! with the same rules.

use std::path::PathBuf;

use clap::{Arg, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches};
use retry_rules::options::{Kind, POLICY, Setting};
use retry_runtime::Policy;
use retry_runtime::file::Draft;
use serde_json::{Map, Value, json};

use crate::command::outcome::CommandError;

/// A policy, and how it is shown.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = "\
Examples:
  retry-workflow explain job.yml
  retry-workflow explain --attempts 5 --initial-delay 1s --max-delay 30s --jitter full
  retry-workflow explain --backoff 'linear(increment = 2s)' --svg waits.svg
  retry-workflow explain --curves")]
pub(crate) struct ExplainArguments {
    /// Show all policies of this workflow file, instead of the settings below
    #[arg(conflicts_with_all = ["curves", "svg", SETTINGS])]
    pub(crate) file: Option<PathBuf>,
    /// Show the five curves side by side
    #[arg(long, conflicts_with = SETTINGS)]
    pub(crate) curves: bool,
    /// Write the chart as a picture to this file; - for standard output
    #[arg(long, value_name = "PATH")]
    pub(crate) svg: Option<PathBuf>,
    /// Calls in all, the first included; or `unlimited` [default: 3]
    #[arg(long, value_name = "N", group = SETTINGS)]
    pub(crate) attempts: Option<String>,
    /// fixed, linear(increment = 2s), exponential, exponential(base = 1.5), fibonacci or
    /// custom(500ms, 1s) [default: exponential]
    #[arg(long, value_name = "CURVE", group = SETTINGS)]
    pub(crate) backoff: Option<String>,
    /// The spread of waits: alone for ±30 %, or 0.25, full, equal, decorrelated, up(0.3),
    /// 0ms..250ms, none
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = "true",
        group = SETTINGS)]
    pub(crate) jitter: Option<String>,
    #[command(flatten)]
    times: TimeArguments,
}

/// The group of all settings of a policy.
const SETTINGS: &str = "settings";

/// The options of a policy that are times, by name.
#[derive(Clone, Debug, Default)]
struct TimeArguments(Vec<(&'static str, String)>);

fn times() -> impl Iterator<Item = &'static Setting<Policy>> {
    POLICY.iter().filter(|option| matches!(option.kind, Kind::Time(_) | Kind::Bound(_)))
}

impl Args for TimeArguments {
    fn augment_args(command: Command) -> Command {
        let group = ArgGroup::new(SETTINGS).multiple(true);
        command.group(group).args(times().map(|option| {
            let name = option.name();
            let argument = Arg::new(name).long(name.replace('_', "-")).group(SETTINGS);
            argument.value_name("DURATION").help(option.to_string())
        }))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for TimeArguments {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let written = |name| Some((name, matches.get_one::<String>(name)?.clone()));
        Ok(Self(times().map(Setting::name).filter_map(written).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ExplainArguments {
    /// The policy, as if the settings were written in a file.
    ///
    /// # Errors
    /// The settings break a rule. The message is worded as it would be for a file.
    pub(crate) fn policy(&self) -> Result<Policy, CommandError> {
        let keys = self.keys();
        let alone = keys.iter().filter_map(|(name, value)| {
            let error = serde_json::from_value::<Draft>(json!({ name: value })).err()?;
            Some(format!("`--{}`: {error}", name.replace('_', "-")))
        });
        let mistakes: Vec<_> = alone.collect();
        if !mistakes.is_empty() {
            return Err(CommandError::Usage(mistakes.join("\nerror: ")));
        }
        serde_json::from_value(Value::Object(keys))
            .map_err(|error| CommandError::Usage(format!("this is not a valid policy: {error}")))
    }

    fn keys(&self) -> Map<String, Value> {
        let number = |text: &String| text.parse::<i64>().map_or_else(|_| json!(text), Value::from);
        let settings = [
            ("attempts", self.attempts.as_ref().map(number)),
            ("backoff", self.backoff.as_ref().map(|curve| json!(curve))),
            ("jitter", self.jitter.as_deref().map(spread)),
        ];
        let settings = settings.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let times = self.times.0.iter().map(|(name, time)| (*name, json!(time)));
        settings.chain(times).map(|(name, value)| (name.to_owned(), value)).collect()
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

    fn arguments(words: &[&str]) -> ExplainArguments {
        let command = ExplainArguments::augment_args(Command::new("explain").no_binary_name(true));
        ExplainArguments::from_arg_matches(&command.get_matches_from(words)).unwrap()
    }

    #[test]
    fn settings_are_read_by_the_rules_of_files() {
        let words = ["--attempts=5", "--initial-delay=500ms", "--jitter=0.5", "--budget=5m"];
        let policy = arguments(&words).policy().unwrap();
        assert_eq!(policy.get_jitter(), Jitter::Proportional(0.5));
        assert_eq!(policy.get_budget(), Some(Duration::from_secs(300)));

        let error = arguments(&["--attempts=unlimited"]).policy().unwrap_err().to_string();
        assert!(error.contains("budget"), "{error}");
    }

    #[test]
    fn each_time_of_a_policy_can_be_explained() {
        for option in times() {
            let long = format!("--{}={}", option.name().replace('_', "-"), option.example);
            let arguments = arguments(&[&long.replace('"', "")]);
            assert!(arguments.keys().contains_key(option.name()), "{long}");
            assert!(arguments.policy().is_ok(), "{long}");
        }
    }

    #[test]
    fn the_setting_of_a_curve_is_in_parentheses() {
        let increment = Duration::from_secs(2);
        let linear = arguments(&["--backoff=linear(increment = 2s)"]).policy().unwrap();
        assert_eq!(linear.get_backoff(), Backoff::Linear { increment });

        let lacking = arguments(&["--backoff=linear"]).policy().unwrap_err().to_string();
        assert!(lacking.contains("write `linear(increment = 2s)`"), "{lacking}");
        let stray = arguments(&["--backoff=fixed(2s)"]).policy().unwrap_err().to_string();
        assert!(stray.starts_with("`--backoff`: "), "{stray}");
    }

    #[test]
    fn mistakes_of_several_settings_are_reported_together() {
        let words = ["--backoff=linear", "--jitter=30%", "--max-delay=30", "--attempts=-1"];
        let error = arguments(&words).policy().unwrap_err().to_string();
        for part in [
            "error: `--backoff`: a linear backoff needs `increment`",
            "error: `--jitter`: \"30%\" is a text: write the number `0.3`",
            "error: `--max-delay`: ",
            "`--attempts`: -1 is not a number of attempts",
        ] {
            assert!(error.contains(part), "{error}");
        }
    }
}
