//! A step: what it runs, when and where, and what is kept of its output.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use regex::{Captures, Regex};
use retry_rules::file::{Keys as _, first_name};
use retry_rules::suggest::shortened;
use retry_runtime::file::{Draft, Span};
use retry_runtime::{Bound, RetryConfig, RetryKeys, Rule, Rules, Style};

use super::keys::STEP;
use super::step_text::step_text;
use super::{Forms, first_key_span, has_misspelt};
use crate::file::environment::NeededVariable;
use crate::steps::command_env::Run;
use crate::steps::exit_codes::{CodeMatchers, ExitCodes};
use crate::steps::step::{AfterFailure, Capture, CaptureFormat, Step, Steps};
use crate::template::available::{A_TASK, AT_THE_END, AvailableValues};
use crate::template::error::TemplateError;
use crate::template::parse::{Braced, braced, misnamed, named};
use crate::template::placeholder::{CapturedName, Placeholder, Placeholders};
use crate::template::shell::Script;
use crate::template::text::Template;
use crate::yaml::node::{Node, Value};
use crate::yaml::span::Mistake;
use retry_workflow::condition::expression::Expression;

/// The key of a step that bounds the waits of servers.
const MAX_RETRY_AFTER: &str = "max_retry_after";

/// The key of a step that bounds how long it may be postponed.
const MAX_POSTPONED: &str = "max_postponed";

/// The kinds of failure that use up no attempt.
const UNCOUNTED: &str = "uncounted";

/// The key of the error policy for its breaker.
const CIRCUIT_BREAKER: &str = "circuit_breaker";

/// The key for the action after the last attempt, in a step or in its `retry_config`.
const ON_FAILURE: &str = "on_failure";

/// The keys that a `retry_config` of a step must not have, and why.
pub(super) const REJECTED: [(&[&str], &str); 4] = [
    (
        &["deadline"],
        "a `deadline` bounds a call in one process, but a step may wait in its store for days: use \
         a `retry_budget` or a `max_elapsed`, which still apply after a restart, or a `timeout` for \
         each attempt",
    ),
    (
        &["hedge", "max_hedges"],
        "a hedge begins a second attempt while the first one runs, but a step is worked on once at \
         a time: remove it",
    ),
    (
        &[MAX_RETRY_AFTER, MAX_POSTPONED],
        "this is a key of the step: write it beside `retry_config`, not inside",
    ),
    (
        &[CIRCUIT_BREAKER],
        "`circuit_breaker` belongs to `error_policy`, because it stops the items of a map: move it \
         there",
    ),
];

/// The most obvious ways to pass a value to a shell as code. Each has "|" or "xargs".
static INTO_A_SHELL: LazyLock<Regex> = LazyLock::new(|| {
    let shell = r"(?:/\S*/)?(?:ba|da|k|z)?sh";
    let pattern = format!(
        r"[^|]\|&?\s*(?:sudo\s+)?{shell}(?:[\s;&|)]|$)|\bxargs\b[^|;&\n]*\s{shell}(?:\s|$)"
    );
    Regex::new(&pattern).expect("a pattern of ours")
});

/// A value in the code that a program passes to a shell. Each has "flock" or "script".
static TAKES_CODE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b(?:flock|script)\b[^|;&\n]*\s-[a-zA-Z]*c\b[^|;&\n]*\$\{")
        .expect("a pattern of ours")
});

/// A pipe into a program that always succeeds, at the end of a script or before `&&`. Each has "|".
static HIDES_FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"[^|]\|&?\s*(tee|ts|logger|cat)\b[^|;&\n]*(?:&&|\s*$)").expect("a pattern of ours")
});

/// The placeholders of other tools: `$item.id`, `{{ item.id }}`. Each has one of [`SIGNS`].
static OTHER_PLACEHOLDERS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\$\.?(?P<shell>(?:item|map)\.[\w.]*\w)|\{\{\s*(?P<braces>(?:item|map)(?:\.\w+)*)\s*\}\}",
    )
    .expect("a pattern of ours")
});

const SIGNS: [&str; 4] = ["$item.", "$map.", "$.", "{{"];

/// Finds a pattern in a text that has one of the signs that each match has: compiling a pattern takes
/// longer than reading a file.
fn find<'t>(pattern: &LazyLock<Regex>, signs: &[&str], text: &'t str) -> Option<Captures<'t>> {
    signs.iter().any(|sign| text.contains(sign)).then(|| pattern.captures(text))?
}

const ENDLESS: &str = "this step cannot be postponed, so failures that use up no attempt may never \
                       end: add a `max_elapsed`, or a `retry_budget` and waits longer than 0s";

const PIPED: &str = "a shell reads its code from the output of this step, and a value in it could \
                     run as code: pass values as arguments, as in `sh -c 'echo \"$1\"' sh \
                     ${item.id}`";

const PASSED_TO_A_SHELL: &str = "this program passes its argument to a shell, and a value in it \
                                 would run as code: write `sh -c 'echo \"$1\"' sh ${item.id}` as \
                                 its arguments, without `-c` or `-S`";

const CODE: &str = "this is shell code, and a value in it would run as code: pass values as \
                    arguments, as in [sh, -c, 'echo \"$1\"', sh, \"${item.id}\"]";

/// Returns which argument of a program is code, if the program is a shell.
fn code_of_shell(program: &str, arguments: &[Node]) -> Option<usize> {
    let name = program.rsplit('/').next().unwrap_or_default();
    if !["sh", "bash", "dash", "ksh", "zsh"].contains(&name) {
        return None;
    }
    let asks = |node: &Node| matches!(&node.value, Value::Text(text) if text.starts_with('-') && text.contains('c'));
    let code = arguments.iter().position(asks)? + 1;
    (code < arguments.len()).then_some(code)
}

/// The keys of a step's `retry_config`.
pub(super) fn retry_keys() -> Vec<&'static str> {
    RetryKeys::default().keys().iter().chain(&[ON_FAILURE]).copied().collect()
}

impl Forms<'_> {
    /// A list of steps, or a single one.
    pub(super) fn steps(&mut self, node: &Node, available: AvailableValues<'_>) -> Steps {
        if let Value::Map(entries) = &node.value
            && let [(first, _), ..] = entries.as_slice()
            && entries.iter().all(|(key, value)| {
                !STEP.contains(&key.name.as_str()) && matches!(value.value, Value::Map(_))
            })
        {
            let message = format!(
                "these steps are a map: write a list, and each name in its step, such as \
                 `- name: {}`",
                first.name
            );
            return self.refuse(first.span, message).unwrap_or_default();
        }
        let list = match &node.value {
            Value::List(_) | Value::Map(_) => node.each(),
            _ => {
                let expected = "a list of steps, such as `[{ shell: ./build.sh }]`";
                self.unexpected::<&[Node]>(node, expected).unwrap_or_default()
            }
        };
        if list.is_empty() && matches!(node.value, Value::List(_)) {
            let message = "there are no steps here: add one, such as `[{ shell: ./build.sh }]`";
            self.wrong(node.span, message);
        }
        let mut steps = Vec::new();
        let mut captured = available.captured.to_vec();
        for (index, node) in list.iter().enumerate() {
            let available = AvailableValues {
                last: available.last || index > 0,
                captured: &captured,
                ..available
            };
            let step = self.step(node, format!("step {}", index + 1), available);
            captured.extend(captured_name(node));
            steps.extend(step);
        }
        Steps::new(steps)
    }

    fn step(&mut self, node: &Node, label: String, available: AvailableValues<'_>) -> Option<Step> {
        let written = node.scalar().and_then(|_| node.written(&self.source.text));
        let step = format!("`shell: {}`", written.unwrap_or("./build.sh"));
        self.entries(node, &step, STEP)?;
        self.read_step(node, label, available)
    }

    /// Reads a step from a map whose keys have been checked.
    pub(super) fn read_step(
        &mut self,
        node: &Node,
        label: String,
        available: AvailableValues<'_>,
    ) -> Option<Step> {
        let called = match available.label {
            one @ (AT_THE_END | A_TASK) => one,
            _ if available.last => "this step",
            _ => "the first step",
        };
        let available = AvailableValues { label: called, ..available };
        let label = match node.get("name") {
            Some(name) => self.text(name)?.to_owned(),
            None => label,
        };
        let outside = self.needed.len();
        let run = self.run(node, available);
        let is_whole = run.is_some();
        // Continue with a placeholder, to report other mistakes in the step as well.
        let run = run.unwrap_or_else(|| Run::Agent(Template::default()));
        let mut step = Step::new(label, step_text(node), run);
        step.timeout = node.get("timeout").and_then(|node| self.timeout(node));
        if let Some(longest) = self.max_retry_after(node) {
            step.max_retry_after = longest;
        }
        if let Some(most) = node.get(MAX_POSTPONED)
            && let Some(most) = self.max_postponed(most, available)
        {
            step.max_postponed = most;
        }
        step.env = node.get("env").map(|env| self.step_env(env, available)).unwrap_or_default();
        step.working_dir =
            node.get("working_dir").and_then(|folder| self.template(folder, available));
        step.when = node.get("when").and_then(|when| self.condition(when, available));
        step.capture = self.capture(node);
        let mut captured = available.captured.to_vec();
        captured.extend(captured_name(node));
        let own = AvailableValues { captured: &captured, ..available };
        let then = AvailableValues { last: true, ..own };
        step.on_success = node.get("on_success").map(|node| self.script_or_steps(node, then));
        let config = node.get("retry_config");
        let retry = config.map(|config| self.retry_config(config, available.postpones));
        let (retry, codes) = retry.unwrap_or_default();
        let inner = AvailableValues { error: true, postpones: false, ..own };
        let inside = config.and_then(|config| config.get(ON_FAILURE));
        step.after_failure = match (node.get(ON_FAILURE), inside) {
            (Some(own), Some(_)) => {
                let message = "`on_failure` is set twice, here and in `retry_config`: keep one";
                self.refuse(own.span, message)
            }
            (Some(action), None) | (None, Some(action)) => self.after_failure(action, inner),
            (None, None) => Some(AfterFailure::Stop),
        }?;
        let step = match retry {
            Some(retry) => step.retry(retry, codes, available.postpones),
            None => step,
        };
        let sets = |name: &str| step.env.iter().any(|(own, _)| own == name);
        let mut at = 0..;
        self.needed.retain(|needed| at.next() < Some(outside) || !sets(&needed.name));
        is_whole.then_some(step)
    }

    fn run(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<Run> {
        const KINDS: [&str; 3] = ["exec", "shell", "claude"];

        let mut kinds = KINDS.into_iter().filter_map(|kind| Some((kind, node.get(kind)?)));
        let Some((kind, what)) = kinds.next() else {
            let message = "this step does nothing: write `exec: [./build.sh]`, `shell: ./build.sh` \
                           or `claude: \"Fix the tests\"`";
            if !has_misspelt(node, &KINDS) {
                self.wrong(first_key_span(node), message);
            }
            return None;
        };
        if let Some((_, second)) = kinds.next() {
            let message =
                "a step has only one of `exec`, `shell` and `claude`: make this a separate step";
            return self.refuse(second.span, message);
        }
        match kind {
            "exec" => self.exec(what, available),
            "shell" => self.script(what, available).map(Run::Shell),
            _ => self.template(what, available).map(Run::Agent),
        }
    }

    /// A program and its arguments.
    fn exec(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<Run> {
        let Value::List(words) = &node.value else {
            let expected = "a list of the program and its arguments, such as `[\"./import.sh\", \
                            \"--id=${item.id}\"]`";
            return self.unexpected(node, expected);
        };
        let Some((program, arguments)) = words.split_first() else {
            let message = "this list is empty: write the program and its arguments";
            return self.refuse(node.span, message);
        };
        let arguments: Vec<_> =
            arguments.iter().map(|word| self.argument(word, available)).collect();
        let name = self.text(program)?;
        let template = self.argument(program, available)?;
        if let Some(placeholder) = template.placeholders().next() {
            let message = format!(
                "`{}` is not allowed here: a value can be an argument, but not a program or part \
                 of its name; write the name here",
                placeholder.written
            );
            return self.refuse(placeholder.span, message);
        }
        let arguments: Vec<_> = arguments.into_iter().collect::<Option<_>>()?;
        let code = code_of_shell(name, &words[1..]);
        if let Some(code) = code.filter(|at| arguments[*at].placeholders().next().is_some()) {
            self.hints.push(Mistake::at(words[code + 1].span, CODE));
        }
        Some(Run::Exec(name.to_owned(), arguments))
    }

    /// Reads an element of `exec`.
    fn argument(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<Template> {
        let text =
            if let Value::Text(text) = &node.value { text.as_str() } else { self.text(node)? };
        self.without_nul(node, text)?;
        for (at, _) in text.match_indices("${").filter(|(at, _)| !text[..*at].ends_with('$')) {
            let written = text[at..].find('}').map(|end| &text[at..=at + end]);
            if let Some(written) = written
                && let Ok(Braced::Shell) = braced(&written[2..written.len() - 1], at, available)
            {
                let span = node.span_within(&self.source.text, at, written);
                let message = format!(
                    "no shell expands `{written}` here: use `shell`, or write `$${{` for the \
                     literal characters"
                );
                self.wrong(span, message);
            }
        }
        self.hint_at_other_placeholders(node, text);
        let template = Template::parse(text, available);
        self.located(node, template)
    }

    /// Reads the longest wait that a server may ask for, a key of the step.
    fn max_retry_after(&mut self, step: &Node) -> Option<Bound> {
        step.get(MAX_RETRY_AFTER)?;
        let draft = step.parse_only::<Draft>(&[MAX_RETRY_AFTER], &[]);
        let policy = draft.and_then(|draft| {
            let policy = draft.finish(Style::Command);
            policy.map_err(|invalid| step.mistake_at(invalid.keys(), &invalid))
        });
        self.parsed(policy).map(|policy| policy.max_retry_after_bound())
    }

    /// Reads how long an item may be postponed, a key of the step.
    fn max_postponed(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<Bound> {
        if !available.postpones {
            return self.refuse(
                node.span,
                "this step cannot be postponed, only steps of `commands`, `agent_template`, \
                 `reduce` and `tasks` can: remove `max_postponed`",
            );
        }
        if node.scalar().as_deref() == Some("unlimited") {
            return Some(Bound::Unlimited);
        }
        self.parsed(node.parse::<Span>()).map(|span| Bound::Limited(span.into()))
    }

    /// Rejects a custom backoff without delays: each wait would be `max_delay`.
    pub(super) fn needs_delays(&mut self, config: &Node) {
        let backoff = config.get("backoff").and_then(|backoff| backoff.get("custom"));
        if let Some(delays) = backoff.and_then(|custom| custom.get("delays"))
            && delays.each().is_empty()
        {
            let message = "a custom backoff needs delays: write some, such as `[500ms, 1s]`";
            self.wrong(delays.span, message);
        }
    }

    /// Reads how a step is retried that may come back later, or not.
    fn retry_config(
        &mut self,
        config: &Node,
        postpones: bool,
    ) -> (Option<RetryConfig>, CodeMatchers) {
        self.needs_delays(config);
        for (keys, why) in REJECTED {
            if let Some(node) = keys.iter().find_map(|key| config.get(key)) {
                self.wrong(node.span, why);
            }
        }
        // A bare number means seconds, as it does beside `retry_config`.
        let timeout = config.get("timeout").and_then(Node::in_seconds);
        let mut instead: Vec<_> = timeout.map(|timeout| ("timeout", timeout)).into_iter().collect();
        let [(retry_on, retry_alone), (abort_on, abort_alone)] =
            ["retry_on", "abort_on"].map(|key| self.code_matchers(config, key, &mut instead));
        let codes = CodeMatchers {
            retry_on: retry_on.map(Arc::new),
            abort_on: abort_on.unwrap_or_default(),
        };
        let keys: Option<RetryKeys> = if let Value::Map(_) = config.value {
            let keys = self.once(config);
            let mut keys = self.known_keys(config, keys, &retry_keys());
            keys.retain(|key| *key != ON_FAILURE);
            self.parse_keys(config, keys, &instead)
        } else {
            self.unexpected(config, "a map of retry settings, such as `{ attempts: 3 }`")
        };
        let mut read = keys.and_then(|mut keys| {
            // `max_postponed` bounds it, or the message below says what does.
            keys.spared = Rules::NONE.with(Rule::UncountedUnbounded);
            let read = keys.finish(Style::Command);
            self.parsed(read.map_err(|invalid| config.mistake_at(invalid.keys(), &invalid)))
        });
        if let Some(retry) = &mut read {
            retry.retry_on.take_if(|_| retry_alone);
            retry.abort_on.take_if(|_| abort_alone);
            if let Some(uncounted) = config.get(UNCOUNTED)
                && !postpones
                && !retry.bare_policy.is_bounded_by_time()
            {
                self.wrong(uncounted.span, ENDLESS);
            }
        }
        (read, codes)
    }

    /// Reads the exit codes in a list of matchers, and puts the list of all others in `instead` of
    /// it. Also returns whether there are no others: a word then stands for the codes, so that the
    /// rules see that there is a list.
    fn code_matchers(
        &mut self,
        config: &Node,
        key: &'static str,
        instead: &mut Vec<(&str, Node)>,
    ) -> (Option<ExitCodes>, bool) {
        let Some(node @ Node { value, span }) = config.get(key) else { return (None, false) };
        if let Value::Map(_) = value {
            return (None, false);
        }
        let list = node.each();
        let (others, codes) = self.exit_codes(list, !matches!(value, Value::List(_)));
        if others.len() == list.len() {
            return (None, false);
        }
        let mut others: Vec<_> = others.into_iter().cloned().collect();
        let is_alone = others.is_empty();
        if is_alone {
            others.push(Node { value: Value::Text("transient".to_owned()), span: *span });
        }
        instead.push((key, Node { value: Value::List(others), span: *span }));
        (codes, is_alone)
    }

    /// The keys of a map, with only one of each pair that means the same.
    fn once<'a>(&mut self, node: &'a Node) -> Vec<&'a str> {
        let Value::Map(entries) = &node.value else { return Vec::new() };
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in entries {
            let name = key.name.as_str();
            if let Some(known) = keys.iter().find(|key| first_name(key) == first_name(name)) {
                self.either(node, known, name);
            } else if ![MAX_POSTPONED, CIRCUIT_BREAKER].contains(&name) {
                // These are reported by themselves.
                keys.push(name);
            }
        }
        keys
    }

    /// The value of one of two keys that mean the same.
    pub(super) fn either<'a>(
        &mut self,
        node: &'a Node,
        name: &str,
        other: &str,
    ) -> Option<&'a Node> {
        match (node.get(name), node.get(other)) {
            (Some(one), Some(two)) => {
                if !one.has_same_contents(two) {
                    self.wrong(
                        two.span,
                        format!("`{name}` and `{other}` are the same setting, but have different values: keep one"),
                    );
                }
                Some(one)
            }
            (one, two) => one.or(two),
        }
    }

    /// A time limit: a duration, or a number of seconds.
    pub(super) fn timeout(&mut self, node: &Node) -> Option<Duration> {
        let in_seconds = node.in_seconds();
        let span = in_seconds.as_ref().unwrap_or(node).parse::<Span>();
        let limit = Duration::from(self.parsed(span)?);
        if limit.is_zero() {
            self.wrong(
                node.span,
                "a timeout of 0 ends every command at once: write one such as `10m`",
            );
        }
        Some(limit)
    }

    fn condition(
        &mut self,
        node: &Node,
        available: AvailableValues<'_>,
    ) -> Option<Expression<Placeholder>> {
        if let Value::Bool(holds) = node.value {
            return Some(Expression::Literal(holds.into()));
        }
        let text = self.text(node)?;
        let source = &self.source.text;
        let parsed = Expression::parse(text, |name, at| {
            let inner = text[at..].starts_with("${");
            let written = if inner { format!("${{{name}}}") } else { name.to_owned() };
            let mut placeholder = named(name, written, at, available)?;
            placeholder.span = node.span_within(source, at, &placeholder.written);
            Ok(placeholder)
        });
        self.valid(node, parsed.map_err(|error| vec![error.into()]))
    }

    /// Reads the part of the output to keep. `true` keeps it for the next step only, which has it
    /// anyway.
    fn capture(&mut self, node: &Node) -> Option<Capture> {
        let format = node.get("capture_format");
        let capture = self.either(node, "capture", "capture_output");
        let name = match capture {
            Some(Node { value: Value::Bool(_), .. }) | None => {
                if let Some(format) = format {
                    self.wrong(
                        format.span,
                        "`capture_format` needs a captured output: add `capture: name`",
                    );
                }
                return None;
            }
            Some(capture) => self.text(capture)?,
        };
        if let (Some(why), Some(capture)) = (misnamed(name), capture) {
            self.wrong(
                capture.span,
                format!("the output cannot be captured as `{}`: {why}", shortened(name)),
            );
        }
        let format = match format {
            None => CaptureFormat::String,
            Some(node) => self.choice(node, "format", &CaptureFormat::NAMES)?,
        };
        Some(Capture { name: name.to_owned(), format })
    }

    /// Hints at what stays as it is written, or is a variable of the shell.
    fn hint_at_other_placeholders(&mut self, node: &Node, text: &str) {
        let Some(found) = find(&OTHER_PLACEHOLDERS, &SIGNS, text) else { return };
        let Some(field) = found.iter().skip(1).flatten().next() else { return };
        let whole = found.get_match();
        let (written, field) = (whole.as_str(), field.as_str());
        let message = if written.starts_with('$') && !written.starts_with("$.") {
            let (variable, rest) = field.split_at(field.find('.').unwrap_or(field.len()));
            format!(
                "`{written}` is the shell's variable `{variable}` and the text `{rest}`: write \
                 `${{{field}}}` for the value"
            )
        } else {
            format!("`{written}` is no placeholder here, and stays as it is: write `${{{field}}}`")
        };
        let span = node.span_within(&self.source.text, whole.start(), written);
        self.hints.push(Mistake::at(span, message));
    }

    pub(super) fn template(
        &mut self,
        node: &Node,
        available: AvailableValues<'_>,
    ) -> Option<Template> {
        let text = self.text(node)?;
        self.hint_at_other_placeholders(node, text);
        let template = Template::parse(text, available);
        self.located(node, template)
    }

    pub(super) fn script(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<Script> {
        let text = self.text(node)?;
        self.without_nul(node, text)?;
        let script = Script::parse(text, available);
        let script = self.located(node, script)?;
        self.hint_at_other_placeholders(node, text);
        for (name, at) in &script.variables {
            let span = node.span_within(&self.source.text, *at, &format!("${{{name}}}"));
            self.needed.push(NeededVariable { name: name.clone(), span });
        }
        let mut hint = |at: usize, written: &str, message: &str| {
            let span = node.span_within(&self.source.text, at, written);
            self.hints.push(Mistake::at(span, message));
        };
        if !script.values.is_empty() {
            if let Some(found) = find(&INTO_A_SHELL, &["|", "xargs"], text) {
                let shell = found.get_match();
                let at = shell.start() + shell.as_str().find('|').unwrap_or(0);
                hint(at, "|", PIPED);
            }
            if let Some(found) = find(&TAKES_CODE, &["flock", "script"], text) {
                let code = found.get_match();
                hint(code.start(), code.as_str(), PASSED_TO_A_SHELL);
            }
        }
        if let Some(program) = find(&HIDES_FAILURE, &["|"], text).and_then(|pipe| pipe.get(1))
            && !text.contains("pipefail")
        {
            let name = program.as_str();
            let message = format!(
                "a failure before this pipe is hidden, because its status is that of `{name}`: \
                 write `exec: [bash, -o, pipefail, -c, \"…\"]`"
            );
            hint(program.start(), name, &message);
        }
        Some(script)
    }

    /// A list of steps, or a text, which is a shell command.
    pub(super) fn script_or_steps(&mut self, node: &Node, available: AvailableValues<'_>) -> Steps {
        if !matches!(node.value, Value::Text(_)) {
            return self.steps(node, available);
        }
        let script = self.script(node, available);
        let step = |script| Step::new("step 1".to_owned(), step_text(node), Run::Shell(script));
        Steps(script.map(step).into_iter().collect())
    }

    /// Unwraps a parse result: places the placeholders in the file, or reports the mistakes.
    pub(super) fn located<T: Placeholders>(
        &mut self,
        node: &Node,
        parsed: Result<T, Vec<TemplateError>>,
    ) -> Option<T> {
        let mut parsed = self.valid(node, parsed)?;
        for Placeholder { written, span, .. } in parsed.placeholders_mut() {
            *span = node.span_within(&self.source.text, span.start, written);
        }
        Some(parsed)
    }

    /// Unwraps a parse result, or reports the mistakes.
    fn valid<T>(&mut self, node: &Node, parsed: Result<T, Vec<TemplateError>>) -> Option<T> {
        let report = |errors| {
            for TemplateError { at, part, message } in errors {
                let span = node.span_within(&self.source.text, at, &part);
                self.wrong(span, message);
            }
        };
        parsed.map_err(report).ok()
    }
}

/// The names under which steps capture their output, whatever else is wrong with them.
pub(super) fn captured_names(steps: Option<&Node>) -> Vec<CapturedName> {
    steps.iter().flat_map(|steps| steps.each()).filter_map(captured_name).collect()
}

/// The name under which later steps know an output, whatever else is wrong with the step.
fn captured_name(node: &Node) -> Option<CapturedName> {
    let name = match &node.get("capture").or(node.get("capture_output"))?.value {
        Value::Text(name) => name.clone(),
        _ => return None,
    };
    let format = node.get("capture_format").map(|node| &node.value);
    let is_json = matches!(format, Some(Value::Text(word)) if word == "json" || word == "lines");
    Some(CapturedName { name, is_json })
}
