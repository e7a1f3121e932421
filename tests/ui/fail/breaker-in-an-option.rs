use std::io;
use std::sync::{Arc, Mutex};

use retry_runtime::{CircuitBreaker, retry};

struct Client {
    optional: Option<CircuitBreaker>,
    locked: Arc<Mutex<CircuitBreaker>>,
}

impl Client {
    #[retry(attempts = 3, breaker = self.optional)]
    async fn load(&self) -> io::Result<u32> {
        Ok(7)
    }

    #[retry(attempts = 3, breaker = self.locked)]
    async fn save(&self) -> io::Result<u32> {
        Ok(7)
    }
}

fn main() {}
