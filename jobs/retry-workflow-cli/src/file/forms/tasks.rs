//! The tasks of a graph: steps that depend on each other.

use super::super::{TaskPlan, WorkflowPlan};
use super::keys::{STEP, TASK};
use super::{Forms, first_key_span};
use crate::steps::exit_codes::CodeMatchers;
use crate::steps::step::Steps;
use crate::template::available::{A_TASK, AvailableValues};
use crate::yaml::node::{Key, Node, Value};
use crate::yaml::span::SourceSpan;
use retry_workflow::TaskKeys;
use retry_workflow::job::{Dependencies, InvalidGraph};

const TASK_STYLE: &[&str] = &["max_retries", "retry_delay", "max_retry_delay"];

impl Forms<'_> {
    pub(super) fn graph(&mut self, root: &Node) -> Option<WorkflowPlan> {
        let node = self.needed(root, "tasks", "mode: graph")?;
        let entries = self.map(
            node,
            "a map of names and their tasks, such as `{ build: { shell: ./build.sh } }`",
        )?;
        let tasks: Vec<_> = entries.iter().filter_map(|(key, node)| self.task(key, node)).collect();
        let needs: Vec<_> =
            tasks.iter().map(|task| (task.name.clone(), task.depends_on.clone())).collect();
        // A task that could not be read has been reported; do not report it as unknown as well.
        if tasks.len() == entries.len()
            && let Err(invalid) = Dependencies::new(&needs)
        {
            self.wrong(dependency_span(node, &invalid), invalid.to_string());
        }
        Some(WorkflowPlan::Graph(tasks))
    }

    fn task(&mut self, key: &Key, node: &Node) -> Option<TaskPlan> {
        let known = [STEP, TASK].concat();
        let command = node.written(&self.source.text).filter(|_| node.scalar().is_some());
        let command = command.unwrap_or("./fetch.sh");
        self.entries(node, &format!("a task, such as `{{ shell: {command} }}`"), &known)?;
        let depends_on = match node.get("depends_on") {
            None => Vec::new(),
            Some(one @ Node { value: Value::Text(_), .. }) => {
                let name = self.text(one)?;
                if name.contains(',') {
                    let message = format!("several tasks are a list: write `[{name}]`");
                    return self.refuse(one.span, message);
                }
                vec![name.to_owned()]
            }
            Some(several) => self.parsed(several.parse::<Vec<String>>())?,
        };
        if let Some(capture) = node.get("capture").or(node.get("capture_output"))
            && matches!(capture.value, Value::Text(_))
        {
            self.wrong(
                capture.span,
                "tasks do not pass outputs to each other: write the output to a file that both \
                 know",
            );
        }
        let available = AvailableValues { label: A_TASK, ..AvailableValues::postponable() };
        let mut step = self.read_step(node, key.name.clone(), available)?;
        let own = TASK_STYLE.iter().find(|key| node.get(key).is_some());
        match (own, step.policy()) {
            (Some(own), Some(_)) => {
                let span = node.get("retry_config").map_or(node.span, |node| node.span);
                let message = format!("the task has both `{own}` and `retry_config`: keep one");
                self.wrong(span, message);
            }
            (None, Some(_)) => {}
            (_, None) => {
                let policy = node.parse_only::<TaskKeys>(TASK_STYLE, &[]).and_then(|keys| {
                    keys.policy().map_err(|invalid| node.mistake_at(invalid.keys(), &invalid))
                });
                step = step.retry(self.parsed(policy)?.into(), CodeMatchers::default(), true);
            }
        }
        Some(TaskPlan { name: key.name.clone(), depends_on, steps: Steps::new(vec![step]) })
    }
}

/// The entry of `depends_on` that is at fault.
fn dependency_span(tasks: &Node, invalid: &InvalidGraph) -> SourceSpan {
    let (task, needs) = match invalid {
        InvalidGraph::Unknown { task, needs, .. } => (Some(task), Some(needs)),
        InvalidGraph::Cycle { path } => (path.first(), path.get(1)),
        _ => (None, None),
    };
    let span = || {
        let depends_on = tasks.get(task?)?.get("depends_on")?;
        let Value::List(list) = &depends_on.value else { return Some(depends_on.span) };
        let wanted = needs?;
        let named =
            list.iter().find(|node| matches!(&node.value, Value::Text(name) if name == wanted));
        Some(named.unwrap_or(depends_on).span)
    };
    span().unwrap_or_else(|| first_key_span(tasks))
}
