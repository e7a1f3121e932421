use retry_runtime::{BreakerConfig, Breakers};

static HOSTS: Breakers<String> = Breakers::new("hosts", BreakerConfig::new());

fn main() {}
