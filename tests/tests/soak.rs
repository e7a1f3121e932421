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
//! seed. `SOAK_ROUNDS` makes it longer or shorter.

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
use retry_runtime::{
    BreakerConfig, Breakers, CircuitBreaker, Event, Policy, QuotaConfig, Reason, Retrier,
    RetryError, RetryEvent, RetryQuota, Site, State, Stats, on_event, retry, sites,
};
use tokio::runtime;
use tokio::time::sleep;

#[global_allocator]
static HEAP: Cap<System> = Cap::new(System, usize::MAX);

#[test]
fn nothing_is_lost_and_everything_is_counted() {
    let _alone = ALONE.lock();
    let plan = Plan { seed: 7, rounds: 20, tasks: 500, threads: None };
    let first = soak(plan);
    assert_eq!(first, soak(plan), "the seed decides everything");
    assert!(first.is_varied(), "{first:?}");
}

#[test]
fn nor_on_threads() {
    let _alone = ALONE.lock();
    soak(Plan { seed: 7, rounds: 2, tasks: 500, threads: Some(4) });
}

#[test]
#[ignore = "runs for minutes"]
fn for_minutes_on_virtual_time() {
    let _alone = ALONE.lock();
    let seen = soak(Plan { seed: seed(), rounds: rounds(1_000), tasks: 10_000, threads: None });
    assert!(seen.is_varied(), "{seen:?}");
}

#[test]
#[ignore = "runs for minutes"]
fn for_minutes_on_threads() {
    let _alone = ALONE.lock();
    let seen = soak(Plan { seed: seed(), rounds: rounds(40), tasks: 10_000, threads: Some(4) });
    assert!(seen.is_varied(), "{seen:?}");
}

/// One at a time: they share the functions, which are counted, and the heap.
static ALONE: Mutex<()> = Mutex::new(());

fn seed() -> u64 {
    let now = || std::time::UNIX_EPOCH.elapsed().map_or(1, |now| now.as_secs());
    std::env::var("SOAK_SEED").map_or_else(|_| now(), |seed| seed.parse().expect("a number"))
}

fn rounds(usual: u32) -> u32 {
    std::env::var("SOAK_ROUNDS").map_or(usual, |rounds| rounds.parse().expect("a number"))
}

#[derive(Clone, Copy, Debug)]
struct Plan {
    seed: u64,
    rounds: u32,
    /// Concurrent tasks in each round.
    tasks: u64,
    /// `None`: one thread, on virtual time.
    threads: Option<usize>,
}

// ── What is called ──────────────────────────────────────────────────────────

const NAMES: [&str; 6] =
    ["soak.protected", "soak.plain", "soak.outer", "soak.sync", "soak.retrier", "soak.hedged"];
const PROTECTED: usize = 0;
const PLAIN: usize = 1;
const OUTER: usize = 2;
const SYNC: usize = 3;
const RETRIER: usize = 4;
const HEDGED: usize = 5;

const OPEN_FOR: Duration = Duration::from_millis(20);
/// At a time; twice as many have to succeed to close the breaker.
const PROBES: u32 = 3;

/// The capacity of the family of hosts, of which there are three times as many.
const HOSTS: u64 = 8;
/// The capacity of the bucket that refills with time.
const REFILLED: u32 = 40;

/// What the calls of one soak share.
struct World {
    breaker: CircuitBreaker,
    quota: RetryQuota,
    /// For more hosts than it can hold, with an open time that grows.
    hosts: Breakers<u64>,
    /// Also refilled with time, so its level cannot be predicted, except that it is full in the
    /// end.
    refilled: RetryQuota,
    /// What the quota must hold, according to the calls themselves.
    ledger: Ledger,
    /// The outcomes of the calls of each function, according to the calls themselves.
    tallies: [Tally; NAMES.len()],
    cancelled: AtomicU64,
    panicked: AtomicU64,
    began: tokio::time::Instant,
}

impl World {
    fn new(plan: Plan) -> Self {
        let breaker = BreakerConfig::new()
            .failure_threshold(40)
            .timeout(OPEN_FOR)
            .half_open_requests(PROBES)
            .success_threshold(2 * PROBES);
        // When threads race, the order in which tokens come and go is unknown. That does not matter
        // if the bucket never overflows, that is, without refunds.
        let refund = u32::from(plan.threads.is_none());
        // Small enough to run empty at times.
        let capacity = u32::try_from(plan.tasks * 2).unwrap();
        let quota = QuotaConfig::new().capacity(capacity).success_refund(refund);
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
            ledger: Ledger { capacity: capacity.into(), tokens: AtomicI64::new(capacity.into()) },
            tallies: Default::default(),
            began: tokio::time::Instant::now(),
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
        attempts = 4,
        initial_delay = "1ms",
        hedge(after = "2ms", max = 2),
        timeout = "20ms",
        retry_on = [when(Fault::is_busy), timeout],
        breaker = self.breaker,
        quota = self.quota,
        context = cx,
        on_retry = |event| call.will_retry(event),
        name = "soak.hedged",
    )]
    async fn hedged(&self, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
        if cx.hedge() > 0 { call.body(true).await } else { call.attempt(true).await }
    }

    /// Also called by `outer`.
    #[retry(
        attempts = unlimited,
        budget = "6ms",
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

/// The payload of the panics in bodies, which are not printed.
const BUG: &str = "a bug in the body";

#[derive(Debug)]
enum Fault {
    Busy,
    Final,
}

impl Fault {
    fn is_busy(&self) -> bool {
        matches!(self, Self::Busy)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

impl std::error::Error for Fault {}

// ── A call, and what it records about itself ────────────────────────────────

struct Call<'w> {
    world: &'w World,
    of: usize,
    random: Mutex<Random>,
    /// Whether its attempts never end by themselves.
    is_mute: bool,
    /// Attempts whose body has begun.
    begun: AtomicU32,
    /// How often `on_retry` was called.
    retries: AtomicU32,
    /// What the last retry took from the quota.
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

    fn has_quota(&self) -> bool {
        matches!(self.of, PROTECTED | RETRIER | HEDGED)
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

    async fn body(&self, may_hang: bool) -> Result<(), Fault> {
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
        if self.has_quota() {
            let cost = if event.interrupted().is_some() { 10 } else { 5 };
            self.cost.store(cost, SeqCst);
            self.world.ledger.take(cost);
        }
    }

    /// Whether its last retry has been decided, but has not begun.
    fn is_waiting(&self) -> bool {
        let retries = self.retries.load(SeqCst);
        retries > 0 && self.begun.load(SeqCst) == retries
    }

    fn release(&self) {
        if self.has_quota() {
            self.world.ledger.give(self.cost.load(SeqCst));
        }
    }
}

/// Checks how the call ends, even if it is dropped. It outlives the call's future, so everything
/// that happens when that is dropped is done by then.
struct Settled<'w>(Call<'w>, bool);

impl<'w> Settled<'w> {
    fn of(call: Call<'w>) -> Self {
        Self(call, false)
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
                } else if call.has_quota() {
                    call.world.ledger.give(call.world.quota.config().get_success_refund());
                }
            }
            Err(error) => {
                let is_rejected = begun == retries;
                assert_eq!(error.attempts(), begun, "{error}");
                assert!(is_rejected || begun == retries + 1, "{error}");
                if is_rejected {
                    let ends_in_a_wait = [Reason::CircuitOpen, Reason::Cancelled];
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
    let of = [PROTECTED, PROTECTED, RETRIER, PLAIN, OUTER, SYNC, HEDGED][random.index(7)];
    let call = Call::new(world, of, random.next());
    let how = random.below(5);
    run(call, how, Duration::from_millis(random.below(25)), random.below(12)).await;
}

/// One of the calls from which a half-open breaker hears nothing: cancelled in every way, before
/// its time is up.
async fn mute(world: &'static World, seed: u64) {
    let mut random = Random(seed);
    sleep(Duration::from_millis(random.below(60))).await;
    let of = [PROTECTED, RETRIER, HEDGED][random.index(3)];
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

async fn make(world: &'static World, call: &Call<'_>) -> Result<(), RetryError<Fault>> {
    match call.of {
        PROTECTED => world.protected(call).await,
        PLAIN => world.plain(call).await,
        OUTER => world.outer(call).await,
        SYNC => World::sync(call),
        HEDGED => world.hedged(call).await,
        _ => world.retrier(call).await,
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

/// What a listener has received.
#[derive(Default)]
struct Recorded {
    tallies: [Tally; NAMES.len()],
    transitions: AtomicU64,
    empty: AtomicU64,
    hedges: AtomicU64,
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
    empty: u64,
    hedges: u64,
    /// Rounds after which the breaker was half-open, following a storm of mute probes.
    half_open: u32,
}

impl Seen {
    /// Whether everything that can happen has happened.
    fn is_varied(&self) -> bool {
        let by_reason =
            |at| self.counts.iter().map(|counts: &Counts| counts.gave_up[at]).sum::<u64>();
        let others = [
            self.cancelled,
            self.panicked,
            self.transitions,
            self.empty,
            self.hedges,
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
    println!("{} tasks in {:.1?}", u64::from(plan.rounds) * plan.tasks, started.elapsed());
    for (name, counts) in NAMES.iter().zip(&seen.counts) {
        println!("  {name}: {counts:?}");
    }
    let Seen { counts: _, cancelled, panicked, transitions, empty, hedges, half_open } = &seen;
    println!(
        "  {cancelled} cancelled, {panicked} panicked; the breaker moved {transitions} times, \
         and {half_open} rounds ended half-open; the quota was empty {empty} times; \
         {hedges} hedges"
    );
    seen
}

async fn rounds_of(plan: Plan, heard: &Recorded) -> Seen {
    // Leaked: spawned tasks may borrow it.
    let world: &'static World = Box::leak(Box::new(World::new(plan)));
    assert!(heard.ledger.set(&world.ledger).is_ok(), "there is one world for each soak");
    let sites: [_; NAMES.len()] = std::array::from_fn(site);
    let before =
        sites.map(|site| site.map_or_else(Counts::default, |site| Counts::of(site.stats())));
    let mut random = Random(plan.seed);
    let mut half_open = 0;
    let mut heaps = Vec::with_capacity(plan.rounds as usize);
    for round in 0..plan.rounds {
        // A crowd all at once, most of which the breaker rejects, or a steady stream.
        let spread = if round % 2 == 0 { 300 } else { plan.tasks * 3 / 5 };
        let tasks: Vec<_> =
            (0..plan.tasks).map(|_| tokio::spawn(task(world, random.next(), spread))).collect();
        for task in tasks {
            task.await.unwrap_or_else(|error| panic!("{plan:?}, round {round}: {error}"));
        }
        // No calls are running now.
        if random.below(2) == 0 {
            half_open += u32::from(mute_probes_free_their_places(world, &mut random).await);
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
        assert_eq!(
            i64::from(world.quota.available()),
            world.ledger.tokens.load(SeqCst),
            "tokens in round {round} of {plan:?}"
        );
        if world.quota.available() < 50 {
            world.quota.reset();
            world.ledger.fill();
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
    }
    assert_flat(&heaps);
    sleep(Duration::from_millis(u64::from(REFILLED) * 2)).await;
    assert_eq!(world.refilled.available(), REFILLED, "time has filled it, {plan:?}");
    Seen {
        counts: std::array::from_fn(|of| world.tallies[of].read()),
        cancelled: world.cancelled.load(SeqCst),
        panicked: world.panicked.load(SeqCst),
        transitions: heard.transitions.load(SeqCst),
        empty: heard.empty.load(SeqCst),
        hedges: heard.hedges.load(SeqCst),
        half_open,
    }
}

/// Opens the breaker, and waits until it would let probes through.
async fn open(breaker: &CircuitBreaker) {
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
