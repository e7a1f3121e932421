//! Completion in editors inside `#[retry( … )]`: options and their values, and their documentation
//! on hover.
//!
//! rust-analyzer has no information about an attribute's arguments, but it completes the path of a
//! `use`. The words are therefore emitted once more, with the spans of what the user wrote, as
//! imports from `__private::ide` in the runtime, a module with the structure of the grammar. The
//! idea, and most of its form, are bon's.
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
//! They are emitted only in the process in which rust-analyzer runs macros: a compiler would have
//! to create, send and parse even an item that is configured out.
//!
//! While the user types, rust-analyzer expands twice, with and without a made-up word at the
//! cursor, and looks at the same offset in both expansions. So everything before the word at the
//! cursor must have the same length in both: messages are emitted after the imports, the
//! documentation section has a fixed length, each scope exists before there is a word in it, and a
//! scope precedes those nested in it.

use std::env;
use std::sync::OnceLock;

use proc_macro2::{Delimiter, Group, Ident, Literal, TokenStream, TokenTree};
use quote::format_ident;
use retry_rules::options::{BREAKER, POLICY};
use syn::Path;
use syn::parse::Parser as _;

use crate::args::FUNCTION;
use crate::options::Inside;
use crate::options::backoff;
use crate::options::settings;
use crate::tokens::hygiene::quote;

/// Expands the options; in an editor, adds completion and hover hints at the start of the block.
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

/// Inserts `hints` into a function's body, or into the block of `policy!`: next to a method, in an
/// `impl` or a trait, they would not be allowed.
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

/// The text of the section "Retries"; in an editor, with a length that does not change while the
/// user types, because it comes before the hints.
pub(crate) fn steady(section: String) -> String {
    /// Longer than any section, so that there is only one length.
    const LENGTH: usize = 4096;

    if !editor_asks() {
        return section;
    }
    // Measured as a literal, in which a quote takes two bytes.
    let length = Literal::string(&section).to_string().len();
    // Markdown ignores trailing spaces.
    section + &" ".repeat(length.next_multiple_of(LENGTH) - length)
}

/// The program that runs the macro.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    Editor,
    /// A compiler, or clippy.
    Compiler,
    /// rustdoc, for one.
    Other,
}

impl Host {
    fn get() -> Self {
        static HOST: OnceLock<Host> = OnceLock::new();

        *HOST.get_or_init(Self::find)
    }

    fn find() -> Self {
        // The server has no official way to identify itself (rust-lang/rust-analyzer#17766). The
        // variable is one without which rust-analyzer's proc-macro server refuses to start; the
        // executable is that server, or rust-analyzer itself acting as the server. If neither is
        // found, there is merely no completion; on a false positive, a `cfg` disables all of this.
        if env::var_os("RUST_ANALYZER_INTERNALS_DO_NOT_USE").is_some() {
            return Self::Editor;
        }
        let executable = env::current_exe().unwrap_or_default();
        let name = executable.file_stem().unwrap_or_default().to_string_lossy();
        match &*name {
            "rustc" | "clippy-driver" => Self::Compiler,
            name if name.starts_with("rust-analyzer") => Self::Editor,
            _ => Self::Other,
        }
    }
}

fn editor_asks() -> bool {
    Host::get() == Host::Editor
}

/// Returns whether a compiler runs the macro; a compiler does not show documentation.
pub(crate) fn compiler_asks() -> bool {
    Host::get() == Host::Compiler
}

/// The words inside `#[classify( … )]`, in an editor, as imports: in front of what the derive
/// writes.
pub(crate) fn hints_of_classify(attributes: &[TokenStream]) -> TokenStream {
    if editor_asks() { imports_of_classify(attributes) } else { TokenStream::new() }
}

/// The words of several `#[classify( … )]` as imports.
pub(crate) fn imports_of_classify(attributes: &[TokenStream]) -> TokenStream {
    let mut found = Found::new();
    for words in attributes {
        found.settings(&[], words.clone());
    }
    found.imports(&quote!(ide_of_classify))
}

/// The words of the `options` as imports.
pub(crate) fn imports(options: &TokenStream) -> TokenStream {
    let mut found = Found::new();
    found.settings(&[], options.clone());
    found.imports(&quote!(ide))
}

/// Returns the words that the grammar allows at the place to which the words of `path` lead.
fn inside(path: &[&str]) -> Inside {
    match path {
        ["backoff", kind] if backoff::WITH_SETTINGS.contains(kind) => Inside::Settings,
        ["breaker", setting] => {
            let setting = BREAKER.iter().find(|of_breaker| of_breaker.name() == *setting);
            setting.map_or(Inside::Nothing, settings::inside)
        }
        [option] => {
            let setting = POLICY.iter().find(|setting| setting.name() == *option);
            let function = FUNCTION.iter().find(|of_function| of_function.name == *option);
            let inside = setting.map(settings::inside);
            inside.or(function.map(|function| function.inside)).unwrap_or(Inside::Nothing)
        }
        _ => Inside::Nothing,
    }
}

/// The words found at one place in the grammar.
struct Scope {
    path: Vec<String>,
    words: Vec<Ident>,
}

/// All scopes, in the order in which they are emitted.
struct Found {
    /// The path of the runtime.
    krate: TokenStream,
    scopes: Vec<Scope>,
}

impl Found {
    fn new() -> Self {
        Self { krate: quote!(::retry_runtime), scopes: Vec::new() }
    }

    /// The imports from a `mirror` of the grammar.
    fn imports(self, mirror: &TokenStream) -> TokenStream {
        let Self { krate, scopes } = self;
        let modules = scopes.into_iter().enumerate().map(|(number, Scope { path, words })| {
            let name = format_ident!("scope_{number}");
            let path = path.iter().map(|word| format_ident!("{word}"));
            // Not `use …::{words}`, in which `self` would be offered as well.
            quote! {
                mod #name {
                    use #krate::__private::#mirror #(::#path)* ::*;
                    use self::{#(#words as _,)*};
                }
            }
        });
        // Crates that do not declare this `cfg` must not get a warning.
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

    /// Reads `name`, `name = value`, `name( … )`, separated by commas, which may be missing.
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

    /// Reads what follows `name =`.
    fn value(&mut self, path: &[&str], value: &[TokenTree]) {
        match (inside(path), value) {
            (Inside::List, [TokenTree::Group(list), ..])
                if list.delimiter() == Delimiter::Bracket =>
            {
                self.list(path, list);
            }
            (Inside::Word, _) => {
                let at = self.open(path);
                // The start of a path, as in `module::CONST`, is not such a word.
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

    /// Adds a word. A keyword cannot be imported, so the mirror has it with a trailing `_`.
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

/// Returns whether a value ends before `token`: at a comma, or where one is missing.
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
