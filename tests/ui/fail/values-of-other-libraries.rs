use retry_runtime::{Class, Reason, RetryError};
use retry_workflow::Workflow;

fn class() -> Class {
    Class::Network
}

fn reason(error: &RetryError<std::io::Error>) -> bool {
    match error.reason() {
        Reason::Exhausted => true,
        reason => reason == Reason::Timeout,
    }
}

fn workflow() -> Workflow {
    Workflow::new("import").retries(3)
}

fn main() {}
