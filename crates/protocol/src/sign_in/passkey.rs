//! Passkeys (WebAuthn Level 3): which challenge, which credential, what an answer proves.
//!
//! The ceremonies' cryptography and formats are those of `webauthn-rs-core`. Here it is decided what is demanded: a
//! discoverable credential, user verification, no attestation, a counter that never goes backwards (7.2, step 22), and an
//! origin that is exactly the one that asked for the challenge.
//!
//! A challenge is itself a sealed value that names what it was made for, so nothing is kept for somebody who has proven
//! nothing: WebAuthn takes a challenge of any length from 16 bytes on (13.4.3), and the authenticator's answer brings it
//! back.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::encoding;
use url::Url;
use webauthn_rs_core::WebauthnCore;
use webauthn_rs_core::error::WebauthnError;
use webauthn_rs_core::proto::{
    AttestationFormat, AuthenticationState, COSEAlgorithm, Credential, ParsedAttestation,
    PublicKeyCredential, RegisterPublicKeyCredential, RegistrationState,
};

use crate::authenticator::Passkey;
use crate::id::UserId;
use crate::time::Timestamp;

/// How long a challenge may be answered.
pub const CHALLENGE_LIVES: Duration = Duration::from_secs(5 * 60);
/// The longest user handle, in bytes (WebAuthn 5.4.3). It is the user's id, so a user with a longer one has no passkeys.
pub const LONGEST_HANDLE: usize = 64;
/// The longest credential id, in bytes (WebAuthn 4).
const LONGEST_ID: usize = 1_023;
/// The use of a passkey is noted no more often than this.
const NOTED_EVERY: Duration = Duration::from_secs(3_600);
/// The longest name of a passkey, in characters.
const LONGEST_NAME: usize = 100;

/// Why an answer proves nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasskeyRefused {
    /// It is not the JSON form of a credential (WebAuthn 5.1).
    Malformed,
    /// It answers another challenge.
    OtherChallenge,
    /// It was made at another origin, or for another relying party.
    OtherOrigin,
    /// The authenticator did not verify the person (WebAuthn 6.1, flags UP and UV).
    NotVerified,
    /// The signature counter went backwards: there may be a copy of the authenticator (WebAuthn 7.2, step 22).
    CounterWentBack,
    /// Another credential, a wrong signature, or an algorithm that was not offered.
    Wrong,
}

impl From<WebauthnError> for PasskeyRefused {
    fn from(error: WebauthnError) -> Self {
        match error {
            WebauthnError::MismatchedChallenge => Self::OtherChallenge,
            WebauthnError::InvalidRPOrigin
            | WebauthnError::InvalidRPIDHash
            | WebauthnError::CredentialCrossOrigin => Self::OtherOrigin,
            WebauthnError::UserNotPresent | WebauthnError::UserNotVerified => Self::NotVerified,
            WebauthnError::CredentialPossibleCompromise => Self::CounterWentBack,
            WebauthnError::ParseJSONFailure(_)
            | WebauthnError::ParseCBORFailure(_)
            | WebauthnError::ParseNOMFailure
            | WebauthnError::ParseInsufficientBytesAvailable => Self::Malformed,
            _ => Self::Wrong,
        }
    }
}

/// Whom a new passkey is for.
#[derive(Clone, Copy, Debug)]
pub struct Account<'a> {
    /// The user. The id is the user handle.
    pub user: &'a UserId,
    /// What tells the account apart: the e-mail address.
    pub name: &'a str,
    /// What the person is called.
    pub display_name: &'a str,
}

/// The answer to a request for a new passkey (WebAuthn 5.1, `RegistrationResponseJSON`).
pub struct NewCredential(RegisterPublicKeyCredential);

impl NewCredential {
    /// Reads it.
    ///
    /// # Errors
    /// [`PasskeyRefused::Malformed`]
    pub fn parse(credential: Value) -> Result<Self, PasskeyRefused> {
        let read = RegisterPublicKeyCredential::deserialize(credential);
        read.map(Self).map_err(|_| PasskeyRefused::Malformed)
    }

    /// The challenge that it answers, base64url; nothing about it is verified.
    ///
    /// # Errors
    /// [`PasskeyRefused::Malformed`]
    pub fn challenge(&self) -> Result<String, PasskeyRefused> {
        challenge_of(&self.0.response.client_data_json)
    }

    /// The credential's id, base64url.
    pub fn credential_id(&self) -> String {
        encoding::encode(&self.0.raw_id)
    }
}

/// The answer to a request to sign in (WebAuthn 5.1, `AuthenticationResponseJSON`).
pub struct Assertion(PublicKeyCredential);

impl Assertion {
    /// Reads it.
    ///
    /// # Errors
    /// [`PasskeyRefused::Malformed`]
    pub fn parse(credential: Value) -> Result<Self, PasskeyRefused> {
        let mut credential = credential;
        // The member is optional (WebAuthn 5.2.2), which the library's reader does not know.
        if let Some(response) = credential.get_mut("response").and_then(Value::as_object_mut) {
            response.entry("userHandle").or_insert(Value::Null);
        }
        PublicKeyCredential::deserialize(credential).map(Self).map_err(|_| PasskeyRefused::Malformed)
    }

    /// The challenge that it answers, base64url; nothing about it is verified.
    ///
    /// # Errors
    /// [`PasskeyRefused::Malformed`]
    pub fn challenge(&self) -> Result<String, PasskeyRefused> {
        challenge_of(&self.0.response.client_data_json)
    }

    /// The user that it names, if it names one. That the credential is this user's is for the caller to check.
    pub fn user(&self) -> Option<UserId> {
        let handle = self.0.response.user_handle.as_ref()?;
        UserId::parse(std::str::from_utf8(handle).ok()?).ok()
    }

    /// The credential's id, base64url.
    pub fn credential_id(&self) -> String {
        encoding::encode(&self.0.raw_id)
    }
}

#[derive(Deserialize)]
struct ClientData {
    challenge: String,
}

fn challenge_of(client_data: &[u8]) -> Result<String, PasskeyRefused> {
    let read: ClientData = serde_json::from_slice(client_data).map_err(|_| PasskeyRefused::Malformed)?;
    Ok(read.challenge)
}

/// The issuer as a relying party of WebAuthn, for ceremonies at one origin.
pub struct RelyingParty {
    id: String,
    name: String,
    core: WebauthnCore,
}

impl RelyingParty {
    /// The relying party of an issuer: its id is the host of the issuer's URL. `origin` has asked for the challenge and is
    /// allowed to; the browser makes sure that a page at it may use this id (WebAuthn 5.1.3). `None` if the URL has no
    /// host.
    pub fn new(issuer: &str, name: &str, origin: &str) -> Option<Self> {
        let id = Url::parse(issuer).ok()?.host_str()?.to_owned();
        let origins = vec![Url::parse(origin).ok()?];
        let core = WebauthnCore::new_unsafe_experts_only(name, &id, origins, CHALLENGE_LIVES, None, None);
        Some(Self { id, name: name.to_owned(), core })
    }

    /// Its id (WebAuthn 4).
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The options for `navigator.credentials.create()` (WebAuthn 5.4): a discoverable credential, with user
    /// verification. `challenge` is base64url.
    pub fn creation_options(&self, account: Account<'_>, known: &[Passkey], challenge: &str) -> Value {
        let descriptor = |passkey: &Passkey| json!({ "type": "public-key", "id": passkey.id });
        let algorithms = COSEAlgorithm::secure_algs();
        json!({
            "challenge": challenge,
            "rp": { "id": self.id, "name": self.name },
            "user": {
                "id": encoding::encode(account.user.as_str().as_bytes()),
                "name": account.name,
                "displayName": account.display_name,
            },
            "pubKeyCredParams": algorithms
                .iter()
                .map(|algorithm| json!({ "type": "public-key", "alg": *algorithm as i64 }))
                .collect::<Vec<_>>(),
            "timeout": milliseconds(CHALLENGE_LIVES),
            "excludeCredentials": known.iter().map(descriptor).collect::<Vec<_>>(),
            "authenticatorSelection": {
                "residentKey": "required",
                "requireResidentKey": true,
                "userVerification": "required",
            },
            "attestation": "none",
        })
    }

    /// Verifies a new credential (WebAuthn 7.1). `known` are the passkeys that the user has already. What the
    /// authenticator attests about itself is not kept: none was asked for.
    ///
    /// # Errors
    /// [`PasskeyRefused`]
    pub fn register(
        &self,
        answer: &NewCredential,
        challenge: &str,
        known: &[Passkey],
        name: Option<&str>,
        now: Timestamp,
    ) -> Result<Passkey, PasskeyRefused> {
        let state = json!({
            "policy": "required",
            "exclude_credentials": known.iter().map(|passkey| &passkey.id).collect::<Vec<_>>(),
            "challenge": challenge,
            "credential_algorithms": COSEAlgorithm::secure_algs(),
            "require_resident_key": true,
            "authenticator_attachment": null,
            "extensions": {},
            "allow_synchronised_authenticators": true,
        });
        let state = RegistrationState::deserialize(state).map_err(|_| PasskeyRefused::OtherChallenge)?;
        let mut credential = self.core.register_credential(&answer.0, &state, None)?;
        if credential.cred_id.len() > LONGEST_ID {
            return Err(PasskeyRefused::Malformed);
        }
        // It may hold certificates, of any length.
        credential.attestation = ParsedAttestation::default();
        credential.attestation_format = AttestationFormat::None;
        Ok(Passkey {
            id: encoding::encode(credential.cred_id.as_ref()),
            name: shown_name(name),
            is_synced: credential.backup_state,
            credential: serde_json::to_value(credential).map_err(|_| PasskeyRefused::Malformed)?,
            created_at: now,
            last_used_at: None,
        })
    }

    /// The options for `navigator.credentials.get()` (WebAuthn 5.5), with user verification. `allowed` are ids of
    /// credentials; none means any passkey of this relying party.
    pub fn request_options(&self, allowed: &[String], challenge: &str) -> Value {
        let descriptor = |id: &String| json!({ "type": "public-key", "id": id });
        json!({
            "challenge": challenge,
            "rpId": self.id,
            "allowCredentials": allowed.iter().map(descriptor).collect::<Vec<_>>(),
            "userVerification": "required",
            "timeout": milliseconds(CHALLENGE_LIVES),
        })
    }

    /// Verifies that the holder of a passkey answered a challenge (WebAuthn 7.2). Returns the passkey if its record has to
    /// be replaced: counter or flags have changed, or it was not used for long.
    ///
    /// # Errors
    /// [`PasskeyRefused`]
    pub fn authenticate(
        &self,
        answer: &Assertion,
        challenge: &str,
        passkey: &Passkey,
        now: Timestamp,
    ) -> Result<Option<Passkey>, PasskeyRefused> {
        let state = json!({
            "credentials": [],
            "policy": "required",
            "challenge": challenge,
            "appid": null,
            // Some authenticators begin to synchronize a passkey that was bound to the device.
            "allow_backup_eligible_upgrade": true,
        });
        let state = AuthenticationState::deserialize(state).map_err(|_| PasskeyRefused::OtherChallenge)?;
        let mut credential =
            Credential::deserialize(&passkey.credential).map_err(|_| PasskeyRefused::Malformed)?;
        let result = self.core.authenticate_single_credential(&answer.0, &state, &credential)?;
        let is_noted = passkey.last_used_at.is_some_and(|at| now.since(at) < NOTED_EVERY);
        if is_noted && !result.needs_update() {
            return Ok(None);
        }
        credential.counter = result.counter();
        credential.backup_state = result.backup_state();
        credential.backup_eligible = result.backup_eligible();
        Ok(Some(Passkey {
            is_synced: credential.backup_state,
            credential: serde_json::to_value(credential).map_err(|_| PasskeyRefused::Malformed)?,
            last_used_at: Some(now),
            ..passkey.clone()
        }))
    }
}

/// The id of a credential that nobody has, for an account that has no passkey or does not exist: always the same for one
/// address, so that the options do not tell which accounts have passkeys (WebAuthn 14.6.2).
pub fn imagined_credential(key: &HmacKey, email: &str) -> String {
    encoding::encode(
        &key.sign(&[b"imagined credential\0", crate::precis::login_key(email.trim()).as_bytes()]),
    )
}

/// The name of a passkey as it is kept.
pub fn shown_name(given: Option<&str>) -> String {
    let plain = given.unwrap_or_default().chars().filter(|c| !c.is_control());
    let name: String = plain.take(LONGEST_NAME).collect();
    match name.trim() {
        "" => "Passkey".to_owned(),
        name => name.to_owned(),
    }
}

fn milliseconds(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ISSUER: &str = "https://login.example";

    #[test]
    fn a_name_is_short_and_plain() {
        assert_eq!(shown_name(None), "Passkey");
        assert_eq!(shown_name(Some(" \u{7}\n ")), "Passkey");
        assert_eq!(shown_name(Some(" My\u{0} phone ")), "My phone");
        assert_eq!(shown_name(Some(&"x".repeat(1_000))).len(), LONGEST_NAME);
    }

    #[test]
    fn an_imagined_credential_is_always_the_same_and_as_long_as_a_usual_one() {
        let key = HmacKey::new(&[1; 32]);
        let id = imagined_credential(&key, "ann@example.com");
        assert_eq!(id, imagined_credential(&key, " Ann@Example.com"));
        assert_ne!(id, imagined_credential(&key, "bob@example.com"));
        assert_eq!(encoding::decode(&id).map(|id| id.len()), Ok(32));
    }

    #[test]
    fn the_relying_party_is_the_issuers_host() {
        let issuer = "https://login.example:8443/acme";
        let party = RelyingParty::new(issuer, "login.example", "https://app.login.example").unwrap();
        let options = party.request_options(&["aWQ".to_owned()], "Y2hhbGxlbmdl");
        assert_eq!(options["rpId"], "login.example");
        assert_eq!(options["allowCredentials"], json!([{ "type": "public-key", "id": "aWQ" }]));
        assert_eq!(options["userVerification"], "required");
        let account = Account { user: &UserId::trusted("u1"), name: "ann@example.com", display_name: "Ann" };
        let options = party.creation_options(account, &[], "Y2hhbGxlbmdl");
        assert_eq!(options["user"]["id"], encoding::encode(b"u1"));
        assert_eq!(options["pubKeyCredParams"][0]["alg"], -7);
        assert_eq!(options["authenticatorSelection"]["residentKey"], "required");
    }

    proptest! {
        #[test]
        fn no_answer_panics(object in any::<Vec<u8>>(), data in any::<Vec<u8>>(), signature in any::<Vec<u8>>()) {
            let (party, challenge) = (RelyingParty::new(ISSUER, "login", ISSUER).unwrap(), "Y2hhbGxlbmdl");
            let client_data = |kind: &str| {
                json!({ "type": kind, "challenge": challenge, "origin": ISSUER }).to_string()
            };
            let response = json!({
                "clientDataJSON": encoding::encode(client_data("webauthn.create").as_bytes()),
                "attestationObject": encoding::encode(&object),
            });
            let made = json!({ "id": "aWQ", "rawId": "aWQ", "type": "public-key", "response": response });
            let made = NewCredential::parse(made).unwrap();
            prop_assert_eq!(made.challenge(), Ok(challenge.to_owned()));
            prop_assert!(party.register(&made, challenge, &[], None, Timestamp::EPOCH).is_err());
            let response = json!({
                "clientDataJSON": encoding::encode(client_data("webauthn.get").as_bytes()),
                "authenticatorData": encoding::encode(&data),
                "signature": encoding::encode(&signature),
            });
            let answer = json!({ "id": "aWQ", "rawId": "aWQ", "type": "public-key", "response": response });
            let answer = Assertion::parse(answer).unwrap();
            prop_assert_eq!((answer.user(), answer.credential_id()), (None, "aWQ".to_owned()));
            let passkey = Passkey {
                id: "aWQ".into(),
                name: String::new(),
                credential: json!({}),
                is_synced: false,
                created_at: Timestamp::EPOCH,
                last_used_at: None,
            };
            prop_assert!(party.authenticate(&answer, challenge, &passkey, Timestamp::EPOCH).is_err());
        }
    }

    #[test]
    fn what_is_no_credential_is_malformed() {
        for bad in
            [json!(null), json!({}), json!("text"), json!({ "id": "a", "rawId": "!", "type": "public-key" })]
        {
            assert!(matches!(NewCredential::parse(bad.clone()), Err(PasskeyRefused::Malformed)), "{bad}");
            assert!(matches!(Assertion::parse(bad.clone()), Err(PasskeyRefused::Malformed)), "{bad}");
        }
    }
}
