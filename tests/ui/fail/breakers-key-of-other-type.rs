use retry_runtime::{BreakerConfig, Breakers, RetryError, retry};

static SHARDS: Breakers<String> = Breakers::new("shards", BreakerConfig::new(), 100);

#[retry(breaker = SHARDS.of(&shard))]
async fn by_number(shard: u16) -> Result<u16, RetryError<String>> {
    Ok(shard)
}

#[retry(breaker = SHARDS.of(&shard))]
async fn by_reference(shard: &str) -> Result<usize, RetryError<String>> {
    Ok(shard.len())
}

fn main() {}

// cured 5: &shard => &key
// cured 5: shard: u16 => key: String
// cured 5: u16, RetryError => String, RetryError
// cured 5: Ok(shard) => Ok(key.clone())
// cured 10: &shard => shard
