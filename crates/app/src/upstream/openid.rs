//! What an OpenID provider says of somebody: the ID token, and what UserInfo adds to it.

use std::sync::Arc;

use serde_json::{Map, Value};
use symbolon_crypto::jwk::JwkSet;
use symbolon_protocol::identity_provider::id_token::{Expected, IdTokenRefused, verify};
use symbolon_protocol::identity_provider::metadata::Metadata;
use symbolon_protocol::identity_provider::token_response::TokenResponse;

use super::{Upstream, UpstreamCode, UpstreamError, unusable};
use crate::upstream_cache::Document;

/// The claims of the ID token, verified, and those that only UserInfo has.
pub(super) async fn claims(
    upstream: &Upstream<'_>,
    metadata: &Metadata,
    tokens: TokenResponse,
    code: &UpstreamCode<'_>,
) -> Result<Map<String, Value>, UpstreamError> {
    // OpenID Connect Core 3.1.3.3: the answer to an OpenID request has one.
    let token = tokens.id_token.ok_or_else(|| UpstreamError::Refused("there is no ID token".to_owned()))?;
    let expected = |now| Expected {
        issuer: &upstream.provider.issuer,
        client_id: &upstream.provider.client_id,
        nonce: code.nonce,
        signed_in_since: code.signed_in_since,
        algorithms: &metadata.algorithms,
        now,
    };
    let keys = keys(upstream, metadata, false).await?;
    let mut verified = verify(&token, &keys, &expected(upstream.app.now()));
    if matches!(verified, Err(IdTokenRefused::KeyUnknown)) {
        // Core 10.1.1: a key that is not known is looked for again.
        let keys = self::keys(upstream, metadata, true).await?;
        verified = verify(&token, &keys, &expected(upstream.app.now()));
    }
    let mut claims = verified.map_err(|why| UpstreamError::Refused(format!("the ID token: {why}")))?;
    let has_address = claims.contains_key("email");
    if let Some(url) = metadata.userinfo_endpoint.clone().filter(|_| !has_address) {
        let what = "its UserInfo endpoint";
        let body = upstream.get_with(what, url, &tokens.access_token).await?;
        let more: Map<String, Value> =
            serde_json::from_slice(&body).map_err(|error| unusable(what, error))?;
        // Core 5.3.2: the sub MUST be that of the ID token, or the answer MUST NOT be used.
        if more.get("sub") != claims.get("sub") {
            return Err(UpstreamError::Refused(format!("{what} tells of somebody else")));
        }
        for (name, value) in more {
            claims.entry(name).or_insert(value);
        }
    }
    Ok(claims)
}

/// The provider's keys. `has_unknown`: read again because a token names another, though not more often than is allowed.
async fn keys(
    upstream: &Upstream<'_>,
    metadata: &Metadata,
    has_unknown: bool,
) -> Result<Arc<JwkSet>, UpstreamError> {
    let Upstream { app, issuer, provider } = upstream;
    if let Some(known) = app.upstreams.keys(&issuer.id, provider, has_unknown, app.now()) {
        return Ok(known);
    }
    let what = "its keys";
    let parse = |body: &[u8]| JwkSet::parse(body).map_err(|error| unusable(what, error));
    let keys = upstream.read((what, Document::Keys), metadata.jwks_uri.clone(), parse).await?;
    Ok(app.upstreams.keep_keys(&issuer.id, provider, keys, app.now()))
}
