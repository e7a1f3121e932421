use retry_runtime::{Class, Classify, Policy, Retrier};

struct Busy;

impl std::fmt::Display for Busy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("busy")
    }
}

impl Classify for Busy {
    fn class(&self) -> Class {
        Class::SERVER_ERROR
    }
}

fn main() {
    let _retrier = Retrier::new(Policy::new()).when(|_: &Busy| true).classified();
}
