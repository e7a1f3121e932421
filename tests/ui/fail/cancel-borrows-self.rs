use retry_runtime::{RetryError, retry};

struct Stop;

impl Stop {
    async fn cancelled(&self) {}
}

struct Connection {
    stop: Stop,
    tries: u32,
}

impl Connection {
    #[retry(cancel = self.stop.cancelled())]
    async fn connect(&mut self) -> Result<(), RetryError<String>> {
        self.dial().await
    }

    async fn dial(&mut self) -> Result<(), String> {
        self.tries += 1;
        Err("nobody is there".to_owned())
    }
}

fn main() {}
