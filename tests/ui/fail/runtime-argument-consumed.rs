use retry_runtime::{Policy, retry};

struct Config {
    retry: Policy,
}

#[retry(policy = config.retry)]
async fn send(config: Config) -> Result<u32, String> {
    consume(config).await
}

async fn consume(_config: Config) -> Result<u32, String> {
    Ok(7)
}

fn main() {}
