//! [`Token`]: the secret that visitors have to know.

use axum::http::HeaderMap;
use thiserror::Error;

use super::identity::Identity;
use super::secret::Secret;
use super::session::Session;

/// A secret that visitors have to know: entered on the board's sign-in page, or sent as
/// `Authorization: Bearer …`.
///
/// ```
/// use retry_board::Token;
///
/// assert!(Token::new("correct horse battery staple").is_ok());
/// assert!(Token::new("1234").is_err());
/// ```
#[derive(Clone)]
pub struct Token {
    secret: Secret,
    proof: String,
    name: Option<String>,
    reads_only: bool,
}

/// A text that is too easy to guess to be a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "a token of {length} characters can be guessed: write at least {SHORTEST}, such as the output of \
     `openssl rand -hex 32`"
)]
pub struct InvalidToken {
    length: usize,
}

/// A shorter token could be guessed.
const SHORTEST: usize = 16;

impl Token {
    /// Creates a token from this text, without the white space around it.
    ///
    /// ```
    /// use retry_board::Token;
    ///
    /// let token = Token::new("correct horse battery staple");
    /// assert!(token.is_ok());
    /// ```
    ///
    /// # Errors
    /// The token is shorter than 16 characters.
    pub fn new(text: &str) -> Result<Self, InvalidToken> {
        let text = text.trim();
        let length = text.chars().count();
        if length < SHORTEST {
            return Err(InvalidToken { length });
        }
        let secret = Secret::of(text);
        let proof = secret.sign("token", text);
        Ok(Self { secret, proof, name: None, reads_only: false })
    }

    /// Sets who has the token: the name in the events of actions.
    ///
    /// ```
    /// # use retry_board::{Board, Token};
    /// let ada = Token::new("correct horse battery staple")?.named("ada");
    /// let all = Token::new("sixteen characters at least")?.named("team").reader();
    /// let board = Board::new().token(ada).token(all).allow_actions();
    /// # Ok::<(), retry_board::InvalidToken>(())
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Lets the token's holder see everything and change nothing.
    ///
    /// ```
    /// # use retry_board::Token;
    /// let token = Token::new("correct horse battery staple")?.reader();
    /// # Ok::<(), retry_board::InvalidToken>(())
    /// ```
    #[must_use]
    pub fn reader(mut self) -> Self {
        self.reads_only = true;
        self
    }

    /// Returns the identity of the token's holder.
    pub(crate) fn identity(&self) -> Identity {
        let Self { secret, name, reads_only, .. } = self;
        Identity { name: name.clone(), acts: !reads_only, secret: secret.clone() }
    }

    /// Returns whether the given text is the token, compared in constant time.
    pub(crate) fn is(&self, given: &str) -> bool {
        self.secret.verify("token", given.trim(), &self.proof)
    }

    /// Returns whether a session was begun with this token. Its key depends on the token, so that
    /// sessions survive a restart, but end when the token changes.
    pub(crate) fn begun(&self, headers: &HeaderMap) -> Option<Session> {
        Session::find(headers, &self.secret)
    }
}

// Hides the token.
retry_rules::partial_debug!(Token);
