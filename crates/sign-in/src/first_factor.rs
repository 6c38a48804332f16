//! What a password proved, while a second factor is asked for.

use serde::{Deserialize, Serialize};
use symbolon_crypto::secret::SecretBytes;
use symbolon_crypto::{digest, encoding};
use symbolon_protocol::id::UserId;
use symbolon_protocol::sign_in::totp::TotpSecret;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{PasswordHash, User};

/// A password that was right, in a sign-in that needs a second factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FirstFactor {
    /// Whose password it was.
    pub(super) user: UserId,
    /// When it was checked.
    pub(super) at: Timestamp,
    /// The digest of its hash as stored.
    pub(super) hash: String,
    /// The name under which a generator shows the account.
    pub(super) login_name: String,
    /// The secret of a generator that is being set up, base64url.
    new_secret: Option<String>,
}

fn name_of(user: &User) -> String {
    let name = user.email.as_deref().or(user.profile.preferred_username.as_deref());
    name.unwrap_or(user.id.as_str()).to_owned()
}

impl FirstFactor {
    /// A password that is right now. `new_secret`: of a generator that is to be set up.
    pub(super) fn new(
        user: &User,
        hash: &PasswordHash,
        at: Timestamp,
        new_secret: Option<&TotpSecret>,
    ) -> Self {
        Self {
            user: user.id.clone(),
            at,
            hash: hash_digest(hash),
            login_name: name_of(user),
            new_secret: new_secret.map(|secret| encoding::encode(secret.expose())),
        }
    }

    /// The secret of a generator that is being set up.
    pub(super) fn new_secret(&self) -> Option<TotpSecret> {
        let secret = encoding::decode(self.new_secret.as_deref()?).ok()?;
        Some(TotpSecret::from_bytes(SecretBytes::new(secret)))
    }
}

/// The digest of a password's hash, which tells whether the password was changed.
pub(super) fn hash_digest(hash: &PasswordHash) -> String {
    encoding::encode(&digest::sha256(&[hash.expose().as_bytes()]))
}
