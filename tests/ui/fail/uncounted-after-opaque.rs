use retry_runtime::{Class, Policy, Retrier};

fn main() {
    let retrier = Retrier::new(Policy::new()).opaque().uncounted(Class::RATE_LIMIT);
    let _ = retrier.run_sync(|| Err::<(), u16>(429));
}
