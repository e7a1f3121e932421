use std::io;

use retry_runtime::{Policy, policy, retry};

struct Client;

impl Client {
    const HTTP: Policy = policy!(timeout = "2s");

    #[retry(policy = Self::HTTP)]
    fn fetch(&self) -> Result<u32, io::Error> {
        Ok(7)
    }
}

fn main() {
    let _ = Client.fetch();
}
