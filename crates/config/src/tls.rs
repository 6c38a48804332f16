//! The files of a TLS listener: read, compared with each other, and checked for problems that clients would have.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::CryptoProvider;
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SigningKey};
use rustls::{CertificateError, InconsistentKeys, RootCertStore};
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use symbolon_protocol::time::Timestamp;

use super::sections::listen::TlsFiles;

/// How long before its expiry a certificate is warned of.
const SOON: Duration = Duration::from_secs(14 * 86_400);

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TlsError {
    #[error("the certificate file {} {reason}", path.display())]
    Certificate { path: PathBuf, reason: String },
    #[error("the key file {} {reason}", path.display())]
    Key { path: PathBuf, reason: String },
    #[error("the key in {} is not that of the certificate in {}", key.display(), certificate.display())]
    Mismatch { certificate: PathBuf, key: PathBuf },
    #[error("the file of authorities {} {reason}", path.display())]
    Authorities { path: PathBuf, reason: String },
    #[error("TLS is not possible: {0}")]
    Library(rustls::Error),
}

impl TlsFiles {
    /// Reads the chain and the key, which must match.
    ///
    /// # Errors
    /// [`TlsError`] naming the file.
    pub fn read(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
        let bad_certificate =
            |reason: String| TlsError::Certificate { path: self.certificate.clone(), reason };
        let chain = chain(&self.certificate).map_err(bad_certificate)?;
        let certified = CertifiedKey::new(chain, self.read_key(provider)?);
        match certified.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
            Err(rustls::Error::InconsistentKeys(_)) => {
                Err(TlsError::Mismatch { certificate: self.certificate.clone(), key: self.key.clone() })
            }
            Err(error) => Err(bad_certificate(format!("cannot be used: {error}"))),
        }
    }

    /// Reads the key, even if the certificate is invalid.
    ///
    /// # Errors
    /// [`TlsError::Key`].
    pub(super) fn read_key(&self, provider: &CryptoProvider) -> Result<Arc<dyn SigningKey>, TlsError> {
        let bad_key = |reason: String| TlsError::Key { path: self.key.clone(), reason };
        let key = PrivateKeyDer::from_pem_file(&self.key)
            .map_err(|error| bad_key(unread(error, "an unencrypted private key")))?;
        let key = provider.key_provider.load_private_key(key);
        key.map_err(|_| bad_key("holds no RSA, ECDSA or EdDSA key that TLS can use".to_owned()))
    }
}

/// The authorities that are believed about clients.
#[derive(Clone, Debug)]
pub struct ClientAuthorities(Option<Arc<dyn ClientCertVerifier>>);

impl ClientAuthorities {
    /// Authorities that vouch for nobody.
    pub const fn nobody() -> Self {
        Self(None)
    }

    /// Reads a PEM file.
    ///
    /// # Errors
    /// [`TlsError::Authorities`].
    pub fn read(path: &Path) -> Result<Self, TlsError> {
        let failed = |reason: String| TlsError::Authorities { path: path.to_owned(), reason };
        let mut roots = RootCertStore::empty();
        for authority in chain(path).map_err(failed)? {
            roots.add(authority).map_err(|error| failed(format!("cannot be used: {error}")))?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        verifier
            .map(|verifier| Self(Some(verifier)))
            .map_err(|error| failed(format!("cannot be used: {error}")))
    }

    /// Whether a client's certificate is valid now and leads to one of them (RFC 5280 6). Both are DER; `intermediates` are what the
    /// client sent with it.
    pub fn vouch_for(&self, certificate: &[u8], intermediates: &[Vec<u8>], now: Timestamp) -> bool {
        let Some(verifier) = &self.0 else { return false };
        let intermediates: Vec<CertificateDer<'_>> =
            intermediates.iter().map(|der| CertificateDer::from(der.as_slice())).collect();
        let now = UnixTime::since_unix_epoch(Duration::from_secs(now.seconds()));
        verifier.verify_client_cert(&CertificateDer::from(certificate), &intermediates, now).is_ok()
    }
}

/// The certificates of a PEM file, at least one; otherwise a description of the problem.
pub fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let chain = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unread(error, "a certificate"))?;
    if chain.is_empty() {
        return Err(unread(pem::Error::NoItemsFound, "a certificate"));
    }
    Ok(chain)
}

fn unread(error: pem::Error, wanted: &str) -> String {
    match error {
        pem::Error::Io(error) if error.kind() == io::ErrorKind::NotFound => "does not exist".to_owned(),
        pem::Error::Io(error) => format!("cannot be read: {error}"),
        pem::Error::NoItemsFound => format!("does not hold {wanted} in PEM form"),
        _ => "is damaged PEM".to_owned(),
    }
}

/// Problems with which the server starts but clients fail: validity times, and a missing name (`host`, if known).
pub(super) fn doubts(
    certified: &CertifiedKey,
    provider: &CryptoProvider,
    now: Timestamp,
    host: Option<&str>,
) -> Vec<String> {
    let mut found = Vec::new();
    for (number, certificate) in (1..).zip(&certified.cert) {
        let which = if number == 1 {
            "The certificate".to_owned()
        } else {
            format!("Certificate {number} of the chain")
        };
        found.extend(validity(certificate, provider, now).map(|what| format!("{which} {what}.")));
    }
    let leaf = certified.end_entity_cert().and_then(ParsedCertificate::try_from);
    if let (Ok(leaf), Some(host)) = (leaf, host) {
        let named = ServerName::try_from(host.trim_matches(['[', ']']))
            .is_ok_and(|name| rustls::client::verify_server_name(&leaf, &name).is_ok());
        if !named {
            found.push(format!("The certificate is not for `{host}`, the host of the issuer."));
        }
    }
    found
}

/// A problem with a certificate's validity times, if there is one.
fn validity(certificate: &CertificateDer<'_>, provider: &CryptoProvider, now: Timestamp) -> Option<String> {
    let certificate = ParsedCertificate::try_from(certificate).ok()?;
    // Verified against no trust anchors, so the best possible result is an unknown issuer. Validity times are checked
    // before the issuer.
    let at = |time: Duration| {
        let algorithms = provider.signature_verification_algorithms.all;
        let (roots, time) = (RootCertStore::empty(), UnixTime::since_unix_epoch(time));
        match rustls::client::verify_server_cert_signed_by_trust_anchor(
            &certificate,
            &roots,
            &[],
            time,
            algorithms,
        ) {
            Err(rustls::Error::InvalidCertificate(error)) => Some(error),
            _ => None,
        }
    };
    let now = Duration::from_secs(now.seconds());
    let days = |from: Duration, to: UnixTime| to.as_secs().abs_diff(from.as_secs()) / 86_400;
    match at(now) {
        Some(CertificateError::ExpiredContext { not_after, .. }) => {
            return Some(format!("expired {} days ago", days(now, not_after)));
        }
        Some(CertificateError::NotValidYetContext { not_before, .. }) => {
            return Some(format!("is not valid for another {} days", days(now, not_before)));
        }
        _ => {}
    }
    match at(now + SOON) {
        Some(CertificateError::ExpiredContext { not_after, .. }) => {
            Some(format!("expires in {} days", days(now, not_after)))
        }
        _ => None,
    }
}
