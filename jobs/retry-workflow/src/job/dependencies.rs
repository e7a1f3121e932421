//! [`Dependencies`]: which task needs which, checked: no cycle, and no unknown task.

use std::collections::BTreeMap;

use petgraph::Direction;
use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use thiserror::Error;

use crate::store::{Store, StoreError};

/// The reason why tasks do not form a valid graph.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum InvalidGraph {
    /// There are no tasks.
    #[error("there are no tasks: add one")]
    Empty,
    /// Two tasks have the same name.
    #[error("two tasks are named `{task}`: rename one of them")]
    Twice {
        /// The name.
        task: String,
    },
    /// A task needs one that does not exist.
    #[error("`{task}` needs `{needs}`, but there is no such task{}",
        similar.as_ref().map_or_else(String::new, |it| format!(": did you mean `{it}`?")))]
    Unknown {
        /// The task.
        task: String,
        /// The task that it needs.
        needs: String,
        /// An existing task with a similar name.
        similar: Option<String>,
    },
    /// Tasks need each other.
    #[error(
        "these tasks depend on each other, so none of them can start: `{}`",
        path.join("` → `")
    )]
    Cycle {
        /// Each task needs the next one; the last repeats the first.
        path: Vec<String>,
    },
}

/// The checked needs of tasks: each task exists once, and none needs itself, directly or
/// indirectly.
///
/// [`Graph`](crate::Graph) checks its tasks this way when it runs; use this to check them earlier.
///
/// ```
/// use retry_workflow::job::{Dependencies, InvalidGraph};
///
/// let tasks = |needs: &str| [
///     ("fetch".to_owned(), vec![]),
///     ("render".to_owned(), vec![needs.to_owned()]),
/// ];
/// let dependencies = Dependencies::new(&tasks("fetch"))?;
/// assert_eq!(dependencies.needs("render").collect::<Vec<_>>(), ["fetch"]);
///
/// let error = Dependencies::new(&tasks("fetsh")).unwrap_err();
/// assert!(error.to_string().ends_with("did you mean `fetch`?"), "{error}");
/// # Ok::<_, InvalidGraph>(())
/// ```
#[derive(Debug)]
pub struct Dependencies {
    /// An edge goes from a needed task to the task that needs it.
    graph: DiGraph<String, ()>,
    nodes: BTreeMap<String, NodeIndex>,
}

impl Dependencies {
    /// Checks tasks, each given with the tasks that it needs.
    ///
    /// # Errors
    /// There are no tasks, two have the same name, one needs a task that does not exist, or
    /// tasks need each other.
    pub fn new(tasks: &[(String, Vec<String>)]) -> Result<Self, InvalidGraph> {
        if tasks.is_empty() {
            return Err(InvalidGraph::Empty);
        }
        let mut graph = DiGraph::new();
        let mut nodes = BTreeMap::new();
        for (task, _) in tasks {
            let node = graph.add_node(task.clone());
            if nodes.insert(task.clone(), node).is_some() {
                return Err(InvalidGraph::Twice { task: task.clone() });
            }
        }
        for (task, needs) in tasks {
            for need in needs {
                let Some(&from) = nodes.get(need) else {
                    let similar =
                        retry_rules::suggest::nearest(need, nodes.keys().map(String::as_str));
                    return Err(InvalidGraph::Unknown {
                        task: task.clone(),
                        needs: need.clone(),
                        similar: similar.map(str::to_owned),
                    });
                };
                graph.update_edge(from, nodes[task], ());
            }
        }
        let dependencies = Self { graph, nodes };
        match dependencies.cycle() {
            Some(path) => Err(InvalidGraph::Cycle { path }),
            None => Ok(dependencies),
        }
    }

    /// Returns the tasks that a task needs directly.
    pub fn needs(&self, task: &str) -> impl Iterator<Item = &str> {
        let node = self.nodes.get(task).copied();
        node.into_iter()
            .flat_map(|node| self.graph.neighbors_directed(node, Direction::Incoming))
            .map(|need| self.graph[need].as_str())
    }

    /// The tasks that need a task directly.
    pub(crate) fn needed_by(&self, task: &str) -> impl Iterator<Item = &str> {
        let node = self.nodes.get(task).copied();
        node.into_iter()
            .flat_map(|node| self.graph.neighbors_directed(node, Direction::Outgoing))
            .map(|dependent| self.graph[dependent].as_str())
    }

    /// The place of a task in the order in which they were given.
    pub(crate) fn place(&self, task: &str) -> Option<usize> {
        self.nodes.get(task).map(|node| node.index())
    }

    /// Returns all tasks.
    pub fn tasks(&self) -> impl Iterator<Item = &str> {
        self.graph.node_weights().map(String::as_str)
    }

    /// Finds the tasks of a job that is a graph, each with the tasks that it needs directly, as the
    /// last process that ran it stored them.
    ///
    /// ```
    /// use retry_workflow::job::Dependencies;
    /// use retry_workflow::{Graph, SqliteStore, Task};
    ///
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let store = SqliteStore::in_memory();
    /// Graph::new("release")
    ///     .store(store.clone())
    ///     .task(Task::new("fetch", |_| async { Ok::<_, String>(()) }))
    ///     .task(Task::new("render", |_| async { Ok::<_, String>(()) }).depends_on(["fetch"]))
    ///     .run()
    ///     .await?;
    /// let tasks = Dependencies::find(&store, "release-1").await?.unwrap();
    /// assert_eq!(tasks[1], ("render".to_owned(), vec!["fetch".to_owned()]));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The store cannot be read.
    pub async fn find(
        store: &dyn Store,
        job: &str,
    ) -> Result<Option<Vec<(String, Vec<String>)>>, StoreError> {
        Ok(store.json(&Self::key(job)).await?.1)
    }

    /// Stores the dependencies for readers of the job.
    pub(crate) async fn keep(&self, store: &dyn Store, job: &str) -> Result<(), StoreError> {
        let tasks: Vec<_> = self
            .graph
            .node_weights()
            .map(|task| (task, self.needs(task).collect::<Vec<_>>()))
            .collect();
        let text = serde_json::to_string(&tasks).map_err(StoreError::other)?;
        store.set(&Self::key(job), &text).await
    }

    pub(crate) fn key(job: &str) -> String {
        format!("graph/{job}")
    }

    /// Finds a cycle, in which each task needs the next one.
    fn cycle(&self) -> Option<Vec<String>> {
        let knot = tarjan_scc(&self.graph).into_iter().find(|knot| {
            knot.len() > 1 || knot.iter().any(|&node| self.graph.contains_edge(node, node))
        })?;
        // Starting anywhere in the knot and following needs inside it leads back eventually.
        let mut path: Vec<NodeIndex> = vec![*knot.iter().min()?];
        loop {
            let last = *path.last()?;
            let next = self
                .graph
                .neighbors_directed(last, Direction::Incoming)
                .filter(|node| knot.contains(node))
                .min()?;
            let seen = path.iter().position(|&node| node == next);
            path.push(next);
            if let Some(from) = seen {
                let cycle = path[from..].iter().map(|&node| self.graph[node].clone());
                return Some(cycle.collect());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(tasks: &[(&str, &[&str])]) -> Result<Dependencies, String> {
        let tasks = tasks.iter().map(|(task, needs)| {
            ((*task).to_owned(), needs.iter().map(|need| (*need).to_owned()).collect())
        });
        Dependencies::new(&tasks.collect::<Vec<_>>()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_cycle_is_named_by_its_path() {
        let error = graph(&[("a", &[]), ("b", &["a", "d"]), ("c", &["b"]), ("d", &["c"])]);
        assert_eq!(
            error.unwrap_err(),
            "these tasks depend on each other, so none of them can start: `b` → `d` → `c` → `b`"
        );
        let alone = graph(&[("a", &["a"])]).unwrap_err();
        assert!(alone.contains("`a` → `a`"), "{alone}");
    }

    #[test]
    fn an_unknown_dependency_is_reported_with_its_task() {
        let error = graph(&[("fetch", &[]), ("render", &["fecth"])]).unwrap_err();
        assert_eq!(
            error,
            "`render` needs `fecth`, but there is no such task: did you mean `fetch`?"
        );
    }

    #[test]
    fn a_diamond_is_not_a_cycle() {
        let graph = graph(&[("a", &[]), ("b", &["a"]), ("c", &["a"]), ("d", &["b", "c"])]).unwrap();
        let mut needs: Vec<_> = graph.needs("d").collect();
        needs.sort_unstable();
        assert_eq!(needs, ["b", "c"]);
    }
}
