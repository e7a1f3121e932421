//! Valid, unless the environment asks for the mistake.
use std::time::Duration;

use retry_runtime::{Policy, policy, retry};

const HTTP: Policy = policy!(attempts = 5, initial_delay = "10s");

struct Client<const ATTEMPTS: u32>;

impl<const ATTEMPTS: u32> Client<ATTEMPTS> {
    const LONGEST: Duration =
        Duration::from_secs(if option_env!("RETRY_TEST_MISTAKE").is_some() { 5 } else { 15 });

    #[retry(policy = HTTP, max_delay = Self::LONGEST)]
    async fn fetch(&self) -> Result<u32, String> {
        Ok(ATTEMPTS)
    }
}

fn main() {
    // Const blocks in generic code are evaluated for code that is run, and only there.
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let _ = std::pin::pin!(Client::<3>.fetch()).poll(&mut context);
}
