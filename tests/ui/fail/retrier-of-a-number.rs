use retry_runtime::Retrier;

fn retrier() -> Retrier {
    Retrier::new(5)
}

fn main() {}
