use std::sync::Arc;

use retry_runtime::{RetryError, retry};
use tokio::sync::Notify;

struct Connection {
    stop: Arc<Notify>,
    tries: u32,
}

impl Connection {
    #[retry(attempts = 3, cancel = self.stop.notified())]
    async fn connect(&mut self) -> Result<(), RetryError<String>> {
        self.dial().await
    }

    async fn dial(&mut self) -> Result<(), String> {
        self.tries += 1;
        Err("nobody is there".to_owned())
    }
}

fn main() {}
