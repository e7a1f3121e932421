use std::fmt;

use retry_runtime::Classify;

#[derive(Classify)]
#[classify(with = Self::is_transient)]
struct Failure;

impl Failure {
    fn is_transient(&self) -> bool {
        true
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
