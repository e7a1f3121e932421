//! Names of the user's that collide with those of the expansion, of the standard
//! library, and of the prelude.
#![deny(warnings, clippy::pedantic)]
#![forbid(unsafe_code)]
#![allow(clippy::too_many_arguments)]

use retry_runtime::retry;

mod hostile {
    #![allow(dead_code, non_camel_case_types, clippy::enum_variant_names)]

    use retry_runtime::{CircuitBreaker, QuotaConfig, RetryQuota, retry};

    pub mod core {}
    pub mod std {}
    pub mod alloc {}
    pub mod retry_rules {}
    pub mod tokio {}

    pub struct Option;
    pub struct Result;
    pub struct Box;
    pub struct Vec;
    pub struct String;
    pub struct Duration;
    pub struct Some;
    pub struct None;
    pub struct Ok;
    pub struct Err;
    pub trait Send {}
    pub trait Sync {}
    pub trait Clone {}
    pub trait Default {}
    pub trait From {}
    pub trait Into {}
    pub trait Future {}
    pub trait Iterator {}
    pub trait Drop {}
    pub fn drop() {}

    macro_rules! hostile {
        ($($name:ident)*) => {$(
            #[allow(unused_macros)]
            macro_rules! $name {
                () => {
                    compile_error!("the user's macro")
                };
            }
        )*};
    }
    hostile! { panic unreachable concat module_path matches quote assert format_args }

    type Outcome = ::std::result::Result<usize, ::std::io::Error>;

    static DB: CircuitBreaker = CircuitBreaker::new("db", retry_runtime::BreakerConfig::new());
    static OUTBOUND: RetryQuota = RetryQuota::new("outbound", QuotaConfig::new());

    #[retry(
        attempts = 4,
        backoff = linear(increment = "1s"),
        initial_delay = "1s",
        max_delay = "20s",
        jitter = 0.25,
        budget = "5m",
        deadline = "30s",
        timeout = "2s",
        retry_on = [network, timeout, pattern("(?i)locked"), when(|_| true), ok(|value| *value > 7)],
        abort_on = [matches(_ if false)],
        retry_after = |_| ::std::option::Option::None,
        breaker = DB,
        quota = OUTBOUND,
        on_failure = fallback(|_| 5),
        on_retry = |_| (),
        history = 5,
        log = off,
        context = cx
    )]
    pub async fn all(body: ::std::vec::Vec<u8>) -> Outcome {
        ::std::assert!(!cx.is_last());
        ::std::result::Result::Ok(body.len())
    }

    #[retry(
        breaker(failure_threshold = 5, success_threshold = 3, timeout = "30s", half_open_requests = 3),
        on_failure = continue,
        clone(body)
    )]
    pub fn all_sync(body: ::std::vec::Vec<u8>) -> Outcome {
        ::std::result::Result::Ok(body.into_iter().map(usize::from).sum())
    }
}

/// Modules of these names at the place of the attribute.
mod modules {
    use retry_runtime::retry;

    #[allow(dead_code)]
    mod core {}
    #[allow(dead_code)]
    mod std {}

    #[retry(deadline = "5s", jitter)]
    pub async fn fetch() -> Result<u32, Box<dyn ::std::error::Error + Send + Sync>> {
        Ok(7)
    }
}

/// The names of the expansion's own variables.
#[retry(
    deadline = "30s",
    breaker(failure_threshold = 5),
    retry_on = [network, pattern("locked"), ok(|value| *value == permit)],
    on_failure = fallback(|_| permit + cut)
)]
async fn variables(
    session: u32,
    outcome: u32,
    error: u32,
    breaker: u32,
    quota: u32,
    kept: u32,
    ended: u32,
    judge: u32,
    described: u32,
    told: u32,
    permit: u32,
    cut: u32,
    next: u32,
    verdict: u32,
    value: u32,
    last: u32,
) -> Result<u32, std::io::Error> {
    Ok(session
        + outcome
        + error
        + breaker
        + quota
        + kept
        + ended
        + judge
        + described
        + told
        + permit
        + cut
        + next
        + verdict
        + value
        + last)
}

#[retry(retry_on = [network], on_failure = fallback(|_| error))]
fn variables_sync(
    session: u32,
    outcome: u32,
    error: u32,
    timing: u32,
    described: u32,
) -> Result<u32, std::io::Error> {
    Ok(session + outcome + error + timing + described)
}

#[retry(name = "raw.identifier")]
async fn r#fn(r#type: u32, r#match: String) -> Result<usize, String> {
    Ok(r#type as usize + r#match.len())
}

#[retry]
async fn raw(r#async: u32) -> Result<u32, String> {
    Ok(r#async)
}

mod aliases {
    use retry_runtime::{RetryError, retry};

    pub type Result<T, E = String> = std::result::Result<T, E>;

    #[retry]
    pub async fn own() -> Result<usize> {
        Ok("7".len())
    }

    #[retry(timeout = "2s")]
    pub async fn of_anyhow() -> anyhow::Result<u32> {
        let number = "7".parse::<u32>()?;
        anyhow::ensure!(number == 7);
        Ok(number)
    }

    #[retry(timeout = "2s")]
    pub async fn of_io() -> std::io::Result<u32> {
        let empty = std::env::temp_dir();
        std::fs::metadata(empty)?;
        Ok(7)
    }

    #[retry(timeout = "2s")]
    pub async fn with_reason() -> Result<u32, RetryError<std::num::ParseIntError>> {
        let number = "7".parse::<u32>()?;
        Ok(number)
    }

    #[retry]
    pub fn with_reason_sync() -> Result<u32, RetryError<std::num::ParseIntError>> {
        let number = "7".parse::<u32>()?;
        Ok(number)
    }
}

#[test]
fn works() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    runtime.block_on(async {
        assert_eq!(hostile::all(vec![1]).await.unwrap(), 1);
        assert_eq!(hostile::all_sync(vec![1]).unwrap(), 1);
        assert_eq!(modules::fetch().await.unwrap(), 7);
        assert_eq!(variables(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1).await.unwrap(), 16);
        assert_eq!(variables_sync(1, 1, 1, 1, 1).unwrap(), 5);
        assert_eq!(r#fn(1, "ab".to_owned()).await.unwrap(), 3);
        assert_eq!(raw(1).await.unwrap(), 1);
        assert_eq!(aliases::own().await.unwrap(), 1);
        assert_eq!(aliases::of_anyhow().await.unwrap(), 7);
        assert_eq!(aliases::of_io().await.unwrap(), 7);
        assert_eq!(aliases::with_reason().await.unwrap(), 7);
        assert_eq!(aliases::with_reason_sync().unwrap(), 7);
    });
}
