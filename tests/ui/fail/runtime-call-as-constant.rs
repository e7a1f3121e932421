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

#[retry(attempts = std::env::var("ATTEMPTS").unwrap().parse::<u32>().unwrap())]
async fn by_environment_with_type() -> io::Result<()> {
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

struct Limits(u32);

impl Limits {
    const fn read(&self) -> u32 {
        self.0
    }
}

const LIMITS: Limits = Limits(3);

// No error: the method is a constant one.
#[retry(attempts = LIMITS.read())]
async fn by_constant() -> io::Result<()> {
    Ok(())
}

fn main() {}
