//! Random graphs, run again and again with other tasks that fail, by one process or two: what
//! becomes of each task follows from what it needs, and none waits for anything else.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use retry_workflow::{Graph, ItemState, SqliteStore, Store as _, Task};
use tokio::time::{Instant, sleep};

/// A task needs some of those before it, and takes some seconds.
#[derive(Clone, Debug)]
struct Plan {
    needs: BTreeSet<usize>,
    takes: u64,
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    prop::collection::vec((any::<[u8; 2]>(), 1..5_u64), 1..9).prop_map(|drawn| {
        let plan = |(at, ([one, other], takes)): (usize, ([u8; 2], u64))| {
            // None, one or two of those before it.
            let needs =
                [one, other].map(usize::from).into_iter().map(|need| need % (at * 2).max(1));
            Plan { needs: needs.filter(|need| *need < at).collect(), takes }
        };
        drawn.into_iter().enumerate().map(plan).collect()
    })
}

/// Names whose order is not that of the graph.
fn name(at: usize) -> String {
    format!("t{}", at * 7 % 10)
}

/// Runs a graph in which these tasks fail. Returns its tasks in the order in which they succeeded.
async fn run(
    store: &SqliteStore,
    plans: &[Plan],
    bad: &BTreeSet<usize>,
    are_two: bool,
) -> Vec<usize> {
    let succeeded = Arc::new(Mutex::new(Vec::new()));
    let graph = || {
        let graph = Graph::new("random").job_id("random").store(store.clone()).redrive_dead();
        let tasks = plans.iter().enumerate().map(|(at, plan)| {
            let (succeeded, fails) = (Arc::clone(&succeeded), bad.contains(&at));
            let takes = Duration::from_secs(plan.takes);
            let task = Task::new(name(at), move |_| {
                let succeeded = Arc::clone(&succeeded);
                async move {
                    sleep(takes).await;
                    if fails {
                        return Err("bad");
                    }
                    succeeded.lock().unwrap().push(at);
                    Ok(())
                }
            });
            task.max_retries(0).depends_on(plan.needs.iter().map(|need| name(*need)))
        });
        tasks.fold(graph, Graph::task).run()
    };
    let other = async {
        if are_two {
            graph().await.unwrap();
        }
    };
    let (one, ()) = tokio::join!(graph(), other);
    one.unwrap();
    let succeeded = succeeded.lock().unwrap();
    succeeded.clone()
}

/// The time until all have ended, if each begins with the end of the last one that it needs.
fn seconds(plans: &[Plan], done: &BTreeSet<usize>, bad: &BTreeSet<usize>) -> u64 {
    let (mut ends, mut is_good) = (Vec::new(), Vec::new());
    for (at, plan) in plans.iter().enumerate() {
        let begins = plan.needs.iter().map(|need| ends[*need]).max().unwrap_or(0);
        let runs = plan.needs.iter().all(|need| is_good[*need]);
        let is_done = done.contains(&at);
        ends.push(if is_done { 0 } else { begins + if runs { plan.takes } else { 0 } });
        is_good.push(is_done || runs && !bad.contains(&at));
    }
    ends.into_iter().max().unwrap_or(0)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn each_task_ends_as_its_dependencies_allow(
        plans in plans(),
        rounds in prop::collection::vec(prop::collection::btree_set(0..9_usize, 0..4), 1..4),
        are_two in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .unwrap();
        runtime.block_on(async {
            let store = SqliteStore::in_memory();
            let mut done = BTreeSet::new();
            for bad in rounds {
                let seconds = seconds(&plans, &done, &bad);
                let began = Instant::now();
                for at in run(&store, &plans, &bad, are_two).await {
                    assert!(plans[at].needs.is_subset(&done), "{at} did not wait for its needs");
                    assert!(done.insert(at), "{at} succeeded twice");
                }
                // Another process's ends are seen within a second.
                let late = began.elapsed().as_secs() - seconds;
                assert!(late <= if are_two { plans.len() as u64 } else { 0 }, "{late} s late");
                for (at, plan) in plans.iter().enumerate() {
                    let expected = match (done.contains(&at), plan.needs.is_subset(&done)) {
                        (true, _) => ItemState::Succeeded,
                        (false, true) => ItemState::Dead,
                        (false, false) => ItemState::Skipped,
                    };
                    let found = store.item("random", &name(at)).await.unwrap().unwrap();
                    assert_eq!(found.state, expected, "{at} of {plans:?}");
                    assert!(expected != ItemState::Dead || bad.contains(&at), "{at} is not bad");
                }
            }
        });
    }
}
