use retry_runtime::{Policy, Retrier, RetryEvent};

async fn record(text: String) {
    println!("{text}");
}

fn main() {
    let _retrier = Retrier::new(Policy::new())
        .on_retry(|event: &RetryEvent<'_, String>| record(event.to_string()));
}
