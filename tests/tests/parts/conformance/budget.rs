//! The shared cases of `tests/data/budget.json`: a budget bounds the sum of the
//! waits, not the time inside the calls.

use std::time::Duration;

use retry_runtime::{Policy, Retrier};
use serde::Deserialize;
use tokio::time::{Instant, sleep};

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
    policy: Policy,
    #[serde(default)]
    call_takes_ms: u64,
    delays_ms: Vec<u64>,
    calls: u32,
    reason: String,
}

/// All cases: losing one must not go unnoticed.
fn cases() -> Vec<Case> {
    let Cases { cases, .. } =
        serde_json::from_str(include_str!("../../../data/budget.json")).unwrap();
    assert_eq!(cases.len(), 5, "the shared file has this many cases");
    cases
}

impl Case {
    fn delays(&self) -> Vec<Duration> {
        self.delays_ms.iter().copied().map(Duration::from_millis).collect()
    }
}

#[test]
fn the_delays_within_the_budget_match_every_shared_case() {
    for case in cases() {
        let budget = case.policy.get_budget().expect("a budget");
        let delays = case.delays();
        let total: Duration = delays.iter().sum();
        assert!(total <= budget, "{}", case.name);
        let waits: Vec<Duration> = (1..case.calls).map(|n| case.policy.wait(n)).collect();
        assert_eq!(waits, delays, "{}", case.name);
        let next = total + case.policy.wait(case.calls);
        // Attempts are checked first: if they end a call, the budget does not matter.
        let reason = match (case.policy.allows_after(case.calls), next > budget) {
            (false, _) => "attempts",
            (true, true) => "budget",
            (true, false) => "none",
        };
        assert_eq!(reason, case.reason, "{}", case.name);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_as_in_every_shared_case() {
    for case in cases() {
        let takes = Duration::from_millis(case.call_takes_ms);
        let mut calls = Vec::new();
        let error = Retrier::new(case.policy)
            .run(|| {
                calls.push(Instant::now());
                async move {
                    sleep(takes).await;
                    Err::<(), _>("down")
                }
            })
            .await
            .unwrap_err();
        let waits: Vec<Duration> =
            calls.windows(2).map(|two| (two[1] - two[0]).saturating_sub(takes)).collect();
        assert_eq!(waits, case.delays(), "{}", case.name);
        assert_eq!(error.attempts(), case.calls, "{}", case.name);
        assert_eq!(calls.len(), usize::try_from(case.calls).unwrap(), "{}", case.name);
        assert_eq!(error.reason().as_str(), case.reason, "{}", case.name);
        assert_eq!(error.waited(), case.delays().iter().sum(), "{}", case.name);
    }
}
