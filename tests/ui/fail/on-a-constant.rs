use retry_runtime::retry;

#[retry(attempts = 3)]
const LIMIT: u32 = 3;

#[retry(attempts = 3)]
static COUNT: u32 = 3;

fn main() {}
