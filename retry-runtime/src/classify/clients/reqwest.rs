//! reqwest 0.13.

use crate::classify::{Class, KnownError, status};

impl KnownError for ::reqwest::Error {
    fn known_class(&self) -> Option<Class> {
        if let Some(answer) = self.status() {
            return Some(status(answer.as_u16()));
        }
        // reqwest keeps its own "timed out" type private, so the error must be asked.
        let timeout = if self.is_timeout() { Class::TIMEOUT } else { Class::empty() };
        #[cfg(not(target_arch = "wasm32"))]
        let network =
            if self.is_connect() { Class::NETWORK | Class::CONNECT } else { Class::empty() };
        #[cfg(target_arch = "wasm32")]
        // A browser does not say why a request failed to reach the server.
        let network = if self.is_request() { Class::NETWORK } else { Class::empty() };

        let said = timeout | network;
        let is_final = self.is_builder() || self.is_redirect() || self.is_decode();
        (is_final || !said.is_empty()).then_some(said)
    }
}

#[cfg(test)]
mod tests {
    use crate::classify::{self, Class};

    #[test]
    fn reqwest_errors_are_known() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(async {
            // Nothing listens on port 1.
            let client = ::reqwest::Client::builder().no_proxy().build().unwrap();
            client.get("http://127.0.0.1:1/HTTP-500").send().await.unwrap_err()
        });
        assert_eq!(classify::error(&error), Class::NETWORK | Class::CONNECT);
        let builder = ::reqwest::Client::new().get("no address: timed out").build().unwrap_err();
        assert_eq!(classify::error(&builder), Class::empty());
    }
}
