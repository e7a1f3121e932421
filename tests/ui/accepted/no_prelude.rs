//! A module without a prelude: an expansion names all by absolute paths.
#![deny(warnings)]
#![no_implicit_prelude]

use ::retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryError, RetryQuota, retry};
use ::std::result::Result::{self, Ok};
use ::std::string::String;

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

#[retry(attempts = 2, breaker = DB, quota = OUTBOUND, timeout = "2s", jitter, nested = once)]
async fn protected() -> Result<u8, RetryError<String>> {
    Ok(7)
}

#[retry(breaker(failure_threshold = 3), retry_on = [network, pattern("busy")], context = cx)]
fn blocking() -> Result<u32, RetryError<String>> {
    Ok(cx.number())
}

// The attribute is in the prelude too.
#[::std::prelude::v1::test]
fn works() {
    let _future = protected();
    let _answer = blocking();
}
