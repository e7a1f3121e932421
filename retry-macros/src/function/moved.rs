//! The statements with which `#[async_trait]` moves the arguments into the future. They keep the
//! `mut` and the patterns, which it removes from the signature:
//!
//! ```text
//! let mut __self = self;
//! let mut url = url;
//! let (a, mut b) = { let __arg2 = __arg2; __arg2 };
//! ```

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::Parser as _;
use syn::{Block, Expr, Ident, Local, Pat, Stmt};

use super::for_each_binding;

/// The moved arguments: the name of each in the signature, and what it becomes.
pub(crate) fn arguments(once: &TokenStream) -> Vec<(Ident, Pat)> {
    let moved = |statement| match statement {
        Stmt::Local(local) => Some((moved_name(&local)?, local.pat)),
        _ => None,
    };
    statements(once).into_iter().filter_map(moved).collect()
}

/// The statements without the `mut` of these names, and the names that had it.
pub(crate) fn without_mut(once: TokenStream, names: &[&Ident]) -> (TokenStream, Vec<Ident>) {
    let mut found = Vec::new();
    let mut statements = if names.is_empty() { Vec::new() } else { statements(&once) };
    for statement in &mut statements {
        let Stmt::Local(local) = statement else { continue };
        for_each_binding(&mut local.pat, &mut |bound| {
            if names.contains(&&bound.ident) && bound.mutability.take().is_some() {
                found.push(bound.ident.clone());
            }
        });
    }
    if found.is_empty() {
        return (once, found);
    }
    (statements.iter().map(ToTokens::to_token_stream).collect(), found)
}

/// Parses the statements; none of them if that fails.
fn statements(once: &TokenStream) -> Vec<Stmt> {
    Block::parse_within.parse2(once.clone()).unwrap_or_default()
}

/// The name of the argument that a `let` moves.
fn moved_name(local: &Local) -> Option<Ident> {
    fn name(expr: &Expr) -> Option<&Ident> {
        match expr {
            Expr::Path(path) => path.path.get_ident(),
            Expr::Block(block) => match block.block.stmts.last() {
                Some(Stmt::Expr(last, None)) => name(last),
                _ => None,
            },
            _ => None,
        }
    }
    local.init.as_ref().and_then(|init| name(&init.expr)).cloned()
}
