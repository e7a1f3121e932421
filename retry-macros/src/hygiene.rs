//! `quote!` with mixed-site spans: generated variables are invisible to the
//! user's code, and the user's to them. Plain `quote!` writes with the span of
//! the call, where both would meet.

macro_rules! quote {
    ($($tokens:tt)*) => {
        ::quote::quote_spanned!(::proc_macro2::Span::mixed_site()=> $($tokens)*)
    };
}

pub(crate) use quote;

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::ToTokens;

/// Where something that the user wrote begins and ends. Spans cannot be joined on
/// a stable compiler, so that an expression has to begin and end there itself.
#[derive(Clone, Copy)]
pub(crate) struct SpanRange {
    first: Span,
    last: Span,
}

impl SpanRange {
    /// The place of `tokens`.
    pub(crate) fn of(tokens: impl ToTokens) -> Self {
        let mut tokens = tokens.into_token_stream().into_iter();
        let first = tokens.next().map_or_else(Span::mixed_site, |token| token.span());
        Self { first, last: tokens.last().map_or(first, |token| token.span()) }
    }

    /// Where it begins, for a single token.
    pub(crate) fn start(self) -> Span {
        self.first.resolved_at(Span::mixed_site())
    }

    /// `tokens`, with the compiler's complaints about them at this place. What
    /// their names mean stays as it is.
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

    /// A call of `path`, with the compiler's complaints about it at this place, and
    /// those about the `arguments` where they stand.
    pub(crate) fn call(self, path: TokenStream, arguments: impl ToTokens) -> TokenStream {
        self.before_group(path, Delimiter::Parenthesis, arguments)
    }

    /// The same for a block behind a keyword.
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
