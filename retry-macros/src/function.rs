//! The function under the attribute. Its body remains unparsed tokens: the expansion does not
//! depend on the size of the body, and works with half-typed code.

pub(crate) mod block;
pub(crate) mod consumed;
pub(crate) mod instrumented;
pub(crate) mod moved;
pub(crate) mod types;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{
    AttrStyle, Attribute, FnArg, Ident, Pat, PatIdent, ReceiverKind, ReturnType, Signature, Token,
    Type, Visibility,
};

use crate::tokens::search::{find, is_punct, is_word};

/// A function with a body.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
}

/// Parses the function, or reports why it is not one.
pub(crate) fn parse(item: &TokenStream) -> syn::Result<Function> {
    let mut tokens: Vec<TokenTree> = item.clone().into_iter().collect();
    // Its body is not parsed, so the parser is not even given it.
    let body = match tokens.pop().map(peel) {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => {
            let mut hollow = Group::new(Delimiter::Brace, TokenStream::new());
            hollow.set_span(body.span());
            tokens.push(hollow.into());
            Some(body)
        }
        last => {
            tokens.extend(last);
            None
        }
    };
    let parse = |input: ParseStream| parse_function(input, body);
    let parsed = parse.parse2(tokens.into_iter().collect());
    parsed.map_err(|error| not_a_function(item.clone(), error))
}

/// Parses the function, whose last token stands for the `body`.
fn parse_function(input: ParseStream, body: Option<Group>) -> syn::Result<Function> {
    let mut attrs = input.call(Attribute::parse_outer)?;
    let vis = input.parse()?;
    let sig: Signature = input.parse()?;
    if input.peek(Token![;]) {
        input.parse::<Token![;]>()?;
        return Err(syn::Error::new_spanned(
            &sig.ident,
            "this method has no body to retry: put `#[retry]` on its implementations",
        ));
    }
    match (body, input.parse()?) {
        (Some(body), TokenTree::Group(_)) if input.is_empty() => {
            let body = without_inner_attributes(body, &mut attrs)?;
            Ok(Function { attrs, vis, sig, body })
        }
        (_, other) => Err(syn::Error::new_spanned(other, "expected the body of the function")),
    }
}

/// Unwraps a token from the invisible group that a macro's `$body:block` puts around it.
fn peel(token: TokenTree) -> TokenTree {
    if let TokenTree::Group(group) = &token {
        let mut inside = group.stream().into_iter();
        if let (Delimiter::None, Some(only), None) =
            (group.delimiter(), inside.next(), inside.next())
        {
            return peel(only);
        }
    }
    token
}

/// Moves the inner attributes of a body, `#![…]`, to the function, because the body is about to
/// become a block inside another.
fn without_inner_attributes(body: Group, attrs: &mut Vec<Attribute>) -> syn::Result<Group> {
    let mut tokens = body.stream().into_iter();
    if !is_punct(tokens.next().as_ref(), '#') || !is_punct(tokens.next().as_ref(), '!') {
        return Ok(body);
    }
    let split = |input: ParseStream| {
        let inner = input.call(Attribute::parse_inner)?;
        Ok((inner, input.parse::<TokenStream>()?))
    };
    let (inner, statements) = split.parse2(body.stream())?;
    attrs.extend(inner.into_iter().map(|attr| Attribute { style: AttrStyle::Outer, ..attr }));
    let mut outer = Group::new(Delimiter::Brace, statements);
    outer.set_span(body.span());
    Ok(outer)
}

/// The first two tokens behind the attributes and the visibility of an item.
fn beginning(item: TokenStream) -> (Option<TokenTree>, Option<TokenTree>) {
    let mut tokens = item.into_iter().peekable();
    loop {
        match tokens.next() {
            Some(TokenTree::Punct(punct)) if punct.as_char() == '#' => drop(tokens.next()),
            Some(TokenTree::Ident(word)) if word == "pub" => {
                tokens.next_if(|next| matches!(next, TokenTree::Group(_)));
            }
            // The visibility of an item that a macro wrote.
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => {}
            first => return (first, tokens.next()),
        }
    }
}

/// A token as text; a block as its bracket.
fn text(token: Option<&TokenTree>) -> String {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => "{".to_owned(),
        token => token.map(ToString::to_string).unwrap_or_default(),
    }
}

/// Returns whether this is an expression or a statement. An error before it would be part of it,
/// and a mistake of its own.
pub(crate) fn is_inside_function(item: &TokenStream) -> bool {
    let (first, second) = beginning(item.clone());
    matches!(
        (&*text(first.as_ref()), &*text(second.as_ref())),
        ("|" | "{" | "move" | "let", _) | ("async", "|" | "move")
    )
}

/// The error for an item that could not be parsed: its own if it is a function, half-typed perhaps.
fn not_a_function(item: TokenStream, error: syn::Error) -> syn::Error {
    if item.clone().into_iter().any(|token| is_word(Some(&token), "fn")) {
        return error;
    }
    let place = match beginning(item).0 {
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => group.span_open(),
        Some(first) => first.span(),
        None => error.span(),
    };
    syn::Error::new(
        place,
        "`#[retry]` goes on an `async fn`, or a `fn` with a body; an expression is retried by \
         `retrying!(name = \"…\", …, async { … })`, and a closure by a `Retrier`",
    )
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

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
        if sig.asyncness.is_some() {
            return Ok(Form::Async);
        }
        let ReturnType::Type(_, declared) = &sig.output else { return Ok(Form::Sync) };
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

/// The statements of a body, to be placed after others: in a block of their own if they begin with
/// an item, because lints want items before statements.
pub(crate) fn statements_of(body: &Group) -> TokenStream {
    const ITEMS: &[&str] = &[
        "async",
        "const",
        "enum",
        "extern",
        "fn",
        "impl",
        "macro_rules",
        "mod",
        "static",
        "struct",
        "trait",
        "type",
        "use",
    ];
    let first = text(beginning(body.stream()).0.as_ref());
    if !ITEMS.contains(&&*first) {
        return body.stream();
    }
    let mut block = Group::new(Delimiter::Brace, body.stream());
    block.set_span(body.span());
    TokenTree::Group(block).into()
}

/// Returns where `mut name` begins, if these tokens declare that.
pub(crate) fn position_of_mut(tokens: &[TokenTree], name: &str) -> Option<usize> {
    let is = |at, word| is_word(tokens.get(at), word);
    (0..tokens.len()).find(|&at| is(at, "mut") && is(at + 1, name))
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

/// Visits each name that a pattern binds.
pub(crate) fn for_each_binding(pat: &mut Pat, visit: &mut dyn FnMut(&mut PatIdent)) {
    match pat {
        Pat::Ident(bound) => {
            visit(bound);
            if let Some((_, sub)) = &mut bound.subpat {
                for_each_binding(sub, visit);
            }
        }
        Pat::Paren(paren) => for_each_binding(&mut paren.pat, visit),
        Pat::Reference(reference) => for_each_binding(&mut reference.pat, visit),
        Pat::Tuple(tuple) => tuple.elems.iter_mut().for_each(|pat| for_each_binding(pat, visit)),
        Pat::TupleStruct(tuple) => {
            tuple.elems.iter_mut().for_each(|pat| for_each_binding(pat, visit));
        }
        Pat::Slice(slice) => slice.elems.iter_mut().for_each(|pat| for_each_binding(pat, visit)),
        Pat::Or(or) => or.cases.iter_mut().for_each(|pat| for_each_binding(pat, visit)),
        Pat::Struct(pat) => {
            pat.fields.iter_mut().for_each(|field| for_each_binding(&mut field.pat, visit));
        }
        _ => {}
    }
}

/// Returns whether the argument is a `&mut self`, the only receiver that is captured by
/// reborrowing.
pub(crate) fn is_mut_self(arg: &FnArg) -> bool {
    matches!(arg, FnArg::Receiver(receiver) if matches!(receiver.kind, ReceiverKind::Reference(_, _, Some(_))))
}

/// Clippy ignores code generated by macros, so its expected lints would go unfulfilled: turns
/// `#[expect(clippy::…)]` into an `allow`.
pub(crate) fn allow_what_clippy_is_expected_to_say(attribute: &mut Attribute) {
    let syn::Meta::List(list) = &mut attribute.meta else { return };
    if list.path.is_ident("expect") && find(list.tokens.clone(), "clippy").is_some() {
        list.path = Ident::new("allow", proc_macro2::Span::mixed_site()).into();
    }
}
