use retry_runtime::{Policy, Retrier, RetryEvent};

async fn record(text: String) {
    println!("{text}");
}

async fn fetch() -> Result<u32, String> {
    Ok(7)
}

async fn call() {
    let retrier = Retrier::new(Policy::new());
    let seven = retrier.run(|| fetch()).on_retry(|event| record(event.to_string())).await;
    assert_eq!(seven.ok(), Some(7));
}

fn main() {
    let _calling = call();
    let _retrier = Retrier::new(Policy::new())
        .on_retry(|event: &RetryEvent<'_, String>| record(event.to_string()));
}
