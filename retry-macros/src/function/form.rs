//! The form in which a function runs, and the parts of one that returns a boxed future.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{Ident, ReturnType, Type};

use super::{Function, types};
use crate::tokens::search::{find, is_word};
use crate::tokens::text::token_text;

/// The form in which the function runs.
pub(crate) enum Form {
    Async,
    Sync,
    /// `fn … -> Pin<Box<dyn Future<Output = R>>> { Box::pin(async move { … }) }`, which is how
    /// `#[async_trait]` rewrites a method.
    Boxed(Box<Boxed>),
}

/// The parts of a boxed body.
pub(crate) struct Boxed {
    /// The output of the future.
    pub(crate) output: Type,
    /// `Box::pin`, and anything before it.
    pub(crate) before: TokenStream,
    /// `async move`.
    pub(crate) keywords: TokenStream,
    /// Statements that run once, before the first attempt.
    pub(crate) once: TokenStream,
    /// The block to retry.
    pub(crate) attempt: Group,
}

impl Function {
    /// Rewrites options for use in the body: `#[async_trait]` has moved `self` into its `__self`.
    pub(crate) fn as_in_body(&self, options: TokenStream) -> TokenStream {
        match self.form() {
            Ok(Form::Boxed(boxed)) => match find(boxed.once, "__self") {
                Some(this) => replace_self(options, &this),
                None => options,
            },
            _ => options,
        }
    }

    /// The type that an attempt returns, if one is written.
    pub(crate) fn returned<'a>(&'a self, form: &'a Form) -> Option<&'a Type> {
        match (form, &self.sig.output) {
            (Form::Boxed(boxed), _) => Some(&boxed.output),
            (_, ReturnType::Type(_, ty)) => Some(ty),
            (_, ReturnType::Default) => None,
        }
    }

    /// Returns how the function runs, or why it cannot be retried.
    pub(crate) fn form(&self) -> syn::Result<Form> {
        let sig = &self.sig;
        if let Some(constness) = &sig.constness {
            return Err(syn::Error::new_spanned(
                constness,
                "a `const fn` cannot wait: remove `const`, or `#[retry]`",
            ));
        }
        let declared = match &sig.output {
            ReturnType::Type(_, declared) => Some(declared),
            ReturnType::Default => None,
        };
        if let Some(error @ Type::TraitObject(_)) = declared.and_then(|ty| types::error_of(ty)) {
            let boxed = token_text(error);
            let message = format!("a `dyn` type has no size: write `Box<{boxed}>`");
            return Err(syn::Error::new_spanned(error, message));
        }
        if sig.asyncness.is_some() {
            return Ok(Form::Async);
        }
        let Some(declared) = declared else { return Ok(Form::Sync) };
        let future = match &**declared {
            Type::ImplTrait(imp) => types::future_output(&imp.bounds),
            _ => None,
        };
        if future.is_some() {
            return Err(syn::Error::new_spanned(
                declared,
                "this function returns a future, and creating a future never fails: write `async \
                 fn`, with the output of the future as the return type",
            ));
        }
        match types::boxed_output(declared) {
            Some(output) => match unbox(&self.body, output) {
                Some(boxed) => Ok(Form::Boxed(Box::new(boxed))),
                None => Err(syn::Error::new_spanned(
                    declared,
                    "this function returns a boxed future, and creating a future never fails: \
                     write `async fn`, or make the body a single `Box::pin(async move { … })`",
                )),
            },
            None => Ok(Form::Sync),
        }
    }
}

/// Replaces each `self` with `this`, keeping its place.
fn replace_self(tokens: TokenStream, this: &Ident) -> TokenStream {
    tokens
        .into_iter()
        .map(|token| match token {
            TokenTree::Ident(ident) if ident == "self" => {
                let mut this = this.clone();
                this.set_span(ident.span().resolved_at(this.span()));
                this.into()
            }
            TokenTree::Group(group) => {
                let mut inside = Group::new(group.delimiter(), replace_self(group.stream(), this));
                inside.set_span(group.span());
                inside.into()
            }
            token => token,
        })
        .collect()
}

/// Takes `Box::pin(async move { once; let __ret: R = { attempt }; __ret })` apart.
fn unbox(body: &Group, output: Type) -> Option<Boxed> {
    let mut tokens: Vec<TokenTree> = body.stream().into_iter().collect();
    let TokenTree::Group(arguments) = tokens.pop()? else { return None };
    if !is_word(tokens.last(), "pin") || arguments.delimiter() != Delimiter::Parenthesis {
        return None;
    }
    let mut inside: Vec<TokenTree> = arguments.stream().into_iter().collect();
    let TokenTree::Group(block) = inside.pop()? else { return None };
    if !is_word(inside.first(), "async") || block.delimiter() != Delimiter::Brace {
        return None;
    }
    let (once, attempt) = split_block(&block);
    Some(Boxed {
        output,
        before: tokens.into_iter().collect(),
        keywords: inside.into_iter().collect(),
        once,
        attempt,
    })
}

/// `#[async_trait]` moves the arguments into the future with statements before `let __ret: R = { …
/// };`: these run once, and only that block is retried. Any other block is retried as a whole.
fn split_block(block: &Group) -> (TokenStream, Group) {
    let tokens: Vec<TokenTree> = block.stream().into_iter().collect();
    let is = |at, word| is_word(tokens.get(at), word);
    let start = (0..tokens.len()).rev().find(|&at| is(at, "let") && is(at + 1, "__ret"));
    let Some(start) = start else { return (TokenStream::new(), block.clone()) };
    let attempt = tokens[start..].iter().find_map(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Some(group.clone()),
        _ => None,
    });
    match attempt {
        Some(attempt) => (tokens[..start].iter().cloned().collect(), attempt),
        None => (TokenStream::new(), block.clone()),
    }
}
