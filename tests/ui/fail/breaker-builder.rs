use retry_runtime::CircuitBreaker;

static DB: CircuitBreaker = CircuitBreaker::builder().failure_threshold(5).build();

static CACHE: CircuitBreaker = CircuitBreaker::default();

fn main() {}
