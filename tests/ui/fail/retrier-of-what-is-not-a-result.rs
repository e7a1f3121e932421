use retry_runtime::{Policy, Retrier};

async fn fetch() -> u32 {
    7
}

fn main() {
    let _call = Retrier::new(Policy::new()).run(|| fetch());
}
