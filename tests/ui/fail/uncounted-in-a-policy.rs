use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(deadline = "1h", uncounted = [rate_limit]);

fn main() {}
