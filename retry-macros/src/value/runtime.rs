//! Determines which expressions are known only at runtime, and when each of them is evaluated:
//! once a call, before its first attempt, like an argument.

use proc_macro2::{Delimiter, Span, TokenStream, TokenTree};
use quote::ToTokens;
use retry_rules::foreign_names::word_here;
use syn::{Expr, Ident};

use crate::tokens::hygiene::{SpanRange, quote};
use crate::tokens::search::{any_token, is_punct};
use crate::tokens::text::token_text;

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
    /// The expressions that are evaluated before the first attempt, in the order of the options.
    locals: Vec<Local>,
}

/// A variable of the call that holds the value of an expression.
pub(crate) struct Local {
    name: Ident,
    expr: Expr,
    kind: ValueKind,
}

/// The kind of value that an expression is read as. Each has a function in the runtime that accepts
/// the types found in configurations.
#[derive(Clone, Copy)]
pub(crate) enum ValueKind {
    Policy,
    Backoff,
    Attempts,
    Number,
    Delay,
    Bound,
}

impl ValueKind {
    /// The function that makes a part of a policy of the value.
    pub(crate) const fn function(self) -> &'static str {
        match self {
            Self::Policy => "policy",
            Self::Backoff => "backoff",
            Self::Attempts => "attempts",
            Self::Number => "number",
            Self::Delay => "delay",
            Self::Bound => "bound",
        }
    }

    /// The function that reads the value once.
    const fn reader(self) -> &'static str {
        match self {
            // Not `policy`, which is for the failure path.
            Self::Policy => "keep",
            // The value inside a bound; `Option` is handled separately.
            Self::Bound => "limit",
            kind => kind.function(),
        }
    }

    /// Passes a value to a function of the runtime.
    fn read(self, function: &str, value: &impl ToTokens) -> TokenStream {
        let function = quote::format_ident!("{function}", span = Span::mixed_site());
        let place = SpanRange::of(value);
        let borrowed = place.call(quote!(&), value);
        let argument = match self {
            // Its type may be one of several.
            Self::Policy => {
                let mut source = place.call(quote!(__retry::runtime::source), borrowed);
                source.extend(place.locate(quote!(.__source())));
                source
            }
            _ => borrowed,
        };
        place.call(quote!(__retry::runtime::#function), argument)
    }
}

/// An expression known only at runtime. As tokens, what the expansion evaluates wherever it needs
/// the value: the variable that holds it, or the expression itself, if its value cannot change.
#[derive(Clone)]
pub(crate) struct RuntimeExpr {
    pub(crate) written: Expr,
    local: Option<Ident>,
    kind: ValueKind,
}

impl RuntimeExpr {
    /// Calls the runtime's function for the value, as a part of a policy.
    pub(crate) fn evaluated(&self) -> TokenStream {
        self.kind.read(self.kind.function(), self)
    }

    /// Calls another function of the runtime for the value.
    pub(crate) fn asked(&self, question: &str) -> TokenStream {
        self.kind.read(question, self)
    }
}

impl ToTokens for RuntimeExpr {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match &self.local {
            Some(local) => local.to_tokens(tokens),
            None => self.written.to_tokens(tokens),
        }
    }
}

impl ToTokens for Local {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        let (name, value) = (&self.name, self.kind.read(self.kind.reader(), &self.expr));
        tokens.extend(quote!(let #name = #value;));
    }
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

    /// The expressions that are evaluated before the first attempt.
    pub(crate) fn take_locals(&mut self) -> Vec<Local> {
        std::mem::take(&mut self.locals)
    }

    /// Evaluates an expression that is known only at runtime: where it stands, if its value cannot
    /// change, and otherwise once.
    pub(crate) fn evaluate(&mut self, kind: ValueKind, written: Expr) -> RuntimeExpr {
        let written = match (kind, written) {
            // A policy is borrowed anyway, and lends its lists for longer than a reference to this
            // reference would live.
            (ValueKind::Policy, Expr::Reference(borrowed)) if borrowed.mutability.is_none() => {
                *borrowed.expr
            }
            (_, written) => written,
        };
        let local = (!self.is_unchanging(&written)).then(|| {
            let name =
                quote::format_ident!("value_{}", self.locals.len(), span = Span::mixed_site());
            self.locals.push(Local { name: name.clone(), expr: written.clone(), kind });
            name
        });
        RuntimeExpr { written, local, kind }
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

    /// Rejects a constant that calls what no constant can call, where `runtime(…)` would be needed.
    /// Whatever may be a constant is left to the compiler.
    pub(crate) fn check_constant(&self, expr: &Expr) -> syn::Result<()> {
        let written = || token_text(&expr.to_token_stream());
        if !self.is_function {
            return if Self::of_block().is_mentioned(expr.to_token_stream()) {
                Err(syn::Error::new_spanned(
                    expr,
                    format!(
                        "`{}` is no constant, which is needed here: build a policy at runtime \
                         with `Policy::new().attempts(…)`, or write the value in the attribute",
                        written()
                    ),
                ))
            } else {
                Ok(())
            };
        }
        if !calls_at_runtime(expr) {
            return Ok(());
        }
        Err(syn::Error::new_spanned(
            expr,
            format!(
                "this call is made at runtime, though it mentions neither `self` nor an argument: \
                 write `runtime({})`",
                written()
            ),
        ))
    }

    /// Returns whether `word` is one of the names.
    pub(crate) fn knows(&self, word: &str) -> bool {
        self.names.iter().any(|name| name == word)
    }

    /// Returns whether one of the names occurs in `tokens` as a value: not in a path, such as
    /// `config::n`, and not as the name of a field.
    fn is_mentioned(&self, tokens: TokenStream) -> bool {
        any_token(tokens, &|tokens, at| {
            let TokenTree::Ident(ident) = &tokens[at] else { return false };
            let is_before = |count, char| {
                let before = at.checked_sub(count).and_then(|at| tokens.get(at));
                is_punct(before, char)
            };
            let is_field = is_before(1, '.') && !is_before(2, '.');
            let in_path = is_before(1, ':') && is_before(2, ':');
            let next = tokens.get(at + 1);
            let is_called = is_punct(next, '!')
                || matches!(next, Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Parenthesis);
            let word = ident.to_string();
            let is_variable = || self.is_block && !is_called && may_be_variable(&word);
            !is_field && !in_path && !is_punct(next, ':') && (self.knows(&word) || is_variable())
        })
    }
}

/// Returns whether a word is in the form of a variable, and means nothing in an option.
fn may_be_variable(word: &str) -> bool {
    const KEYWORDS: [&str; 14] = [
        "as", "false", "true", "mut", "move", "if", "else", "match", "const", "unsafe", "u32",
        "u64", "f64", "usize",
    ];

    let is_unlimited = word == "unlimited" || word_here(word, &["unlimited"]).is_some();
    word.chars().all(|c| c.is_lowercase() || c.is_ascii_digit() || c == '_')
        && word.starts_with(|c: char| c.is_lowercase() || c == '_')
        && !KEYWORDS.contains(&word)
        && !is_unlimited
}

/// Returns whether the expression certainly makes a call that no constant can make.
fn calls_at_runtime(expr: &Expr) -> bool {
    /// Methods of the standard library that are not `const`, by names that no constant has.
    const METHODS: [&str; 9] =
        ["parse", "load", "load_full", "lock", "borrow", "clone", "to_owned", "into", "try_into"];

    match expr {
        Expr::MethodCall(call) => {
            METHODS.iter().any(|method| call.method == method) || calls_at_runtime(&call.receiver)
        }
        Expr::Call(call) => match &*call.func {
            Expr::Path(path) => {
                let mut segments = path.path.segments.iter().rev();
                let is = |segment: Option<&syn::PathSegment>, name: &str| {
                    segment.is_some_and(|segment| segment.ident == name)
                };
                let last = segments.next();
                (is(last, "var") || is(last, "var_os")) && is(segments.next(), "env")
                    || call.args.iter().any(calls_at_runtime)
            }
            _ => false,
        },
        // `CONFIG.get().attempts`: a `NonZero`, whose `get` is const, has no fields.
        Expr::Field(field) => calls_at_runtime(&field.base) || gets_guard(&field.base),
        Expr::Unary(unary) => calls_at_runtime(&unary.expr),
        Expr::Try(question) => calls_at_runtime(&question.expr),
        Expr::Paren(paren) => calls_at_runtime(&paren.expr),
        Expr::Group(group) => calls_at_runtime(&group.expr),
        Expr::Reference(borrowed) => calls_at_runtime(&borrowed.expr),
        Expr::Cast(cast) => calls_at_runtime(&cast.expr),
        Expr::Binary(binary) => calls_at_runtime(&binary.left) || calls_at_runtime(&binary.right),
        _ => false,
    }
}

/// Returns whether this is a call of `get`, `read` or `get_or_init`, perhaps unwrapped.
fn gets_guard(expr: &Expr) -> bool {
    match expr {
        Expr::MethodCall(call) => {
            ["get", "read", "get_or_init"].iter().any(|method| call.method == method)
                || ["unwrap", "expect"].iter().any(|method| call.method == method)
                    && gets_guard(&call.receiver)
        }
        _ => false,
    }
}
