//! `#[retry(…)]` and `policy!(…)`: a retry policy that is checked at compile time. Use them through
//! `retry-runtime`, which documents them; the generated code calls that crate.
//!
//! There are three steps, each in separate files:
//!
//! - **parse**: `options` (what an option is, and the settings of a policy and of a breaker),
//!   `args` (all options of a function), `value` (literals, and which values are known only at
//!   runtime), `function` (the function, and the attempt of `retrying!`);
//! - **check**: `options::check` (applies the one list of rules in `retry-rules` to literals),
//!   `signature` (whether the options fit the function, and what happens to arguments that an
//!   attempt changes);
//! - **expand**: `expand` (the loop, the policy, and the rules that only const evaluation can
//!   check), `docs` (the section "Retries").
//!
//! `tokens` is below all of them. `#[derive(Classify)]` is apart, in `classify`.

mod args;
mod classify;
mod docs;
mod expand;
mod function;
mod options;
mod signature;
mod tokens;
mod value;

use proc_macro::TokenStream;

/// See `retry_runtime::retry`.
#[proc_macro_attribute]
pub fn retry(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::retry(args.into(), &item.into()).into()
}

/// See `retry_runtime::Classify`.
#[proc_macro_derive(Classify, attributes(classify))]
pub fn derive_classify(item: TokenStream) -> TokenStream {
    classify::derive(item.into()).into()
}

/// See `retry_runtime::retrying`.
#[proc_macro]
pub fn retrying(args: TokenStream) -> TokenStream {
    let (options, attempt) = function::block::split(args.into());
    expand::retrying(options, attempt).into()
}

/// See `retry_runtime::policy`.
#[proc_macro]
pub fn policy(args: TokenStream) -> TokenStream {
    expand::policy::policy(args.into()).into()
}
