//! A worker that hears nothing for longer than its leases last, because its process was stopped or
//! its machine slept, while another one takes its items over. On virtual time.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use retry_workflow::store::{SqliteStore, Store, StoreFuture};
use retry_workflow::{Timestamp, Workflow};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// A store whose answers do not arrive while its worker is stopped. What was asked for is done.
struct Stopped {
    store: SqliteStore,
    is_stopped: watch::Receiver<bool>,
}

impl Stopped {
    fn answer<'a, T: Send + 'a>(&'a self, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let answer = answer.await;
            let mut is_stopped = self.is_stopped.clone();
            let _ = is_stopped.wait_for(|is_stopped| !is_stopped).await;
            answer
        })
    }
}

impl Store for Stopped {
    fn now(&self) -> Timestamp {
        self.store.now()
    }

    forward!(stopped => stopped.store, Self::answer);
}

/// A store that takes half a second until it begins, and as long for its answer.
struct Slow(SqliteStore);

impl Slow {
    #[expect(clippy::unused_self, reason = "what passes the answers on is a method")]
    fn answer<'a, T: Send + 'a>(&'a self, answer: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        Box::pin(async move {
            sleep(SECOND / 2).await;
            let answer = answer.await;
            sleep(SECOND / 2).await;
            answer
        })
    }
}

impl Store for Slow {
    fn now(&self) -> Timestamp {
        self.0.now()
    }

    forward!(slow => slow.0, Self::answer);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_job_releases_its_items_immediately() {
    let mut with_items = 0;
    for tenths in 0..200 {
        let store = SqliteStore::in_memory();
        let job = Workflow::new("job").job_id("job").max_parallel(2).store(Slow(store.clone()));
        let run = job.run(0..9_u32, |_: u32, _| async move {
            sleep(SECOND).await;
            Ok::<_, String>(())
        });
        if timeout(SECOND * tenths / 10, run).await.is_ok() {
            continue;
        }
        let leased = || async { store.overview("job", 0).await.unwrap().counts.leased };
        with_items += u32::from(leased().await > 0);
        sleep(3 * SECOND).await;
        assert_eq!(leased().await, 0, "after {tenths} tenths of a second");
    }
    assert!(with_items > 20, "{with_items}");
}

/// The history of each item: the worker that began it, and the one that ended it.
#[derive(Default)]
struct Log {
    begun: BTreeMap<u32, Vec<&'static str>>,
    ended: BTreeMap<u32, Vec<&'static str>>,
    /// The time at which the first worker's handler of the long item was dropped.
    dropped: Option<Instant>,
}

/// Notes when it is dropped.
struct Guard(Arc<Mutex<Log>>);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.lock().dropped.get_or_insert_with(Instant::now);
    }
}

/// The items before this one take no time, so that others are claimed ahead.
const LONG: u32 = 40;

#[tokio::test(start_paused = true)]
async fn a_suspended_worker_starts_no_lost_items_and_finishes_its_own() {
    let (stop, is_stopped) = watch::channel(false);
    let (store, log) = (SqliteStore::in_memory(), Arc::new(Mutex::new(Log::default())));
    let begun = Instant::now();
    let workflow = || Workflow::new("job").job_id("job").max_parallel(1).lease(30 * SECOND);
    let first = {
        let log = Arc::clone(&log);
        let store = Stopped { store: store.clone(), is_stopped };
        workflow().store(store).run(0..60_u32, move |n: u32, _| {
            log.lock().begun.entry(n).or_default().push("first");
            let log = Arc::clone(&log);
            if n == LONG {
                stop.send_replace(true);
                let stop = stop.clone();
                tokio::spawn(async move {
                    sleep(100 * SECOND).await;
                    stop.send_replace(false);
                });
            }
            async move {
                if n == LONG {
                    let _guard = Guard(Arc::clone(&log));
                    sleep(300 * SECOND).await;
                }
                log.lock().ended.entry(n).or_default().push("first");
                Ok::<_, String>(())
            }
        })
    };
    let second = async {
        sleep(SECOND).await;
        let log = Arc::clone(&log);
        let no_items = std::iter::empty::<u32>();
        let run = workflow().store(store.clone()).run(no_items, move |n: u32, _| {
            log.lock().begun.entry(n).or_default().push("second");
            let log = Arc::clone(&log);
            async move {
                sleep(SECOND).await;
                log.lock().ended.entry(n).or_default().push("second");
                Ok::<_, String>(())
            }
        });
        run.await
    };
    let (first, second) = tokio::join!(first, second);
    for report in [first.unwrap(), second.unwrap()] {
        assert_eq!(report.succeeded(), 60);
    }
    let log = log.lock();
    let twice = |of: &BTreeMap<u32, Vec<_>>| {
        of.iter().filter(|(_, by)| by.len() > 1).map(|(n, _)| *n).collect::<Vec<_>>()
    };
    assert_eq!(twice(&log.begun), [LONG], "of {:?}", log.begun);
    assert_eq!(twice(&log.ended), [0_u32; 0], "of {:?}", log.ended);
    let taken_over = log.begun.values().filter(|by| **by == ["second"]).count();
    assert!(taken_over > 3, "there was something that it had claimed ahead: {:?}", log.begun);
    // It hears of it as soon as it hears anything.
    let dropped = log.dropped.map(|at| at - begun);
    assert!(dropped.is_some_and(|at| (100..102).contains(&at.as_secs())), "{dropped:?}");
}
