//! A lock in a store that many processes share: a process that does not get it asks again, until
//! its patience runs out.

use std::time::Duration;

use retry_runtime::retry;

use crate::remote::Remote;

/// The lock, held until this version of it is released.
#[derive(Clone, Debug, PartialEq)]
pub struct Lease(pub u64);

/// Takes the lock, or returns `None` if others hold it until `patience` runs out.
#[retry(attempts = unlimited, backoff = fixed, initial_delay = "250ms", max_elapsed = patience)]
pub async fn acquire(remote: &Remote<Lease, ()>, owner: &str, patience: Duration) -> Option<Lease> {
    remote.call(format!("SET lock {owner} NX")).await.ok()
}

#[cfg(test)]
mod tests {
    use tokio::time::{Instant, sleep};

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    async fn acquire_by_hand(
        remote: &Remote<Lease, ()>,
        owner: &str,
        patience: Duration,
    ) -> Option<Lease> {
        let began = Instant::now();
        loop {
            if let Ok(lease) = remote.call(format!("SET lock {owner} NX")).await {
                return Some(lease);
            }
            if began.elapsed() + ms(250) > patience {
                return None;
            }
            sleep(ms(250)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn polls_until_it_has_the_lease_or_the_time_is_up() {
        let scripts: [(&[Answer<_, _>], &[u128]); 3] = [
            (&[Gives(Lease(7))], &[0]),
            (&[Fails(()), Fails(()), Gives(Lease(7))], &[0, 250, 500]),
            (&[const { Fails(()) }; 5], &[0, 250, 500, 750, 1_000]),
        ];
        for (script, times) in scripts {
            let trace = async |by_hand: bool| {
                let remote = Remote::new(script.to_vec());
                let lease = if by_hand {
                    acquire_by_hand(&remote, "ada", ms(1_000)).await
                } else {
                    acquire(&remote, "ada", ms(1_000)).await
                };
                (lease, remote.times(), remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, times);
            assert_eq!(annotated, trace(true).await);
        }
    }
}
