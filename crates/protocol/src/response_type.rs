//! What an authorization request asks for (`response_type`, RFC 6749 3.1.1, OAuth 2.0 Multiple Response Types 3 and 5).

use serde::{Deserialize, Serialize};

use crate::client::GrantType;

/// What the authorization endpoint returns. A client may ask for `code` where it has the grant type; the others return
/// tokens through the browser, so a client must have registered each that it uses.
///
/// `token` alone is not among them: nothing tells its client for whom the token was issued (RFC 9700 2.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ResponseType {
    /// A code: the authorization code flow.
    #[default]
    #[serde(rename = "code")]
    Code,
    /// An ID token: the implicit flow (OpenID Connect Core 3.2).
    #[serde(rename = "id_token")]
    IdToken,
    /// An ID token and an access token: the implicit flow.
    #[serde(rename = "id_token token")]
    IdTokenToken,
    /// A code and an ID token: the hybrid flow (OpenID Connect Core 3.3).
    #[serde(rename = "code id_token")]
    CodeIdToken,
    /// A code and an access token: the hybrid flow.
    #[serde(rename = "code token")]
    CodeToken,
    /// A code and both tokens: the hybrid flow.
    #[serde(rename = "code id_token token")]
    CodeIdTokenToken,
}

impl ResponseType {
    /// Every response type, as discovery lists them.
    pub const ALL: [Self; 6] = [
        Self::Code,
        Self::IdToken,
        Self::IdTokenToken,
        Self::CodeIdToken,
        Self::CodeToken,
        Self::CodeIdTokenToken,
    ];

    /// The registered name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::IdToken => "id_token",
            Self::IdTokenToken => "id_token token",
            Self::CodeIdToken => "code id_token",
            Self::CodeToken => "code token",
            Self::CodeIdTokenToken => "code id_token token",
        }
    }

    /// Reads a response type. The order of its words does not matter (OAuth 2.0 Multiple Response Types 3).
    pub fn parse(text: &str) -> Option<Self> {
        if text == "code" {
            return Some(Self::Code);
        }
        let mut sent: Vec<&str> = text.split(' ').collect();
        sent.sort_unstable();
        let sent = sent.join(" ");
        // The names above have their words in alphabetical order.
        Self::ALL.into_iter().find(|own| own.as_str() == sent)
    }

    /// Whether a code is returned.
    pub const fn has_code(self) -> bool {
        !matches!(self, Self::IdToken | Self::IdTokenToken)
    }

    /// Whether an ID token is returned from the authorization endpoint.
    pub const fn has_id_token(self) -> bool {
        !matches!(self, Self::Code | Self::CodeToken)
    }

    /// Whether an access token is returned from the authorization endpoint.
    pub const fn has_token(self) -> bool {
        matches!(self, Self::IdTokenToken | Self::CodeToken | Self::CodeIdTokenToken)
    }

    /// Whether a token is returned from the authorization endpoint.
    pub const fn has_any_token(self) -> bool {
        !matches!(self, Self::Code)
    }

    /// The grant types that a client needs for it (OpenID Connect Dynamic Client Registration 1.0 2).
    pub const fn grant_types(self) -> &'static [GrantType] {
        match (self.has_code(), self.has_any_token()) {
            (true, false) => &[GrantType::AuthorizationCode],
            (true, true) => &[GrantType::AuthorizationCode, GrantType::Implicit],
            (false, _) => &[GrantType::Implicit],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_may_come_in_any_order_and_none_twice() {
        for own in ResponseType::ALL {
            assert_eq!(ResponseType::parse(own.as_str()), Some(own));
            let backwards: Vec<&str> = own.as_str().split(' ').rev().collect();
            assert_eq!(ResponseType::parse(&backwards.join(" ")), Some(own));
            assert_eq!(serde_json::to_value(own).unwrap(), own.as_str());
        }
        for text in [
            "",
            "token",
            "none",
            "code code",
            "id_token id_token",
            "code  token",
            " code",
            "Code",
            "code,token",
        ] {
            assert_eq!(ResponseType::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_words_say_what_is_returned_and_which_grant_types_are_needed() {
        for own in ResponseType::ALL {
            let has = |word| own.as_str().split(' ').any(|part| part == word);
            assert_eq!(own.has_code(), has("code"));
            assert_eq!(own.has_id_token(), has("id_token"));
            assert_eq!(own.has_token(), has("token"));
            assert_eq!(own.has_any_token(), has("id_token") || has("token"));
            assert_eq!(own.grant_types().contains(&GrantType::AuthorizationCode), own.has_code());
            assert_eq!(own.grant_types().contains(&GrantType::Implicit), own.has_any_token());
        }
    }
}
