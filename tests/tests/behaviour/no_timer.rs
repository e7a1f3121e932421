//! A wait in a runtime without a timer: a panic that names the function and says what to do.

use std::future::Future as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Waker};

use retry_runtime::{Policy, Retrier, retry};

#[retry]
async fn fetch() -> Result<(), String> {
    Err("connection reset".to_owned())
}

fn panics(call: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    *panic.downcast::<String>().unwrap()
}

#[test]
fn outside_of_a_runtime_the_function_is_named() {
    let text = panics(|| drop(pin!(fetch()).poll(&mut Context::from_waker(Waker::noop()))));
    let place = format!("`behaviour::no_timer::fetch` ({}:10) waits for its next attempt", file!());
    assert!(text.starts_with(&place), "{text}");
    assert!(text.contains("needs a Tokio runtime: await it inside one"), "{text}");
}

#[test]
fn a_runtime_without_a_timer_is_to_have_one() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let text = panics(|| drop(runtime.block_on(fetch())));
    assert!(text.contains("has no timer: build it with `enable_time()`"), "{text}");
    let retrier = Retrier::new(Policy::new());
    let text = panics(|| {
        drop(runtime.block_on(async { retrier.run(async || Err::<(), _>("down")).await }));
    });
    assert!(text.starts_with("a retrier waits for its next attempt"), "{text}");
}
