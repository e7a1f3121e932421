//! Example jobs, and the board that shows them.

use std::time::Duration;

use axum::Router;
use retry_board::Board;
use retry_workflow::{Graph, JobReport, SqliteStore, Store, Task, Workflow, keyed, policy};

use crate::server::Server;

/// The pages of a store, with actions allowed, and those of this process.
pub(crate) fn board(store: &SqliteStore) -> Router {
    let board = Board::new().allow_actions();
    board.jobs(store.clone()).merge(board.policies())
}

/// The job of the documentation: every fifth customer has no address.
pub(crate) fn import(server: &Server, store: &SqliteStore) -> JobReport {
    let import = Workflow::new("import")
        .retry(policy!(attempts = 3, initial_delay = "10ms"))
        .max_parallel(4)
        .store(store.clone());
    let customers = keyed(1..=20_u32, u32::to_string);
    let report = server.block_on(Box::pin(import.run(customers, |n: u32, _| async move {
        if n.is_multiple_of(5) { Err(format!("{n} has no address")) } else { Ok(()) }
    })));
    report.expect("it runs")
}

/// Resumes the job once the cause is fixed: each re-driven item takes `each` and succeeds.
pub(crate) fn resume(server: &Server, store: &SqliteStore, each: Duration) -> JobReport {
    let import = Workflow::new("import").max_parallel(1).store(store.clone());
    let report =
        server.block_on(Box::pin(import.resume("import-1", move |_: u32, _| async move {
            tokio::time::sleep(each).await;
            Ok::<_, String>(())
        })));
    report.expect("it runs")
}

/// A graph in which one task fails and those that depend on it are skipped.
pub(crate) fn release(server: &Server, store: &SqliteStore) {
    let task = |name, needs: &[&'static str]| {
        Task::new(name, |_| async { Ok::<_, String>(()) }).depends_on(needs.iter().copied())
    };
    let render = Task::new("render docs", |_| async { Err::<(), _>("no template for \"guide\"") });
    let graph = Graph::new("release")
        .store(store.clone())
        .task(task("fetch", &[]))
        .task(task("compile", &["fetch"]))
        .task(render.max_retries(0).depends_on(["fetch"]))
        .task(task("publish", &["render docs", "compile"]));
    server.block_on(Box::pin(graph.run())).expect("it runs");
}

pub(crate) fn dead(server: &Server, store: &SqliteStore) -> u64 {
    server.block_on(store.counts("import-1")).expect("it is in memory").dead
}
