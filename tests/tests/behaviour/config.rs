//! Retry settings from files: the accepted forms, and the messages about mistakes.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, RwLock};
use std::time::Duration;

use retry_runtime::matchers::{connect, network, timeout, transient};
use retry_runtime::{
    Attempts, Backoff, Bound, BreakerConfig, Jitter, Policy, QuotaConfig, Reason, Retrier,
    RetryConfig, retry,
};
use retry_tests_support::recorded::differences;
use retry_workflow::{ErrorPolicy, TaskKeys};
use serde::Deserialize;

use crate::support::{millis, secs};

/// The settings of a function: a step has an action on failure, too.
#[derive(Deserialize)]
#[serde(try_from = "serde_json::Value")]
struct OfStep(RetryConfig);

impl TryFrom<serde_json::Value> for OfStep {
    type Error = serde_json::Error;

    fn try_from(mut step: serde_json::Value) -> Result<Self, serde_json::Error> {
        if let Some(keys) = step.as_object_mut() {
            keys.remove("on_failure");
        }
        serde_json::from_value(step).map(Self)
    }
}

#[derive(Deserialize)]
struct Step {
    retry_config: Option<OfStep>,
}

fn yaml(text: &str) -> RetryConfig {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The message about a mistake.
fn complaint<T: for<'de> Deserialize<'de>>(text: &str) -> String {
    match serde_saphyr::from_str::<T>(text) {
        Ok(_) => panic!("no complaint about {text}"),
        Err(error) => error.without_snippet().to_string().trim_start_matches("error: ").to_owned(),
    }
}

/// The message about a mistake in TOML.
fn complaint_in_toml<T: for<'de> Deserialize<'de>>(text: &str) -> String {
    let error = toml::from_str::<T>(text).err().expect(text);
    let before = &text[..error.span().map_or(0, |span| span.start)];
    let line = before.matches('\n').count() + 1;
    let column = before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1;
    format!("line {line} column {column}: {}", error.message())
}

#[test]
fn every_form_of_the_command_level_is_read() {
    #[derive(Deserialize)]
    struct File {
        commands: Vec<Step>,
    }
    let text = include_str!("../../data/config/command-level.yml");
    let file: File = serde_saphyr::from_str(text).unwrap();
    let configs: Vec<RetryConfig> = file
        .commands
        .into_iter()
        .map(|step| step.retry_config.expect("every one has it").0)
        .collect();
    let [fetch, query, index, mail, upload] = <[RetryConfig; 5]>::try_from(configs).unwrap();

    let policy = Policy::new().attempts(5).jitter(Jitter::Proportional(0.3)).budget(secs(300));
    assert_eq!(fetch.bare_policy, policy);
    assert_eq!(fetch.retry_on.as_ref().map(|list| list.len()), Some(2));

    let linear = Backoff::Linear { increment: secs(2) };
    assert_eq!(query.bare_policy, Policy::new().attempts(5).backoff(linear));
    assert_eq!(query.retry_on.as_ref().map(|list| list.len()), Some(3));

    assert_eq!(index.bare_policy, Policy::new().attempts(6).backoff(Backoff::Fibonacci));
    assert!(index.retry_on.is_none());

    let fixed = Policy::new().attempts(4).backoff(Backoff::Fixed).initial_delay(secs(2));
    assert_eq!(mail.bare_policy, fixed);

    let custom = Backoff::Custom(const { &[millis(500), secs(3)] });
    assert_eq!(upload.bare_policy, Policy::new().attempts(5).backoff(custom).max_delay(secs(60)));
}

#[test]
fn every_form_of_the_workflow_level_is_read() {
    #[derive(Deserialize)]
    struct File {
        error_policy: ErrorPolicy,
        map: Map,
    }
    #[derive(Deserialize)]
    struct Map {
        agent_template: Vec<Step>,
    }
    let text = include_str!("../../data/config/workflow-level.yml");
    let file: File = serde_saphyr::from_str(text).unwrap();
    assert_eq!(*file.error_policy.get_retry_config(), Policy::new());

    let [process, validate] = <[Step; 2]>::try_from(file.map.agent_template).ok().unwrap();
    let OfStep(process) = process.retry_config.unwrap();
    assert_eq!(process.bare_policy, Policy::new().jitter(Jitter::DEFAULT));
    assert_eq!(process.retry_on.map(|matchers| matchers.len()), Some(2));
    assert!(validate.retry_config.is_none());
}

#[test]
fn bounds_may_be_unlimited_and_the_first_wait_its_own() {
    for (text, policy) in [
        ("first_delay: 0s", Policy::new().first_delay(secs(0))),
        ("max_delay: unlimited", Policy::new().with_max_delay(Bound::Unlimited)),
        ("max_elapsed: 5m", Policy::new().max_elapsed(secs(300))),
        ("max_retry_after: 5m", Policy::new().max_retry_after(secs(300))),
        ("max_retry_after: unlimited", Policy::new().with_max_retry_after(Bound::Unlimited)),
        ("backoff: fixed\ninitial_delay: 1m", fixed_minute()),
        (
            "attempts: unlimited\nbudget: unlimited",
            Policy::new().unlimited().with_budget(Bound::Unlimited),
        ),
        ("timeout: unlimited", Policy::new().with_timeout(Bound::Unlimited)),
    ] {
        assert_eq!(yaml(text).bare_policy, policy, "{text}");
        let written = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&written).unwrap(), policy, "{written}");
    }
    let text = "max_attempts: unlimited\nfirst_delay: 0s\nretry_budget: unlimited\nmax_elapsed: 1h";
    let workflow: ErrorPolicy = serde_saphyr::from_str(&of_items(text)).unwrap();
    let policy = Policy::new().unlimited().first_delay(secs(0)).max_elapsed(secs(3_600));
    assert_eq!(*workflow.get_retry_config(), policy.with_budget(Bound::Unlimited));
}

/// An error policy with these keys for the rounds of its items.
fn of_items(keys: &str) -> String {
    format!("retry_config:\n  {}", keys.replace('\n', "\n  "))
}

/// A fixed wait can be long without a `max_delay`.
fn fixed_minute() -> Policy {
    let minute = Policy::new().backoff(Backoff::Fixed).initial_delay(secs(60));
    assert_eq!(minute.wait(2), secs(60));
    minute
}

#[tokio::test(start_paused = true)]
async fn a_retrier_follows_its_file() {
    let config = yaml("attempts: 4\nretry_on: [network, pattern: '(?i)database is LOCKED']\n");
    let retrier = Retrier::from_config(&config);
    for (text, attempts, reason) in [
        ("connection refused", 4, Reason::Attempts),
        ("the database is locked", 4, Reason::Attempts),
        ("HTTP 500", 1, Reason::NotRetryable),
    ] {
        let error = retrier.run(|| async { Err::<(), _>(text) }).await.unwrap_err();
        assert_eq!((error.attempts(), error.reason()), (attempts, reason), "{text}");
    }
    let all = Retrier::from_config(&yaml("attempts: 2"));
    let error = all.run(|| async { Err::<(), _>("whatever") }).await.unwrap_err();
    assert_eq!(error.attempts(), 2);
}

#[test]
fn forms_that_mean_the_same_are_the_same() {
    let fixed = Policy::new().backoff(Backoff::Fixed);
    for text in [
        "backoff: fixed",
        "backoff: { fixed: null }",
        "backoff:\n  fixed:\n",
        "backoff: { fixed: {} }",
    ] {
        assert_eq!(yaml(text).bare_policy, fixed, "{text}");
    }
    let factor = Policy::new().jitter(Jitter::Proportional(0.2));
    for text in ["jitter: 0.2", "jitter: true\njitter_factor: 0.2"] {
        assert_eq!(yaml(text).bare_policy, factor, "{text}");
    }
    for text in ["jitter: false", "jitter: none", ""] {
        let text = format!("attempts: 3\n{text}");
        assert_eq!(yaml(&text).bare_policy, Policy::new(), "{text}");
    }
    for text in [
        "max_delay: 90s",
        "max_delay: { secs: 90, nanos: 0 }",
        "max_delay: 1m 30s",
        "max_delay: { secs: 90 }",
    ] {
        assert_eq!(yaml(text).bare_policy, Policy::new().max_delay(secs(90)), "{text}");
    }
    assert_eq!(
        yaml("attempts: unlimited\nbudget: 5m").bare_policy,
        Policy::new().unlimited().budget(secs(300))
    );
    assert_eq!(
        yaml("deadline: 30s\ntimeout: 2s").bare_policy,
        Policy::new().deadline(secs(30)).timeout(secs(2))
    );
}

#[test]
fn a_written_policy_round_trips() {
    let text = "attempts: 5\nbackoff:\n  custom:\n    delays: [500ms, { secs: 3, nanos: 5 }]\n\
                jitter: true\njitter_factor: 0.25\nretry_on: [timeout, connect, pattern: 'a|b']\n";
    let config = yaml(text);
    for again in [
        yaml(&serde_saphyr::to_string(&config).unwrap()),
        serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap(),
    ] {
        assert_eq!(again.bare_policy, config.bare_policy);
        assert_eq!(format!("{again:?}"), format!("{config:?}"));
    }
    assert_eq!(config.bare_policy.wait(2), secs(3) + Duration::from_nanos(5));
}

/// `RETRY_CONFIG_BLESS=1` rewrites the messages.
#[test]
fn mistakes_in_files_are_reported_with_a_cure() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("data/config/mistakes.txt");
    let differences = differences(&path, "RETRY_CONFIG_BLESS", |reader, text| {
        let message = match reader {
            "RetryConfig" => complaint::<RetryConfig>(text),
            "Policy" => complaint::<Policy>(text),
            "BreakerConfig" => complaint::<BreakerConfig>(text),
            "QuotaConfig" => complaint::<QuotaConfig>(text),
            "ErrorPolicy" => complaint::<ErrorPolicy>(text),
            "TaskKeys" => task(text).unwrap_err(),
            "RetryConfig, TOML" => complaint_in_toml::<RetryConfig>(text),
            "BreakerConfig, TOML" => complaint_in_toml::<BreakerConfig>(text),
            "QuotaConfig, TOML" => complaint_in_toml::<QuotaConfig>(text),
            other => panic!("there is no reader `{other}`"),
        };
        let without_texts = message.replace("(increment = 2s)", "").replace("(base = 2.0)", "");
        let is_attribute = without_texts.contains(" = ") && !message.contains("in the attribute");
        assert!(!is_attribute, "no attribute is written in a file: {message}");
        message
    });
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A list of a program may be built from several, so that an entry without effect is no mistake
/// there.
#[tokio::test(start_paused = true)]
async fn a_matcher_that_another_one_covers_has_no_effect_in_a_list_of_a_program() {
    let mut config = RetryConfig::from(Policy::new().attempts(2));
    config.retry_on = Some(Arc::new([network, connect, timeout]));
    let of_config = Retrier::from_config(&config);
    let built = Retrier::new(config.bare_policy).retry_on([connect, network, timeout]);
    assert!(built.validate().is_ok());
    for retrier in [of_config, built] {
        for (text, attempts) in [("connection refused", 2), ("broken pipe", 2), ("HTTP 500", 1)] {
            let error = retrier.run(|| async { Err::<(), _>(text) }).await.unwrap_err();
            assert_eq!(error.attempts(), attempts, "{text}");
        }
    }
    let written = serde_json::to_value(&config).unwrap();
    assert_eq!(written["retry_on"], serde_json::json!(["network", "timeout"]));
    assert!(serde_json::from_value::<RetryConfig>(written).is_ok());
    config.retry_on = Some(Arc::new([network, connect, transient, timeout]));
    let written = serde_json::to_value(&config).unwrap();
    assert_eq!(written["retry_on"], serde_json::json!(["transient"]));
}

/// Reads the policy of a task.
fn task(text: &str) -> Result<Policy, String> {
    let keys: TaskKeys =
        serde_saphyr::from_str(text).map_err(|error| error.without_snippet().to_string())?;
    keys.policy().map_err(|invalid| invalid.to_string())
}

#[test]
fn the_task_style_counts_retries_and_speaks_seconds() {
    let read = |text: &str| task(text).unwrap();
    let policy = read("max_retries: 5\nretry_delay: 2.0\nmax_retry_delay: 60.0");
    assert_eq!(policy, Policy::new().attempts(6).initial_delay(secs(2)).max_delay(secs(60)));
    assert_eq!(read("max_retries: 0").get_attempts(), Attempts::Limited(1));
    assert_eq!(read("retry_delay: 0.5").get_initial_delay(), millis(500));
    assert_eq!(read("retry_delay: 0").wait(3), secs(0));
    assert_eq!(read("max_retries: 4294967295").get_attempts(), Attempts::Limited(u32::MAX));
}

/// A service's settings, all in one file.
#[derive(Deserialize)]
struct Service {
    http: Arc<RetryConfig>,
    breaker: BreakerConfig,
    quota: QuotaConfig,
}

const SERVICE: &str = "\
http: { attempts: 4, backoff: fixed, initial_delay: 0s, retry_on: [network, timeout], abort_on: [pattern: refused] }
breaker: { failure_rate: 0.5, window_time: 10s, minimum_calls: 20, slow_call: 2s, slow_rate: 0.8, timeout: 5s,
           timeout_growth: 2.0, max_timeout: 1m, timeout_jitter: 0.2, half_open_requests: 1, success_threshold: 2,
           abandoned_after: 3s, hold: 2m, observe_only: true }
quota: { capacity: 100, retry_cost: 10, timeout_cost: 20, throttling_cost: 5, success_refund: 2, refill_per_sec: 0.5 }
";

#[test]
fn breakers_and_quotas_are_read_from_the_same_file() {
    let service: Service = serde_saphyr::from_str(SERVICE).unwrap();
    let breaker = BreakerConfig::new()
        .failure_rate(0.5)
        .window_time(secs(10))
        .minimum_calls(20)
        .slow_calls(secs(2), 0.8)
        .timeout(secs(5))
        .timeout_growth(2.0)
        .max_timeout(secs(60))
        .timeout_jitter(0.2)
        .half_open_requests(1)
        .success_threshold(2)
        .abandoned_after(secs(3))
        .hold(secs(120))
        .observe_only();
    let quota = QuotaConfig::new()
        .capacity(100)
        .retry_cost(10)
        .timeout_cost(20)
        .throttling_cost(5)
        .success_refund(2)
        .refill_per_sec(0.5);
    assert_eq!(service.http.abort_on.as_ref().map(|list| list.len()), Some(1));
    assert_eq!((service.breaker, service.quota), (breaker, quota));
    for breaker in [
        breaker,
        BreakerConfig::new(),
        BreakerConfig::new()
            .failure_rate(0.2)
            .window_calls(7)
            .minimum_calls(7)
            .failure_threshold(3),
        // Useless settings are not written, because reading them is an error.
        BreakerConfig::new().failure_threshold(9),
    ] {
        let written = serde_json::to_string(&breaker).unwrap();
        assert_eq!(serde_json::from_str::<BreakerConfig>(&written).unwrap(), breaker, "{written}");
    }
    for quota in [quota, QuotaConfig::new()] {
        let written = serde_json::to_string(&quota).unwrap();
        assert_eq!(serde_json::from_str::<QuotaConfig>(&written).unwrap(), quota, "{written}");
    }
    assert_eq!(serde_json::to_string(&BreakerConfig::new()).unwrap(), "{}");
}

type Lazily = Box<dyn FnOnce() -> RetryConfig + Send>;

/// Holders of a configuration, in all the ways that programs keep it.
struct Client {
    direct: RetryConfig,
    shared: Arc<RetryConfig>,
    locked: RwLock<RetryConfig>,
    lazy: LazyLock<RetryConfig, Lazily>,
    calls: AtomicU32,
}

impl Client {
    fn new(text: &str) -> Self {
        let config: RetryConfig = serde_saphyr::from_str(text).unwrap();
        let again = config.clone();
        let lazy = LazyLock::new(Box::new(move || again) as Lazily);
        Self {
            shared: Arc::new(config.clone()),
            locked: RwLock::new(config.clone()),
            lazy,
            direct: config,
            calls: 0.into(),
        }
    }

    fn fail(&self, text: &'static str) -> Result<(), io::Error> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        Err(io::Error::other(text))
    }

    #[retry(policy = self.direct)]
    fn direct(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = &self.direct)]
    fn borrowed(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.shared)]
    async fn shared(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.shared.clone())]
    async fn cloned(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.locked.read().unwrap())]
    async fn guarded(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.lazy)]
    fn lazy(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = config, clone(config))]
    async fn argument(
        &self,
        config: Arc<RetryConfig>,
        text: &'static str,
    ) -> Result<(), io::Error> {
        drop(config);
        self.fail(text)
    }

    #[retry(policy = self.direct, retry_on = [server_error])]
    fn overruled(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.direct, abort_on = [timeout])]
    fn aborts_more(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.direct, attempts = 2)]
    fn with_an_option(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.direct.bare_policy)]
    fn bare(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    #[retry(policy = self.direct, classify = |_: &io::Error| Some(retry_runtime::Class::NETWORK))]
    fn classified(&self, text: &'static str) -> Result<(), io::Error> {
        self.fail(text)
    }

    async fn calls<F: Future<Output = Result<(), io::Error>>>(&self, call: F) -> u32 {
        self.calls.store(0, Ordering::Relaxed);
        call.await.unwrap_err();
        self.calls.load(Ordering::Relaxed)
    }
}

#[tokio::test(start_paused = true)]
async fn the_attribute_obeys_the_lists_of_a_file() {
    let client = Client::new(
        "{ attempts: 4, backoff: fixed, initial_delay: 0s, retry_on: [network, timeout], \
         abort_on: [pattern: refused] }",
    );
    for (text, wanted) in [("connection reset", 4), ("connection refused", 1), ("HTTP 500", 1)] {
        let calls = [
            client.calls(async { client.direct(text) }).await,
            client.calls(async { client.borrowed(text) }).await,
            client.calls(client.shared(text)).await,
            client.calls(client.cloned(text)).await,
            client.calls(client.guarded(text)).await,
            client.calls(async { client.lazy(text) }).await,
            client.calls(client.argument(client.shared.clone(), text)).await,
        ];
        assert_eq!(calls, [wanted; 7], "{text}");
    }
    let order =
        Client::new("{ attempts: 4, backoff: fixed, initial_delay: 0s, retry_on: [connect] }");
    for (text, wanted) in [("connection reset", 1), ("connection refused", 4)] {
        let calls = order.calls(async { order.direct(text) }).await;
        assert_eq!(calls, wanted, "{text}");
    }
    let calls = async |call: fn(&Client, &'static str) -> Result<(), io::Error>, text| {
        client.calls(async { call(&client, text) }).await
    };
    // The attribute's own options win, and `abort_on` always counts.
    assert_eq!(calls(Client::overruled, "HTTP 500").await, 4);
    assert_eq!(calls(Client::overruled, "HTTP 500: refused").await, 1);
    assert_eq!(calls(Client::overruled, "connection reset").await, 1);
    assert_eq!(calls(Client::aborts_more, "connection reset").await, 4);
    assert_eq!(calls(Client::aborts_more, "timed out").await, 1);
    assert_eq!(calls(Client::with_an_option, "connection reset").await, 2);
    assert_eq!(calls(Client::with_an_option, "HTTP 500").await, 1);
    assert_eq!(calls(Client::bare, "HTTP 500").await, 4);
    assert_eq!(calls(Client::classified, "no word of it").await, 4);
    assert_eq!(calls(Client::classified, "refused").await, 1);
}

#[test]
fn a_message_shows_no_more_than_the_beginning_of_a_value() {
    /// Each `@` in the file stands for a long text.
    #[track_caller]
    fn assert_short<T: for<'de> Deserialize<'de>>(file: &str) {
        let long = format!("y{}", "ä".repeat(10_000));
        let error = serde_json::from_str::<T>(&file.replace('@', &long));
        let error = error.err().expect("a mistake").to_string();
        let shown = error.matches('ä').count();
        assert!(shown <= 400 && error.contains('…') || shown == 0, "{file}: {shown}: {error:.400}");
    }

    let policy = ["attempts", "backoff", "initial_delay", "budget", "jitter", "jitter_factor"];
    for key in policy {
        assert_short::<Policy>(&format!(r#"{{ "{key}": "@" }}"#));
        assert_short::<RetryConfig>(&format!(r#"{{ "{key}": "@" }}"#));
    }
    for key in ["failure_threshold", "failure_rate", "timeout", "half_open", "observe_only"] {
        assert_short::<BreakerConfig>(&format!(r#"{{ "{key}": "@" }}"#));
    }
    assert_short::<QuotaConfig>(r#"{ "capacity": "@" }"#);
    assert_short::<QuotaConfig>(r#"{ "share": "@" }"#);
    for file in [
        r#"{ "@": 1 }"#,
        r#"{ "initial_delay": "5@" }"#,
        r#"{ "initial_delay": { "@": 1 } }"#,
        r#"{ "backoff": "linear(@)" }"#,
        r#"{ "backoff": "linear(increment = 5@)" }"#,
        r#"{ "backoff": "linear(@ = 5s)" }"#,
        r#"{ "backoff": { "@": 1 } }"#,
        r#"{ "backoff": { "type": "@" } }"#,
        r#"{ "backoff": { "linear": { "@": 1 } } }"#,
        r#"{ "backoff": { "linear": { "increment": "@" } } }"#,
        r#"{ "backoff": { "custom": { "delays": ["@"] } } }"#,
        r#"{ "backoff": { "custom": { "delays": "@" } } }"#,
        r#"{ "jitter": "up(@)" }"#,
        r#"{ "jitter": "@.." }"#,
        r#"{ "initial_delay": { "secs": "@" } }"#,
        r#"{ "initial_delay": { "secs": 1, "nanos": "@" } }"#,
        r#"{ "initial_delay": { "secs": 1, "@": 1 } }"#,
        r#"{ "backoff": { "type": { "@": 1 } } }"#,
        r#"{ "backoff": { "type": "linear", "increment": "@" } }"#,
        r#"{ "backoff": { "exponential": { "base": "@" } } }"#,
        r#"{ "backoff": { "custom": { "delays": [{ "@": 1 }] } } }"#,
        r#"{ "max_retry_after": "@", "hedge": "@" }"#,
    ] {
        assert_short::<Policy>(file);
        assert_short::<RetryConfig>(file);
    }
    for file in [
        r#"{ "retry_on": "@" }"#,
        r#"{ "retry_on": ["@"] }"#,
        r#"{ "retry_on": ["two words@"] }"#,
        r#"{ "abort_on": [{ "@": 1 }] }"#,
        r#"{ "abort_on": [{ "pattern": "(@" }] }"#,
        r#"{ "abort_on": [{ "network": "@" }] }"#,
        r#"{ "abort_on": [{ "pattern": { "@": 1 } }] }"#,
        r#"{ "retry_on": { "@": 1 } }"#,
        r#"{ "uncounted": "@" }"#,
        r#"{ "uncounted": ["@"] }"#,
    ] {
        assert_short::<RetryConfig>(file);
    }
}
