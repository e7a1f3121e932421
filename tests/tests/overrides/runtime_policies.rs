//! Changes to functions whose policies are known only to their calls.

use std::future::pending;
use std::sync::Mutex;
use std::time::Duration;

use retry_runtime::{
    Event, Interrupted, Overrides, Policy, Reason, Retrier, RetryError, Warning, on_event, policy,
    report, retry, retrying, with_overrides,
};
use tokio::time::Instant;

use crate::support::{alone, limited, of, site, wrong, yaml};

const MS: Duration = Duration::from_millis(1);

/// The policy that a client chooses.
const RETRIES: Policy = policy!(attempts = 4, initial_delay = "100ms", max_delay = "5s");

/// A client of a library.
struct Client(Policy);

impl Client {
    #[retry(policy = self.0, name = "client.fetch")]
    async fn fetch(&self) -> Result<u32, RetryError<String>> {
        Err("no".to_owned())
    }

    #[retry(policy = self.0, name = "client.hang")]
    async fn hang(&self) -> Result<u32, RetryError<String>> {
        pending().await
    }

    #[retry(policy = self.0, name = "client.slow")]
    async fn slow(&self) -> Result<u32, String> {
        tokio::time::sleep(100 * MS).await;
        Ok(1)
    }

    /// Only its `cancel` ends a call of an unlimited policy.
    #[retry(policy = self.0, cancel = pending::<()>(), name = "client.follow")]
    async fn follow(&self, failures: &mut u32) -> Result<(), RetryError<String>> {
        fails(failures)?;
        Ok(())
    }

    /// Its waits are those that the server asks for, so a deadline below the first wait is not a
    /// mistake.
    #[retry(policy = self.0, retry_after = |_| Some(MS), name = "client.ask")]
    async fn ask(&self, failures: &mut u32) -> Result<(), RetryError<String>> {
        fails(failures)?;
        Ok(())
    }

    #[retry(policy = self.0, initial_delay = "1ms", name = "client.look")]
    fn look(&self) -> Result<u32, RetryError<String>> {
        Err("no".to_owned())
    }
}

#[retry(attempts = unlimited, cancel = pending::<()>(), name = "shop.follow")]
async fn follow(failures: &mut u32) -> Result<(), RetryError<String>> {
    fails(failures)?;
    Ok(())
}

#[retry(attempts = N, name = "shop.of-parameter")]
async fn of_parameter<const N: u32>() -> Result<(), String> {
    Ok(())
}

/// Fails as long as there are failures left.
fn fails(failures: &mut u32) -> Result<(), String> {
    if *failures == 0 {
        return Ok(());
    }
    *failures -= 1;
    Err("no".to_owned())
}

async fn block(retries: Policy) -> Result<u32, Interrupted> {
    retrying!(policy = retries, name = "client.block", async {
        pending::<()>().await;
        Ok(1)
    })
    .await
}

/// Returns the results of `of_interest` for the events of `run`.
async fn events<T>(
    of_interest: fn(&Event<'_>) -> bool,
    run: impl Future<Output = T>,
) -> (T, Vec<String>) {
    static HEARD: Mutex<Vec<String>> = Mutex::new(Vec::new());

    HEARD.lock().unwrap().clear();
    let listening = on_event(move |event| {
        if of_interest(event) {
            HEARD.lock().unwrap().push(event.to_string());
        }
    });
    let result = run.await;
    listening.stop();
    (result, HEARD.lock().unwrap().clone())
}

#[test]
fn keys_are_checked_against_each_other_only() {
    for (key, value) in [
        ("max_delay", "500ms"),
        ("max_delay", "1h"),
        ("budget", "500ms"),
        ("initial_delay", "20s"),
        ("initial_delay", "5m"),
        ("first_delay", "5m"),
        ("attempts", "unlimited"),
        ("backoff", "exponential"),
        ("backoff", "custom(1s, 2s, 3s, 4s, 5s, 6s)"),
        ("jitter", "decorrelated"),
        ("timeout", "1h"),
    ] {
        of("client.fetch", key, value);
    }
    let above =
        wrong([("client.fetch", "initial_delay", "20s"), ("client.fetch", "max_delay", "5s")]);
    assert_eq!(
        above,
        "`client.fetch`: `initial_delay` (20s) is longer than `max_delay` (5s), which caps every \
         wait: lower the first or raise the second"
    );
    for (mistakes, rule) in [
        ([("attempts", "0"), ("budget", "1s")], "at least 1"),
        ([("timeout", "5s"), ("deadline", "1s")], "`timeout` bounds one attempt"),
        ([("initial_delay", "20s"), ("deadline", "5s")], "already reaches this deadline"),
        ([("initial_delay", "0s"), ("backoff", "exponential")], "multiplies the initial delay"),
    ] {
        let error = wrong(mistakes.map(|(key, value)| ("client.fetch", key, value)));
        assert!(error.contains(rule), "{error}");
    }
}

#[test]
fn keys_are_laid_over_the_policy_of_the_call() {
    alone(async {
        yaml("client.fetch: { max_delay: 250ms }").apply();
        let began = Instant::now();
        let error = Client(RETRIES).fetch().await.unwrap_err();
        assert_eq!((error.attempts(), began.elapsed()), (4, 550 * MS));
    });
}

#[test]
fn a_change_that_a_policy_of_a_call_rejects_is_repaired_with_an_event() {
    alone(async {
        let slow = of("client.fetch", "initial_delay", "20s");
        let client = Client(RETRIES);
        let call = with_overrides(&slow, client.fetch());
        let is_invalid =
            |event: &Event<'_>| matches!(event, Event::Warning(Warning::InvalidPolicy { .. }));
        let (error, events) = events(is_invalid, call).await;
        assert_eq!(error.unwrap_err().waited(), 15_000 * MS);
        assert_eq!(
            events,
            ["client.fetch: the policy breaks a rule; the nearest valid policy is used instead: \
              `initial_delay` (1s unless set) is longer than `max_delay` (30s unless set), which \
              caps every wait: lower the first or raise the second"]
        );
    });
}

#[test]
fn a_change_that_ends_the_waits_of_uncounted_failures_is_reported() {
    #[retry(uncounted = [rate_limit], backoff = fixed, budget = "1h", name = "client.limited")]
    async fn limited() -> Result<u32, RetryError<String>> {
        Err("429 Too Many Requests".to_owned())
    }
    alone(async {
        let change = of("client.limited", "initial_delay", "0s");
        let is_invalid =
            |event: &Event<'_>| matches!(event, Event::Warning(Warning::InvalidPolicy { .. }));
        let (error, events) = events(is_invalid, with_overrides(&change, limited())).await;
        assert_eq!(error.unwrap_err().attempts(), 3);
        assert_eq!(
            events,
            [
                "client.limited: the policy breaks a rule; the nearest valid policy is used instead: \
              `uncounted` failures use up no attempt, so a call may never end: add a `deadline` \
              (bounds the whole call), a `max_elapsed` (no attempt begins after it) or a `budget` \
              (bounds the waits, if they are longer than 0s)"
            ]
        );
    });
}

#[test]
fn a_rule_that_the_function_is_exempt_from_holds_for_no_change_either() {
    alone(async {
        yaml("\"*\": { max_retry_after: 5m }").apply();
        let is_invalid =
            |event: &Event<'_>| matches!(event, Event::Warning(Warning::InvalidPolicy { .. }));
        let unlimited = Client(RETRIES.unlimited());
        let ((), heard) = events(is_invalid, async {
            unlimited.follow(&mut 9).await.unwrap();
            follow(&mut 9).await.unwrap();
            let late = Client(RETRIES.initial_delay(5_000 * MS).deadline(1_000 * MS));
            late.ask(&mut 3).await.unwrap();
        })
        .await;
        assert_eq!(heard, <[String; 0]>::default());
        let shown = site("shop.follow").policy().unwrap();
        assert_eq!(shown, shown.unlimited().max_retry_after(300_000 * MS));
    });
}

#[test]
fn time_limits_can_be_added() {
    alone(async {
        let client = Client(RETRIES.attempts(1));
        for (key, reason) in [("timeout", Reason::Attempts), ("deadline", Reason::Deadline)] {
            for name in ["client.hang", "*"] {
                let change = of(name, key, "5s");
                change.apply();
                let began = Instant::now();
                let error = client.hang().await.unwrap_err();
                assert_eq!((error.reason(), began.elapsed()), (reason, 5_000 * MS), "{name} {key}");
                Overrides::clear();

                let began = Instant::now();
                let error = with_overrides(&change, client.hang()).await.unwrap_err();
                assert_eq!((error.reason(), began.elapsed()), (reason, 5_000 * MS), "{name} {key}");
            }
        }
        let change = of("client.fetch", "max_elapsed", "200ms");
        let error = with_overrides(&change, Client(RETRIES).fetch()).await.unwrap_err();
        assert_eq!((error.reason(), error.attempts()), (Reason::MaxElapsed, 2));

        let began = Instant::now();
        let change = yaml("client.block: { timeout: 50ms, attempts: 2 }");
        with_overrides(&change, block(RETRIES)).await.unwrap_err();
        assert_eq!(began.elapsed(), 200 * MS);
    });
}

#[test]
fn a_limit_that_is_an_option_can_be_added() {
    alone(async {
        let change = yaml("shop.limited: { timeout: 50ms }");
        let began = Instant::now();
        assert!(with_overrides(&change, limited(None)).await.is_ok());
        assert_eq!(began.elapsed(), Duration::ZERO);
    });
}

#[test]
fn a_deadline_can_be_added_to_a_function_that_is_not_async() {
    alone(async {
        of("client.look", "deadline", "2ms").apply();
        assert_eq!(Client(RETRIES).look().unwrap_err().reason(), Reason::Deadline);
        // Under `"*"`, a limit that a function cannot obey is left out.
        of("*", "timeout", "1s").apply();
        assert!(!site("client.look").is_overridden());
    });
}

#[test]
fn a_timeout_that_cannot_cut_off_an_attempt_is_reported() {
    const IGNORED: &str = "its policy has a timeout, which cannot cut off an attempt: a \
                           function must be async, and its error `RetryError`, or a type that \
                           implements `From<retry_runtime::Interrupted>`; a retrier must be called \
                           with `run`; or remove the timeout";

    alone(async {
        let is_ignored =
            |event: &Event<'_>| matches!(event, Event::Warning(Warning::TimeoutNotObeyed { .. }));
        let timed = Client(RETRIES.attempts(2).timeout(50 * MS));
        let (_, heard) = events(is_ignored, async { (timed.look(), timed.look()) }).await;
        assert_eq!(heard, [format!("client.look: {IGNORED} (of 50ms)")]);

        let change = of("client.slow", "timeout", "20ms");
        let client = Client(RETRIES);
        let (outcome, heard) = events(is_ignored, with_overrides(&change, client.slow())).await;
        assert_eq!(outcome, Ok(1));
        assert_eq!(heard, [format!("client.slow: {IGNORED} (of 20ms)")]);

        let retrier = Retrier::new(RETRIES.initial_delay(MS).timeout(30 * MS)).name("client.sync");
        let calls = || (0..2).for_each(|_| drop(retrier.run_sync(|| "x".parse::<u32>())));
        let ((), heard) = events(is_ignored, async { calls() }).await;
        assert_eq!(heard, [format!("client.sync: {IGNORED} (of 30ms)")]);
    });
}

#[test]
fn a_change_to_a_policy_that_depends_on_a_parameter_is_one_sentence() {
    alone(async {
        of_parameter::<3>().await.unwrap();
        let is_change = |event: &Event<'_>| matches!(event, Event::Policy { .. });
        let change = of("shop.of-parameter", "attempts", "2");
        let ((), heard) = events(is_change, async { change.apply() }).await;
        let text = "the policy is dependent on its type parameters, with attempts 2";
        assert_eq!(heard, [format!("shop.of-parameter: {text}")]);
    });
}

#[test]
fn a_policy_known_at_runtime_is_not_shown_as_the_default() {
    alone(async {
        let line = || {
            let report = report().to_string();
            report.lines().find(|line| line.starts_with("client.fetch ")).unwrap().to_owned()
        };
        let is_change = |event: &Event<'_>| matches!(event, Event::Policy { .. });
        Client(RETRIES.initial_delay(MS)).fetch().await.unwrap_err();
        assert_eq!(site("client.fetch").policy(), None);
        assert!(line().contains("  -  known at runtime  "), "{}", line());

        let change = yaml("client.fetch: { attempts: 2, max_delay: 500ms, timeout: unlimited }");
        let ((), heard) = events(is_change, async {
            change.apply();
            assert_eq!(site("client.fetch").policy(), None);
            assert!(line().contains("timeout unlimited (overridden)"), "{}", line());
            Overrides::clear();
        })
        .await;
        let changed = "attempts 2, max_delay 500ms, timeout unlimited";
        assert_eq!(
            heard,
            [
                format!("client.fetch: the policy is known at runtime, with {changed}"),
                "client.fetch: the policy is known at runtime".to_owned(),
            ]
        );
        assert_eq!(format!("{change:?}"), format!("Overrides {{\"client.fetch\": \"{changed}\"}}"));

        for value in ["exponential(base = 1.5)", "custom(500ms, 1s)", "linear(increment = 2s)"] {
            let change = format!("{:?}", of("client.fetch", "backoff", value));
            assert_eq!(change, format!("Overrides {{\"client.fetch\": \"backoff {value}\"}}"));
        }
        for value in ["0.3", "up(0.2)", "0s..250ms", "full"] {
            let change = format!("{:?}", of("client.fetch", "jitter", value));
            assert_eq!(change, format!("Overrides {{\"client.fetch\": \"jitter {value}\"}}"));
        }
    });
}
