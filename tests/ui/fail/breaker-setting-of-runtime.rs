use retry_runtime::retry;

struct Client {
    failures: u32,
}

impl Client {
    #[retry(breaker(failure_threshold = self.failures, timeout = "30s"))]
    async fn get(&self) -> Result<u32, std::io::Error> {
        Ok(1)
    }
}

fn main() {}

// cured 8: breaker(failure_threshold = self.failures, timeout = "30s") => {}
// cured 8: failures: u32 => breaker: CircuitBreaker
