use retry_runtime::{BreakerConfig, Breakers, retry};

static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 1_000);

#[retry(breaker = HOSTS.get(host))]
async fn fetch(host: &str) -> std::io::Result<usize> {
    Ok(host.len())
}

fn main() {}
