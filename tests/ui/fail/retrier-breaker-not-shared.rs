use retry_runtime::{BreakerConfig, Breakers, CircuitBreaker, Policy, Retrier};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new(), 100);

fn by_value() -> Retrier {
    Retrier::new(Policy::new()).breaker(DB)
}

fn created_in_place() -> Retrier {
    Retrier::new(Policy::new()).breaker(CircuitBreaker::new("own", BreakerConfig::new()))
}

fn by_family() -> Retrier {
    Retrier::new(Policy::new()).breaker(&HOSTS)
}

fn as_a_quota() -> Retrier {
    Retrier::new(Policy::new()).quota(&DB)
}

fn main() {}
