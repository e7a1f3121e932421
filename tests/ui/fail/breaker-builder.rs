use retry_runtime::CircuitBreaker;

static DB: CircuitBreaker = CircuitBreaker::builder().failure_threshold(5).build();

fn main() {}
