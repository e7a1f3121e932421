//! `#[retry(…)]` and `policy!(…)`: a retry policy that is checked while the
//! program is compiled. Use them through `retry-runtime`, which documents them;
//! the code written here calls into that crate.
//!
//! Three steps, each in separate files:
//!
//! - **parse**: `options` (what an option is), `args` and `settings` (a row for each),
//!   `backoff`, `jitter`, `matcher`, `breaker` and `value` (what stands behind them),
//!   `run_time` (which of that only the running program knows),
//!   `item` (the function);
//! - **check**: `check` (the one rule list of `retry-rules`, on literals),
//!   `signature` (whether the options fit the function);
//! - **expand**: `expand` (the loop), `policy` (the policy and what of it
//!   only const evaluation can check), `docs` (the section "Retries"), `ide`
//!   (what an editor completes and explains).

mod args;
mod backoff;
mod breaker;
mod check;
mod docs;
mod errors;
mod expand;
mod grammar;
mod hygiene;
mod ide;
mod item;
mod jitter;
mod matcher;
mod options;
mod policy;
mod run_time;
mod settings;
mod signature;
mod value;

use proc_macro::TokenStream;

/// See `retry_runtime::retry`.
#[proc_macro_attribute]
pub fn retry(args: TokenStream, item: TokenStream) -> TokenStream {
    ide::with_hints(args.into(), |args| expand::retry(args, &item.into())).into()
}

/// See `retry_runtime::policy`.
#[proc_macro]
pub fn policy(args: TokenStream) -> TokenStream {
    ide::with_hints(args.into(), policy::policy).into()
}
