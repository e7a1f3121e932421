#![doc = include_str!("guide/links.txt")]
//!
#![doc = include_str!("../WORKFLOWS.md")]

/// Creates a module for each page. The links of a page name files, and its last lines define them
/// for readers of the repository. The definitions in `links.txt` come first, so rustdoc links to
/// modules.
macro_rules! pages {
    ($($(#[$about:meta])* $page:ident: $file:literal;)*) => {$(
        $(#[$about])*
        ///
        #[doc = include_str!("guide/links.txt")]
        ///
        #[doc = include_str!($file)]
        pub mod $page {}
    )*};
}

pages! {
    /// Commands in order, steps for each item, a graph of tasks.
    modes: "guide/modes.md";
    /// All keys of a file and of `map`.
    keys: "guide/keys.md";
    /// Commands, captured outputs, conditions, tasks.
    steps: "guide/steps.md";
    /// Attempts, backoff, and the failures that are retried.
    retries: "guide/retries.md";
    /// `Retry-After`, and steps that are not ready.
    waits: "guide/waits.md";
    /// Fallbacks, repairs, `error_policy`, handlers.
    failures: "guide/failures.md";
    /// Starts per second, items of a kind at a time, priorities, machines without resources.
    limits: "guide/limits.md";
    /// Start times, jobs after other jobs, cron and systemd, `on_finish`.
    schedule: "guide/schedule.md";
    /// Files, commands and stdin as input; filters; ids.
    items: "guide/items.md";
    /// Placeholders, and safe values in commands.
    values: "guide/values.md";
    /// Variables of commands, and secrets.
    variables: "guide/variables.md";
    /// Output files, a log, events.
    recording: "guide/recording.md";
    /// Crashes, `resume`, edited files, exit codes.
    crashes: "guide/crashes.md";
    /// A file or a Postgres server.
    stores: "guide/stores.md";
    /// Pages that show the jobs.
    board: "guide/board.md";
}
