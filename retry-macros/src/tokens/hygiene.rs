//! `quote!` with mixed-site spans: generated variables are invisible to the user's code, and vice
//! versa. Plain `quote!` uses call-site spans, with which they would see each other.

macro_rules! quote {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}

pub(crate) use quote;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// The tokens in braces, at this place.
pub(crate) fn braces(tokens: TokenStream, place: Span) -> Group {
    let mut group = Group::new(Delimiter::Brace, tokens);
    group.set_span(place);
    group
}

/// The first and the last span of something that the user wrote. Spans cannot be joined on a stable
/// compiler, so a generated expression has to begin and end with these.
#[derive(Clone, Copy)]
pub(crate) struct SpanRange {
    first: Span,
    last: Span,
}

impl SpanRange {
    /// The range of `tokens`.
    pub(crate) fn of(tokens: impl ToTokens) -> Self {
        let mut tokens = tokens.into_token_stream().into_iter();
        let first = tokens.next().map_or_else(Span::mixed_site, |token| token.span());
        Self { first, last: tokens.last().map_or(first, |token| token.span()) }
    }

    /// The span of its beginning, for a single token.
    pub(crate) fn start(self) -> Span {
        self.first.resolved_at(Span::mixed_site())
    }

    /// Moves `tokens` to this place, for the compiler's messages about them. Name resolution is
    /// unchanged.
    pub(crate) fn locate(self, tokens: TokenStream) -> TokenStream {
        let mut at = self.first;
        tokens
            .into_iter()
            .map(|token| {
                let mut token = match token {
                    TokenTree::Group(group) => {
                        Group::new(group.delimiter(), self.locate(group.stream())).into()
                    }
                    token => token,
                };
                token.set_span(at.resolved_at(token.span()));
                at = self.last;
                token
            })
            .collect()
    }

    /// Like [`locate`](Self::locate), as if the user had written the `path` here: the compiler
    /// mentions no macro, and reports one mistake once. For paths that are not a variable.
    pub(crate) fn write_path(self, path: TokenStream) -> TokenStream {
        let mut at = self.first;
        path.into_iter()
            .map(|mut token| {
                token.set_span(at);
                at = self.last;
                token
            })
            .collect()
    }

    /// A call of `path` for which the compiler's messages are shown at this place, and those about
    /// the `arguments` at theirs.
    pub(crate) fn call(self, path: TokenStream, arguments: impl ToTokens) -> TokenStream {
        self.before_group(path, Delimiter::Parenthesis, arguments)
    }

    /// Like [`call`](Self::call), for a block after a keyword.
    pub(crate) fn block(self, keyword: TokenStream, statements: impl ToTokens) -> TokenStream {
        self.before_group(keyword, Delimiter::Brace, statements)
    }

    fn before_group(
        self,
        before: TokenStream,
        delimiter: Delimiter,
        inside: impl ToTokens,
    ) -> TokenStream {
        let mut group = Group::new(delimiter, inside.into_token_stream());
        group.set_span(self.last.resolved_at(Span::mixed_site()));
        let mut whole = self.locate(before);
        whole.extend([TokenTree::Group(group)]);
        whole
    }
}
