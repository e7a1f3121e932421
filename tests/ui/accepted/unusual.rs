//! Rare code that must compile as it is.
#![deny(warnings)]
#![deny(clippy::pedantic)]
#![forbid(unsafe_code)]
#![allow(dead_code)]

use std::io;
use std::sync::Arc;

use retry_runtime::{BreakerConfig, CircuitBreaker, QuotaConfig, RetryQuota, retry};

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

/// A trait whose methods have the names that the expansion calls, on everything.
trait Everywhere: Sized {
    fn failed(self) {}
    fn wait(self) {}
    fn keep(self) {}
    fn context(self) {}
    fn event(self) {}
    fn rejected(self) {}
    fn refund(self) {}
    #[allow(clippy::wrong_self_convention)]
    fn is_match(self) {}
    fn lend(self) {}
    fn try_acquire(self) {}
}

impl<T> Everywhere for T {}

#[retry(breaker = DB, quota = OUTBOUND, context = cx, retry_on = [network, pattern("locked")], on_retry = |_| {})]
async fn beside_a_trait_for_everything() -> io::Result<u32> {
    Ok(cx.number())
}

/// A reference that is bound by its pattern stays a reference.
#[retry]
async fn by_pattern((text, count): &mut (String, u32)) -> Result<u32, String> {
    text.push('x');
    *count += 1;
    Ok(*count)
}

type Pair<'a> = &'a (String, u32);

#[retry]
async fn by_pattern_of_an_alias((text, count): Pair<'_>) -> Result<usize, String> {
    Ok(text.len() + *count as usize)
}

fn registry(breaker: &'static CircuitBreaker) -> &'static CircuitBreaker {
    breaker
}

fn counted() -> Arc<CircuitBreaker> {
    Arc::new(CircuitBreaker::new("counted", BreakerConfig::new()))
}

#[retry(breaker = registry(&DB))]
fn by_a_call(id: u8) -> io::Result<u8> {
    Ok(id)
}

#[retry(breaker = counted(), quota = &OUTBOUND)]
async fn by_what_a_call_makes(id: u8) -> io::Result<u8> {
    Ok(id)
}

#[retry(breaker = &DB)]
async fn by_a_reference(id: u8) -> io::Result<u8> {
    Ok(id)
}

struct Client {
    breaker: CircuitBreaker,
    quota: Arc<RetryQuota>,
    calls: u32,
}

impl Client {
    #[retry(breaker = self.breaker, quota = self.quota)]
    async fn by_its_own(&mut self) -> io::Result<u32> {
        self.calls += 1;
        Ok(self.calls)
    }
}

#[retry]
async fn inner_attributes() -> Result<u32, String> {
    #![allow(unused_variables)]
    let unused = 5;
    Ok(7)
}

#[retry]
fn inner_attributes_of_a_sync_fn() -> Result<u32, String> {
    #![allow(unused_variables)]
    let unused = 5;
    Ok(7)
}

#[retry]
async fn an_argument_that_may_not_be_there(
    #[cfg(any())] absent: u8,
    there: u8,
) -> Result<u8, String> {
    #[cfg(any())]
    return Ok(absent);
    Ok(there)
}

/// A one-letter constant is a constant like any other.
const N: u32 = 4;

#[retry(attempts = N)]
async fn one_letter() -> Result<u32, String> {
    Ok(7)
}
