//! Valid, unless the environment asks for the mistake.
use std::io;

use retry_runtime::{Policy, policy, retry};

struct Client;

impl Client {
    const HTTP: Policy = match option_env!("RETRY_TEST_MISTAKE") {
        Some(_) => policy!(timeout = "2s"),
        None => policy!(attempts = 2),
    };

    #[retry(policy = Self::HTTP)]
    fn fetch(&self) -> Result<u32, io::Error> {
        Ok(7)
    }
}

fn main() {
    let _ = Client.fetch();
}
