//! A future is `Send` whenever the body's is.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]

use std::cell::Cell;
use std::rc::Rc;

use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryQuota, policy, retry};

fn is_send<T: Send>(value: T) -> T {
    value
}

async fn work() {
    tokio::task::yield_now().await;
}

#[retry]
async fn argument_that_is_not_sync(counter: Cell<u32>) -> Result<u32, String> {
    work().await;
    counter.set(counter.get() + 1);
    Ok(counter.get())
}

#[retry]
async fn argument_that_is_only_formatted(counter: Cell<u32>) -> Result<String, String> {
    work().await;
    Ok(format!("{counter:?}"))
}

#[retry(clone(counter))]
async fn cloned_argument_that_is_not_sync(counter: Cell<u32>) -> Result<u32, String> {
    work().await;
    Ok(counter.into_inner())
}

struct Client(Cell<u32>);

impl Client {
    #[retry]
    async fn receiver_that_is_not_sync(&mut self) -> Result<u32, String> {
        work().await;
        self.0.set(self.0.get() + 1);
        Ok(self.0.get())
    }

    #[retry]
    async fn receiver_by_value(self) -> Result<u32, String> {
        work().await;
        self.0.set(self.0.get() + 1);
        Ok(self.0.get())
    }
}

#[derive(Debug)]
struct NotSend(Rc<str>);

impl std::fmt::Display for NotSend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotSend {}

#[retry(retry_on = [network, pattern("busy"), when(|error: &NotSend| error.0.is_empty())], on_retry = |_| ())]
async fn error_that_is_not_send(text: &str) -> Result<u32, NotSend> {
    if text.is_empty() {
        return Err(NotSend("empty".into()));
    }
    Ok(7)
}

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());
const HTTP: retry_runtime::Policy = policy!(attempts = 5, deadline = "30s");

#[retry(
    policy = HTTP,
    timeout = "2s",
    jitter,
    retry_on = [network, pattern("busy")],
    retry_after = |_| None,
    breaker = DB,
    quota = OUTBOUND,
    on_failure = fallback(|_| async { work().await; 5 }),
    on_retry = |event| assert!(event.attempt() > 0),
    context = cx
)]
async fn everything(id: u32) -> Result<u32, std::io::Error> {
    work().await;
    Ok(id + cx.number())
}

#[retry]
async fn generic<T: Clone + Send>(item: T) -> Result<T, String> {
    work().await;
    Ok(item.clone())
}

#[retry]
async fn error_without_sync(cell: &mut Cell<u32>) -> Result<u32, Cell<u32>> {
    work().await;
    Ok(cell.get())
}

#[test]
fn works() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        assert_eq!(is_send(argument_that_is_not_sync(Cell::new(1))).await.unwrap(), 2);
        let formatted = is_send(argument_that_is_only_formatted(Cell::new(1)));
        assert_eq!(formatted.await.unwrap(), "Cell { value: 1 }");
        assert_eq!(is_send(cloned_argument_that_is_not_sync(Cell::new(1))).await.unwrap(), 1);
        assert_eq!(is_send(Client(Cell::new(1)).receiver_that_is_not_sync()).await.unwrap(), 2);
        assert_eq!(is_send(Client(Cell::new(1)).receiver_by_value()).await.unwrap(), 2);
        assert_eq!(is_send(error_that_is_not_send("x")).await.unwrap(), 7);
        assert_eq!(is_send(everything(1)).await.unwrap(), 2);
        assert_eq!(is_send(generic(1)).await.unwrap(), 1);
        assert_eq!(is_send(error_without_sync(&mut Cell::new(1))).await.unwrap(), 1);
    });
}
