//! The token endpoint's successful answer (RFC 6749 5.1, OpenID Connect Core 3.1.3.3, RFC 8693 2.2.1).

use crate::scope::Scope;

/// The answer, in the order in which it is written. It holds tokens: it has no Debug.
#[derive(Clone, Copy)]
pub struct TokenResponse<'a> {
    /// The signed access token.
    pub access_token: &'a str,
    /// Always `Bearer` (RFC 6750).
    pub token_type: &'static str,
    /// Seconds that the access token lives.
    pub expires_in: u64,
    /// What token exchange issued.
    pub issued_token_type: Option<&'static str>,
    /// The live refresh token.
    pub refresh_token: Option<&'a str>,
    /// The signed ID token.
    pub id_token: Option<&'a str>,
    /// What the access token allows; left out where it allows nothing by name.
    pub scope: &'a Scope,
}

/// `token_type` of every token (RFC 6750).
pub const BEARER: &str = "Bearer";

impl TokenResponse<'_> {
    /// The body.
    pub fn to_json(&self) -> Vec<u8> {
        let tokens = [Some(self.access_token), self.refresh_token, self.id_token];
        let room =
            256 + self.scope.as_str().len() + tokens.into_iter().flatten().map(str::len).sum::<usize>();
        let mut json = Object { json: Vec::with_capacity(room) };
        json.text("access_token", Some(self.access_token));
        json.text("token_type", Some(self.token_type));
        json.number("expires_in", self.expires_in);
        json.text("issued_token_type", self.issued_token_type);
        json.text("refresh_token", self.refresh_token);
        json.text("id_token", self.id_token);
        json.text("scope", Some(self.scope.as_str()).filter(|scope| !scope.is_empty()));
        json.end()
    }
}

/// A JSON object of text and numbers, written member by member: nearly all of it is tokens, which have nothing to
/// escape, and a serializer would look at each of their thousands of bytes by itself.
struct Object {
    json: Vec<u8>,
}

impl Object {
    fn name(&mut self, name: &'static str) {
        self.json.extend_from_slice(if self.json.is_empty() { b"{\"" } else { b",\"" });
        self.json.extend_from_slice(name.as_bytes());
        self.json.extend_from_slice(b"\":");
    }

    fn text(&mut self, name: &'static str, value: Option<&str>) {
        let Some(value) = value else { return };
        self.name(name);
        if value.bytes().fold(true, |plain, byte| plain & is_plain(byte)) {
            self.json.push(b'"');
            self.json.extend_from_slice(value.as_bytes());
            self.json.push(b'"');
        } else {
            // Writing text into memory cannot fail.
            let _ = serde_json::to_writer(&mut self.json, value);
        }
    }

    fn number(&mut self, name: &'static str, value: u64) {
        self.name(name);
        self.json.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
    }

    fn end(mut self) -> Vec<u8> {
        self.json.push(b'}');
        self.json
    }
}

/// Whether a byte stands for itself in a JSON string (RFC 8259 7).
const fn is_plain(byte: u8) -> bool {
    (byte >= b' ') & (byte != b'"') & (byte != b'\\')
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(response: &TokenResponse<'_>) -> Value {
        serde_json::from_slice(&response.to_json()).unwrap()
    }

    #[test]
    fn members_are_there_when_they_have_something_to_say() {
        let scope = Scope::parse("openid").unwrap();
        let full = TokenResponse {
            access_token: "a.b.c",
            token_type: BEARER,
            expires_in: 3600,
            issued_token_type: Some("urn:ietf:params:oauth:token-type:access_token"),
            refresh_token: Some("rt"),
            id_token: Some("d.e.f"),
            scope: &scope,
        };
        let expected = json!({
            "access_token": "a.b.c", "token_type": "Bearer", "expires_in": 3600, "refresh_token": "rt",
            "issued_token_type": "urn:ietf:params:oauth:token-type:access_token", "id_token": "d.e.f", "scope": "openid",
        });
        assert_eq!(read(&full), expected);
        let none = Scope::default();
        let least = TokenResponse {
            issued_token_type: None,
            refresh_token: None,
            id_token: None,
            scope: &none,
            ..full
        };
        let expected = json!({ "access_token": "a.b.c", "token_type": "Bearer", "expires_in": 3600 });
        assert_eq!(read(&least), expected);
    }

    #[test]
    fn whatever_a_text_holds_comes_back() {
        let scope = Scope::default();
        for text in ["", "a\"b", "a\\b", "line\n", "\u{0}\u{1f}", "\u{7f}\u{e4}\u{1f600}", "\"]}"] {
            let response = TokenResponse {
                access_token: text,
                token_type: BEARER,
                expires_in: 0,
                issued_token_type: None,
                refresh_token: None,
                id_token: None,
                scope: &scope,
            };
            assert_eq!(read(&response)["access_token"], text);
        }
    }
}
