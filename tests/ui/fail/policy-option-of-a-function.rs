use retry_runtime::{Policy, policy};

const HTTP: Policy = policy!(attempts = 5, on_failure = continue);

fn main() {}
