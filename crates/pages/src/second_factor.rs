//! The page that asks for a second factor, and what is shown when a generator is set up.

use askama::Template;
use qrcode::render::svg;
use qrcode::types::QrError;
use qrcode::{EcLevel, QrCode};

use crate::page::page;
use crate::sign_in::wait;
use crate::{Language, PasskeyPrompt, Texts};

/// Why the last code was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecondFactorError {
    /// It is neither a current code nor an unused recovery code.
    Wrong,
    /// The passkey is not one of this account, or proves nothing here.
    PasskeyRefused,
    /// Too many were tried.
    TooManyAttempts {
        /// Seconds until the next attempt is allowed.
        retry_after_seconds: u64,
    },
}

impl SecondFactorError {
    fn text(&self, texts: &Texts) -> String {
        match *self {
            Self::Wrong => texts.second_factor_wrong.into(),
            Self::PasskeyRefused => texts.second_factor_passkey_refused.into(),
            Self::TooManyAttempts { retry_after_seconds } => {
                texts.login_too_many_attempts.with(&wait(retry_after_seconds, texts))
            }
        }
    }
}

/// What a person needs to set up a generator of one-time passwords.
pub struct SecondFactorSetup {
    /// The key URI as a QR code, a picture in the page itself.
    picture: String,
    /// The secret, for who cannot scan.
    secret: String,
}

impl SecondFactorSetup {
    /// Draws the QR code of a key URI. `secret`: in base32, as it is typed.
    ///
    /// # Errors
    /// [`QrError`]: the URI is too long for a QR code.
    pub fn new(key_uri: &str, secret: &str) -> Result<Self, QrError> {
        let code = QrCode::with_error_correction_level(key_uri, EcLevel::M)?;
        // Dark on light in both colour schemes, because cameras expect it.
        let drawn = code.render::<svg::Color<'_>>().min_dimensions(200, 200).build();
        // Part of an HTML document, so without the XML declaration.
        let picture = drawn.split_once("?>").map_or(drawn.as_str(), |(_, picture)| picture).to_owned();
        Ok(Self { picture, secret: secret.to_owned() })
    }

    /// The QR code, as SVG.
    pub(crate) fn picture(&self) -> &str {
        &self.picture
    }

    /// The secret, as it is typed.
    pub(crate) fn secret(&self) -> &str {
        &self.secret
    }
}

/// Asks for a second factor (`POST action` with `code`, `credential`, `skip` or `cancel`; `remember`; `transaction`,
/// `csrf_token`).
#[derive(Template)]
#[template(path = "second_factor.html")]
pub struct SecondFactorPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The name of the client that asked for the sign-in.
    pub client_name: String,
    /// Where the forms are posted.
    pub action: String,
    /// The hidden field `transaction`.
    pub transaction: String,
    /// The hidden field `csrf_token`.
    pub csrf: String,
    /// The generator that is being set up; `None` if the person has one.
    pub setup: Option<SecondFactorSetup>,
    /// Whether a code is taken.
    pub takes_code: bool,
    /// What is asked of the browser's passkeys, if one is taken.
    pub passkey: Option<PasskeyPrompt>,
    /// For how many days the browser may be remembered; 0: it may not.
    pub remember_days: u32,
    /// Whether the person may go on without.
    pub may_skip: bool,
    /// Why the last code was not accepted.
    pub error: Option<SecondFactorError>,
}

impl SecondFactorPage {
    fn remember_text(&self) -> String {
        self.t().second_factor_remember.with(self.remember_days.into())
    }

    fn may_remember(&self) -> bool {
        self.remember_days > 0
    }

    fn title(&self) -> &'static str {
        match self.setup {
            Some(_) => self.t().second_factor_setup_title,
            None => self.t().second_factor_title,
        }
    }
}

/// Shows new recovery codes, once.
#[derive(Template)]
#[template(path = "recovery_codes.html")]
pub struct RecoveryCodesPage {
    /// The language of the page.
    pub language: Language,
    /// The provider's name.
    pub issuer_name: String,
    /// The codes.
    pub codes: Vec<String>,
    /// Where the person goes on.
    pub continue_uri: String,
}

page!(SecondFactorPage, RecoveryCodesPage);
