use std::fmt;

use retry_runtime::Classify;

#[derive(Classify)]
enum Failure {
    #[classify(never, network)]
    Lost,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
