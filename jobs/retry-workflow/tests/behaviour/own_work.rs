//! Kinds of work and sources of items that are defined outside the crate.

use std::collections::VecDeque;
use std::error::Error as _;
use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::{BreakerRecord, State};
use retry_workflow::store::{AttemptOutcome, NewItem, Selection};
use retry_workflow::work::{
    AttemptReport, AttemptTimer, Reason, RetryState, WorkItem, WorkOutcome,
};
use retry_workflow::{
    BreakerConfig, DeadLetters, ErrorPolicy, Failure, Filter, Graph, ItemContext, ItemState, Job,
    JobEvent, JobRunner, JobStatus, OnItemFailure, Operator, Output, Policy, Rate, Redrive,
    Retrier, Source, SqliteStore, StopReason, Store, Work, Workflow, WorkflowError, keyed,
};

fn items(ids: &[&str]) -> std::vec::IntoIter<NewItem> {
    let items: Vec<_> = ids.iter().map(|id| NewItem::new(*id, format!("\"{id}\""))).collect();
    items.into_iter()
}

/// Work that calls a function.
struct Does<F>(F);

impl<F: Fn(WorkItem<'_>) -> AttemptReport + Send + Sync + 'static> Work for Does<F> {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        (self.0)(item)
    }
}

/// Copies a file in parts, one per attempt.
struct Copy {
    parts: u32,
}

impl Work for Copy {
    async fn attempt(&self, item: WorkItem<'_>) -> AttemptReport {
        let timer = AttemptTimer::start();
        tokio::time::sleep(Duration::from_secs(2)).await;
        let copied = 1 + item.checkpoint.map_or(0, |copied| copied.parse::<u32>().unwrap());
        if copied == self.parts {
            return AttemptReport::succeeded(timer, Some(format!("{copied} parts")));
        }
        let (wait, checkpoint) = (Duration::from_secs(10), copied.to_string());
        let failure = Failure::new("network", format!("cut off after part {copied}"));
        AttemptReport::new(WorkOutcome::Retry { wait, checkpoint })
            .record(timer.failed(failure).step(format!("part {copied}")))
    }
}

#[tokio::test(start_paused = true)]
async fn an_attempt_begins_at_the_checkpoint_of_the_last_one() {
    let store = SqliteStore::in_memory();
    let runner = JobRunner::new("copy").store(store.clone());
    let report = runner.run(items(&["a"]), Copy { parts: 3 }).await.unwrap();

    assert!(report.is_success(), "{report}");
    assert_eq!(report.counts.worked, Duration::from_secs(6));
    assert_eq!(report.counts.waited, Duration::from_secs(20));
    let item = store.item("copy-1", "a").await.unwrap().unwrap();
    assert_eq!(item.output.as_deref(), Some("3 parts"));
    let history = item.history;
    let steps: Vec<_> = history.iter().map(|record| record.step.as_deref()).collect();
    assert_eq!(steps, [Some("part 1"), Some("part 2"), None]);
    assert_eq!(history[2].outcome, AttemptOutcome::Succeeded);
}

#[tokio::test(start_paused = true)]
async fn each_attempt_that_has_ended_is_an_event() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = Arc::clone(&heard);
    let runner = JobRunner::new("copy").on_event(move |event| {
        if let JobEvent::Attempt { job, item, attempt, state, .. } = event {
            let row = (format!("{job}/{item}"), attempt.attempt, attempt.outcome, *state);
            listener.lock().unwrap().push(row);
        }
    });
    runner.run(items(&["a"]), Copy { parts: 2 }).await.unwrap();
    let expected = [
        ("copy-1/a".to_owned(), 1, AttemptOutcome::Failed, None),
        ("copy-1/a".to_owned(), 2, AttemptOutcome::Succeeded, Some(ItemState::Succeeded)),
    ];
    assert_eq!(*heard.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn output_of_an_attempt_is_only_in_the_history() {
    let store = SqliteStore::in_memory();
    let work = Does(|_: WorkItem<'_>| {
        let mut failure = Failure::new("other", "exit status 2");
        failure.output = Some(Box::new(Output::new("", "no luck")));
        AttemptReport::failed(AttemptTimer::start(), failure, Reason::NotRetryable)
    });
    JobRunner::new("run").store(store.clone()).run(items(&["a"]), work).await.unwrap();
    let item = store.item("run-1", "a").await.unwrap().unwrap();
    assert_eq!(item.failure.unwrap().output, None);
    let output = item.history[0].failure.as_ref().unwrap().output.as_deref();
    assert_eq!(output, Some(&Output::new("", "no luck")));
}

#[tokio::test(start_paused = true)]
async fn a_postponed_item_has_not_been_tried() {
    let asked = Arc::new(AtomicU32::new(0));
    let work = Does({
        let asked = Arc::clone(&asked);
        move |_: WorkItem<'_>| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => {
                let (wait, checkpoint) = (Duration::from_secs(60), None);
                AttemptReport::new(WorkOutcome::Postponed { wait, checkpoint })
            }
            _ => AttemptReport::succeeded(AttemptTimer::start(), None),
        }
    });
    let report = JobRunner::new("wait").run(items(&["a"]), work).await.unwrap();
    assert_eq!((asked.load(Ordering::Relaxed), report.counts.attempts), (2, 1));
    assert!(report.elapsed >= Duration::from_secs(60));
}

/// Each attempt leaves a checkpoint, or goes on from the one that it got.
#[tokio::test(start_paused = true)]
async fn a_postponed_item_continues_at_its_checkpoint() {
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let work = {
        let seen = Arc::clone(&seen);
        Does(move |item: WorkItem<'_>| {
            let (number, wait) = (seen.lock().unwrap().len(), Duration::from_secs(60));
            seen.lock().unwrap().push((item.context.attempt(), item.checkpoint, item.postponed));
            let checkpoint = match number {
                0 => Some("1".to_owned()),
                1 => None,
                2 => {
                    let checkpoint = "2".to_owned();
                    return AttemptReport::new(WorkOutcome::Retry { wait, checkpoint });
                }
                3 => Some("not JSON".to_owned()),
                _ => return AttemptReport::succeeded(AttemptTimer::start(), None),
            };
            let failure = Failure::new("other", "not ready");
            AttemptReport::new(WorkOutcome::Postponed { wait, checkpoint })
                .record(AttemptTimer::start().failed(failure))
        })
    };
    let report = JobRunner::new("wait").run(items(&["a"]), work).await.unwrap();
    assert!(report.classes.contains_key("other"), "{report}");
    let one = || Some("1".to_owned());
    let minutes = |n: u64| Duration::from_secs(60 * n);
    let expected = [
        (1, None, minutes(0)),
        (1, one(), minutes(1)),
        (1, one(), minutes(2)),
        (2, Some("2".to_owned()), minutes(2)),
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
}

#[tokio::test(start_paused = true)]
async fn the_error_policy_holds_for_any_work() {
    let work = || {
        Does(|item: WorkItem<'_>| {
            let failure = Failure::new("other", format!("no {}", item.payload));
            AttemptReport::failed(AttemptTimer::start(), failure, Reason::Attempts)
        })
    };
    let policy = ErrorPolicy::new()
        .on_item_failure(OnItemFailure::Custom("first".to_owned()))
        .circuit_breaker(BreakerConfig::new().failure_threshold(2))
        .max_failures(2);
    let seen: Arc<Mutex<Vec<ItemContext>>> = Arc::default();
    let handler = {
        let seen = Arc::clone(&seen);
        move |failed: retry_workflow::ItemFailure| {
            seen.lock().unwrap().push(failed.context());
            async move { if failed.item == "a" { OnItemFailure::Skip } else { OnItemFailure::Dlq } }
        }
    };
    let store = SqliteStore::in_memory();
    let runner = JobRunner::new("fail").store(store.clone()).max_parallel(1).error_policy(policy);
    let runner = runner.handler("first", handler);
    let report = runner.run(items(&["a", "b", "c"]), work()).await.unwrap();

    assert_eq!((report.skipped(), report.dead(), report.counts.pending), (1, 1, 1));
    assert_eq!(report.stopped(), Some(&StopReason::MaxFailures { max_failures: 2 }));
    let breaker = BreakerRecord::find(&store, "fail-1").await.unwrap().unwrap();
    assert_eq!((breaker.state, breaker.open_until.is_some()), (State::Open, true));
    let seen = seen.lock().unwrap();
    assert_eq!((seen[1].job(), seen[1].id(), seen[1].attempt()), ("fail-1", "b", 1));
}

/// Work that fails once at each of its three places, and continues where it failed.
fn fails_at_each_place(seen: &Arc<Mutex<Vec<String>>>) -> impl Work {
    let seen = Arc::clone(seen);
    Does(move |item: WorkItem<'_>| {
        let at = item.checkpoint.unwrap_or_else(|| "0".to_owned());
        let next = at.parse::<u32>().unwrap() + 1;
        seen.lock().unwrap().push(at);
        if next == 4 {
            return AttemptReport::succeeded(AttemptTimer::start(), None);
        }
        let failure = Failure::new("other", "no");
        AttemptReport::failed(AttemptTimer::start(), failure, Reason::Attempts)
            .resume_from(next.to_string())
    })
}

#[tokio::test(start_paused = true)]
async fn an_item_that_retries_its_step_continues_where_it_failed() {
    let run = async |action: OnItemFailure, rounds: u32| {
        let seen = Arc::default();
        let policy = ErrorPolicy::new()
            .on_item_failure(OnItemFailure::Custom("decide".to_owned()))
            .retry_config(Policy::new().attempts(rounds));
        let report = JobRunner::new("places")
            .error_policy(policy)
            .handler("decide", move |_| std::future::ready(action.clone()))
            .run(items(&["a"]), fails_at_each_place(&seen))
            .await
            .unwrap();
        let seen = seen.lock().unwrap().join(" ");
        (report.succeeded(), seen, report.counts.waited)
    };
    let seconds = Duration::from_secs;
    assert_eq!(run(OnItemFailure::RetryStep, 4).await, (1, "0 1 2 3".to_owned(), seconds(7)));
    assert_eq!(run(OnItemFailure::RetryStep, 3).await, (0, "0 1 2".to_owned(), seconds(3)));
    assert_eq!(run(OnItemFailure::Retry, 4).await, (0, "0 0 0 0".to_owned(), seconds(7)));
    // Nothing was left, or nothing that can be stored: it starts over.
    for left in [None, Some("half done")] {
        let calls = AtomicU32::new(0);
        let work = Does(move |item: WorkItem<'_>| {
            assert_eq!(item.checkpoint, None);
            let report = match calls.fetch_add(1, Ordering::Relaxed) {
                0 => {
                    let failure = Failure::new("other", "no");
                    AttemptReport::failed(AttemptTimer::start(), failure, Reason::Attempts)
                }
                _ => AttemptReport::succeeded(AttemptTimer::start(), None),
            };
            left.into_iter().fold(report, AttemptReport::resume_from)
        });
        let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::RetryStep);
        let report = JobRunner::new("none").error_policy(policy).run(items(&["a"]), work).await;
        assert!(report.unwrap().is_success(), "{left:?}");
    }
}

/// Runs items whose work fails at each place, and re-drives them a few times.
async fn places_of_runs(action: OnItemFailure, from_failed: bool) -> String {
    let (store, seen) = (SqliteStore::in_memory(), Arc::default());
    let policy = ErrorPolicy::new().on_item_failure(action).retry_config(Policy::new().attempts(2));
    let run = async || {
        let runner = JobRunner::new("places").store(store.clone()).error_policy(policy.clone());
        runner.job_id("places-1").run(items(&["a"]), fails_at_each_place(&seen)).await.unwrap();
        seen.lock().unwrap().push("|".to_owned());
        let redrive = Redrive::new().from_failed(from_failed);
        let failed = Filter::job("places-1").states([ItemState::Dead, ItemState::Skipped]);
        DeadLetters::new(store.clone()).retry(failed, redrive).await.unwrap()
    };
    while run().await > 0 && seen.lock().unwrap().len() < 8 {}
    let seen: &Mutex<Vec<String>> = &seen;
    seen.lock().unwrap().join(" ")
}

#[tokio::test(start_paused = true)]
async fn a_redrive_from_the_failed_step_continues_where_the_item_died() {
    assert_eq!(places_of_runs(OnItemFailure::Dlq, true).await, "0 | 1 | 2 | 3 |");
    assert_eq!(places_of_runs(OnItemFailure::Dlq, false).await, "0 | 0 | 0 | 0 |");
    // A policy that starts over does so at the start of the run.
    assert_eq!(places_of_runs(OnItemFailure::Retry, true).await, "0 0 | 1 1 | 2 2 |");
    assert_eq!(places_of_runs(OnItemFailure::RetryStep, true).await, "0 1 | 2 3 |");
    assert_eq!(places_of_runs(OnItemFailure::RetryStep, false).await, "0 1 | 0 1 | 0 1 |");
}

#[tokio::test(start_paused = true)]
async fn a_re_driven_item_that_fails_as_a_probe_is_put_back_where_its_run_began() {
    let (store, seen) = (SqliteStore::in_memory(), Arc::default());
    let breaker = BreakerConfig::new().failure_threshold(1);
    let run = async || {
        let policy = ErrorPolicy::new().circuit_breaker(breaker);
        let runner = JobRunner::new("places").store(store.clone()).error_policy(policy);
        runner.job_id("places-1").run(items(&["a"]), fails_at_each_place(&seen)).await.unwrap();
    };
    run().await;
    let from_failed = Redrive::new().from_failed(true);
    DeadLetters::new(store.clone()).retry(Filter::job("places-1"), from_failed).await.unwrap();
    run().await;
    let seen: &Mutex<Vec<String>> = &seen;
    assert_eq!(seen.lock().unwrap().join(" "), "0 1 1 1 1");
}

/// Lets as many workers die with the item `a` as make it a dead letter.
async fn kill_workers(store: &SqliteStore, job: &str) {
    for worker in ["1", "2", "3", "4", "5"] {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let which = match worker {
            "1" | "2" => Selection::Items { max: 1, starts: 1 },
            _ => Selection::Suspect,
        };
        let lease = Duration::from_secs(1);
        assert_eq!(store.claim(job, worker, store.now(), which, lease).await.unwrap().len(), 1);
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
}

async fn redrive_from_failed(store: &SqliteStore, job: &str) {
    let from_failed = Redrive::new().from_failed(true);
    let letters = DeadLetters::new(store.clone());
    assert_eq!(letters.retry(Filter::job(job), from_failed).await, Ok(1));
}

/// A dead letter keeps the place of its last attempt if nothing else is known, and of its run.
#[tokio::test(start_paused = true)]
async fn an_item_that_dies_without_an_attempt_is_redriven_from_where_it_waited() {
    let costly = "10/m".parse::<Rate>().unwrap().cost(|_| None);
    for (class, rates) in [("lost", None), ("payload", Some(costly))] {
        let store = SqliteStore::in_memory();
        let job = Job::create(&store, "copy", None).await.unwrap();
        store.enqueue(&job.id, items(&["a"]).collect(), store.now()).await.unwrap();
        let runner = || JobRunner::new("copy").store(store.clone()).job_id(&job.id);
        let first = runner().resume(&job.id, Copy { parts: 3 });
        tokio::time::timeout(Duration::from_secs(5), first).await.unwrap_err();
        if rates.is_none() {
            kill_workers(&store, &job.id).await;
        }
        let limited = rates.into_iter().fold(runner(), JobRunner::rate);
        let report = limited.resume(&job.id, Copy { parts: 3 }).await.unwrap();
        assert_eq!(report.groups[0].class, class);
        redrive_from_failed(&store, &job.id).await;
        let report = runner().resume(&job.id, Copy { parts: 3 }).await.unwrap();
        assert_eq!(report.succeeded(), 1, "{report}");
        let history = store.item(&job.id, "a").await.unwrap().unwrap().history;
        let steps: Vec<_> = history.iter().filter_map(|record| record.step.as_deref()).collect();
        assert_eq!(steps, ["part 1", "part 2"], "{class}");
    }
}

/// Work that fails three times in a run, and then for good.
fn fails_for_good(calls: &Arc<AtomicU32>) -> impl Work + use<> {
    let calls = Arc::clone(calls);
    let retrier = Retrier::new(Policy::new().attempts(3).initial_delay(Duration::from_secs(20)));
    Does(move |item: WorkItem<'_>| {
        calls.fetch_add(1, Ordering::Relaxed);
        let timer = AttemptTimer::start();
        let state = item.checkpoint.filter(|_| item.is_continued);
        let state = state.map(|state| serde_json::from_str(&state).unwrap());
        let failure = Failure::new("other", "down");
        let worker = item.context.worker();
        let next = RetryState::decide(state, &retrier, worker, Ok(&"down"), &failure, None);
        AttemptReport::new(next.into_outcome(failure.clone())).record(timer.failed(failure))
    })
}

/// The checkpoint is that of an earlier run.
#[tokio::test(start_paused = true)]
async fn a_retry_state_of_an_earlier_run_uses_up_no_attempt() {
    for is_cancelled in [false, true] {
        let (store, calls) = (SqliteStore::in_memory(), Arc::default());
        let runner = || JobRunner::new("call").store(store.clone());
        let first = runner().run(items(&["a"]), fails_for_good(&calls));
        tokio::time::timeout(Duration::from_secs(21), first).await.unwrap_err();
        if is_cancelled {
            let ada = Operator::new(store.clone(), "ada");
            assert_eq!(ada.cancel_items("call-1", ["a"]).await, Ok(1));
            let letters = DeadLetters::new(store.clone());
            let cancelled = Filter::job("call-1").class("cancelled").states(ItemState::ALL);
            let from_failed = Redrive::new().from_failed(true);
            assert_eq!(letters.retry(cancelled, from_failed).await, Ok(1));
        } else {
            kill_workers(&store, "call-1").await;
            runner().resume("call-1", fails_for_good(&calls)).await.unwrap();
            redrive_from_failed(&store, "call-1").await;
        }
        assert_eq!(calls.swap(0, Ordering::Relaxed), 2);
        let report = runner().resume("call-1", fails_for_good(&calls)).await.unwrap();
        assert_eq!((&*report.groups[0].class, calls.load(Ordering::Relaxed)), ("other", 3));
    }
}

/// Items that the policy skips, or that are cancelled while they wait, keep their places.
#[tokio::test(start_paused = true)]
async fn a_skipped_item_is_re_driven_from_where_it_failed() {
    assert_eq!(places_of_runs(OnItemFailure::Skip, true).await, "0 | 1 | 2 | 3 |");
    assert_eq!(places_of_runs(OnItemFailure::Skip, false).await, "0 | 0 | 0 | 0 |");
    let (store, seen) = (SqliteStore::in_memory(), Arc::default());
    let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::RetryStep);
    let runner = || JobRunner::new("places").store(store.clone()).error_policy(policy.clone());
    let first = runner().run(items(&["a"]), fails_at_each_place(&seen));
    tokio::time::timeout(Duration::from_millis(500), first).await.unwrap_err();
    assert_eq!(Job::cancel(&store, "places-1").await, Ok(1));
    let from_failed = Redrive::new().from_failed(true);
    let cancelled = Filter::job("places-1").states([ItemState::Skipped]);
    DeadLetters::new(store.clone()).retry(cancelled, from_failed).await.unwrap();
    runner().resume("places-1", fails_at_each_place(&seen)).await.unwrap();
    let seen: &Mutex<Vec<String>> = &seen;
    assert_eq!(seen.lock().unwrap().join(" "), "0 1 2 3");
}

/// An item that its own work skips keeps the place of its run, or the one that the work names.
#[tokio::test(start_paused = true)]
async fn an_item_skipped_by_its_work_is_re_driven_from_where_it_was() {
    for (named, expected) in [(None, "0 1 1"), (Some("2"), "0 1 2")] {
        let (store, seen) = (SqliteStore::in_memory(), Arc::<Mutex<Vec<String>>>::default());
        for _ in 0..3 {
            let seen = Arc::clone(&seen);
            let work = Does(move |item: WorkItem<'_>| {
                let mut seen = seen.lock().unwrap();
                seen.push(item.checkpoint.unwrap_or_else(|| "0".to_owned()));
                let failure = Failure::new("other", "no");
                if seen.len() == 2 {
                    let report = AttemptReport::new(WorkOutcome::Skipped(failure));
                    return named.into_iter().fold(report, AttemptReport::resume_from);
                }
                AttemptReport::failed(AttemptTimer::start(), failure, Reason::Attempts)
                    .resume_from("1")
            });
            let runner = JobRunner::new("places").store(store.clone()).job_id("places-1");
            runner.run(items(&["a"]), work).await.unwrap();
            let failed = Filter::job("places-1").states([ItemState::Dead, ItemState::Skipped]);
            let from_failed = Redrive::new().from_failed(true);
            assert_eq!(DeadLetters::new(store.clone()).retry(failed, from_failed).await, Ok(1));
        }
        assert_eq!(seen.lock().unwrap().join(" "), expected);
    }
}

/// A closure has no place to continue at, and its retries are those of a run.
#[tokio::test(start_paused = true)]
async fn a_handler_that_killed_its_workers_is_redriven_with_all_its_attempts() {
    let (store, calls) = (SqliteStore::in_memory(), Arc::<AtomicU32>::default());
    let policy = Policy::new().attempts(3).budget(Duration::from_secs(200));
    let workflow = || Workflow::new("call").opaque().retry(policy).store(store.clone());
    let call = {
        let calls = Arc::clone(&calls);
        move |_: String, _| {
            calls.fetch_add(1, Ordering::Relaxed);
            std::future::ready(Err::<(), _>("down"))
        }
    };
    let first = workflow().run(keyed(["a".to_owned()], String::clone), call.clone());
    tokio::time::timeout(Duration::from_millis(500), first).await.unwrap_err();
    for run in 0..3 {
        kill_workers(&store, "call-1").await;
        let report = workflow().resume("call-1", call.clone()).await.unwrap();
        assert_eq!((&*report.groups[0].class, calls.load(Ordering::Relaxed)), ("lost", 1), "{run}");
        redrive_from_failed(&store, "call-1").await;
    }
    let report = workflow().resume("call-1", call).await.unwrap();
    assert_eq!((&*report.groups[0].class, calls.load(Ordering::Relaxed)), ("other", 4), "{report}");
}

/// The budget of the rounds ends while no process works on the job.
#[tokio::test(start_paused = true)]
async fn the_budget_of_rounds_ends_for_an_item_that_retries_its_step() {
    let store = SqliteStore::in_memory();
    let seen = Arc::default();
    let run = |deadline: Duration| {
        let policy = Policy::new().attempts(9).budget(Duration::from_secs(60));
        let policy =
            ErrorPolicy::new().on_item_failure(OnItemFailure::RetryStep).retry_config(policy);
        let runner = JobRunner::new("places").store(store.clone()).error_policy(policy);
        runner.deadline(deadline).run(items(&["a"]), fails_at_each_place(&seen))
    };
    run(Duration::from_millis(500)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(600)).await;
    let report = run(Duration::from_secs(600)).await.unwrap();
    assert_eq!((report.dead(), seen.lock().unwrap().join(" ")), (1, "0".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn a_job_of_any_work_is_resumed_from_its_store() {
    let store = SqliteStore::in_memory();
    let origin = serde_json::json!({ "shift": "night" });
    let job = Job::create(&store, "copy", Some(origin.clone())).await.unwrap();
    let runner = || JobRunner::new("copy").store(store.clone());
    // A process that ends while its items wait.
    let first = runner().job_id(&job.id).run(items(&["a", "b"]), Copy { parts: 2 });
    tokio::time::timeout(Duration::from_secs(5), first).await.unwrap_err();

    let report = runner().resume("copy-1", Copy { parts: 2 }).await.unwrap();
    assert!(report.is_success(), "{report}");
    assert_eq!(report.job.origin.as_ref(), Some(&origin));
    // Nested JSON in the store, not a string that contains JSON.
    let (_, stored) = store.get("job/copy-1").await.unwrap().unwrap();
    assert!(stored.contains(r#""origin":{"shift":"night"}"#), "{stored}");
    assert_eq!(report.counts.attempts, 4);

    Job::set_origin(&store, "copy-1", None).await.unwrap();
    assert_eq!(Job::get(&store, "copy-1").await.unwrap().origin, None);
    let unknown = runner().resume("copy-2", Copy { parts: 2 }).await.unwrap_err();
    assert_eq!(unknown.to_string(), "this store has no job `copy-2`: its jobs are `copy-1`");
    let misspelt = runner().resume("cpy-1", Copy { parts: 2 }).await.unwrap_err();
    assert_eq!(misspelt.to_string(), "this store has no job `cpy-1`: did you mean `copy-1`?");
}

/// Pages; each of them reveals its links once it has been read.
struct Site {
    found: VecDeque<&'static str>,
    fails: bool,
    is_complete: bool,
}

impl Source for Site {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        if self.fails {
            return Err(WorkflowError::input(io::Error::from(io::ErrorKind::BrokenPipe)));
        }
        let next = self.found.pop_front();
        Ok(next.map(|page| vec![NewItem::new(page, "null")]))
    }

    fn is_complete(&self) -> bool {
        self.is_complete
    }

    fn item_ended(&mut self, id: &str, state: ItemState) -> bool {
        if id != "index" || state != ItemState::Succeeded {
            return false;
        }
        self.found.extend(["news", "jobs"]);
        true
    }
}

fn site() -> Site {
    Site { found: ["index"].into(), fails: false, is_complete: true }
}

fn reads() -> impl Work {
    Does(|_: WorkItem<'_>| AttemptReport::succeeded(AttemptTimer::start(), None))
}

#[tokio::test(start_paused = true)]
async fn an_item_that_ends_can_bring_further_items() {
    let report = JobRunner::new("crawl").run(site(), reads()).await.unwrap();
    assert_eq!(report.succeeded(), 3);
    assert_eq!(report.job.status, JobStatus::Finished);
}

#[tokio::test(start_paused = true)]
async fn a_source_that_does_not_have_all_items_leaves_the_job_unfinished() {
    let part = Site { is_complete: false, ..site() };
    let report = JobRunner::new("crawl").run(part, reads()).await.unwrap();
    assert_eq!(report.stopped(), Some(&StopReason::InputIncomplete));
}

#[tokio::test(start_paused = true)]
async fn the_error_of_a_source_ends_the_job_and_is_the_cause() {
    let broken = Site { fails: true, ..site() };
    let error = JobRunner::new("crawl").run(broken, reads()).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot read the items of the job: broken pipe");
    assert!(error.source().is_none(), "it is told once");
}

#[tokio::test(start_paused = true)]
async fn a_graph_accepts_any_work_and_redrives_dead_tasks() {
    let store = SqliteStore::in_memory();
    let graph = |is_fixed: bool| {
        let upload = Does(move |item: WorkItem<'_>| {
            let timer = AttemptTimer::start();
            if is_fixed {
                return AttemptReport::succeeded(timer, Some(item.context.id().to_owned()));
            }
            AttemptReport::failed(timer, Failure::new("other", "no space"), Reason::Attempts)
        });
        Graph::new("publish")
            .store(store.clone())
            .job_id("publish-1")
            .work("render", &[], reads())
            .work("upload", &["render"], upload)
            .work("announce", &["upload"], reads())
    };
    let report = graph(false).run().await.unwrap();
    assert_eq!((report.succeeded(), report.dead(), report.skipped()), (1, 1, 1));
    // Dead tasks stay dead unless they are re-driven.
    let report = graph(true).run().await.unwrap();
    assert_eq!((report.succeeded(), report.dead(), report.skipped()), (1, 1, 1));
    let report = graph(true).redrive_dead().run().await.unwrap();
    assert!(report.is_success(), "{report}");
    let upload = store.item("publish-1", "upload").await.unwrap().unwrap();
    assert_eq!((upload.run, upload.output.as_deref()), (1, Some("upload")));
}

#[tokio::test(start_paused = true)]
async fn work_of_ones_own_is_tested_without_a_job() {
    let mut item = WorkItem::new(ItemContext::new("copy-1", "a", "test"), "\"a\"");
    item.checkpoint = Some("1".to_owned());
    let report = Copy { parts: 2 }.attempt(item).await;
    assert!(matches!(report.outcome, WorkOutcome::Succeeded(Some(output)) if output == "2 parts"));
}

/// An endless source of items, which counts how many were taken.
struct Endless {
    given: Arc<AtomicU32>,
}

impl Source for Endless {
    async fn next_batch(&mut self) -> Result<Option<Vec<NewItem>>, WorkflowError> {
        let from = self.given.fetch_add(1_000, Ordering::Relaxed);
        Ok(Some((from..from + 1_000).map(|id| NewItem::new(id.to_string(), "null")).collect()))
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_is_not_far_ahead_of_slow_handlers() {
    let given = Arc::new(AtomicU32::new(0));
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let stop = Mutex::new(Some(stop));
    let begun = AtomicU32::new(0);
    let work = {
        let given = Arc::clone(&given);
        Does(move |_: WorkItem<'_>| {
            let begun = begun.fetch_add(1, Ordering::Relaxed);
            let ahead = given.load(Ordering::Relaxed) - begun;
            assert!(ahead <= 13_000, "{ahead} are ahead of the one that begins");
            if begun == 15_000 {
                drop(stop.lock().unwrap().take());
            }
            // Half of them wait for another attempt: these do not count as read ahead.
            if begun.is_multiple_of(2) {
                let (wait, checkpoint) = (Duration::from_secs(1_000_000), "1".to_owned());
                return AttemptReport::new(WorkOutcome::Retry { wait, checkpoint });
            }
            AttemptReport::succeeded(AttemptTimer::start(), None)
        })
    };
    let store = SqliteStore::in_memory();
    let runner = JobRunner::new("stream").store(store.clone()).stop_on(async {
        let _ = stopped.await;
    });
    let report = runner.run(Endless { given: Arc::clone(&given) }, work).await.unwrap();
    assert_eq!(report.stopped(), Some(&StopReason::Requested));
    assert!(store.overview("stream-1", u64::MAX).await.unwrap().waiting <= 13_000);
    assert!(given.load(Ordering::Relaxed) >= 25_000, "it goes on beside those that wait");
}

#[test]
fn a_job_outside_of_tokio_reports_the_missing_runtime() {
    let run = || {
        let runner = JobRunner::new("none");
        let work = Does(|_: WorkItem<'_>| AttemptReport::succeeded(AttemptTimer::start(), None));
        let mut run = Box::pin(runner.run(items(&["a"]), work));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = run.as_mut().poll(&mut context);
    };
    let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run)).unwrap_err();
    let said = panic.downcast_ref::<&str>().copied();
    assert!(said.is_some_and(|said| said.starts_with("a job needs a Tokio runtime")), "{said:?}");
}
