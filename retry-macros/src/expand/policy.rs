//! The policy as a `const` expression, and `policy!( … )`.

use proc_macro2::TokenStream;
use quote::ToTokens;

use retry_rules::{Fields, Rule};
use syn::spanned::Spanned as _;

use crate::args::{Args, PolicyArgs, Syntax};
use crate::tokens::errors::Errors;
use crate::tokens::hygiene::{SpanRange, quote};
use crate::value::runtime::Scope;

/// Expands `policy!(attempts = 5, …)` to an expression that is valid in a `const`.
pub(crate) fn policy(tokens: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    let args = Args::parse(tokens, Syntax::Policy, &mut Scope::default(), &mut errors);
    let checked = args.check(&mut errors);
    let policy = expression(&args.policy, checked.wrong);
    let assertions = assertions(&checked.unchecked, false, |rules| {
        let written = written(checked.written);
        quote!(__retry::complaint(__retry::Rules::broken_by_policy(&POLICY, #written), #rules))
    });
    let import = import(&args);
    let errors = errors.into_tokens();
    // Input:  attempts = N, jitter
    // Output: { use retry_runtime::__private as __retry;
    //           const POLICY: Policy = Policy::new().attempts(N).jitter(…);
    //           const _: () = /* the rules that read N */; POLICY }
    quote!({
        #errors
        #import
        const POLICY: __retry::Policy = #policy;
        #assertions
        POLICY
    })
}

/// Imports the runtime's module that expansions call, under a short name: tokens cost compile time.
pub(crate) fn import(args: &Args) -> TokenStream {
    match &args.krate {
        Some(path) => quote!(use #path::__private as __retry;),
        None => quote!(
            use ::retry_runtime::__private as __retry;
        ),
    }
}

/// The policy as a chain of builder calls, without the fields that are `wrong` or known only at run
/// time.
pub(crate) fn expression(args: &PolicyArgs, wrong: Fields) -> TokenStream {
    let start = match args.constant_base() {
        // Checked to be a `Policy` here, so that a mistake is reported on its own tokens.
        Some(base) => SpanRange::of(base).call(quote!(__retry::shared), base),
        None => quote!(__retry::POLICY),
    };
    let calls = args.settings.calls(wrong);
    quote!(#start #calls)
}

/// The policy as known at runtime: the `constant` part, and the rest.
pub(crate) fn runtime_expression(
    args: &PolicyArgs,
    wrong: Fields,
    constant: &TokenStream,
) -> TokenStream {
    let runtime = args.settings.calls_of(wrong, |entry| !entry.value.runtime.is_empty());
    match args.runtime_base() {
        Some(base) => {
            let base = base.call("policy");
            let calls = args.settings.calls(wrong);
            quote!(#base #calls #runtime)
        }
        None => quote!(#constant #runtime),
    }
}

/// A set of fields as tokens.
pub(crate) fn written(fields: Fields) -> TokenStream {
    let bits = fields.bits();
    quote!(__retry::Fields::from_bits(#bits))
}

/// Fails the build, with the error located at `blamed`, if `complaint` returns a message.
pub(crate) fn assertion(
    blamed: &impl ToTokens,
    generic: bool,
    complaint: &TokenStream,
) -> TokenStream {
    let place = SpanRange::of(blamed);
    // Imported under another name: for the error to span the whole call, all of it must have the
    // same hygiene, and `$crate` has a different one.
    let fail = place.call(quote!(__retry_fail), quote!(message));
    let assertion = quote! {
        use __retry::const_panic as __retry_fail;
        if let __retry::Some(message) = #complaint { #fail }
    };
    // An item cannot refer to the generic parameters around it, but a block can.
    if generic {
        let block = place.block(quote!(const), assertion);
        quote!(#block;)
    } else {
        quote!(const _: () = { #assertion };)
    }
}

/// One assertion for each expression that const evaluation has to judge, with the error located at
/// that expression. `complaint` turns the list of rules into an expression that returns a message
/// if one is broken.
pub(crate) fn assertions(
    unchecked: &[(Rule, TokenStream)],
    generic: bool,
    complaint: impl Fn(TokenStream) -> TokenStream,
) -> TokenStream {
    let mut blamed: Vec<(String, &TokenStream, Vec<TokenStream>)> = Vec::new();
    for (rule, tokens) in unchecked {
        let name = quote::format_ident!("{rule:?}");
        let path = quote!(__retry::Rule::#name);
        // Equal tokens may occur in two places, so their location is part of the key.
        let place = format!("{:?} {tokens}", tokens.span());
        match blamed.iter_mut().find(|(other, ..)| *other == place) {
            Some((.., rules)) => rules.push(path),
            None => blamed.push((place, tokens, vec![path])),
        }
    }
    blamed
        .into_iter()
        .map(|(_, tokens, rules)| {
            let complaint = complaint(quote!(&[#(#rules),*]));
            assertion(tokens, generic, &complaint)
        })
        .collect()
}
