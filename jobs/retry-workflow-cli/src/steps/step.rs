//! [`Step`]: a command, when it runs, what is kept of its output, and what follows it.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use retry_runtime::retrier::ForError;
use retry_runtime::{Bound, Policy, Retrier, RetryConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::steps::command_env::Run;
use crate::steps::exit_codes::{self, CodeMatchers, ExitCodes};
use crate::steps::process::StepError;
use crate::template::expression::Expression;
use crate::template::placeholder::{Captured, Placeholder};
use crate::template::shell::Script;
use crate::template::text::Template;

/// The time for which an item may be postponed in a run, unless its step sets it.
const MAX_POSTPONED: Bound = Bound::Limited(Duration::from_secs(24 * 60 * 60));

/// Steps, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps(pub(crate) Vec<Step>);

/// A command, and what follows it.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    /// The name of the step in the history: its name, or its number.
    pub(crate) label: String,
    pub(crate) text: StepText,
    pub(crate) run: Run,
    pub(super) retrier: Retrier<ForError<StepError>>,
    /// Set if the step has a policy; otherwise it is tried once.
    is_retried: bool,
    /// Exit codes that are not retried.
    abort_on: ExitCodes,
    /// The limit of one run of the command; the shorter one of this and the policy's applies.
    pub(crate) timeout: Option<Duration>,
    /// The longest wait that a server may ask for.
    pub(crate) max_retry_after: Bound,
    /// The time for which an item may be postponed in a run before this step has failed.
    pub(crate) max_postponed: Bound,
    /// Variables of this step only.
    pub(crate) env: Vec<(String, Template)>,
    /// Relative to the folder of the file.
    pub(crate) working_dir: Option<Template>,
    /// The step is skipped if this does not hold.
    pub(crate) when: Option<Expression<Placeholder>>,
    pub(crate) capture: Option<Capture>,
    pub(crate) after_failure: AfterFailure,
    /// Steps to run after it has succeeded.
    pub(crate) on_success: Option<Steps>,
}

/// Hashes of a step's text in the file, by which it is recognised after an edit.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepText {
    /// Set if the step has a name of its own.
    pub(crate) is_named: bool,
    /// The command of the step: without its name, its retries, and the steps that follow it.
    pub(crate) command: String,
    /// The same, with the steps that follow its success.
    pub(crate) whole: String,
    /// Everything in it.
    pub(crate) source: String,
}

/// The identity of a step that is done: the name that the file gives it, or else a hash of its
/// text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum StepId {
    Name(String),
    Text(String),
}

/// The action after a step that has failed permanently.
#[derive(Clone, Debug, Default)]
pub(crate) enum AfterFailure {
    #[default]
    Stop,
    Continue,
    Fallback(Script),
    /// Run these steps, then fail.
    Handle(Steps),
    Repair(Repair),
}

/// Steps that repair the cause of a failure; after them, the step starts over.
#[derive(Clone, Debug)]
pub(crate) struct Repair {
    pub(crate) steps: Steps,
    /// The number of times that they may run.
    pub(crate) rounds: u32,
    /// Set if the step fails when the repair did not help; otherwise the next step follows.
    pub(crate) fails: bool,
}

/// The part of a step's output that is kept, and its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) format: CaptureFormat,
}

/// An edit of the `capture` of a step that is done.
#[derive(Debug)]
pub(crate) struct CaptureEdit {
    was: Option<Capture>,
    is: Option<Capture>,
    /// Set if steps that remain use the value, which is not stored.
    pub(super) is_needed: bool,
}

/// The format of an output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum CaptureFormat {
    #[default]
    String,
    Number,
    Boolean,
    Json,
    Lines,
}

impl CaptureFormat {
    /// All formats with their names.
    pub(crate) const NAMES: [(&str, Self); 5] = [
        ("string", Self::String),
        ("number", Self::Number),
        ("boolean", Self::Boolean),
        ("json", Self::Json),
        ("lines", Self::Lines),
    ];
}

impl Capture {
    /// Parses an output.
    ///
    /// # Errors
    /// The output does not have this format.
    pub(super) fn read(&self, output: &str) -> Result<Value, String> {
        let text = output.trim();
        let value = match self.format {
            CaptureFormat::String => Some(output.into()),
            CaptureFormat::Lines => Some(output.lines().collect()),
            CaptureFormat::Json => serde_json::from_str(text).ok(),
            CaptureFormat::Number => serde_json::from_str(text).ok().filter(Value::is_number),
            CaptureFormat::Boolean => text.parse().ok().map(Value::Bool),
        };
        value.ok_or_else(|| {
            let is = match self.format {
                CaptureFormat::Boolean => "neither `true` nor `false`",
                CaptureFormat::Number => "not a number",
                _ => "not JSON",
            };
            format!("its output, to be captured as `{}`, is {is}", self.name)
        })
    }

    /// The result of a step that has failed.
    pub(super) fn failed(stdout: &str, stderr: &str, exit_code: Option<i32>) -> Captured {
        Captured { value: stdout.into(), success: false, exit_code, stderr: stderr.to_owned() }
    }
}

impl fmt::Display for Capture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`capture: {}`", self.name)?;
        match CaptureFormat::NAMES.iter().find(|(_, format)| *format == self.format) {
            Some((name, format)) if *format != CaptureFormat::default() => {
                write!(f, " and `capture_format: {name}`")
            }
            _ => Ok(()),
        }
    }
}

impl CaptureEdit {
    /// Compares the `capture` of a step that is done with the edited one; `None` if they are the
    /// same. `needed` are the names that the remaining steps use.
    pub(crate) fn find(
        was: Option<&Capture>,
        is: Option<&Capture>,
        needed: &BTreeSet<&str>,
    ) -> Option<Self> {
        let is_needed = is.is_some_and(|is| needed.contains(is.name.as_str()));
        (was != is).then(|| Self { was: was.cloned(), is: is.cloned(), is_needed })
    }

    /// The same, if the remaining steps need the value.
    pub(crate) fn needed(self) -> Option<Self> {
        self.is_needed.then_some(self)
    }

    fn capture_text(capture: Option<&Capture>) -> String {
        capture.map_or_else(|| "no `capture`".to_owned(), Capture::to_string)
    }

    pub(super) fn was(&self) -> String {
        Self::capture_text(self.was.as_ref())
    }

    pub(super) fn is(&self) -> String {
        Self::capture_text(self.is.as_ref())
    }

    /// Describes the edit of the step with this number.
    pub(crate) fn described(&self, number: usize) -> String {
        let unstored = match (&self.was, &self.is) {
            (_, Some(is)) if !self.is_needed => {
                format!("; the value of `${{{}}}` was not stored", is.name)
            }
            (Some(was), Some(is)) if was.name == is.name => {
                format!("; later steps use `${{{}}}`, which was stored in another format", is.name)
            }
            (_, Some(is)) => {
                format!("; later steps use `${{{}}}`, whose value was not stored", is.name)
            }
            (_, None) => String::new(),
        };
        format!("with {}, but step {number} now has {}{unstored}", self.was(), self.is())
    }
}

impl AfterFailure {
    /// The steps that may run after the failure.
    pub(crate) fn steps(&self) -> Option<&Steps> {
        match self {
            Self::Handle(steps) => Some(steps),
            Self::Repair(repair) => Some(&repair.steps),
            Self::Stop | Self::Continue | Self::Fallback(_) => None,
        }
    }

    /// Returns how many times the repair may run.
    pub(super) fn repairs(&self) -> u32 {
        match self {
            Self::Repair(repair) => repair.rounds,
            _ => 0,
        }
    }
}

impl Steps {
    /// Returns all placeholders of the steps and of their handlers, except for those in conditions.
    pub(crate) fn placeholders(&self) -> Vec<&Placeholder> {
        self.0.iter().flat_map(Step::placeholders).collect()
    }

    /// Returns the names of all captured outputs that the steps and their handlers use.
    pub(crate) fn used_captures(&self) -> BTreeSet<&str> {
        self.0.iter().flat_map(Step::used_captures).collect()
    }
}

impl Step {
    pub(crate) fn new(label: String, text: StepText, run: Run) -> Self {
        let once = Policy::new().attempts(1);
        let retrier = retrier(&label, &once.into());
        Self {
            label,
            text,
            run,
            retrier,
            is_retried: false,
            abort_on: ExitCodes::default(),
            timeout: None,
            // As for a call: a step does not wait for longer just because it waits in a store.
            max_retry_after: Bound::Limited(once.get_max_retry_after()),
            max_postponed: MAX_POSTPONED,
            env: Vec::new(),
            working_dir: None,
            when: None,
            capture: None,
            after_failure: AfterFailure::Stop,
            on_success: None,
        }
    }

    /// Returns all placeholders of the step and of its handlers, except for those in conditions.
    fn placeholders(&self) -> Vec<&Placeholder> {
        let mut all: Vec<_> = self.run.placeholders().collect();
        all.extend(self.env.iter().flat_map(|(_, value)| value.placeholders()));
        all.extend(self.working_dir.iter().flat_map(Template::placeholders));
        if let AfterFailure::Fallback(script) = &self.after_failure {
            all.extend(&script.values);
        }
        all.extend(self.lists().flat_map(Steps::placeholders));
        all
    }

    /// The steps that may follow it.
    fn lists(&self) -> impl Iterator<Item = &Steps> {
        self.on_success.iter().chain(self.after_failure.steps())
    }

    /// Returns the names of the captured outputs that the step and its handlers use.
    pub(crate) fn used_captures(&self) -> BTreeSet<&str> {
        let conditions = self.when.iter().flat_map(Expression::references);
        let own = self.placeholders().into_iter().chain(conditions);
        let mut names: BTreeSet<_> = own.filter_map(Placeholder::captured).collect();
        names.extend(self.lists().flat_map(Steps::used_captures));
        names
    }

    /// The id of the step, once it is done.
    pub(crate) fn id(&self) -> StepId {
        self.id_or(&self.text.whole)
    }

    /// The id of the step while the steps run that follow its success.
    pub(super) fn command_id(&self) -> StepId {
        self.id_or(&self.text.command)
    }

    fn id_or(&self, text: &str) -> StepId {
        if self.text.is_named {
            StepId::Name(self.label.clone())
        } else {
            StepId::Text(text.to_owned())
        }
    }

    /// Sets how the step is retried, with its own `max_retry_after`.
    pub(crate) fn retry(mut self, mut config: RetryConfig, codes: CodeMatchers) -> Self {
        config.bare_policy = config.bare_policy.with_max_retry_after(self.max_retry_after);
        self.retrier = retrier(&self.label, &config);
        if let Some(codes) = codes.retry_on {
            self.retrier = self.retrier.when(move |error| codes.matches(error));
        }
        self.abort_on = codes.abort_on;
        self.is_retried = true;
        self
    }

    /// The retry policy, if the step has one.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.is_retried.then(|| self.retrier.policy())
    }

    /// Returns whether the error is one that another attempt would not cure.
    pub(super) fn is_final(&self, error: &StepError) -> bool {
        error.is_payload() || self.abort_on.matches(error)
    }

    pub(super) fn limit(&self) -> Option<Duration> {
        self.timeout.into_iter().chain(self.retrier.policy().get_timeout()).min()
    }
}

/// A retrier with the name of its step.
fn retrier(label: &str, config: &RetryConfig) -> Retrier<ForError<StepError>> {
    let retrier = Retrier::from_config(config).name(label.to_owned());
    retrier.retry_after(StepError::wait).classify(exit_codes::class)
}
