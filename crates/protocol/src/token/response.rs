//! The token endpoint's successful answer (RFC 6749 5.1, OpenID Connect Core 3.1.3.3, RFC 8693 2.2.1).

use serde::Serialize;

use crate::scope::Scope;

/// The answer, in the order in which it is written. It holds tokens: it has no Debug.
#[derive(Clone, Copy, Serialize)]
pub struct TokenResponse<'a> {
    /// The signed access token.
    pub access_token: &'a str,
    /// Always `Bearer` (RFC 6750).
    pub token_type: &'static str,
    /// Seconds that the access token lives.
    pub expires_in: u64,
    /// What token exchange issued.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub issued_token_type: Option<&'static str>,
    /// The live refresh token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refresh_token: Option<&'a str>,
    /// The signed ID token.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id_token: Option<&'a str>,
    /// What the access token allows; left out where it allows nothing by name.
    #[serde(skip_serializing_if = "Scope::is_empty")]
    pub scope: &'a Scope,
}

/// `token_type` of every token (RFC 6750).
pub const BEARER: &str = "Bearer";

impl TokenResponse<'_> {
    /// The body.
    pub fn to_json(&self) -> Vec<u8> {
        let tokens = [Some(self.access_token), self.refresh_token, self.id_token];
        let room = 256 + tokens.into_iter().flatten().map(str::len).sum::<usize>();
        let mut json = Vec::with_capacity(room);
        // Writing text and numbers into memory cannot fail.
        let _ = serde_json::to_writer(&mut json, self);
        json
    }
}
