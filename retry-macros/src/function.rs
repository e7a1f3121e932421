//! The function under the attribute. Its body remains unparsed tokens: the expansion does not
//! depend on the size of the body, and works with half-typed code.

pub(crate) mod block;
pub(crate) mod consumed;
mod form;
pub(crate) mod moved;
pub(crate) mod types;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::{
    AttrStyle, Attribute, FnArg, Ident, Pat, PatIdent, ReceiverKind, Signature, Token, Visibility,
};

pub(crate) use self::form::{Boxed, Form};
use crate::tokens::hygiene::braces;
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
            tokens.push(braces(TokenStream::new(), body.span()).into());
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
    Ok(braces(statements, body.span()))
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
        "`#[retry]` goes on an `async fn`, or a `fn` with a body, such as each method of an `impl`; an \
         expression is retried by `retrying!(name = \"…\", …, async { … })`, and a closure by a \
         `Retrier`",
    )
}

impl ToTokens for Function {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let Self { attrs, vis, sig, body } = self;
        tokens.extend(quote!(#(#attrs)* #vis #sig #body));
    }
}

/// The statements of a body, to be placed after others: in a block of their own if they begin with
/// an item, because lints want items before statements.
pub(crate) fn statements_of(body: &Group) -> TokenStream {
    const ITEMS: &str =
        "async const enum extern fn impl macro_rules mod static struct trait type use";

    let first = text(beginning(body.stream()).0.as_ref());
    if ITEMS.split(' ').all(|item| item != first) {
        return body.stream();
    }
    TokenTree::Group(braces(body.stream(), body.span())).into()
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
pub(crate) fn allow_expected_lints(attribute: &mut Attribute) {
    let syn::Meta::List(list) = &mut attribute.meta else { return };
    if list.path.is_ident("expect") && find(list.tokens.clone(), "clippy").is_some() {
        list.path = Ident::new("allow", proc_macro2::Span::mixed_site()).into();
    }
}
