use retry_runtime::Retrier;

fn retrier() -> Retrier {
    Retrier::builder().attempts(5).build()
}

fn main() {}
