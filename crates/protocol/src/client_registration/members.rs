//! The members that a registration may have, and what is made of values that this server or its issuer does not support.
//!
//! RFC 7591 2 lets a server replace values and tell what it registered instead (3.2.1). That is done wherever the client goes on
//! to work and sees in the answer what it has. Where it could not work, the value is refused.

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use url::Url;

use super::policy::Policy;
use super::{application_type, invalid};
use crate::client::GrantType;
use crate::client_metadata::sector::DOCUMENT;
use crate::client_metadata::{IN_LANGUAGES, Metadata};
use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};
use crate::response_type::ResponseType;
use crate::scope::{OFFLINE_ACCESS, Scope};

/// The members of RFC 7591 2, OpenID Connect Registration 2 and the logout specifications that a client may set for itself.
const REGISTRABLE: [&str; 47] = [
    "redirect_uris",
    "token_endpoint_auth_method",
    "token_endpoint_auth_signing_alg",
    "grant_types",
    "response_types",
    "client_name",
    "client_uri",
    "logo_uri",
    "policy_uri",
    "tos_uri",
    "scope",
    "contacts",
    "jwks",
    "jwks_uri",
    "software_id",
    "software_version",
    "application_type",
    "subject_type",
    "sector_identifier_uri",
    "id_token_signed_response_alg",
    "authorization_signed_response_alg",
    "request_object_signing_alg",
    "request_uris",
    "require_signed_request_object",
    "require_pushed_authorization_requests",
    "authorization_details_types",
    "dpop_bound_access_tokens",
    "tls_client_auth_subject_dn",
    "tls_client_auth_san_dns",
    "tls_client_auth_san_uri",
    "tls_client_auth_san_ip",
    "tls_client_auth_san_email",
    "tls_client_certificate_bound_access_tokens",
    "id_token_encrypted_response_alg",
    "id_token_encrypted_response_enc",
    "userinfo_signed_response_alg",
    "userinfo_encrypted_response_alg",
    "userinfo_encrypted_response_enc",
    "introspection_signed_response_alg",
    "default_max_age",
    "default_acr_values",
    "initiate_login_uri",
    "post_logout_redirect_uris",
    "backchannel_logout_uri",
    "backchannel_logout_session_required",
    "frontchannel_logout_uri",
    "frontchannel_logout_session_required",
];

/// The scopes of a client that names none, as far as its issuer lets it have them (RFC 7591 2: a default set).
const UNNAMED_SCOPE: [&str; 4] = ["openid", "profile", "email", OFFLINE_ACCESS];

/// The name of a client that has none and no redirect URI to name it by.
const UNNAMED: &str = "unnamed client";

/// Whether a client may set this member for itself, perhaps in a further language (OpenID Connect Registration 2.1).
pub(super) fn is_registrable(member: &str) -> bool {
    match member.split_once('#') {
        Some((name, _)) => IN_LANGUAGES.contains(&name),
        None => REGISTRABLE.contains(&member),
    }
}

/// Whether a member switches a protection on.
pub(super) fn is_protection(member: &str) -> bool {
    [
        "require_signed_request_object",
        "require_pushed_authorization_requests",
        "dpop_bound_access_tokens",
        "tls_client_certificate_bound_access_tokens",
    ]
    .contains(&member)
}

/// What is read of a registration: the members that it may have, with values that the issuer supports.
///
/// # Errors
/// Those of RFC 7591 3.2.2.
pub(super) fn admitted(mut metadata: Metadata, policy: &Policy) -> Result<Metadata, OAuthError> {
    refuse_software_statement(&metadata)?;
    // RFC 7591 2: the authorization server MUST ignore any client metadata that it does not understand.
    metadata.retain(|name, value| is_registrable(name) && !value.is_null());
    grant_types(&mut metadata, policy)?;
    subject_type(&mut metadata)?;
    response_types(&mut metadata, policy)?;
    scope(&mut metadata, policy)?;
    signing_algorithms(&mut metadata, policy);
    client_name(&mut metadata);
    application_type::settle(&mut metadata)?;
    Ok(metadata)
}

/// RFC 7591 2.3: a statement takes precedence over the members beside it, so one that nobody verifies must not be passed over. That of a
/// registration was verified, and taken out, before.
fn refuse_software_statement(metadata: &Metadata) -> Result<(), OAuthError> {
    let (code, told) = match metadata.get("software_statement") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::String(_)) => {
            (ErrorCode::UnapprovedSoftwareStatement, "no issuer of software statements is trusted for this")
        }
        Some(_) => (ErrorCode::InvalidSoftwareStatement, "software_statement is not a JWT"),
    };
    let details = Details::of("software_statement");
    Err(OAuthError::new(code, Reason::SoftwareStatementUnapproved, told).about(details))
}

/// Leaves out grant types that the issuer does not let such a client have. A list of something else is left for the rules of every
/// client to refuse.
fn grant_types(metadata: &mut Metadata, policy: &Policy) -> Result<(), OAuthError> {
    let may = |grant: GrantType| policy.grant_types.contains(&grant);
    match metadata.get_mut("grant_types") {
        Some(Value::Array(grants)) => {
            grants.retain(|grant| grant.as_str().and_then(GrantType::parse).is_some_and(may));
            if !grants.is_empty() {
                return Ok(());
            }
        }
        Some(_) => return Ok(()),
        // RFC 7591 2: without it, the client uses authorization_code alone.
        None if may(GrantType::AuthorizationCode) => return Ok(()),
        None => {}
    }
    let may: Vec<&str> = policy.grant_types.iter().map(|grant| grant.as_str()).collect();
    Err(invalid("grant_types", format!("has none that may be registered here: {}", may.join(", "))))
}

/// A sector is proven by redirect URIs alone: the answers go to its own hosts, whoever registered the client. Where tokens go elsewhere
/// too, a stranger would learn how another's sector knows people (OpenID Connect Core 8.1).
fn subject_type(metadata: &mut Metadata) -> Result<(), OAuthError> {
    if metadata.get("subject_type").and_then(Value::as_str) != Some("pairwise") {
        metadata.remove(DOCUMENT);
        return Ok(());
    }
    if redirect_uris(metadata).next().is_none() {
        return Err(invalid("subject_type", "pairwise needs redirect URIs"));
    }
    // RFC 7591 2: without it, the client uses authorization_code alone.
    let granted = named_grant_types(metadata).unwrap_or_default();
    let by_redirect = [GrantType::AuthorizationCode, GrantType::Implicit, GrantType::RefreshToken];
    match granted.iter().find(|grant| !by_redirect.contains(grant)) {
        None => Ok(()),
        Some(grant) => {
            let grant = grant.as_str();
            Err(invalid("subject_type", format!("pairwise cannot be registered with the grant type {grant}")))
        }
    }
}

/// Leaves out response types that are not supported, or need a grant type that the client does not get, and then `implicit`
/// where no response type uses it. The answer tells what is left (RFC 7591 2.1).
fn response_types(metadata: &mut Metadata, policy: &Policy) -> Result<(), OAuthError> {
    let granted = named_grant_types(metadata).unwrap_or_else(|| policy.grant_types.clone());
    let may = |kind: &Value| {
        let kind = kind.as_str().and_then(ResponseType::parse);
        kind.filter(|kind| kind.grant_types().iter().all(|grant| granted.contains(grant)))
    };
    let mut uses_implicit = false;
    if let Some(Value::Array(types)) = metadata.get_mut("response_types") {
        let named_some = !types.is_empty();
        types.retain(|kind| may(kind).is_some());
        uses_implicit = types.iter().filter_map(may).any(ResponseType::has_any_token);
        if named_some && types.is_empty() {
            return Err(invalid("response_types", "has none that may be registered here: register code"));
        }
    }
    if let (false, Some(Value::Array(grants))) = (uses_implicit, metadata.get_mut("grant_types")) {
        grants.retain(|grant| grant.as_str() != Some(GrantType::Implicit.as_str()));
        if grants.is_empty() {
            return Err(invalid("response_types", "is required with the grant type implicit"));
        }
    }
    Ok(())
}

/// The grant types that a document names.
fn named_grant_types(metadata: &Metadata) -> Option<Vec<GrantType>> {
    let named = metadata.get("grant_types")?.as_array()?;
    Some(named.iter().filter_map(|grant| GrantType::parse(grant.as_str()?)).collect())
}

/// Leaves out scopes that the issuer does not let such a client have (RFC 7591 2), or gives it all that it may have, which the answer
/// tells (RFC 7591 3.2.1).
fn scope(metadata: &mut Metadata, policy: &Policy) -> Result<(), OAuthError> {
    let granted = match metadata.get("scope") {
        None => policy.scope.filtered(|token| UNNAMED_SCOPE.contains(&token)),
        Some(Value::String(text)) => {
            let asked = Scope::parse(text).map_err(|why| invalid("scope", format!("is not valid: {why}")))?;
            asked.intersection(&policy.scope)
        }
        Some(_) => return Err(invalid("scope", "must be a text of names separated by spaces")),
    };
    // An empty scope would leave the client without anything that it could ask for.
    let gets_all = policy.full_scope || granted.is_empty();
    let granted = if gets_all { policy.scope.clone() } else { granted };
    metadata.insert("scope".to_owned(), granted.as_str().into());
    Ok(())
}

/// Algorithms for which the issuer has no key are left out. For ID tokens the answer names the one that signs; UserInfo then answers
/// with plain JSON, and introspection with JWTs of the issuer's algorithm.
fn signing_algorithms(metadata: &mut Metadata, policy: &Policy) {
    for name in [
        "id_token_signed_response_alg",
        "authorization_signed_response_alg",
        "userinfo_signed_response_alg",
        "introspection_signed_response_alg",
    ] {
        let asked = metadata.remove(name);
        let asked = asked.and_then(|value| serde_json::from_value::<Algorithm>(value).ok());
        if let Some(algorithm) = asked.filter(|algorithm| policy.algorithms.contains(algorithm)) {
            metadata.insert(name.to_owned(), json!(algorithm));
        }
    }
}

/// RFC 7591 2: `client_name` is optional. People are then shown the host that they are led back to.
fn client_name(metadata: &mut Metadata) {
    if !metadata.contains_key("client_name") {
        let name = redirect_uris(metadata).find_map(host).unwrap_or_else(|| UNNAMED.to_owned());
        metadata.insert("client_name".to_owned(), name.into());
    }
}

/// The host of a URI, or the scheme of one without a host, in at most as many bytes as a name may have.
fn host(uri: &str) -> Option<String> {
    let url = Url::parse(uri).ok()?;
    let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or(url.scheme());
    // Such a URI is ASCII, so every place is a boundary of characters.
    host.get(..host.len().min(255)).map(str::to_owned)
}

/// The redirect URIs, as far as they are texts.
pub(super) fn redirect_uris(metadata: &Metadata) -> impl Iterator<Item = &str> {
    let uris = metadata.get("redirect_uris").and_then(Value::as_array);
    uris.into_iter().flatten().filter_map(Value::as_str)
}
