use std::fmt;

use retry_runtime::Classify;

#[derive(Classify)]
#[classify(status = 0)]
enum Failure {
    #[classify(network, network)]
    Lost,
    Refused,
    #[classify(transparent)]
    Empty,
    #[classify(crate = retry_runtime)]
    Renamed,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
