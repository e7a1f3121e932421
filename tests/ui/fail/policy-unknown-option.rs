use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(attempts = 5, max_dealy = "30s");

fn main() {}
