//! TLS by rustls. Certificates are read at startup, and again on SIGHUP without closing connections.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::sign::SingleCertAndKey;

use symbolon_config::TlsFiles;

pub use symbolon_config::TlsError;

/// Holds a listener's present TLS configuration; `None` without TLS.
pub(super) type TlsSlot = Option<Arc<ArcSwap<ServerConfig>>>;

/// The certificates of both listeners.
pub struct TlsReloader {
    public: TlsSlot,
    management: TlsSlot,
    http2: bool,
}

fn slot(files: Option<&TlsFiles>, http2: bool) -> Result<TlsSlot, TlsError> {
    files.map(|files| Ok(Arc::new(ArcSwap::from(load(files, http2)?)))).transpose()
}

impl TlsReloader {
    /// Reads the certificates of both listeners. `http2`: whether to offer HTTP/2 by ALPN.
    ///
    /// # Errors
    /// [`TlsError`] naming the file.
    pub fn new(
        public: Option<&TlsFiles>,
        management: Option<&TlsFiles>,
        http2: bool,
    ) -> Result<Self, TlsError> {
        Ok(Self { public: slot(public, http2)?, management: slot(management, http2)?, http2 })
    }

    /// Reads the files again, for new connections. Returns how many listeners were reloaded. Turning TLS on or off for a
    /// listener needs a restart. On an error both listeners keep their present certificates.
    ///
    /// # Errors
    /// [`TlsError`] naming the file.
    pub fn reload(
        &self,
        public: Option<&TlsFiles>,
        management: Option<&TlsFiles>,
    ) -> Result<usize, TlsError> {
        let mut read = Vec::new();
        for (slot, files) in [(&self.public, public), (&self.management, management)] {
            if let (Some(slot), Some(files)) = (slot, files) {
                read.push((slot, load(files, self.http2)?));
            }
        }
        let listeners = read.len();
        for (slot, config) in read {
            slot.store(config);
        }
        Ok(listeners)
    }

    pub(super) fn public(&self) -> TlsSlot {
        self.public.clone()
    }

    pub(super) fn management(&self) -> TlsSlot {
        self.management.clone()
    }
}

fn load(files: &TlsFiles, http2: bool) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let certified = files.read(&provider)?;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Library)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    // RFC 7301 3.2: the client uses the protocol that the server selects from these.
    let offered: &[&[u8]] = if http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}
