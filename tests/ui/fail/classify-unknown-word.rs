use std::fmt;

use retry_runtime::Classify;

#[derive(Classify)]
enum Failure {
    #[classify(permanent)]
    NotFound,
    #[classify(server_eror)]
    Broken,
    #[classify(retryable)]
    Busy,
    #[classify(abort)]
    Full,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}
