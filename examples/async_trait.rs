//! Trait methods. A native `async fn` in a trait takes the attribute like any function; so does one
//! with `#[async_trait]`, for `dyn`, with the attributes in either order.

use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use retry_runtime::retry;

#[async_trait]
trait Storage: Send + Sync {
    async fn load(&self, key: &str) -> Result<String, String>;

    /// A default method may be retried too.
    #[retry(initial_delay = "10ms")]
    async fn load_twice(&self, key: &str) -> Result<String, String> {
        Ok(format!("{} and {}", self.load(key).await?, self.load(key).await?))
    }
}

/// Fails on every other call.
#[derive(Default)]
struct Disk {
    calls: AtomicU32,
}

#[async_trait]
impl Storage for Disk {
    #[retry(attempts = 2, initial_delay = "10ms", on_retry = |event| println!("{event}"))]
    async fn load(&self, key: &str) -> Result<String, String> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        if call % 2 == 1 {
            Err("disk is busy".to_owned())
        } else {
            Ok(format!("{key} (call {call})"))
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let storage: Box<dyn Storage> = Box::new(Disk::default());
    println!("load:       {:?}", storage.load("a").await);
    println!("load_twice: {:?}", storage.load_twice("b").await);
}
