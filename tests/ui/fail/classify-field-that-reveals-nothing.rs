use std::fmt;

use retry_runtime::Classify;

struct Mute;

#[derive(Classify)]
enum Failure {
    #[classify(transparent)]
    Inner(Mute),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
