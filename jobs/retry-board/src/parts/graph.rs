//! The tasks of a graph: their dependencies, and which failures caused tasks to be skipped.

use std::collections::BTreeMap;

use maud::{Markup, html};
use retry_workflow::ItemState;
use retry_workflow::words::{cut, px};

use super::text::line;
use crate::data::job::{TaskLine, Tasks};

/// The largest number of tasks that is drawn; more are only listed.
const DRAWN: usize = 60;

const WIDTH: f64 = 168.0;
const HEIGHT: f64 = 40.0;
const ACROSS: f64 = 56.0;
const DOWN: f64 = 16.0;

/// The picture, from left to right; `None` if there are too many tasks.
pub(crate) fn picture(tasks: &Tasks) -> Option<Markup> {
    let tasks = &tasks.tasks;
    if tasks.is_empty() || tasks.len() > DRAWN {
        return None;
    }
    let places = places(tasks);
    let columns = places.values().map(|(column, _)| column + 1).max().unwrap_or(1);
    let rows = places.values().map(|(_, row)| row + 1).max().unwrap_or(1);
    let x = |column: u32| 4.0 + f64::from(column) * (WIDTH + ACROSS);
    let y = |row: u32| 4.0 + f64::from(row) * (HEIGHT + DOWN);
    let (width, height) = (x(columns) - ACROSS + 4.0, y(rows) - DOWN + 4.0);
    let failed: Vec<_> = tasks
        .iter()
        .filter(|task| matches!(task.state, Some(ItemState::Dead | ItemState::Skipped)))
        .map(|task| task.name.as_str())
        .collect();
    let edges = tasks.iter().flat_map(|task| task.needs.iter().map(move |need| (need, task)));
    let label = format!("{} tasks; the table below lists what each one needs", tasks.len());
    Some(html! {
        div.scroll tabindex="0" role="region" aria-label="Graph of tasks" {
            svg.graph viewBox=(format!("0 0 {} {}", px(width), px(height))) width=(px(width))
                height=(px(height)) role="img" aria-label=(label) {
                @for (need, task) in edges {
                    @if let (Some(from), Some(to)) = (places.get(need.as_str()), places.get(task.name.as_str())) {
                        @let (x1, y1) = (x(from.0) + WIDTH, y(from.1) + HEIGHT / 2.0);
                        @let (x2, y2) = (x(to.0), y(to.1) + HEIGHT / 2.0);
                        @let half = f64::midpoint(x1, x2);
                        path class=(if failed.contains(&need.as_str()) { "edge broken" } else { "edge" })
                            d=(format!("M{} {}C{} {} {} {} {} {}", px(x1), px(y1), px(half), px(y1), px(half), px(y2), px(x2), px(y2))) {}
                    }
                }
                @for task in tasks {
                    @if let Some(&(column, row)) = places.get(task.name.as_str()) {
                        g class=(format!("task {}", state(task))) {
                            title { (line(&task.name)) ": " (state_text(task)) }
                            rect x=(px(x(column))) y=(px(y(row))) width=(px(WIDTH)) height=(px(HEIGHT)) rx="6" {}
                            text.name x=(px(x(column) + 12.0)) y=(px(y(row) + 17.0)) { (cut(&line(&task.name), 22)) }
                            text.word x=(px(x(column) + 12.0)) y=(px(y(row) + 32.0)) { (state_text(task)) }
                        }
                    }
                }
            }
        }
    })
}

fn state(task: &TaskLine) -> &'static str {
    task.state.map_or("blocked", |state| state.as_str())
}

/// The state of a task in a word.
pub(crate) fn state_text(task: &TaskLine) -> &'static str {
    task.state.map_or("waits for others", |state| state.as_str())
}

/// Assigns positions; the column of a task is to the right of the columns of all its dependencies.
fn places(tasks: &[TaskLine]) -> BTreeMap<&str, (u32, u32)> {
    let mut columns: BTreeMap<&str, u32> =
        tasks.iter().map(|task| (task.name.as_str(), 0)).collect();
    // A path has at most as many tasks as the graph, so this terminates even with cycles.
    for _ in tasks {
        let mut is_changed = false;
        for task in tasks {
            let needed = task.needs.iter().filter_map(|need| columns.get(need.as_str())).max();
            let column = needed.map_or(0, |column| column + 1);
            let most = u32::try_from(tasks.len()).unwrap_or(u32::MAX);
            if column < most && columns.insert(task.name.as_str(), column) != Some(column) {
                is_changed = true;
            }
        }
        if !is_changed {
            break;
        }
    }
    let mut rows: BTreeMap<u32, u32> = BTreeMap::new();
    tasks
        .iter()
        .map(|task| {
            let column = columns.get(task.name.as_str()).copied().unwrap_or(0);
            let row = rows.entry(column).or_default();
            let place = (column, *row);
            *row += 1;
            (task.name.as_str(), place)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(name: &str, needs: &[&str]) -> TaskLine {
        TaskLine {
            name: name.to_owned(),
            needs: needs.iter().map(|&need| need.to_owned()).collect(),
            state: None,
            culprits: Vec::new(),
        }
    }

    #[test]
    fn a_task_is_placed_after_its_dependencies() {
        let tasks = [task("d", &["b", "c"]), task("b", &["a"]), task("c", &["a"]), task("a", &[])];
        let places = places(&tasks);
        assert_eq!((places["a"].0, places["b"].0, places["c"].0, places["d"].0), (0, 1, 1, 2));
        assert_ne!(places["b"], places["c"]);
    }

    #[test]
    fn a_dependency_cycle_does_not_loop() {
        let tasks = vec![task("a", &["b"]), task("b", &["a"])];
        assert!(picture(&Tasks { tasks, left_out: 0 }).is_some());
    }
}
