//! An upload in parts: it is begun once, each part is repeated by itself, and so is its completion. A
//! block repeats a step of a function, where the attribute would need a function for each step.

use retry_runtime::{Policy, policy, retrying};

use crate::api_error::ApiError;
use crate::remote::Remote;

const STEP: Policy = policy!(attempts = 4, initial_delay = "100ms", max_delay = "1s");

/// A bucket behind HTTP.
#[derive(Debug)]
pub struct Bucket {
    /// The service to call.
    pub remote: Remote<String, ApiError>,
}

impl Bucket {
    /// Stores an object, and returns its version.
    ///
    /// # Errors
    /// The last failure of a step.
    pub async fn upload(&self, key: &str, parts: &[&str]) -> Result<String, ApiError> {
        let upload = self.remote.call(format!("BEGIN {key}")).await?;
        let mut tags = Vec::with_capacity(parts.len());
        for (number, part) in parts.iter().enumerate() {
            let tag =
                retrying!(name = "bucket.part", policy = STEP, retry_on = [transient], async {
                    self.remote.call(format!("PUT {upload}/{number}: {part}")).await
                });
            tags.push(tag.await?);
        }
        retrying!(name = "bucket.complete", policy = STEP, retry_on = [transient], async {
            self.remote.call(format!("COMPLETE {upload}: {}", tags.join(" "))).await
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use retry_runtime::retry;
    use tokio::time::sleep;

    use super::*;
    use crate::remote::Answer::{self, Fails, Gives};
    use crate::remote::ms;

    /// The same with a function for each step.
    impl Bucket {
        async fn upload_by_functions(&self, key: &str, parts: &[&str]) -> Result<String, ApiError> {
            let upload = self.remote.call(format!("BEGIN {key}")).await?;
            let mut tags = Vec::with_capacity(parts.len());
            for (number, part) in parts.iter().enumerate() {
                tags.push(self.put(&upload, number, part).await?);
            }
            self.complete(&upload, &tags).await
        }

        #[retry(policy = STEP, retry_on = [transient])]
        async fn put(&self, upload: &str, number: usize, part: &str) -> Result<String, ApiError> {
            self.remote.call(format!("PUT {upload}/{number}: {part}")).await
        }

        #[retry(policy = STEP, retry_on = [transient])]
        async fn complete(&self, upload: &str, tags: &[String]) -> Result<String, ApiError> {
            self.remote.call(format!("COMPLETE {upload}: {}", tags.join(" "))).await
        }

        async fn upload_by_hand(&self, key: &str, parts: &[&str]) -> Result<String, ApiError> {
            let upload = self.remote.call(format!("BEGIN {key}")).await?;
            let mut tags = Vec::with_capacity(parts.len());
            for (number, part) in parts.iter().enumerate() {
                let request = format!("PUT {upload}/{number}: {part}");
                tags.push(self.call_by_hand(&request).await?);
            }
            self.call_by_hand(&format!("COMPLETE {upload}: {}", tags.join(" "))).await
        }

        async fn call_by_hand(&self, request: &str) -> Result<String, ApiError> {
            let mut backoff = ms(100);
            for _ in 0..3 {
                match self.remote.call(request).await {
                    Err(error) if error.is_transient() => sleep(backoff).await,
                    result => return result,
                }
                backoff = (backoff * 2).min(ms(1_000));
            }
            self.remote.call(request).await
        }
    }

    #[tokio::test(start_paused = true)]
    async fn each_step_is_repeated_by_itself_and_the_upload_is_begun_once() {
        let gives = |text: &str| Gives(text.to_owned());
        let reset = || Fails(ApiError::Connection(ErrorKind::ConnectionReset));
        let scripts: [(&[Answer<_, _>], usize); 4] = [
            (&[gives("u"), gives("a"), gives("b"), gives("v1")], 0),
            (&[gives("u"), reset(), gives("a"), gives("b"), reset(), reset(), gives("v1")], 400),
            (&[gives("u"), gives("a"), reset(), reset(), reset(), reset()], 700),
            (&[gives("u"), gives("a"), Fails(ApiError::status(403))], 0),
        ];
        for (script, waited) in scripts {
            let trace = async |how: u32| {
                let bucket = Bucket { remote: Remote::new(script.to_vec()) };
                let parts = ["one", "two"];
                let result = match how {
                    0 => bucket.upload("key", &parts).await,
                    1 => bucket.upload_by_functions("key", &parts).await,
                    _ => bucket.upload_by_hand("key", &parts).await,
                };
                (result, bucket.remote.log())
            };
            let by_blocks = trace(0).await;
            assert_eq!(by_blocks.1.last().map(|(at, _)| *at as usize), Some(waited));
            let begun = by_blocks.1.iter().filter(|(_, request)| request.starts_with("BEGIN"));
            assert_eq!(begun.count(), 1);
            assert_eq!(by_blocks, trace(1).await);
            assert_eq!(by_blocks, trace(2).await);
        }
    }
}
