//! Determines which expressions are known only at run time.

use proc_macro2::{Spacing, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Expr, Ident};

use crate::value::Value;

/// The names in an option that have no value before the program runs.
#[derive(Default)]
pub(crate) struct Scope {
    /// The arguments and the receiver.
    names: Vec<String>,
    /// Whether there is a function at all: `policy!` is a constant.
    is_function: bool,
}

impl Scope {
    /// The scope of a function with these arguments.
    pub(crate) fn new(arguments: &[Ident]) -> Self {
        let mut names: Vec<String> = arguments.iter().map(ToString::to_string).collect();
        names.extend(["self".to_owned(), "__self".to_owned()]);
        Self { names, is_function: true }
    }

    /// The argument of `runtime(…)`, or any other expression that is known only at run time.
    pub(crate) fn run_time<'e>(&self, expr: &'e Expr) -> Option<&'e Expr> {
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

    /// Like [`run_time`](Self::run_time) for a value, which is otherwise passed to `read`.
    pub(crate) fn value<T>(
        &self,
        expr: Expr,
        read: impl FnOnce(Expr) -> syn::Result<Value<T>>,
    ) -> syn::Result<Value<T>> {
        match self.run_time(&expr) {
            Some(inside) => Ok(Value::run_time(inside.clone())),
            None => read(expr),
        }
    }

    /// Whether `word` is one of the names.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.names.iter().any(|name| name == word)
    }

    /// Whether one of the names occurs in `tokens` as a value: not in a path, such as `config::n`,
    /// and not as the name of a field.
    fn is_mentioned(&self, tokens: TokenStream) -> bool {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let punct = |at: Option<usize>, char: char| match at.and_then(|at| tokens.get(at)) {
            Some(TokenTree::Punct(punct)) if punct.as_char() == char => Some(punct.spacing()),
            _ => None,
        };
        let joined = |at: Option<usize>, char| punct(at, char) == Some(Spacing::Joint);
        (0..tokens.len()).any(|at| match &tokens[at] {
            TokenTree::Group(group) => self.is_mentioned(group.stream()),
            TokenTree::Ident(ident) => {
                let (before, second) = (at.checked_sub(1), at.checked_sub(2));
                let is_field = punct(before, '.').is_some() && !joined(second, '.');
                let in_path = punct(before, ':').is_some() && joined(second, ':');
                let names_field = punct(Some(at + 1), ':').is_some();
                !is_field && !in_path && !names_field && self.knows(&ident.to_string())
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => false,
        })
    }
}
