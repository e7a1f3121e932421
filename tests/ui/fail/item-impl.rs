use retry_runtime::retry;

struct Client;

#[retry]
impl Client {
    async fn fetch(&self) -> Result<u32, String> {
        Ok(7)
    }
}

fn main() {}
