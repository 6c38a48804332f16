//! The keys by which a client signs: given (`jwks`), or published by the client (`jwks_uri`).

use symbolon_crypto::jwk::JwkSet;

use super::redirect_uris::web_address;
use super::{invalid, take};
use crate::client::TokenEndpointAuthMethod;
use crate::client_key::MOST_KEYS;
use crate::error::OAuthError;
use crate::redirect_uri::RedirectUriForm;
use crate::unknown_member::Members;

const GIVEN: &str = "jwks";
const PUBLISHED: &str = "jwks_uri";

/// One of both at most.
pub(super) struct Keys {
    pub(super) jwks: Option<JwkSet>,
    pub(super) jwks_uri: Option<String>,
}

/// Reads `jwks` and `jwks_uri` (RFC 7591 2, OpenID Connect Dynamic Client Registration 1.0 2). `signs_itself`: no other issuer signs
/// assertions in the client's place.
pub(super) fn read(
    doc: &mut Members,
    method: TokenEndpointAuthMethod,
    allowed: &[RedirectUriForm],
    signs_itself: bool,
) -> Result<Keys, OAuthError> {
    let set: Option<JwkSet> = take(doc, GIVEN)?;
    let jwks_uri = web_address(doc, PUBLISHED, allowed)?;
    // RFC 7591 2: both MUST NOT be present in the same request.
    if set.is_some() && jwks_uri.is_some() {
        return Err(invalid(
            PUBLISHED,
            "must not stand beside jwks: leave one of them out, or set it to null",
        ));
    }
    let keys = set.as_ref().map_or(0, |set| set.keys.iter().filter(|key| key.may_verify()).count());
    let needs_one = match method {
        TokenEndpointAuthMethod::PrivateKeyJwt => signs_itself,
        // RFC 8705 2.2.2: the certificate is registered by them.
        TokenEndpointAuthMethod::SelfSignedTlsClientAuth => true,
        _ => false,
    };
    if needs_one && keys == 0 && jwks_uri.is_none() {
        let mend = "give an RSA, P-256 or Ed25519 key, or the address of such keys as jwks_uri";
        return Err(invalid(GIVEN, format!("is required for {}: {mend}", method.as_str())));
    }
    if set.as_ref().is_some_and(|set| set.keys.len() > MOST_KEYS) {
        return Err(invalid(GIVEN, "has more than 32 keys"));
    }
    // Rebuilt from the stored keys alone: the number of skipped keys is not stored, so two equal sets would differ.
    Ok(Keys { jwks: set.map(|set| JwkSet::new(set.keys)), jwks_uri })
}
