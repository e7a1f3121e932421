use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(attempts = 0, jitter = 2.0);

fn main() {}

// remains: `attempts = 1` never retries
