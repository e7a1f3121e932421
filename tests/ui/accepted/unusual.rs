//! Rare code that must compile as it is.
#![deny(warnings)]
#![deny(clippy::pedantic)]
#![forbid(unsafe_code)]
#![allow(dead_code)]

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use retry_runtime::{
    BreakerConfig, CircuitBreaker, Policy, QuotaConfig, RetryQuota, policy, retry,
};

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

/// A `static` of another crate's type, such as `once_cell`'s, that is not a breaker itself.
struct Lazy(std::sync::OnceLock<Arc<CircuitBreaker>>);

impl std::ops::Deref for Lazy {
    type Target = Arc<CircuitBreaker>;

    fn deref(&self) -> &Self::Target {
        self.0.get_or_init(counted)
    }
}

static LAZY: Lazy = Lazy(std::sync::OnceLock::new());

#[retry(breaker = LAZY.clone())]
async fn clone_of_what_a_static_lends() -> io::Result<u32> {
    Ok(7)
}

#[allow(non_upper_case_globals)]
const attempts: u32 = 4;

struct Text(u32);

impl Text {
    const fn parse(self) -> u32 {
        self.0
    }
}

/// Constants, whatever their names.
const OF_LOWER_CASE: Policy = policy!(attempts = attempts, jitter);

#[retry(attempts = Text(3).parse())]
async fn parsed_by_a_constant_function() -> Result<u32, String> {
    Ok(7)
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

/// A future that is `Copy`, so that each attempt has one.
#[derive(Clone, Copy)]
struct Answer;

impl Future for Answer {
    type Output = io::Result<u32>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<u32>> {
        Poll::Ready(Ok(7))
    }
}

#[retry]
async fn awaits_an_argument_that_is_copied(answer: Answer) -> io::Result<u32> {
    answer.await
}

#[retry]
async fn awaits_what_has_the_name_of_an_argument(answer: u32) -> io::Result<u32> {
    let answer = async { Ok(answer) };
    answer.await
}

struct Page<'a> {
    text: String,
    log: &'a mut Vec<u32>,
    size: usize,
}

/// The pattern binds the name of an argument again, and the struct gets copies and borrows.
#[retry]
async fn takes_a_struct_apart(text: &str, log: &mut Vec<u32>, size: usize) -> io::Result<usize> {
    let page = Page { text: text.to_owned(), log, size };
    page.log.push(1);
    match page {
        Page { text, size, .. } if size > 0 => Ok(text.len()),
        Page { text, .. } => Ok(text.len() + size),
    }
}
