//! reqwest-middleware 0.5: the error of reqwest, or of a middleware, which it shows as its own.

use core::error::Error as StdError;

use ::reqwest_middleware::Error;

use crate::classify::{Class, KnownError};
use crate::outcome::interrupted::Interrupted;

/// The error that this one stands for: its own source is the source of that one.
pub(super) fn inside(error: &Error) -> &(dyn StdError + 'static) {
    match error {
        Error::Reqwest(error) => error,
        Error::Middleware(error) => AsRef::<dyn StdError + Send + Sync>::as_ref(error),
    }
}

impl KnownError for Error {
    fn known_class(&self) -> Option<Class> {
        // The inner error decides.
        None
    }
}

retry_rules::conversion!(|interrupted: Interrupted| -> Error { Self::middleware(interrupted) });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{self, clients::tests::keeps_interruptions};

    #[test]
    fn an_interruption_survives_in_the_error_of_a_middleware() {
        keeps_interruptions::<Error>();
    }

    #[test]
    fn the_error_of_reqwest_decides() {
        let client = ::reqwest::Client::builder().no_proxy().build().unwrap();
        let invalid = client.get("no address: timed out").build().unwrap_err();
        assert_eq!(classify::error(&Error::from(invalid)), Class::empty());
        let reset = std::io::Error::from(std::io::ErrorKind::ConnectionReset);
        assert_eq!(classify::error(&Error::middleware(reset)), Class::NETWORK);
    }
}
