//! Empty: the tests are in `tests/`. But the code blocks of the pages are compiled from here.

/// Makes the code blocks of each page doctests.
macro_rules! pages {
    ($($page:ident: $file:literal;)*) => {$(
        #[cfg(doctest)]
        #[doc = include_str!($file)]
        pub struct $page;
    )*};
}

pages! {
    Readme: "../../README.md";
    Migrating: "../../docs/MIGRATING.md";
    Workflow: "../../jobs/retry-workflow/README.md";
    Policies: "../../retry-runtime/src/guide/policies.md";
    Errors: "../../retry-runtime/src/guide/errors.md";
    Breakers: "../../retry-runtime/src/guide/breakers.md";
    Hedging: "../../retry-runtime/src/guide/hedging.md";
    Observing: "../../retry-runtime/src/guide/observing.md";
    Watching: "../../retry-runtime/src/guide/watching.md";
    Overrides: "../../retry-runtime/src/guide/overrides.md";
    Servers: "../../retry-runtime/src/guide/servers.md";
    Http: "../../retry-runtime/src/guide/http.md";
    Files: "../../retry-runtime/src/guide/files.md";
    Closures: "../../retry-runtime/src/guide/closures.md";
    Testing: "../../retry-runtime/src/guide/testing.md";
    Cancellation: "../../retry-runtime/src/guide/cancellation.md";
    Nested: "../../retry-runtime/src/guide/nested.md";
    Libraries: "../../retry-runtime/src/guide/libraries.md";
}
