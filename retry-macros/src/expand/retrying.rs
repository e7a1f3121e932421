//! `retrying!(…)`: the loop around a block of a function instead of around all of it.

use proc_macro2::{Span, TokenStream};
use syn::ReturnType;

use super::Expansion;
use super::policy;
use crate::args::{Args, OnFailure, Syntax};
use crate::function::Form;
use crate::function::block::{self, Block};
use crate::signature;
use crate::tokens::errors::Errors;
use crate::tokens::hygiene::quote;
use crate::tokens::search::{any_token, is_punct, mentions};
use crate::value::runtime::Scope;

/// Expands `retrying!(…)`.
pub(crate) fn retrying(options: TokenStream, attempt: TokenStream) -> TokenStream {
    let mut errors = Errors::new();
    if attempt.is_empty() {
        // The last item may have been meant as the attempt.
        let last = options.into_iter().last();
        errors.push(block::missing(last.map_or_else(Span::call_site, |token| token.span())));
        return block_of(errors);
    }
    let block = block::parse(attempt);
    let mut scope = Scope::of_block();
    let mut args = Args::parse(options, Syntax::Attribute, &mut scope, &mut errors);
    let checked = args.check(&mut errors);
    let block = match block {
        Ok(block) => block,
        Err(error) => {
            errors.push(error);
            return block_of(errors);
        }
    };
    if let Err(error) = args.in_block(&block) {
        errors.push(error);
    }
    if let Err(error) = args.result_type_of(&block) {
        // The loop would add what is unknown of the type.
        errors.push(error);
        return block_of(errors);
    }
    let function = block.as_function();
    let form = if block.asyncness.is_some() { Form::Async } else { Form::Sync };
    signature::check(&args, &function, &[], &form, &mut errors);
    let ReturnType::Type(_, declared) = function.sig.output.clone() else {
        return errors.into_tokens();
    };
    if signature::hides_error(&args, &declared) {
        return block_of(errors);
    }
    let expansion = Expansion::new(&args, &checked, &function, &scope, &form, *declared);
    let attempt = match form {
        Form::Sync => expansion.sync_attempt(&[], &block.body),
        Form::Async | Form::Boxed(_) => expansion.async_attempt(&[], &[], &block.body),
    };
    let checks = expansion.requires_interruption(&function).unwrap_or_default();
    block.with(&policy::import(&args), &expansion.code(errors, &checks, &attempt))
}

fn block_of(errors: Errors) -> TokenStream {
    let errors = errors.into_tokens();
    quote!({ #errors })
}

impl Args {
    /// Checks that these options make sense for a block, and takes the context from its head.
    fn in_block(&mut self, block: &Block) -> syn::Result<()> {
        if let (Some(context), Some(written)) = (&block.context, self.written("context")) {
            return Err(syn::Error::new(
                written.span(),
                format!("the attempt takes its context as `|{context}|`: remove this option"),
            ));
        }
        self.context = self.context.take().or_else(|| block.context.clone());
        (self.clone, self.carry) = (Vec::new(), Vec::new());
        if self.written("name").is_none() {
            return Err(syn::Error::new(
                block.start(),
                "a block has no name of its own, and reports, overrides and tests need one: write \
                 `name = \"shop.connect\"`",
            ));
        }
        let of_functions = [
            (
                "clone",
                "`clone` is for the arguments of a function: in a block, clone what an attempt \
                 consumes at its beginning, as in `let body = body.clone();`",
            ),
            (
                "carry",
                "`carry` is for the arguments of a function: remove it, because the attempts of a \
                 block share its variables anyway",
            ),
            ("docs", "`docs` is for functions: a block has no documentation of its own"),
        ];
        for (option, message) in of_functions {
            if let Some(written) = self.written(option) {
                return Err(syn::Error::new(written.span(), message));
            }
        }
        Ok(())
    }

    /// Checks that the type of the attempt's result is written where the compiler needs it.
    fn result_type_of(&self, block: &Block) -> syn::Result<()> {
        let body = block.body.stream();
        let blamed = if any_token(body.clone(), &|tokens, at| is_punct(tokens.get(at), '?')) {
            "`?` ends the attempt"
        } else if mentions(body, &|word| word == "return") {
            "`return` ends the attempt, not the function around it"
        } else if matches!(self.on_failure, OnFailure::Fallback(_)) {
            "`fallback` ends the call"
        } else {
            return Ok(());
        };
        if matches!(block.output, ReturnType::Type(..)) {
            return Ok(());
        }
        let asyncness = block.asyncness.map_or("", |_| "async ");
        Err(syn::Error::new(
            block.start(),
            format!(
                "{blamed}, and the compiler cannot tell what the attempt returns: \
                 write its type, as in `{asyncness}|| -> Result<T, E> {{ … }}`"
            ),
        ))
    }
}
