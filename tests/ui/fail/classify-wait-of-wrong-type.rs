use std::fmt;

use retry_runtime::Classify;

#[derive(Classify)]
enum Failure {
    #[classify(rate_limit, retry_after = 0)]
    Full(u64),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
