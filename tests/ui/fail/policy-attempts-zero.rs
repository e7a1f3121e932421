use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(attempts = 0);

fn main() {}
