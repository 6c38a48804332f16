//! What the certificate of a client must have that authenticates by `tls_client_auth` (RFC 8705 2.1.2).

use super::{invalid, take};
use crate::client::TokenEndpointAuthMethod;
use crate::error::OAuthError;
use crate::mutual_tls::CertificateSubject;
use crate::unknown_member::Members;

/// Reads the members `tls_client_auth_...`.
pub(super) fn read(
    doc: &mut Members,
    method: TokenEndpointAuthMethod,
) -> Result<Option<CertificateSubject>, OAuthError> {
    let mut found = None;
    for member in CertificateSubject::MEMBERS {
        let Some(value) = take::<String>(doc, member)? else { continue };
        if method != TokenEndpointAuthMethod::TlsClientAuth {
            return Err(invalid(member, "needs the token_endpoint_auth_method tls_client_auth"));
        }
        // RFC 8705 2.1.2: exactly one of them.
        if found.is_some() {
            return Err(invalid(member, "must not stand beside another member that names the certificate"));
        }
        found = Some(CertificateSubject::read(member, value).map_err(|why| invalid(member, why))?);
    }
    if found.is_none() && method == TokenEndpointAuthMethod::TlsClientAuth {
        let others = "tls_client_auth_san_dns, tls_client_auth_san_uri, tls_client_auth_san_ip or \
                      tls_client_auth_san_email";
        let why =
            format!("is required for tls_client_auth: name what its certificate has, here or by {others}");
        return Err(invalid("tls_client_auth_subject_dn", why));
    }
    Ok(found)
}
