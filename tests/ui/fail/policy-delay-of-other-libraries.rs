use std::time::Duration;

use retry_runtime::Policy;

const HTTP: Policy = Policy::new().delay(Duration::from_secs(1)).max_delay(Duration::from_secs(5));

fn main() {}
