//! Many concurrent calls that fail, hang, panic and are cancelled at any point, through one breaker
//! and one quota: at the end, nothing is lost, and everything is counted.
//!
//! A quick soak runs with all tests. The long ones run for minutes, on virtual time and on threads:
//!
//! ```text
//! cargo test --release -p retry-tests --test soak -- --ignored --nocapture
//! ```
//!
//! `SOAK_SEED` repeats one of them: exactly, on virtual time, where all randomness comes from the
//! seed, but for the part of a millisecond after a hold. `SOAK_ROUNDS` makes it longer or shorter; `SOAK_MINUTES=10` runs each for ten minutes.

use std::alloc::System;
use std::fmt;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use cap::Cap;
use retry_runtime::matchers::timeout;
use retry_runtime::retrier::ForError;
use retry_runtime::tower::RetryLayer;
use retry_runtime::{
    BreakerConfig, Breakers, CircuitBreaker, Class, Classify, Event, Policy, QuotaConfig, Reason,
    Retrier, RetryError, RetryEvent, RetryQuota, Site, State, Stats, on_event, retry, retrying,
    sites,
};
use tokio::runtime;
use tokio::time::sleep;
use tower::{Layer as _, Service as _, service_fn};

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

#[test]
fn nothing_is_lost_and_everything_is_counted() {
    let _alone = ALONE.lock();
    let plan = Plan { seed: 7, rounds: 20, tasks: 500, threads: None, lasts: None };
    let first = soak(plan);
    assert_eq!(first.repeatable(), soak(plan).repeatable(), "the seed decides everything");
    assert!(first.is_varied(), "{first:?}");
}

#[test]
fn nothing_is_lost_on_threads() {
    let _alone = ALONE.lock();
    soak(Plan { seed: 7, rounds: 2, tasks: 500, threads: Some(4), lasts: None });
}

#[test]
#[ignore = "runs for minutes"]
fn for_minutes_on_virtual_time() {
    let _alone = ALONE.lock();
    let seen = soak(long(1_000, None));
    assert!(seen.is_varied(), "{seen:?}");
}

#[test]
#[ignore = "runs for minutes"]
fn for_minutes_on_threads() {
    let _alone = ALONE.lock();
    let seen = soak(long(40, Some(4)));
    assert!(seen.is_varied(), "{seen:?}");
}

/// One at a time: they share the functions, which are counted, and the heap.
static ALONE: Mutex<()> = Mutex::new(());

fn seed() -> u64 {
    let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |now| now.as_secs());
    std::env::var("SOAK_SEED").map_or_else(|_| now(), |seed| seed.parse().expect("a number"))
}

/// A long plan, which environment variables may change.
fn long(rounds: u32, threads: Option<usize>) -> Plan {
    let number = |name| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let lasts = number("SOAK_MINUTES").map(|minutes: u32| Duration::from_mins(1) * minutes);
    let usual = if lasts.is_some() { u32::MAX } else { rounds };
    let rounds = number("SOAK_ROUNDS").unwrap_or(usual);
    Plan { seed: seed(), rounds, tasks: 10_000, threads, lasts }
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    seed: u64,
    rounds: u32,
    /// Concurrent tasks in each round.
    tasks: u64,
    /// `None`: one thread, on virtual time.
    threads: Option<usize>,
    /// The time after which no round begins.
    lasts: Option<Duration>,
}

// ── What is called ──────────────────────────────────────────────────────────

const NAMES: [&str; 9] = [
    "soak.protected",
    "soak.plain",
    "soak.outer",
    "soak.sync",
    "soak.retrier",
    "soak.hedged",
    "soak.hedged_block",
    "soak.hedged_retrier",
    "soak.hedged_layer",
];
const PROTECTED: usize = 0;
const PLAIN: usize = 1;
const OUTER: usize = 2;
const SYNC: usize = 3;
const RETRIER: usize = 4;
/// This and the following ones have hedges.
const HEDGED: usize = 5;
const HEDGED_BLOCK: usize = 6;
const HEDGED_RETRIER: usize = 7;
const HEDGED_LAYER: usize = 8;

const OPEN_FOR: Duration = Duration::from_millis(20);
/// At a time; twice as many have to succeed to close the breaker.
const PROBES: u32 = 3;
/// The longest hold. The random part of the wait for its end is less than a millisecond, and timers
/// are of whole milliseconds, so that the times do not depend on it.
const HOLD: Duration = Duration::from_millis(9);

/// The capacity of the family of hosts, of which there are three times as many.
const HOSTS: u64 = 8;
/// The capacity of the bucket that refills with time.
const REFILLED: u32 = 40;

/// State that the calls of one soak share.
struct World {
    breaker: CircuitBreaker,
    quota: RetryQuota,
    /// For more hosts than it can hold, with an open time that grows.
    hosts: Breakers<u64>,
    /// Also refilled with time, so its level cannot be predicted, except that it is full in the
    /// end.
    refilled: RetryQuota,
    /// The tokens that the quota must hold, according to the calls themselves.
    ledger: Ledger,
    /// Pays for calls with hedges. All its retries cost the same: a group may fail by an error and
    /// by a timeout at once.
    hedge_quota: RetryQuota,
    hedge_ledger: Ledger,
    /// The number of running bodies.
    running: AtomicU64,
    /// The outcomes of the calls of each function, according to the calls themselves.
    tallies: [Tally; NAMES.len()],
    cancelled: AtomicU64,
    panicked: AtomicU64,
    began: tokio::time::Instant,
    /// `true` if one thread makes all calls.
    is_single_threaded: bool,
}

impl World {
    fn new(plan: Plan) -> Self {
        let breaker = BreakerConfig::new()
            .failure_threshold(40)
            .timeout(OPEN_FOR)
            .half_open_requests(PROBES)
            .success_threshold(2 * PROBES)
            .hold(HOLD);
        // When threads race, the order in which tokens come and go is unknown. That does not matter
        // if the bucket never overflows, that is, without refunds.
        let refund = u32::from(plan.threads.is_none());
        // Small enough to run empty at times.
        let capacity = u32::try_from(plan.tasks * 2).unwrap();
        let quota = QuotaConfig::new().capacity(capacity).success_refund(refund);
        let ledger =
            || Ledger { capacity: capacity.into(), tokens: AtomicI64::new(capacity.into()) };
        Self {
            breaker: CircuitBreaker::new("soak.db", breaker),
            hosts: Breakers::new(
                "soak.hosts",
                breaker
                    .failure_threshold(6)
                    .failure_rate(0.6)
                    .window_time(OPEN_FOR * 10)
                    .timeout_growth(1.5)
                    .max_timeout(OPEN_FOR * 3),
                usize::try_from(HOSTS).unwrap(),
            ),
            refilled: RetryQuota::new(
                "soak.refilled",
                QuotaConfig::new().capacity(REFILLED).refill_per_sec(500.0),
            ),
            quota: RetryQuota::new("soak.out", quota),
            ledger: ledger(),
            hedge_quota: RetryQuota::new("soak.hedges", quota.timeout_cost(quota.get_retry_cost())),
            hedge_ledger: ledger(),
            running: AtomicU64::new(0),
            tallies: Default::default(),
            began: tokio::time::Instant::now(),
            is_single_threaded: plan.threads.is_none(),
            cancelled: AtomicU64::new(0),
            panicked: AtomicU64::new(0),
        }
    }

    /// Comes and goes, so that the breaker sees both.
    fn is_bad_weather(&self) -> bool {
        self.began.elapsed().as_millis() / 50 % 3 == 2
    }

    #[retry(
        attempts = 5,
        initial_delay = "1ms",
        max_delay = "6ms",
        timeout = "20ms",
        deadline = "40ms",
        retry_on = [when(Fault::is_busy), timeout],
        breaker = self.breaker,
        quota = self.quota,
        on_retry = |event| call.will_retry(event),
        name = "soak.protected",
    )]
    async fn protected(&self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        call.attempt(true).await
    }

    #[retry(
        policy = HEDGES,
        hedge,
        retry_on = [when(Fault::is_busy), timeout],
        breaker = self.breaker,
        quota = self.hedge_quota,
        context = cx,
        on_retry = |event| call.will_retry(event),
        name = "soak.hedged",
    )]
    async fn hedged(&self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        if cx.hedge() > 0 { call.body(true).await } else { call.attempt(true).await }
    }

    async fn hedged_block(&self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        retrying!(
            name = "soak.hedged_block",
            policy = HEDGES,
            hedge,
            retry_on = [when(Fault::is_busy), timeout],
            breaker = self.breaker,
            quota = self.hedge_quota,
            on_retry = |event| call.will_retry(event),
            async |_| -> Result<(), RetryError<Fault>> { call.attempt_or_hedge().await }
        )
        .await
    }

    fn hedging(&'static self, name: &'static str) -> Retrier<ForError<Fault>> {
        let retrier = Retrier::new(HEDGES).classified().retry_on([timeout]);
        let retrier = retrier.when(|error: &Fault| error.is_busy());
        retrier.breaker(&self.breaker).quota(&self.hedge_quota).name(name)
    }

    async fn hedged_retrier(&'static self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        self.hedging("soak.hedged_retrier")
            .run(|| call.attempt_or_hedge())
            .on_retry(|event| call.will_retry(event))
            .await
    }

    /// Calls a service whose request is the call, and which makes the attempts of it. Some requests
    /// cannot be sent again.
    fn hedged_layer(&'static self, call: &Arc<Call<'static>>) -> Layered {
        let own = Arc::clone(call);
        let retrier = self.hedging("soak.hedged_layer");
        let retrier = retrier.on_retry(move |event| own.will_retry(event));
        let service =
            service_fn(|call: Arc<Call<'static>>| async move { call.attempt_or_hedge().await });
        let repeats = !call.seed().is_multiple_of(8);
        let layer = RetryLayer::new(retrier)
            .clone_request(move |call: &Arc<Call<'static>>| repeats.then(|| Arc::clone(call)));
        Box::pin(layer.layer(service).call(Arc::clone(call)))
    }

    /// Also called by `outer`.
    #[retry(
        attempts = unlimited,
        budget = "6ms",
        max_retry_after = "5ms",
        initial_delay = "1ms",
        retry_on = [when(Fault::is_busy)],
        cancel = call.stopped(),
        on_retry = |event| call.will_retry(event),
        name = "soak.plain",
    )]
    async fn plain(&self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        call.attempt(false).await
    }

    #[retry(
        attempts = 3,
        initial_delay = "2ms",
        max_elapsed = "8ms",
        nested = once,
        context = cx,
        quota = self.refilled,
        on_retry = |event| call.will_retry(event),
        name = "soak.outer",
    )]
    async fn outer(&self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        call.begin();
        let inner = Settled::of(Call::new(self, PLAIN, call.seed()));
        let result = self.plain(&inner.0).await;
        let is_nested = matches!(&result, Err(error) if error.reason() == Reason::Nested);
        let begun = inner.0.begun.load(SeqCst);
        // As many as its policy allows inside the first attempt, and one after that.
        assert!(if cx.number() == 1 { !is_nested } else { begun <= 1 }, "{result:?} in {cx:?}");
        inner.end(&result);
        result.map_err(|_| Fault::Busy)
    }

    #[retry(
        attempts = 4,
        initial_delay = "0s",
        backoff = fixed,
        retry_on = [when(Fault::is_busy)],
        on_retry = |event| call.will_retry(event),
        name = "soak.sync",
    )]
    fn sync(call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        call.begin();
        match call.random(10) {
            0..5 => Ok(()),
            5..9 => Err(Fault::Busy),
            _ => Err(Fault::Final),
        }
    }

    /// The same protection without the attribute, with a breaker for each host.
    async fn retrier(&'static self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        const POLICY: Policy = Policy::new().attempts(4).initial_delay(Duration::from_millis(1));
        Retrier::new(POLICY.timeout(Duration::from_millis(20)))
            .when(|error: &Fault| error.is_busy())
            .breaker(self.hosts.of(&(call.seed() % (3 * HOSTS))))
            .quota(&self.quota)
            .name("soak.retrier")
            .run(|| call.attempt(true))
            .on_retry(|event| call.will_retry(event))
            .await
    }
}

const HEDGES: Policy = Policy::new()
    .attempts(4)
    .initial_delay(Duration::from_millis(1))
    .hedge(Duration::from_millis(2))
    .max_hedges(2)
    .timeout(Duration::from_millis(20));

type Layered = Pin<Box<dyn Future<Output = Result<(), RetryError<Fault>>> + Send>>;

/// The payload of the panics in bodies, which are not printed.
const BUG: &str = "a bug in the body";

#[derive(Debug)]
enum Fault {
    Busy,
    /// The server asks for a wait.
    Limited(Duration),
    Final,
}

impl Fault {
    fn is_busy(&self) -> bool {
        matches!(self, Self::Busy | Self::Limited(_))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Fault {}

impl Classify for Fault {
    fn class(&self) -> Class {
        match self {
            Self::Limited(_) => Class::RATE_LIMIT,
            Self::Busy | Self::Final => Class::empty(),
        }
    }

    fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Limited(wait) => Some(*wait),
            Self::Busy | Self::Final => None,
        }
    }
}

// ── A call, and what it records about itself ────────────────────────────────

struct Call<'w> {
    world: &'w World,
    of: usize,
    random: Mutex<Random>,
    /// `true` if its attempts never end by themselves.
    is_mute: bool,
    /// Attempts whose body has begun.
    begun: AtomicU32,
    /// The number of times `on_retry` was called.
    retries: AtomicU32,
    /// The tokens that the last retry took from the quota.
    cost: AtomicU32,
}

impl<'w> Call<'w> {
    fn new(world: &'w World, of: usize, seed: u64) -> Self {
        Self {
            world,
            of,
            random: Mutex::new(Random(seed)),
            is_mute: false,
            begun: AtomicU32::new(0),
            retries: AtomicU32::new(0),
            cost: AtomicU32::new(0),
        }
    }

    fn seed(&self) -> u64 {
        self.random.lock().unwrap().next()
    }

    fn random(&self, below: u64) -> u64 {
        self.seed() % below
    }

    /// The ledger of the quota that pays for its retries.
    fn ledger(&self) -> Option<&Ledger> {
        match self.of {
            PROTECTED | RETRIER => Some(&self.world.ledger),
            HEDGED.. => Some(&self.world.hedge_ledger),
            _ => None,
        }
    }

    /// The tokens that a retry after this failure costs.
    fn price(&self, event: &RetryEvent<'_, Fault>) -> u32 {
        if self.of < HEDGED && event.interrupted().is_some() { 10 } else { 5 }
    }

    fn begin(&self) {
        let begun = self.begun.fetch_add(1, SeqCst);
        assert_eq!(begun, self.retries.load(SeqCst), "one attempt for each retry, and the first");
    }

    /// Ready immediately for some calls, and during a wait for others.
    fn stopped(&self) -> impl Future<Output = ()> + use<> {
        let delay = match self.random(24) {
            0 => Some(Duration::ZERO),
            1 => Some(Duration::from_micros(500)),
            _ => None,
        };
        async move {
            match delay {
                Some(Duration::ZERO) => {}
                Some(delay) => sleep(delay).await,
                None => std::future::pending().await,
            }
        }
    }

    /// A body that takes some time, and may end in any way.
    async fn attempt(&self, may_hang: bool) -> Result<(), Fault> {
        self.begin();
        self.body(may_hang).await
    }

    /// Runs the body of an attempt, or of a hedge if the attempt has begun.
    async fn attempt_or_hedge(&self) -> Result<(), Fault> {
        if self.begun.load(SeqCst) == self.retries.load(SeqCst) {
            self.begin();
        }
        self.body(true).await
    }

    async fn body(&self, may_hang: bool) -> Result<(), Fault> {
        let _running = Running::new(&self.world.running);
        if self.world.is_single_threaded && matches!(self.of, PROTECTED | HEDGED..) {
            let held_for = self.world.breaker.held_for();
            assert!(held_for.is_zero(), "an attempt begins while calls are held for {held_for:?}");
        }
        if self.is_mute {
            sleep(Duration::from_millis(self.random(4))).await;
            return std::future::pending().await;
        }
        for _ in 0..self.random(4) {
            match self.random(3) {
                0 => tokio::task::yield_now().await,
                millis => sleep(Duration::from_millis(millis)).await,
            }
        }
        let bad = self.world.is_bad_weather();
        match self.random(1_000) {
            0..10 => resume_unwind(Box::new(BUG)),
            10..50 if may_hang => std::future::pending().await,
            50..80 => Err(Fault::Final),
            80..90 => Err(Fault::Limited(Duration::from_millis(1 + self.random(12)))),
            dice if dice < if bad { 970 } else { 300 } => Err(Fault::Busy),
            _ => Ok(()),
        }
    }

    fn will_retry(&self, event: &RetryEvent<'_, Fault>) {
        let retries = self.retries.fetch_add(1, SeqCst) + 1;
        assert_eq!((event.attempt(), self.begun.load(SeqCst)), (retries, retries));
        let tally = &self.world.tallies[self.of];
        tally.attempts.fetch_add(1, SeqCst);
        tally.retries.fetch_add(1, SeqCst);
        tally.waited.fetch_add(nanos(event.wait()), SeqCst);
        if let Some(ledger) = self.ledger() {
            let cost = self.price(event);
            self.cost.store(cost, SeqCst);
            ledger.take(cost);
        }
    }

    /// `true` if its last retry has been decided, but has not begun.
    fn is_waiting(&self) -> bool {
        let retries = self.retries.load(SeqCst);
        retries > 0 && self.begun.load(SeqCst) == retries
    }

    fn release(&self) {
        if let Some(ledger) = self.ledger() {
            ledger.give(self.cost.load(SeqCst));
        }
    }
}

/// A running body.
struct Running<'w>(&'w AtomicU64);

impl<'w> Running<'w> {
    fn new(running: &'w AtomicU64) -> Self {
        running.fetch_add(1, SeqCst);
        Self(running)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

/// Checks how the call ends, even if it is dropped. It outlives the call's future, so everything
/// that happens when that is dropped is done by then.
struct Settled<'w>(Arc<Call<'w>>, bool);

impl<'w> Settled<'w> {
    fn of(call: Call<'w>) -> Self {
        Self(Arc::new(call), false)
    }

    fn end(mut self, result: &Result<(), RetryError<Fault>>) {
        self.1 = true;
        let call = &self.0;
        let tally = &call.world.tallies[call.of];
        let (begun, retries) = (call.begun.load(SeqCst), call.retries.load(SeqCst));
        match result {
            Ok(()) => {
                assert_eq!(begun, retries + 1);
                if retries > 0 {
                    tally.attempts.fetch_add(1, SeqCst);
                    tally.recovered.fetch_add(1, SeqCst);
                    call.release();
                } else if let Some(ledger) = call.ledger() {
                    ledger.give(call.world.quota.config().get_success_refund());
                }
            }
            Err(error) => {
                let is_rejected = begun == retries;
                assert_eq!(error.attempts(), begun, "{error}");
                assert!(is_rejected || begun == retries + 1, "{error}");
                if is_rejected {
                    // A call that waits for the end of a hold may have no time left.
                    let ends_in_a_wait =
                        [Reason::CircuitOpen, Reason::Cancelled, Reason::Held, Reason::Deadline];
                    assert!(ends_in_a_wait.contains(&error.reason()), "{error}");
                    call.release();
                } else {
                    tally.attempts.fetch_add(1, SeqCst);
                }
                tally.gave_up[place(error.reason())].fetch_add(1, SeqCst);
            }
        }
    }
}

impl Drop for Settled<'_> {
    fn drop(&mut self) {
        let Self(call, has_ended) = self;
        if *has_ended {
            return;
        }
        let how =
            if std::thread::panicking() { &call.world.panicked } else { &call.world.cancelled };
        how.fetch_add(1, SeqCst);
        if call.is_waiting() {
            call.release();
        }
    }
}

// ── How calls are made, and cut short ───────────────────────────────────────

/// One task: makes a call, which it may cut short.
async fn task(world: &'static World, seed: u64, spread: u64) {
    let mut random = Random(seed);
    sleep(Duration::from_millis(random.below(spread))).await;
    let all = [
        PROTECTED,
        PROTECTED,
        RETRIER,
        PLAIN,
        OUTER,
        SYNC,
        HEDGED,
        HEDGED_BLOCK,
        HEDGED_RETRIER,
        HEDGED_LAYER,
    ];
    let of = all[random.index(all.len())];
    let call = Call::new(world, of, random.next());
    let how = random.below(5);
    run(call, how, Duration::from_millis(random.below(25)), random.below(12)).await;
}

/// One of the calls from which a half-open breaker hears nothing: cancelled in every way, before
/// its time is up.
async fn mute(world: &'static World, seed: u64) {
    let mut random = Random(seed);
    sleep(Duration::from_millis(random.below(60))).await;
    let all = [PROTECTED, RETRIER, HEDGED, HEDGED_BLOCK, HEDGED_RETRIER, HEDGED_LAYER];
    let of = all[random.index(all.len())];
    let call = Call { is_mute: true, ..Call::new(world, of, random.next()) };
    let how = random.below(3);
    run(call, how, Duration::from_millis(random.below(12)), random.below(3)).await;
}

/// Makes a call, or cuts it short: `how` 0 to 2.
async fn run(call: Call<'static>, how: u64, at: Duration, polls: u64) {
    let world = call.world;
    let call = Settled::of(call);
    let made = async move {
        let made = make(world, &call.0);
        // Each of these drops the call's future before its outcome is checked.
        let ended = match how {
            0 => tokio::time::timeout(at, made).await.ok(),
            1 => Polls { future: Box::pin(made), left: polls }.await,
            _ => Some(made.await),
        };
        if let Some(result) = ended {
            call.end(&result);
        }
    };
    let handle = tokio::spawn(made);
    if how == 2 {
        sleep(at).await;
        handle.abort();
    }
    // Failed assertions inside have to be reported.
    if let Err(error) = handle.await
        && let Ok(panic) = error.try_into_panic()
        && panic.downcast_ref() != Some(&BUG)
    {
        resume_unwind(panic);
    }
}

async fn make(world: &'static World, call: &Arc<Call<'static>>) -> Result<(), RetryError<Fault>> {
    match call.of {
        PROTECTED => world.protected(call).await,
        PLAIN => world.plain(call).await,
        OUTER => world.outer(call).await,
        SYNC => World::sync(call),
        RETRIER => world.retrier(call).await,
        HEDGED => world.hedged(call).await,
        HEDGED_BLOCK => world.hedged_block(call).await,
        HEDGED_RETRIER => world.hedged_retrier(call).await,
        _ => world.hedged_layer(call).await,
    }
}

/// Dropped after this many polls.
struct Polls<F> {
    future: Pin<Box<F>>,
    left: u64,
}

impl<F: Future> Future for Polls<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(left) = self.left.checked_sub(1) else { return Poll::Ready(None) };
        self.left = left;
        self.future.as_mut().poll(cx).map(Some)
    }
}

// ── What is checked ─────────────────────────────────────────────────────────

/// The expected level of a quota.
struct Ledger {
    capacity: i64,
    tokens: AtomicI64,
}

impl Ledger {
    fn take(&self, tokens: u32) {
        self.tokens.fetch_sub(tokens.into(), SeqCst);
    }

    fn give(&self, tokens: u32) {
        let more = |present: i64| Some((present + i64::from(tokens)).min(self.capacity));
        self.tokens.fetch_update(SeqCst, SeqCst, more).unwrap();
    }

    fn fill(&self) {
        self.tokens.store(self.capacity, SeqCst);
    }
}

/// The counts for one function.
#[derive(Default)]
struct Tally {
    attempts: AtomicU64,
    retries: AtomicU64,
    recovered: AtomicU64,
    gave_up: [AtomicU64; REASONS],
    waited: AtomicU64,
}

const REASONS: usize = Reason::ALL.len();

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    attempts: u64,
    retries: u64,
    recovered: u64,
    gave_up: [u64; REASONS],
    waited: u64,
}

impl Tally {
    fn read(&self) -> Counts {
        Counts {
            attempts: self.attempts.load(SeqCst),
            retries: self.retries.load(SeqCst),
            recovered: self.recovered.load(SeqCst),
            gave_up: std::array::from_fn(|at| self.gave_up[at].load(SeqCst)),
            waited: self.waited.load(SeqCst),
        }
    }
}

impl Counts {
    fn of(stats: Stats) -> Self {
        Self {
            attempts: stats.attempts,
            retries: stats.retries,
            recovered: stats.recovered,
            gave_up: std::array::from_fn(|at| stats.gave_up_by(Reason::ALL[at])),
            waited: nanos(stats.waited),
        }
    }

    fn since(self, before: Self) -> Self {
        Self {
            attempts: self.attempts - before.attempts,
            retries: self.retries - before.retries,
            recovered: self.recovered - before.recovered,
            gave_up: std::array::from_fn(|at| self.gave_up[at] - before.gave_up[at]),
            waited: self.waited - before.waited,
        }
    }
}

/// The events that a listener has received.
#[derive(Default)]
struct Recorded {
    tallies: [Tally; NAMES.len()],
    transitions: AtomicU64,
    holds: AtomicU64,
    /// Waits for the end of a hold by calls that it has refused.
    waits: AtomicU64,
    empty: AtomicU64,
    hedges: AtomicU64,
    /// Hedges that succeeded first.
    wins: AtomicU64,
    /// Pays for hedges, whose body need not have begun when the group has ended.
    ledger: OnceLock<&'static Ledger>,
}

impl Recorded {
    fn hear(&self, event: &Event<'_>) {
        let tally = NAMES.iter().position(|name| *name == event.name()).map(|at| &self.tallies[at]);
        match (tally, event) {
            (Some(tally), Event::Retry { wait, .. }) => {
                tally.attempts.fetch_add(1, SeqCst);
                tally.retries.fetch_add(1, SeqCst);
                tally.waited.fetch_add(nanos(*wait), SeqCst);
            }
            (Some(tally), Event::Recovered { .. }) => {
                tally.attempts.fetch_add(1, SeqCst);
                tally.recovered.fetch_add(1, SeqCst);
            }
            (Some(tally), Event::GaveUp { reason, rejected, .. }) => {
                tally.attempts.fetch_add(u64::from(!rejected), SeqCst);
                tally.gave_up[place(*reason)].fetch_add(1, SeqCst);
            }
            (Some(_), Event::Hedged { .. }) => {
                self.hedges.fetch_add(1, SeqCst);
                self.ledger.get().expect("the world is there").take(5);
            }
            (Some(_), Event::AwaitsBreaker { .. }) => {
                self.waits.fetch_add(1, SeqCst);
            }
            (None, Event::Held { .. }) => {
                self.holds.fetch_add(1, SeqCst);
            }
            (Some(_), Event::HedgeWon { .. }) => {
                self.wins.fetch_add(1, SeqCst);
            }
            (None, Event::Breaker(_)) => {
                self.transitions.fetch_add(1, SeqCst);
            }
            (None, Event::QuotaEmpty { .. }) => {
                self.empty.fetch_add(1, SeqCst);
            }
            _ => {}
        }
    }
}

fn place(reason: Reason) -> usize {
    Reason::ALL.iter().position(|other| *other == reason).unwrap()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap()
}

/// `SplitMix64`: small, and the same on every platform.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap()
    }
}

/// The results of a soak.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    counts: [Counts; NAMES.len()],
    cancelled: u64,
    panicked: u64,
    transitions: u64,
    holds: u64,
    waits: u64,
    empty: u64,
    hedges: u64,
    wins: u64,
    /// Rounds after which the breaker was half-open, following a storm of mute probes.
    half_open: u32,
    rounds: u32,
}

impl Seen {
    /// The results without the sums of the waits, which have a random part after a hold.
    fn repeatable(&self) -> Self {
        Self { counts: self.counts.map(|counts| Counts { waited: 0, ..counts }), ..*self }
    }

    /// Returns whether everything that can happen has happened.
    fn is_varied(&self) -> bool {
        let by_reason =
            |at| self.counts.iter().map(|counts: &Counts| counts.gave_up[at]).sum::<u64>();
        let others = [
            self.cancelled,
            self.panicked,
            self.transitions,
            self.holds,
            self.waits,
            self.empty,
            self.hedges,
            self.wins,
            self.half_open.into(),
        ];
        (0..REASONS).map(by_reason).chain(others).all(|times| times > 0)
    }
}

fn site(of: usize) -> Option<&'static Site> {
    sites().into_iter().find(|site| site.name() == NAMES[of])
}

fn soak(plan: Plan) -> Seen {
    println!("{plan:?}");
    let started = Instant::now();
    let runtime = match plan.threads {
        None => runtime::Builder::new_current_thread().enable_all().start_paused(true).build(),
        Some(threads) => {
            runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()
        }
    };
    let heard = Arc::new(Recorded::default());
    let listener = Arc::clone(&heard);
    let listening = on_event(move |event| listener.hear(event));
    let seen = runtime.unwrap().block_on(rounds_of(plan, &heard));
    listening.stop();
    println!("{} rounds in {:.1?}", seen.rounds, started.elapsed());
    for (name, counts) in NAMES.iter().zip(&seen.counts) {
        println!("  {name}: {counts:?}");
    }
    let Seen {
        counts: _,
        cancelled,
        panicked,
        transitions,
        holds,
        waits,
        empty,
        hedges,
        wins,
        half_open,
        rounds: _,
    } = &seen;
    println!(
        "  {cancelled} cancelled, {panicked} panicked; the breaker moved {transitions} times, \
         and {half_open} rounds ended half-open; {holds} holds, whose end {waits} refused calls \
         awaited; the quota was empty {empty} times; \
         {hedges} hedges, of which {wins} won"
    );
    seen
}

async fn rounds_of(plan: Plan, heard: &Recorded) -> Seen {
    // Leaked: spawned tasks may borrow it.
    let world: &'static World = Box::leak(Box::new(World::new(plan)));
    assert!(heard.ledger.set(&world.hedge_ledger).is_ok(), "there is one world for each soak");
    let sites: [_; NAMES.len()] = std::array::from_fn(site);
    let before =
        sites.map(|site| site.map_or_else(Counts::default, |site| Counts::of(site.stats())));
    let mut random = Random(plan.seed);
    let mut half_open = 0;
    // Reserved, so that its own growth is not counted as lost bytes.
    let mut heaps = Vec::with_capacity(plan.rounds.min(100_000) as usize);
    let (started, mut round) = (Instant::now(), 0);
    while round < plan.rounds && plan.lasts.is_none_or(|lasts| started.elapsed() < lasts) {
        // A crowd all at once, most of which the breaker rejects, or a steady stream.
        let spread = if round % 2 == 0 { 300 } else { plan.tasks * 3 / 5 };
        let tasks: Vec<_> =
            (0..plan.tasks).map(|_| tokio::spawn(task(world, random.next(), spread))).collect();
        for task in tasks {
            task.await.unwrap_or_else(|error| panic!("{plan:?}, round {round}: {error}"));
        }
        // No calls are running now.
        assert_eq!(world.running.load(SeqCst), 0, "bodies in round {round} of {plan:?}");
        no_task_is_left().await;
        if random.below(2) == 0 {
            half_open += u32::from(mute_probes_free_their_places(world, &mut random).await);
        }
        // On threads, a call that is dropped late has retried.
        if plan.threads.is_none() {
            retries_that_are_not_made_leave_the_share_whole(&mut random).await;
        }
        for (of, name) in NAMES.iter().enumerate() {
            let counts = world.tallies[of].read();
            let context = || format!("{name} in round {round} of {plan:?}");
            assert_eq!(counts, heard.tallies[of].read(), "heard of {}", context());
            if let Some(site) = sites[of] {
                let counted = Counts::of(site.stats()).since(before[of]);
                assert_eq!(counts, counted, "counted of {}", context());
            }
        }
        for (quota, ledger) in
            [(&world.quota, &world.ledger), (&world.hedge_quota, &world.hedge_ledger)]
        {
            let expected = ledger.tokens.load(SeqCst);
            let context = || format!("tokens of {} in round {round} of {plan:?}", quota.name());
            assert_eq!(i64::from(quota.available()), expected, "{}", context());
            if quota.available() < 50 {
                quota.reset();
                ledger.fill();
            }
        }
        assert_eq!(world.breaker.snapshot().probes, 0, "places in round {round} of {plan:?}");
        let hosts = world.hosts.snapshots();
        assert!(hosts.len() as u64 <= HOSTS, "{hosts:?}");
        for host in hosts {
            assert_eq!(host.probes, 0, "{host:?} in round {round} of {plan:?}");
            assert!(host.remaining <= OPEN_FOR * 3, "{host:?}");
        }
        assert!(world.refilled.available() <= REFILLED, "in round {round} of {plan:?}");
        // The other rounds start with the breaker in its current state.
        if random.below(2) == 0 {
            all_probes_find_a_place(&world.breaker).await;
        }
        heaps.push(HEAP.allocated());
        round += 1;
    }
    assert_flat(&heaps);
    sleep(Duration::from_millis(u64::from(REFILLED) * 2)).await;
    assert_eq!(world.refilled.available(), REFILLED, "time has filled it, {plan:?}");
    Seen {
        counts: std::array::from_fn(|of| world.tallies[of].read()),
        cancelled: world.cancelled.load(SeqCst),
        panicked: world.panicked.load(SeqCst),
        transitions: heard.transitions.load(SeqCst),
        holds: heard.holds.load(SeqCst),
        waits: heard.waits.load(SeqCst),
        empty: heard.empty.load(SeqCst),
        hedges: heard.hedges.load(SeqCst),
        wins: heard.wins.load(SeqCst),
        half_open,
        rounds: round,
    }
}

/// Waits until no task is alive: on threads, a task ends a little later than its outcome arrives.
async fn no_task_is_left() {
    let tasks = runtime::Handle::current().metrics();
    for _ in 0..1_000 {
        if tasks.num_alive_tasks() == 0 {
            return;
        }
        sleep(Duration::from_millis(1)).await;
    }
    panic!("{} tasks are left", tasks.num_alive_tasks());
}

/// Opens the breaker, and waits until it would let probes through.
async fn open(breaker: &CircuitBreaker) {
    while !breaker.held_for().is_zero() {
        sleep(breaker.held_for()).await;
    }
    while breaker.state() != State::Open {
        breaker.try_acquire().expect("nobody else calls").failure();
    }
    sleep(OPEN_FOR + Duration::from_millis(1)).await;
}

/// A storm of probes from which the breaker hears nothing: it stays half-open, unless a thread is
/// so late that one of them times out. Returns whether it stayed half-open.
async fn mute_probes_free_their_places(world: &'static World, random: &mut Random) -> bool {
    open(&world.breaker).await;
    let probes: Vec<_> = (0..200).map(|_| tokio::spawn(mute(world, random.next()))).collect();
    for probe in probes {
        probe.await.unwrap();
    }
    let snapshot = world.breaker.snapshot();
    assert_eq!(snapshot.probes, 0, "{snapshot:?}");
    snapshot.state == State::HalfOpen
}

/// Makes calls that fail once and never retry, because they are dropped during their first wait or
/// ended by their breaker. Each takes a retry from the share before that.
async fn retries_that_are_not_made_leave_the_share_whole(random: &mut Random) {
    /// The retries that a share always allows in ten seconds.
    const FREE: usize = 10;

    let quota = Arc::new(RetryQuota::new("soak.shared", QuotaConfig::new().share(0.01)));
    let calls: Vec<_> = (0..FREE as u64)
        .map(|call| {
            let failures = [1, 2][random.index(2)];
            let breaker = BreakerConfig::new().failure_threshold(failures);
            let breaker = Arc::new(CircuitBreaker::new("soak.shared", breaker));
            let limit = Duration::from_millis(random.below(40));
            tokio::spawn(tokio::time::timeout(limit, never_retried(call, quota.clone(), breaker)))
        })
        .collect();
    for call in calls {
        let _ended = call.await.unwrap();
    }
    let left = std::iter::from_fn(|| quota.try_acquire(Class::empty()));
    assert_eq!(left.count(), FREE, "retries that the share allows");
}

async fn never_retried(
    call: u64,
    quota: Arc<RetryQuota>,
    breaker: Arc<CircuitBreaker>,
) -> Result<(), RetryError<Fault>> {
    #[retry(attempts = 2, initial_delay = "50ms", breaker = breaker, quota = quota)]
    async fn function(
        quota: &RetryQuota,
        breaker: &CircuitBreaker,
    ) -> Result<(), RetryError<Fault>> {
        Err(Fault::Busy)
    }

    let policy = Policy::new().attempts(2).initial_delay(Duration::from_millis(50));
    let retrier = || Retrier::new(policy).breaker(breaker.clone()).quota(quota.clone());
    match call % 3 {
        0 => function(&quota, &breaker).await,
        1 => retrier().run(async || Err(Fault::Busy)).await,
        _ => {
            RetryLayer::new(retrier().classified())
                .layer(service_fn(|()| async { Err(Fault::Busy) }))
                .call(())
                .await
        }
    }
}

/// Closes the breaker again with exactly its number of probes.
async fn all_probes_find_a_place(breaker: &CircuitBreaker) {
    open(breaker).await;
    for _ in 0..2 {
        let probes: Vec<_> =
            (0..PROBES).map(|_| breaker.try_acquire().expect("a place for each probe")).collect();
        assert!(breaker.try_acquire().is_err(), "one probe too many");
        for probe in probes {
            probe.success();
        }
    }
    assert_eq!(breaker.state(), State::Closed);
}

/// After a few rounds, the heap no longer grows.
fn assert_flat(heaps: &[usize]) {
    let (warm, last) = (heaps[heaps.len() / 3], heaps[heaps.len() - 1]);
    println!("  heap after the first, a third and the last round: {}, {warm}, {last}", heaps[0]);
    assert!(last <= warm + 8 * 1024, "{heaps:?}");
}
