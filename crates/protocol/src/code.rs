//! Authorization codes (RFC 6749 4.1.2): what a code stands for until it is redeemed.

use std::fmt;

use serde::{Deserialize, Serialize};
use smol_str::SmolStr;

use crate::grant::GrantId;
use crate::id::{ClientId, Sid, UserId};
use crate::scope::Scope;
use crate::session::Amr;
use crate::time::Timestamp;

/// An authorization code: `ac_<generation>_<shard>_<random characters>`. Stored only as a digest.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct AuthorizationCode(SmolStr);

impl AuthorizationCode {
    /// Takes a text as a code; whether it names one is the store's to say.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// The text, for the redirect.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AuthorizationCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AuthorizationCode(..)")
    }
}

/// What was authorized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeGrant {
    /// The grant that every token of this login carries.
    pub grant: GrantId,
    /// Who may redeem the code.
    pub client: ClientId,
    /// Who signed in.
    pub user: UserId,
    /// The session it came from.
    pub sid: Sid,
    /// `redirect_uri` as it was sent (RFC 6749 4.1.3 wants it again).
    pub redirect_uri: String,
    /// What was granted.
    pub scope: Scope,
    /// Goes back in the ID token (OpenID Connect Core 3.1.2.1).
    pub nonce: Option<String>,
    /// The S256 code challenge (RFC 7636 4.3), decoded.
    pub code_challenge: Option<[u8; 32]>,
    /// When the user last proved who they are.
    pub auth_time: Timestamp,
    /// How.
    pub amr: Amr,
    /// When that session ends by itself.
    pub session_expires_at: Timestamp,
    /// When the code ends.
    pub expires_at: Timestamp,
}
