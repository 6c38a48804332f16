//! The successful token response (RFC 6749 5.1, OpenID Connect Core 3.1.3.3, RFC 8693 2.2.1, RFC 9396 7).

use std::ops::Range;

use crate::authorization_details::{AuthorizationDetails, PARAMETER};
use crate::json::Object;
use crate::scope::Scope;

/// `token_type` of tokens that whoever holds them may use (RFC 6750).
pub const BEARER: &str = "Bearer";

/// Capacity for a login's two RS256 tokens, its refresh token and the rest.
const ROOM: usize = 3072;

/// A token response under construction, in the order in which it is written. Tokens are signed directly into it,
/// because they are most of the response, and would otherwise be copied more than once. No Debug, because it contains
/// tokens.
pub struct TokenResponse {
    body: Object,
    access_token: Range<usize>,
}

/// The members about the access token.
#[derive(Clone, Copy)]
pub struct Issued<'a> {
    /// How the access token is presented: [`BEARER`], or [`DPOP`](crate::dpop::DPOP).
    pub token_type: &'static str,
    /// The access token's lifetime in seconds.
    pub expires_in: u64,
    /// The type of the issued token; only for token exchange.
    pub issued_token_type: Option<&'static str>,
    /// The refresh token to return.
    pub refresh_token: Option<&'a str>,
}

impl TokenResponse {
    /// Begins a response, up to its access token.
    pub fn begin() -> Self {
        let mut body = Object::with_capacity(ROOM);
        open_token(&mut body, "access_token");
        let begin = body.as_bytes().len();
        Self { body, access_token: begin..begin }
    }

    /// The buffer to which the access token, a JWS, is appended; after [`issued`](Self::issued) and
    /// [`open_id_token`](Self::open_id_token), the ID token.
    pub fn token(&mut self) -> &mut Vec<u8> {
        self.body.raw()
    }

    /// Ends the access token, and writes the members about it.
    pub fn issued(&mut self, issued: Issued<'_>) {
        self.access_token.end = self.body.as_bytes().len();
        close_token(&mut self.body);
        self.body.text("token_type", issued.token_type);
        self.body.number("expires_in", issued.expires_in);
        self.body.optional_text("issued_token_type", issued.issued_token_type);
        self.body.optional_text("refresh_token", issued.refresh_token);
    }

    /// The access token, after it was ended.
    pub fn access_token(&self) -> &[u8] {
        self.body.as_bytes().get(self.access_token.clone()).unwrap_or_default()
    }

    /// Begins the ID token, which is appended to [`token`](Self::token).
    pub fn open_id_token(&mut self) {
        open_token(&mut self.body, "id_token");
    }

    /// Ends the ID token.
    pub fn close_id_token(&mut self) {
        close_token(&mut self.body);
    }

    /// The body. `scope`, the access token's scope, is always written, even if it is empty. RFC 6749 5.1 requires it
    /// if it differs from the requested one, and without it a client that was granted none of its scopes would
    /// believe that it has all.
    ///
    /// `details`: what was granted in detail (RFC 9396 7: the server MUST return it), written if there is something.
    pub fn to_json(mut self, scope: &Scope, details: &AuthorizationDetails) -> Vec<u8> {
        self.body.text("scope", scope.as_str());
        if !details.is_empty() {
            self.body.name(PARAMETER);
            self.body.raw().extend_from_slice(details.as_json().as_bytes());
        }
        self.body.end()
    }
}

/// A JWS needs no escaping (RFC 7515 2, 7.1).
fn open_token(body: &mut Object, name: &'static str) {
    body.name(name);
    body.raw().push(b'"');
}

fn close_token(body: &mut Object) {
    body.raw().push(b'"');
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn members_are_there_when_they_have_something_to_say() {
        let mut full = TokenResponse::begin();
        full.token().extend_from_slice(b"a.b.c");
        full.issued(Issued {
            token_type: BEARER,
            expires_in: 3600,
            issued_token_type: Some("urn:ietf:params:oauth:token-type:access_token"),
            refresh_token: Some("r\"t"),
        });
        assert_eq!(full.access_token(), b"a.b.c");
        full.open_id_token();
        full.token().extend_from_slice(b"d.e.f");
        full.close_id_token();
        assert_eq!(full.access_token(), b"a.b.c");
        let expected = json!({
            "access_token": "a.b.c", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "r\"t",
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "id_token": "d.e.f", "scope": "openid",
            "authorization_details": [{ "type": "payment", "amount": 5 }],
        });
        let details = serde_json::from_str(r#"[{"type":"payment","amount":5}]"#).unwrap();
        let body = full.to_json(&Scope::parse("openid").unwrap(), &details);
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);

        let mut least = TokenResponse::begin();
        least.token().extend_from_slice(b"a.b.c");
        least.issued(Issued {
            token_type: crate::dpop::DPOP,
            expires_in: 3600,
            issued_token_type: None,
            refresh_token: None,
        });
        let expected =
            json!({ "access_token": "a.b.c", "token_type": "DPoP", "expires_in": 3600, "scope": "" });
        let body = least.to_json(&Scope::default(), &AuthorizationDetails::NONE);
        assert_eq!(serde_json::from_slice::<Value>(&body).unwrap(), expected);
    }
}
