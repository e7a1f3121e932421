use retry_runtime::retry;

struct Request {
    body: String,
}

impl Request {
    fn build(self) -> String {
        self.body
    }

    #[retry(attempts = 3)]
    async fn send(self) -> Result<usize, String> {
        Ok(self.build().len())
    }

    #[retry(attempts = 3)]
    async fn upload(self) -> Result<usize, String> {
        Ok(self.body.into_bytes().len())
    }
}

fn main() {}
