//! Retry settings from files: the accepted forms, and the messages about mistakes.

use std::time::Duration;

use retry_runtime::file::{TaskStyle, WorkflowStyle};
use retry_runtime::{
    Attempts, Backoff, Bound, Jitter, OnFailure, Policy, Reason, Retrier, RetryConfig,
};
use serde::Deserialize;

use crate::support::{millis, secs};

#[derive(Deserialize)]
struct Step {
    retry_config: Option<RetryConfig>,
}

fn yaml(text: &str) -> RetryConfig {
    serde_saphyr::from_str(text).unwrap_or_else(|error| panic!("{error}"))
}

/// The message about a mistake.
fn complaint<T: for<'de> Deserialize<'de>>(text: &str) -> String {
    match serde_saphyr::from_str::<T>(text) {
        Ok(_) => panic!("no complaint about {text}"),
        Err(error) => error.to_string(),
    }
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
        .map(|step| step.retry_config.expect("every one has it"))
        .collect();
    let [fetch, query, index, mail, upload] = <[RetryConfig; 5]>::try_from(configs).unwrap();

    let policy = Policy::new().attempts(5).jitter(Jitter::Proportional(0.3)).budget(secs(300));
    assert_eq!(fetch.policy, policy);
    assert_eq!(fetch.on_failure, OnFailure::Stop);
    assert_eq!(fetch.retry_on.as_ref().map(Vec::len), Some(2));

    let linear = Backoff::Linear { increment: secs(2) };
    assert_eq!(query.policy, Policy::new().attempts(5).backoff(linear));
    assert_eq!(query.retry_on.as_ref().map(Vec::len), Some(3));

    assert_eq!(index.policy, Policy::new().attempts(6).backoff(Backoff::Fibonacci));
    assert_eq!((index.on_failure, index.retry_on.is_none()), (OnFailure::Continue, true));

    let fixed = Policy::new().attempts(4).backoff(Backoff::Fixed).initial_delay(secs(2));
    assert_eq!(mail.policy, fixed);

    let custom = Backoff::Custom(const { &[millis(500), secs(3)] });
    assert_eq!(upload.policy, Policy::new().attempts(5).backoff(custom).max_delay(secs(60)));
    assert_eq!(upload.on_failure, OnFailure::Fallback { command: "./save-locally.sh".into() });
}

#[test]
fn every_form_of_the_workflow_level_is_read() {
    #[derive(Deserialize)]
    struct File {
        error_policy: ErrorPolicy,
        map: Map,
    }
    #[derive(Deserialize)]
    struct ErrorPolicy {
        retry_config: WorkflowStyle,
    }
    #[derive(Deserialize)]
    struct Map {
        agent_template: Vec<Step>,
    }
    let text = include_str!("../../data/config/workflow-level.yml");
    let file: File = serde_saphyr::from_str(text).unwrap();
    assert_eq!(Policy::from(file.error_policy.retry_config), Policy::new());

    let [process, validate] = <[Step; 2]>::try_from(file.map.agent_template).ok().unwrap();
    let process = process.retry_config.unwrap();
    assert_eq!(process.policy, Policy::new().jitter(Jitter::DEFAULT));
    assert_eq!(process.retry_on.map(|matchers| matchers.len()), Some(2));
    assert!(validate.retry_config.is_none());
}

#[test]
fn bounds_may_be_unlimited_and_the_first_wait_its_own() {
    for (text, policy) in [
        ("first_delay: 0s", Policy::new().first_delay(secs(0))),
        ("max_delay: unlimited", Policy::new().with_max_delay(Bound::Unlimited)),
        ("max_elapsed: 5m", Policy::new().max_elapsed(secs(300))),
        ("backoff: fixed\ninitial_delay: 1m", fixed_minute()),
        (
            "attempts: unlimited\nbudget: unlimited",
            Policy::new().unlimited().with_budget(Bound::Unlimited),
        ),
        ("timeout: unlimited", Policy::new().with_timeout(Bound::Unlimited)),
    ] {
        assert_eq!(yaml(text).policy, policy, "{text}");
        let written = serde_json::to_string(&policy).unwrap();
        assert_eq!(serde_json::from_str::<Policy>(&written).unwrap(), policy, "{written}");
    }
    let text = "max_attempts: unlimited\nfirst_delay: 0s\nretry_budget: unlimited\nmax_elapsed: 1h";
    let workflow: WorkflowStyle = serde_saphyr::from_str(text).unwrap();
    let policy = Policy::new().unlimited().first_delay(secs(0)).max_elapsed(secs(3_600));
    assert_eq!(Policy::from(workflow), policy.with_budget(Bound::Unlimited));
}

/// A fixed wait can be long without a `max_delay`.
fn fixed_minute() -> Policy {
    let minute = Policy::new().backoff(Backoff::Fixed).initial_delay(secs(60));
    assert_eq!(minute.wait(2), secs(60));
    minute
}

#[tokio::test(start_paused = true)]
async fn a_retrier_does_what_the_file_says() {
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
        assert_eq!(yaml(text).policy, fixed, "{text}");
    }
    let factor = Policy::new().jitter(Jitter::Proportional(0.2));
    for text in ["jitter: 0.2", "jitter: true\njitter_factor: 0.2"] {
        assert_eq!(yaml(text).policy, factor, "{text}");
    }
    for text in ["jitter: false", "jitter: none", ""] {
        let text = format!("attempts: 3\n{text}");
        assert_eq!(yaml(&text).policy, Policy::new(), "{text}");
    }
    for text in [
        "max_delay: 90s",
        "max_delay: { secs: 90, nanos: 0 }",
        "max_delay: 1m 30s",
        "max_delay: { secs: 90 }",
    ] {
        assert_eq!(yaml(text).policy, Policy::new().max_delay(secs(90)), "{text}");
    }
    assert_eq!(
        yaml("attempts: unlimited\nbudget: 5m").policy,
        Policy::new().unlimited().budget(secs(300))
    );
    assert_eq!(
        yaml("deadline: 30s\ntimeout: 2s").policy,
        Policy::new().deadline(secs(30)).timeout(secs(2))
    );
}

#[test]
fn what_is_written_is_read_again() {
    let text = "attempts: 5\nbackoff:\n  custom:\n    delays: [500ms, { secs: 3, nanos: 5 }]\n\
                jitter: true\njitter_factor: 0.25\nretry_on: [timeout, pattern: 'a|b']\n\
                on_failure:\n  fallback:\n    command: ./save.sh\n";
    let config = yaml(text);
    for again in [
        yaml(&serde_saphyr::to_string(&config).unwrap()),
        serde_json::from_str(&serde_json::to_string(&config).unwrap()).unwrap(),
    ] {
        assert_eq!(again.policy, config.policy);
        assert_eq!(again.on_failure, config.on_failure);
        assert_eq!(format!("{:?}", again.retry_on), format!("{:?}", config.retry_on));
    }
    assert_eq!(config.policy.wait(2), secs(3) + Duration::from_nanos(5));
}

/// Each mistake, with words that its message has to contain.
#[test]
fn mistakes_are_told_so_that_they_can_be_mended() {
    let mistakes: &[(&str, &[&str])] = &[
        ("attemps: 5", &["attemps", "attempts"]),
        ("initial_delay: 5", &["\"5s\"", "unit"]),
        ("initial_delay: '5'", &["\"5s\"", "unit"]),
        ("initial_delay: soon", &["\"soon\"", "\"500ms\""]),
        ("initial_delay: 5 fortnights", &["fortnights"]),
        ("initial_delay: { secs: 1, nanos: 1000000000 }", &["nanos"]),
        ("initial_delay: { secs: 1, millis: 5 }", &["millis"]),
        ("attempts: 0", &["at least 1", "`attempts: 1`"]),
        ("attempts: -1", &["at least 1"]),
        ("attempts: many", &["many", "unlimited"]),
        ("attempts: 4294967296", &["4294967295"]),
        ("attempts: unlimited", &["budget", "deadline"]),
        ("backoff: cubic", &["cubic", "fixed", "linear", "exponential", "fibonacci", "custom"]),
        ("backoff: { cubic: {} }", &["cubic", "exponential"]),
        ("backoff: linear", &["increment", "2s"]),
        ("backoff: { linear: { step: 2s } }", &["step", "increment"]),
        ("backoff: { linear: { increment: 2s, base: 2.0 } }", &["base", "linear"]),
        ("backoff: { exponential: { base: 1.0 } }", &["never grows", "fixed"]),
        ("backoff: { exponential: { base: -2.0 } }", &["never grows"]),
        ("backoff: { exponential: { base: .nan } }", &["finite"]),
        ("backoff: { exponential: { base: .inf } }", &["finite"]),
        ("backoff: { custom: {} }", &["delays"]),
        ("backoff: { custom: { delays: [1s, 40s] } }\nmax_delay: 30s", &["max_delay"]),
        (
            "backoff: { custom: { delays: [1s, 2s, 3s] } }",
            &["never used", "3 delays", "3 attempts"],
        ),
        ("backoff: { custom: { delays: [1s] } }\ninitial_delay: 2s", &["initial_delay", "custom"]),
        ("backoff: { fixed: null, linear: { increment: 2s } }", &["single curve", "fixed"]),
        ("backoff: { fixed: { initial: 2s } }\ninitial_delay: 3s", &["twice"]),
        ("initial_delay: 45s", &["45s", "30s"]),
        ("first_delay: 45s", &["first_delay 45s", "30s"]),
        ("first_delay: 5s\nmax_elapsed: 4s", &["first wait 5s", "lower `first_delay`"]),
        ("max_elapsed: 500ms", &["first wait 1s", "max_elapsed"]),
        ("budget: unlimted", &["unlimted", "duration"]),
        ("budget: true", &["`unlimited`"]),
        (
            "attempts: unlimited\nbackoff: fixed\ninitial_delay: 0s\nmax_elapsed: unlimited",
            &["never ends", "`retry_budget: unlimited`"],
        ),
        ("jitter: 1.5", &["0.0 and 1.0"]),
        ("jitter: lots", &["lots", "decorrelated"]),
        ("jitter_factor: 0.3", &["jitter_factor", "`jitter: true`", "`jitter: 0.3`"]),
        (
            "attempts: unlimited\nbackoff: fixed\ninitial_delay: 0s\nbudget: 5m",
            &["never ends", "deadline"],
        ),
        ("jitter: full\njitter_factor: 0.3", &["jitter_factor", "full"]),
        ("jitter: false\njitter_factor: 0.3", &["jitter_factor"]),
        ("jitter: decorrelated\nbackoff: fixed", &["decorrelated", "backoff"]),
        ("jitter: decorrelated\nmax_delay: unlimited", &["decorrelated", "`max_delay: \"30s\"`"]),
        ("retry_budget: 500ms", &["500ms", "first wait"]),
        ("deadline: 1s", &["first wait", "deadline"]),
        ("timeout: 10s\ndeadline: 5s", &["timeout 10s", "deadline 5s"]),
        ("timeout: 0s", &["timeout"]),
        ("attempts: 1\nretry_budget: 5m", &["never retries"]),
        ("retry_on: []", &["retry_on", "network"]),
        ("retry_on: [netwrok]", &["netwrok", "network"]),
        ("retry_on: [pattern: '(']", &["regular expression", "("]),
        ("on_failure: explode", &["explode", "continue"]),
        ("on_failure: fallback", &["command"]),
        ("on_failure: { explode: 1 }", &["explode", "continue"]),
        ("on_failure: { fallback: { command: a }, stop: null }", &["single action"]),
        ("on_failure: { fallback: { cmd: x } }", &["cmd", "command"]),
        ("attempts: 0\nmax_delay: 500ms", &["at least 1", "max_delay 500ms"]),
    ];
    let mut bad = Vec::new();
    for (text, words) in mistakes {
        let complaint = complaint::<RetryConfig>(text);
        println!("--- {}\n{complaint}\n", text.replace('\n', " / "));
        assert!(!complaint.contains(" = "), "no attribute is written in a file: {complaint}");
        for word in *words {
            if !complaint.contains(word) {
                bad.push(format!("--- {text}\n{complaint}\nlacks {word:?}"));
            }
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn a_bare_policy_has_no_matchers_and_says_so() {
    for text in ["retry_on: [network]", "on_failure: stop"] {
        let complaint = complaint::<Policy>(text);
        println!("--- {text}\n{complaint}\n");
        assert!(complaint.contains("not part of a bare policy"), "{complaint}");
    }
}

/// A message names the keys of the style in use, not those of another one.
#[test]
fn each_style_complains_of_its_own_keys() {
    for (text, key, not) in [
        ("retry_delay: 400.0", "retry_delay", "initial_delay"),
        ("retry_delay: 400.0", "(300s unless set)", "(30s unless set)"),
        ("retry_delay: -1.0", "-1", "initial_delay"),
        ("max_retrys: 3", "max_retries", "attempts"),
    ] {
        let complaint = complaint::<TaskStyle>(text);
        println!("--- task: {text}\n{complaint}\n");
        assert!(complaint.contains(key), "{complaint}");
        assert!(!complaint.contains(not), "{complaint}");
    }
    for (text, key) in [
        ("max_attempts: 0", "max_attempts"),
        ("attempts: 3", "max_attempts"),
        ("backoff: { exponential: { initial: 1s, multiplier: 0.5 } }", "multiplier"),
        ("backoff: { fixed: { delay: 60s } }\nmax_delay: 30s", "delay"),
        ("first_delay: 60s", "first_delay"),
    ] {
        let complaint = complaint::<WorkflowStyle>(text);
        println!("--- workflow: {text}\n{complaint}\n");
        assert!(complaint.contains(key), "{complaint}");
    }
}

#[test]
fn the_task_style_counts_retries_and_speaks_seconds() {
    let read = |text: &str| Policy::from(serde_saphyr::from_str::<TaskStyle>(text).unwrap());
    let policy = read("max_retries: 5\nretry_delay: 2.0\nmax_retry_delay: 60.0");
    assert_eq!(policy, Policy::new().attempts(6).initial_delay(secs(2)).max_delay(secs(60)));
    assert_eq!(read("max_retries: 0").get_attempts(), Attempts::Limited(1));
    assert_eq!(read("retry_delay: 0.5").get_initial_delay(), millis(500));
    assert_eq!(read("retry_delay: 0").wait(3), secs(0));
    assert_eq!(read("max_retries: 4294967295").get_attempts(), Attempts::Limited(u32::MAX));
}
