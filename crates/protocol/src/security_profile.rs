//! Security profiles: one setting of a client that stands for all the rules of a profile of OAuth (FAPI 2.0 Security Profile,
//! FAPI 2.0 Message Signing, FAPI 1.0 Advanced).
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

use crate::authorize::ResponseMode;
use crate::client::{Client, TokenEndpointAuthMethod};
use crate::error::OAuthError;
use crate::pkce::PkcePolicy;
use crate::refusal::{Details, Reason};
use crate::response_type::ResponseType;

/// How long a code may live (FAPI 2.0 Security Profile 5.3.2.1).
pub const LONGEST_CODE_LIFE: Duration = Duration::from_secs(60);

/// The algorithms of everything that client and provider sign (FAPI 2.0 Security Profile 5.4).
const ALGORITHMS: [Algorithm; 3] = [Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa];
/// The same of FAPI 1.0 Advanced 8.6.
const ALGORITHMS_OF_FAPI_1: [Algorithm; 2] = [Algorithm::Ps256, Algorithm::Es256];

/// A profile that a client keeps to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SecurityProfile {
    /// FAPI 2.0 Security Profile.
    #[serde(rename = "fapi2_security")]
    Fapi2Security,
    /// FAPI 2.0 Message Signing, which has the former and signed requests.
    #[serde(rename = "fapi2_message_signing")]
    Fapi2MessageSigning,
    /// FAPI 1.0 Part 2, Advanced, which has Part 1, Baseline.
    #[serde(rename = "fapi1_advanced")]
    Fapi1Advanced,
}

impl SecurityProfile {
    /// Every value of the setting.
    pub const NAMES: [&'static str; 3] =
        [Self::Fapi2Security.as_str(), Self::Fapi2MessageSigning.as_str(), Self::Fapi1Advanced.as_str()];

    /// The setting's value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fapi2Security => "fapi2_security",
            Self::Fapi2MessageSigning => "fapi2_message_signing",
            Self::Fapi1Advanced => "fapi1_advanced",
        }
    }

    /// Whether it is one of FAPI 2.0.
    pub const fn is_fapi2(self) -> bool {
        matches!(self, Self::Fapi2Security | Self::Fapi2MessageSigning)
    }

    /// Whether requests must be signed (FAPI 2.0 Message Signing 5.3.1, FAPI 1.0 Advanced 5.2.2-1).
    pub const fn signs_requests(self) -> bool {
        matches!(self, Self::Fapi2MessageSigning | Self::Fapi1Advanced)
    }

    const fn algorithms(self) -> &'static [Algorithm] {
        if self.is_fapi2() { &ALGORITHMS } else { &ALGORITHMS_OF_FAPI_1 }
    }

    /// The same as a part of a sentence.
    const fn told_algorithms(self) -> &'static str {
        if self.is_fapi2() { "must be PS256, ES256 or EdDSA" } else { "must be PS256 or ES256" }
    }
}

/// Whether a client keeps to FAPI 2.0.
pub const fn is_fapi2(profile: Option<SecurityProfile>) -> bool {
    matches!(profile, Some(profile) if profile.is_fapi2())
}

/// Whether a client of this profile, or of none, may sign and be answered by an algorithm.
pub fn allows(profile: Option<SecurityProfile>, algorithm: Algorithm) -> bool {
    profile.is_none_or(|profile| profile.algorithms().contains(&algorithm))
}

/// The names of the algorithms that a profile allows, as errors list them.
pub fn algorithm_names(profile: Option<SecurityProfile>) -> impl Iterator<Item = &'static str> {
    let allowed = profile.map_or(&ALGORITHMS[..], SecurityProfile::algorithms);
    allowed.iter().map(|algorithm| algorithm.as_str())
}

/// What an authorization request of a client has that FAPI 1.0 Advanced looks at.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'r> {
    pub(crate) response_type: ResponseType,
    pub(crate) response_mode: ResponseMode,
    /// Whether `openid` is among its scopes.
    pub(crate) has_openid: bool,
    pub(crate) nonce: Option<&'r str>,
    pub(crate) state: Option<&'r str>,
}

/// Checks an authorization request against its client's profile. Those of FAPI 2.0 ask for nothing here that is not checked
/// anyway.
///
/// # Errors
/// `invalid_request`: the answer would be neither signed nor have an ID token with it (FAPI 1.0 Advanced 5.2.2-2); `nonce` is missing
/// in a request with the scope `openid`, or `state` in another one (FAPI 1.0 Baseline 5.2.2.2, 5.2.2.3).
pub(crate) fn check_request(client: &Client, asked: Asked<'_>) -> Result<(), OAuthError> {
    if client.settings.profile != Some(SecurityProfile::Fapi1Advanced) {
        return Ok(());
    }
    if !(asked.response_type.has_id_token() || asked.response_mode.is_signed()) {
        let description =
            "response_type=code needs response_mode=jwt: the client has the profile fapi1_advanced";
        let details =
            Details::of("response_mode").expected(["jwt", "query.jwt", "fragment.jwt", "form_post.jwt"]);
        return Err(OAuthError::invalid_request(Reason::ResponseModeUnsupported, description).about(details));
    }
    let (reason, parameter, description) = match (asked.has_openid, asked.nonce, asked.state) {
        (true, None, _) => {
            (Reason::NonceMissing, "nonce", "nonce is required: the client has the profile fapi1_advanced")
        }
        (false, _, None) => (
            Reason::ParameterMissing,
            "state",
            "state is required: the client has the profile fapi1_advanced",
        ),
        _ => return Ok(()),
    };
    Err(OAuthError::invalid_request(reason, description).about(Details::of(parameter)))
}

/// Whether what a client pushes must have a code challenge, whatever its settings say (FAPI 1.0 Advanced 5.2.2-18).
pub(crate) fn pushes_with_challenge(client: &Client) -> bool {
    client.settings.profile == Some(SecurityProfile::Fapi1Advanced)
}

/// The flag that FAPI 2.0 implies where tokens are not bound to certificates.
const DPOP_BOUND: &str = "dpop_bound_access_tokens";
/// The flag that the profiles with signed requests imply.
const SIGNED: &str = "require_signed_request_object";
/// The flags among the metadata that some profile implies.
pub(crate) const IMPLIED: [&str; 3] = ["require_pushed_authorization_requests", DPOP_BOUND, SIGNED];

/// Whether a profile implies one of these flags for a client: `false` contradicts it.
pub(crate) fn implies(client: &Client, profile: SecurityProfile, flag: &str) -> bool {
    match flag {
        SIGNED => profile.signs_requests(),
        // FAPI 2.0 Security Profile 5.3.2.1: by mutual TLS or by DPoP.
        DPOP_BOUND => profile.is_fapi2() && !client.tls_client_certificate_bound_access_tokens,
        _ => profile.is_fapi2(),
    }
}

/// The first member of a client that contradicts its profile, and the end of a sentence about it; `None` for a client that keeps
/// to its profile, or has none.
pub(crate) fn contradiction(client: &Client) -> Option<(&'static str, &'static str)> {
    let profile = client.settings.profile?;
    of_authentication(client)
        .or_else(|| of_requests(client, profile))
        .or_else(|| if profile.is_fapi2() { of_settings(client) } else { of_tokens(client) })
        .or_else(|| of_algorithms(client, profile))
}

/// FAPI 2.0 Security Profile 5.3.2.1, FAPI 1.0 Advanced 5.2.2-14 and -16: only confidential clients, which authenticate by
/// `private_key_jwt` or mutual TLS.
fn of_authentication(client: &Client) -> Option<(&'static str, &'static str)> {
    let method = client.token_endpoint_auth_method;
    if !(method == TokenEndpointAuthMethod::PrivateKeyJwt || method.is_by_certificate()) {
        let why = "must be private_key_jwt, tls_client_auth or self_signed_tls_client_auth";
        return Some(("token_endpoint_auth_method", why));
    }
    // 5.3.2.1: assertions of the client itself, for this issuer alone and once.
    (!client.assertion_issuers.is_empty()).then_some(("assertion_issuers", "must be empty"))
}

/// FAPI 2.0 Security Profile 5.3.2.2: only `code`, and answers only to https. FAPI 1.0 Advanced 5.2.2-2, Baseline 5.2.2-20: `code`
/// with signed answers or `code id_token`, and the same.
fn of_requests(client: &Client, profile: SecurityProfile) -> Option<(&'static str, &'static str)> {
    let allowed: &[ResponseType] = if profile.is_fapi2() {
        &[ResponseType::Code]
    } else {
        &[ResponseType::Code, ResponseType::CodeIdToken]
    };
    if client.response_types.iter().any(|own| !allowed.contains(own)) {
        let why = if profile.is_fapi2() {
            "must have code alone"
        } else {
            "must have code and code id_token alone"
        };
        return Some(("response_types", why));
    }
    // RFC 9700 4.1.3, FAPI 2.0 Security Profile 5.3.2.2, FAPI 1.0 Baseline 5.2.2-10: exact addresses.
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

/// FAPI 1.0 Advanced 5.2.2-5 and -6: access tokens are bound to certificates.
fn of_tokens(client: &Client) -> Option<(&'static str, &'static str)> {
    let is_bound = client.tls_client_certificate_bound_access_tokens;
    (!is_bound).then_some(("tls_client_certificate_bound_access_tokens", "must be true"))
}

/// FAPI 2.0 Security Profile 5.4, FAPI 1.0 Advanced 8.6. The algorithm of ID tokens is named, because it signs whatever has no
/// algorithm of its own: the issuer's may be RS256.
fn of_algorithms(client: &Client, profile: SecurityProfile) -> Option<(&'static str, &'static str)> {
    const ID_TOKEN: &str = "id_token_signed_response_alg";
    if client.id_token_signed_response_alg.is_none() {
        return Some((ID_TOKEN, profile.told_algorithms()));
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
    let is_other = |own: Option<Algorithm>| own.is_some_and(|own| !profile.algorithms().contains(&own));
    let (name, _) = named.into_iter().find(|(_, own)| is_other(*own))?;
    Some((name, profile.told_algorithms()))
}

#[cfg(test)]
mod tests;
