//! The attempt at the end of `retrying!(…)`: a block in Rust's own syntax.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::parse::{ParseStream, Parser as _};
use syn::{Ident, ReturnType, Signature, Token, Type};

use crate::function::Function;
use crate::tokens::hygiene::braces;

/// The attempt, and how it was written.
pub(crate) struct Block {
    /// `async` or `async move`; nothing for one that is not async.
    pub(crate) asyncness: Option<Token![async]>,
    pub(crate) movement: Option<Token![move]>,
    /// The name that the attempt's context is bound to.
    pub(crate) context: Option<Ident>,
    /// The return type, if it was written.
    pub(crate) output: ReturnType,
    pub(crate) body: Group,
}

const FORMS: &str = "`retrying!` ends with the attempt: `async { … }`, or `async || -> Result<T, E> \
     { … }` where its type has to be written, or `|| -> Result<T, E> { … }` for code that is not async";

/// Splits the tokens into the options and the attempt behind them.
pub(crate) fn split(tokens: TokenStream) -> (TokenStream, TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let begins = |at: usize| {
        let is_first = match at.checked_sub(1).map(|before| &tokens[before]) {
            None => true,
            Some(TokenTree::Punct(punct)) => punct.as_char() == ',',
            Some(_) => false,
        };
        is_first
            && match &tokens[at] {
                TokenTree::Ident(word) => word == "async" || word == "move",
                TokenTree::Punct(punct) => punct.as_char() == '|',
                TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
                TokenTree::Literal(_) => false,
            }
    };
    let at = (0..tokens.len()).find(|at| begins(*at)).unwrap_or(tokens.len());
    let (options, attempt) = tokens.split_at(at);
    (options.iter().cloned().collect(), attempt.iter().cloned().collect())
}

/// The error for an attempt that is missing.
pub(crate) fn missing(place: Span) -> syn::Error {
    syn::Error::new(place, FORMS)
}

/// Parses the attempt.
pub(crate) fn parse(tokens: TokenStream) -> syn::Result<Block> {
    parse_block.parse2(tokens)
}

fn parse_block(input: ParseStream) -> syn::Result<Block> {
    let asyncness: Option<Token![async]> = input.parse()?;
    let mut movement: Option<Token![move]> = input.parse()?;
    let mut context = None;
    let mut output = ReturnType::Default;
    let closure = input.fork();
    let is_closure = input.peek(Token![|]);
    if is_closure {
        let wrong = |error: syn::Error| {
            let message = "the attempt takes its context and nothing else: write `|cx|`, or `||`";
            syn::Error::new(error.span(), message)
        };
        input.parse::<Token![|]>()?;
        if !input.peek(Token![|]) {
            context = Some(input.call(Ident::parse_any).map_err(wrong)?);
        }
        input.parse::<Token![|]>().map_err(wrong)?;
        output = input.parse()?;
        if asyncness.is_none() && input.peek(Token![async]) {
            let tokens = closure.cursor().token_stream().into_iter();
            let head = tokens.take_while(|token| !matches!(token, TokenTree::Group(_)));
            let context = context.map_or_else(String::new, |context| context.to_string());
            let message = format!("the attempt itself is async: write `async |{context}|`");
            return Err(syn::Error::new_spanned(head.collect::<TokenStream>(), message));
        }
        movement = movement.or(input.parse()?);
    } else if asyncness.is_none() {
        return Err(input.error(FORMS));
    }
    let body = match input.parse::<TokenTree>() {
        Ok(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body,
        // `|| connect()`: an expression alone.
        Ok(first) if is_closure => {
            let place = first.span();
            let mut expression = first.to_token_stream();
            while !(input.is_empty() || is_last_comma(input)) {
                expression.extend(input.parse::<TokenTree>().map(ToTokens::into_token_stream));
            }
            braces(expression, place)
        }
        _ => return Err(input.error(FORMS)),
    };
    input.parse::<Option<Token![,]>>()?;
    if !input.is_empty() {
        return Err(input.error(
            "the attempt is the last thing in `retrying!`: write options before it, and `.await` \
             behind the macro",
        ));
    }
    Ok(Block { asyncness, movement, context, output, body })
}

fn is_last_comma(input: ParseStream) -> bool {
    let ahead = input.fork();
    ahead.parse::<Token![,]>().is_ok() && ahead.is_empty()
}

impl Block {
    /// Returns where to report a missing type.
    pub(crate) fn start(&self) -> Span {
        self.asyncness.map_or(self.body.span_open(), |word| word.span)
    }

    /// The function that this would be.
    pub(crate) fn as_function(&self) -> Function {
        let span = self.start();
        let output = match &self.output {
            ReturnType::Default => {
                let inferred = Type::Infer(syn::TypeInfer {
                    attrs: Vec::new(),
                    underscore_token: Token![_](span),
                });
                ReturnType::Type(Token![->](span), Box::new(inferred))
            }
            written @ ReturnType::Type(..) => written.clone(),
        };
        let asyncness = self.asyncness;
        let name = Ident::new("attempt", Span::mixed_site());
        let mut sig: Signature = syn::parse_quote!(#asyncness fn #name());
        sig.output = output;
        Function {
            attrs: Vec::new(),
            vis: syn::Visibility::Inherited,
            sig,
            body: self.body.clone(),
        }
    }

    /// Places the code that retries where the attempt stood.
    pub(crate) fn with(&self, import: &TokenStream, code: &TokenStream) -> TokenStream {
        let Self { asyncness, movement, output, .. } = self;
        // At the user's words: the place is in the name of an async block's type, and the compiler
        // names the variables that the block captures.
        let block = braces(code.clone(), self.start());
        match asyncness {
            Some(_) => quote!({ #import __retry::NotAwaited::new(#asyncness #movement #block) }),
            None => {
                let bars = Token![||](self.start());
                quote!({ (#movement #bars #output #block)() })
            }
        }
    }
}
