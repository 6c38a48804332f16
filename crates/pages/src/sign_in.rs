//! The login page and the consent page.

use askama::Template;

use crate::page::{is_linkable, is_own_image, is_web, page};
use crate::{Language, PasskeyPrompt, Texts};

/// Why the last attempt to sign in failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginError {
    /// The user name or the password is wrong; the page never says which.
    InvalidCredentials,
    /// The passkey proves nothing here.
    PasskeyRefused,
    /// The other provider did not sign the person in.
    ProviderRefused,
    /// The other provider could not be asked, or what it said does not hold.
    ProviderFailed,
    /// No account is connected with who the person is to the other provider.
    ProviderUnknown,
    /// A code was to be sent, and nothing was typed that could be a name or an address.
    NameMissing,
    /// Too many failed attempts for this account or address.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
    /// The server has too many passwords to check at the moment.
    Busy,
    /// The login took too long, or its form was sent twice.
    Expired,
}

impl LoginError {
    fn text(&self, texts: &Texts) -> String {
        match *self {
            Self::InvalidCredentials => texts.login_invalid_credentials.into(),
            Self::PasskeyRefused => texts.login_passkey_refused.into(),
            Self::ProviderRefused => texts.login_provider_refused.into(),
            Self::ProviderFailed => texts.login_provider_failed.into(),
            Self::ProviderUnknown => texts.login_provider_unknown.into(),
            Self::NameMissing => texts.login_name_missing.into(),
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(retry_after_seconds, texts))
            }
            Self::Busy => texts.login_busy.into(),
            Self::Expired => texts.login_expired.into(),
        }
    }
}

/// A wait in words: seconds below two minutes, then minutes rounded up.
pub(crate) fn wait(seconds: u64, texts: &Texts) -> String {
    match seconds {
        0..=119 => texts.seconds.with(seconds.max(1)),
        longer => texts.minutes.with(longer.div_ceil(60)),
    }
}

/// The methods that a login page offers.
pub struct LoginWays {
    /// The password.
    pub password: bool,
    /// A passkey.
    pub passkey: Option<PasskeyPrompt>,
    /// Where the form asks for a code by e-mail.
    pub email_code: Option<String>,
    /// The other providers, and where their form is posted (`provider` = an id).
    pub providers: (String, Vec<ProviderButton>),
    /// Whether the form tells if the browser could create a passkey (`creates_passkeys`).
    pub asks_for_support: bool,
}

/// A button that leads to another provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderButton {
    /// The provider's id: the value of `provider`.
    pub id: String,
    /// Its name.
    pub name: String,
}

/// What a login page asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStage {
    /// Everything.
    AllAtOnce,
    /// The name alone.
    Identifier,
    /// How to prove it. The name is known.
    Proof,
}

/// Asks for user name and password (`POST action` with the fields `username`, `password`, `transaction`,
/// `csrf_token`). Cancel is a form of its own (`POST cancel_action` with `cancel=true`, `transaction`,
/// `csrf_token`), so that it never sends a password.
#[derive(Template)]
#[template(path = "login.html")]
pub struct LoginPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The name of the client that asked for the login.
    pub client_name: String,
    /// The client's home page; linked only if it is an absolute URL.
    pub client_uri: Option<String>,
    /// The client's logo: a path on this origin, else it is not shown.
    pub client_logo: Option<String>,
    /// Where the form is posted.
    pub action: String,
    /// Where the cancel form is posted.
    pub cancel_action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// What the user name field holds at first (`login_hint`, or what was typed before an error).
    pub login_hint: Option<String>,
    /// Where somebody who forgot the password goes.
    pub forgot_uri: Option<String>,
    /// Where somebody without an account goes.
    pub register_uri: Option<String>,
    /// Where the form is posted by who wants a link instead of typing a password.
    pub magic_link_action: Option<String>,
    /// Why the last attempt failed.
    pub error: Option<LoginError>,
    /// The methods.
    pub ways: LoginWays,
    /// What it asks for.
    pub stage: LoginStage,
}

/// One scope that a client asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeView {
    /// The scope token (RFC 6749 section 3.3).
    pub name: String,
    /// What it allows, in words for the user; if empty, the page describes the standard scopes of OpenID Connect Core
    /// section 5.4, `groups` and `roles` itself.
    pub description: String,
}

impl ScopeView {
    /// The description of this scope; empty if neither the caller nor the page has one.
    pub(crate) fn words(&self, texts: &'static Texts) -> &str {
        if !self.description.is_empty() {
            return &self.description;
        }
        match self.name.as_str() {
            "openid" => texts.scope_openid,
            "profile" => texts.scope_profile,
            "email" => texts.scope_email,
            "address" => texts.scope_address,
            "phone" => texts.scope_phone,
            "groups" => texts.scope_groups,
            "roles" => texts.scope_roles,
            "offline_access" => texts.scope_offline_access,
            _ => "",
        }
    }
}

/// A part of what the user reads of one authorization detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetailWord {
    /// Words of the provider.
    Text(String),
    /// A value of the client, which is set off from the words.
    Value(String),
    /// The value true.
    Yes,
    /// The value false.
    No,
}

impl DetailWord {
    /// Whether it is a value, which the client has chosen.
    pub(crate) const fn is_value(&self) -> bool {
        !matches!(self, Self::Text(_))
    }

    pub(crate) fn shown(&self, texts: &'static Texts) -> &str {
        match self {
            Self::Text(text) | Self::Value(text) => text,
            Self::Yes => texts.detail_yes,
            Self::No => texts.detail_no,
        }
    }
}

/// A member of an authorization detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetailMember {
    /// Its name.
    pub name: String,
    /// Its value.
    pub words: Vec<DetailWord>,
}

/// One authorization detail that a client asks for (RFC 9396).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DetailView {
    /// The name of its type, shown if there are no words.
    pub name: String,
    /// What it allows.
    pub words: Vec<DetailWord>,
    /// Its members that are not among the words.
    pub others: Vec<DetailMember>,
    /// The resource servers at which it counts, if it names some.
    pub locations: Vec<String>,
}

/// Asks the user to allow what a client asks for (`POST action` with `decision` = `allow`, `deny` or `switch` (to sign
/// in as another user), `transaction`, `csrf_token`).
#[derive(Template)]
#[template(path = "consent.html")]
pub struct ConsentPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The name of the client that asks.
    pub client_name: String,
    /// The host by which the client is known, where nobody registered it and its name is its own choice.
    pub client_host: Option<String>,
    /// The client's home page; linked only if it is an absolute URL.
    pub client_uri: Option<String>,
    /// The client's logo: a path on this origin, else it is not shown.
    pub client_logo: Option<String>,
    /// The client's privacy policy; linked only if it is a web page, as the terms.
    pub policy_uri: Option<String>,
    /// The client's terms of service.
    pub tos_uri: Option<String>,
    /// The host that the answer is sent to, so that the user sees where they will be taken.
    pub redirect_host: Option<String>,
    /// Who is signed in.
    pub user_name: String,
    /// What the client asks for.
    pub scopes: Vec<ScopeView>,
    /// What it asks for in detail.
    pub details: Vec<DetailView>,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
}

impl LoginPage {
    fn client_link(&self) -> Option<&str> {
        self.client_uri.as_deref().filter(|uri| is_linkable(uri))
    }

    fn logo(&self) -> Option<&str> {
        self.client_logo.as_deref().filter(|uri| is_own_image(uri))
    }

    fn hint(&self) -> &str {
        self.login_hint.as_deref().unwrap_or_default()
    }

    /// Whether there is a field for the name: a passkey knows its own.
    fn asks_for_name(&self) -> bool {
        self.ways.password || self.ways.email_code.is_some() || self.magic_link_action.is_some()
    }

    fn is_about_to_prove(&self) -> bool {
        self.stage == LoginStage::Proof
    }

    fn is_identifier(&self) -> bool {
        self.stage == LoginStage::Identifier
    }

    fn asks_for_password(&self) -> bool {
        self.ways.password && !self.is_identifier()
    }

    fn rejected(&self) -> bool {
        self.error == Some(LoginError::InvalidCredentials)
    }
}

impl ConsentPage {
    /// What the client says of itself elsewhere (OpenID Connect Dynamic Client Registration 1.0 2: `policy_uri` and
    /// `tos_uri` are given to the person).
    fn more(&self) -> Vec<(&'static str, &str)> {
        let texts = self.language.texts();
        let all = [(texts.privacy_policy, &self.policy_uri), (texts.terms_of_service, &self.tos_uri)];
        all.into_iter()
            .filter_map(|(words, uri)| Some((words, uri.as_deref().filter(|uri| is_web(uri))?)))
            .collect()
    }

    fn client_link(&self) -> Option<&str> {
        self.client_uri.as_deref().filter(|uri| is_linkable(uri))
    }

    fn logo(&self) -> Option<&str> {
        self.client_logo.as_deref().filter(|uri| is_own_image(uri))
    }
}

page!(LoginPage, ConsentPage);
