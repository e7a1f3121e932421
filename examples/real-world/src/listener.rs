//! A reconnect loop: a listener that goes on forever, whatever happens to its connection, unless
//! permission is denied. `&mut self` holds the connection.

use std::io::ErrorKind;

use retry_runtime::retry;

use crate::remote::Remote;

/// Receives the notifications of a database.
#[derive(Debug)]
pub struct Listener {
    /// The database.
    pub remote: Remote<String, ErrorKind>,
    /// `true` if there is a connection that is listening.
    pub is_connected: bool,
}

impl Listener {
    /// Returns the next notification, however long it takes.
    ///
    /// # Errors
    /// The database does not let this user listen.
    #[retry(
        attempts = unlimited,
        budget = unlimited,
        initial_delay = "500ms",
        max_delay = "5s",
        abort_on = [matches(ErrorKind::PermissionDenied)],
    )]
    pub async fn next(&mut self) -> Result<String, ErrorKind> {
        if !self.is_connected {
            self.remote.call("LISTEN orders").await?;
            self.is_connected = true;
        }
        self.remote.call("receive").await.inspect_err(|_| self.is_connected = false)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep;

    use super::*;
    use crate::remote::Answer::{Fails, Gives};
    use crate::remote::ms;

    impl Listener {
        async fn next_by_hand(&mut self) -> Result<String, ErrorKind> {
            let mut backoff = ms(500);
            loop {
                let result = async {
                    if !self.is_connected {
                        self.remote.call("LISTEN orders").await?;
                        self.is_connected = true;
                    }
                    self.remote.call("receive").await
                };
                match result.await {
                    Ok(notification) => return Ok(notification),
                    Err(error) => {
                        self.is_connected = false;
                        if error == ErrorKind::PermissionDenied {
                            return Err(error);
                        }
                    }
                }
                sleep(backoff).await;
                backoff = (backoff * 2).min(ms(5_000));
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn reconnects_without_limit_and_resets_the_backoff_after_a_notification() {
        let gives = |text: &str| Gives(text.to_owned());
        let lost = || Fails(ErrorKind::ConnectionReset);
        let refused = || Fails(ErrorKind::ConnectionRefused);
        let mut outage = vec![gives("listening"), gives("one"), gives("two"), lost()];
        outage.extend(std::iter::repeat_with(refused).take(30));
        outage.extend([gives("listening"), gives("three"), lost()]);
        outage.push(Fails(ErrorKind::PermissionDenied));

        let trace = async |by_hand: bool| {
            let remote = Remote::new(outage.clone());
            let mut listener = Listener { remote, is_connected: false };
            let mut heard = Vec::new();
            loop {
                let next =
                    if by_hand { listener.next_by_hand().await } else { listener.next().await };
                let is_end = next.is_err();
                heard.push(next);
                if is_end {
                    return (heard, listener.remote.log(), listener.remote.now());
                }
            }
        };
        let annotated = trace(false).await;
        let heard: [Result<_, _>; 4] =
            [Ok("one"), Ok("two"), Ok("three"), Err(ErrorKind::PermissionDenied)];
        assert_eq!(annotated.0, heard.map(|next| next.map(str::to_owned)));
        // 500 ms, 1 s, 2 s and 4 s, then 5 s 27 times; and 500 ms after the next loss.
        assert_eq!(annotated.2, 7_500 + 27 * 5_000 + 500);
        assert_eq!(annotated, trace(true).await);
    }
}
