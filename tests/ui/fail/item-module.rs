use retry_runtime::retry;

#[retry]
mod client {}

fn main() {}
