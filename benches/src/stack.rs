//! Retries, a breaker and a timeout around one function, and what seatbelt needs for its own.

use std::io;
use std::sync::LazyLock;
use std::time::Duration;

use layered::{Execute, Service as _, Stack as _};
use retry_runtime::retry;
use seatbelt::breaker::Breaker;
use seatbelt::retry::Retry;
use seatbelt::timeout::Timeout;
use seatbelt::{RecoveryInfo, ResilienceContext};
use tick::Clock;
use tokio::runtime::{Builder, Runtime};

use crate::answer::{Answer, answer};
use crate::names::{ATTRIBUTE, SEATBELT};
use crate::visit::Visit;

/// Passes both to `visitor`.
pub fn each(visitor: &mut impl Visit) {
    visitor.visit(ATTRIBUTE, annotated);
    visitor.visit(SEATBELT, layered);
}

/// A runtime whose timers are never due before a measurement ends.
static RUNTIME: LazyLock<Runtime> =
    LazyLock::new(|| Builder::new_current_thread().enable_time().build().expect("a runtime"));

/// The clock of seatbelt's services.
pub(crate) fn clock() -> &'static Clock {
    static CLOCK: LazyLock<Clock> = LazyLock::new(|| {
        let _entered = RUNTIME.enter();
        Clock::new_tokio()
    });
    &CLOCK
}

/// Returns `true` if seatbelt retries this.
pub(crate) fn recovery(outcome: &io::Result<u64>) -> RecoveryInfo {
    if outcome.is_ok() { RecoveryInfo::never() } else { RecoveryInfo::retry() }
}

#[retry(attempts = 5, breaker(failure_threshold = 5), timeout = "5s")]
#[inline(never)]
async fn annotated(id: u64) -> io::Result<u64> {
    answer(id).await
}

type Client = Retry<
    u64,
    io::Result<u64>,
    Breaker<u64, io::Result<u64>, Timeout<u64, io::Result<u64>, Execute<fn(u64) -> Answer>>>,
>;

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    let context = ResilienceContext::new(clock());
    let retries = Retry::layer("retry", &context)
        .max_retry_attempts(4)
        .use_jitter(false)
        .clone_input()
        .recovery_with(|outcome, _| recovery(outcome));
    let breaker = Breaker::layer("breaker", &context)
        .recovery_with(|outcome, _| recovery(outcome))
        .rejected_input_error(|_, _| io::Error::other("open"));
    let timeout = Timeout::layer("timeout", &context)
        .timeout_output(|_| Err(io::ErrorKind::TimedOut.into()))
        .timeout(Duration::from_secs(5));
    (retries, breaker, timeout, Execute::new(answer as fn(u64) -> Answer)).into_service()
});

#[inline(never)]
async fn layered(id: u64) -> io::Result<u64> {
    CLIENT.execute(id).await
}
