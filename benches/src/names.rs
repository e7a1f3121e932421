//! The names of the contenders in the tables.

/// The attribute.
pub const ATTRIBUTE: &str = "`#[retry]`";
/// The same for closures.
pub const RETRIER: &str = "`Retrier`";
/// The same as a tower layer.
pub const RETRY_LAYER: &str = "`RetryLayer`";
/// The same, kept in memory until the program ends.
pub const RETRY_LAYER_LEAKED: &str = "`RetryLayer`, leaked";
/// The function without retries: the lower bound.
pub const BARE: &str = "no retries";
/// A loop with delays and the same events as the attribute.
pub const BY_HAND: &str = "loop by hand";
/// A loop with delays that reports nothing.
pub const BY_HAND_MUTE: &str = "loop by hand, no events";
/// An extension trait for closures.
pub const BACKON: &str = "backon";
/// The same as an attribute.
pub const BACKON_MACROS: &str = "backon-macros";
/// A strategy and a closure.
pub const TOKIO_RETRY2: &str = "tokio-retry2";
/// An attribute with a configuration and a predicate.
pub const RETRY_IF: &str = "retry-if";
/// Our breaker, which opens after consecutive failures.
pub const BREAKER: &str = "`CircuitBreaker`";
/// Our breaker, which opens at a failure rate.
pub const BREAKER_BY_RATE: &str = "`CircuitBreaker` by rate";
/// Our breaker of a family, looked up by key for each call.
pub const BREAKER_BY_KEY: &str = "`Breakers` by key";
/// Layers of a crate family of its own.
pub const SEATBELT: &str = "seatbelt";
/// tower's own layer.
pub const TOWER_RETRY: &str = "tower::retry";
/// A tower layer.
pub const TOWER_RESILIENCE: &str = "tower-resilience";
/// A circuit breaker behind a mutex.
pub const FAILSAFE: &str = "failsafe";
/// A circuit breaker behind a spin lock.
pub const RECLOSER: &str = "recloser";
