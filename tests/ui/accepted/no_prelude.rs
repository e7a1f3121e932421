//! A module without a prelude: an expansion names all by absolute paths.
#![deny(warnings)]
#![no_implicit_prelude]

use ::retry_runtime::{
    BreakerConfig, CircuitBreaker, Class, Classify, Policy, QuotaConfig, RetryError, RetryQuota,
    policy, retry, retrying,
};
use ::std::fmt::{self, Display};
use ::std::io;
use ::std::option::Option::{self, Some};
use ::std::result::Result::{self, Ok};
use ::std::string::String;
use ::std::time::Duration;

const POLICY: Policy = policy!(attempts = 4, backoff = linear(increment = "2s"), jitter = full);

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

#[derive(::std::fmt::Debug, Classify)]
enum Failure {
    #[classify(timeout)]
    Late(#[classify(retry_after)] Duration),
    #[classify(text)]
    Said(String),
    #[classify(transparent)]
    Io(io::Error),
}

#[derive(::std::fmt::Debug, Classify)]
#[classify(rate_limit)]
struct Limited<T>(T);

impl<T> Display for Limited<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("limited")
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Late(wait) => ::std::write!(f, "late by {wait:?}"),
            Self::Said(text) => f.write_str(text),
            Self::Io(error) => ::std::write!(f, "{error}"),
        }
    }
}

impl ::std::error::Error for Failure {}

#[retry(policy = POLICY, retry_on = [timeout, network], abort_on = [matches(Failure::Said(_))])]
async fn judged(wait: Duration) -> Result<Duration, Failure> {
    Ok(wait)
}

#[retry(attempts = 2, on_failure = fallback(|_| 1))]
fn replaced() -> Result<u8, Failure> {
    Ok(7)
}

fn foreign(_: &fmt::Error) -> Option<Class> {
    Some(Class::NETWORK)
}

fn in_a_block() -> Result<u8, RetryError<String>> {
    retrying!(
        attempts = 2,
        breaker = DB,
        jitter = full,
        name = "no_prelude",
        || -> Result<u8, RetryError<String>> { Ok(7) }
    )
}

// The attribute is in the prelude too.
#[::std::prelude::v1::test]
fn works() {
    ::retry_runtime::classify::register(foreign);
    let _future = protected();
    let _answer = blocking();
    let _waits = Failure::Late(Duration::ZERO).retry_after();
    let _text = Failure::Said(String::new()).class();
    let _field = Failure::Io(io::Error::other("busy")).class();
    let _generic = Limited(7).class();
    let _judged = judged(Duration::ZERO);
    let (_replaced, _block) = (replaced(), in_a_block());
}
