use std::io;

use retry_runtime::{BreakerConfig, Breakers, retry};

static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 100);

#[retry(breaker = HOSTS)]
async fn fetch() -> io::Result<()> {
    Ok(())
}

fn main() {}
