use retry_runtime::Policy;

const HTTP: Policy = Policy::new().exponential(2.0);

fn main() {}
