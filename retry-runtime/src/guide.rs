//! Pages on how to choose, protect, observe, change and test retries.
//!
//! The pages in reading order; all options are listed at [`retry`](macro@crate::retry):
//!
//! 1. [`policies`]: a policy for a service, four bounds in time, values known only at runtime
//! 2. [`errors`]: the failures that are retried
//! 3. [`servers`] and [`http`]: waits that servers ask for, `Retry-After`, reqwest, tower
//! 4. [`breakers`]: breakers and quotas that calls share
//! 5. [`hedging`]: a second attempt beside a slow one
//! 6. [`files`] and [`overrides`]: policies from a configuration, and changes at runtime
//! 7. [`closures`]: retries without the attribute
//! 8. [`observing`] and [`watching`]: events, metrics, Grafana, alerts
//! 9. [`testing`]: tests without waits
//! 10. [`cancellation`] and [`nested`]: dropped futures, and retries inside retries
//! 11. [`libraries`]: a library that retries
//! 12. [`beside`]: limits, caches, layers and spans of other crates
//! 13. [`compiler_errors`]: rustc's messages, and what to write
//! 14. [`costs`] and [`comparison`]: figures, sizes of programs, and other libraries

/// Creates a module for each page. The links of a page name files, and its last lines define them
/// for readers of the repository. The definitions in `links.txt` come first, so rustdoc links to
/// modules. Rustdoc breaks code anywhere in a narrow table: on a phone, a first column of names
/// would be a few letters wide.
macro_rules! pages {
    ($($(#[$about:meta])* $page:ident: $file:literal;)*) => {$(
        $(#[$about])*
        ///
        #[doc = include_str!("guide/links.txt")]
        #[doc = concat!("[pictures/breaker.svg]: ", include_str!("guide/pictures/breaker.uri"))]
        #[doc = concat!("[pictures/decisions.svg]: ", include_str!("guide/pictures/decisions.uri"))]
        ///
        #[doc = "<style>.docblock td:first-child:has(code) { min-width: 9em }</style>"]
        ///
        #[doc = include_str!($file)]
        pub mod $page {}
    )*};
}

pages! {
    /// A policy for a service, the four limits on time, values known only at runtime.
    policies: "guide/policies.md";
    /// The failures that are retried: kinds of failure, clients by type, errors of one's own.
    errors: "guide/errors.md";
    /// Breakers, one for each host, settings from a configuration; quotas.
    breakers: "guide/breakers.md";
    /// A second attempt beside one that is slow to answer.
    hedging: "guide/hedging.md";
    /// Reports, events, metrics.
    observing: "guide/observing.md";
    /// A dashboard for Grafana, alerts for Prometheus.
    watching: "guide/watching.md";
    /// Policies that change while the program runs.
    overrides: "guide/overrides.md";
    /// Waits, limits and quotas of servers.
    servers: "guide/servers.md";
    /// `Retry-After`, reqwest, tower.
    http: "guide/http.md";
    /// Policies, breakers and quotas from a configuration.
    files: "guide/files.md";
    /// Retries of closures: `Retrier`.
    closures: "guide/closures.md";
    /// Tests of code that retries.
    testing: "guide/testing.md";
    /// The effects of a dropped future, `cancel`, a panic and a deadline.
    cancellation: "guide/cancellation.md";
    /// Functions that retry, called by functions that retry.
    nested: "guide/nested.md";
    /// Features, re-exports, names and versions for a library that retries.
    libraries: "guide/libraries.md";
    /// A semaphore, governor, moka, layers of tower, an adaptive limit, faults on purpose, spans.
    beside: "guide/beside.md";
    /// Messages of rustc, and what to write.
    compiler_errors: "guide/compiler_errors.md";
    /// Figures compared with hand-written loops and other libraries, the size of a program, and the
    /// build time of each feature.
    costs: "guide/costs.md";
    /// Other libraries: backon, tower, tokio-retry2, resilience4j, tower-resilience, seatbelt.
    comparison: "guide/comparison.md";
}
