//! Determines which expressions are known only at runtime, and when each of them is evaluated:
//! once a call, before its first attempt, like an argument.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use retry_rules::foreign_names::word_here;
use syn::{Expr, Ident};

use crate::tokens::hygiene::{SpanRange, quote};
use crate::tokens::search::{any_token, is_punct, is_word};

/// The names in an option that have no value before the program runs, and the expressions that
/// have been evaluated with them.
#[derive(Default)]
pub(crate) struct Scope {
    /// The arguments and the receiver.
    names: Vec<String>,
    /// Those of them that a body cannot change, nor what they refer to.
    unchanging: Vec<String>,
    /// Set if there is a function at all: `policy!` is a constant.
    is_function: bool,
    /// Set if the names belong to a function that is not visible: `retrying!` stands in it.
    is_block: bool,
    /// The variables that are bound before the first attempt, in the order of the options.
    locals: Vec<TokenStream>,
}

/// A policy to start from that is known only at runtime.
pub(crate) struct RuntimePolicy {
    pub(crate) written: Expr,
    /// The policy in the value, and the lists of failures that its type may have.
    source: TokenStream,
}

impl RuntimePolicy {
    /// Calls a method of the value's source.
    pub(crate) fn call(&self, method: &str) -> TokenStream {
        let (source, method) = (&self.source, mixed_site(method));
        quote!(#source.#method())
    }
}

fn mixed_site(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

impl Scope {
    /// Returns whether there is a function or a block that is called: a policy is a constant.
    pub(crate) const fn has_calls(&self) -> bool {
        self.is_function || self.is_block
    }

    /// The scope of a function with these arguments; `unchanging` are the names that a body cannot
    /// change, nor what they refer to.
    pub(crate) fn new(arguments: &[Ident], unchanging: Vec<String>) -> Self {
        let mut names: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        names.extend(["self".to_owned(), "__self".to_owned()]);
        Self { names, unchanging, is_function: true, is_block: false, locals: Vec::new() }
    }

    /// The scope of a block in a function that cannot be seen: by convention, its variables are
    /// in lower case.
    pub(crate) fn of_block() -> Self {
        Self { is_block: true, ..Self::new(&[], Vec::new()) }
    }

    /// Returns whether the options are those of a block, which has no name of its own.
    pub(crate) const fn is_block(&self) -> bool {
        self.is_block
    }

    /// The statements that bind the variables.
    pub(crate) fn take_locals(&mut self) -> TokenStream {
        std::mem::take(&mut self.locals).into_iter().collect()
    }

    fn bind(&mut self, value: &TokenStream) -> Ident {
        let name = mixed_site(&format!("value_{}", self.locals.len()));
        self.locals.push(quote!(let #name = #value;));
        name
    }

    /// Reads an expression once, before the first attempt, by a function of the runtime that
    /// accepts the types found in configurations. Returns the variable that holds the value.
    pub(crate) fn read(&mut self, reader: &str, written: &Expr) -> Ident {
        let (reader, place) = (mixed_site(reader), SpanRange::of(written));
        let borrowed = place.call(quote!(&), written);
        self.bind(&place.call(quote!(__retry::runtime::#reader), borrowed))
    }

    /// A policy to start from: read where it stands, if its value cannot change, and otherwise
    /// once, before the first attempt.
    pub(crate) fn policy(&mut self, written: Expr) -> RuntimePolicy {
        let written = match written {
            // A policy is borrowed anyway, and lends its lists for longer than a reference to this
            // reference would live.
            Expr::Reference(borrowed) if borrowed.mutability.is_none() => *borrowed.expr,
            written => written,
        };
        let place = SpanRange::of(&written);
        let source = |value: TokenStream| {
            let borrowed = place.call(quote!(&), value);
            let mut source = place.call(quote!(__retry::runtime::source), borrowed);
            source.extend(place.locate(quote!(.__source())));
            source
        };
        let mut value = source(written.to_token_stream());
        if !self.is_unchanging(&written) {
            let kept = self.bind(&quote!(#value.keep()));
            value = source(kept.to_token_stream());
        }
        RuntimePolicy { written, source: value }
    }

    /// Returns whether this is a path of fields, such as `self.config.http`, that begins with a
    /// name that a body cannot change.
    fn is_unchanging(&self, expr: &Expr) -> bool {
        match expr {
            Expr::Field(field) => self.is_unchanging(&field.base),
            Expr::Path(path) => path
                .path
                .get_ident()
                .is_some_and(|name| self.unchanging.iter().any(|unchanging| name == unchanging)),
            Expr::Group(group) => self.is_unchanging(&group.expr),
            Expr::Paren(paren) => self.is_unchanging(&paren.expr),
            Expr::Reference(borrowed) => {
                borrowed.mutability.is_none() && self.is_unchanging(&borrowed.expr)
            }
            _ => false,
        }
    }

    /// The argument of `runtime(…)`, or any other expression that is known only at runtime.
    pub(crate) fn runtime<'e>(&self, expr: &'e Expr) -> Option<&'e Expr> {
        if !self.is_function {
            return None;
        }
        if let Expr::Call(call) = expr {
            let is_runtime =
                matches!(&*call.func, Expr::Path(path) if path.path.is_ident("runtime"));
            if let (true, 1) = (is_runtime, call.args.len()) {
                return call.args.first();
            }
        }
        self.is_mentioned(expr.to_token_stream()).then_some(expr)
    }

    /// Returns whether `word` is one of the names.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.names.iter().any(|name| name == word)
    }

    /// Returns whether one of the names occurs in `tokens` as a value: not in a path, such as
    /// `config::n`, and not as the name of a field.
    pub(crate) fn is_mentioned(&self, tokens: TokenStream) -> bool {
        any_token(tokens, &|tokens, at| {
            let TokenTree::Ident(ident) = &tokens[at] else { return false };
            let is_before = |count, char| {
                let before = at.checked_sub(count).and_then(|at| tokens.get(at));
                is_punct(before, char)
            };
            let is_field = is_before(1, '.') && !is_before(2, '.');
            let in_path = is_before(1, ':') && is_before(2, ':');
            let next = tokens.get(at + 1);
            let is_called = is_punct(next, '!') || next.is_some_and(is_in_parentheses);
            let word = ident.to_string();
            let is_variable = || self.is_block && !is_called && may_be_variable(&word);
            !is_field && !in_path && !is_punct(next, ':') && (self.knows(&word) || is_variable())
        })
    }
}

fn is_in_parentheses(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis)
}

/// Returns whether an expression calls `env::var`, which const evaluation cannot.
pub(crate) fn is_of_environment(expr: &Expr) -> bool {
    any_token(expr.to_token_stream(), &|tokens, at| {
        is_word(tokens.get(at), "env")
            && is_word(tokens.get(at + 3), "var")
            && tokens.get(at + 4).is_some_and(is_in_parentheses)
    })
}

/// Returns whether a word is in the form of a variable, and means nothing in an option.
fn may_be_variable(word: &str) -> bool {
    const KEYWORDS: &str = "as false true mut move if else match const unsafe u32 u64 f64 usize";

    let is_unlimited = word == "unlimited" || word_here(word, &["unlimited", "none"]).is_some();
    word.chars().all(|c| c.is_lowercase() || c.is_ascii_digit() || c == '_')
        && word.starts_with(|c: char| c.is_lowercase() || c == '_')
        && KEYWORDS.split(' ').all(|keyword| keyword != word)
        && !is_unlimited
}
