//! The encrypted channel between a coordinator and an agent: TLS 1.3 with a key that the agent makes at its start. The key
//! says nothing of who has it; the proofs of the secret do (`docs/decisions/031-agents-know-each-other-by-a-secret.md`).

use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls13_signature_with_raw_key};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme};
use symbolon_crypto::Algorithm;
use symbolon_crypto::key::SigningKey;
use tokio::net::TcpStream;
use tokio_rustls::{TlsAcceptor, TlsConnector, TlsStream};

/// The channel binding of TLS 1.3 (RFC 9266 2): the same at both ends of a connection, and at no other's.
const BINDING: &[u8] = b"EXPORTER-Channel-Binding";

/// An encrypted connection, and what its two ends alone have in common.
pub(super) type Bound = (TlsStream<TcpStream>, [u8; 32]);

/// An agent's side, with a key of its own that is used as long as the process runs.
pub(super) fn acceptor() -> io::Result<TlsAcceptor> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let key = SigningKey::generate(Algorithm::Es256, None).map_err(io::Error::other)?;
    let key = key.to_pkcs8_pem().map_err(io::Error::other)?;
    let key = PrivateKeyDer::from_pem_slice(key.expose().as_bytes()).map_err(io::Error::other)?;
    let key = provider.key_provider.load_private_key(key).map_err(io::Error::other)?;
    let public = key.public_key().ok_or_else(|| io::Error::other("the key has no public one"))?;
    // RFC 7250: the key alone, instead of a certificate that nobody would check.
    let certified = CertifiedKey::new(vec![CertificateDer::from(public.to_vec())], key);
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(Arc::new(certified))));
    // Every connection proves anew.
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The coordinator's side.
pub(super) fn connector() -> io::Result<TlsConnector> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AnyKey(provider)))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Encrypts a connection that came in.
pub(super) async fn accept(acceptor: &TlsAcceptor, stream: TcpStream) -> io::Result<Bound> {
    stream.set_nodelay(true)?;
    bound(acceptor.accept(stream).await?.into())
}

/// Encrypts a connection to an agent.
pub(super) async fn connect(connector: &TlsConnector, stream: TcpStream) -> io::Result<Bound> {
    stream.set_nodelay(true)?;
    // No certificate names anybody, so no name is asked for.
    let name = ServerName::IpAddress(stream.peer_addr()?.ip().into());
    bound(connector.connect(name, stream).await?.into())
}

fn bound(stream: TlsStream<TcpStream>) -> io::Result<Bound> {
    let binding = match &stream {
        TlsStream::Client(stream) => stream.get_ref().1.export_keying_material([0; 32], BINDING, None),
        TlsStream::Server(stream) => stream.get_ref().1.export_keying_material([0; 32], BINDING, None),
    };
    let binding = binding.map_err(io::Error::other)?;
    Ok((stream, binding))
}

/// Takes any key whose owner signs the handshake with it: who that is, the proof of the secret says.
#[derive(Debug)]
struct AnyKey(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyKey {
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
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("only TLS 1.3 is spoken here".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
