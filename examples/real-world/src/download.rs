//! A buffer that the caller lends: a download that resumes where it was interrupted.

use std::io;

use retry_runtime::retry;

use crate::remote::Remote;

/// Reads the next piece of a file into a buffer, and returns its length: 0 at the end.
///
/// # Errors
/// The last failure.
#[retry(attempts = 4, initial_delay = "200ms", max_delay = "500ms", retry_on = [network])]
pub async fn fill(
    remote: &Remote<Vec<u8>, io::ErrorKind>,
    path: &str,
    buffer: &mut Vec<u8>,
) -> io::Result<usize> {
    let piece = remote.call(format!("GET {path} from {}", buffer.len())).await?;
    buffer.extend_from_slice(&piece);
    Ok(piece.len())
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use tokio::time::sleep;

    use super::*;
    use crate::remote::Answer::{Fails, Gives};
    use crate::remote::ms;

    async fn fill_by_hand(
        remote: &Remote<Vec<u8>, ErrorKind>,
        path: &str,
        buffer: &mut Vec<u8>,
    ) -> io::Result<usize> {
        let mut backoff = ms(200);
        let mut attempt = 1;
        loop {
            match remote.call(format!("GET {path} from {}", buffer.len())).await {
                Ok(piece) => {
                    buffer.extend_from_slice(&piece);
                    return Ok(piece.len());
                }
                Err(ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted) if attempt < 4 => {}
                Err(error) => return Err(error.into()),
            }
            sleep(backoff).await;
            backoff = (backoff * 2).min(ms(500));
            attempt += 1;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn it_goes_on_where_it_was_cut() {
        let cut = || Fails(ErrorKind::ConnectionReset);
        for end in [Gives(vec![]), Fails(ErrorKind::NotFound)] {
            let trace = async |by_hand: bool| {
                let script =
                    [Gives(vec![1, 2]), cut(), Gives(vec![3]), cut(), cut(), cut(), end.clone()];
                let remote = Remote::new(script);
                let mut buffer = Vec::new();
                let result = loop {
                    let filled = if by_hand {
                        fill_by_hand(&remote, "film", &mut buffer).await
                    } else {
                        fill(&remote, "film", &mut buffer).await
                    };
                    match filled {
                        Ok(1..) => {}
                        end => break end.map_err(|error| error.kind()),
                    }
                };
                (result, buffer, remote.log(), remote.now())
            };
            let annotated = trace(false).await;
            assert_eq!(annotated.1, [1, 2, 3]);
            assert_eq!(annotated.2.last(), Some(&(1_300, "GET film from 3".to_owned())));
            assert_eq!(annotated, trace(true).await);
        }
    }
}
