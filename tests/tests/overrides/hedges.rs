//! Hedges: their delay, their number, and their end.

use std::future::Future;
use std::pin::Pin;
use std::sync::Mutex;
use std::time::Duration;

use retry_runtime::{Overrides, Policy, RetryError, report, retry, retrying, with_overrides};
use tokio::time::{Instant, sleep};

use crate::support::{alone, in_force, of, site, vars, wrong, yaml};

/// The times at which the attempts of a call began.
#[derive(Default)]
struct Began(Mutex<Vec<Instant>>);

impl Began {
    async fn attempt(&self, takes: Duration) -> Result<(), String> {
        self.0.lock().unwrap().push(Instant::now());
        sleep(takes).await;
        Ok(())
    }

    /// The milliseconds between them.
    fn gaps(&self) -> Vec<u128> {
        self.0.lock().unwrap().windows(2).map(|two| (two[1] - two[0]).as_millis()).collect()
    }
}

#[retry(attempts = 1, timeout = "2s", hedge = "200ms", name = "hedged.fixed")]
async fn fixed(began: &Began, takes: Duration) -> Result<(), RetryError<String>> {
    began.attempt(takes).await
}

#[retry(attempts = 1, timeout = "2s", hedge = p95, name = "hedged.percentile")]
async fn percentile(began: &Began, takes: Duration) -> Result<(), RetryError<String>> {
    began.attempt(takes).await
}

#[retry(attempts = N, timeout = "2s", hedge = p95, name = "hedged.generic")]
async fn generic<const N: u32>(began: &Began, takes: Duration) -> Result<(), RetryError<String>> {
    began.attempt(takes).await
}

#[retry(attempts = 1, timeout = "2s", hedge = after, name = "hedged.evaluated")]
async fn evaluated(
    began: &Began,
    takes: Duration,
    after: Duration,
) -> Result<(), RetryError<String>> {
    began.attempt(takes).await
}

#[retry(policy = *policy, timeout = "2s", hedge, name = "hedged.inherited")]
async fn inherited(
    began: &Began,
    takes: Duration,
    policy: &Policy,
) -> Result<(), RetryError<String>> {
    began.attempt(takes).await
}

#[retry(attempts = 1, timeout = "2s", hedge = unlimited, name = "hedged.never")]
async fn never(began: &Began) -> Result<(), RetryError<String>> {
    began.attempt(Duration::ZERO).await
}

#[retry(attempts = 1, timeout = limit, hedge = p95, name = "hedged.limited")]
async fn limited(
    began: &Began,
    takes: Duration,
    limit: Duration,
) -> Result<(), RetryError<String>> {
    began.attempt(takes).await
}

/// A function or a block whose attempts are hedged.
struct Hedged {
    name: &'static str,
    /// Makes a call whose attempts take this long.
    call: for<'a> fn(&'a Began, Duration) -> Call<'a>,
}

type Call<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

const AS_COMPILED: Duration = Duration::from_millis(200);
const JUST_IN_TIME: Duration = Duration::from_millis(190);

fn all_hedged() -> [Hedged; 6] {
    [
        Hedged {
            name: "hedged.fixed",
            call: |began, takes| Box::pin(async move { drop(fixed(began, takes).await) }),
        },
        Hedged {
            name: "hedged.percentile",
            call: |began, takes| Box::pin(async move { drop(percentile(began, takes).await) }),
        },
        Hedged {
            name: "hedged.generic",
            call: |began, takes| Box::pin(async move { drop(generic::<1>(began, takes).await) }),
        },
        Hedged {
            name: "hedged.evaluated",
            call: |began, takes| {
                Box::pin(async move { drop(evaluated(began, takes, AS_COMPILED).await) })
            },
        },
        Hedged {
            name: "hedged.inherited",
            call: |began, takes| {
                let policy = Policy::new().attempts(1).hedge(AS_COMPILED);
                Box::pin(async move { drop(inherited(began, takes, &policy).await) })
            },
        },
        Hedged {
            name: "hedged.block",
            call: |began, takes| {
                Box::pin(async move {
                    let call = retrying!(
                        name = "hedged.block",
                        attempts = 1,
                        timeout = "2s",
                        hedge = p95,
                        async || -> Result<(), RetryError<String>> { began.attempt(takes).await }
                    );
                    drop(call.await);
                })
            },
        },
    ]
}

impl Hedged {
    /// Makes calls that take so long that a percentile is that of a compiled delay.
    async fn warm_up(&self) {
        for _ in 0..1000 {
            (self.call)(&Began::default(), JUST_IN_TIME).await;
        }
    }

    /// The milliseconds between the attempts of a call that is not answered.
    async fn gaps(&self) -> Vec<u128> {
        let began = Began::default();
        (self.call)(&began, Duration::from_mins(1)).await;
        began.gaps()
    }

    /// Checks that its hedges are those of its source code.
    async fn assert_is_as_compiled(&self) {
        let gaps = self.gaps().await;
        let delay = AS_COMPILED.as_millis();
        let is_compiled = |gap: &u128| (delay - 10..delay + 20).contains(gap);
        assert!(gaps.len() == 1 && gaps.iter().all(is_compiled), "{}: {gaps:?}", self.name);
    }
}

#[test]
fn hedges_are_changed_and_ended_by_name_and_by_the_star() {
    alone(async {
        for hedged in all_hedged() {
            hedged.warm_up().await;
            hedged.assert_is_as_compiled().await;
            for target in [hedged.name, "*"] {
                of(target, "hedge", "50ms").apply();
                assert_eq!(hedged.gaps().await, [50], "{} by {target}", hedged.name);
                of(target, "hedge", "unlimited").apply();
                assert_eq!(hedged.gaps().await, [], "{} by {target}", hedged.name);
                of(target, "max_hedges", "3").apply();
                let gaps = hedged.gaps().await;
                assert_eq!(gaps.len(), 3, "{} by {target}: {gaps:?}", hedged.name);
                yaml(&format!("\"{target}\": {{ hedge: 50ms, max_hedges: 2 }}")).apply();
                assert_eq!(hedged.gaps().await, [50, 50], "{} by {target}", hedged.name);
                Overrides::clear();
                hedged.assert_is_as_compiled().await;
            }
        }
    });
}

#[test]
fn hedges_are_ended_for_a_part_of_the_program() {
    alone(async {
        let (stop, more) = (of("*", "hedge", "unlimited"), of("*", "max_hedges", "2"));
        for hedged in all_hedged() {
            hedged.warm_up().await;
            assert_eq!(with_overrides(&stop, hedged.gaps()).await, [], "{}", hedged.name);
            let gaps = with_overrides(&more, hedged.gaps()).await;
            assert_eq!(gaps.len(), 2, "{}: {gaps:?}", hedged.name);
            hedged.assert_is_as_compiled().await;
        }
    });
}

#[test]
fn hedges_are_ended_from_the_environment() {
    alone(async {
        for hedged in all_hedged() {
            hedged.warm_up().await;
            let name = hedged.name.to_uppercase().replace('.', "_");
            for variable in [format!("RETRY_{name}_HEDGE"), "RETRY_ALL_HEDGE".to_owned()] {
                vars([(&variable, "unlimited")]).unwrap().apply();
                assert_eq!(hedged.gaps().await, [], "{variable}");
                Overrides::clear();
                hedged.assert_is_as_compiled().await;
            }
        }
    });
}

#[test]
fn a_call_in_progress_keeps_its_hedges() {
    alone(async {
        for hedged in all_hedged() {
            hedged.warm_up().await;
            let stop = async {
                sleep(Duration::from_millis(1)).await;
                of("*", "hedge", "unlimited").apply();
            };
            let (gaps, ()) = tokio::join!(hedged.gaps(), stop);
            assert_eq!(gaps.len(), 1, "{}", hedged.name);
            assert_eq!(hedged.gaps().await, [], "{}", hedged.name);
            Overrides::clear();
        }
    });
}

#[test]
fn a_delay_beyond_the_timeout_of_a_call_is_not_replaced_by_the_percentile() {
    alone(async {
        let (short, long) = (Duration::from_millis(10), Duration::from_secs(1));
        for _ in 0..100 {
            limited(&Began::default(), short, long).await.unwrap();
        }
        of("hedged.limited", "hedge", "500ms").apply();
        for (limit, gaps) in [(long, vec![500]), (long / 4, vec![])] {
            let began = Began::default();
            limited(&began, 2 * long, limit).await.unwrap_err();
            assert_eq!(began.gaps(), gaps, "{limit:?}");
        }
    });
}

#[test]
fn the_report_shows_hedges_that_are_changed() {
    alone(async {
        let shown = |name: &str| {
            let report = report().to_string();
            report.lines().find(|line| line.starts_with(name)).unwrap().to_owned()
        };
        of("*", "hedge", "unlimited").apply();
        for name in ["hedged.fixed", "hedged.percentile", "hedged.block"] {
            assert!(in_force(name).ends_with("timeout 2s, no hedges"), "{}", in_force(name));
            assert!(shown(name).contains("no hedges (overridden)"), "{}", shown(name));
        }
        // These are not hedged, so nothing is changed.
        for name in ["hedged.never", "billing.fetch", "billing.pay"] {
            assert!(!site(name).is_overridden(), "{name}");
        }
        of("hedged.percentile", "max_hedges", "2").apply();
        assert!(in_force("hedged.percentile").ends_with("timeout 2s, at most 2 hedges"));
    });
}

#[test]
fn hedges_that_are_not_compiled_in_cannot_be_added() {
    let absent = "its #[retry] has no `hedge`, so the function contains no code that obeys one: \
                  write a `hedge` in the #[retry], or remove the key here";
    for name in ["hedged.never", "billing.fetch", "shop.generic"] {
        for (key, value) in [("hedge", "50ms"), ("max_hedges", "2")] {
            assert_eq!(wrong([(name, key, value)]), format!("`{name}`: {absent}"));
        }
    }
    assert_eq!(
        wrong([("hedged.percentile", "max_hedges", "0")]),
        "`hedged.percentile`: this is how many attempts may join one that does not answer, so it \
         must be at least 1: write 1, or `hedge: unlimited` for none"
    );
    assert_eq!(
        wrong([("hedged.percentile", "hedge", "3s")]),
        "`hedged.percentile`: `timeout` cuts off the attempt before a hedge joins it: lower \
         `hedge` or raise `timeout` (hedge 3s, timeout 2s)"
    );
}
