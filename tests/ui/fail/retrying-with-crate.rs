use retry_runtime::{Policy, policy, retrying};

const HTTP: Policy = policy!(crate = retry_runtime, attempts = 3);

async fn connect() -> std::io::Result<()> {
    retrying!(name = "connect", crate = retry_runtime, async { Ok::<_, std::io::Error>(()) }).await
}

fn main() {}
