//! What GitHub says of somebody, by its API, in the claims of OpenID Connect.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use symbolon_protocol::identity_provider::metadata::Metadata;
use symbolon_protocol::identity_provider::token_response::TokenResponse;
use url::Url;

use super::{Upstream, UpstreamError, unusable};

#[derive(Deserialize)]
struct GithubUser {
    id: u64,
    login: String,
    name: Option<String>,
    html_url: Option<String>,
    avatar_url: Option<String>,
}

#[derive(Deserialize)]
struct GithubEmail {
    email: String,
    primary: bool,
    verified: bool,
}

/// The user's number, which is never given to anybody else, names, and the primary address if it is verified.
pub(super) async fn claims(
    upstream: &Upstream<'_>,
    metadata: &Metadata,
    tokens: &TokenResponse,
) -> Result<Map<String, Value>, UpstreamError> {
    let what = "its API";
    let url = metadata.userinfo_endpoint.clone().ok_or_else(|| unusable(what, "there is none"))?;
    let emails = Url::parse(&format!("{url}/emails")).map_err(|error| unusable(what, error))?;
    let body = upstream.get_with(what, url, &tokens.access_token).await?;
    let user: GithubUser = serde_json::from_slice(&body).map_err(|error| unusable(what, error))?;
    let body = upstream.get_with(what, emails, &tokens.access_token).await?;
    let emails: Vec<GithubEmail> = serde_json::from_slice(&body).map_err(|error| unusable(what, error))?;
    let email = emails.into_iter().find(|email| email.primary && email.verified).map(|email| email.email);
    let claims = json!({
        "sub": user.id.to_string(),
        "preferred_username": user.login,
        "name": user.name,
        "profile": user.html_url,
        "picture": user.avatar_url,
        "email_verified": email.is_some(),
        "email": email,
    });
    match claims {
        Value::Object(claims) => Ok(claims),
        _ => Ok(Map::new()),
    }
}
