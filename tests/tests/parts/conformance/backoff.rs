//! The shared cases of `tests/data/backoff.json`: the waits between calls, computed from the
//! backoff alone and measured in a call.

use std::time::Duration;

use retry_runtime::{Attempts, Policy, Reason, Retrier};
use retry_workflow::{ErrorPolicy, TaskKeys};
use serde::Deserialize;
use tokio::time::Instant;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    #[serde(rename = "note")]
    _note: String,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    policy: Option<Policy>,
    task: Option<TaskKeys>,
    workflow: Option<serde_json::Value>,
    delays_ms: Vec<u64>,
}

impl Case {
    fn policy(&self) -> Policy {
        match (self.policy, &self.task, &self.workflow) {
            (Some(policy), None, None) => policy,
            (None, Some(task), None) => task.policy().unwrap(),
            (None, None, Some(keys)) => {
                let file = serde_json::json!({ "retry_config": keys });
                *serde_json::from_value::<ErrorPolicy>(file).unwrap().get_retry_config()
            }
            _ => panic!("{}: one policy, in one style", self.name),
        }
    }

    fn delays(&self) -> Vec<Duration> {
        self.delays_ms.iter().copied().map(Duration::from_millis).collect()
    }
}

/// All cases: losing one must not go unnoticed.
fn cases() -> Vec<Case> {
    let Cases { cases, .. } =
        serde_json::from_str(include_str!("../../../data/backoff.json")).unwrap();
    assert_eq!(cases.len(), 20, "the shared file has this many cases");
    cases
}

#[test]
fn the_delays_of_every_shared_case_match() {
    for case in cases() {
        let policy = case.policy();
        let calls = u32::try_from(case.delays_ms.len()).unwrap() + 1;
        assert_eq!(policy.get_attempts(), Attempts::Limited(calls), "{}", case.name);
        let waits: Vec<Duration> = (1..calls).map(|n| policy.wait(n)).collect();
        assert_eq!(waits, case.delays(), "{}", case.name);
        let total: Duration = case.delays().iter().sum();
        assert_eq!(policy.longest_total_wait(), Some(total), "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_waits_as_in_every_shared_case() {
    for case in cases() {
        let mut calls = Vec::new();
        let error = Retrier::new(case.policy())
            .run(|| {
                calls.push(Instant::now());
                async { Err::<(), _>("down") }
            })
            .await
            .unwrap_err();
        let waits: Vec<Duration> = calls.windows(2).map(|two| two[1] - two[0]).collect();
        assert_eq!(waits, case.delays(), "{}", case.name);
        assert_eq!(error.reason(), Reason::Attempts, "{}", case.name);
        assert_eq!(error.waited(), case.delays().iter().sum(), "{}", case.name);
    }
}
