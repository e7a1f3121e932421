use std::fmt;

use retry_runtime::Classify;

#[derive(Classify)]
enum Failure {
    #[classify(status = code)]
    Refused { code: String },
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed")
    }
}

fn main() {}

// cured 8: #[classify(status = code)] => {}
// cured 8: => impl Failure { fn judge(&self) -> Class { Class::NETWORK } }
