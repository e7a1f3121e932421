//! The forms of a workflow file: which keys there are, what stands behind each, and
//! what belongs together. All mistakes are collected, each with its place.

mod tasks;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use retry_rules::suggest::nearest;
use retry_runtime::file::Span;
use retry_runtime::{OnFailure, RetryConfig, RetryConfigKeys};

use super::{ItemId, MapPlan, Plan};
use crate::file::item_path::ItemPath;
use crate::steps::command_env::{Agent, Run};
use crate::steps::list::{AfterFailure, Step, Steps};
use crate::template::placeholder::{Fault, Offers, Placeholder, Placeholders, Template};
use crate::template::shell::Script;
use crate::yaml::node::{Key, Node, Value, known_here, listed};
use crate::yaml::span::{FileError, Mistake, Source, SourceSpan};
use retry_workflow::{ErrorPolicy, ErrorPolicyKeys, OnItemFailure};

const STEP: &[&str] = &["name", "shell", "claude", "retry_config", "timeout", "on_failure"];
const MAP: &[&str] = &["input", "json_path", "item_id", "agent_template", "max_parallel"];
const TOP: &[&str] =
    &["name", "mode", "agent", "commands", "map", "reduce", "tasks", "error_policy", "handlers"];
/// The modes, and the keys that belong to each alone.
const MODES: [(&str, &[&str]); 3] = [
    ("standard", &["commands"]),
    ("mapreduce", &["map", "reduce", "error_policy", "handlers"]),
    ("graph", &["tasks"]),
];

/// What a file says, as far as it could be read.
pub(super) struct Read {
    pub(super) name: String,
    pub(super) agent: Agent,
    pub(super) error_policy: ErrorPolicy,
    pub(super) handlers: BTreeMap<String, Steps>,
    pub(super) plan: Plan,
}

type Entries<'a> = &'a [(Key, Node)];

struct Forms<'a> {
    source: &'a Arc<Source>,
    mistakes: Vec<Mistake>,
}

pub(super) fn read(source: &Arc<Source>) -> Result<Read, FileError> {
    let root = Node::read(source)?;
    let mut forms = Forms { source, mistakes: Vec::new() };
    let read = forms.file(&root);
    match read {
        Some(read) if forms.mistakes.is_empty() => Ok(read),
        _ => Err(FileError::new(Arc::clone(source), forms.mistakes)),
    }
}

impl Forms<'_> {
    fn wrong(&mut self, span: SourceSpan, message: impl Into<String>) {
        self.mistakes.push(Mistake { message: message.into(), span: Some(span) });
    }

    fn parsed<T>(&mut self, parsed: Result<T, Mistake>) -> Option<T> {
        parsed.map_err(|mistake| self.mistakes.push(mistake)).ok()
    }

    /// The entries of a map that has no other keys than these.
    fn entries<'a>(&mut self, node: &'a Node, what: &str, known: &[&str]) -> Option<Entries<'a>> {
        let Value::Map(entries) = &node.value else {
            self.wrong(node.span, format!("this is {}: write {what}", node.kind()));
            return None;
        };
        for (key, _) in entries {
            if !known.contains(&key.name.as_str()) {
                let meant = known_here(&key.name, known);
                self.wrong(key.span, format!("unknown key `{}`{meant}", key.name));
            }
        }
        Some(entries)
    }

    fn text<'a>(&mut self, node: &'a Node) -> Option<&'a str> {
        match &node.value {
            Value::Text(text) if text.trim().is_empty() => {
                self.wrong(node.span, "this text is empty: write what is meant");
                None
            }
            Value::Text(text) => Some(text),
            Value::List(_) | Value::Map(_) | Value::Null => {
                self.wrong(node.span, format!("this is {}: write a text", node.kind()));
                None
            }
            _ => {
                let message = format!("this is {}: write a text, in quotes", node.kind());
                self.wrong(node.span, message);
                None
            }
        }
    }

    fn file(&mut self, root: &Node) -> Option<Read> {
        if matches!(root.value, Value::Null) {
            self.wrong(
                root.span,
                "this file is empty: write `name`, `mode` and `commands`, `map` or `tasks`",
            );
            return None;
        }
        let entries = self.entries(root, "a map with `name`, `mode` and `commands`", TOP)?;
        let mode = self.mode(root, entries)?;
        self.strangers(entries, mode);
        let name = match root.get("name") {
            Some(node) => self.name(node).unwrap_or_default().to_owned(),
            None => stem(&self.source.path),
        };
        let agent = root.get("agent").and_then(|node| self.agent(node)).unwrap_or_default();
        let handlers = self.handlers(root);
        let error_policy = self.error_policy(root, &handlers);
        let plan = match mode {
            "mapreduce" => self.map_reduce(root),
            "graph" => self.graph(root),
            _ => self.standard(root),
        };
        Some(Read { name, agent, error_policy, handlers, plan: plan? })
    }

    /// The name of the workflow, which the ids of its jobs are made of.
    fn name<'a>(&mut self, node: &'a Node) -> Option<&'a str> {
        if matches!(&node.value, Value::Text(text) if text.trim().is_empty()) {
            self.wrong(
                node.span,
                "this name is empty, and the ids of jobs are made of it: write one, or remove the key",
            );
            return None;
        }
        let name = self.text(node)?;
        if let Some((at, found)) = name.char_indices().find(|(_, c)| c.is_control()) {
            let span = node.span_within(&self.source.text, at, found.encode_utf8(&mut [0; 4]));
            let found = found.escape_debug();
            self.wrong(
                span,
                format!(
                    "this name has a control character in it, `{found}`, and the ids of jobs are made \
                     of it: remove the character"
                ),
            );
            return None;
        }
        Some(name)
    }

    /// What the file says, or what its keys say.
    fn mode(&mut self, root: &Node, entries: Entries<'_>) -> Option<&'static str> {
        const NAMES: [&str; 3] = [MODES[0].0, MODES[1].0, MODES[2].0];

        if let Some(node) = root.get("mode") {
            let word = self.text(node)?;
            let known = NAMES.into_iter().find(|name| *name == word);
            if known.is_none() {
                let meant = known_here(word, &NAMES);
                self.wrong(node.span, format!("unknown mode `{word}`{meant}"));
            }
            return known;
        }
        let of_key = |name: &str| MODES.iter().find(|(_, own)| own.contains(&name));
        let mode = entries.iter().find_map(|(key, _)| of_key(&key.name)).map(|(mode, _)| *mode);
        if mode.is_none() && !has_like(root, TOP) {
            let message = "this workflow has nothing to do: write `commands`, `map` or `tasks`";
            self.wrong(first_key_span(root), message);
        }
        mode
    }

    /// Keys of other modes.
    fn strangers(&mut self, entries: Entries<'_>, mode: &str) {
        for (key, _) in entries {
            for (other, own) in MODES {
                if other != mode && own.contains(&key.name.as_str()) {
                    let own = MODES.iter().find(|(name, _)| *name == mode);
                    let here = own.map(|(_, keys)| listed(keys)).unwrap_or_default();
                    self.wrong(
                        key.span,
                        format!(
                            "`{}` belongs to `mode: {other}`, and this is `mode: {mode}`, which has \
                             {here}: change the mode, or remove the key",
                            key.name
                        ),
                    );
                }
            }
        }
    }

    fn agent(&mut self, node: &Node) -> Option<Agent> {
        self.entries(node, "`program` and `args`", &["program", "args"])?;
        let default = Agent::default();
        let program = match node.get("program") {
            Some(program) => self.text(program)?.to_owned(),
            None => default.program,
        };
        let args = match node.get("args") {
            Some(args) => self.parsed(args.parse::<Vec<String>>())?,
            // Those of another program are not known.
            None if node.get("program").is_some() => Vec::new(),
            None => default.args,
        };
        if let Some(nul) = [&program].into_iter().chain(&args).find(|text| text.contains('\0')) {
            let message = format!("\"{}\" has a NUL character in it", nul.replace('\0', "\\0"));
            self.wrong(node.span, message);
        }
        Some(Agent { program, args })
    }

    fn handlers(&mut self, root: &Node) -> BTreeMap<String, Steps> {
        let Some(node) = root.get("handlers") else { return BTreeMap::new() };
        let Value::Map(entries) = &node.value else {
            let message = format!("this is {}: write a map of names and their steps", node.kind());
            self.wrong(node.span, message);
            return BTreeMap::new();
        };
        let offers = Offers { item: true, error: true, ..Offers::default() };
        let read = |(key, steps): &(Key, Node)| (key.name.clone(), self.steps(steps, offers));
        entries.iter().map(read).collect()
    }

    fn error_policy(&mut self, root: &Node, handlers: &BTreeMap<String, Steps>) -> ErrorPolicy {
        let Some(node) = root.get("error_policy") else { return ErrorPolicy::new() };
        let keys = node.parse_map::<ErrorPolicyKeys>("a map of what becomes of items that fail");
        let policy = keys.and_then(|keys| {
            ErrorPolicy::try_from(keys).map_err(|invalid| node.mistake_at(invalid.keys(), &invalid))
        });
        let Some(policy) = self.parsed(policy) else {
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
            let help = match nearest(name, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!(
                    "write it under `handlers: {{ {name}: [ shell: … ] }}`, or one of {}",
                    listed(&known)
                ),
            };
            self.wrong(span, format!("there is no handler `{name}`: {help}"));
        }
        policy
    }

    fn standard(&mut self, root: &Node) -> Option<Plan> {
        let commands = self.needed(root, "commands", "mode: standard")?;
        Some(Plan::Standard(self.steps(commands, Offers::default())))
    }

    /// What stands behind a key that has to be there.
    fn needed<'a>(&mut self, node: &'a Node, key: &str, what: &str) -> Option<&'a Node> {
        let found = node.get(key);
        if found.is_none() && !has_like(node, &[key]) {
            self.wrong(first_key_span(node), format!("`{key}` is missing: `{what}` needs it"));
        }
        found
    }

    fn map_reduce(&mut self, root: &Node) -> Option<Plan> {
        let node = self.needed(root, "map", "mode: mapreduce")?;
        let reduce = root
            .get("reduce")
            .map(|node| self.steps(node, Offers { map: true, ..Offers::default() }));
        self.entries(node, "a map with `input` and `agent_template`", MAP)?;
        let item = Offers { item: true, ..Offers::default() };
        let input = self.needed(node, "input", "map").and_then(|input| self.text(input));
        let steps = self.needed(node, "agent_template", "map").map(|steps| self.steps(steps, item));
        let input_span = node.get("input").map_or(node.span, |input| input.span);
        let item_path = match node.get("json_path") {
            Some(path) => self.item_path(path),
            None => ItemPath::each(input_span),
        };
        let item_id = node.get("item_id").and_then(|id| {
            let text = self.text(id)?;
            let offers = Offers { label: "the id of an item", ..item };
            let template = Template::parse(text, offers);
            let template = self.unfaulted(id, text, template)?;
            Some(ItemId { template, span: id.span })
        });
        let max_parallel = match node.get("max_parallel") {
            Some(most) => self.parsed(most.parse::<u32>()).inspect(|number| {
                if *number == 0 {
                    self.wrong(
                        most.span,
                        "with `max_parallel: 0` nothing is done: write 1 or more",
                    );
                }
            }),
            None => Some(10),
        };
        Some(Plan::MapReduce(MapPlan {
            input: input?.into(),
            input_span,
            item_path: item_path?,
            item_id,
            steps: steps?,
            max_parallel: usize::try_from(max_parallel?).unwrap_or(usize::MAX),
            reduce,
        }))
    }

    fn item_path(&mut self, node: &Node) -> Option<ItemPath> {
        let text = self.text(node)?;
        let path = ItemPath::read(node, text, &self.source.text);
        self.parsed(path)
    }

    /// A list of steps, or one.
    fn steps(&mut self, node: &Node, offers: Offers) -> Steps {
        let list = match &node.value {
            Value::List(list) => list.as_slice(),
            Value::Map(_) => std::slice::from_ref(node),
            _ => {
                let message =
                    format!("this is {}: write a list of steps, such as `- shell: …`", node.kind());
                self.wrong(node.span, message);
                &[]
            }
        };
        if list.is_empty() && matches!(node.value, Value::List(_)) {
            self.wrong(node.span, "there are no steps here: add one, such as `- shell: …`");
        }
        let steps = list.iter().enumerate().filter_map(|(index, node)| {
            let offers = Offers { last: offers.last || index > 0, ..offers };
            self.step(node, format!("step {}", index + 1), offers)
        });
        Steps(steps.collect())
    }

    fn step(&mut self, node: &Node, label: String, offers: Offers) -> Option<Step> {
        if !matches!(node.value, Value::Map(_)) {
            let message = format!("this is {}: write a step, such as `shell: …`", node.kind());
            self.wrong(node.span, message);
            return None;
        }
        self.entries(node, "a step", STEP);
        self.read_step(node, label, offers)
    }

    /// Reads a step from a map whose keys have been checked.
    fn read_step(&mut self, node: &Node, label: String, offers: Offers) -> Option<Step> {
        let called = if offers.last { "this step" } else { "the first step" };
        let offers = Offers { label: called, ..offers };
        let label = match node.get("name") {
            Some(name) => self.text(name)?.to_owned(),
            None => label,
        };
        let run = match (node.get("shell"), node.get("claude")) {
            (Some(shell), None) => self.script(shell, offers).map(Run::Shell),
            (None, Some(prompt)) => {
                let text = self.text(prompt)?;
                let template = Template::parse(text, offers);
                self.unfaulted(prompt, text, template).map(Run::Agent)
            }
            (Some(_), Some(second)) => {
                self.wrong(
                    second.span,
                    "a step is `shell` or `claude`: make this one a step of its own",
                );
                None
            }
            (None, None) => {
                let message = "this step does nothing: write `shell: …` or `claude: …`";
                if !has_like(node, &["shell", "claude"]) {
                    self.wrong(first_key_span(node), message);
                }
                None
            }
        };
        let timeout = node.get("timeout").and_then(|node| self.timeout(node));
        let config = node.get("retry_config");
        let retry = config.and_then(|node| {
            let keys = node.parse_map::<RetryConfigKeys>("a map of retry settings");
            self.parsed(keys.and_then(|keys| {
                RetryConfig::try_from(keys)
                    .map_err(|invalid| node.mistake_at(invalid.keys(), &invalid))
            }))
        });
        if let Some(deadline) = config.and_then(|config| config.get("deadline")) {
            self.wrong(
                deadline.span,
                "a `deadline` bounds a call in one process, and a step may wait in its store for days: \
                 write a `retry_budget` or a `max_elapsed`, which go on by the clock, or a `timeout` for each attempt",
            );
        }
        let inner = Offers { error: true, ..offers };
        let beside = config.and_then(|config| config.get("on_failure"));
        let after_failure = match (node.get("on_failure"), beside) {
            (Some(own), Some(_)) => {
                self.wrong(
                    own.span,
                    "what comes after a failure stands twice, here and in `retry_config`: keep one",
                );
                None
            }
            (Some(own), None) => self.after_failure(own, inner),
            (None, Some(node)) => {
                let action = retry.as_ref().map(|retry| retry.on_failure.clone());
                action.and_then(|action| self.action(&action, node, inner))
            }
            (None, None) => Some(AfterFailure::Stop),
        };
        let step = Step::new(label, run?, timeout, after_failure?);
        Some(match retry {
            Some(retry) => step.retry(&retry),
            None => step,
        })
    }

    fn timeout(&mut self, node: &Node) -> Option<Duration> {
        let limit = Duration::from(self.parsed(node.parse::<Span>())?);
        if limit.is_zero() {
            self.wrong(
                node.span,
                "a timeout of 0 ends every command at once: write one such as \"10m\"",
            );
        }
        Some(limit)
    }

    /// A step's own `on_failure`: a word, a fallback, or steps.
    fn after_failure(&mut self, node: &Node, offers: Offers) -> Option<AfterFailure> {
        let is_action = match &node.value {
            Value::List(_) => false,
            Value::Map(entries) => {
                !entries.iter().any(|(key, _)| nearest(&key.name, STEP.iter().copied()).is_some())
            }
            _ => true,
        };
        if is_action {
            let action = node.parse::<OnFailure>().map_err(|mistake| Mistake {
                message: format!("{}; or steps, such as `- shell: …`", mistake.message),
                ..mistake
            });
            let action = self.parsed(action)?;
            return self.action(&action, node, offers);
        }
        Some(AfterFailure::Handle(self.steps(node, offers)))
    }

    fn action(&mut self, action: &OnFailure, node: &Node, offers: Offers) -> Option<AfterFailure> {
        match action {
            OnFailure::Continue => Some(AfterFailure::Continue),
            OnFailure::Fallback { .. } => {
                let command = node.get("fallback").and_then(|node| node.get("command"))?;
                self.script(command, offers).map(AfterFailure::Fallback)
            }
            _ => Some(AfterFailure::Stop),
        }
    }

    fn script(&mut self, node: &Node, offers: Offers) -> Option<Script> {
        let text = self.text(node)?;
        if let Some(at) = text.find('\0') {
            let span = node.span_within(&self.source.text, at, "");
            self.wrong(span, "no command can hold a NUL character: remove it");
            return None;
        }
        let script = Script::parse(text, offers);
        self.unfaulted(node, text, script)
    }

    /// What has been parsed of a node, its placeholders with their places in the file.
    fn unfaulted<T: Placeholders>(
        &mut self,
        node: &Node,
        text: &str,
        parsed: Result<T, Vec<Fault>>,
    ) -> Option<T> {
        let faults = match parsed {
            Ok(mut parsed) => {
                for Placeholder { written, span, .. } in parsed.placeholders_mut() {
                    *span = node.span_within(&self.source.text, span.start, written);
                }
                return Some(parsed);
            }
            Err(faults) => faults,
        };
        for Fault { at, part, message } in faults {
            debug_assert!(text.is_char_boundary(at));
            let span = node.span_within(&self.source.text, at, &part);
            self.wrong(span, message);
        }
        None
    }
}

/// Whether a map has a misspelt key that is meant to be one of these. That is a mistake by
/// itself, so the keys are not reported as missing as well.
fn has_like(node: &Node, keys: &[&str]) -> bool {
    let Value::Map(entries) = &node.value else { return false };
    entries.iter().any(|(key, _)| {
        let name = key.name.as_str();
        let known = TOP.contains(&name) || STEP.contains(&name) || MAP.contains(&name);
        !known && nearest(name, keys.iter().copied()).is_some()
    })
}

/// Where a map begins: a block has no bracket to point at, so its first key.
fn first_key_span(node: &Node) -> SourceSpan {
    match &node.value {
        Value::Map(entries) => entries.first().map_or(node.span, |(key, _)| key.span),
        _ => node.span,
    }
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .map_or_else(|| "workflow".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
