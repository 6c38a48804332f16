//! Security profiles: one setting of a client that stands for all the rules of a profile of OAuth (FAPI 2.0 Security Profile,
//! FAPI 2.0 Message Signing).
//!
//! Each rule that a setting of its own can ask for too is decided where that setting is read, by one function: whether
//! requests are pushed ([`is_required`](crate::authorize::pushed_request::is_required)), signed
//! ([`Client::requires_signed_requests`], and for backchannel authentication
//! [`Client::requires_signed_backchannel_requests`]), and protected by PKCE ([`pkce_for`](crate::settings::IssuerSettings::pkce_for));
//! whether tokens are bound ([`Client::requires_bound_tokens`]); what audience assertions have
//! ([`requires_issuer_audience`](crate::settings::ClientOverrides::requires_issuer_audience)); how long codes live
//! ([`lifetimes_for`](crate::settings::IssuerSettings::lifetimes_for)); whether refresh tokens rotate
//! ([`rotates_for`](crate::settings::IssuerSettings::rotates_for)); and what signs answers
//! ([`Client::signing_algorithm`]). Here is what a profile allows, and what contradicts it in a client's metadata.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;

use crate::client::{Client, TokenEndpointAuthMethod};
use crate::pkce::PkcePolicy;
use crate::response_type::ResponseType;

/// How long a code may live (FAPI 2.0 Security Profile 5.3.2.1).
pub const LONGEST_CODE_LIFE: Duration = Duration::from_secs(60);

/// The algorithms of everything that client and provider sign (FAPI 2.0 Security Profile 5.4).
const ALGORITHMS: [Algorithm; 3] = [Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa];

/// A profile that a client keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecurityProfile {
    /// FAPI 2.0 Security Profile.
    #[serde(rename = "fapi2_security")]
    Fapi2Security,
    /// FAPI 2.0 Message Signing, which has the former and signed requests.
    #[serde(rename = "fapi2_message_signing")]
    Fapi2MessageSigning,
}

impl SecurityProfile {
    /// Every value of the setting.
    pub const NAMES: [&'static str; 2] = [Self::Fapi2Security.as_str(), Self::Fapi2MessageSigning.as_str()];

    /// The setting's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fapi2Security => "fapi2_security",
            Self::Fapi2MessageSigning => "fapi2_message_signing",
        }
    }

    /// Whether requests must be signed (FAPI 2.0 Message Signing 5.3.1).
    pub const fn signs_requests(self) -> bool {
        matches!(self, Self::Fapi2MessageSigning)
    }
}

/// Whether a client of this profile, or of none, may sign and be answered by an algorithm.
pub fn allows(profile: Option<SecurityProfile>, algorithm: Algorithm) -> bool {
    profile.is_none() || ALGORITHMS.contains(&algorithm)
}

/// The names of the algorithms that profiles allow, as errors list them.
pub fn algorithm_names() -> [&'static str; 3] {
    ALGORITHMS.map(Algorithm::as_str)
}

/// The flag that a profile implies where tokens are not bound to certificates.
const DPOP_BOUND: &str = "dpop_bound_access_tokens";
/// The flag that Message Signing alone implies.
const SIGNED: &str = "require_signed_request_object";
/// The flags among the metadata that some profile implies.
pub(crate) const IMPLIED: [&str; 3] = ["require_pushed_authorization_requests", DPOP_BOUND, SIGNED];

/// Whether a profile implies one of these flags for a client: `false` contradicts it.
pub(crate) fn implies(client: &Client, profile: SecurityProfile, flag: &str) -> bool {
    match flag {
        SIGNED => profile.signs_requests(),
        // FAPI 2.0 Security Profile 5.3.2.1: by mutual TLS or by DPoP.
        DPOP_BOUND => !client.tls_client_certificate_bound_access_tokens,
        _ => true,
    }
}

/// The first member of a client that contradicts its profile, and the end of a sentence about it; `None` for a client that keeps
/// to its profile, or has none.
pub(crate) fn contradiction(client: &Client) -> Option<(&'static str, &'static str)> {
    client.settings.profile?;
    of_authentication(client)
        .or_else(|| of_requests(client))
        .or_else(|| of_settings(client))
        .or_else(|| of_algorithms(client))
}

/// FAPI 2.0 Security Profile 5.3.2.1: only confidential clients, which authenticate by `private_key_jwt` or mutual TLS.
fn of_authentication(client: &Client) -> Option<(&'static str, &'static str)> {
    let method = client.token_endpoint_auth_method;
    if !(method == TokenEndpointAuthMethod::PrivateKeyJwt || method.is_by_certificate()) {
        let why = "must be private_key_jwt, tls_client_auth or self_signed_tls_client_auth";
        return Some(("token_endpoint_auth_method", why));
    }
    // 5.3.2.1: assertions of the client itself, for this issuer alone and once.
    (!client.assertion_issuers.is_empty()).then_some(("assertion_issuers", "must be empty"))
}

/// FAPI 2.0 Security Profile 5.3.2.2: only `code`, and answers only to https.
fn of_requests(client: &Client) -> Option<(&'static str, &'static str)> {
    if client.response_types.iter().any(|own| *own != ResponseType::Code) {
        return Some(("response_types", "must have code alone"));
    }
    // RFC 9700 4.1.3, FAPI 2.0 Security Profile 5.3.2.2: exact addresses.
    if !client.redirect_uri_forms.is_empty() {
        return Some(("redirect_uri_forms", "must be empty"));
    }
    let is_https = |uri: &String| uri.get(..8).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https://"));
    (!client.redirect_uris.iter().all(is_https)).then_some(("redirect_uris", "must be of https"))
}

fn of_settings(client: &Client) -> Option<(&'static str, &'static str)> {
    let own = &client.settings;
    // FAPI 2.0 Security Profile 5.3.2.2: PKCE with S256 is required.
    if own.pkce.is_some_and(|policy| policy != PkcePolicy::Required) {
        return Some(("settings.pkce", "must be required, or left out"));
    }
    // 5.3.2.1: the issuer alone.
    if own.audience_is_issuer == Some(false) {
        return Some(("settings.audience_is_issuer", "must be true, or left out"));
    }
    if own.code_lifetime.is_some_and(|seconds| seconds > LONGEST_CODE_LIFE.as_secs()) {
        return Some(("settings.code_lifetime", "must be 60 seconds at most"));
    }
    // 5.3.2.1: no rotation but in extraordinary circumstances.
    if own.refresh_token_rotation == Some(true) {
        return Some(("settings.refresh_token_rotation", "must be false, or left out"));
    }
    None
}

/// FAPI 2.0 Security Profile 5.4. The algorithm of ID tokens is named, because it signs whatever has no algorithm of its own:
/// the issuer's may be RS256.
fn of_algorithms(client: &Client) -> Option<(&'static str, &'static str)> {
    const ID_TOKEN: &str = "id_token_signed_response_alg";
    if client.id_token_signed_response_alg.is_none() {
        return Some((ID_TOKEN, "must be named: PS256, ES256 or EdDSA"));
    }
    let named = [
        (ID_TOKEN, client.id_token_signed_response_alg),
        ("access_token_signed_response_alg", client.access_token_signed_response_alg),
        ("authorization_signed_response_alg", client.authorization_signed_response_alg),
        ("userinfo_signed_response_alg", client.userinfo_signed_response_alg),
        ("introspection_signed_response_alg", client.introspection_signed_response_alg),
        ("token_endpoint_auth_signing_alg", client.token_endpoint_auth_signing_alg),
        ("request_object_signing_alg", client.request_object_signing_alg),
        (
            "backchannel_authentication_request_signing_alg",
            client.backchannel.as_ref().and_then(|own| own.request_signing_alg),
        ),
    ];
    let (name, _) = named.into_iter().find(|(_, own)| own.is_some_and(|own| !ALGORITHMS.contains(&own)))?;
    Some((name, "must be PS256, ES256 or EdDSA"))
}

#[cfg(test)]
mod tests;
