//! One attempt: the body in its own block, and how it accesses the arguments.

use proc_macro2::{Group, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{FnArg, Ident, Pat, ReceiverKind, Signature, Token, Type};

use super::{Expansion, TimeoutMode};
use crate::function::{self, Boxed, types};
use crate::tokens::hygiene::{SpanRange, braces, quote};
use crate::tokens::search::{any_token, find, is_punct, mentions};

impl Expansion<'_> {
    /// Adds `mut` to the arguments that the attempt captures by mutable reference, and returns them.
    ///
    /// A shared reference held across an `.await` requires the argument to be `Sync`, while the
    /// plain function only requires `Send`. So does a mutable reference.
    pub(super) fn prepare_arguments(&self, sig: &mut Signature, body: &Group) -> Vec<TokenStream> {
        let mut captures = Vec::new();
        if self.is_in_place() || self.is_hedged() {
            return captures;
        }
        for input in &mut sig.inputs {
            let uses_self = || mentions(body.stream(), &|word| word == "self");
            match input {
                // A value borrowed from `self`, such as a breaker, leaves only the other fields to
                // the body.
                FnArg::Receiver(_) if self.borrows_self() => {}
                FnArg::Receiver(receiver) => match receiver.kind {
                    ReceiverKind::Reference(_, _, Some(_)) if uses_self() && !self.may_lend() => {
                        let this = &receiver.self_token;
                        captures.push(quote!(*#this));
                    }
                    ReceiverKind::Value | ReceiverKind::Typed(..) if uses_self() => {
                        let here = receiver.self_token.span;
                        receiver.mutability.get_or_insert(Token![mut](here));
                        captures.push(receiver.self_token.to_token_stream());
                    }
                    _ => {}
                },
                FnArg::Typed(argument) => {
                    // Capturing a shared reference works as it is; an argument under `#[cfg]` may
                    // not exist; and in a pattern, `mut` may change the binding mode, since the
                    // matched value may be a reference.
                    let plain = argument.attrs.is_empty()
                        && !types::is_shared_reference(&argument.ty)
                        && !(types::is_mut_reference(&argument.ty) && self.may_lend());
                    let Pat::Ident(pat) = &mut *argument.pat else { continue };
                    if plain
                        && pat.by_ref.is_none()
                        && !self.cancel_borrows(&pat.ident)
                        && mentions(body.stream(), &|word| pat.ident == word)
                    {
                        // With the user's span on the whole pattern, the compiler names the
                        // argument in its errors.
                        pat.mutability.get_or_insert(Token![mut](pat.ident.span()));
                        captures.push(pat.ident.to_token_stream());
                    }
                }
            }
        }
        captures
    }

    /// Returns whether the returned value may borrow from a `&mut` argument that the body only
    /// reads: a unique borrow of that argument would end with the attempt.
    fn may_lend(&self) -> bool {
        types::borrows(self.declared.to_token_stream())
    }

    /// Removes `mut` from the arguments that are cloned for each attempt, and returns those that
    /// had it: their clones will.
    pub(super) fn prepare_clones(&self, sig: &mut Signature) -> Vec<Ident> {
        let mut mutable = Vec::new();
        for input in &mut sig.inputs {
            let FnArg::Typed(argument) = input else { continue };
            function::for_each_binding(&mut argument.pat, &mut |bound| {
                if self.args.clone.contains(&bound.ident) && bound.mutability.take().is_some() {
                    mutable.push(bound.ident.clone());
                }
            });
        }
        mutable
    }

    /// Does both for a boxed body, whose own statements have moved the arguments into the future:
    /// the arguments are rebound after these statements. Returns the arguments that are captured,
    /// those that were declared `mut`, and the statements.
    pub(super) fn rebind_arguments(
        &self,
        sig: &mut Signature,
        boxed: &Boxed,
    ) -> (Vec<TokenStream>, Vec<Ident>, TokenStream) {
        let (mut captures, mut mutable) = (Vec::new(), self.prepare_clones(sig));
        let (mut once, moved) = function::moved::without_mut(boxed.once.clone(), &self.clones);
        mutable.extend(moved);
        if boxed.once.is_empty() {
            return (captures, mutable, once);
        }
        let in_place = self.is_in_place() || self.is_hedged();
        for input in &mut sig.inputs {
            if function::is_mut_self(input)
                && !in_place
                && !self.may_lend()
                && !self.borrows_self()
                && mentions(boxed.attempt.stream(), &|word| word == "__self")
            {
                let this = Ident::new("__self", boxed.attempt.span());
                let this = find(boxed.attempt.stream(), &this.to_string()).unwrap_or(this);
                captures.push(quote!(*#this));
            }
            let FnArg::Typed(argument) = input else { continue };
            if types::is_shared_reference(&argument.ty)
                || types::is_mut_reference(&argument.ty) && self.may_lend()
            {
                continue;
            }
            if let Pat::Ident(pat) = &*argument.pat {
                if let Some(name) = find(boxed.attempt.stream(), &pat.ident.to_string()) {
                    let is_shared = in_place && !self.args.clone.contains(&pat.ident);
                    if is_shared || self.cancel_borrows(&pat.ident) {
                        continue;
                    }
                    let (statements, moved) = function::moved::without_mut(once, &[&name]);
                    mutable.extend(moved);
                    once = statements;
                    if in_place {
                        continue;
                    }
                    // Located at the argument, for the compiler's messages about it.
                    let mut bound = name.clone();
                    bound.set_span(pat.ident.span().resolved_at(name.span()));
                    let mutability = Token![mut](bound.span());
                    once = quote!(#once let #mutability #bound = #name;);
                    captures.push(name.to_token_stream());
                }
            }
        }
        (captures, mutable, once)
    }

    /// Clones what the body consumes, for each attempt.
    pub(super) fn clones(&self, mutable: &[Ident]) -> TokenStream {
        self.clones
            .iter()
            .map(|name| {
                let mutability = mutable.contains(name).then(|| quote!(mut));
                let place = SpanRange::of(name);
                let argument = place.locate(quote!(&#name));
                let clone = place.call(
                    quote!(<__retry::NextAttempt as __retry::HasClone<_, _>>::cloned),
                    argument,
                );
                quote!(#[allow(clippy::shadow_reuse)] let #mutability #name = #clone;)
            })
            .collect()
    }

    pub(super) fn async_attempt(
        &self,
        captures: &[TokenStream],
        mutable: &[Ident],
        body: &Group,
    ) -> TokenStream {
        if self.is_in_place() {
            return self.attempt_in_place(mutable, body);
        }
        let clones = self.clones(mutable);
        let body_type = self.body_type();
        let injection = self.injection(&quote!(return injected;));
        let context = self.context_of_hedge();
        // The `return` is never reached: from it the compiler infers the type of `?` and `return`,
        // and how to capture the arguments.
        let block = in_block_of(
            body,
            quote! {
                if false {
                    #(let _ = &mut #captures;)*
                    return __retry::never_return::<#body_type>();
                }
                #injection
                #context
                #clones
            },
        );
        // With the span at the start of the body, a value that the attempt consumes is reported
        // there.
        let asyncness = Token![async](body.span_open());
        let mut attempt = quote!(#asyncness #block);
        if self.returns_retry_error() {
            attempt = quote!(__retry::AttemptResultFuture::new(#attempt));
        }
        if self.args.nested_once {
            attempt = quote!(__retry::Session::inside(&session, #attempt));
        }
        if self.is_hedged() {
            attempt = self.hedged(&attempt);
        }
        match self.timeout_mode {
            TimeoutMode::Never | TimeoutMode::BetweenAttempts => quote!(#attempt.await),
            TimeoutMode::Always | TimeoutMode::ByPolicy | TimeoutMode::AtRuntime { .. } => {
                let session = self.return_place.locate(quote!(&session));
                let arguments = quote!(#session, #attempt);
                let limited = self.on_return_type(&quote!(Session::limit), &arguments);
                // Bound first: in a call, the compiler would report an argument.
                let outcome = self.on_error_type(&quote!(LimitOutcome::outcome));
                let outcome = quote!({
                    let outcome = #outcome;
                    outcome(&mut session.timer, limited)
                });
                let outcome = self.end_of_limit(outcome);
                quote!({
                    let limited = #limited.await;
                    #outcome
                })
            }
        }
    }

    pub(super) fn sync_attempt(&self, mutable: &[Ident], body: &Group) -> TokenStream {
        if self.is_in_place() {
            return self.attempt_in_place(mutable, body);
        }
        let clones = self.clones(mutable);
        let body_type = self.body_type();
        let injection = self.injection(&quote!(return injected;));
        let block = in_block_of(body, quote!(#injection #clones));
        let bars = Token![||](body.span_open());
        let mut attempt = quote!((#bars -> #body_type #block)());
        if self.args.nested_once {
            attempt = quote!({
                let _inside = __retry::Session::guard(&session);
                #attempt
            });
        }
        if self.returns_retry_error() { quote!(__retry::attempt_result(#attempt)) } else { attempt }
    }

    fn attempt_in_place(&self, mutable: &[Ident], body: &Group) -> TokenStream {
        let clones = self.clones(mutable);
        let injection = self.injection(&quote!(break 'attempt injected;));
        let statements = function::statements_of(body);
        let label = (injection.is_some() && self.error_is_known).then(|| quote!('attempt:));
        let attempt = quote!(#label { #injection #clones #statements });
        if !self.returns_retry_error() {
            return attempt;
        }
        let body_type = self.body_type();
        quote!({
            let attempt: #body_type = #attempt;
            __retry::attempt_result(attempt)
        })
    }

    fn body_type(&self) -> &Type {
        self.body_type.as_ref().unwrap_or(&self.declared)
    }

    /// With the feature `testing`: a failure planned by a test, in place of the body, which it
    /// `leave`s early. It is finished before the body begins, so that it adds nothing to the
    /// future.
    fn injection(&self, leave: &TokenStream) -> Option<TokenStream> {
        if !cfg!(feature = "testing") {
            return None;
        }
        let body_type = self.body_type();
        if !self.error_is_known {
            return Some(quote!(
                __retry::for_tests! { __retry::inject::reject_injection(&__RETRY_SITE); }
            ));
        }
        Some(quote! {
            __retry::for_tests! {
                if let __retry::Some(injected) = {
                    #[allow(unused_imports)]
                    use __retry::inject::*;
                    (&Returns::<#body_type>::this()).__injected(&__RETRY_SITE)
                } {
                    #leave
                }
            }
        })
    }
}

/// The block of a body, with `first` inserted before its statements.
fn in_block_of(body: &Group, first: TokenStream) -> Group {
    let mut statements = first;
    statements.extend(function::statements_of(body));
    braces(statements, body.span())
}

/// Returns whether a body could stand directly in the loop, because nothing in it can exit it
/// early: a separate future or closure costs more compile time than the rest of the loop. This
/// excludes bodies that consume one of the `owned` values: the compiler's advice about a move in a
/// loop is useless to someone who cannot see the loop.
pub(super) fn may_be_in_place(body: &Group, owned: &[String]) -> bool {
    !may_leave(body.stream()) && !may_consume(body.stream(), owned)
}

/// Returns whether anything in a body may exit it, judging by its tokens: a macro or an attribute
/// may expand to such code, and a loop may never end.
fn may_leave(body: TokenStream) -> bool {
    any_token(body, &|tokens, at| match &tokens[at] {
        TokenTree::Punct(punct) => matches!(punct.as_char(), '?' | '#'),
        TokenTree::Ident(ident) => {
            let is_macro = is_punct(tokens.get(at + 1), '!')
                && matches!(tokens.get(at + 2), Some(TokenTree::Group(_)));
            let word = ident.to_string();
            is_macro || matches!(&*word, "return" | "break" | "continue" | "loop" | "yield")
        }
        _ => false,
    })
}

/// Returns whether one of `names` is used in a body other than after a `&`.
fn may_consume(body: TokenStream, names: &[String]) -> bool {
    let mut is_borrowed = false;
    body.into_iter().any(|token| match token {
        TokenTree::Ident(ident) => {
            let is_one = names.iter().any(|name| ident == name);
            is_one && !std::mem::take(&mut is_borrowed)
        }
        TokenTree::Group(group) => may_consume(group.stream(), names),
        TokenTree::Punct(punct) => {
            is_borrowed = punct.as_char() == '&';
            false
        }
        TokenTree::Literal(_) => false,
    })
}
