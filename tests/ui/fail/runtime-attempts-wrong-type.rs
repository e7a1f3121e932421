use retry_runtime::retry;

struct Client {
    tries: String,
}

impl Client {
    #[retry(attempts = self.tries)]
    async fn fetch(&self) -> Result<String, String> {
        Ok(self.tries.clone())
    }
}

fn main() {}
