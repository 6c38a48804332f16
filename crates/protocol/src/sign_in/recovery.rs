//! A new password for who forgot the old one, by a link that is sent to the account's address (NIST SP 800-63B 6.1.2.3).
//!
//! A link stands for one account, works once and for [`LIVES`], and ends when the password or the address changes. It proves
//! the mailbox and nothing else: who has enrolled a second factor brings it too, because otherwise whoever reads the mail
//! would have both.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::random::{self, Random};

use crate::authenticator::AuthenticatorSet;
use crate::id::UserId;
use crate::precis::login_key;
use crate::time::Timestamp;
use crate::user::{PasswordHash, User};

/// How long a link works.
pub const LIVES: Duration = Duration::from_secs(30 * 60);

/// What a link stands for; it is sealed into its address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecoveryLink {
    id: String,
    user: UserId,
    /// The address that it was sent to, as addresses are looked up.
    email: String,
    /// The digest of the password's hash when it was sent; `None` if there was no password.
    password: Option<String>,
    expires_at: Timestamp,
}

/// Why a link does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkRefused {
    /// Its time is over.
    Expired,
    /// Since it was sent, the password or the address was changed, or the account was closed.
    Overtaken,
}

impl RecoveryLink {
    /// A link for a user, who has an address. `None` if nothing that leads into the account may be mailed ([`User::mailable_address`]).
    pub fn new(
        user: &User,
        hash: Option<&PasswordHash>,
        now: Timestamp,
        random: &dyn Random,
    ) -> Option<Self> {
        let email = login_key(user.mailable_address()?);
        let (id, password) = (random::base64url::<16>(random), hash.map(PasswordHash::digest));
        Some(Self { id, user: user.id.clone(), email, password, expires_at: now + LIVES })
    }

    /// Whose password it sets.
    pub const fn user(&self) -> &UserId {
        &self.user
    }

    /// Its id, which nobody can guess.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// When it expires.
    pub const fn expires_at(&self) -> Timestamp {
        self.expires_at
    }

    /// The name of the mark of its use.
    pub fn use_mark(&self) -> String {
        format!("{}.use", self.id)
    }

    /// Whether it works for the user and the password as they are now; `user`: `None` if there is none any more.
    ///
    /// # Errors
    /// [`LinkRefused`]
    pub fn holds(
        &self,
        user: Option<&User>,
        hash: Option<&PasswordHash>,
        now: Timestamp,
    ) -> Result<(), LinkRefused> {
        if now >= self.expires_at {
            return Err(LinkRefused::Expired);
        }
        let is_same = user.is_some_and(|user| {
            let has_address = user.mailable_address().is_some_and(|email| login_key(email) == self.email);
            user.id == self.user && has_address
        });
        match is_same && hash.map(PasswordHash::digest) == self.password {
            true => Ok(()),
            false => Err(LinkRefused::Overtaken),
        }
    }
}

/// Whether a new password needs a second factor besides the mailbox.
pub const fn needs_second_factor(enrolled: &AuthenticatorSet) -> bool {
    enrolled.totp.is_some()
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_000_000);

    fn ann() -> User {
        let text =
            r#"{"id":"u1","email":"Ann@example.com","email_verified":true,"created_at":1,"updated_at":1}"#;
        serde_json::from_str(text).unwrap()
    }

    fn hash(text: &str) -> PasswordHash {
        PasswordHash::new(text.to_owned())
    }

    fn link(user: &User, hash: Option<&PasswordHash>) -> Option<RecoveryLink> {
        RecoveryLink::new(user, hash, NOW, &SeededRandom::new(1))
    }

    #[test]
    fn it_ends_with_its_time_with_the_password_and_with_the_address() {
        let (user, old) = (ann(), hash("old"));
        let sent = link(&user, Some(&old)).unwrap();
        let holds = |user: Option<&User>, hash: Option<&PasswordHash>, now| sent.holds(user, hash, now);
        assert_eq!(holds(Some(&user), Some(&old), NOW), Ok(()));
        assert_eq!(holds(Some(&user), Some(&old), NOW + LIVES), Err(LinkRefused::Expired));
        let overtaken = Err(LinkRefused::Overtaken);
        assert_eq!(holds(Some(&user), Some(&hash("new")), NOW), overtaken);
        assert_eq!(holds(Some(&user), None, NOW), overtaken);
        assert_eq!(holds(None, None, NOW), overtaken);
        let moved = User { email: Some("ann@example.org".into()), ..user.clone() };
        assert_eq!(holds(Some(&moved), Some(&old), NOW), overtaken);
        let spelled = User { email: Some("ann@EXAMPLE.com".into()), ..user.clone() };
        assert_eq!(holds(Some(&spelled), Some(&old), NOW), Ok(()));
        let closed = User { active: false, ..user.clone() };
        assert_eq!(holds(Some(&closed), Some(&old), NOW), overtaken);
        let unproven = User { email_verified: false, ..user.clone() };
        assert_eq!(holds(Some(&unproven), Some(&old), NOW), overtaken);
        let other = User { id: UserId::trusted("u2"), ..user };
        assert_eq!(holds(Some(&other), Some(&old), NOW), overtaken, "the address went to another account");
    }

    #[test]
    fn who_has_no_address_or_may_not_sign_in_gets_none() {
        assert!(link(&User { email: None, ..ann() }, None).is_none());
        assert!(link(&User { active: false, ..ann() }, None).is_none());
        assert!(link(&User { email_verified: false, ..ann() }, None).is_none(), "it may be anybody's");
        let without = link(&ann(), None).unwrap();
        assert_eq!(without.holds(Some(&ann()), None, NOW), Ok(()), "it sets the first password");
    }
}
