//! Retries for functions, with policies that are checked at compile time.
//!
//! ```no_run
//! use std::io;
//!
//! use retry_runtime::retry;
//! use tokio::net::TcpStream;
//!
//! /// At most 5 calls, 1 s, 2 s, 4 s and 8 s apart, each wait spread by ±30 %.
//! #[retry(attempts = 5, jitter, retry_on = [network, timeout])]
//! async fn connect(address: &str) -> io::Result<TcpStream> {
//!     TcpStream::connect(address).await
//! }
//! # #[tokio::main]
//! # async fn main() -> io::Result<()> { connect("127.0.0.1:1").await.map(|_| ()) }
//! ```
//!
//! A policy that cannot work does not compile, and the message states what to write instead. A
//! bare `#[retry]` makes 3 attempts after any failure, without jitter: choose `retry_on` and
//! `jitter` for a service.
//!
//! ```toml
//! [dependencies]
//! retry-runtime = "0.1"
//! tokio = { version = "1", features = ["macros", "net", "rt-multi-thread"] } # for async functions
//! ```
//!
//! The [`guide`] has a page for each task; [`guide::policies`] comes first, and
//! [`guide::compiler_errors`] says what to write in place of what rustc rejects. The repository has
//! [examples], [a whole service], [tables for migrating] from other libraries, and the
//! [changelog].
//!
//! # Where to begin
//!
//! | to | use |
//! | --- | --- |
//! | retry a function | [`#[retry]`](macro@retry) |
//! | retry a closure, or with a policy that is known at runtime | [`Retrier`] |
//! | share a policy between functions | [`policy!`], [`Policy`] |
//! | choose which failures to retry | `retry_on`: [`matchers`], or [`Classify`] for your own error |
//! | report how a call ended | return [`RetryError`] |
//! | stop calling a dependency that does not respond | [`CircuitBreaker`]; [`Breakers`] for one per host |
//! | bound the load that retries add | [`RetryQuota`] |
//! | see what is retried | [`on_event`], the features `tracing` and `metrics`; `sites` and `report`, with the feature `sites` |
//! | change policies while the program runs | `Overrides`, with the feature `overrides` |
//! | test code that retries | `testing`, with the feature of that name |
//!
//! # Features
//!
//! | feature | what it gives |
//! | --- | --- |
//! | `macros` (default) | `#[retry]`, `retrying!`, `policy!` and `derive(Classify)` |
//! | `tracing` (default) | events through the `tracing` facade |
//! | `sites` | `sites` and `report`: every annotated function of the program, with the outcomes of its calls; enabled by `overrides` and `testing` |
//! | `pattern` | `pattern("…")`: regular expressions over an error's text |
//! | `metrics` | counters, a histogram and gauges through the `metrics` facade, for Prometheus with `metrics-exporter-prometheus` |
//! | `serde` | policies, breakers and quotas from files |
//! | `overrides` | `Overrides`: policies changed by name while the program runs |
//! | one for each client, such as `reqwest` or `tonic`: [`classify::error`] lists them | recognises the errors of the client by type; `sqlx-0_9` needs Rust 1.94, as sqlx 0.9 does, and the others work with 1.85, with releases of their crates that support it |
//! | `reqwest-0_12` | the same for reqwest 0.12, by the errors of hyper inside its own; enables `hyper` and `http` |
//! | `http` | `Retry-After`, and failed responses as errors: `retry_after`, `http::check`, `http::check_body`; enabled by `reqwest` and `tungstenite` |
//! | `tower` | `tower::RetryLayer`, for tower services |
//! | `reqwest-middleware-0_5` | `reqwest_middleware::RetryMiddleware`, for clients of reqwest-middleware 0.5; enables `reqwest` and `tower` |
//! | `any-runtime` | waits and time limits on executors other than tokio's |
//! | `testing` | `testing`: a kit for tests of code that retries |
//!
//! # Runtime
//!
//! Waits and timeouts use tokio's timer. Outside of a tokio runtime with time enabled, an async
//! function panics at its first wait, as `tokio::time::sleep` does. With the feature
//! `any-runtime`, it uses another timer there: on smol, on the executor of `futures`, or on your
//! own. Inside tokio nothing changes.
//!
//! # In a browser
//!
//! On `wasm32-unknown-unknown`, waits and time limits use the page's timer and clock, and jitter
//! its randomness; no feature is needed. A page cannot be stopped, so a call that is not async, of a
//! function, a block or a [`Retrier`], makes only retries without a wait. In place of a longer one,
//! it ends with its last failure, for the reason [`Budget`](Reason::Budget), which
//! [`Warning::CannotWait`] reports once per name. The linker collects nothing there:
//!
//! - [`sites`] and [`report`] list no functions, so overrides and a test's `fail` find none by
//!   name.
//! - An error with `#[derive(Classify)]` is classified where it is returned, but not inside another
//!   error.
//!
// The manifest has the address of the repository, and no crate is released without one. Pages that
// are built here lead to the files beside them.
#![cfg_attr(docsrs, doc = concat!(
    "[examples]: ", env!("CARGO_PKG_REPOSITORY"), "/tree/HEAD/examples\n",
    "[a whole service]: ", env!("CARGO_PKG_REPOSITORY"), "/tree/HEAD/examples/service\n",
    "[tables for migrating]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/MIGRATING.md\n",
    "[changelog]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/CHANGELOG.md\n",
))]
#![cfg_attr(
    not(docsrs),
    doc = "\
[examples]: ../../../examples
[a whole service]: ../../../examples/service
[tables for migrating]: ../../../docs/MIGRATING.md
[changelog]: ../../../CHANGELOG.md
"
)]
#![cfg_attr(docsrs, feature(doc_cfg))]
// A flag for the model checker, which readers cannot turn on.
#![cfg_attr(docsrs, doc(auto_cfg(hide(retry_loom))))]

mod base;
mod outcome;
mod event;
mod site;
pub mod classify;
#[cfg(feature = "http")]
pub mod http;
#[cfg(feature = "testing")]
mod test_hooks;
mod observe;
mod protect;
#[cfg(feature = "overrides")]
mod overrides;
mod call;
pub mod retrier;
#[cfg(feature = "tower")]
pub mod tower;
#[cfg(feature = "testing")]
pub mod testing;
// Only for reading: `tests` compiles its examples, with the crates that they use.
#[cfg(all(doc, not(doctest)))]
pub mod guide;

/// Code of an expansion that is for tests only. The macro may have been built with its feature
/// `testing`, for another part of the same build, while this crate has not.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "testing")]
macro_rules! __retry_for_tests {
    ($($tokens:tt)*) => { $($tokens)* };
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "testing"))]
macro_rules! __retry_for_tests {
    ($($tokens:tt)*) => {};
}

/// Registers a static with an array that the linker assembles. The linker of wasm cannot.
#[doc(hidden)]
#[macro_export]
#[cfg(all(feature = "macros", not(all(target_family = "wasm", target_os = "unknown"))))]
macro_rules! __retry_linked {
    ($array:ident, $item:item) => {
        #[$crate::__private::linkme::distributed_slice($crate::__private::$array)]
        #[linkme(crate = $crate::__private::linkme)]
        $item
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(all(feature = "macros", target_family = "wasm", target_os = "unknown"))]
macro_rules! __retry_linked {
    ($($tokens:tt)*) => {};
}

/// Registers the site of an annotated function, if a feature needs that: it costs the compiler
/// about as much as the rest of the expansion.
#[doc(hidden)]
#[macro_export]
#[cfg(feature = "sites")]
macro_rules! __retry_site {
    ($item:item) => {
        $crate::__retry_linked! { RETRY_SITES_0_1, $item }
    };
}

#[doc(hidden)]
#[macro_export]
#[cfg(not(feature = "sites"))]
macro_rules! __retry_site {
    ($item:item) => {};
}

/// The functions that expansions call; not part of the public interface.
#[doc(hidden)]
#[allow(missing_docs)]
#[path = "private.rs"]
pub mod __private;

// In reading order: the policy, the call, its error, what protects it, what reports on it.
// `doc(inline)`: documented here as well as in its public module.
#[cfg(feature = "serde")]
pub use retry_rules::file;
pub use retry_rules::{
    Attempts, Backoff, Bound, BreakerConfig, HalfOpen, Jitter, Policy, QuotaConfig, SlowCalls,
    Window,
};
pub use retry_rules::{Field, Fields, Invalid, Rule, Rules, Style};

pub use call::attempt::Attempt;
#[doc(inline)]
pub use retrier::Retrier;
#[cfg(feature = "serde")]
pub use retrier::config::RetryConfig;
/// For the command, which reports each mistake with its place.
#[cfg(feature = "serde")]
#[doc(hidden)]
pub use retrier::config::RetryKeys;
/// Calls whose waits outlast the process that makes them: the progress of a call, to be stored in a
/// database, and what to do after its next failure.
///
/// The same session decides as for a call that waits in memory; it is assembled for one failure and
/// taken apart again. Sleeping, and reading the clock, are left to the program that stores the
/// call: `retry-workflow` does both.
///
/// ```
/// use std::io::{Error, ErrorKind};
/// use std::time::Duration;
///
/// use retry_runtime::durable::{Decision, Failed, CallState};
/// use retry_runtime::matchers::network;
/// use retry_runtime::{Policy, Reason, Retrier};
///
/// let retrier = Retrier::new(Policy::new().attempts(2)).retry_on([network]);
/// let refused = Error::from(ErrorKind::ConnectionRefused);
///
/// let mut state = CallState::default();
/// let first = retrier.decide(&mut state, &Failed::now(&refused));
/// assert_eq!(first, Decision::Wait(Duration::from_secs(1)));
///
/// // A second later, in another process:
/// let second = retrier.decide(&mut state, &Failed::after(Duration::from_secs(1), &refused));
/// assert_eq!(second, Decision::GiveUp(Reason::Attempts));
/// assert_eq!(state.attempts, 2);
/// ```
pub mod durable {
    pub use crate::retrier::durable::*;
}

/// [`RetryMiddleware`](crate::reqwest_middleware::RetryMiddleware): a [`Retrier`] for clients of
/// reqwest-middleware 0.5.
///
/// ```
/// use reqwest_middleware::ClientBuilder;
/// use retry_runtime::matchers::transient;
/// use retry_runtime::reqwest_middleware::RetryMiddleware;
/// use retry_runtime::{Jitter, Policy, Retrier};
///
/// let policy = Policy::new().attempts(4).jitter(Jitter::Full);
/// let retrier = Retrier::new(policy).retry_on([transient]).name("catalogue");
///
/// let client = ClientBuilder::new(reqwest::Client::new())
///     .with(RetryMiddleware::new(retrier))
///     .build();
/// ```
///
/// # Repeated requests
/// Requests whose method is idempotent: `GET`, `HEAD`, `OPTIONS`, `PUT`, `DELETE` and `TRACE`. A
/// `POST` or `PATCH`, and a request whose body is a stream, is sent once; a failure that would be
/// retried ends its call for the reason `not_repeatable`. A middleware that is created from a
/// [`RetryLayer`](crate::tower::RetryLayer) repeats the requests that the layer
/// [clones](crate::tower::RetryLayer::clone_request).
///
/// # Failed responses
/// Responses with a status 4xx or 5xx, as a [`StatusError`](crate::http::StatusError), which the
/// matchers judge: with `retry_on([transient])`, a 503 is retried and a 404 is not. A retrier
/// without `retry_on` retries both. `Retry-After` is the wait. At the end, the caller gets the last
/// response itself.
///
/// # Errors
/// The error of the last attempt, untouched. A call that a time limit or a breaker ended before an
/// attempt failed has an `Error::Middleware` of an [`Interrupted`], which
/// [`Interrupted::find_in`] returns.
///
/// # Other middlewares
/// Each attempt runs the middlewares that were added after this one, with a clone of the request's
/// extensions as they were left by the attempt before. A hedge runs them at the same time.
#[cfg(feature = "reqwest-middleware-0_5")]
pub mod reqwest_middleware {
    pub use crate::tower::reqwest_middleware::*;
}

pub use outcome::Missing;
pub use outcome::ended::Reason;
#[doc(hidden)]
pub use outcome::error::IsStdError;
pub use outcome::error::RetryError;
pub use outcome::interrupted::Interrupted;
pub use outcome::past_failure::PastFailure;

pub use base::class::Class;
#[doc(inline)]
pub use classify::Classify;
/// Matchers as values: the failures that a [`Retrier`] or a
/// [`RetryConfig`] retries.
///
/// The attribute has these too, and more that need a macro (`matches(…)`, `ok(…)`).
///
/// ```
/// use retry_runtime::matchers::{network, rate_limit};
/// use retry_runtime::{Policy, Retrier};
///
/// let retrier = Retrier::new(Policy::new()).retry_on([network, rate_limit]);
/// ```
pub mod matchers {
    pub use crate::classify::matchers::*;
}

pub use base::name::Name;
/// For the fleet, which spreads what its members do.
#[doc(hidden)]
pub use base::random::between as random_between;
pub use protect::breaker::{
    CircuitBreaker, OwnedPermit, Permit, Rejected, RemoteState, TransitionListener,
};
pub use protect::breakers::Breakers;
pub use protect::quota::RetryQuota;
pub use protect::shared::Shared;

pub use event::Event;
pub use event::log_level::LogLevel;
pub use event::retry_event::RetryEvent;
pub use event::snapshot::{Outcomes, Snapshot};
pub use event::transition::{Cause, State, Transition};
pub use event::warning::Warning;
#[cfg(feature = "metrics")]
pub use observe::metrics;
#[cfg(not(retry_loom))]
pub use observe::{Listening, on_event};

pub use site::Site;
#[cfg(all(feature = "sites", not(retry_loom)))]
pub use site::families::family_breakers;
#[cfg(feature = "sites")]
pub use site::registry::{Report, report, sites};
pub use site::stats::Stats;

#[cfg(feature = "overrides")]
pub use overrides::{Overrides, OverridesError, with_overrides, with_overrides_sync};

/// Names that users of other libraries look for: aliases with a warning that says what to write.
macro_rules! names_elsewhere {
    ($($($name:ident)|+ = $here:ty, $write:literal;)*) => {$($(
        #[doc(hidden)]
        #[allow(non_camel_case_types, reason = "some are functions or attributes there")]
        #[deprecated(note = $write)]
        pub type $name = $here;
    )+)*};
}

names_elsewhere! {
    RetryPolicy | RetryOptions | BackoffBuilder = Policy, "write `retry_runtime::Policy`";
    ExponentialBuilder | ExponentialBackoff = Policy,
        "write `retry_runtime::Policy`, whose waits grow exponentially by default";
    ConstantBuilder | FixedInterval = Policy, "write `Policy::new().backoff(Backoff::Fixed)`";
    FibonacciBuilder | FibonacciBackoff = Policy,
        "write `Policy::new().backoff(Backoff::Fibonacci)`";
    BackoffType | DelayBackoffType = Backoff, "write `retry_runtime::Backoff`";
    Retryable | Retry = Retrier, "write `Retrier::new(policy).run(closure).await`, or `#[retry]`";
    retry_fn | retry_notify = Retrier, "write `Retrier::new(policy).run(closure).await`";
    retryable = Retrier, "write `#[retry]` above a function";
    BlockingRetryable = Retrier, "write `Retrier::new(policy).run_sync(closure)`";
    RetryIf | retry_if = Retrier, "write `Retrier::new(policy).when(condition).run(closure).await`";
    CircuitBreakerConfig | CircuitBreakerBuilder | CircuitBreakerOptions = BreakerConfig,
        "write `retry_runtime::BreakerConfig`";
    Breaker | Recloser = CircuitBreaker, "write `retry_runtime::CircuitBreaker`";
    BreakerState | CircuitState | CircuitBreakerState = State, "write `retry_runtime::State`";
    BreakerError | CircuitBreakerError | CircuitError = Interrupted,
        "write `retry_runtime::Interrupted`, which `Interrupted::find_in(&error)` finds in an error";
    circuit_breaker = CircuitBreaker, "write `#[retry(breaker = DB)]` above a function";
    RetryBudget | TokenBucket = RetryQuota, "write `retry_runtime::RetryQuota`";
}

#[doc(hidden)]
#[cfg(feature = "tower")]
#[deprecated(note = "write `retry_runtime::tower::RetryLayer`")]
pub type RetryLayer<InferredFromCall> = tower::RetryLayer<retrier::Readable, InferredFromCall>;

#[doc(hidden)]
#[deprecated(note = "all names are at the root: write `use retry_runtime::retry;`")]
pub mod prelude {
    pub use crate::*;
}

#[cfg(feature = "macros")]
#[doc = include_str!("attribute.md")]
pub use retry_macros::retry;

/// Implements [`Classify`] for an error: the kind of failure of each variant.
///
/// ```
/// use std::time::Duration;
/// use retry_runtime::{Class, Classify};
///
/// #[derive(Debug, Classify)]
/// enum FetchError {
///     /// The field decides: its class, and the wait that its server asked for.
///     #[classify(transparent)]
///     Io(std::io::Error),
///     #[classify(rate_limit, retry_after = wait)]
///     Full { wait: Duration },
///     #[classify(status = 0)]
///     Status(u16),
///     #[classify(never)]
///     NotFound,
/// }
/// # impl std::fmt::Display for FetchError {
/// #     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { write!(f, "{self:?}") }
/// # }
/// # impl std::error::Error for FetchError {}
///
/// assert_eq!(FetchError::Status(503).class(), Class::SERVER_ERROR);
/// let full = FetchError::Full { wait: Duration::from_secs(7) };
/// assert_eq!((full.class(), full.retry_after()), (Class::RATE_LIMIT, Some(Duration::from_secs(7))));
/// assert!(FetchError::NotFound.class().is_empty());
///
/// // It is found inside other errors.
/// let hidden = std::io::Error::other(FetchError::Status(504));
/// assert!(retry_runtime::classify::error(&hidden).contains(Class::TIMEOUT));
/// ```
///
/// | `#[classify(…)]` on a variant | what decides |
/// | --- | --- |
/// | `network`, `connect`, `timeout`, `server_error`, `rate_limit`, `conflict` | these kinds; `connect` is also `network`, and a conflict stands alone |
/// | `never` | no retry helps |
/// | `transparent`, `transparent = field` | the field: its class and its wait |
/// | `status = field` | an HTTP status, `u16` or `http::StatusCode`, by [`classify::status`] |
/// | `text` | the text, by [`classify::text`]; a rate limit or a server error may state its wait in it |
/// | `with = path` | a function, `fn(&Self) -> Class` |
/// | `retry_after = field` | beside a kind, `status` or `with`: the wait, `Duration` or `Option<Duration>` |
///
/// A field is given by its name, or by its position: `status = 0`. Without a word, a field with
/// `#[from]` or `#[source]`, or named `source`, decides, and so does the field of
/// `#[error(transparent)]`: the derive sees thiserror's attributes. That is what finds the
/// `Retry-After` of an error inside `#[error(transparent)]`, which is in no chain of sources. Words
/// above the `enum` are for the variants that say nothing; a variant that nothing is said about
/// does not compile. `#[classify(crate = path)]` above the type names this library if it was
/// renamed.
///
/// A type without parameters is found inside `anyhow::Error` and `Box<dyn Error>`, and decides
/// about all that it wraps. In a generic type, a field whose type is a parameter needs `T:
/// Classify`, which the types that [`classify::error`] lists implement.
#[cfg(feature = "macros")]
pub use retry_macros::Classify;

/// Creates a policy that is checked at compile time, in a `const` or anywhere else.
///
/// Takes those options of [`retry`](macro@retry) that set the number of attempts, the waits, and
/// the limits.
///
/// ```
/// use retry_runtime::{Policy, policy, retry};
///
/// const HTTP: Policy = policy!(attempts = 5, backoff = exponential(base = 2.0), jitter, budget = "5m");
///
/// #[retry(policy = HTTP, attempts = 2)]
/// async fn fetch() -> Result<u32, String> {
///     Ok(7)
/// }
/// ```
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! policy {
    ($($options:tt)*) => {
        $crate::__private::policy!(crate = $crate, $($options)*)
    };
}

#[cfg(feature = "macros")]
#[doc = include_str!("retrying.md")]
#[macro_export]
macro_rules! retrying {
    ($($tokens:tt)*) => {
        $crate::__private::retrying!(crate = $crate, $($tokens)*)
    };
}

/// Compiles the code of the README.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../README.md")]
struct Readme;
