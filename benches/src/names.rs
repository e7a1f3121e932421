//! The contenders' names, as the table shows them.

/// The attribute.
pub const ATTRIBUTE: &str = "`#[retry]`";
/// The closure form of the same.
pub const RETRIER: &str = "`Retrier`";
/// The layer of tower of the same.
pub const RETRY_LAYER: &str = "`RetryLayer`";
/// The function without any retries: the floor.
pub const BARE: &str = "no retries";
/// A loop with delays and the events that the attribute reports.
pub const BY_HAND: &str = "loop by hand";
/// A loop with delays that reports nothing.
pub const BY_HAND_MUTE: &str = "loop by hand, no events";
/// An extension of closures.
pub const BACKON: &str = "backon";
/// The same, as an attribute.
pub const BACKON_MACROS: &str = "backon-macros";
/// A strategy and a closure.
pub const TOKIO_RETRY2: &str = "tokio-retry2";
/// An attribute with a configuration and a predicate.
pub const RETRY_IF: &str = "retry-if";
/// Ours, opened by failures in a row.
pub const BREAKER: &str = "`CircuitBreaker`";
/// Ours, opened by the share of failures.
pub const BREAKER_BY_RATE: &str = "`CircuitBreaker` by rate";
/// Ours, one of a family, looked up by its key for each call.
pub const BREAKER_BY_KEY: &str = "`Breakers` by key";
/// tower's own layer.
pub const TOWER_RETRY: &str = "tower::retry";
/// Layers of tower.
pub const TOWER_RESILIENCE: &str = "tower-resilience";
/// A circuit breaker behind a mutex.
pub const FAILSAFE: &str = "failsafe";
/// A circuit breaker behind a spin lock.
pub const RECLOSER: &str = "recloser";
