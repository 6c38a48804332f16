//! The pages on which a person allows a device what it asks for (RFC 8628 3.3).

use askama::Template;

use crate::page::{is_linkable, is_own_image, is_web, page};
use crate::sign_in::wait;
use crate::{DetailView, Language, ScopeView, Texts};

/// Why the code is asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceError {
    /// No device waits with it.
    Unknown,
    /// Too many codes were typed that no device has.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
    /// The application demands a second factor, and the account has none.
    SecondFactorRequired,
}

impl DeviceError {
    fn text(&self, texts: &Texts) -> String {
        match *self {
            Self::Unknown => texts.device_unknown.into(),
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(retry_after_seconds, texts))
            }
            Self::SecondFactorRequired => texts.device_second_factor.into(),
        }
    }
}

/// Asks for the code that a device shows (`GET action` with `user_code`): it changes nothing, the page that follows asks.
#[derive(Template)]
#[template(path = "device.html")]
pub struct DevicePage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// Who is signed in.
    pub user_name: String,
    /// What was typed.
    pub user_code: String,
    /// Where the form leads.
    pub action: String,
    /// Why it is asked for again.
    pub error: Option<DeviceError>,
}

/// Asks the user to allow a device what it asks for (`POST action` with `decision` = `allow`, `deny` or `switch` (to sign in as
/// another user), `user_code`, `csrf_token`). Shows the code, which the user compares (RFC 8628 5.4).
#[derive(Template)]
#[template(path = "device_consent.html")]
pub struct DeviceConsentPage {
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
    /// Who is signed in.
    pub user_name: String,
    /// The code, as the device shows it; also the hidden field `user_code`.
    pub user_code: String,
    /// What the client asks for.
    pub scopes: Vec<ScopeView>,
    /// What it asks for in detail.
    pub details: Vec<DetailView>,
    /// Whether the form before was not accepted.
    pub is_expired: bool,
    /// Where the form is posted.
    pub action: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
}

impl DeviceConsentPage {
    /// What the client says of itself elsewhere.
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

page!(DevicePage, DeviceConsentPage);
