//! Jobs at a rate: how many attempts start in which time, of all workers together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use retry_workflow::job::{RateRecord, Waits as Waiting};
use retry_workflow::{Job, Rate, SqliteStore, Store, WaitReason, Workflow, policy};
use tokio::time::Instant;

use super::support::{Calls, Waits, refused};

/// The times at which attempts have started.
#[derive(Clone, Default)]
struct Starts(Arc<Mutex<Vec<Instant>>>);

impl Starts {
    fn note(&self) {
        self.0.lock().unwrap().push(Instant::now());
    }

    fn count(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    /// The most that have started in any window of this length.
    fn most_within(&self, window: Duration) -> usize {
        let starts = self.0.lock().unwrap();
        let within = |&from: &Instant| {
            starts.iter().filter(|&&start| start >= from && start < from + window).count()
        };
        starts.iter().map(within).max().unwrap_or(0)
    }
}

fn rate(text: &str) -> Rate {
    text.parse().unwrap()
}

#[tokio::test(start_paused = true)]
async fn workers_keep_to_the_rate_together_and_use_it_up() {
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    let run = |max_parallel: usize| {
        let starts = starts.clone();
        Workflow::new("paced")
            .job_id("paced")
            .store(store.clone())
            .max_parallel(max_parallel)
            .rate(rate("100/s"))
            .run(0..1_000_u32, move |_: u32, _| {
                starts.note();
                async {
                    tokio::time::sleep(Duration::from_millis(70)).await;
                    Ok::<_, String>(())
                }
            })
    };
    let began = Instant::now();
    let (one, two, three) = tokio::join!(run(2), run(10), run(40));
    for report in [one.unwrap(), two.unwrap(), three.unwrap()] {
        assert_eq!(report.succeeded(), 1_000);
    }
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(9_900) && took < Duration::from_secs(11), "{took:?}");
    let most = starts.most_within(Duration::from_secs(1));
    assert!(most <= 101, "{most} in a second");
}

#[tokio::test(start_paused = true)]
async fn retries_keep_to_the_rate_too() {
    let (starts, calls) = (Starts::default(), Calls::default());
    let report = Workflow::new("paced")
        .rate(rate("10/s"))
        .retry(policy!(attempts = 2, initial_delay = "1s"))
        .run(0..100_u32, {
            let starts = starts.clone();
            move |n: u32, _| {
                starts.note();
                let calls = calls.clone();
                async move { if calls.count(n) == 1 { Err(refused()) } else { Ok(()) } }
            }
        })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.counts.attempts), (100, 200));
    let most = starts.most_within(Duration::from_secs(1));
    assert!(most <= 11, "{most} in a second");
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_slow_rate_is_reported_and_no_start_is_lost() {
    let (store, waits, starts) = (SqliteStore::in_memory(), Waits::default(), Starts::default());
    let limit = rate("1/m");
    let (told, notes) = (waits.clone(), starts.clone());
    let job = Workflow::new("slow")
        .store(store.clone())
        .max_parallel(1)
        .rate(limit)
        .on_event(move |event| told.hear(event))
        .run(1..=3_u32, move |n: u32, _| {
            notes.note();
            // The first one takes longer than its minute.
            async move {
                tokio::time::sleep(Duration::from_secs(if n == 1 { 70 } else { 1 })).await;
                Ok::<_, String>(())
            }
        });
    let looks = async {
        tokio::time::sleep(Duration::from_secs(100)).await;
        let job = Job::get(&store, "slow-1").await.unwrap();
        let counts = store.counts(&job.id).await.unwrap();
        Waiting::load(&store, &job, &counts).await.unwrap().rates
    };
    let (report, seen) = tokio::join!(job, looks);
    assert_eq!(report.unwrap().succeeded(), 3);
    let seconds: Vec<_> =
        starts.0.lock().unwrap().windows(2).map(|two| (two[1] - two[0]).as_secs()).collect();
    assert_eq!(seconds, [70, 60]);
    assert_eq!(seen[0].limit, limit);
    let heard = waits.heard();
    assert!(matches!(heard[..], [WaitReason::Rate { limit: of, .. }] if of == limit), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn no_more_items_are_claimed_than_the_rate_lets_start_soon() {
    let store = SqliteStore::in_memory();
    let job = Workflow::new("slow").store(store.clone()).max_parallel(10).rate(rate("1/m"));
    let job = job.stop_on(tokio::time::sleep(Duration::from_secs(90)));
    let looks = async {
        tokio::time::sleep(Duration::from_secs(70)).await;
        store.counts("slow-1").await.unwrap()
    };
    let (_, counts) = tokio::join!(job.run(1..=9_u32, |_, _| async { Ok::<_, String>(()) }), looks);
    assert_eq!((counts.succeeded, counts.leased, counts.pending), (2, 1, 6));
}

/// Runs `job-1` at this rate for a while, and notes its starts.
async fn run_for(store: &SqliteStore, limit: &str, starts: &Starts, time: Duration) {
    let notes = starts.clone();
    let job = Workflow::new("job")
        .job_id("job-1")
        .store(store.clone())
        .rate(rate(limit))
        .stop_on(tokio::time::sleep(time))
        .run(0..100_u32, move |_: u32, _| {
            notes.note();
            async { Ok::<_, String>(()) }
        });
    job.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_restart_costs_no_start_and_leaves_the_schedule_where_it_is() {
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    let began = store.now();
    for _ in 0..5 {
        run_for(&store, "1/h", &starts, Duration::from_secs(10)).await;
    }
    let record = RateRecord::of(&store, "job-1").await.unwrap()[0];
    let hour = Duration::from_hours(1);
    assert_eq!((starts.count(), record.next.since(began).as_secs()), (1, hour.as_secs()));
    run_for(&store, "1/h", &starts, hour).await;
    assert_eq!(starts.count(), 2, "an hour after the first");

    // A quick rate returns the starts that it has reserved and not used.
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    run_for(&store, "20/s", &starts, Duration::from_millis(120)).await;
    let record = RateRecord::of(&store, "job-1").await.unwrap()[0];
    assert!(record.next <= store.now() + Duration::from_millis(50), "{record:?}");
}

#[tokio::test(start_paused = true)]
async fn repeatedly_killed_workers_use_the_whole_rate() {
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    for _ in 0..9 {
        let four = Duration::from_secs(4);
        let worker = tokio::spawn({
            let (store, starts) = (store.clone(), starts.clone());
            async move { run_for(&store, "12/m", &starts, four * 100).await }
        });
        tokio::time::sleep(four).await;
        worker.abort();
    }
    // One every five seconds for 36 seconds.
    assert!(starts.count() >= 7, "{}", starts.count());
}

/// Runs a job of this many items over so many hosts by three workers, and returns how long it took.
async fn over_hosts(
    items: u32,
    hosts: u32,
    set: impl Fn(Workflow) -> Workflow,
    handler: impl Fn(u32) -> Duration + Clone + Send + Sync + 'static,
) -> (Vec<Starts>, Vec<usize>, Duration) {
    let store = SqliteStore::in_memory();
    let starts: Vec<_> = (0..hosts).map(|_| Starts::default()).collect();
    let running = Arc::new(Mutex::new(vec![(0_usize, 0_usize); hosts as usize]));
    let run = || {
        let (starts, running, handler) = (starts.clone(), Arc::clone(&running), handler.clone());
        let workflow = Workflow::new("hosts").job_id("hosts").store(store.clone());
        set(workflow).run(0..items, move |n: u32, cx| {
            assert_eq!(cx.attempt(), 1, "what waited for its key was no attempt");
            let (host, running, takes) = ((n % hosts) as usize, Arc::clone(&running), handler(n));
            starts[host].note();
            async move {
                {
                    let mut running = running.lock().unwrap();
                    running[host].0 += 1;
                    running[host].1 = running[host].1.max(running[host].0);
                }
                tokio::time::sleep(takes).await;
                running.lock().unwrap()[host].0 -= 1;
                Ok::<_, String>(())
            }
        })
    };
    let began = Instant::now();
    let (one, two, three) = tokio::join!(run(), run(), run());
    for report in [one.unwrap(), two.unwrap(), three.unwrap()] {
        assert_eq!(report.succeeded(), u64::from(items));
        assert_eq!(report.counts.attempts, u64::from(items), "one row for each");
    }
    let most = running.lock().unwrap().iter().map(|(_, most)| *most).collect();
    (starts, most, began.elapsed())
}

fn host(n: &serde_json::Value, hosts: u64) -> Option<String> {
    Some(format!("{}.test", n.as_u64()? % hosts))
}

#[tokio::test(start_paused = true)]
async fn each_key_keeps_to_its_rate_and_uses_it_up() {
    let set = |workflow: Workflow| workflow.rate_per(|n| host(n, 20), rate("5/s"));
    let (starts, _, took) = over_hosts(1_000, 20, set, |_| Duration::from_millis(20)).await;
    for starts in &starts {
        let most = starts.most_within(Duration::from_secs(1));
        assert!(most <= 6, "{most} in a second");
    }
    // Fifty for each host take 10 s at least.
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn no_more_items_of_a_key_run_at_a_time_and_its_places_are_used() {
    let set = |workflow: Workflow| workflow.concurrency_per(|n| host(n, 5), 2);
    let (_, most, took) = over_hosts(500, 5, set, |_| Duration::from_millis(200)).await;
    assert_eq!(most, [2; 5]);
    // A hundred for each host, two at a time, take 10 s at least.
    assert!(took < Duration::from_secs(12), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_slow_key_does_not_stop_the_others() {
    let (store, done) = (SqliteStore::in_memory(), Starts::default());
    let began = Instant::now();
    // Three hundred of the slow host come first.
    let items = (0..300).map(|_| "slow").chain((0..200).map(|_| "quick")).map(String::from);
    let ended = done.clone();
    Workflow::new("slow")
        .store(store.clone())
        .max_parallel(4)
        .rate_per(|host| (host == "slow").then(|| "slow".to_owned()), rate("1/s"))
        .run(items, move |host: String, _| {
            if host == "quick" {
                ended.note();
            }
            async { Ok::<_, String>(()) }
        })
        .await
        .unwrap();
    let last = *done.0.lock().unwrap().last().unwrap();
    assert!(last - began < Duration::from_secs(5), "{:?}", last - began);
    assert!(began.elapsed() < Duration::from_secs(320), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_rate_for_all_and_one_for_each_key_hold_together() {
    let set = |workflow: Workflow| {
        workflow
            .rate(rate("40/s"))
            .rate_per(|n| host(n, 10), rate("5/s"))
            .concurrency_per(|n| host(n, 10), 3)
    };
    let (starts, most, took) = over_hosts(400, 10, set, |_| Duration::from_millis(300)).await;
    let all = Starts::default();
    for starts in &starts {
        assert!(starts.most_within(Duration::from_secs(1)) <= 6);
        all.0.lock().unwrap().extend(starts.0.lock().unwrap().iter());
    }
    assert!(all.most_within(Duration::from_secs(1)) <= 44);
    assert!(most.iter().all(|most| *most <= 3), "{most:?}");
    assert!(took < Duration::from_secs(14), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_worker_that_stops_gives_its_places_back() {
    let store = SqliteStore::in_memory();
    let job = || {
        Workflow::new("stops")
            .job_id("stops")
            .store(store.clone())
            .concurrency_per(|n| host(n, 1), 1)
    };
    let handler = |_: u32, _| async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        Ok::<_, String>(())
    };
    let stop = tokio::time::sleep(Duration::from_secs(1));
    let stopped = job().stop_on(stop).run(0..3_u32, handler).await.unwrap();
    assert_eq!(stopped.succeeded(), 1);
    let began = Instant::now();
    assert!(job().run(0..3_u32, handler).await.unwrap().is_success());
    // Its lease would have lasted half a minute.
    assert!(began.elapsed() < Duration::from_secs(6), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_slow_key_does_not_use_up_the_rate_of_all_or_of_another_kind_of_key() {
    let limits: [fn(Workflow) -> Workflow; 2] = [
        |workflow| workflow.rate(rate("50/s")),
        |workflow| workflow.rate_per(|_| Some("all".to_owned()), rate("50/s")),
    ];
    for limit in limits {
        let quick = Starts::default();
        let (began, started) = (Instant::now(), quick.clone());
        // Ten of one host, and then one of each of a hundred others.
        let items = (0..10).map(|_| 0).chain(1..=100_u32);
        let workflow = Workflow::new("hosts").rate_per(|n| host(n, 1_000), rate("1/s"));
        let report = limit(workflow)
            .run(items, move |n: u32, _| {
                if n > 0 {
                    started.note();
                }
                async { Ok::<_, String>(()) }
            })
            .await
            .unwrap();
        assert_eq!((report.succeeded(), report.counts.attempts), (110, 110));
        let last = *quick.0.lock().unwrap().last().unwrap() - began;
        assert!(last < Duration::from_secs(4), "two seconds would do: {last:?}");
        assert!(quick.most_within(Duration::from_secs(1)) <= 51);
        assert!(began.elapsed() < Duration::from_secs(11), "{:?}", began.elapsed());
    }
}

/// Runs items of one key, so many at the same time, and returns how long it took.
async fn of_one_key(items: u32, most: u32, takes: Duration, max_parallel: usize) -> Duration {
    let began = Instant::now();
    let report = Workflow::new("short")
        .max_parallel(max_parallel)
        .concurrency_per(|_| Some("one".to_owned()), most)
        .run(0..items, move |_: u32, _| async move {
            tokio::time::sleep(takes).await;
            Ok::<_, String>(())
        })
        .await
        .unwrap();
    assert_eq!((report.succeeded(), report.counts.attempts), (items.into(), items.into()));
    began.elapsed()
}

#[tokio::test(start_paused = true)]
async fn items_that_wait_for_a_place_of_their_own_worker_take_it_over_at_once() {
    for (items, most, millis) in
        [(150, 1, 3), (400, 1, 1), (300, 4, 3), (100, 1, 20), (40, 2, 200), (10, 1, 1_500)]
    {
        let ideal = Duration::from_millis(millis) * items / most;
        let took = of_one_key(items, most, Duration::from_millis(millis), 10).await;
        let most_time = if millis < 100 { ideal * 3 / 2 } else { ideal * 11 / 10 };
        assert!(took <= most_time, "{items} x {millis} ms, {most} at a time: {took:?}");
    }
}

/// Runs the items of `job-1` with other limits than before: first for a while, and then to the end.
/// Returns how many had started by then, and how long the rest took.
async fn with_other_limits(
    items: u32,
    takes: Duration,
    first: impl Fn(Workflow) -> Workflow,
    then: impl Fn(Workflow) -> Workflow,
) -> (usize, Duration) {
    let (store, starts) = (SqliteStore::in_memory(), Starts::default());
    let job = || Workflow::new("job").job_id("job-1").store(store.clone()).max_parallel(40);
    let handler = |starts: Starts| {
        move |_: u32, _| {
            starts.note();
            async move {
                tokio::time::sleep(takes).await;
                Ok::<_, String>(())
            }
        }
    };
    let stop = tokio::time::sleep(Duration::from_secs(3));
    first(job()).stop_on(stop).run(0..items, handler(starts.clone())).await.unwrap();
    let (had, began) = (starts.count(), Instant::now());
    let report = then(job()).run(0..items, handler(starts.clone())).await.unwrap();
    assert!(report.is_success(), "{report}");
    (had, began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_raised_limit_reaches_items_that_wait() {
    let instant = Duration::from_millis(1);
    let one = |_: &serde_json::Value| Some("one".to_owned());
    let limit = |text: &'static str| move |workflow: Workflow| workflow.rate(rate(text));
    let (had, took) = with_other_limits(100, instant, limit("1/h"), limit("100/s")).await;
    assert!(had == 1 && took < Duration::from_millis(1_100), "{had} {took:?}");

    let limit = |text: &'static str| move |workflow: Workflow| workflow.rate_per(one, rate(text));
    let (had, took) = with_other_limits(200, instant, limit("1/m"), limit("100/s")).await;
    assert!(had == 1 && took < Duration::from_millis(2_500), "{had} {took:?}");
    // It is not limited at all.
    let (had, took) = with_other_limits(200, instant, limit("1/m"), |workflow| workflow).await;
    assert!(had == 1 && took < Duration::from_millis(500), "{had} {took:?}");

    let most = |most| move |workflow: Workflow| workflow.concurrency_per(one, most);
    let (had, took) = with_other_limits(57, Duration::from_secs(5), most(1), most(40)).await;
    assert!(had == 1 && took < Duration::from_secs(11), "{had} {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_lowered_limit_holds_from_the_last_start() {
    let one = |_: &serde_json::Value| Some("one".to_owned());
    let limit = |text: &'static str| move |workflow: Workflow| workflow.rate_per(one, rate(text));
    let instant = Duration::from_millis(1);
    let (had, took) = with_other_limits(35, instant, limit("10/s"), limit("1/m")).await;
    let left = u32::try_from(35 - had).unwrap();
    assert!((2..=6).contains(&left), "{left}");
    let minutes = Duration::from_mins(1) * left;
    assert!(took + Duration::from_secs(1) > minutes && took < minutes, "{left}: {took:?}");
}

#[tokio::test(start_paused = true)]
async fn each_key_has_a_value_of_its_own_which_goes_with_the_job() {
    let store = SqliteStore::in_memory();
    let report = Workflow::new("keys")
        .store(store.clone())
        .rate_per(|n| Some(n.to_string()), rate("1/h"))
        .concurrency_per(|n| Some(n.to_string()), 1)
        .run(0..2_000_u32, |_: u32, _| async { Ok::<_, String>(()) })
        .await
        .unwrap();
    assert!(report.is_success());
    let values = store.values("").await.unwrap();
    let largest = values.iter().max_by_key(|(_, value)| value.len()).unwrap();
    assert!(values.len() > 2_000 && largest.1.len() < 500, "{} {largest:?}", values.len());
    Job::remove(&store, &report.job.id, []).await.unwrap();
    assert_eq!(store.values("").await.unwrap(), []);
}
