//! [`Step`]: a command, when it runs, what is kept of its output, and what follows it.

use std::time::Duration;

use retry_runtime::retrier::ForError;
use retry_runtime::{Bound, Class, Policy, Retrier, RetryConfig};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::steps::command_env::Run;
use crate::steps::exit_codes::{self, CodeMatchers, ExitCodes};
use crate::steps::process::StepError;
use crate::template::placeholder::{Meaning, Placeholder};
use crate::template::shell::Script;
use crate::template::text::Template;
use retry_workflow::condition::expression::Expression;
use retry_workflow::words::cut;

/// The length of a shown command, in characters: enough to recognise it.
const SHOWN: usize = 80;

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
    /// The classes of failures that use up no attempt.
    pub(super) uncounted: Class,
    /// Variables of this step only.
    pub(crate) env: Vec<(String, Template)>,
    /// Relative to the folder of the file.
    pub(crate) working_dir: Option<Template>,
    /// The step is skipped if this does not hold.
    pub(crate) when: Option<Expression<Placeholder>>,
    pub(crate) capture: Option<Capture>,
    /// Set if a later step uses its output by `${last.output}`.
    pub(crate) passes_output: bool,
    pub(crate) after_failure: AfterFailure,
    /// Steps to run after it has succeeded.
    pub(crate) on_success: Option<Steps>,
}

/// Hashes of a step's text in the file, by which it is recognised after an edit.
#[derive(Clone, Debug, Default)]
pub(crate) struct StepText {
    /// The command of the step: without its name, its retries, and the steps that follow it.
    pub(crate) command: String,
    /// The same, with the steps that follow its success.
    pub(crate) whole: String,
    /// Everything in it.
    pub(crate) source: String,
}

/// The identity of a step that has begun or finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StepId {
    hash: String,
    /// The beginning of its command, for messages.
    pub(super) command: String,
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
#[derive(Clone, Debug)]
pub(crate) struct Capture {
    pub(crate) name: String,
    pub(crate) format: CaptureFormat,
}

/// The format of an output.
#[derive(Clone, Copy, Debug, Default)]
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

    /// The placeholders of the command that replaces the failed one.
    fn fallback(&self) -> &[Placeholder] {
        match self {
            Self::Fallback(script) => &script.values,
            _ => &[],
        }
    }
}

impl Steps {
    /// Returns all placeholders of the steps and of their handlers, except for those in conditions.
    pub(crate) fn placeholders(&self) -> Vec<&Placeholder> {
        self.0.iter().flat_map(Step::placeholders).collect()
    }

    /// Creates a list, and notes which of its outputs a later step uses by `${last.output}`.
    pub(crate) fn new(steps: Vec<Step>) -> Self {
        let mut list = Self(steps);
        for at in 0..list.0.len() {
            let then = list.0[at].on_success.as_ref().map_or(&[][..], |then| &then.0);
            let is_passed = use_last_output(then, &LAST_OUTPUT)
                || use_last_output(&list.0[at + 1..], &LAST_OUTPUT);
            list.0[at].passes_output = is_passed;
        }
        list
    }
}

/// The placeholders for the last output. After a failure, the second one is the failed output.
const LAST_OUTPUT: [Meaning; 2] = [Meaning::LastOutput, Meaning::ShellOutput];

/// Returns whether one of these placeholders stands for the output of the step before these steps:
/// in the first one, or after steps that may be skipped.
fn use_last_output(steps: &[Step], placeholders: &[Meaning]) -> bool {
    let skipped = steps.iter().take_while(|step| step.when.is_some()).count();
    steps.iter().take(skipped + 1).any(|step| {
        let after_failure = step.after_failure.steps().map_or(&[][..], |steps| &steps.0);
        let conditions = step.when.iter().flat_map(Expression::references);
        step.own_placeholders().chain(conditions).any(|own| placeholders.contains(&own.meaning))
            || step.after_failure.fallback().iter().any(|own| own.meaning == Meaning::LastOutput)
            || use_last_output(after_failure, &placeholders[..1])
    })
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
            uncounted: Class::empty(),
            env: Vec::new(),
            working_dir: None,
            when: None,
            capture: None,
            passes_output: false,
            after_failure: AfterFailure::Stop,
            on_success: None,
        }
    }

    /// Returns all placeholders of the step and of its handlers, except for those in conditions.
    fn placeholders(&self) -> Vec<&Placeholder> {
        let mut all: Vec<_> = self.own_placeholders().collect();
        all.extend(self.after_failure.fallback());
        let lists = self.on_success.iter().chain(self.after_failure.steps());
        all.extend(lists.flat_map(Steps::placeholders));
        all
    }

    /// The placeholders of its command and of the command's environment.
    fn own_placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        let templates = self.env.iter().map(|(_, value)| value).chain(&self.working_dir);
        self.run.placeholders().chain(templates.flat_map(Template::placeholders))
    }

    /// The id of the step, once it has finished.
    pub(crate) fn id(&self) -> StepId {
        self.identified_by(&self.text.whole)
    }

    /// The id of the step until it has finished, also while the steps run that follow its success.
    pub(super) fn command_id(&self) -> StepId {
        self.identified_by(&self.text.command)
    }

    fn identified_by(&self, hash: &str) -> StepId {
        StepId { hash: hash.to_owned(), command: cut(self.run.written().trim(), SHOWN) }
    }

    /// Sets how the step is retried, with its own `max_retry_after`.
    pub(crate) fn retry(
        mut self,
        mut config: RetryConfig,
        codes: CodeMatchers,
        postpones: bool,
    ) -> Self {
        self.uncounted = config.uncounted.unwrap_or_default();
        // The limits of the retries do not count what is postponed.
        config.uncounted.take_if(|_| postpones);
        config.bare_policy = config.bare_policy.with_max_retry_after(self.max_retry_after);
        self.retrier = retrier(&self.label, &config);
        if let Some(codes) = codes.retry_on {
            self.retrier = self.retrier.when(move |error| codes.matches(error));
        }
        self.abort_on = codes.abort_on;
        self.is_retried = true;
        self
    }

    /// The kinds of failure that use up no attempt.
    pub(crate) fn uncounted(&self) -> Vec<&'static str> {
        let names = Class::NAMES.into_iter().chain([(Class::CONNECT, "connect")]);
        names.filter(|(kind, _)| self.uncounted.contains(*kind)).map(|(_, name)| name).collect()
    }

    /// The retry policy, if the step has one.
    pub(crate) fn policy(&self) -> Option<&Policy> {
        self.is_retried.then(|| self.retrier.policy())
    }

    /// Returns whether the error is one that another attempt would not cure.
    pub(super) fn is_final(&self, error: &StepError) -> bool {
        error.is_final() || self.abort_on.matches(error)
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
