//! What an editor knows of the words inside `#[retry( … )]`: completion of
//! options and their values, and their documentation on hover.
//!
//! rust-analyzer knows nothing of an attribute's arguments, but it knows what a
//! `use` may import. So the words are written once more, at the places where the
//! user wrote them, as imports out of `__private::ide` in the runtime, a module
//! in the shape of the grammar. The idea, and most of the form, are bon's.
//!
//! ```text
//! // Input:
//! #[retry(attempts = 5, backoff = linear(incr))]
//!
//! // Output, first in the function's body:
//! #[cfg(rust_analyzer)] {
//!     mod scope_0 { use …::ide::*;                  use self::{attempts as _, backoff as _}; }
//!     mod scope_1 { use …::ide::backoff::*;         use self::{linear as _}; }
//!     mod scope_2 { use …::ide::backoff::linear::*; use self::{incr as _}; }
//! }
//! ```
//!
//! It is written only in the process in which rust-analyzer runs macros: even an
//! item that is configured out has to be made, sent and parsed by a compiler.
//!
//! While somebody types, rust-analyzer expands twice, with and without a made-up
//! word at the cursor, and looks in both texts at the same offset. So what stands
//! before the cursor's word must have the same length in both: messages are
//! written after the imports, the section of the documentation has one length,
//! each scope is there before there is a word in it, and a scope stands before
//! those inside of it.

use std::env;
use std::sync::OnceLock;

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::format_ident;
use syn::Path;
use syn::parse::Parser as _;

use crate::args::FUNCTION;
use crate::backoff;
use crate::hygiene::quote;
use crate::options::Inside;
use crate::settings::POLICY;

/// What `expand` makes of the options; in an editor, with what completes and
/// explains them first in its block.
pub(crate) fn with_hints(
    options: TokenStream,
    expand: impl FnOnce(TokenStream) -> TokenStream,
) -> TokenStream {
    if !editor_asks() {
        return expand(options);
    }
    let hints = imports(&options);
    first_in_block(hints, expand(options))
}

/// Puts `hints` into a function's body, or into the block of `policy!`: beside a
/// method, in an `impl` or a trait, there is no room for them.
fn first_in_block(hints: TokenStream, expansion: TokenStream) -> TokenStream {
    let mut tokens: Vec<TokenTree> = expansion.into_iter().collect();
    let is_function =
        tokens.iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "fn"));
    let is_block = tokens.len() == 1;
    if let (Some(TokenTree::Group(body)), true) = (tokens.last_mut(), is_function || is_block) {
        if body.delimiter() == Delimiter::Brace {
            let span = body.span();
            *body = Group::new(Delimiter::Brace, [hints, body.stream()].into_iter().collect());
            body.set_span(span);
        }
    }
    tokens.into_iter().collect()
}

/// The `lines` of the section "Retries"; in an editor, in one piece whose length
/// stays the same while somebody types, for it stands before the hints.
pub(crate) fn steady(lines: Vec<String>) -> Vec<String> {
    /// More than any section has, so that there is one length.
    const LENGTH: usize = 4096;

    if !editor_asks() {
        return lines;
    }
    let section = lines.join("\n");
    // As a literal: quotes take two bytes there.
    let length = Literal::string(&section).to_string().len();
    // Blanks at the end are nothing in Markdown.
    vec![section + &" ".repeat(length.next_multiple_of(LENGTH) - length)]
}

/// Whether rust-analyzer runs the macro, and not a compiler.
fn editor_asks() -> bool {
    static ASKS: OnceLock<bool> = OnceLock::new();

    // There is no official sign (rust-lang/rust-analyzer#17766). The variable is
    // what its server for macros refuses to start without; the name is that of the
    // server, or of rust-analyzer itself as the server. Where the sign is missing,
    // completion is; where it is there by accident, a `cfg` leaves all of it out.
    *ASKS.get_or_init(|| {
        env::var_os("RUST_ANALYZER_INTERNALS_DO_NOT_USE").is_some()
            || env::current_exe().is_ok_and(|path| is_rust_analyzer(&path))
    })
}

fn is_rust_analyzer(executable: &std::path::Path) -> bool {
    let name = executable.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("rust-analyzer")
}

/// The words of the `options` as imports.
pub(crate) fn imports(options: &TokenStream) -> TokenStream {
    let mut found = Found { krate: quote!(::retry_runtime), scopes: Vec::new() };
    found.settings(&[], options.clone());
    let Found { krate, scopes } = found;
    let modules = scopes.into_iter().enumerate().map(|(number, Scope { path, words })| {
        let name = format_ident!("scope_{number}");
        let path = path.iter().map(|word| format_ident!("{word}"));
        // Not `use …::{words}`: there, `self` would be offered as well.
        quote! {
            mod #name {
                use #krate::__private::ide #(::#path)* ::*;
                use self::{#(#words as _,)*};
            }
        }
    });
    // A crate that has never heard of this `cfg` is not to be warned of it.
    quote! {
        #[allow(unexpected_cfgs)]
        const _: () = {
            #[cfg(rust_analyzer)]
            {
                #(#modules)*
            }
        };
    }
}

/// The grammar, by the `path` of words that leads to a place in it.
fn inside(path: &[&str]) -> Inside {
    match path {
        ["backoff", kind] if backoff::WITH_SETTINGS.contains(kind) => Inside::Settings,
        [option] => {
            let setting = POLICY.iter().find(|setting| setting.name == *option);
            let function = FUNCTION.iter().find(|of_function| of_function.name == *option);
            let inside = setting.map(|setting| setting.kind.inside());
            inside.or(function.map(|function| function.kind.inside)).unwrap_or(Inside::Nothing)
        }
        _ => Inside::Nothing,
    }
}

/// The words that stand at one place of the grammar.
struct Scope {
    path: Vec<String>,
    words: Vec<Ident>,
}

/// All of them, in the order in which they are written.
struct Found {
    /// The path of the runtime.
    krate: TokenStream,
    scopes: Vec<Scope>,
}

impl Found {
    /// Reads `name`, `name = value`, `name( … )`, separated by commas, or by
    /// nothing where they are forgotten.
    fn settings(&mut self, path: &[&str], tokens: TokenStream) {
        let at = self.open(path);
        let mut tokens = tokens.into_iter().peekable();
        while let Some(token) = tokens.next() {
            let TokenTree::Ident(name) = token else { continue };
            self.word(at, &name);
            let name = name.to_string();
            let path = [path, &[name.as_str()]].concat();
            match tokens.peek() {
                Some(TokenTree::Group(_)) => {
                    if let (Inside::Settings, Some(TokenTree::Group(group))) =
                        (inside(&path), tokens.next())
                    {
                        self.settings(&path, group.stream());
                    }
                }
                Some(TokenTree::Punct(equals)) if equals.as_char() == '=' => {
                    tokens.next();
                    let mut value = Vec::new();
                    while let Some(token) = tokens.next_if(|token| !ends(&value, token)) {
                        value.push(token);
                    }
                    self.value(&path, &value);
                }
                _ => {}
            }
        }
    }

    /// Reads what stands behind `name =`.
    fn value(&mut self, path: &[&str], value: &[TokenTree]) {
        match (inside(path), value) {
            (Inside::List, [TokenTree::Group(list), ..])
                if list.delimiter() == Delimiter::Bracket =>
            {
                self.list(path, list);
            }
            (Inside::Word, _) => {
                let at = self.open(path);
                // The start of a path, `module::CONST`, is no word.
                if let [TokenTree::Ident(word)] | [TokenTree::Ident(word), TokenTree::Group(_)] =
                    value
                {
                    self.word(at, word);
                }
                if let [TokenTree::Ident(word), TokenTree::Group(group)] = value {
                    let word = word.to_string();
                    let path = [path, &[word.as_str()]].concat();
                    if let Inside::Settings = inside(&path) {
                        self.settings(&path, group.stream());
                    }
                }
            }
            (Inside::Library, _) => {
                let tokens = value.iter().cloned().collect();
                if let Ok(path) = Path::parse_mod_style.parse2(tokens) {
                    self.krate = quote!(#path);
                }
            }
            (Inside::Perhaps(known), [TokenTree::Ident(word)]) if word == known => {
                let at = self.open(path);
                self.word(at, word);
            }
            _ => {}
        }
    }

    fn list(&mut self, path: &[&str], list: &Group) {
        let at = self.open(path);
        let mut begins = true;
        for token in list.stream() {
            if let (TokenTree::Ident(word), true) = (&token, begins) {
                self.word(at, word);
            }
            begins = is_comma(&token);
        }
    }

    fn open(&mut self, path: &[&str]) -> usize {
        let path = path.iter().map(ToString::to_string).collect();
        self.scopes.push(Scope { path, words: Vec::new() });
        self.scopes.len() - 1
    }

    /// Adds a word. A keyword cannot be imported: the mirror has it with `_` behind it.
    fn word(&mut self, at: usize, word: &Ident) {
        let written = word.to_string();
        let importable = [written.clone(), format!("{written}_")]
            .iter()
            .find_map(|word| syn::parse_str::<Ident>(word).ok());
        if let (Some(mut importable), Some(scope)) = (importable, self.scopes.get_mut(at)) {
            importable.set_span(word.span());
            scope.words.push(importable);
        }
    }
}

/// Whether a value ends before `token`: at a comma, or where one is forgotten.
fn ends(value: &[TokenTree], token: &TokenTree) -> bool {
    let forgotten = matches!(
        (value.last(), token),
        (Some(TokenTree::Literal(_)), TokenTree::Ident(word)) if word != "as"
    );
    is_comma(token) || forgotten
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}
