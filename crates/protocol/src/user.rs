//! Users and their claims (OpenID Connect Core 5.1).

use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use symbolon_crypto::{digest, encoding};

use crate::attribute::Attributes;
use crate::id::UserId;
use crate::time::Timestamp;

/// A user as stored; the password hash is stored separately ([`PasswordHash`]).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// The user's id: `sub`.
    pub id: UserId,
    /// The e-mail address, unique within the issuer regardless of case.
    pub email: Option<String>,
    /// Whether the address was verified.
    #[serde(default)]
    pub email_verified: bool,
    /// The other standard claims.
    #[serde(flatten)]
    pub profile: UserProfile,
    /// Whether the user may sign in and their tokens are accepted.
    #[serde(default = "active")]
    pub active: bool,
    /// When the record was created.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl User {
    /// Whether the user may sign in. The one test for whether a user is active.
    pub fn may_sign_in(&self) -> bool {
        self.active
    }

    /// The address to which mail may go that leads into the account: a code, a link that signs in, a link to a new password.
    /// An address that nobody has proven may be anybody's, by a slip or on purpose, so it gets none (NIST SP 800-63B 6.1.2.3).
    /// `None` too for a user who may not sign in. Every method asks here.
    pub fn mailable_address(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified && self.may_sign_in())
    }
}

/// Whether the tokens of a user are accepted, by the user's record. Without a record they are: deleting a user writes
/// a tombstone, which revokes their tokens, and only the test endpoints register tokens of users that never had a
/// record.
pub fn tokens_are_good(user: Option<&User>) -> bool {
    user.is_none_or(User::may_sign_in)
}

fn active() -> bool {
    true
}

/// A user's [`Profile`], which needs no memory while it has no claims: hundreds of thousands of users are kept in
/// memory, and most have only an e-mail address.
#[derive(Clone, Debug, Default)]
pub struct UserProfile(Option<Box<Profile>>);

static NO_CLAIM: LazyLock<Profile> = LazyLock::new(Profile::default);

impl From<Profile> for UserProfile {
    fn from(profile: Profile) -> Self {
        Self((profile != *NO_CLAIM).then(|| Box::new(profile)))
    }
}

impl Deref for UserProfile {
    type Target = Profile;

    fn deref(&self) -> &Profile {
        self.0.as_deref().unwrap_or(&NO_CLAIM)
    }
}

impl DerefMut for UserProfile {
    fn deref_mut(&mut self) -> &mut Profile {
        self.0.get_or_insert_default()
    }
}

impl PartialEq for UserProfile {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for UserProfile {}

impl Serialize for UserProfile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for UserProfile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Profile::deserialize(deserializer).map(Self::from)
    }
}

/// The standard claims of the scopes `profile`, `address` and `phone` (OpenID Connect Core 5.1), and the attributes by the
/// schema of the issuer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each field is the claim of the same name in OpenID Connect Core 5.1")]
pub struct Profile {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub given_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub middle_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nickname: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preferred_username: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub picture: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gender: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub birthdate: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zoneinfo: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub phone_number_verified: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<Box<Address>>,
    #[serde(skip_serializing_if = "Attributes::is_empty")]
    pub attributes: Attributes,
}

/// The `address` claim (OpenID Connect Core 5.1.1).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "each field is the member of the same name in OpenID Connect Core 5.1.1")]
pub struct Address {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub formatted: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub street_address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locality: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postal_code: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
}

/// The longest text of a claim, in bytes.
const LONGEST_CLAIM: usize = 2_048;

/// Whether a text may be the value of a claim: at most 2,048 bytes without control characters but line breaks.
pub fn is_claim_text(text: &str) -> bool {
    text.len() <= LONGEST_CLAIM && !text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r'))
}

/// A password hash as it is stored: a PHC string, or the form of the system that it was imported from. No Debug, because
/// a leaked hash can be attacked offline.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(String);

impl PasswordHash {
    /// Takes the text of a hash.
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text of the hash.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Tells whether the password was changed. The hash is salted, so the digest tells nothing about the password.
    pub fn digest(&self) -> String {
        encoding::encode(&digest::sha256(&[self.0.as_bytes()]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inactive_user_may_not_sign_in_and_has_no_good_tokens() {
        let text = r#"{"id":"ann","email":null,"created_at":1,"updated_at":1}"#;
        let mut user: User = serde_json::from_str(text).unwrap();
        assert!(user.may_sign_in() && tokens_are_good(Some(&user)));
        user.active = false;
        assert!(!user.may_sign_in() && !tokens_are_good(Some(&user)));
        assert!(tokens_are_good(None));
    }

    #[test]
    fn nothing_that_leads_in_is_mailed_to_an_unproven_address_or_an_inactive_user() {
        let of = |email: &str, verified: bool, active: bool| {
            let text = format!(
                r#"{{"id":"ann","email":{email},"email_verified":{verified},"active":{active},"created_at":1,"updated_at":1}}"#
            );
            let user: User = serde_json::from_str(&text).unwrap();
            user.mailable_address().map(str::to_owned)
        };
        assert_eq!(of(r#""a@b.example""#, true, true).as_deref(), Some("a@b.example"));
        assert_eq!(of(r#""a@b.example""#, false, true), None);
        assert_eq!(of(r#""a@b.example""#, true, false), None);
        assert_eq!(of("null", true, true), None);
    }

    #[test]
    fn a_profile_without_a_claim_takes_no_memory_and_reads_as_one() {
        let text = r#"{"id":"ann","email":null,"active":true,"created_at":1,"updated_at":1}"#;
        let mut user: User = serde_json::from_str(text).unwrap();
        assert!(user.profile.0.is_none() && user.profile.name.is_none());
        assert!(size_of::<User>() <= 80);
        let bare = user.clone();
        user.profile.name = Some("Ann".to_owned());
        assert_ne!(user, bare);
        let text = serde_json::to_string(&user).unwrap();
        assert!(text.contains(r#""name":"Ann""#) && !text.contains("locale"), "{text}");
        assert_eq!(serde_json::from_str::<User>(&text).unwrap(), user);
        user.profile.name = None;
        assert_eq!(user, bare);
    }

    #[test]
    fn attributes_are_a_member_of_the_record_if_there_are_any() {
        let text = r#"{"id":"ann","email":null,"created_at":1,"updated_at":1,"attributes":{"level":3,"team":["a"]}}"#;
        let mut user: User = serde_json::from_str(text).unwrap();
        let level = user.profile.attributes.get("level").map(|value| serde_json::to_string(value).unwrap());
        assert_eq!(level.as_deref(), Some("3"));
        let text = serde_json::to_string(&user).unwrap();
        assert!(text.contains(r#""attributes":{"level":3,"team":["a"]}"#), "{text}");
        assert_eq!(serde_json::from_str::<User>(&text).unwrap(), user);
        user.profile.attributes.clear();
        assert!(!serde_json::to_string(&user).unwrap().contains("attributes"));
    }
}
