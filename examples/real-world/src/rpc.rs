//! A JSON-RPC client, whose errors are the codes and texts of many different servers, and whose
//! number of attempts is a `const` parameter.

use std::fmt::{self, Display};

use retry_runtime::retry;

use crate::remote::Remote;

/// The error that a server returns instead of a result.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The code, defined by JSON-RPC or by the server.
    pub code: i64,
    /// The server's message.
    pub message: String,
}

impl Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.code)
    }
}

impl std::error::Error for RpcError {}

/// A client that makes at most `MAX_ATTEMPTS` attempts.
#[derive(Debug)]
pub struct RpcClient<const MAX_ATTEMPTS: u32> {
    /// The service to call.
    pub remote: Remote<u64, RpcError>,
}

impl<const MAX_ATTEMPTS: u32> RpcClient<MAX_ATTEMPTS> {
    /// Returns the number of the latest block.
    ///
    /// # Errors
    /// The last failure.
    #[retry(
        attempts = MAX_ATTEMPTS,
        initial_delay = "250ms",
        max_delay = "4s",
        retry_on = [
            matches(RpcError { code: -32005 | 429, .. }),
            pattern("(?i)rate limit|too many requests|header not found"),
        ],
    )]
    pub async fn block_number(&self) -> Result<u64, RpcError> {
        self.remote.call("eth_blockNumber").await
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    impl<const MAX_ATTEMPTS: u32> RpcClient<MAX_ATTEMPTS> {
        async fn block_number_by_hand(&self) -> Result<u64, RpcError> {
            let mut backoff = ms(250);
            let mut attempt = 1;
            loop {
                let error = match self.remote.call("eth_blockNumber").await {
                    Ok(number) => return Ok(number),
                    Err(error) => error,
                };
                let text = error.message.to_lowercase();
                let passes = matches!(error.code, -32005 | 429)
                    || text.contains("rate limit")
                    || text.contains("too many requests")
                    || text.contains("header not found");
                if !passes || attempt == MAX_ATTEMPTS {
                    return Err(error);
                }
                sleep(backoff).await;
                backoff = (backoff * 2).min(ms(4_000));
                attempt += 1;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_reads_the_words_of_many_servers() {
        let fails = |code, message: &str| Fails(RpcError { code, message: message.to_owned() });
        let scripts: [(&[Answer<_, _>], &[u128]); 3] = [
            (&[fails(-32000, "Header not found"), Gives(7)], &[0, 250]),
            (&[fails(3, "execution reverted")], &[0]),
            (&[const { Fails(RpcError { code: 429, message: String::new() }) }; 3], &[0, 250, 750]),
        ];
        for (script, times) in scripts {
            let trace = async |by_hand: bool| {
                let client = RpcClient::<3> { remote: Remote::new(script.to_vec()) };
                let result = if by_hand {
                    client.block_number_by_hand().await
                } else {
                    client.block_number().await
                };
                (result, client.remote.times(), client.remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, times);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
