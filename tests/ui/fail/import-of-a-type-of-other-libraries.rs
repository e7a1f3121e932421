use retry_runtime::ExponentialBackoff;

fn backoff() -> ExponentialBackoff {
    ExponentialBackoff
}

fn main() {}
