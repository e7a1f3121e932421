//! `#[retry(…)]` and `policy!(…)`: a retry policy that is checked while the
//! program is compiled. Use them through `retry-runtime`, which documents them;
//! the code written here calls into that crate.
//!
//! Three steps, each in files of its own:
//!
//! - **parse**: `args` (the options), `curve`, `matcher`, `breaker` and `value`
//!   (what stands behind them), `item` (the function);
//! - **check**: `check` (the one rule list of `retry-policy`, on literals),
//!   `signature` (whether the options fit the function);
//! - **expand**: `expand` (the loop), `policy` (the policy and what of it
//!   only const evaluation can check), `docs` (the section "Retries").

mod args;
mod breaker;
mod check;
mod curve;
mod docs;
mod errors;
mod expand;
mod grammar;
mod hygiene;
mod item;
mod matcher;
mod policy;
mod signature;
mod value;

use proc_macro::TokenStream;

/// See `retry_runtime::retry`.
#[proc_macro_attribute]
pub fn retry(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::retry(args.into(), &item.into()).into()
}

/// See `retry_runtime::policy`.
#[proc_macro]
pub fn policy(args: TokenStream) -> TokenStream {
    policy::policy(args.into()).into()
}
