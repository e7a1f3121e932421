//! `Site::stats`: the outcomes of a function's calls, counted exactly.

use retry_runtime::{
    BreakerConfig, CircuitBreaker, QuotaConfig, Reason, RetryError, RetryQuota, Site, Stats, retry,
    sites,
};
use tokio::time::{sleep, timeout};

use crate::support::{Calls, Failure, millis, secs};

fn site(name: &str) -> &'static Site {
    let mut found = sites().into_iter().filter(|site| site.name() == name);
    let site = found.next().unwrap_or_else(|| panic!("no site `{name}`"));
    assert!(found.next().is_none(), "two sites `{name}`");
    site
}

fn stats(name: &str) -> Stats {
    site(name).stats()
}

/// Attempts, retries, recoveries, give-ups.
fn counts(name: &str) -> [u64; 4] {
    let stats = stats(name);
    [stats.attempts, stats.retries, stats.recovered, stats.gave_up()]
}

/// The reasons of the calls that were given up, with their numbers.
fn reasons(name: &str) -> Vec<(Reason, u64)> {
    let stats = stats(name);
    let counted = Reason::ALL.iter().map(|reason| (*reason, stats.gave_up_by(*reason)));
    counted.filter(|(_, times)| *times > 0).collect()
}

#[tokio::test(start_paused = true)]
async fn a_sequence_of_calls_adds_up() {
    #[retry(attempts = 4, retry_on = [when(Failure::is_busy)], name = "stats.sequence")]
    async fn fetch(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        match calls.make() {
            call if call == works_at => Ok(()),
            9 => Err(Failure::Corrupt),
            call => Err(Failure::Busy(call)),
        }
    }
    const NAME: &str = "stats.sequence";

    fetch(&Calls::new(), 1).await.unwrap();
    assert_eq!(stats(NAME), Stats::default(), "a success at once is not counted");
    fetch(&Calls::new(), 2).await.unwrap();
    assert_eq!((counts(NAME), stats(NAME).waited), ([2, 1, 1, 0], secs(1)));
    fetch(&Calls::new(), 4).await.unwrap();
    assert_eq!((counts(NAME), stats(NAME).waited), ([6, 4, 2, 0], secs(8)));
    let calls = Calls::new();
    fetch(&calls, 0).await.unwrap_err();
    assert_eq!((counts(NAME), stats(NAME).waited), ([10, 7, 2, 1], secs(15)));
    // The fifth to the eighth call fail, and so does the ninth, which is not retried.
    fetch(&calls, 0).await.unwrap_err();
    fetch(&calls, 0).await.unwrap_err();
    assert_eq!((counts(NAME), stats(NAME).waited), ([15, 10, 2, 3], secs(22)));
    assert_eq!(reasons(NAME), [(Reason::Attempts, 2), (Reason::NotRetryable, 1)]);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_the_breaker_rejects_is_none() {
    static DB: CircuitBreaker =
        CircuitBreaker::new("db", BreakerConfig::new().failure_threshold(2));
    #[retry(attempts = 5, breaker = DB, name = "stats.rejected")]
    async fn query() -> Result<(), RetryError<Failure>> {
        Err(Failure::Corrupt)
    }
    const NAME: &str = "stats.rejected";

    assert_eq!(query().await.unwrap_err().attempts(), 2);
    assert_eq!(counts(NAME), [2, 1, 0, 1]);
    assert_eq!(query().await.unwrap_err().attempts(), 0);
    assert_eq!(counts(NAME), [2, 1, 0, 2], "given up before the first attempt");

    // And a call whose retry is not admitted after the wait.
    DB.reset();
    let open_soon = async {
        sleep(millis(500)).await;
        DB.force_open();
    };
    let (ended, ()) = tokio::join!(query(), open_soon);
    assert_eq!(ended.unwrap_err().attempts(), 1);
    assert_eq!(counts(NAME), [3, 2, 0, 3]);
    assert_eq!(reasons(NAME), [(Reason::CircuitOpen, 3)]);
}

#[tokio::test(start_paused = true)]
async fn each_reason_is_counted_apart() {
    static OUT: RetryQuota = RetryQuota::new("out", QuotaConfig::new().capacity(10));
    #[retry(budget = "2s", name = "stats.budget")]
    async fn over_budget() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(deadline = "2s", name = "stats.deadline")]
    async fn over_deadline() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    #[retry(attempts = 9, quota = OUT, name = "stats.quota")]
    async fn over_quota() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    let _ = (over_budget().await, over_deadline().await, over_quota().await);
    assert_eq!(reasons("stats.budget"), [(Reason::Budget, 1)]);
    assert_eq!(counts("stats.budget"), [2, 1, 0, 1]);
    assert_eq!(reasons("stats.deadline"), [(Reason::Deadline, 1)]);
    assert_eq!(counts("stats.deadline"), [2, 1, 0, 1]);
    assert_eq!(reasons("stats.quota"), [(Reason::Quota, 1)]);
    assert_eq!(counts("stats.quota"), [3, 2, 0, 1]);
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_cancelled_stays_counted_and_the_call_has_no_end() {
    #[retry(name = "stats.cancelled")]
    async fn fetch() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    assert!(timeout(millis(2_500), fetch()).await.is_err());
    let stats = stats("stats.cancelled");
    assert_eq!((counts("stats.cancelled"), stats.waited), ([2, 2, 0, 0], secs(3)));
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_is_cancelled_or_panics_is_not_counted() {
    #[retry(name = "stats.unfinished")]
    async fn fetch(how: &str, calls: &Calls) -> Result<(), Failure> {
        match (how, calls.make()) {
            (_, 1) => Err(Failure::Corrupt),
            ("panic", _) => panic!("a bug in the body"),
            _ => std::future::pending().await,
        }
    }
    assert!(timeout(secs(9), fetch("hang", &Calls::new())).await.is_err());
    assert_eq!(counts("stats.unfinished"), [1, 1, 0, 0]);
    let panicked = tokio::spawn(async { fetch("panic", &Calls::new()).await }).await;
    assert!(panicked.unwrap_err().is_panic());
    assert_eq!(counts("stats.unfinished"), [2, 2, 0, 0]);
}

#[test]
fn sync_functions_count_too() {
    #[retry(attempts = 3, initial_delay = "1ms", name = "stats.sync")]
    fn send(calls: &Calls, works_at: u32) -> Result<(), Failure> {
        let call = calls.make();
        if call == works_at { Ok(()) } else { Err(Failure::Busy(call)) }
    }
    send(&Calls::new(), 1).unwrap();
    send(&Calls::new(), 3).unwrap();
    send(&Calls::new(), 0).unwrap_err();
    assert_eq!(counts("stats.sync"), [6, 4, 1, 1]);
    assert_eq!(stats("stats.sync").waited, millis(6));
}

struct Client;

impl Client {
    #[retry(attempts = 2)]
    async fn a_method(&self) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
}

trait Store {
    #[retry(attempts = 2, initial_delay = "0s", backoff = fixed)]
    fn a_default_method(&self) -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
}

impl Store for Client {}
impl Store for u32 {}

#[retry(attempts = 2, initial_delay = "0s", backoff = fixed)]
fn generic<T>(_: T) -> Result<(), Failure> {
    Err(Failure::Corrupt)
}

mod elsewhere {
    use super::{Failure, retry};

    #[retry(attempts = 2)]
    pub(super) async fn a_function() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
}

#[tokio::test(start_paused = true)]
async fn a_function_counts_for_all_its_callers_and_types() {
    let _ = (Client.a_method().await, Client.a_method().await);
    assert_eq!(counts("behaviour::stats::a_method"), [4, 2, 0, 2]);
    let _ = (Client.a_default_method(), 7.a_default_method());
    assert_eq!(counts("behaviour::stats::a_default_method"), [4, 2, 0, 2]);
    let _ = (generic(1_u8), generic("text"), generic([0; 3]));
    assert_eq!(counts("behaviour::stats::generic"), [6, 3, 0, 3]);
    assert_eq!(site("behaviour::stats::generic").policy().unwrap().get_attempts().to_string(), "2");
    let _ = elsewhere::a_function().await;
    assert_eq!(counts("behaviour::stats::elsewhere::a_function"), [2, 1, 0, 1]);
}

#[test]
fn calls_on_many_threads_lose_no_count() {
    #[retry(attempts = 3, initial_delay = "0s", backoff = fixed, name = "stats.threads")]
    fn send() -> Result<(), Failure> {
        Err(Failure::Corrupt)
    }
    std::thread::scope(|threads| {
        for _ in 0..8 {
            threads.spawn(|| (0..100).for_each(|_| drop(send())));
        }
    });
    assert_eq!(counts("stats.threads"), [2_400, 1_600, 0, 800]);
}
