//! What a mail says, without its words.

use std::time::Duration;

use serde::{Deserialize, Serialize, Serializer};
use symbolon_crypto::SecretString;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::time::Timestamp;

use crate::Language;

/// How long news of a change are worth sending.
const NEWS: Duration = Duration::from_secs(3 * 86_400);

/// One mail to one recipient. It can be written down to wait in a queue; sealed, because it holds secrets.
#[derive(Clone, Serialize, Deserialize)]
pub struct Mail {
    /// The recipient's address.
    pub to: String,
    /// The language of its texts.
    pub language: Language,
    /// The user that it is about, for the audit log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<UserId>,
    /// The client whose request led to it, by whose branding it is shown. Not in what earlier versions queued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientId>,
    /// What it says.
    pub message: Message,
}

/// What a mail says. Texts that other people chose (names, devices) are shortened when they are rendered.
#[derive(Clone, Serialize, Deserialize)]
#[serde(tag = "template", rename_all = "snake_case")]
pub enum Message {
    /// A code to sign in with.
    EmailCode {
        /// The code.
        #[serde(serialize_with = "exposed")]
        code: SecretString,
        /// How long it is valid, in minutes.
        minutes: u32,
    },
    /// A link that signs in the browser that asked for it.
    MagicLink {
        /// The link.
        #[serde(serialize_with = "exposed")]
        url: SecretString,
        /// The code that may be typed instead. Not in what earlier versions queued.
        #[serde(default, serialize_with = "exposed_if_any", skip_serializing_if = "Option::is_none")]
        code: Option<SecretString>,
        /// How long it is valid, in minutes.
        minutes: u32,
    },
    /// A link to a form for a new password.
    ResetPassword {
        /// The link.
        #[serde(serialize_with = "exposed")]
        url: SecretString,
        /// How long it is valid, in minutes.
        minutes: u32,
    },
    /// A code, and a link, that open an account.
    Registration {
        /// The code.
        #[serde(serialize_with = "exposed")]
        code: SecretString,
        /// The link, if it is short enough.
        #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exposed_if_any")]
        url: Option<SecretString>,
        /// How long they are valid, in minutes.
        minutes: u32,
    },
    /// Somebody wanted to register, or to use for another account, an address that has an account.
    AccountExists {
        /// Where to choose a new password.
        url: String,
    },
    /// A code, and a link, that show that the recipient reads mail of this address.
    VerifyEmail {
        /// The code. Mails of earlier versions have none.
        #[serde(default, skip_serializing_if = "Option::is_none", serialize_with = "exposed_if_any")]
        code: Option<SecretString>,
        /// The link.
        #[serde(serialize_with = "exposed")]
        url: SecretString,
        /// How long it is valid, in minutes.
        minutes: u32,
    },
    /// A link to register with.
    Invitation {
        /// The link.
        #[serde(serialize_with = "exposed")]
        url: SecretString,
        /// How long it is valid, in minutes.
        minutes: u32,
    },
    /// Somebody wanted to sign in, or a new password, with an address that no account has.
    AccountUnknown {
        /// Where to register, if that is open.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        register_url: Option<String>,
    },
    /// Somebody signed in with a device for the first time.
    NewDevice {
        /// The kinds of browser and system; empty if they are not known.
        device: String,
        /// The network address that it came from.
        address: String,
        /// Where that address is, as far as it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        place: Option<String>,
        /// When.
        at: Timestamp,
    },
    /// A passkey was added.
    NewPasskey {
        /// The name that it was given.
        name: String,
        /// When.
        at: Timestamp,
    },
    /// The account was connected with another provider.
    ProviderConnected {
        /// The provider's name.
        name: String,
        /// When.
        at: Timestamp,
    },
    /// The account was disconnected from another provider.
    ProviderDisconnected {
        /// The provider's name.
        name: String,
        /// When.
        at: Timestamp,
    },
    /// A passkey was removed.
    PasskeyRemoved {
        /// Its name.
        name: String,
        /// When.
        at: Timestamp,
    },
    /// A generator of one-time passwords was set up.
    NewGenerator {
        /// When.
        at: Timestamp,
    },
    /// Recovery codes were drawn in place of the others.
    NewRecoveryCodes {
        /// When.
        at: Timestamp,
    },
    /// The generator of one-time passwords was removed.
    GeneratorRemoved {
        /// When.
        at: Timestamp,
    },
    /// The password was changed.
    PasswordChanged {
        /// When.
        at: Timestamp,
    },
    /// The account has another address; told to the old one.
    EmailChanged {
        /// The new address.
        email: String,
        /// When.
        at: Timestamp,
    },
    /// The account has no address any more; told to the one that it had.
    EmailRemoved {
        /// When.
        at: Timestamp,
    },
}

fn exposed<S: Serializer>(secret: &SecretString, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

fn exposed_if_any<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(SecretString::expose).serialize(serializer)
}

impl Message {
    /// The name of its template, in logs, the audit log and language files.
    pub const fn template(&self) -> &'static str {
        match self {
            Self::EmailCode { .. } => "email-code",
            Self::MagicLink { code: None, .. } => "magic-link",
            Self::MagicLink { code: Some(_), .. } => "magic-link-or-code",
            Self::ResetPassword { .. } => "reset-password",
            Self::Registration { .. } => "registration",
            Self::AccountExists { .. } => "account-exists",
            Self::VerifyEmail { .. } => "verify-email",
            Self::Invitation { .. } => "invitation",
            Self::AccountUnknown { .. } => "account-unknown",
            Self::NewDevice { .. } => "new-device",
            Self::NewPasskey { .. } => "new-passkey",
            Self::ProviderConnected { .. } => "provider-connected",
            Self::ProviderDisconnected { .. } => "provider-disconnected",
            Self::PasskeyRemoved { .. } => "passkey-removed",
            Self::NewGenerator { .. } => "new-generator",
            Self::NewRecoveryCodes { .. } => "new-recovery-codes",
            Self::GeneratorRemoved { .. } => "generator-removed",
            Self::PasswordChanged { .. } => "password-changed",
            Self::EmailChanged { .. } => "email-changed",
            Self::EmailRemoved { .. } => "email-removed",
        }
    }

    /// How long it is worth sending.
    pub fn lives(&self) -> Duration {
        match self {
            Self::EmailCode { minutes, .. }
            | Self::MagicLink { minutes, .. }
            | Self::ResetPassword { minutes, .. }
            | Self::Registration { minutes, .. }
            | Self::VerifyEmail { minutes, .. }
            | Self::Invitation { minutes, .. } => Duration::from_secs(60).saturating_mul(*minutes),
            Self::AccountUnknown { .. } | Self::AccountExists { .. } => Duration::from_secs(3_600),
            Self::NewDevice { .. }
            | Self::NewPasskey { .. }
            | Self::ProviderConnected { .. }
            | Self::ProviderDisconnected { .. }
            | Self::PasskeyRemoved { .. }
            | Self::NewGenerator { .. }
            | Self::NewRecoveryCodes { .. }
            | Self::GeneratorRemoved { .. }
            | Self::PasswordChanged { .. }
            | Self::EmailChanged { .. }
            | Self::EmailRemoved { .. } => NEWS,
        }
    }

    /// Whether it tells of something that has happened to an account. Mail that anybody can cause by typing an address
    /// does not.
    pub const fn is_news(&self) -> bool {
        matches!(
            self,
            Self::NewDevice { .. }
                | Self::NewPasskey { .. }
                | Self::ProviderConnected { .. }
                | Self::ProviderDisconnected { .. }
                | Self::PasskeyRemoved { .. }
                | Self::NewGenerator { .. }
                | Self::NewRecoveryCodes { .. }
                | Self::GeneratorRemoved { .. }
                | Self::PasswordChanged { .. }
                | Self::EmailChanged { .. }
                | Self::EmailRemoved { .. }
        )
    }

    /// The same without its secrets, for the log.
    #[must_use]
    pub fn without_secrets(&self) -> Self {
        let left_out = || SecretString::from("(left out)");
        let mut message = self.clone();
        match &mut message {
            Self::EmailCode { code: secret, .. }
            | Self::ResetPassword { url: secret, .. }
            | Self::Invitation { url: secret, .. } => *secret = left_out(),
            Self::MagicLink { code, url, .. } | Self::VerifyEmail { code, url, .. } => {
                *code = code.as_ref().map(|_| left_out());
                *url = left_out();
            }
            Self::Registration { code, url, .. } => {
                *code = left_out();
                *url = url.as_ref().map(|_| left_out());
            }
            Self::AccountUnknown { .. }
            | Self::AccountExists { .. }
            | Self::NewDevice { .. }
            | Self::NewPasskey { .. }
            | Self::ProviderConnected { .. }
            | Self::ProviderDisconnected { .. }
            | Self::PasskeyRemoved { .. }
            | Self::NewGenerator { .. }
            | Self::NewRecoveryCodes { .. }
            | Self::GeneratorRemoved { .. }
            | Self::PasswordChanged { .. }
            | Self::EmailChanged { .. }
            | Self::EmailRemoved { .. } => {}
        }
        message
    }
}

/// A message of each kind.
#[cfg(test)]
pub(crate) fn every_message() -> Vec<Message> {
    let secret = || SecretString::from("https://op.example/x?token=s3cret");
    let (minutes, at) = (90, Timestamp::from_seconds(1_800_000_000));
    vec![
        Message::EmailCode { code: "042137".into(), minutes: 5 },
        Message::MagicLink { url: secret(), code: None, minutes: 1 },
        Message::MagicLink { url: secret(), code: Some("042137".into()), minutes: 10 },
        Message::ResetPassword { url: secret(), minutes },
        Message::VerifyEmail { code: Some("042137".into()), url: secret(), minutes: 60 * 24 },
        Message::VerifyEmail { code: None, url: secret(), minutes: 60 * 24 },
        Message::Registration { code: "042137".into(), url: Some(secret()), minutes: 30 },
        Message::Registration { code: "042137".into(), url: None, minutes: 30 },
        Message::AccountExists { url: "https://op.example/forgot-password".into() },
        Message::Invitation { url: secret(), minutes: 60 * 24 * 7 },
        Message::AccountUnknown { register_url: None },
        Message::AccountUnknown { register_url: Some("https://op.example/register".into()) },
        Message::NewDevice {
            device: "Firefox on Linux".into(),
            address: "192.0.2.7".into(),
            place: Some("Graz, Austria".into()),
            at,
        },
        Message::NewPasskey { name: "My <key> & \"more\"".into(), at },
        Message::ProviderConnected { name: "Acme".into(), at },
        Message::ProviderDisconnected { name: "Acme".into(), at },
        Message::PasskeyRemoved { name: "My key".into(), at },
        Message::NewGenerator { at },
        Message::NewRecoveryCodes { at },
        Message::GeneratorRemoved { at },
        Message::PasswordChanged { at },
        Message::EmailChanged { email: "ann@example.org".into(), at },
        Message::EmailRemoved { at },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_in_a_queue_comes_back() {
        for message in every_message() {
            let mail =
                Mail { to: "a@b".into(), language: Language::German, user: None, client: None, message };
            let json = serde_json::to_string(&mail).unwrap();
            let read: Mail = serde_json::from_str(&json).unwrap();
            assert_eq!(serde_json::to_string(&read).unwrap(), json);
            assert_eq!(read.message.template(), mail.message.template());
            assert!(json.len() < 1_024, "{json}");
        }
    }

    #[test]
    fn secrets_are_left_out() {
        for message in every_message() {
            let json = serde_json::to_string(&message.without_secrets()).unwrap();
            assert!(!json.contains("s3cret") && !json.contains("042137"), "{json}");
        }
    }

    #[test]
    fn a_code_is_not_sent_when_it_is_no_longer_valid() {
        let lives = |message: &Message| message.lives().as_secs();
        let messages = every_message();
        assert_eq!(lives(&messages[0]), 300);
        assert_eq!(lives(&messages[13]), 3 * 86_400);
    }
}
