use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(attempts = 5, history = 5);

fn main() {}
