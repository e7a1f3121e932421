use std::io;
use std::sync::OnceLock;

use retry_runtime::{Policy, retry};

struct Config {
    attempts: u32,
    http: Policy,
}

static CONFIG: OnceLock<Config> = OnceLock::new();

#[retry(attempts = std::env::var("ATTEMPTS").unwrap().parse().unwrap())]
async fn by_environment() -> io::Result<()> {
    Ok(())
}

#[retry(attempts = CONFIG.get().unwrap().attempts)]
async fn by_configuration() -> io::Result<()> {
    Ok(())
}

#[retry(policy = CONFIG.get().unwrap().http)]
async fn by_policy() -> io::Result<()> {
    Ok(())
}

fn main() {}
