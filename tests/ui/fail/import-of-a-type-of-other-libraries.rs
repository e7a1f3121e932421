use retry_runtime::ExponentialBackoff;

fn backoff() -> ExponentialBackoff {
    ExponentialBackoff
}

mod attribute {
    use retry_runtime::retryable;
}

mod quota {
    use retry_runtime::RetryBudget;
}

mod call {
    use retry_runtime::Retryable;
}

fn main() {}
