//! `map`, and what belongs to it: `setup`, the input, the steps for each item, and `reduce`.

use std::sync::Arc;
use std::time::Duration;

use super::super::{MapPlan, WorkflowPlan};
use super::Forms;
use super::keys::{INPUT, MAP, TIMEOUT_CONFIG};
use crate::file::input::read::Format;
use crate::file::input::select::{Selection, SortKey};
use crate::file::input::{Input, InputFrom};
use crate::file::item_path::ItemPath;
use crate::template::available::AvailableValues;
use crate::template::placeholder::CapturedName;
use crate::yaml::node::{Node, Value};
use crate::yaml::span::SourceSpan;
use retry_rules::suggest::shortened;
use retry_runtime::Class;
use retry_workflow::condition::expression::{Expression, ExpressionError};
use retry_workflow::condition::path::{PathPart, item_path};

const NULLS_FIRST: &str = "null and missing values always come last: remove `NULLS FIRST`";
const NO_DIRECTION: &str = "write a field, then `ASC` or `DESC`; separate several with commas";

impl Forms<'_> {
    /// Reads `map`; `captured` is what `setup` captures.
    pub(super) fn map_reduce(
        &mut self,
        root: &Node,
        captured: &[CapturedName],
    ) -> Option<WorkflowPlan> {
        let node = self.needed(root, "map", "mode: mapreduce")?;
        let setup = root.get("setup").map(|node| self.steps(node, AvailableValues::default()));
        let available = AvailableValues { captured, ..AvailableValues::default() };
        let steps = AvailableValues { captured, ..AvailableValues::postponable() };
        let reduce =
            root.get("reduce").map(|node| self.steps(node, AvailableValues { map: true, ..steps }));
        self.entries(node, "a map with `input` and `agent_template`", MAP)?;
        let item = AvailableValues { item: true, ..steps };
        let input =
            self.needed(node, "input", "map").and_then(|input| self.input(input, available));
        let steps = self.needed(node, "agent_template", "map").map(|steps| self.steps(steps, item));
        let item_path = match node.get("json_path") {
            Some(path) => self.item_path(path),
            None => ItemPath::each(node.get("input").map_or(node.span, |input| input.span)),
        };
        if let (Some(path), Some(written)) = (&item_path, node.get("json_path"))
            && path.text() != "$[*]"
            && matches!(input.as_ref().and_then(Input::known_format), Some(format) if format != Format::Json)
        {
            let message = "`json_path` selects from a single JSON document, but each line of this input is an item: remove it, or select with `filter`";
            self.wrong(written.span, message);
        }
        let item_id = node.get("item_id").and_then(|id| {
            let available = AvailableValues { label: "the id of an item", captured: &[], ..item };
            self.varying(id, available, "id", "id")
        });
        let priority = node.get("priority").and_then(|priority| {
            let label = "the priority of an item";
            let available = AvailableValues { label, captured: &[], ..item };
            self.varying(priority, available, "priority", "priority")
        });
        let max_parallel = match node.get("max_parallel") {
            Some(most) => self.positive::<u32>(most, "max_parallel"),
            None => Some(10),
        };
        let slow_down_on = self.slow_down_on(node);
        Some(WorkflowPlan::MapReduce(Arc::new(MapPlan {
            setup,
            input: input?,
            selection: self.selection(node),
            item_path: item_path?,
            item_id,
            priority,
            steps: steps?,
            agent_timeout: self.agent_timeout(node),
            limits: self.limits(node, item),
            max_parallel: usize::try_from(max_parallel?).unwrap_or(usize::MAX),
            slow_down_on,
            reduce,
        })))
    }

    /// The input: a text that is clearly a file, a command or stdin, or a map with `file` or
    /// `command`.
    fn input(&mut self, node: &Node, available: AvailableValues<'_>) -> Option<Input> {
        let Value::Map(_) = &node.value else {
            if matches!(node.value, Value::List(_)) {
                return self
                    .unexpected(node, "the name of a file with this list, such as `items.json`");
            }
            let text = self.text(node)?;
            if text.contains("://") && !text.contains(char::is_whitespace) {
                let message = "an address is not read: write the command that does, such as \
                               `curl -sf https://example.com/items.json`";
                return self.refuse(node.span, message);
            }
            let from = if text == "-" || Format::of_name(text).is_some() {
                InputFrom::named(text)
            } else if text.starts_with("./")
                || text.starts_with('/')
                || text.trim().contains(char::is_whitespace)
            {
                InputFrom::Command(Box::new(self.script(node, available)?))
            } else {
                let text = shortened(text);
                return self.refuse(
                    node.span,
                    format!(
                        "is this a file or a command? Write `{{ file: \"{text}\" }}` or `{{ \
                         command: \"{text}\" }}`; a name that ends in .json, .jsonl, .ndjson or \
                         .csv is taken as a file, and `-` as stdin"
                    ),
                );
            };
            return Some(Input { from, format: None, span: node.span });
        };
        self.entries(node, "`file` or `command`", INPUT)?;
        let format = match node.get("format") {
            None => None,
            Some(node) => Some(self.choice(node, "format", &Format::NAMES)?),
        };
        let (from, span) = match (node.get("file"), node.get("command")) {
            (Some(file), None) => (InputFrom::named(self.text(file)?), file.span),
            (None, Some(command)) => {
                (InputFrom::Command(Box::new(self.script(command, available)?)), command.span)
            }
            (Some(_), Some(second)) => {
                let message = "an input is either a `file` or a `command`: keep one";
                return self.refuse(second.span, message);
            }
            (None, None) if super::has_misspelt(node, &["file", "command"]) => return None,
            (None, None) => {
                let message = "this input has neither `file` nor `command`: write one";
                return self.refuse(node.span, message);
            }
        };
        Some(Input { from, format, span })
    }

    /// Reads which values of the input are items, and in which order.
    fn selection(&mut self, node: &Node) -> Selection {
        let filter = node.get("filter").and_then(|filter| {
            let text = self.text(filter)?;
            let parsed = Expression::parse(text, |name, _| {
                item_path(name).ok_or_else(|| format!("`{name}` is not a valid path into an item"))
            });
            match parsed {
                Ok(parsed) => Some((parsed, filter.span)),
                Err(ExpressionError { at, part, message }) => {
                    self.refuse(filter.span_within(&self.source.text, at, &part), message)
                }
            }
        });
        let sort = node.get("sort_by");
        let sort_by = sort.map(|sort| self.sort_by(sort)).unwrap_or_default();
        let max_items = node.get("max_items").and_then(|most| self.positive(most, "max_items"));
        let offset = node.get("offset").and_then(|offset| self.parsed(offset.parse()));
        Selection {
            filter,
            distinct: node.get("distinct").and_then(|distinct| self.field(distinct)),
            sort_by,
            sort_span: sort.map(|sort| sort.span).unwrap_or_default(),
            offset: offset.unwrap_or_default(),
            max_items,
        }
    }

    fn slow_down_on(&mut self, node: &Node) -> Class {
        let names = Class::NAMES.map(|(class, name)| (name, class));
        let classes = node.get("slow_down_on").into_iter().flat_map(Node::each);
        classes.fold(Class::empty(), |all, node| match self.choice(node, "class", &names) {
            Some(class) => all | class,
            None => all,
        })
    }

    fn field(&mut self, node: &Node) -> Option<Vec<PathPart>> {
        let text = self.text(node)?.trim();
        self.field_path(text, node.span)
    }

    fn field_path(&mut self, text: &str, span: SourceSpan) -> Option<Vec<PathPart>> {
        item_path(text).filter(|_| !text.is_empty()).or_else(|| {
            let message = "is not a field of an item: write one such as `owner.id`";
            self.refuse(span, format!("`{text}` {message}"))
        })
    }

    /// `score DESC, path`, or a list of them.
    fn sort_by(&mut self, node: &Node) -> Vec<SortKey> {
        let mut keys = Vec::new();
        for node in node.each() {
            let Some(text) = self.text(node) else { continue };
            let mut at = 0;
            for part in text.split(',') {
                let span = node.span_within(&self.source.text, at, part.trim());
                at += part.len() + 1;
                let mut words = part.split_whitespace();
                let name = words.next().unwrap_or_default();
                let rest: Vec<_> = words.map(str::to_ascii_uppercase).collect();
                let rest: Vec<_> = rest.iter().map(String::as_str).collect();
                let descends = match rest.as_slice() {
                    [] | ["ASC"] | ["ASC", "NULLS", "LAST"] => false,
                    ["DESC"] | ["DESC", "NULLS", "LAST"] => true,
                    [.., "NULLS", "FIRST"] => {
                        self.wrong(span, NULLS_FIRST);
                        continue;
                    }
                    _ => {
                        self.wrong(span, NO_DIRECTION);
                        continue;
                    }
                };
                let path = self.field_path(name, span);
                keys.extend(path.map(|path| SortKey { name: name.to_owned(), path, descends }));
            }
        }
        keys
    }

    /// The time limit for all steps of an item, which may be written in one of two places.
    fn agent_timeout(&mut self, node: &Node) -> Option<Duration> {
        const KEY: &str = TIMEOUT_CONFIG[0];

        let inside = node.get("timeout_config").and_then(|config| {
            self.entries(config, "`agent_timeout_secs`", TIMEOUT_CONFIG)?;
            config.get(KEY)
        });
        let limit = node.get(KEY).or(inside)?;
        if let Some(inside) = inside.filter(|inside| !inside.has_same_contents(limit)) {
            self.wrong(
                inside.span,
                format!("`{KEY}` is set twice, with different values: keep one"),
            );
        }
        self.timeout(limit)
    }

    fn item_path(&mut self, node: &Node) -> Option<ItemPath> {
        let text = self.text(node)?;
        let path = ItemPath::read(node, text, &self.source.text);
        self.parsed(path)
    }
}
