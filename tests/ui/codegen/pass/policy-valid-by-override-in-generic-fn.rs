use retry_runtime::{Policy, policy, retry};

const HTTP: Policy = policy!(attempts = 5, initial_delay = "10s");

struct Client<const ATTEMPTS: u32>;

impl<const ATTEMPTS: u32> Client<ATTEMPTS> {
    const LONGEST: std::time::Duration = std::time::Duration::from_secs(15);

    #[retry(policy = HTTP, max_delay = Self::LONGEST)]
    async fn fetch(&self) -> Result<u32, String> {
        Ok(ATTEMPTS)
    }
}

fn main() {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let answer = std::pin::pin!(Client::<3>.fetch()).poll(&mut context);
    assert_eq!(answer, std::task::Poll::Ready(Ok(3)));
}
