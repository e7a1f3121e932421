//! Options known only at runtime.

use std::borrow::Borrow;
use std::cell::Cell;
use std::future::{Ready, ready};
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use retry_runtime::{
    Attempts, Backoff, BreakerConfig, CircuitBreaker, Field, Overrides, Policy, Reason, RetryError,
    Site, State, retry, sites, with_overrides,
};
use tokio::time::Instant;

const S: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, PartialEq)]
struct Down(u32);

impl std::fmt::Display for Down {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "down, {} calls", self.0)
    }
}

impl std::error::Error for Down {}

#[derive(Clone)]
struct Config {
    retry: Policy,
    max_retries: u8,
    delay: Duration,
    factor: f32,
    base: f64,
    deadline: Option<Duration>,
    timeout: Option<Duration>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            retry: Policy::new().attempts(4).initial_delay(2 * S).backoff(Backoff::Fixed),
            max_retries: 2,
            delay: 5 * S,
            factor: 0.0,
            base: 3.0,
            deadline: None,
            timeout: None,
        }
    }
}

#[derive(Default)]
struct Client {
    config: Config,
    shared: Arc<Policy>,
    calls: AtomicU32,
}

impl Client {
    fn fail(&self) -> Down {
        Down(self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    #[retry(policy = self.config.retry)]
    async fn by_policy(&self) -> Result<(), Down> {
        Err(self.fail())
    }

    #[retry(policy = self.config.retry, attempts = 2)]
    async fn by_policy_with_a_constant(&self) -> Result<(), Down> {
        Err(self.fail())
    }

    #[retry(policy = self.shared)]
    async fn by_shared_policy(&self) -> Result<(), Down> {
        Err(self.fail())
    }

    #[retry(attempts = self.config.max_retries.saturating_add(1), initial_delay = self.config.delay, backoff = exponential(base = self.config.base))]
    async fn by_values(&self) -> Result<(), Down> {
        Err(self.fail())
    }

    #[retry(attempts = self.config.max_retries, initial_delay = self.config.delay, jitter = self.config.factor)]
    fn blocking(&self) -> Result<(), Down> {
        Err(self.fail())
    }

    #[retry(attempts = self.config.max_retries)]
    async fn mutable(&mut self) -> Result<(), Down> {
        self.calls.get_mut();
        Err(self.fail())
    }

    #[retry(attempts = 9, deadline = self.config.deadline, timeout = self.config.timeout)]
    async fn bounded(&self) -> Result<(), RetryError<Down>> {
        self.fail();
        tokio::time::sleep(20 * S).await;
        Err(Down(0))
    }

    #[retry(policy = self.config.retry)]
    async fn bounded_by_policy(&self) -> Result<(), RetryError<Down>> {
        self.fail();
        tokio::time::sleep(20 * S).await;
        Err(Down(0))
    }

    #[retry(policy = self.config.retry, context = cx)]
    async fn looking(&self) -> Result<bool, Down> {
        if cx.number() == 2 { Ok(cx.is_last()) } else { Err(self.fail()) }
    }
}

#[tokio::test(start_paused = true)]
async fn a_policy_of_a_field_is_obeyed() {
    let (client, began) = (Client::default(), Instant::now());
    assert_eq!(client.by_policy().await, Err(Down(4)));
    assert_eq!(began.elapsed(), 6 * S);
}

#[tokio::test(start_paused = true)]
async fn constants_stand_on_top_of_a_policy_of_runtime() {
    let (client, began) = (Client::default(), Instant::now());
    assert_eq!(client.by_policy_with_a_constant().await, Err(Down(2)));
    assert_eq!(began.elapsed(), 2 * S);
}

#[tokio::test(start_paused = true)]
async fn a_policy_may_be_behind_a_pointer() {
    assert_eq!(Client::default().by_shared_policy().await, Err(Down(3)));
}

#[retry(policy = runtime(READ_ONCE))]
async fn by_lazy_policy(calls: &Cell<u32>) -> Result<(), Down> {
    answers(calls).await
}

#[retry(policy = policy.lock().unwrap())]
async fn by_locked_policy(calls: &Cell<u32>, policy: &Mutex<Policy>) -> Result<(), Down> {
    answers(calls).await
}

#[tokio::test(start_paused = true)]
async fn a_policy_may_be_behind_a_lazy_lock_or_a_guard() {
    let calls = Cell::default();
    assert_eq!(by_lazy_policy(&calls).await, Err(Down(2)));
    let policy = Mutex::new(Policy::new().attempts(4));
    assert_eq!(by_locked_policy(&calls, &policy).await, Err(Down(6)));
}

#[tokio::test(start_paused = true)]
async fn each_option_accepts_runtime_values() {
    let (client, began) = (Client::default(), Instant::now());
    assert_eq!(client.by_values().await, Err(Down(3)));
    assert_eq!(began.elapsed(), 20 * S);
}

#[test]
fn a_function_that_is_not_async_takes_them_too() {
    let mut client = Client::default();
    client.config.delay = Duration::from_millis(1);
    assert_eq!(client.blocking(), Err(Down(2)));
}

#[tokio::test(start_paused = true)]
async fn a_method_that_changes_its_client_takes_them_too() {
    assert_eq!(Client::default().mutable().await, Err(Down(2)));
}

#[tokio::test(start_paused = true)]
async fn bounds_may_be_none() {
    let (mut client, began) = (Client::default(), Instant::now());
    client.config.max_retries = 1;
    let error = client.bounded().await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::Attempts, 9));
    client.config.deadline = Some(50 * S);
    let began_again = Instant::now();
    let error = client.bounded().await.unwrap_err();
    assert_eq!((error.reason(), began_again.elapsed()), (Reason::Deadline, 50 * S));
    client.config.timeout = Some(3 * S);
    let error = client.bounded().await.unwrap_err();
    assert_eq!(error.reason(), Reason::Deadline);
    assert!(began.elapsed() > 50 * S);
}

#[tokio::test(start_paused = true)]
async fn the_bounds_of_a_policy_of_runtime_cut_attempts_off() {
    let (mut client, began) = (Client::default(), Instant::now());
    client.config.retry = Policy::new().attempts(2).timeout(3 * S);
    let error = client.bounded_by_policy().await.unwrap_err();
    assert_eq!((error.reason(), began.elapsed()), (Reason::Attempts, 7 * S));
}

#[tokio::test(start_paused = true)]
async fn the_context_reports_the_last_attempt() {
    let mut client = Client::default();
    assert_eq!(client.looking().await, Ok(false));
    client.config.retry = Policy::new().attempts(2);
    assert_eq!(client.looking().await, Ok(true));
}

#[retry(attempts = 9, max_elapsed = limit)]
async fn patient(calls: &Cell<u32>, limit: Option<Duration>) -> Result<(), Down> {
    tokio::time::sleep(4 * S).await;
    answers(calls).await
}

#[retry(policy = policy)]
async fn patient_by_policy(calls: &Cell<u32>, policy: Policy) -> Result<(), Down> {
    tokio::time::sleep(4 * S).await;
    answers(calls).await
}

#[tokio::test(start_paused = true)]
async fn no_attempt_starts_after_a_runtime_deadline() {
    let calls = Cell::new(0);
    // Attempts begin at 0, 5 and 11 s.
    assert_eq!(patient(&calls, Some(11 * S)).await, Err(Down(3)));
    assert_eq!(patient(&calls, None).await, Err(Down(12)));
    let policy = Policy::new().attempts(9).max_elapsed(5 * S);
    assert_eq!(patient_by_policy(&calls, policy).await, Err(Down(14)));
}

fn answers(calls: &Cell<u32>) -> Ready<Result<(), Down>> {
    calls.set(calls.get() + 1);
    ready(Err(Down(calls.get())))
}

#[retry(attempts = retries + 1, initial_delay = delay)]
async fn by_arguments(calls: &Cell<u32>, retries: usize, delay: Duration) -> Result<(), Down> {
    answers(calls).await
}

#[retry(policy = policy)]
async fn by_reference(calls: &Cell<u32>, policy: &Policy) -> Result<(), Down> {
    answers(calls).await?;
    Ok(())
}

#[retry(policy = policy)]
async fn by_generic<P: Borrow<Policy>>(calls: &Cell<u32>, policy: P) -> Result<(), Down> {
    answers(calls).await?;
    Ok(())
}

static READ_ONCE: LazyLock<Policy> = LazyLock::new(|| Policy::new().attempts(2));

fn settings() -> Policy {
    Policy::new().attempts(5)
}

#[retry(policy = runtime(settings()), jitter = none)]
async fn by_a_call(calls: &Cell<u32>) -> Result<(), Down> {
    answers(calls).await
}

#[retry(backoff = custom(first, "4s"), attempts = 3)]
async fn by_delays(calls: &Cell<u32>, first: Duration) -> Result<(), Down> {
    answers(calls).await
}

#[retry(backoff = curve, attempts = 3)]
async fn by_curve(calls: &Cell<u32>, curve: Backoff) -> Result<(), Down> {
    answers(calls).await
}

#[tokio::test(start_paused = true)]
async fn free_functions_take_their_arguments() {
    let calls = Cell::new(0);
    let began = Instant::now();
    assert_eq!(by_arguments(&calls, 1, 3 * S).await, Err(Down(2)));
    assert_eq!(began.elapsed(), 3 * S);
    assert_eq!(by_reference(&calls, &Policy::new().attempts(1)).await, Err(Down(3)));
    assert_eq!(by_generic(&calls, Arc::new(Policy::new().attempts(2))).await, Err(Down(5)));
    assert_eq!(by_a_call(&calls).await, Err(Down(10)));
    let began = Instant::now();
    let curve = Backoff::Linear { increment: 4 * S };
    assert_eq!(by_curve(&calls, curve).await, Err(Down(13)));
    assert_eq!(began.elapsed(), 6 * S);
    let began = Instant::now();
    assert_eq!(by_delays(&calls, 9 * S).await, Err(Down(16)));
    assert_eq!(began.elapsed(), 13 * S);
}

#[tokio::test(start_paused = true)]
async fn invalid_runtime_values_are_corrected() {
    let calls = Cell::new(0);
    assert_eq!(by_reference(&calls, &Policy::new().attempts(0)).await, Err(Down(1)));
    let unlimited = Policy::new().unlimited();
    assert_eq!(by_reference(&calls, &unlimited).await, Err(Down(4)));
}

/// A value of a configuration that is reloaded all the time: no two readings are the same.
struct Reloaded<T> {
    values: Vec<T>,
    read: AtomicUsize,
}

impl<T: Clone> Reloaded<T> {
    fn new(values: impl Into<Vec<T>>) -> Self {
        Self { values: values.into(), read: AtomicUsize::new(0) }
    }

    fn read(&self) -> T {
        self.values[self.read.fetch_add(1, Ordering::Relaxed)].clone()
    }

    fn readings(&self) -> usize {
        self.read.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn they_are_evaluated_once_a_call_before_its_first_attempt() {
    #[retry(attempts = settings.read(), on_retry = |_| {})]
    async fn counted(settings: &Reloaded<u32>, fails: bool) -> Result<(), Down> {
        assert_eq!(settings.readings(), 1);
        if fails { Err(Down(0)) } else { Ok(()) }
    }

    for fails in [false, true] {
        let settings = Reloaded::new([4, 0, 9]);
        assert_eq!(counted(&settings, fails).await.is_err(), fails);
        assert_eq!(settings.readings(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn each_of_many_is_evaluated_once_in_the_order_of_the_options() {
    #[retry(
        timeout = read(log, "timeout", Some(9 * S)),
        attempts = read(log, "attempts", 3_u8),
        backoff = linear(increment = read(log, "increment", S)),
        deadline = read(log, "deadline", None::<Duration>),
        max_elapsed = read(log, "max_elapsed", Some(60 * S)),
        initial_delay = read(log, "initial_delay", 2 * S),
        jitter = read(log, "jitter", 0.0_f32),
        policy = read(log, "policy", Policy::new().budget(20 * S)),
        context = cx,
    )]
    async fn many(log: &Mutex<Vec<&'static str>>) -> Result<(), RetryError<Down>> {
        Err(Down(cx.number()))
    }

    fn read<T>(log: &Mutex<Vec<&'static str>>, name: &'static str, value: T) -> T {
        log.lock().unwrap().push(name);
        value
    }

    let (log, began) = (Mutex::default(), Instant::now());
    assert_eq!(many(&log).await.unwrap_err().attempts(), 3);
    assert_eq!(began.elapsed(), 5 * S);
    let order = [
        "timeout",
        "attempts",
        "increment",
        "deadline",
        "max_elapsed",
        "initial_delay",
        "jitter",
        "policy",
    ];
    assert_eq!(*log.lock().unwrap(), order);
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_is_reloaded_during_a_call_gives_all_its_parts_from_one_reading() {
    #[retry(policy = settings.read())]
    async fn fetch(settings: &Reloaded<Policy>) -> Result<(), RetryError<Down>> {
        tokio::time::sleep(60 * S).await;
        Ok(())
    }

    let fixed = Policy::new().backoff(Backoff::Fixed);
    let settings = Reloaded::new([
        fixed.attempts(2).timeout(3 * S).initial_delay(4 * S),
        fixed.attempts(9).timeout(30 * S).initial_delay(S),
        fixed.attempts(9).initial_delay(S),
    ]);
    let began = Instant::now();
    assert_eq!(fetch(&settings).await.unwrap_err().attempts(), 2);
    assert_eq!((began.elapsed(), settings.readings()), (10 * S, 1));
}

#[tokio::test(start_paused = true)]
async fn no_attempt_follows_the_announced_last_one() {
    #[retry(policy = settings.read(), context = cx)]
    async fn looking(settings: &Reloaded<Policy>, told: &Cell<u32>) -> Result<(), Down> {
        if cx.is_last() {
            told.set(told.get() + 1);
        }
        Err(Down(cx.number()))
    }

    let (reloaded, told) = ([2, 6, 1, 9, 4].map(|n| Policy::new().attempts(n)), Cell::new(0));
    assert_eq!(looking(&Reloaded::new(reloaded), &told).await, Err(Down(2)));
    assert_eq!(told.get(), 1);
    // Of a policy that breaks a rule, it is the nearest one that is told of.
    let unlimited = Reloaded::new([Policy::new().unlimited()]);
    assert_eq!(looking(&unlimited, &told).await, Err(Down(3)));
    let none = Reloaded::new([Policy::new().attempts(0)]);
    assert_eq!(looking(&none, &told).await, Err(Down(1)));
    assert_eq!(told.get(), 3);
}

struct Tables {
    table: Vec<u32>,
    attempts: u32,
}

impl Tables {
    fn policy(table: &[u32]) -> Policy {
        Policy::new().attempts(table[0])
    }

    #[retry(policy = Self::policy(&tables.table), carry(tables))]
    async fn owned(mut tables: Self) -> Result<(), Down> {
        tables.table = vec![tables.table[0] + 1];
        Err(Down(tables.table[0]))
    }

    #[retry(attempts = self.attempts)]
    async fn mutable(&mut self) -> Result<(), Down> {
        self.attempts += 1;
        Err(Down(self.attempts))
    }

    #[retry(attempts = self.attempts)]
    fn blocking(&mut self) -> Result<(), Down> {
        self.attempts = 1;
        Err(Down(0))
    }
}

#[tokio::test(start_paused = true)]
async fn changes_by_the_body_do_not_change_the_policy() {
    #[retry(attempts = left, carry(left))]
    async fn by_argument(mut left: u32) -> Result<(), Down> {
        left += 1;
        Err(Down(left))
    }

    #[retry(policy = policy, initial_delay = "1ms", carry(policy))]
    async fn by_reference(mut policy: &Policy, other: &'static Policy) -> Result<(), Down> {
        let made = policy.get_initial_delay();
        policy = other;
        Err(Down(u32::from(made == policy.get_initial_delay())))
    }

    static OTHER: Policy = Policy::new().attempts(9).initial_delay(Duration::from_secs(7));

    let tables = Tables { table: vec![4], attempts: 0 };
    assert_eq!(Tables::owned(tables).await, Err(Down(8)));
    let mut tables = Tables { table: Vec::new(), attempts: 3 };
    assert_eq!(tables.mutable().await, Err(Down(6)));
    assert_eq!(by_argument(3).await, Err(Down(6)));
    assert_eq!(by_reference(&Policy::new().attempts(2), &OTHER).await, Err(Down(1)));
}

#[test]
fn changes_by_the_body_do_not_change_the_policy_of_a_blocking_call() {
    let mut tables = Tables { table: Vec::new(), attempts: 2 };
    let began = std::time::Instant::now();
    assert_eq!(tables.blocking(), Err(Down(0)));
    assert!(began.elapsed() >= S, "it made only one attempt");
}

#[async_trait]
trait Restless {
    async fn call(&mut self, mut attempts: u32) -> Result<(), Down>;
}

#[async_trait]
impl Restless for Tables {
    #[retry(
        attempts = attempts,
        initial_delay = S.saturating_mul(self.table[0]),
        carry(attempts)
    )]
    async fn call(&mut self, mut attempts: u32) -> Result<(), Down> {
        self.table[0] = 9;
        attempts += 1;
        Err(Down(attempts))
    }
}

#[tokio::test(start_paused = true)]
async fn changes_by_the_body_do_not_change_the_policy_of_an_async_trait_method() {
    let (mut tables, began) = (Tables { table: vec![2], attempts: 0 }, Instant::now());
    assert_eq!(tables.call(3).await, Err(Down(6)));
    assert_eq!(began.elapsed(), 6 * S);
}

fn site(name: &str) -> &'static Site {
    let ends = |site: &&&'static Site| site.name().ends_with(name);
    sites().iter().find(ends).expect("a function of this name")
}

#[test]
fn sites_list_the_runtime_fields() {
    let fields = site("runtime::by_arguments").runtime();
    assert!(fields.contains(Field::Attempts) && fields.contains(Field::InitialDelay));
    assert!(!fields.contains(Field::Jitter));
    let fields = site("runtime::by_a_call").runtime();
    assert!(fields.contains(Field::Attempts) && !fields.contains(Field::Jitter));
}

#[tokio::test(start_paused = true)]
async fn overrides_are_laid_over_the_evaluated_policy() {
    let calls = Cell::new(0);
    let name = site("runtime::by_arguments").name();
    let hurried = Overrides::from_pairs([(name, "initial_delay", "1s")]).unwrap();
    let began = Instant::now();
    let outcome = with_overrides(&hurried, by_arguments(&calls, 3, 9 * S)).await;
    assert_eq!((outcome, began.elapsed()), (Err(Down(4)), 7 * S));
}

struct Pages<const MAX_RETRIES: u32>(AtomicU32);

impl<const MAX_RETRIES: u32> Pages<MAX_RETRIES> {
    #[retry(attempts = MAX_RETRIES, name = "runtime.pages")]
    async fn get(&self) -> Result<(), Down> {
        Err(Down(self.0.fetch_add(1, Ordering::Relaxed) + 1))
    }
}

#[tokio::test(start_paused = true)]
async fn a_parameter_of_the_impl_is_learned_at_the_first_call_and_obeys_overrides() {
    assert_eq!(site("runtime.pages").policy(), None);
    assert_eq!(Pages::<5>(AtomicU32::new(0)).get().await, Err(Down(5)));
    let learned = site("runtime.pages").policy().unwrap();
    assert_eq!(learned.get_attempts(), Attempts::Limited(5));

    // Here, because the site is expected to know no policy above.
    let hurried = Overrides::from_pairs([("runtime.pages", "attempts", "2")]).unwrap();
    let outcome = with_overrides(&hurried, Pages::<5>(AtomicU32::new(0)).get()).await;
    assert_eq!(outcome, Err(Down(2)));
}

#[async_trait]
trait Store {
    async fn put(&mut self, key: String) -> Result<(), anyhow::Error>;
    async fn get(&self) -> Result<(), anyhow::Error>;
}

struct Remote {
    attempts: u32,
    breaker: Arc<CircuitBreaker>,
    calls: u32,
}

#[async_trait]
impl Store for Remote {
    #[retry(attempts = self.attempts, breaker = self.breaker)]
    async fn put(&mut self, key: String) -> Result<(), anyhow::Error> {
        self.calls += 1;
        anyhow::bail!("no {key} at call {}", self.calls)
    }

    #[retry(attempts = self.attempts)]
    async fn get(&self) -> Result<(), anyhow::Error> {
        anyhow::bail!("nothing")
    }
}

#[tokio::test(start_paused = true)]
async fn methods_of_async_traits_name_self_in_options() {
    let breaker = Arc::new(CircuitBreaker::named("remote".to_owned(), BreakerConfig::new()));
    let mut remote = Remote { attempts: 3, breaker, calls: 0 };
    assert_eq!(remote.put("a".to_owned()).await.unwrap_err().to_string(), "no a at call 3");
    remote.get().await.unwrap_err();
}

/// For settings that come, say, from the environment.
static LAZY: LazyLock<CircuitBreaker> =
    LazyLock::new(|| CircuitBreaker::new("lazy", BreakerConfig::new().failure_threshold(2)));

#[retry(attempts = 5, breaker = LAZY)]
async fn behind_a_lazy_breaker() -> Result<(), RetryError<Down>> {
    Err(Down(1))
}

#[tokio::test(start_paused = true)]
async fn a_breaker_may_be_made_on_its_first_use() {
    let error = behind_a_lazy_breaker().await.unwrap_err();
    assert_eq!((error.reason(), error.attempts()), (Reason::CircuitOpen, 2));
    assert_eq!(LAZY.state(), State::Open);
}

#[test]
fn futures_are_send() {
    fn is_send<T: Send>(_: T) {}
    let client = Client::default();
    is_send(client.by_policy());
    is_send(client.by_values());
    is_send(client.bounded());
    is_send(client.bounded_by_policy());
    is_send(client.looking());
}

#[tokio::test(start_paused = true)]
async fn bounds_that_an_error_cannot_hold_act_between_attempts_or_warn() {
    #[retry(policy = policy, name = "runtime.slow")]
    async fn slow(calls: &Cell<u32>, policy: Policy) -> Result<(), Down> {
        tokio::time::sleep(20 * S).await;
        answers(calls).await
    }

    let calls = Cell::new(0);
    let policy = Policy::new().backoff(Backoff::Fixed).deadline(30 * S).attempts(9);
    assert_eq!(slow(&calls, policy).await, Err(Down(2)));
    let (_listening, events) = listen("runtime.slow");
    let policy = Policy::new().attempts(2).timeout(3 * S);
    assert_eq!(slow(&calls, policy).await, Err(Down(4)));
    assert_eq!(slow(&calls, policy).await, Err(Down(6)));
    let told = events.lock().unwrap().iter().filter(|event| event.contains("timeout")).count();
    assert_eq!(told, 1);
}

/// The events of the function of this name, while the listener lives.
fn listen(name: &'static str) -> (impl Sized, Arc<Mutex<Vec<String>>>) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&events);
    let listening = retry_runtime::on_event(move |event| {
        if event.name() == name {
            heard.lock().unwrap().push(event.to_string());
        }
    });
    (listening, events)
}

#[tokio::test(start_paused = true)]
async fn a_mistake_causes_one_warning_with_the_text_of_the_rule() {
    #[retry(policy = policy, name = "runtime.mistaken")]
    async fn mistaken(policy: Policy) -> Result<(), Down> {
        Err(Down(0))
    }

    let (_listening, events) = listen("runtime.mistaken");
    for _ in 0..2 {
        mistaken(Policy::new().attempts(0)).await.unwrap_err();
    }
    let events = events.lock().unwrap();
    let warnings: Vec<_> = events.iter().filter(|event| event.contains("rule")).collect();
    assert!(matches!(&warnings[..], [one] if one.contains("at least 1")), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_deadline_of_runtime_ends_with_the_last_error() {
    #[retry(policy = policy)]
    async fn hangs(calls: &Cell<u32>, policy: Policy) -> Result<(), RetryError<Down>> {
        calls.set(calls.get() + 1);
        if calls.get() == 2 {
            std::future::pending::<()>().await;
        }
        Err(Down(calls.get()))
    }

    let error = hangs(&Cell::new(0), Policy::new().deadline(5 * S)).await.unwrap_err();
    assert_eq!((error.reason(), error.last()), (Reason::Deadline, Some(&Down(1))));
}

#[tokio::test(start_paused = true)]
async fn a_constant_policy_may_stand_beside_a_runtime_number_of_attempts() {
    const TIMED: Policy = retry_runtime::policy!(timeout = "1s", jitter = none, backoff = fixed);

    struct Client {
        attempts: u32,
        calls: AtomicU32,
    }

    impl Client {
        #[retry(policy = TIMED, attempts = self.attempts)]
        async fn fetch(&self) -> std::io::Result<()> {
            self.calls.fetch_add(1, Ordering::Relaxed);
            std::future::pending().await
        }
    }

    let client = Client { attempts: 2, calls: AtomicU32::new(0) };
    let start = Instant::now();
    let error = client.fetch().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::TimedOut);
    assert_eq!(client.calls.into_inner(), 2);
    assert_eq!(start.elapsed(), 3 * S);
}
