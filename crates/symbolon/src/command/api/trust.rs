//! Which certificates a command trusts when it talks to a server over TLS.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use symbolon_config::{TlsFiles, certificate_chain};

use super::ApiError;

/// Trusts a server certificate that is itself in a file, or that one of the file's certificates issued for the
/// requested name.
#[derive(Debug)]
struct Believed {
    themselves: Vec<CertificateDer<'static>>,
    issuers: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

/// Trusts the certificates of a `--ca` file, and certificates issued by them.
///
/// # Errors
/// [`ApiError::Ca`]: the file has no usable certificate.
pub(in crate::command) fn of_file(path: &Path) -> Result<Arc<ClientConfig>, ApiError> {
    let refuse = |reason: String| ApiError::Ca { path: path.to_owned(), reason };
    let themselves = certificate_chain(path).map_err(refuse)?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(themselves.iter().cloned());
    let issuers = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
        .build()
        .map_err(|error| refuse(format!("cannot be used: {error}")))?;
    client(Believed { themselves, issuers: Some(issuers), provider })
}

/// Trusts exactly the certificate that the configuration gives the management listener, whatever name is in it, because
/// the address comes from the same configuration.
///
/// # Errors
/// [`ApiError::Ca`]: there is no certificate in the file.
pub(super) fn of_configured(files: &TlsFiles) -> Result<Arc<ClientConfig>, ApiError> {
    let refuse = |reason| ApiError::Ca { path: files.certificate.clone(), reason };
    let mut themselves = certificate_chain(&files.certificate).map_err(refuse)?;
    themselves.truncate(1);
    client(Believed { themselves, issuers: None, provider: Arc::new(aws_lc_rs::default_provider()) })
}

/// Trusts certificates that the machine's authorities issued.
///
/// # Errors
/// [`ApiError::Answer`], only if the cryptographic library knew no version of TLS.
pub(in crate::command) fn of_machine() -> Result<Arc<ClientConfig>, ApiError> {
    let mut roots = RootCertStore::empty();
    // An authority that cannot be read is skipped; the others are still used.
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| ApiError::Answer(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(Arc::new(config))
}

fn client(believed: Believed) -> Result<Arc<ClientConfig>, ApiError> {
    let config = ClientConfig::builder_with_provider(Arc::clone(&believed.provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| ApiError::Answer(error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(believed))
        .with_no_client_auth();
    Ok(Arc::new(config))
}

impl ServerCertVerifier for Believed {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        stapled: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if self.themselves.iter().any(|own| own == leaf) {
            return Ok(ServerCertVerified::assertion());
        }
        match &self.issuers {
            Some(issuers) => issuers.verify_server_cert(leaf, intermediates, name, stapled, now),
            None => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
