use retry_runtime::retry;

use async_trait::async_trait;

struct Client;

#[async_trait]
trait Sender {
    async fn send(&self, body: Vec<u8>) -> Result<Vec<u8>, String>;
}

#[async_trait]
impl Sender for Client {
    #[retry]
    async fn send(&self, body: Vec<u8>) -> Result<Vec<u8>, String> {
        Ok(body)
    }
}

fn main() {}
