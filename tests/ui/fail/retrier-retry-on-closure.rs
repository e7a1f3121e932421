use std::io;

use retry_runtime::{Policy, Retrier};

fn main() {
    let _ = Retrier::new(Policy::new()).retry_on(|error: &io::Error| error.kind() == io::ErrorKind::TimedOut);
}
