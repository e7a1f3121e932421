//! An hour in the life of a service, with everything that the alerts are for, on virtual time:
//!
//! | minutes | |
//! | --- | --- |
//! | 0–60 | `grafana.order` fails now and then and recovers; job `steady` has a long queue and works |
//! | 10–25 | `grafana.stock` is down, behind its breaker |
//! | 10–15 | `grafana.price` is down, and uses up its quota; a host goes up and down; job `import` meets bad items |
//! | 10–20 | the fleet's hub does not answer |
//! | 10–47 | job `waits` has an open breaker |
//! | 10– | breakers are open that reject nothing: one only observes, one is evicted, one is dropped |
//! | 10–50 | job `hangs` has a handler that never ends |

use std::future::{Future, pending};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use retry_fleet::hub::{Beat, Changed, HubResult, Member, View};
use retry_fleet::{Change, Fleet, Hub, HubError, MemberId, MemoryHub};
use retry_runtime::{
    BreakerConfig, Breakers, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, matchers, retry,
};
use retry_workflow::job::metrics::STEP_SECONDS;
use retry_workflow::{ErrorPolicy, Workflow, policy};
use tokio::time::{Instant, sleep, sleep_until};

use super::scrape::{EVERY, Scraped};

const fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn mins(minutes: u64) -> Duration {
    secs(60 * minutes)
}

/// The series scraped in that hour. It runs only once, because breakers and quotas exist only once.
pub(super) fn scraped() -> &'static Scraped {
    static SCRAPED: LazyLock<Scraped> = LazyLock::new(|| {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().unwrap().block_on(run())
    });
    &SCRAPED
}

/// The start, from which minutes are counted.
#[derive(Clone, Copy)]
struct Hour(Instant);

impl Hour {
    async fn minute(self, minute: u64) {
        sleep_until(self.0 + mins(minute)).await;
    }

    fn is_in(self, minutes: std::ops::Range<u64>) -> bool {
        minutes.contains(&(self.0.elapsed().as_secs() / 60))
    }

    fn is_over(self) -> bool {
        self.0.elapsed() >= mins(60)
    }

    /// Does something at regular intervals, until the hour is over.
    async fn each<F: Future<Output = ()>>(self, every: Duration, mut call: impl FnMut() -> F) {
        while !self.is_over() {
            call().await;
            sleep(every).await;
        }
    }
}

async fn run() -> Scraped {
    let waits = Matcher::Full("retry_wait_seconds".to_owned());
    let builder = PrometheusBuilder::new().set_buckets_for_metric(waits, &[0.1, 1.0, 10.0]);
    let steps = Matcher::Full("retry_job_step_seconds".to_owned());
    let builder = builder.unwrap().set_buckets_for_metric(steps, &STEP_SECONDS);
    let recorder = builder.unwrap().build_recorder();
    let exporter = recorder.handle();
    let _recording = metrics::set_default_local_recorder(&recorder);
    retry_runtime::metrics::describe();
    retry_runtime::metrics::register();
    retry_fleet::metrics::describe();
    retry_workflow::job::metrics::describe();

    let hour = Hour(Instant::now());
    let tasks = [
        tokio::spawn(orders(hour)),
        tokio::spawn(stock(hour)),
        tokio::spawn(prices(hour)),
        tokio::spawn(hosts(hour)),
        tokio::spawn(harmless_breakers(hour)),
        tokio::spawn(fleet(hour)),
        tokio::spawn(steady(hour)),
        tokio::spawn(import(hour)),
        tokio::spawn(waits_for_a_breaker(hour)),
        tokio::spawn(hangs(hour)),
    ];
    let mut scraped = Scraped::default();
    // Slightly after whatever happens on the full second.
    sleep(secs(1) / 2).await;
    while !hour.is_over() {
        exporter.run_upkeep();
        scraped.add(&exporter.render());
        sleep(EVERY).await;
    }
    for task in tasks {
        task.await.expect("all went as it was planned");
    }
    scraped
}

async fn orders(hour: Hour) {
    #[retry(attempts = 3, initial_delay = "200ms", name = "grafana.order")]
    async fn order(calls: &mut u32) -> Result<(), io::Error> {
        *calls += 1;
        if *calls < 2 { Err(io::ErrorKind::TimedOut.into()) } else { Ok(()) }
    }
    hour.each(secs(10), async || order(&mut 0).await.unwrap()).await;
}

async fn stock(hour: Hour) {
    static STOCK: CircuitBreaker = CircuitBreaker::new(
        "grafana.stock",
        BreakerConfig::new().failure_threshold(3).timeout(secs(30)).success_threshold(1),
    );
    #[retry(attempts = 3, initial_delay = "100ms", breaker = STOCK, name = "grafana.stock")]
    async fn stock(is_down: bool) -> Result<(), RetryError<io::Error>> {
        if is_down { Err(io::ErrorKind::ConnectionRefused.into()) } else { Ok(()) }
    }
    hour.each(secs(5), async || _ = stock(hour.is_in(10..25)).await).await;
}

async fn prices(hour: Hour) {
    static OUT: RetryQuota =
        RetryQuota::new("grafana.out", QuotaConfig::new().capacity(50).refill_per_sec(0.0));
    #[retry(attempts = 3, initial_delay = "100ms", quota = OUT, name = "grafana.price")]
    async fn price(is_down: bool) -> Result<(), RetryError<io::Error>> {
        if is_down { Err(io::ErrorKind::ConnectionReset.into()) } else { Ok(()) }
    }
    hour.each(secs(5), async || _ = price(hour.is_in(10..15)).await).await;
}

/// One breaker of a family opens and closes again and again.
async fn hosts(hour: Hour) {
    let config = BreakerConfig::new().failure_threshold(1).timeout(secs(30)).success_threshold(1);
    let hosts = Breakers::<String>::try_new("grafana.hosts", config, 9).unwrap();
    let host = hosts.of("a.example");
    hour.minute(10).await;
    while hour.is_in(10..15) {
        host.try_acquire().unwrap().failure();
        sleep(secs(31)).await;
        host.try_acquire().unwrap().success();
        sleep(secs(59)).await;
    }
}

/// Breakers that open and reject nothing: no alert fires.
async fn harmless_breakers(hour: Hour) {
    let config = BreakerConfig::new().timeout(secs(30));
    let observer = CircuitBreaker::new("grafana.observer", config.observe_only());
    let dropped = CircuitBreaker::new("grafana.dropped", config);
    let one = Breakers::<String>::try_new("grafana.one", config, 1).unwrap();
    hour.minute(10).await;
    observer.force_open();
    observer.try_acquire().expect("it rejects nothing").success();
    dropped.force_open();
    drop(dropped);
    for _ in 0..config.get_failure_threshold() {
        one.of("left.example").try_acquire().unwrap().failure();
    }
    sleep(secs(31)).await;
    one.of("next.example").try_acquire().unwrap().success();
    hour.minute(60).await;
}

async fn fleet(hour: Hour) {
    let hub = Wire { hub: MemoryHub::new(), is_cut: Arc::default() };
    let is_cut = Arc::clone(&hub.is_cut);
    let fleet = Fleet::join(hub, "grafana").await.unwrap();
    let config = BreakerConfig::new().failure_threshold(1).timeout(secs(30)).success_threshold(1);
    let breaker = Arc::new(CircuitBreaker::named("grafana.shared".to_owned(), config));
    fleet.share(Arc::clone(&breaker));
    sleep(secs(5)).await;
    breaker.try_acquire().unwrap().failure();
    while hour.is_in(0..25) {
        is_cut.store(hour.is_in(10..20), Ordering::Relaxed);
        if let Ok(permit) = breaker.try_acquire() {
            permit.success();
        }
        sleep(secs(20)).await;
    }
    fleet.leave().await;
}

async fn steady(hour: Hour) {
    let report = Workflow::new("steady")
        .max_parallel(1)
        .rate(["1/s", "1000/h"])
        .run(0..100_u32, |_, _| async {
            sleep(secs(30)).await;
            Ok::<_, io::Error>(())
        })
        .await
        .unwrap();
    assert!(report.is_success());
    assert!(hour.0.elapsed() >= mins(50));
}

/// Half of the items are bad, so that no retry helps.
async fn import(hour: Hour) {
    hour.minute(10).await;
    let report = Workflow::new("import")
        .retry(policy!(attempts = 3))
        .retry_on([matchers::network])
        .max_parallel(2)
        .run(0..300_u32, |item, _| async move {
            sleep(secs(2)).await;
            if item % 2 == 0 { Err(format!("{item} has no address")) } else { Ok(()) }
        })
        .await
        .unwrap();
    assert_eq!(report.dead(), 150);
}

/// Its breaker opens immediately and stays open, while its items are due.
async fn waits_for_a_breaker(hour: Hour) {
    hour.minute(10).await;
    let breaker = BreakerConfig::new().failure_threshold(2).timeout(mins(37)).success_threshold(1);
    let report = Workflow::new("waits")
        .retry(policy!(attempts = 9, initial_delay = "10s"))
        .error_policy(ErrorPolicy::new().circuit_breaker(breaker))
        .max_parallel(2)
        .run(0..20_u32, move |_, _| async move {
            let is_down = hour.is_in(10..30);
            if is_down { Err(io::Error::from(io::ErrorKind::ConnectionRefused)) } else { Ok(()) }
        })
        .await
        .unwrap();
    assert!(report.is_success());
    assert!(hour.is_in(47..49));
}

/// A handler that never ends, until its process does.
async fn hangs(hour: Hour) {
    hour.minute(10).await;
    let job = Workflow::new("hangs")
        .max_parallel(1)
        .run(0..3_u32, |_, _| pending::<Result<(), io::Error>>());
    let killed = tokio::time::timeout(mins(40), job).await;
    assert!(killed.is_err());
}

/// The connection to a hub, which can be cut.
struct Wire {
    hub: MemoryHub,
    is_cut: Arc<AtomicBool>,
}

impl Wire {
    fn pass(&self) -> HubResult<&MemoryHub> {
        let is_cut = self.is_cut.load(Ordering::Relaxed);
        if is_cut { Err(HubError::unavailable("the wire is cut")) } else { Ok(&self.hub) }
    }
}

impl Hub for Wire {
    async fn poll(&self, fleet: &str, beat: &Beat) -> HubResult<View> {
        self.pass()?.poll(fleet, beat).await
    }

    async fn change(
        &self,
        fleet: &str,
        breaker: &str,
        member: &MemberId,
        change: Change,
    ) -> HubResult<Changed> {
        self.pass()?.change(fleet, breaker, member, change).await
    }

    async fn leave(&self, fleet: &str, member: &MemberId) -> HubResult<()> {
        self.pass()?.leave(fleet, member).await
    }

    async fn members(&self, fleet: &str, alive: Duration) -> HubResult<Vec<Member>> {
        self.pass()?.members(fleet, alive).await
    }
}
