//! [`NotAwaited`]: the future of `retrying!`, with a name that says what to do with it.

use core::future::Future;
use core::pin::Pin;
use core::task::{Context, Poll};

pin_project_lite::pin_project! {
    /// The call of an async block in `retrying!`, until `.await` behind the macro.
    ///
    /// The name is part of the compiler's messages where a result is expected.
    #[must_use = "the block in `retrying!` is async: it runs only with `.await` behind the macro"]
    pub struct NotAwaited<F> {
        #[pin]
        call: F,
    }
}

impl<F> NotAwaited<F> {
    /// Wraps the call.
    #[inline(always)]
    pub const fn new(call: F) -> Self {
        Self { call }
    }
}

impl<F: Future> Future for NotAwaited<F> {
    type Output = F::Output;

    #[inline(always)]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        self.project().call.poll(cx)
    }
}
