use retry_runtime::retry;

struct Client(Vec<u8>);

impl Client {
    #[retry]
    async fn fetch(self) -> Result<Vec<u8>, String> {
        Ok(self.0)
    }
}

fn main() {}
