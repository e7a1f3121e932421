//! A client of many hosts: each has its own circuit breaker, so that hosts that are down are left
//! alone without affecting the others.

use retry_runtime::{Breakers, retry};

use crate::api_error::ApiError;
use crate::remote::Remote;

/// Fetches pages of many hosts.
#[derive(Debug)]
pub struct Crawler {
    /// The hosts.
    pub remote: Remote<String, ApiError>,
    /// A breaker for each host.
    pub hosts: Breakers<String>,
}

impl Crawler {
    /// Returns a page.
    ///
    /// # Errors
    /// The last failure, or that the host's breaker is open.
    #[retry(
        initial_delay = "100ms",
        retry_on = [network, server_error],
        breaker = self.hosts.of(host),
    )]
    pub async fn fetch(&self, host: &str, path: &str) -> Result<String, ApiError> {
        self.remote.call(format!("GET {host}{path}")).await
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;
    use std::sync::Mutex;

    use retry_runtime::{BreakerConfig, Interrupted};
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::remote::Answer::{Fails, Gives};
    use crate::remote::ms;

    const FIVE_TIMES: BreakerConfig =
        BreakerConfig::new().failure_threshold(5).success_threshold(1).timeout(ms(30_000));

    #[derive(Default)]
    struct Host {
        failures: u32,
        opened: Option<Instant>,
        probing: bool,
    }

    struct ByHand {
        remote: Remote<String, ApiError>,
        hosts: Mutex<HashMap<String, Host>>,
    }

    impl ByHand {
        async fn fetch_by_hand(&self, host: &str, path: &str) -> Result<String, Option<ApiError>> {
            let mut last = None;
            let mut backoff = ms(100);
            for attempt in 1.. {
                {
                    let mut hosts = self.hosts.lock().expect("nobody panics");
                    let state = hosts.entry(host.to_owned()).or_default();
                    if let Some(opened) = state.opened {
                        if state.probing || opened.elapsed() < ms(30_000) {
                            return Err(last);
                        }
                        state.probing = true;
                    }
                }
                let result = self.remote.call(format!("GET {host}{path}")).await;
                let fails = match &result {
                    Err(ApiError::Connection(_)) => true,
                    Err(ApiError::Status { code, .. }) => *code >= 500,
                    _ => false,
                };
                let is_open = {
                    let mut hosts = self.hosts.lock().expect("nobody panics");
                    let state = hosts.entry(host.to_owned()).or_default();
                    if fails {
                        state.failures += 1;
                        if state.failures >= 5 || state.probing {
                            state.opened = Some(Instant::now());
                        }
                    } else {
                        *state = Host::default();
                    }
                    state.probing = false;
                    state.opened.is_some()
                };
                match result {
                    Ok(page) => return Ok(page),
                    Err(error) if !fails || is_open || attempt == 3 => return Err(Some(error)),
                    Err(error) => last = Some(error),
                }
                sleep(backoff).await;
                backoff *= 2;
            }
            unreachable!("the last attempt returns")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_host_is_not_called_and_others_are() {
        let fails = || Fails(ApiError::status(503));
        let page = || Gives("page".to_owned());
        let script = || {
            Remote::new(vec![
                // down: three failures, two more open its breaker; the third call is rejected.
                fails(),
                fails(),
                fails(),
                fails(),
                fails(),
                // up
                page(),
                Fails(ApiError::status(404)),
                // down, 30 s later: a probe that fails, a rejection, a probe that closes the
                // breaker.
                fails(),
                page(),
                page(),
            ])
        };
        let calls = [
            (0, "down"),
            (0, "down"),
            (0, "down"),
            (0, "up"),
            (0, "up"),
            (30_000, "down"),
            (0, "down"),
            (30_000, "down"),
            (0, "down"),
        ];

        let hosts = Breakers::new("hosts", FIVE_TIMES, 1_000);
        let crawler = Crawler { remote: script(), hosts };
        let mut annotated = Vec::new();
        for (pause, host) in calls {
            sleep(ms(pause)).await;
            let refused = |error| match error {
                ApiError::Interrupted(Interrupted::CircuitOpen { .. }) => None,
                error => Some(error),
            };
            annotated.push(crawler.fetch(host, "/").await.map_err(refused));
        }
        assert_eq!(
            crawler.remote.times(),
            [0, 100, 300, 300, 400, 400, 400, 30_400, 60_400, 60_400]
        );

        let by_hand = ByHand { remote: script(), hosts: Mutex::default() };
        let mut looped = Vec::new();
        for (pause, host) in calls {
            sleep(ms(pause)).await;
            looped.push(by_hand.fetch_by_hand(host, "/").await);
        }
        assert_eq!(annotated, looped);
        assert_eq!(crawler.remote.log(), by_hand.remote.log());
    }
}
