//! The number of tokens in a bucket and their limit: one word, so that both change atomically.

/// `limit << 32 | tokens`; there are never more tokens than the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level(pub(super) u64);

impl Level {
    pub(super) const fn full(limit: u32) -> Self {
        Self::new(limit, limit)
    }

    pub(super) const fn new(limit: u32, tokens: u32) -> Self {
        let tokens = if tokens < limit { tokens } else { limit };
        Self((limit as u64) << 32 | tokens as u64)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the low half is the tokens")]
    pub(super) const fn tokens(self) -> u32 {
        self.0 as u32
    }

    pub(super) const fn limit(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) const fn is_full(self) -> bool {
        self.tokens() >= self.limit()
    }

    /// The level after paying for a retry, if it can pay.
    pub(super) fn take(self, cost: u32) -> Option<Self> {
        Some(Self::new(self.limit(), self.tokens().checked_sub(cost)?))
    }

    /// The level with this many more tokens, unless it is full.
    pub(super) fn put(self, tokens: u32) -> Option<Self> {
        (!self.is_full()).then(|| Self::new(self.limit(), self.tokens().saturating_add(tokens)))
    }

    /// The same level with another limit, which may cut off tokens.
    pub(super) const fn limited_to(self, limit: u32) -> Self {
        Self::new(limit, self.tokens())
    }
}
