//! Authenticators (NIST SP 800-63B): what a user has enrolled to prove who they are, besides the password.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The most passkeys of one user.
pub const MOST_PASSKEYS: usize = 20;
/// The most unused recovery codes of one user.
pub const MOST_RECOVERY_CODES: usize = 16;

/// What a user has enrolled to prove who they are, besides the password.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthenticatorSet {
    /// The passkeys, at most [`MOST_PASSKEYS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub passkeys: Vec<Passkey>,
    /// The generator of time-based codes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub totp: Option<Totp>,
    /// The recovery codes that were not used yet, at most [`MOST_RECOVERY_CODES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recovery_codes: Vec<RecoveryCode>,
    /// Whether the user has ever signed in: from then on they are told of sign-ins in browsers that nobody knows. It is no
    /// authenticator, and is kept here because it is the user's for as long as they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub has_signed_in: bool,
}

impl AuthenticatorSet {
    /// Whether nothing is enrolled.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.passkeys.is_empty() && self.totp.is_none() && self.recovery_codes.is_empty()
    }

    /// The same with nothing enrolled.
    #[must_use]
    pub fn emptied(&self) -> Self {
        Self { has_signed_in: self.has_signed_in, ..Self::default() }
    }
}

/// A discoverable credential of WebAuthn (Level 3, 4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Passkey {
    /// The credential's id, base64url.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// Public key, counter and flags, as the WebAuthn crate keeps them.
    pub credential: serde_json::Value,
    /// Whether it is copied between devices (WebAuthn 6.1.3, backup state).
    pub is_synced: bool,
    /// When it was added.
    pub created_at: Timestamp,
    /// When it was last used to sign in, as far as that is kept.
    pub last_used_at: Option<Timestamp>,
}

/// A generator of time-based one-time passwords (RFC 6238).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totp {
    /// The secret, sealed under the issuer's key, base64url.
    pub secret: String,
    /// When it was added.
    pub added_at: Timestamp,
    /// The latest time step of which a code was accepted. A step counts once (RFC 6238 5.2).
    pub last_step: u64,
}

/// A code that stands in for a lost authenticator, once (NIST SP 800-63B 5.1.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryCode {
    /// HMAC of the code under a secret key of the issuer, base64url.
    pub digest: String,
}
