//! Jobs with several rates: at most a number of starts, or a sum of costs, in any span of time.

mod scenario;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::{IntoRates, RateRecord, Rates, Unit, Waits};
use retry_workflow::{
    ErrorPolicy, Filter, Job, JobEvent, JobReport, OnItemFailure, Rate, SqliteStore, Store,
    WaitReason, Workflow, keyed, policy,
};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn no_span_has_more_than_its_limit_whoever_is_killed() {
    scenario::run(Arc::new(SqliteStore::in_memory())).await;
}

#[cfg(feature = "sqlite")]
#[tokio::test(start_paused = true)]
async fn no_span_has_more_than_its_limit_whoever_is_killed_with_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(folder.path().join("jobs.db")).unwrap();
    scenario::run(Arc::new(store)).await;
}

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

/// A rate of costs, which are in the field `cost` of an item.
fn by_cost(text: &str) -> Rates {
    rate(text).cost(|item| item["cost"].as_u64())
}

/// The starts of the items with their numbers, in order.
#[derive(Clone, Default)]
struct Starts(Arc<Mutex<Vec<(u64, Instant)>>>);

impl Starts {
    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn since(&self, began: Instant) -> Vec<(u64, f64)> {
        let starts = self.0.lock().unwrap();
        starts.iter().map(|(item, at)| (*item, (*at - began).as_secs_f64())).collect()
    }

    /// The number of starts before that of an item.
    fn before(&self, item: u64) -> usize {
        self.0.lock().unwrap().iter().position(|(one, _)| *one == item).unwrap()
    }
}

/// Runs `job-1` with these rates and items for a while.
async fn run_for(
    store: &SqliteStore,
    rates: impl IntoRates,
    items: impl IntoIterator<Item = Value>,
    time: Duration,
) -> (JobReport, Starts) {
    let starts = Starts::default();
    let report = with_starts(Workflow::new("job").rate(rates), store, items, time, &starts);
    (report.await, starts)
}

async fn with_starts(
    workflow: Workflow,
    store: &SqliteStore,
    items: impl IntoIterator<Item = Value>,
    time: Duration,
    starts: &Starts,
) -> JobReport {
    let starts = starts.clone();
    let items: Vec<_> = items.into_iter().collect();
    let workflow = workflow.job_id("job-1").store(store.clone()).stop_on(sleep(time));
    let items = keyed(items, |item: &Value| item["id"].to_string());
    let ran = workflow.run(items, move |item: Value, _| {
        starts.0.lock().unwrap().push((item["id"].as_u64().unwrap(), Instant::now()));
        async { Ok::<_, String>(()) }
    });
    ran.await.unwrap()
}

fn items(costs: impl IntoIterator<Item = u64>) -> Vec<Value> {
    costs.into_iter().enumerate().map(|(id, cost)| json!({ "id": id, "cost": cost })).collect()
}

#[tokio::test(start_paused = true)]
async fn the_rate_with_the_shortest_interval_paces_and_the_others_are_windows() {
    let (store, began) = (SqliteStore::in_memory(), Instant::now());
    let (report, starts) = run_for(&store, ["30/m", "10/s"], items([1; 70]), HOUR).await;
    assert_eq!(report.succeeded(), 70);
    let starts = starts.since(began);
    // Ten a second, then the next minute.
    assert!((starts[29].1 - 2.9).abs() < 0.1, "{starts:?}");
    assert!(starts[30].1 > 60.0 && starts[30].1 < 62.0, "{starts:?}");
    assert!(starts[60].1 > 120.0 && starts[60].1 < 124.0, "{starts:?}");
}

#[tokio::test(start_paused = true)]
async fn a_day_is_any_24_hours_and_its_starts_are_not_spread() {
    let store = SqliteStore::in_memory();
    let run = || run_for(&store, "100/d", items([1; 190]), MINUTE);
    assert_eq!(run().await.1.count(), 100);
    tokio::time::advance(MINUTE * 1_438).await;
    assert_eq!(run().await.1.count(), 0);
    // Its slots are 24 minutes long.
    tokio::time::advance(MINUTE * 24).await;
    assert_eq!(run().await.1.count(), 90);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_job_continues_within_its_window_and_unused_starts_return() {
    let (store, began) = (SqliteStore::in_memory(), Instant::now());
    let mut starts = 0;
    for _ in 0..20 {
        let (_, more) = run_for(&store, ["10/s", "60/h"], items([1; 90]), SECOND).await;
        starts += more.count();
        let used = RateRecord::of(&store, "job-1").await.unwrap()[1].used.unwrap();
        assert_eq!(used, starts as u64);
    }
    assert_eq!(starts, 60);
    let (report, rest) = run_for(&store, ["10/s", "60/h"], items([1; 90]), HOUR * 2).await;
    assert!(report.is_success());
    assert!(rest.since(began)[0].1 > 3_600.0 && rest.since(began)[0].1 < 3_662.0);
}

#[tokio::test(start_paused = true)]
async fn a_large_item_is_not_overtaken_for_ever() {
    let costs = || (0..500).map(|id| if id == 200 { 1_000 } else { 10 });
    let limits: [fn(Workflow) -> Workflow; 2] = [
        |workflow| workflow.rate(by_cost("1000/m")),
        |workflow| workflow.rate_per(|_| Some("one".to_owned()), by_cost("1000/m")),
    ];
    for limit in limits {
        let (store, starts) = (SqliteStore::in_memory(), Starts::default());
        let worker = || {
            let workflow = limit(Workflow::new("job").max_parallel(20));
            with_starts(workflow, &store, items(costs()), HOUR, &starts)
        };
        let (report, _, _) = tokio::join!(worker(), worker(), worker());
        assert!(report.is_success(), "{report}");
        // It needs the whole of a minute, in which no other one starts.
        let before = starts.before(200);
        assert!(before < 400, "{before} started before it");
    }
}

#[tokio::test(start_paused = true)]
async fn an_item_that_can_never_pay_its_cost_is_a_dead_letter_and_does_not_run() {
    let store = SqliteStore::in_memory();
    let costs = [
        json!(1_000),
        json!(1_001),
        json!(u64::MAX),
        json!(0),
        json!(-1),
        json!(1.5),
        json!("7"),
        json!(null),
    ];
    let mut given: Vec<_> =
        costs.iter().enumerate().map(|(id, cost)| json!({ "id": id, "cost": cost })).collect();
    given.push(json!({ "id": 8 }));
    let (report, starts) = run_for(&store, by_cost("1000/m"), given, HOUR).await;
    assert_eq!((report.succeeded(), report.dead(), starts.count()), (1, 8, 1));
    let letters = retry_workflow::DeadLetters::new(store);
    let groups = letters.stats(&Filter::job("job-1")).await.unwrap();
    let mut seen: Vec<_> =
        groups.iter().map(|it| (it.class.as_str(), it.message.as_str(), it.count)).collect();
    seen.sort_unstable();
    let (above, none) = ("is above the limit of 1000/m", "is not a whole number from 1");
    assert!(seen.iter().all(|(class, ..)| *class == "payload"), "{seen:?}");
    let count = |text| seen.iter().filter(|one| one.1.contains(text)).map(|one| one.2).sum::<u64>();
    assert_eq!((count(above), count(none)), (2, 6), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn the_error_policy_decides_about_an_item_that_can_never_start() {
    let policy = ErrorPolicy::new().on_item_failure(OnItemFailure::Skip);
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    let workflow = Workflow::new("job").error_policy(policy).rate(by_cost("10/m"));
    let report = with_starts(workflow, &store, items([10, 11]), HOUR, &starts).await;
    assert_eq!((report.succeeded(), report.skipped(), starts.count()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn each_attempt_pays() {
    let (store, began) = (SqliteStore::in_memory(), Instant::now());
    let report = Workflow::new("job")
        .store(store.clone())
        .rate(by_cost("300/m"))
        .retry(policy!(attempts = 4, initial_delay = "1s", max_delay = "1s"))
        .run(items([100, 100]), |_: Value, cx| async move {
            if cx.attempt() < 4 { Err("not yet") } else { Ok(()) }
        })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.counts.attempts), (2, 8));
    // Eight attempts at three a minute.
    let took = began.elapsed();
    assert!(took > MINUTE * 2 && took < MINUTE * 2 + SECOND * 10, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn an_edited_limit_keeps_what_is_used() {
    let rates = |texts: &[&str]| -> Vec<Rates> {
        let one = |text: &&str| match text.strip_prefix('$') {
            Some(text) => by_cost(text),
            None => rate(text).into(),
        };
        texts.iter().map(one).collect()
    };
    // With the starts of the first minute, and of the next five.
    for (first, then, had, more) in [
        // Another number, with other limits around it.
        (&["10/s", "60/h"][..], &["60/h", "5/s", "1000/d"][..], 60, 0..=0),
        (&["10/s", "60/h"], &["10/s", "40/h"], 60, 0..=0),
        (&["10/s", "60/h"], &["10/s", "80/h"], 60, 20..=20),
        (&["$60/h"], &["10/s", "$50/h", "$1000000/d"], 60, 0..=0),
        // The window becomes the pace.
        (&["10/s", "60/h"], &["60/h"], 60, 0..=0),
        // The pace becomes a window, or there is another unit: it begins empty.
        (&["60/h"], &["10/s", "60/h"], 1, 60..=60),
        (&["10/s", "100/h"], &["10/s", "100/d"], 100, 100..=100),
        (&["$100/h"], &["$100/d"], 100, 100..=100),
    ] {
        let store = SqliteStore::in_memory();
        let (_, before) = run_for(&store, rates(first), items([1; 400]), SECOND * 59).await;
        let (_, after) = run_for(&store, rates(then), items([1; 400]), MINUTE * 5).await;
        let (before, after) = (before.count(), after.count());
        assert!(before == had && more.contains(&after), "{first:?} {then:?}: {before} {after}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_window_is_counted_while_a_worker_does_not_have_its_rate() {
    let store = SqliteStore::in_memory();
    let run = async |rates: &[&str], time: Duration| {
        let rates: Vec<_> = rates.iter().map(|text| rate(text)).collect();
        run_for(&store, rates, items([1; 400]), time).await.1.count()
    };
    assert_eq!(run(&["20/s", "60/h"], SECOND).await, 20);
    assert_eq!(run(&["20/s"], SECOND).await, 20, "it does not limit");
    let shown = RateRecord::of(&store, "job-1").await.unwrap();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(run(&["20/s", "60/h"], MINUTE).await, 20);
    // With both at the same time, and for longer than the window.
    let (with, without) = (["20/s", "60/h"], ["1/m"]);
    let both = tokio::join!(run(&with, HOUR / 2), run(&without, HOUR / 2));
    assert_eq!(both.0, 0, "{both:?}");
    tokio::time::advance(HOUR * 2).await;
    assert_eq!(run(&["20/s"], SECOND).await, 20);
    assert_eq!(run(&["20/s", "60/h"], MINUTE).await, 60, "it was empty, and is forgotten");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_running_items_takes_nothing_from_a_rate_that_was_removed() {
    let (store, host) = (SqliteStore::in_memory(), |_: &Value| Some("one".to_owned()));
    let run = async |workflow: Workflow| {
        let starts = Starts::default();
        with_starts(workflow, &store, items([1; 100]), MINUTE, &starts).await;
        starts.count()
    };
    let both = Workflow::new("job").rate_per(host, ["10/s", "20/h"]).concurrency_per(host, 2);
    assert_eq!(run(both).await, 20);
    assert_eq!(run(Workflow::new("job").concurrency_per(host, 2)).await, 80);
}

#[tokio::test(start_paused = true)]
async fn the_binding_rate_is_named_and_each_one_is_shown() {
    let (store, heard) = (SqliteStore::in_memory(), Arc::new(Mutex::new(Vec::new())));
    let told = Arc::clone(&heard);
    let workflow = Workflow::new("job")
        .rate(vec![rate("10/s").into(), rate("1000/h").into(), by_cost("500/m")])
        .on_event(move |event| {
            // At `10/s`, an item waits for a moment now and then.
            if let JobEvent::Progress {
                waits_for: Some(WaitReason::Rate { limit, wait, .. }), ..
            } = event
                && *wait > SECOND
            {
                told.lock().unwrap().push(limit.to_string());
            }
        });
    let looks = async {
        sleep(SECOND * 30).await;
        let job = Job::get(&store, "job-1").await.unwrap();
        let counts = store.counts("job-1").await.unwrap();
        let waits = Waits::load(&store, &job, &counts).await.unwrap();
        (waits.lines(&counts, Unit::Item, store.now()), waits)
    };
    let starts = Starts::default();
    let job = with_starts(workflow, &store, items([100; 8]), HOUR, &starts);
    let (report, (lines, waits)) = tokio::join!(job, looks);
    assert!(report.is_success());
    let mut heard = heard.lock().unwrap().clone();
    heard.dedup();
    assert_eq!(heard, ["500/m"]);
    let used: Vec<_> = waits.rates.iter().map(|it| (it.limit.to_string(), it.used)).collect();
    let of = |text: &str, used| (text.to_owned(), used);
    assert_eq!(used, [of("10/s", None), of("1000/h", Some(5)), of("500/m", Some(500))]);
    let rates: Vec<_> = lines.iter().filter(|(word, _)| *word == "rate").collect();
    assert_eq!(rates.len(), 2, "{lines:?}");
    assert_eq!(rates[0].1, "1000/h at most: 5 used");
    assert!(
        rates[1].1.starts_with("500/m at most: 500 used, the next free start is "),
        "{lines:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn two_items_with_two_keys_do_not_wait_for_each_other() {
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    let workflow = |worker: usize| {
        let by = |field: &'static str| move |item: &Value| item[field].as_u64();
        let key = |field: &'static str| move |item: &Value| Some(item[field].as_u64()?.to_string());
        Workflow::new("job")
            .max_parallel(8 * worker)
            .rate_per(key("host"), rate("100/m").cost(by("host")))
            .rate_per(key("user"), rate("100/m").cost(by("user")))
    };
    // Each key is a cost too.
    let of = |id: u64, host: Value, user: Value| json!({ "id": id, "host": host, "user": user });
    // The second item waits for its user, and the last ones for their host, which the third one uses.
    let (sixty, none) = (|| json!(60), || json!(null));
    let mut items = vec![of(0, none(), sixty()), of(1, sixty(), sixty()), of(2, sixty(), none())];
    items.extend((3..40).map(|id| of(id, sixty(), sixty())));
    let one = with_starts(workflow(1), &store, items.clone(), HOUR, &starts);
    let two = with_starts(workflow(2), &store, items, HOUR, &starts);
    let (report, _) = tokio::join!(one, two);
    assert!(report.is_success(), "{report}");
    assert_eq!(starts.count(), 40);
}

#[tokio::test(start_paused = true)]
async fn each_key_has_windows_of_its_own_that_hold_up_no_other_key() {
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    let began = Instant::now();
    let host = |item: &Value| Some((item["id"].as_u64()? % 4).to_string());
    let workflow = Workflow::new("job")
        .rate("20/s")
        .rate_per(host, vec![rate("10/s").into(), by_cost("60/m")]);
    let costs = (0..400).map(|id| if id % 4 == 0 { 60 } else { 1 });
    let report = with_starts(workflow, &store, items(costs), HOUR * 3, &starts).await;
    assert_eq!((report.succeeded(), report.counts.attempts), (400, 400));
    let starts = starts.since(began);
    let first: Vec<_> = starts.iter().filter(|(id, _)| id % 4 == 0).collect();
    let gaps: Vec<_> = first.windows(2).map(|two| two[1].1 - two[0].1).collect();
    assert!(gaps.iter().all(|gap| *gap >= 60.0), "{gaps:?}");
    // One of the first host a minute, and all of the others in two minutes.
    let last = |of: fn(u64) -> bool| {
        starts.iter().filter(|(id, _)| of(*id)).map(|(_, at)| *at).fold(0.0, f64::max)
    };
    assert!(last(|id| id % 4 != 0) < 105.0, "{}", last(|id| id % 4 != 0));
    let minutes = last(|id| id % 4 == 0) / 60.0;
    assert!((99.0..104.0).contains(&minutes), "{minutes}");
}
