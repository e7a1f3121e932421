//! `#[async_trait]` moves `mut` and patterns into the body.
use async_trait::async_trait;
use retry_runtime::retry;

#[async_trait]
trait Fetch {
    async fn text(&self, url: String) -> Result<String, String>;
    async fn parts(&mut self, parts: (String, Vec<u32>)) -> Result<usize, String>;
    async fn consume(self) -> Result<u32, String>;
}

struct Client(u32);

#[async_trait]
impl Fetch for Client {
    #[retry]
    async fn text(&self, mut url: String) -> Result<String, String> {
        url.push_str("&v=1");
        Ok(url.clone())
    }

    #[retry]
    async fn parts(&mut self, (name, mut ids): (String, Vec<u32>)) -> Result<usize, String> {
        ids.push(1);
        Ok(name.len() + ids.len())
    }

    #[retry]
    async fn consume(mut self) -> Result<u32, String> {
        self.0 += 1;
        Ok(self.0)
    }
}

fn main() {}
