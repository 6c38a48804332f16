//! TLS by rustls: certificates read at start and again on SIGHUP, without dropping a connection.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::TlsFiles;

/// Why certificates cannot be used.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TlsError {
    #[error("cannot read {path}: {reason}")]
    Read { path: PathBuf, reason: String },
    #[error("certificate {certificate} and key {key} cannot be used: {reason}")]
    Mismatch { certificate: PathBuf, key: PathBuf, reason: rustls::Error },
}

/// Where the newest configuration of a listener is; none without TLS.
pub(super) type TlsSlot = Option<Arc<ArcSwap<ServerConfig>>>;

/// The certificates of both listeners.
pub struct TlsReloader {
    public: TlsSlot,
    management: TlsSlot,
}

fn slot(files: Option<&TlsFiles>) -> Result<TlsSlot, TlsError> {
    files.map(|files| Ok(Arc::new(ArcSwap::from(load(files)?)))).transpose()
}

impl TlsReloader {
    /// Reads the certificates of both listeners.
    ///
    /// # Errors
    /// [`TlsError`] naming the file.
    pub fn new(public: Option<&TlsFiles>, management: Option<&TlsFiles>) -> Result<Self, TlsError> {
        Ok(Self { public: slot(public)?, management: slot(management)? })
    }

    /// Reads the files again; new connections use what they say. On an error the old certificates stay.
    ///
    /// # Errors
    /// [`TlsError`] naming the file.
    pub fn reload(&self, public: Option<&TlsFiles>, management: Option<&TlsFiles>) -> Result<(), TlsError> {
        for (slot, files) in [(&self.public, public), (&self.management, management)] {
            if let (Some(slot), Some(files)) = (slot, files) {
                slot.store(load(files)?);
            }
        }
        Ok(())
    }

    pub(super) fn public(&self) -> TlsSlot {
        self.public.clone()
    }

    pub(super) fn management(&self) -> TlsSlot {
        self.management.clone()
    }
}

fn load(files: &TlsFiles) -> Result<Arc<ServerConfig>, TlsError> {
    let unreadable = |path: &Path, reason: String| TlsError::Read { path: path.to_owned(), reason };
    let chain = CertificateDer::pem_file_iter(&files.certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unreadable(&files.certificate, error.to_string()))?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|error| unreadable(&files.key, error.to_string()))?;
    let mismatch = |reason| TlsError::Mismatch {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        reason,
    };
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(mismatch)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(mismatch)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
