//! The account pages of what a person signs in with besides the password: passkeys, generator, recovery codes.

use askama::Template;

use super::{AccountFrame, Moment};
use crate::page::page;
use crate::{Language, SecondFactorSetup};

/// One passkey.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyView {
    /// The credential's id, base64url: the value of `rename` and `remove`.
    pub id: String,
    /// What its owner calls it.
    pub name: String,
    /// Whether it is copied between devices.
    pub is_synced: bool,
    /// When it was added, in milliseconds since 1970.
    pub added: u64,
    /// When it was last used, in milliseconds since 1970, as far as that is kept.
    pub used: Option<u64>,
}

impl PasskeyView {
    fn added(&self) -> Moment {
        Moment::of(self.added)
    }

    fn used(&self) -> Option<Moment> {
        self.used.map(Moment::of)
    }
}

/// Another provider, by which the person may sign in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderView {
    /// The provider's id: the value of `connect` and `disconnect`.
    pub id: String,
    /// Its name.
    pub name: String,
    /// What the person is known by there, if the account is connected and the provider said so.
    pub label: Option<String>,
    /// When the account was connected, in milliseconds since 1970, if it is.
    pub connected: Option<u64>,
}

impl ProviderView {
    fn since(&self) -> Option<Moment> {
        self.connected.map(Moment::of)
    }
}

/// Lists passkeys and second factors, and changes them (`POST` with `rename` = a passkey and `name`, `remove` = a passkey,
/// `generator` = `remove`, `recovery_codes` = `new`, or `connect` or `disconnect` = a provider; `csrf_token`). Others are added on pages of their own.
#[derive(Template)]
#[template(path = "account/security.html")]
pub struct SecurityPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The passkeys.
    pub passkeys: Vec<PasskeyView>,
    /// The other providers.
    pub providers: Vec<ProviderView>,
    /// Whether there may be one more.
    pub may_add_passkey: bool,
    /// The id of the issuer as a relying party (WebAuthn 4), for the browser's list of passkeys.
    pub rp_id: String,
    /// The person's user handle (WebAuthn 5.4.3), base64url.
    pub user_handle: String,
    /// When the generator was set up, in milliseconds since 1970, if there is one.
    pub generator: Option<u64>,
    /// Whether everybody must have a second factor.
    pub is_required: bool,
    /// How many recovery codes were not used yet.
    pub recovery_codes: usize,
}

impl SecurityPage {
    fn credentials(&self) -> String {
        self.passkeys.iter().map(|passkey| passkey.id.as_str()).collect::<Vec<_>>().join(" ")
    }

    fn generator_added(&self) -> Option<Moment> {
        self.generator.map(Moment::of)
    }
}

/// Sets a generator up (`POST` with `code`, `setup`, `csrf_token`).
#[derive(Template)]
#[template(path = "account/generator.html")]
pub struct GeneratorPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The secret, to be scanned or typed.
    pub setup: SecondFactorSetup,
    /// The hidden field `setup`.
    pub sealed: String,
}

/// Adds a passkey by the page's script (`POST` with `credential`, `name`, `csrf_token`).
#[derive(Template)]
#[template(path = "account/passkey.html")]
pub struct NewPasskeyPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// What all account pages have.
    pub frame: AccountFrame,
    /// The options for `navigator.credentials.create()` as JSON (WebAuthn 5.4).
    pub options: String,
}

page!(SecurityPage, GeneratorPage, NewPasskeyPage);
