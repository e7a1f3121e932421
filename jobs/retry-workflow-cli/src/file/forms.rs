//! The syntax of a workflow file: its keys, their values, and which of them go together. All
//! mistakes are collected, each with its place.

mod environment;
mod steps;
mod step_text;
mod on_failure;
mod limits;
mod map;
mod tasks;
mod exit_codes;
mod form;
mod keys;
pub(super) mod schema;

use std::collections::BTreeMap;
use std::sync::Arc;

use retry_rules::suggest::{meant, nearest, number_meant};
use serde::de::DeserializeOwned;

use self::keys::{AGENT, MAP, MODES, STEP, TOP};
use self::steps::captured_names;
use super::{Schedule, WorkflowFile, WorkflowPlan, stem};
use crate::file::environment::NeededVariable;
use crate::steps::command_env::Agent;
use crate::steps::step::Steps;
use crate::template::available::{AT_THE_END, AvailableValues};
use crate::template::placeholder::CapturedName;
use crate::yaml::foreign_keys::{advice, key_of_others};
use crate::yaml::node::{Key, Node, Number, Value, known_here, unknown_key};
use crate::yaml::span::{FileError, Mistake, Source, SourceSpan};
use retry_workflow::job::{ErrorPolicyKeys, InvalidName, Moment};
use retry_workflow::{ErrorPolicy, Job, OnItemFailure};

type Entries<'a> = &'a [(Key, Node)];

struct Forms<'a> {
    source: &'a Arc<Source>,
    mistakes: Vec<Mistake>,
    hints: Vec<Mistake>,
    /// The variables that scripts need, and that their steps do not set.
    needed: Vec<NeededVariable>,
    /// The known keys that unknown ones, at these places, stand for.
    meant: Vec<(SourceSpan, String)>,
}

pub(super) fn read(source: &Arc<Source>) -> Result<WorkflowFile, FileError> {
    let mut root = Node::read(source)?;
    let mut forms = Forms::new(source);
    let read = forms.file(&root);
    match read {
        Some(read) if forms.mistakes.is_empty() => {
            return Ok(WorkflowFile { hints: forms.hints, needed: forms.needed, ..read });
        }
        // The values of misspelt keys may have mistakes, too; others follow from the wrong key alone.
        _ if !forms.meant.is_empty() => {
            root.rename(&forms.meant);
            let mut renamed = Forms::new(source);
            renamed.file(&root);
            let of_key =
                |mistake: &Mistake| forms.meant.iter().any(|(key, _)| mistake.span == Some(*key));
            forms.mistakes.retain(of_key);
            forms.mistakes.append(&mut renamed.mistakes);
        }
        _ => {}
    }
    Err(FileError::new(Arc::clone(source), forms.mistakes))
}

impl<'s> Forms<'s> {
    fn new(source: &'s Arc<Source>) -> Self {
        Self {
            source,
            mistakes: Vec::new(),
            hints: Vec::new(),
            needed: Vec::new(),
            meant: Vec::new(),
        }
    }

    fn wrong(&mut self, span: SourceSpan, message: impl Into<String>) {
        self.mistakes.push(Mistake::at(span, message));
    }

    /// Reports a mistake in place of a value.
    fn refuse<T>(&mut self, span: SourceSpan, message: impl Into<String>) -> Option<T> {
        self.wrong(span, message);
        None
    }

    /// Reports a value that is not what is expected.
    fn unexpected<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        self.refuse(node.span, format!("this is {}: write {expected}", node.kind()))
    }

    /// Reads the `keys` of a map, each of which may have a mistake.
    fn parse_keys<T: DeserializeOwned>(
        &mut self,
        node: &Node,
        mut keys: Vec<&str>,
        instead: &[(&str, Node)],
    ) -> Option<T> {
        let reported = self.mistakes.len();
        loop {
            let mistake = match node.parse_only(&keys, instead) {
                Ok(read) => return Some(read).filter(|_| self.mistakes.len() == reported),
                Err(mistake) => mistake,
            };
            let (wrong, count) = (node.entry_of(&mistake), keys.len());
            keys.retain(|key| Some(*key) != wrong);
            self.mistakes.push(mistake);
            if keys.len() == count {
                return None;
            }
        }
    }

    /// Reports an unknown key of a map, with the one that was meant if the map does not have it.
    fn unknown_key(&mut self, node: &Node, key: &Key, written: &str, known: &[&str]) {
        let absent = known.iter().copied();
        // A setting of a step may be written into a `retry_config` that is there.
        let absent = absent.filter(|key| *key == "retry_config" || node.get(key).is_none());
        let absent: Vec<_> = absent.collect();
        let message = match key_of_others(&key.name, written, known) {
            Some(cure) if known.contains(&&*cure) && !absent.contains(&&*cure) => {
                format!("`{}` is `{cure}` here, which is set as well: keep one", key.name)
            }
            _ => unknown_key(&key.name, written, &absent),
        };
        self.wrong(key.span, message);
        let of_all = known.iter().map(|key| (*key).to_owned()).collect();
        self.mistakes.last_mut().expect("just reported").known = of_all;
    }

    /// Returns the keys of a map that are known, and reports the others.
    fn known_keys<'a>(
        &mut self,
        node: &Node,
        mut keys: Vec<&'a str>,
        known: &[&str],
    ) -> Vec<&'a str> {
        let Value::Map(entries) = &node.value else { return keys };
        for (key, value) in entries {
            let name = key.name.as_str();
            if keys.contains(&name) && !known.contains(&name) && !key.is_ignored() {
                let written = value.scalar().unwrap_or_default();
                match advice(name, known) {
                    Some(hint) => self.wrong(key.span, format!("`{name}` {hint}: remove the key")),
                    None => self.unknown_key(node, key, &written, known),
                }
                keys.retain(|key| *key != name);
            }
        }
        keys
    }

    fn parsed<T>(&mut self, parsed: Result<T, Mistake>) -> Option<T> {
        parsed.map_err(|mistake| self.mistakes.push(mistake)).ok()
    }

    /// The entries of a map.
    fn map<'a>(&mut self, node: &'a Node, expected: &str) -> Option<Entries<'a>> {
        match &node.value {
            Value::Map(entries) => Some(entries),
            _ => self.unexpected(node, expected),
        }
    }

    /// The entries of a map that may have only these keys, and ignored ones such as `x-…`.
    fn entries<'a>(
        &mut self,
        node: &'a Node,
        expected: &str,
        known: &[&str],
    ) -> Option<Entries<'a>> {
        let entries = self.map(node, expected)?;
        let is_file = known.contains(&"commands");
        let has_steps = node.get("tasks").or_else(|| node.get("commands")).is_some();
        let has_only_steps = has_steps && node.get("map").is_none();
        for (key, value) in entries {
            let name = key.name.as_str();
            if known.contains(&name) || key.is_ignored() {
                continue;
            }
            let written = value.scalar().unwrap_or_default();
            let message = if let Some(hint) = advice(name, known) {
                format!("`{name}` {hint}: remove the key")
            } else if is_file && MAP.contains(&name) && has_only_steps {
                format!("`{name}` is for the items of a `map`, and this file has none: remove it")
            } else if let Some((place, cure)) = place_of(name, &written, known) {
                format!("`{name}` belongs to {place}: {cure}")
            } else {
                let other = key_of_others(name, &written, known);
                let here = other.as_deref().or_else(|| meant(name, known));
                // A list of items is not a map.
                let is_apt = |key: &&str| *key != "map" || matches!(value.value, Value::Map(_));
                let here = here.filter(|key| known.contains(key) && node.get(key).is_none());
                let here = here.filter(is_apt);
                self.meant.extend(here.map(|here| (key.span, here.to_owned())));
                self.unknown_key(node, key, &written, known);
                continue;
            };
            self.wrong(key.span, message);
        }
        Some(entries)
    }

    fn text<'a>(&mut self, node: &'a Node) -> Option<&'a str> {
        match &node.value {
            Value::Text(text) if text.trim().is_empty() => {
                self.refuse(node.span, "this text is empty: write a value")
            }
            Value::Text(text) => Some(text),
            Value::List(words) if words.iter().all(|word| word.scalar().is_some()) => {
                let words: Vec<_> = words.iter().filter_map(Node::scalar).collect();
                let are_commands = words.iter().any(|word| word.contains(' '));
                let text = words.join(if are_commands { " && " } else { " " });
                self.refuse(node.span, format!("this is a list: write the text `\"{text}\"`"))
            }
            Value::List(_) | Value::Map(_) | Value::Null => self.unexpected(node, "a text"),
            _ => {
                let quoted = format!("`\"{}\"`, in quotes", node.scalar().unwrap_or_default());
                self.unexpected(node, &quoted)
            }
        }
    }

    /// One of these words; `what` they are is the noun in the message.
    fn choice<T: Copy>(&mut self, node: &Node, what: &str, words: &[(&str, T)]) -> Option<T> {
        let word = self.text(node)?;
        if let Some((_, found)) = words.iter().find(|(name, _)| *name == word) {
            return Some(*found);
        }
        let names: Vec<_> = words.iter().map(|(name, _)| *name).collect();
        self.refuse(node.span, format!("unknown {what} `{word}`{}", known_here(word, &names)))
    }

    /// A whole number of items, of which 0 would be none.
    fn positive<T: DeserializeOwned + Default + PartialEq>(
        &mut self,
        node: &Node,
        key: &str,
    ) -> Option<T> {
        let number = self.parsed(node.parse::<T>())?;
        if number == T::default() {
            let message = format!("with `{key}: 0` nothing runs: write `1` or more");
            self.wrong(node.span, message);
        }
        Some(number)
    }

    /// Rejects a text that cannot be passed to a command.
    fn without_nul(&mut self, node: &Node, text: &str) -> Option<()> {
        let Some(at) = text.find('\0') else { return Some(()) };
        let span = node.span_within(&self.source.text, at, "");
        self.refuse(span, "a command cannot contain a NUL character: remove it")
    }

    fn file(&mut self, root: &Node) -> Option<WorkflowFile> {
        if matches!(root.value, Value::Null) {
            return self.refuse(
                root.span,
                "this file is empty: write `name`, `mode` and `commands`, `map` or `tasks`",
            );
        }
        if matches!(root.value, Value::List(_)) {
            let plan = WorkflowPlan::Standard(self.steps(root, AvailableValues::postponable()));
            return Some(WorkflowFile::new(self.source, Agent::default(), plan));
        }
        let what = "a map with `name`, `mode` and `commands`, or a list of steps";
        let entries = self.entries(root, what, TOP)?;
        let mode = self.mode(root, entries)?;
        self.reject_keys_of_other_modes(entries, mode);
        let name = match root.get("name") {
            Some(node) => self.name(node).unwrap_or_default().to_owned(),
            None => stem(&self.source.path),
        };
        let agent = root.get("agent").and_then(|node| self.agent(node)).unwrap_or_default();
        let environment = self.environment(root);
        let captured = captured_names(root.get("setup"));
        let handlers = self.handlers(root, &captured);
        let error_policy = self.error_policy(root, &handlers);
        let at_the_end = AvailableValues { label: AT_THE_END, ..AvailableValues::default() };
        let on_finish = root.get("on_finish").map(|node| self.steps(node, at_the_end));
        let plan = match mode {
            "mapreduce" => self.map_reduce(root, &captured),
            "graph" => self.graph(root),
            _ => self.standard(root),
        };
        let schedule = self.schedule(root, mode);
        let max_lost = root.get("max_lost").and_then(|most| match most.scalar().as_deref() {
            Some("unlimited") => Some(u32::MAX),
            _ => self.positive(most, "max_lost"),
        });
        Some(WorkflowFile {
            name,
            error_policy,
            handlers,
            on_finish,
            schedule,
            max_lost,
            environment,
            ..WorkflowFile::new(self.source, agent, plan?)
        })
    }

    /// Returns when its jobs begin.
    fn schedule(&mut self, root: &Node, mode: &str) -> Schedule {
        if let Some(node) = root.get("skip_after").filter(|_| mode != "mapreduce") {
            let message =
                "`skip_after` is for the items of a `map`, and this file has none: remove it";
            self.wrong(node.span, message);
        }
        let moment = |forms: &mut Self, key: &str| {
            let node = root.get(key)?;
            let moment = forms.text(node)?.parse::<Moment>();
            moment.map_err(|error| forms.wrong(node.span, error.to_string())).ok()
        };
        let not_before = moment(self, "not_before");
        let skip_after = moment(self, "skip_after");
        let is_too_early = match (not_before, skip_after) {
            (Some(Moment::At(begins)), Some(Moment::At(ends))) => ends <= begins,
            (Some(Moment::After(begins)), Some(Moment::After(ends))) => ends <= begins,
            // The time at which the job will be created is not known.
            _ => false,
        };
        if let (true, Some(node)) = (is_too_early, root.get("skip_after")) {
            self.wrong(
                node.span,
                "nothing begins before `not_before`, and this is no later: every item would be skipped",
            );
        }
        Schedule { not_before, skip_after }
    }

    /// The name of the workflow, from which the ids of its jobs are built.
    fn name<'a>(&mut self, node: &'a Node) -> Option<&'a str> {
        // Anything but a text is reported as such below.
        let text = if let Value::Text(text) = &node.value { text.as_str() } else { "-" };
        match Job::check_name(text) {
            Err(invalid) => {
                let span = match invalid {
                    InvalidName::Control { at, found } => {
                        node.span_within(&self.source.text, at, found.encode_utf8(&mut [0; 4]))
                    }
                    _ => node.span,
                };
                self.refuse(span, format!("this name cannot be used: {invalid}"))
            }
            Ok(()) => self.text(node),
        }
    }

    /// The mode that the file sets, or that its keys imply.
    fn mode(&mut self, root: &Node, entries: Entries<'_>) -> Option<&'static str> {
        if let Some(node) = root.get("mode") {
            return self.choice(node, "mode", &MODES.map(|(name, _)| (name, name)));
        }
        let of_key = |name: &str| MODES.iter().find(|(_, own)| own.contains(&name));
        let mode = entries.iter().find_map(|(key, _)| of_key(&key.name)).map(|(mode, _)| *mode);
        if mode.is_none() && !has_misspelt(root, TOP) {
            let message = "this workflow has nothing to do: write `commands`, `map` or `tasks`";
            self.wrong(first_key_span(root), message);
        }
        mode
    }

    /// Reports keys that belong to other modes.
    fn reject_keys_of_other_modes(&mut self, entries: Entries<'_>, mode: &str) {
        let keys_here =
            MODES.iter().find(|(name, _)| *name == mode).map(|(_, keys)| keys.join("`, `"));
        let here = keys_here.unwrap_or_default();
        for (Key { name, span, .. }, _) in entries {
            let mode_of_key = MODES.iter().find(|(_, keys)| keys.contains(&name.as_str()));
            if let Some((other, _)) = mode_of_key.filter(|(other, _)| *other != mode) {
                self.wrong(*span, format!("`{name}` belongs to `mode: {other}`, but this is `mode: {mode}`, which has `{here}`: change the mode, or remove the key"));
            }
        }
    }

    fn agent(&mut self, node: &Node) -> Option<Agent> {
        self.entries(node, "`program` and `args`", AGENT)?;
        let default = Agent::default();
        let program = match node.get("program") {
            Some(program) => self.text(program)?.to_owned(),
            None => default.program,
        };
        let args = match node.get("args") {
            Some(args) => self.parsed(args.parse::<Vec<String>>())?,
            // The default arguments belong to the default program.
            None if node.get("program").is_some() => Vec::new(),
            None => default.args,
        };
        for text in [&program].into_iter().chain(&args) {
            self.without_nul(node, text)?;
        }
        Some(Agent { program, args })
    }

    /// Reads the handlers, which may use what `setup` captures.
    fn handlers(&mut self, root: &Node, captured: &[CapturedName]) -> BTreeMap<String, Steps> {
        let Some(node) = root.get("handlers") else { return BTreeMap::new() };
        let entries = self.map(node, "a map of names and their steps").unwrap_or_default();
        let available =
            AvailableValues { item: true, error: true, captured, ..AvailableValues::default() };
        let read = |(key, steps): &(Key, Node)| (key.name.clone(), self.steps(steps, available));
        entries.iter().map(read).collect()
    }

    fn error_policy<'a>(
        &mut self,
        root: &'a Node,
        handlers: &BTreeMap<String, Steps>,
    ) -> ErrorPolicy {
        let Some(node) = root.get("error_policy") else { return ErrorPolicy::new() };
        let mut percents = Vec::new();
        for (key, what) in [
            ("max_failures", "`max_failures` is a number of items, not a share"),
            ("failure_threshold", "`failure_threshold` is a share of the items, from 0 to 1"),
        ] {
            let Some(node) = node.get(key) else { continue };
            let share = match &node.value {
                Value::Number(Number::Float(_), share) if key == "max_failures" => {
                    Some(share.clone()).filter(|share| share.starts_with("0."))
                }
                Value::Text(text) if text.ends_with('%') => number_meant(text),
                _ => None,
            };
            if let Some(share) = share {
                self.wrong(node.span, format!("{what}: write `failure_threshold: {share}`"));
                percents.push(key);
            }
        }
        let what = "a map, such as `{ on_item_failure: skip }`";
        let keys = |entries: Entries<'a>| entries.iter().map(|(key, _)| key.name.as_str());
        let names = self
            .map(node, what)
            .map(|entries| keys(entries).filter(|key| !percents.contains(key)).collect::<Vec<_>>());
        let mut names = names.map(|names| self.known_keys(node, names, ErrorPolicyKeys::below("")));
        for name in ["retry_config", "circuit_breaker"] {
            let Some(map @ Node { value: Value::Map(entries), .. }) = node.get(name) else {
                continue;
            };
            self.needs_delays(map);
            let known = ErrorPolicyKeys::below(name);
            let has_unknown =
                self.known_keys(map, keys(entries).collect(), known).len() < entries.len();
            if let Some(names) = names.as_mut().filter(|_| has_unknown) {
                names.retain(|known| *known != name);
            }
        }
        let keys = names.and_then(|names| self.parse_keys::<ErrorPolicyKeys>(node, names, &[]));
        let policy = keys.and_then(|keys| {
            let read = ErrorPolicy::try_from(keys);
            self.parsed(read.map_err(|invalid| node.mistake_at(invalid.keys(), &invalid)))
        });
        let Some(policy) = policy else {
            return ErrorPolicy::new();
        };
        if let OnItemFailure::Custom(name) = policy.get_on_item_failure()
            && !handlers.contains_key(name)
        {
            let span = node.get("on_item_failure").map_or(node.span, |action| {
                action.get("custom").map_or(action.span, |name| name.span)
            });
            let known: Vec<_> = ["dlq", "retry", "skip", "stop"]
                .into_iter()
                .chain(handlers.keys().map(String::as_str))
                .collect();
            let help = match meant(name, &known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!(
                    "add it under `handlers: {{ {name}: [ shell: … ] }}`, or choose one of `{}`",
                    known.join("`, `")
                ),
            };
            self.wrong(span, format!("there is no handler `{name}`: {help}"));
        }
        policy
    }

    fn standard(&mut self, root: &Node) -> Option<WorkflowPlan> {
        let commands = self.needed(root, "commands", "mode: standard")?;
        Some(WorkflowPlan::Standard(self.steps(commands, AvailableValues::postponable())))
    }

    /// The value of a required key.
    fn needed<'a>(&mut self, node: &'a Node, key: &str, what: &str) -> Option<&'a Node> {
        let found = node.get(key);
        if found.is_none() && !has_misspelt(node, &[key]) {
            self.wrong(first_key_span(node), format!("`{key}` is missing: `{what}` needs it"));
        }
        found
    }
}

/// Returns the part of a file that a key belongs to, perhaps by its name in another tool, and what to
/// do about it.
fn place_of(key: &str, written: &str, known: &[&str]) -> Option<(&'static str, String)> {
    let (is_file, is_map) = (known.contains(&"commands"), known.contains(&"agent_template"));
    let is_misspelt = nearest(key, known.iter().copied()).is_some();
    if key_of_others(key, written, known).is_some() {
        return None;
    }
    let step = if is_map { "a step of `agent_template`" } else { "a step" };
    let policy = ErrorPolicyKeys::below("");
    let places =
        [("`map`", MAP), (step, STEP), ("`error_policy`", policy), ("the top of the file", TOP)];
    // Anything else is only compared with the keys of a file.
    let places = if is_file || is_map { &places[..] } else { &places[3..] };
    places.iter().find_map(|(place, keys)| {
        if keys.contains(&key) {
            return Some((*place, "move it there".to_owned()));
        }
        let inside = key_of_others(key, written, keys).filter(|_| !is_misspelt && *keys != TOP)?;
        Some((*place, format!("write `{inside}` there")))
    })
}

/// Returns whether a map has a misspelt key that was probably meant to be one of these. That
/// mistake is reported on its own, so the key is not reported as missing as well.
fn has_misspelt(node: &Node, keys: &[&str]) -> bool {
    let Value::Map(entries) = &node.value else { return false };
    entries.iter().any(|(key, value)| {
        let name = key.name.as_str();
        let known = TOP.contains(&name) || STEP.contains(&name) || MAP.contains(&name);
        !known
            && !key.is_ignored()
            && (advice(name, keys).is_some()
                || key_of_others(name, &value.scalar().unwrap_or_default(), keys).is_some()
                || nearest(name, keys.iter().copied()).is_some())
    })
}

/// Returns where a map begins: its first key, because a map in block style has no bracket to point
/// at.
fn first_key_span(node: &Node) -> SourceSpan {
    match &node.value {
        Value::Map(entries) => entries.first().map_or(node.span, |(key, _)| key.span),
        _ => node.span,
    }
}
