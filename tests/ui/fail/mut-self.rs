//! A change of `self` by value would be left to the next attempt.
use retry_runtime::retry;

struct Request {
    signatures: u32,
}

impl Request {
    #[retry]
    async fn sent(mut self) -> Result<u32, String> {
        self.signatures += 1;
        Ok(self.signatures)
    }

    #[retry]
    fn boxed(mut self: Box<Self>) -> Result<u32, String> {
        self.signatures += 1;
        Ok(self.signatures)
    }

    #[retry]
    async fn consumed(mut self) -> Result<u32, String> {
        self.signatures += 1;
        send(self).await
    }

    #[retry(carry(self))]
    async fn carried(self) -> Result<u32, String> {
        Ok(self.signatures)
    }
}

async fn send(request: Request) -> Result<u32, String> {
    Ok(request.signatures)
}

fn main() {}
