use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(backoff = exponential(base = f64::NAN));

fn main() {}
