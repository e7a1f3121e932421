use retry_runtime::{Policy, Retrier};

fn main() {
    let retrier = Retrier::new(Policy::new()).when(|_: &std::io::Error| true);
    let _ = retrier.run_sync(|| "seven".parse::<u32>());
}
