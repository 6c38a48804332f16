//! TLS by rustls. Certificates are read at startup, and again on SIGHUP without closing connections.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::SingleCertAndKey;
use rustls::{
    CipherSuite, DigitallySignedStruct, DistinguishedName, ServerConfig, ServerConnection, SignatureScheme,
};

use symbolon_app::client_certificates::PresentedCertificate;
use symbolon_config::TlsFiles;

pub use symbolon_config::TlsError;

/// Holds a listener's present TLS configuration; `None` without TLS.
pub(super) type TlsSlot = Option<Arc<ArcSwap<ServerConfig>>>;

/// The certificates of both listeners.
pub struct TlsReloader {
    public: TlsSlot,
    management: TlsSlot,
    http2: bool,
    /// Whether the public listener asks for certificates of clients.
    asks: bool,
}

fn slot(files: Option<&TlsFiles>, http2: bool, asks: bool) -> Result<TlsSlot, TlsError> {
    files.map(|files| Ok(Arc::new(ArcSwap::from(load(files, http2, asks)?)))).transpose()
}

impl TlsReloader {
    /// Reads the certificates of both listeners. `http2`: whether to offer HTTP/2 by ALPN. `asks`: whether the public listener asks
    /// clients for a certificate.
    ///
    /// # Errors
    /// [`TlsError`] naming the file.
    pub fn new(
        public: Option<&TlsFiles>,
        management: Option<&TlsFiles>,
        http2: bool,
        asks: bool,
    ) -> Result<Self, TlsError> {
        let (public, management) = (slot(public, http2, asks)?, slot(management, http2, false)?);
        Ok(Self { public, management, http2, asks })
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
        for (slot, files, asks) in [(&self.public, public, self.asks), (&self.management, management, false)]
        {
            if let (Some(slot), Some(files)) = (slot, files) {
                read.push((slot, load(files, self.http2, asks)?));
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

/// The suites that are offered: those of TLS 1.3, and of TLS 1.2 the ones with AES-GCM alone, which RFC 9325 4.2 recommends and
/// FAPI 1.0 Advanced 8.5 demands.
fn provider() -> CryptoProvider {
    const CHACHA20: [CipherSuite; 2] = [
        CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    ];
    let mut provider = aws_lc_rs::default_provider();
    provider.cipher_suites.retain(|suite| !CHACHA20.contains(&suite.suite()));
    provider
}

fn load(files: &TlsFiles, http2: bool, asks: bool) -> Result<Arc<ServerConfig>, TlsError> {
    let provider = Arc::new(provider());
    let certified = files.read(&provider)?;
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Library)?;
    let builder = match asks {
        true => builder.with_client_cert_verifier(Arc::new(AnyCertificate(provider))),
        false => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    // RFC 7301 3.2: the client uses the protocol that the server selects from these.
    let offered: &[&[u8]] = if http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
    config.alpn_protocols = offered.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// Takes any certificate of a client, and none, but has whoever sends one prove that the private key is theirs. Whether it is that of
/// a client of an issuer, and who vouches for it, is decided where the client authenticates (RFC 8705 2).
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ClientCertVerifier for AnyCertificate {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    /// Empty: clients may send a certificate of any issuer (RFC 8446 4.2.4).
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The certificate that the client of a connection proved to have, if it has one.
pub(super) fn presented(connection: &ServerConnection) -> Option<Arc<PresentedCertificate>> {
    let (certificate, intermediates) = connection.peer_certificates()?.split_first()?;
    Some(Arc::new(PresentedCertificate::InHandshake {
        certificate: certificate.to_vec(),
        intermediates: intermediates.iter().map(|der| der.to_vec()).collect(),
    }))
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};
    use rustls::pki_types::{PrivateKeyDer, ServerName};
    use rustls::{ClientConfig, ClientConnection, RootCertStore};

    use super::*;

    fn certificate(name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        (CertificateParams::new(vec![name.to_owned()]).unwrap().self_signed(&key).unwrap(), key)
    }

    /// The server's end of a connection after the handshake with a client, which has a certificate or none.
    fn shaken(asks: bool, client: Option<&(rcgen::Certificate, KeyPair)>) -> ServerConnection {
        let place = tempfile::tempdir().unwrap();
        let (own, key) = certificate("login.test");
        let files = TlsFiles { certificate: place.path().join("own.pem"), key: place.path().join("own.key") };
        std::fs::write(&files.certificate, own.pem()).unwrap();
        std::fs::write(&files.key, key.serialize_pem()).unwrap();
        let mut server = ServerConnection::new(load(&files, true, asks).unwrap()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(own.der().clone()).unwrap();
        let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots);
        let config = match client {
            Some((certificate, key)) => {
                let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
                builder.with_client_auth_cert(vec![certificate.der().clone()], key).unwrap()
            }
            None => builder.with_no_client_auth(),
        };
        let name = ServerName::try_from("login.test").unwrap();
        let mut client = ClientConnection::new(Arc::new(config), name).unwrap();
        while client.is_handshaking() || server.is_handshaking() {
            let (mut sent, mut answered) = (Vec::new(), Vec::new());
            client.write_tls(&mut sent).unwrap();
            let mut sent = sent.as_slice();
            while !sent.is_empty() {
                server.read_tls(&mut sent).unwrap();
                server.process_new_packets().unwrap();
            }
            server.write_tls(&mut answered).unwrap();
            let mut answered = answered.as_slice();
            while !answered.is_empty() {
                client.read_tls(&mut answered).unwrap();
                client.process_new_packets().unwrap();
            }
        }
        server
    }

    #[test]
    fn tls_1_2_is_offered_with_aes_gcm_alone() {
        let offered = provider().cipher_suites;
        let old = offered.iter().filter(|suite| suite.tls13().is_none());
        let names: Vec<String> = old.map(|suite| format!("{:?}", suite.suite())).collect();
        assert_eq!((names.len(), offered.len()), (4, 7), "{names:?}");
        assert!(names.iter().all(|name| name.contains("_WITH_AES_") && name.contains("_GCM_")), "{names:?}");
    }

    #[test]
    fn a_client_may_have_a_certificate_of_its_own_making_or_none() {
        let own = certificate("client");
        match presented(&shaken(true, Some(&own))).as_deref() {
            Some(PresentedCertificate::InHandshake { certificate, intermediates }) => {
                assert_eq!((certificate.as_slice(), intermediates.len()), (&own.0.der()[..], 0));
            }
            _ => panic!("no certificate arrived"),
        }
        assert!(presented(&shaken(true, None)).is_none());
        assert!(presented(&shaken(false, Some(&own))).is_none(), "nobody asked for it");
    }
}
