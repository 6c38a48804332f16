//! TLS in front of a server that knows none.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, HandshakeKind, RootCertStore, ServerConfig};
use symbolon_loadtest::client::{Protocol, Way};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    certificate: CertificateDer<'static>,
    /// Handshakes that went on with an earlier session.
    resumed: Arc<AtomicU64>,
}

impl Front {
    /// Shows a certificate for `name`, and hands what is said on to `behind`.
    pub(crate) fn of(behind: SocketAddr, name: &str, protocols: &[&[u8]]) -> Self {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap();
        let certificate = certificate.der().clone();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.clone()], key)
            .unwrap();
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let resumed = Arc::new(AtomicU64::new(0));
        let (acceptor, counter) = (TlsAcceptor::from(Arc::new(config)), Arc::clone(&resumed));
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = TcpListener::from_std(listener).unwrap();
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(pass_on(stream, acceptor.clone(), behind, Arc::clone(&counter)));
                }
            });
        });
        Self { address, certificate, resumed }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// Trusts its certificate.
    pub(crate) fn way(&self, protocol: Protocol) -> Way {
        trusting(protocol, Some(self.certificate.clone()))
    }

    pub(crate) fn resumed(&self) -> u64 {
        self.resumed.load(Ordering::SeqCst)
    }
}

/// Trusts this certificate, or nobody.
pub(crate) fn trusting(protocol: Protocol, certificate: Option<CertificateDer<'static>>) -> Way {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificate);
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    Way { protocol, trust: Some(Arc::new(config)) }
}

async fn pass_on(stream: TcpStream, acceptor: TlsAcceptor, behind: SocketAddr, resumed: Arc<AtomicU64>) {
    // Who does not trust the certificate ends the handshake.
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    if stream.get_ref().1.handshake_kind() == Some(HandshakeKind::Resumed) {
        resumed.fetch_add(1, Ordering::SeqCst);
    }
    let mut plain = TcpStream::connect(behind).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut stream, &mut plain).await;
}
