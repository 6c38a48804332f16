//! The TLS certificate of a request (RFC 8705).

use symbolon_protocol::client::{Client, TokenEndpointAuthMethod};
use symbolon_protocol::error::OAuthError;
use symbolon_protocol::mutual_tls::ClientCertificate;

use super::Context;
use crate::client_certificates::PresentedCertificate;

impl Context {
    /// The certificate of a client that authenticates by one (RFC 8705 2); `None` if none came.
    ///
    /// # Errors
    /// `invalid_request`: what came is no certificate.
    pub fn certificate_of(&self, client: &Client) -> Result<Option<ClientCertificate>, OAuthError> {
        let Some(presented) = &self.certificate else { return Ok(None) };
        let der = presented.der()?;
        // The chain does not matter for a certificate of the client's own making (RFC 8705 2.2).
        let needs_authority = client.token_endpoint_auth_method == TokenEndpointAuthMethod::TlsClientAuth;
        let is_vouched_for = needs_authority && self.vouch_for(presented, &der);
        Ok(Some(ClientCertificate { der, is_vouched_for }))
    }

    /// The thumbprint of the request's certificate, to which tokens are bound (RFC 8705 3.1); `None` if none came.
    ///
    /// # Errors
    /// As [`certificate_of`](Self::certificate_of).
    pub fn certificate_thumbprint(&self) -> Result<Option<String>, OAuthError> {
        let Some(presented) = &self.certificate else { return Ok(None) };
        let certificate = ClientCertificate { der: presented.der()?, is_vouched_for: false };
        Ok(Some(certificate.thumbprint()))
    }

    /// RFC 8705 2.1: whether the chain is valid. Without authorities of our own, a proxy has checked it.
    fn vouch_for(&self, presented: &PresentedCertificate, der: &[u8]) -> bool {
        let configured = self.app.client_certificates.as_ref();
        let authorities = configured.and_then(|own| own.authorities.as_ref());
        match (presented, authorities) {
            (PresentedCertificate::InHeader(_), None) => true,
            (PresentedCertificate::InHandshake { .. }, None) => false,
            (PresentedCertificate::InHeader(_), Some(own)) => own.vouch_for(der, &[], self.app.now()),
            (PresentedCertificate::InHandshake { intermediates, .. }, Some(own)) => {
                own.vouch_for(der, intermediates, self.app.now())
            }
        }
    }
}
