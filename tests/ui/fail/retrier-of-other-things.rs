use retry_runtime::{Policy, Retrier};

struct Mute;

async fn values(retrier: &Retrier) {
    let _ = retrier.run(|| async { 7 }).await;
    let _ = retrier.run(|| Ok::<u32, String>(7)).await;
    let _ = retrier.run(|| async { Err::<u32, Mute>(Mute) }).await;
    let _ = retrier.run_sync(|| Err::<u32, Mute>(Mute));
    let _ = retrier.run_sync(|| 7);
}

fn main() {}
