use retry_runtime::{Policy, Retrier};

fn load() -> Result<u32, String> {
    Ok(7)
}

async fn seven() -> u32 {
    let retrier = Retrier::new(Policy::new());
    retrier.run(|| load()).await.unwrap_or_default()
}

fn main() {}
