//! Authorization codes (RFC 6749 4.1.2), and the record that a code stands for.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::authorization_details::AuthorizationDetails;
use crate::grant::GrantId;
use crate::id::{ClientId, Sid, UserId, leading_number};
use crate::scope::Scope;
use crate::session::Amr;
use crate::sign_in::acr::Acr;
use crate::time::Timestamp;

/// An authorization code: `ac_<generation>_<shard>_<random characters>`. Stored only as a digest.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AuthorizationCode(SmolStr);

impl AuthorizationCode {
    /// Takes any text as a code; the store decides whether it exists.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// The text, for the redirect.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text has the form of a code, whether or not there ever was such a code.
    pub fn has_our_form(&self) -> bool {
        let routed = self.0.strip_prefix("ac_").and_then(leading_number::<u32>);
        let secret = routed.and_then(|(_, rest)| leading_number::<u32>(rest)).map(|(_, secret)| secret);
        secret.is_some_and(|secret| {
            secret.len() >= 22
                && secret.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        })
    }
}

impl fmt::Debug for AuthorizationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthorizationCode(..)")
    }
}

/// The `sid` of a grant that was given in no session. No session has it, because no store draws it.
pub const NO_SESSION: &str = "-";

/// What a code stands for: the authorization that its redemption turns into tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeGrant {
    /// The grant that all tokens of this login share.
    pub grant: GrantId,
    /// The client that may redeem the code.
    pub client: ClientId,
    /// The user who signed in.
    pub user: UserId,
    /// The session in which the code was issued.
    pub sid: Sid,
    /// `redirect_uri` as sent, which RFC 6749 4.1.3 requires again at redemption.
    pub redirect_uri: String,
    /// The granted scope.
    pub scope: Scope,
    /// Copied into the ID token (OpenID Connect Core 3.1.2.1).
    pub nonce: Option<String>,
    /// The S256 code challenge (RFC 7636 4.3), decoded.
    #[serde(with = "challenge")]
    pub code_challenge: Option<[u8; 32]>,
    /// When the user last authenticated.
    pub auth_time: Timestamp,
    /// How the user authenticated.
    pub amr: Amr,
    /// When that session expires.
    pub session_expires_at: Timestamp,
    /// When the code expires.
    pub expires_at: Timestamp,
    /// The resources that tokens may be for (RFC 8707 2.1); empty if none were requested.
    #[serde(default)]
    pub resources: Vec<String>,
    /// The class that the request asked for and the session satisfies (`acr`, OpenID Connect Core 2); if absent, it follows
    /// from `amr`.
    #[serde(default)]
    pub acr: Option<Acr>,
    /// The thumbprint of the only key with which the code can be redeemed (`dpop_jkt`, RFC 9449 10).
    #[serde(default)]
    pub dpop_jkt: Option<SmolStr>,
    /// The authorization details that were granted (RFC 9396).
    #[serde(default)]
    pub authorization_details: AuthorizationDetails,
}

impl CodeGrant {
    /// The session in which it was given; `None` where an administrator gave it in place of the person.
    pub fn session(&self) -> Option<&Sid> {
        (self.sid.as_str() != NO_SESSION).then_some(&self.sid)
    }
}

/// The code challenge in records: bytes in binary formats, a list of numbers in JSON, which the cluster store uses.
mod challenge {
    use std::fmt;

    use serde::de::{self, Visitor};
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    type Challenge = [u8; 32];

    pub(super) fn serialize<S: Serializer>(
        challenge: &Option<Challenge>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            challenge.serialize(serializer)
        } else {
            serializer.serialize_bytes(challenge.as_ref().map_or(&[], Challenge::as_slice))
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Challenge>, D::Error> {
        if deserializer.is_human_readable() {
            Option::deserialize(deserializer)
        } else {
            deserializer.deserialize_bytes(Bytes)
        }
    }

    /// Reads all 32 bytes or nothing.
    struct Bytes;

    impl Visitor<'_> for Bytes {
        type Value = Option<Challenge>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a code challenge or nothing")
        }

        fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Self::Value, E> {
            match bytes {
                [] => Ok(None),
                bytes => bytes.try_into().map(Some).map_err(|_| E::invalid_length(bytes.len(), &self)),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::fixture;

    #[test]
    fn a_record_gives_back_what_was_authorized() {
        let mut code = fixture::code("openid");
        for challenge in [Some([7; 32]), None] {
            code.code_challenge = challenge;
            code.dpop_jkt = challenge.map(|_| "jkt".into());
            let record = postcard::to_allocvec(&code).unwrap();
            assert_eq!(postcard::from_bytes::<CodeGrant>(&record).unwrap(), code);
            let json = serde_json::to_value(&code).unwrap();
            assert_eq!(json["code_challenge"], serde_json::json!(challenge));
            assert_eq!(serde_json::from_value::<CodeGrant>(json).unwrap(), code);
        }
    }

    #[test]
    fn a_text_that_is_no_code_is_told_by_its_form() {
        let form = |text: &str| AuthorizationCode::new(text).has_our_form();
        assert!(form("ac_1_63_abcdefghijklmnopqrstuv-_0123456789"));
        let bad =
            ["", "ac_", "ac_1_2_short", "rt_1_2_abcdefghijklmnopqrstuv", "ac_1_x_abcdefghijklmnopqrstuv"];
        for text in bad.into_iter().chain(["ac_1_2_abcdefghijklmnopqrstu%2F", "eyJhbGciOi.x.y"]) {
            assert!(!form(text), "{text}");
        }
    }

    #[test]
    fn half_a_challenge_is_none() {
        let code = fixture::code("openid");
        let mut record = postcard::to_allocvec(&code).unwrap();
        let at = record
            .windows(33)
            .position(|part| part[0] == 32 && part[1..] == code.code_challenge.unwrap())
            .unwrap();
        record[at] = 31;
        assert!(postcard::from_bytes::<CodeGrant>(&record).is_err());
    }
}
