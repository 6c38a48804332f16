//! The member `grant_types` of client metadata (RFC 7591 2). What is refused, and why:
//! `docs/decisions/071-grants-that-can-do-nothing-are-refused.md`.

use super::response_types::needed_grant_types;
use super::{invalid, take};
use crate::client::{Client, DelegationMode, GrantType, TokenEndpointAuthMethod};
use crate::error::OAuthError;
use crate::response_type::ResponseType;
use crate::unknown_member::Members;

/// Reads the member `grant_types`. A grant type that can do nothing for the client is refused, with the mend: whoever
/// registers the client would else find out only when its first token request fails.
pub(super) fn read(
    doc: &mut Members,
    method: TokenEndpointAuthMethod,
    response_types: &[ResponseType],
) -> Result<Vec<GrantType>, OAuthError> {
    let asked: Option<Vec<GrantType>> = take(doc, "grant_types")?;
    let mut grants = Vec::new();
    for grant in asked.unwrap_or_else(|| needed_grant_types(response_types)) {
        if !grants.contains(&grant) {
            grants.push(grant);
        }
    }
    // RFC 6749 4.4: client credentials MUST only be used by confidential clients; here the same holds for token
    // exchange and assertions.
    // CIBA Core 7.1: the client authenticates, else anybody could ask people in its name.
    let confidential =
        [GrantType::ClientCredentials, GrantType::TokenExchange, GrantType::JwtBearer, GrantType::Ciba];
    let refused = grants.iter().find(|grant| confidential.contains(grant));
    if let (TokenEndpointAuthMethod::None, Some(grant)) = (method, refused) {
        let grant = grant.as_str();
        let mend =
            "leave it out, or let the client authenticate by another token_endpoint_auth_method than none";
        return Err(invalid("grant_types", format!("has {grant}, which public clients may not use: {mend}")));
    }
    // RFC 6749 6: a refresh token is issued with the tokens of another grant, here of an authorization code. Without
    // that grant the client never gets a token that it could refresh.
    if grants == [GrantType::RefreshToken] {
        let why = "has refresh_token alone, and nothing issues a refresh token then: add authorization_code";
        return Err(invalid("grant_types", why));
    }
    Ok(grants)
}

/// RFC 8693: the grant type alone lets nobody exchange tokens, the client must be allowed to. Only new clients are
/// refused: an administrator may take the permission away from a client for a time.
pub(super) fn check_exchange(client: &Client) -> Result<(), OAuthError> {
    let policy = &client.token_exchange;
    if client.grant_types != [GrantType::TokenExchange]
        || (policy.allowed && policy.delegation_mode != DelegationMode::None)
    {
        return Ok(());
    }
    let (name, value) = if policy.allowed {
        ("delegation_mode", "must not be none")
    } else {
        ("token_exchange_allowed", "must be true")
    };
    Err(invalid(
        name,
        format!("{value} where token exchange is the only grant type: the client could do nothing"),
    ))
}
