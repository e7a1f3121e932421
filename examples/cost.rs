//! The cost of a call that succeeds at its first attempt, option by option: the numbers next to the
//! table in the README. (`benches` compares with other libraries.)
//!
//! Without arguments, it prints the sizes of the futures. With a name and a number, it makes that
//! many calls, for a tool that counts instructions; a second run with twice the number allows the
//! startup of the program to be subtracted:
//!
//! ```sh
//! cargo build --release -p retry-examples --example cost
//! valgrind --tool=callgrind target/release/examples/cost retry 100000
//! valgrind --tool=callgrind target/release/examples/cost retry 200000
//! ```

use std::future::{Future, Ready, ready};
use std::hint::black_box;
use std::io::{Error, ErrorKind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use retry_runtime::{BreakerConfig, CircuitBreaker, Policy, QuotaConfig, RetryQuota, retry};

static POLICY: Policy = Policy::new();

static DB: CircuitBreaker = CircuitBreaker::new("db", BreakerConfig::new());
static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

#[inline(never)]
fn answer(id: u64) -> Ready<Result<u64, Error>> {
    ready(if black_box(id) == u64::MAX { Err(ErrorKind::Other.into()) } else { Ok(id) })
}

#[inline(never)]
async fn bare(id: u64) -> Result<u64, Error> {
    answer(id).await
}

#[inline(never)]
async fn by_hand(id: u64) -> Result<u64, Error> {
    let (mut attempt, mut delay) = (0, Duration::from_secs(1));
    loop {
        attempt += 1;
        match answer(id).await {
            Ok(value) => return Ok(value),
            Err(error) if attempt == 3 => return Err(error),
            Err(_) => {}
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(Duration::from_secs(30));
    }
}

#[inline(never)]
async fn by_hand_with_timeout(id: u64) -> Result<u64, Error> {
    let (mut attempt, mut delay) = (0, Duration::from_secs(1));
    loop {
        attempt += 1;
        match tokio::time::timeout(Duration::from_secs(2), answer(id)).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) if attempt == 3 => return Err(error),
            Err(elapsed) if attempt == 3 => return Err(elapsed.into()),
            _ => {}
        }
        tokio::time::sleep(delay).await;
        delay = (delay * 2).min(Duration::from_secs(30));
    }
}

#[retry]
#[inline(never)]
async fn retried(id: u64) -> Result<u64, Error> {
    answer(id).await
}

fn attempts() -> u32 {
    black_box(5)
}

#[retry(attempts = runtime(attempts()))]
#[inline(never)]
async fn of_run_time(id: u64) -> Result<u64, Error> {
    answer(id).await
}

fn policy() -> Policy {
    black_box(Policy::new())
}

#[retry(policy = runtime(policy()))]
#[inline(never)]
async fn by_policy_of_run_time(id: u64) -> Result<u64, Error> {
    answer(id).await
}

#[retry(policy = policy)]
#[inline(never)]
async fn by_policy_of_an_argument(id: u64, policy: &Policy) -> Result<u64, Error> {
    answer(id).await
}

#[retry(context = cx)]
#[inline(never)]
async fn with_context(id: u64) -> Result<u64, Error> {
    if cx.number() > 9 { Err(ErrorKind::Other.into()) } else { answer(id).await }
}

#[retry(breaker = DB)]
#[inline(never)]
async fn with_breaker(id: u64) -> Result<u64, Error> {
    answer(id).await
}

#[retry(quota = OUTBOUND)]
#[inline(never)]
async fn with_quota(id: u64) -> Result<u64, Error> {
    answer(id).await
}

#[retry(timeout = "2s")]
#[inline(never)]
async fn with_timeout(id: u64) -> Result<u64, Error> {
    answer(id).await
}

/// The same functions without `inline(never)`, so that the compiler can inline them into the loop
/// of their caller.
mod inlined {
    use std::io::Error;
    use std::time::Duration;

    use retry_runtime::retry;

    async fn answer(id: u64) -> Result<u64, Error> {
        super::answer(id).await
    }

    pub(super) async fn bare(id: u64) -> Result<u64, Error> {
        answer(id).await
    }

    pub(super) async fn by_hand(id: u64) -> Result<u64, Error> {
        let (mut attempt, mut delay) = (0, Duration::from_secs(1));
        loop {
            attempt += 1;
            match async { answer(id).await }.await {
                Ok(value) => return Ok(value),
                Err(error) if attempt == 3 => return Err(error),
                Err(_) => {}
            }
            tokio::time::sleep(delay).await;
            delay = (delay * 2).min(Duration::from_secs(30));
        }
    }

    #[retry]
    pub(super) async fn retried(id: u64) -> Result<u64, Error> {
        answer(id).await
    }

    /// Its body can exit early, so it becomes a separate future.
    #[retry]
    pub(super) async fn retried_by_question_mark(id: u64) -> Result<u64, Error> {
        let value = answer(id).await?;
        Ok(value)
    }
}

/// Polls a future that is ready immediately.
#[inline(never)]
fn drive(future: impl Future<Output = Result<u64, Error>>) -> u64 {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(value)) => value,
        _ => 0,
    }
}

/// Like [`drive`], but inlined.
#[inline(always)]
fn drive_inlined(future: impl Future<Output = Result<u64, Error>>) -> u64 {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(value)) => value,
        _ => 0,
    }
}

/// Makes `calls` calls, or prints the size of the future of one.
fn measure<F>(name: &str, calls: Option<u64>, call: impl Fn(u64) -> F, drive: impl Fn(F) -> u64)
where
    F: Future<Output = Result<u64, Error>>,
{
    match calls {
        Some(calls) => {
            black_box((0..calls).map(|id| drive(call(id))).fold(0, u64::wrapping_add));
        }
        None => println!("{name:<24} {:>4} bytes", size_of_val(&call(1))),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let wanted = arguments.next();
    let calls = arguments.next().map(|calls| calls.parse().expect("a number of calls"));
    let is_wanted = |name| wanted.as_deref().is_none_or(|wanted| wanted == name);

    macro_rules! measure_each {
        ($drive:ident: $($name:literal => $function:expr),* $(,)?) => {
            $(if is_wanted($name) { measure($name, calls, $function, $drive); })*
        };
    }
    measure_each! {
        drive:
        "bare" => bare,
        "by-hand" => by_hand,
        "retry" => retried,
        "run-time" => of_run_time,
        "run-time-policy" => by_policy_of_run_time,
        "run-time-policy-argument" => |id| by_policy_of_an_argument(id, &POLICY),
        "context" => with_context,
        "breaker" => with_breaker,
        "quota" => with_quota,
        "timeout" => with_timeout,
        "by-hand-with-timeout" => by_hand_with_timeout,
    }
    measure_each! {
        drive_inlined:
        "bare-inlined" => inlined::bare,
        "by-hand-inlined" => inlined::by_hand,
        "retry-inlined" => inlined::retried,
        "question-mark-inlined" => inlined::retried_by_question_mark,
    }
}
