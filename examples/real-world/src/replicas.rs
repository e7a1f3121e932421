//! A read from replicas, of which one may be slow: another one is asked while the first has not
//! answered.

use std::time::Duration;

use retry_runtime::retry;

use crate::api_error::ApiError;
use crate::remote::Remote;

/// The replicas of a database.
#[derive(Debug)]
pub struct Replicas {
    /// Each with its own connection.
    pub all: Vec<Remote<String, ApiError>>,
    /// After how long the next one is asked.
    pub patience: Duration,
}

impl Replicas {
    /// Reads the value of a key.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = 2,
        initial_delay = "50ms",
        hedge = self.patience,
        retry_on = [transient],
        context = cx,
    )]
    pub async fn read(&self, key: &str) -> Result<String, ApiError> {
        let replica = (cx.number() - 1 + cx.hedge()) as usize % self.all.len();
        self.all[replica].call(format!("GET {key}")).await
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use tokio::select;
    use tokio::time::sleep;

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives, Hangs};
    use crate::remote::ms;

    impl Replicas {
        async fn read_by_hand(&self, key: &str) -> Result<String, ApiError> {
            let ask =
                |replica: usize| self.all[replica % self.all.len()].call(format!("GET {key}"));
            let mut attempt = 0;
            loop {
                let result = async {
                    let mut first = pin!(ask(attempt));
                    select! {
                        result = &mut first => return result,
                        () = sleep(self.patience) => {}
                    }
                    let mut second = pin!(ask(attempt + 1));
                    let (result, is_first) = select! {
                        result = &mut first => (result, true),
                        result = &mut second => (result, false),
                    };
                    match result {
                        Err(error) if error.is_transient() => {}
                        result => return result,
                    }
                    if is_first { second.await } else { first.await }
                };
                match result.await {
                    Err(error) if error.is_transient() && attempt == 0 => sleep(ms(50)).await,
                    result => return result,
                }
                attempt += 1;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_unresponsive_replica_costs_its_timeout_only() {
        let gives = |text: &str| Gives(text.to_owned());
        let busy = || Fails(ApiError::status(503));
        let scripts: [[&[Answer<_, _>]; 2]; 5] = [
            [&[gives("a")], &[]],
            [&[Hangs], &[gives("b")]],
            [&[busy()], &[gives("b")]],
            [&[busy()], &[busy()]],
            [&[Fails(ApiError::status(404))], &[]],
        ];
        for script in scripts {
            let trace = async |by_hand: bool| {
                let all = script.map(|script| Remote::new(script.to_vec())).into();
                let replicas = Replicas { all, patience: ms(200) };
                let result = if by_hand {
                    replicas.read_by_hand("key").await
                } else {
                    replicas.read("key").await
                };
                let logs: Vec<_> = replicas.all.iter().map(Remote::log).collect();
                (result, logs, replicas.all[0].now())
            };
            assert_eq!(trace(false).await, trace(true).await);
        }
    }
}
