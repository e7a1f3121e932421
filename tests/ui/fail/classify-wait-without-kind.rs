use std::fmt;

use retry_runtime::Classify;

#[derive(Classify)]
enum Failure {
    #[classify(retry_after = wait)]
    Full { wait: std::time::Duration },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
