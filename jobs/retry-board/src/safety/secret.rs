//! [`Secret`]: signs what browsers store, so that it cannot be forged.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

/// A signing key.
#[derive(Clone)]
pub(crate) struct Secret([u8; 32]);

impl Secret {
    /// Creates a random key, which lasts as long as the process.
    pub(crate) fn random() -> Self {
        let mut key = [0; 32];
        // Without system randomness nothing here is secure, so do not start.
        getrandom::fill(&mut key).expect("the operating system gives random bytes");
        Self(key)
    }

    /// Derives a key from a text: the same key in every process.
    pub(crate) fn of(text: &str) -> Self {
        let mut mac = Self([0; 32]).mac("secret");
        mac.update(text.as_bytes());
        Self(mac.finalize().into_bytes().into())
    }

    fn mac(&self, purpose: &str) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length is a key");
        mac.update(purpose.as_bytes());
        mac.update(&[0]);
        mac
    }

    /// Signs a text for one purpose.
    pub(crate) fn sign(&self, purpose: &str, text: &str) -> String {
        let mut mac = self.mac(purpose);
        mac.update(text.as_bytes());
        hex::encode(mac.finalize().into_bytes())
    }

    /// Checks a signature in constant time.
    pub(crate) fn verify(&self, purpose: &str, text: &str, signature: &str) -> bool {
        let Ok(bytes) = hex::decode(signature) else { return false };
        let mut mac = self.mac(purpose);
        mac.update(text.as_bytes());
        mac.verify_slice(&bytes).is_ok()
    }

    /// Creates a text that cannot be guessed.
    pub(crate) fn nonce() -> String {
        hex::encode(&Self::random().0[..16])
    }
}

// Hides the key.
retry_rules::partial_debug!(Secret);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signature_is_of_one_text_one_purpose_and_one_key() {
        let secret = Secret::random();
        let signature = secret.sign("form", "a");
        assert!(secret.verify("form", "a", &signature));
        assert!(!secret.verify("form", "b", &signature));
        assert!(!secret.verify("session", "a", &signature));
        assert!(!Secret::random().verify("form", "a", &signature));
        for bad in ["", "0", "zz", &signature[2..], "é0"] {
            assert!(!secret.verify("form", "a", bad), "{bad}");
        }
        assert!(Secret::of("t").verify("form", "a", &Secret::of("t").sign("form", "a")));
    }
}
