//! TLS: `sslmode` in the address determines what is verified.
//!
//! `require` verifies the server's certificate and name. `prefer`, the default, encrypts if the
//! server can, and verifies nothing: a man in the middle could just as well claim that there is no
//! TLS.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_postgres::config::SslMode;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::PostgresError;

/// The connector for TLS; `roots` is a file of certificates to trust instead of the machine's.
pub(super) fn connector(
    mode: SslMode,
    roots: Option<&Path>,
) -> Result<MakeRustlsConnect, PostgresError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(PostgresError::other)?;
    let config = match (mode, roots) {
        (SslMode::Disable | SslMode::Prefer, None) => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Unchecked(provider)))
            .with_no_client_auth(),
        (_, roots) => builder.with_root_certificates(trusted(roots)?).with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn trusted(roots: Option<&Path>) -> Result<RootCertStore, PostgresError> {
    let mut store = RootCertStore::empty();
    match roots {
        Some(file) => {
            let named = |error: &dyn std::fmt::Display| {
                let file = file.display();
                PostgresError::other(format!("cannot read the certificates in {file}: {error}"))
            };
            let read = CertificateDer::pem_file_iter(file).map_err(|error| named(&error))?;
            for certificate in read {
                let certificate = certificate.map_err(|error| named(&error))?;
                store.add(certificate).map_err(|error| named(&error))?;
            }
        }
        None => {
            // A certificate that cannot be parsed is not trusted.
            let (_added, _ignored) =
                store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    Ok(store)
}

/// Accepts any certificate.
#[derive(Debug)]
struct Unchecked(Arc<CryptoProvider>);

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
