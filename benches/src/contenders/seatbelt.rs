//! seatbelt: a layer around a function. The service is created once, and shared.

use std::io;
use std::sync::LazyLock;

use layered::{Execute, Service as _, Stack as _};
use seatbelt::ResilienceContext;
use seatbelt::retry::{Backoff, Retry};

use super::FIRST_WAIT;
use crate::answer::{Answer, answer};
use crate::policies::{ATTEMPTS, MAX_WAIT};
use crate::stack::{clock, recovery};

type Client = Retry<u64, io::Result<u64>, Execute<fn(u64) -> Answer>>;

static CLIENT: LazyLock<Client> = LazyLock::new(|| {
    let layer = Retry::layer("retry", &ResilienceContext::new(clock()))
        .max_retry_attempts(ATTEMPTS - 1)
        .backoff(Backoff::Exponential)
        .base_delay(FIRST_WAIT)
        .max_delay(MAX_WAIT)
        .use_jitter(false)
        .clone_input()
        .recovery_with(|outcome, _| recovery(outcome));
    (layer, Execute::new(answer as fn(u64) -> Answer)).into_service()
});

#[inline(never)]
pub(super) async fn call(id: u64) -> io::Result<u64> {
    CLIENT.execute(id).await
}
