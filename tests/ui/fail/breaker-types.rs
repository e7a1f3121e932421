mod breaker_and_quota_exchanged {
    use retry_runtime::{
        BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry,
    };

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
    static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

    #[retry(breaker = OUTBOUND)]
    async fn fetch() -> Result<u32, RetryError<String>> {
        Ok(7)
    }

    #[retry(quota = DB)]
    async fn send() -> Result<u32, RetryError<String>> {
        Ok(7)
    }

    // cured 13: quota = DB => quota = OUTBOUND
}

mod breaker_associated_const {
    use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry};

    struct Client;

    impl Client {
        const BREAKER: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

        #[retry(breaker = Self::BREAKER)]
        async fn fetch(&self) -> Result<u32, RetryError<String>> {
            Ok(7)
        }
    }

    // cured 8/1: => {}
    // cured 8: Self::BREAKER => DB
}

mod breaker_call_of_an_async_function {
    use std::io;

    use retry_runtime::{BreakerConfig, CircuitBreaker};

    static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());

    async fn query() -> io::Result<u64> {
        Ok(7)
    }

    async fn count() -> io::Result<u64> {
        let rows = DB.call(|| query())?;
        Ok(rows)
    }

    fn mistake() {
        let _counting = count();
    }
}

mod breaker_created_at_each_call {
    use std::io;

    use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryQuota, retry};

    #[retry(breaker = CircuitBreaker::new("db", BreakerConfig::new()))]
    async fn fetch() -> io::Result<()> {
        Ok(())
    }

    #[retry(quota = RetryQuota::new("outbound", QuotaConfig::new()))]
    async fn send() -> io::Result<()> {
        Ok(())
    }

    #[retry(breaker = retry_runtime::CircuitBreaker::new("db", retry_runtime::BreakerConfig::new()))]
    async fn fetch_by_path() -> io::Result<()> {
        Ok(())
    }

    fn breaker() -> CircuitBreaker {
        CircuitBreaker::new("db", BreakerConfig::new())
    }

    #[retry(breaker = breaker())]
    async fn fetch_by_function() -> io::Result<()> {
        Ok(())
    }

    // cured 5/1: => {}
    // cured 5/1: CircuitBreaker::new("db", BreakerConfig::new()) => DB
    // cured 5/2: CircuitBreaker::new("db", BreakerConfig::new()) => DB
    // cured 10/1: RetryQuota::new("outbound", QuotaConfig::new()) => OUTBOUND
    // cured 10/2: => {}
    // cured 10/2: RetryQuota::new("outbound", QuotaConfig::new()) => OUTBOUND
    // cured 15: retry_runtime::CircuitBreaker::new("db", retry_runtime::BreakerConfig::new()) => DB
    // cured 24: breaker() => DB
}

mod breaker_in_an_option {
    use std::io;
    use std::sync::{Arc, Mutex};

    use retry_runtime::{CircuitBreaker, retry};

    struct Client {
        optional: Option<CircuitBreaker>,
        locked: Arc<Mutex<CircuitBreaker>>,
    }

    impl Client {
        #[retry(attempts = 3, breaker = self.optional)]
        async fn load(&self) -> io::Result<u32> {
            Ok(7)
        }

        #[retry(attempts = 3, breaker = self.locked)]
        async fn save(&self) -> io::Result<u32> {
            Ok(7)
        }
    }
}

mod breaker_is_a_family {
    use std::io;

    use retry_runtime::{BreakerConfig, Breakers, retry};

    static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 100);

    #[retry(breaker = HOSTS)]
    async fn fetch() -> io::Result<()> {
        Ok(())
    }
}

mod breaker_not_a_breaker {
    use retry_runtime::retry;

    static DB: u32 = 5;

    #[retry(breaker = DB)]
    async fn fetch() -> Result<u32, std::io::Error> {
        Ok(7)
    }
}

mod breakers_key_of_other_type {
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

    // cured 5: &shard => &key
    // cured 5: shard: u16 => key: String
    // cured 5: u16, RetryError => String, RetryError
    // cured 5: Ok(shard) => Ok(key.clone())
    // cured 10: &shard => shard
}

mod breakers_without_capacity {
    use retry_runtime::{BreakerConfig, Breakers};

    static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new());
}

mod quota_not_a_quota {
    use retry_runtime::retry;

    static OUTBOUND: u32 = 5;

    #[retry(quota = OUTBOUND)]
    async fn fetch() -> Result<u32, String> {
        Ok(7)
    }

    // cured 5: static OUTBOUND: u32 = 5; => {0}
}

mod breaker_in_a_variable {
    use retry_runtime::{BreakerConfig, CircuitBreaker, RetryError, retry, retrying};

    async fn page() -> std::io::Result<u32> {
        let breaker = CircuitBreaker::new("db", BreakerConfig::new());
        retrying!(name = "shop.page", breaker = breaker, async { Err(std::io::ErrorKind::Other.into()) }).await
    }

    #[retry(breaker = own)]
    async fn by_value(own: CircuitBreaker) -> Result<u32, RetryError<String>> {
        Ok(7)
    }

    // cured 5: by hand
    // cured 8: by hand
}

fn main() {}
