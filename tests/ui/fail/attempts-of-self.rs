use retry_runtime::retry;

struct Client {
    tries: u32,
}

impl Client {
    #[retry(attempts = self.tries)]
    async fn fetch(&self) -> Result<u32, String> {
        Ok(self.tries)
    }
}

fn main() {}
