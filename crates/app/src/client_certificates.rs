//! The TLS certificates of clients (RFC 8705): where they are taken from, and who vouches for them.

use std::sync::Arc;

use http::{HeaderName, HeaderValue, Request};
use symbolon_config::{ClientAuthorities, MutualTls};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::mutual_tls::{read_header, unreadable};

/// How the certificates of clients arrive, fixed when the server starts.
pub struct ClientCertificates {
    header: Option<HeaderName>,
    asks: bool,
    pub(crate) authorities: Option<ClientAuthorities>,
}

/// A certificate that came with a request, and is not read yet.
pub enum PresentedCertificate {
    /// In the header of a trusted proxy; `None` if the header came more than once.
    InHeader(Option<HeaderValue>),
    /// In the handshake of the connection, which proved that the client has the private key.
    InHandshake {
        /// The client's own, in DER.
        certificate: Vec<u8>,
        /// Those that came with it, in DER.
        intermediates: Vec<Vec<u8>>,
    },
}

impl ClientCertificates {
    /// As the configuration says. Where the file of authorities cannot be read, nobody vouches for a client.
    pub(crate) fn new(configured: &MutualTls) -> Self {
        let authorities = configured.authorities.as_deref().map(|path| {
            ClientAuthorities::read(path).unwrap_or_else(|error| {
                tracing::error!(%error, "no client can authenticate by tls_client_auth");
                ClientAuthorities::nobody()
            })
        });
        let header = configured.header.as_deref().and_then(|name| HeaderName::try_from(name).ok());
        Self { header, asks: configured.asks, authorities }
    }

    /// The certificate that came with a request. `trusted`: the peer is a trusted proxy, whose own certificate says nothing about the
    /// clients behind it. From anybody else the header is ignored: whoever can reach this server could write it.
    pub(crate) fn of_request<B>(
        &self,
        request: &Request<B>,
        trusted: bool,
    ) -> Option<Arc<PresentedCertificate>> {
        if !trusted {
            let asked = self.asks.then(|| request.extensions().get::<Arc<PresentedCertificate>>());
            return asked.flatten().cloned();
        }
        let mut lines = request.headers().get_all(self.header.as_ref()?).iter();
        // A proxy sends an empty value for a client without a certificate.
        let line = lines.next().filter(|line| !line.is_empty())?;
        let only = lines.next().is_none().then(|| line.clone());
        Some(Arc::new(PresentedCertificate::InHeader(only)))
    }
}

impl PresentedCertificate {
    pub(crate) fn der(&self) -> Result<Vec<u8>, OAuthError> {
        match self {
            Self::InHeader(value) => {
                let text = value.as_ref().and_then(|value| value.to_str().ok());
                text.and_then(read_header).ok_or_else(unreadable)
            }
            Self::InHandshake { certificate, .. } => Ok(certificate.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(header: Option<&str>, asks: bool) -> ClientCertificates {
        let header = header.map(str::to_owned);
        ClientCertificates::new(&MutualTls { header, asks, authorities: None, url: None })
    }

    /// What is found in a request with these lines of the header, and a certificate of the handshake.
    fn found(own: &ClientCertificates, lines: &[&str], trusted: bool) -> Option<Option<Vec<u8>>> {
        let mut request = Request::new(());
        for line in lines {
            request.headers_mut().append("client-cert", HeaderValue::from_str(line).unwrap());
        }
        let (certificate, intermediates) = (b"handshake".to_vec(), Vec::new());
        request
            .extensions_mut()
            .insert(Arc::new(PresentedCertificate::InHandshake { certificate, intermediates }));
        own.of_request(&request, trusted).map(|presented| presented.der().ok())
    }

    #[test]
    fn a_header_counts_from_a_trusted_proxy_alone() {
        let own = configured(Some("client-cert"), false);
        let (header, der) = (":aGVhZGVy:", Some(Some(b"header".to_vec())));
        assert_eq!(found(&own, &[header], true), der);
        assert_eq!(found(&own, &[header], false), None);
        assert_eq!(found(&own, &[], true), None);
        assert_eq!(found(&own, &[""], true), None, "the client has none");
        assert_eq!(found(&own, &[header, header], true), Some(None));
        assert_eq!(found(&own, &["junk"], true), Some(None));
    }

    #[test]
    fn a_handshake_counts_where_the_listener_asks_and_the_peer_is_no_proxy() {
        let handshake = Some(Some(b"handshake".to_vec()));
        let both = configured(Some("client-cert"), true);
        assert_eq!(found(&both, &[":aGVhZGVy:"], false), handshake);
        assert_eq!(found(&both, &[], true), None, "it is the proxy's own");
        assert_eq!(found(&configured(None, true), &[":aGVhZGVy:"], true), None);
        assert_eq!(found(&configured(Some("client-cert"), false), &[], false), None);
    }
}
