//! The arguments of `explain`: a policy's settings, with the names that they have in files, read
//! with the same rules.

use std::path::PathBuf;

use clap::{Arg, ArgGroup, ArgMatches, Args, Command, Error, FromArgMatches};
use retry_rules::options::{Kind, POLICY, Setting};
use retry_runtime::file::Draft;
use retry_runtime::{Policy, Style};

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
    #[arg(long, value_name = "N", group = SETTINGS, allow_negative_numbers = true)]
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
        let (mut draft, mut mistakes) = (Draft::default(), Vec::new());
        for (key, text) in self.settings() {
            if let Err(error) = draft.set_text(key, text) {
                mistakes.push(format!("{}: {error}", flag(key)));
            }
        }
        if !mistakes.is_empty() {
            return Err(CommandError::Usage(mistakes.join("\nerror: ")));
        }
        draft.finish(Style::Arguments).map_err(|invalid| {
            let is_written = |key: &&str| self.settings().any(|(written, _)| written == *key);
            let key = invalid.keys().find(is_written).unwrap_or_default();
            CommandError::Usage(format!("{}: {invalid}", flag(key)))
        })
    }

    /// The settings as they are written, by the keys that they have in a file.
    fn settings(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let settings =
            [("attempts", &self.attempts), ("backoff", &self.backoff), ("jitter", &self.jitter)];
        let settings = settings.into_iter().filter_map(|(key, text)| Some((key, text.as_deref()?)));
        settings.chain(self.times.0.iter().map(|(key, text)| (*key, text.as_str())))
    }
}

fn flag(key: &str) -> String {
    format!("`--{}`", key.replace('_', "-"))
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
            assert!(arguments.settings().any(|(key, _)| key == option.name()), "{long}");
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
