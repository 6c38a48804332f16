//! CSRF protection of forms: each form carries a token that is bound to the browser, the interaction and the purpose.
//!
//! A browser gets a cookie of random bits with its first page, before it has a session. An interaction carries the
//! cookie's digest, and the form's token is an HMAC keyed by the issuer over the cookie, interaction, session and
//! purpose. So a form made for another browser, interaction, page or session is refused (RFC 6749 10.12, RFC 9700
//! 4.7).

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;
use symbolon_crypto::{digest, encoding};

use super::cookie::{cookies, set_cookie};
use crate::issuer::IssuerState;

/// How long authentication within an interaction stays valid there. A person who takes longer starts again.
pub const INTERACTION_LIVES: Duration = Duration::from_secs(600);

/// Lifetime of the browser's cookie, and therefore of the forms that the browser was shown.
const BROWSER_LIVES: Duration = Duration::from_secs(86_400);

/// Random bytes in the cookie.
const BYTES: usize = 32;

/// The purpose of a form: a token for one purpose is refused for another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Signing in, and the cancel button beside it.
    Login,
    /// Proving a second factor, or setting one up.
    SecondFactor,
    /// Creating a passkey after signing in, or not now.
    PasskeyOffer,
    /// Allowing or denying consent.
    Consent,
    /// Allowing or denying what a device asks for; its code and client stand in place of the interaction.
    Device,
    /// Choosing the account with which to go on.
    SelectAccount,
    /// Signing out.
    Logout,
    /// A form of the account pages; which one stands in place of the interaction.
    Account,
    /// Asking for an account.
    Register,
    /// Proving an address by a code or a link, and what is done then.
    MailedCode,
    /// Asking for a new password.
    ForgotPassword,
    /// Choosing a new password.
    ResetPassword,
    /// Asking for a link that signs in.
    MagicLink,
}

impl Purpose {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Login => b"login",
            Self::SecondFactor => b"second-factor",
            Self::PasskeyOffer => b"passkey-offer",
            Self::Consent => b"consent",
            Self::Device => b"device",
            Self::SelectAccount => b"select-account",
            Self::Logout => b"logout",
            Self::Account => b"account",
            Self::Register => b"register",
            Self::MailedCode => b"mailed-code",
            Self::ForgotPassword => b"forgot-password",
            Self::ResetPassword => b"reset-password",
            Self::MagicLink => b"magic-link",
        }
    }
}

/// A form, identified by purpose, interaction and session.
#[derive(Clone, Copy)]
pub struct PageForm<'a> {
    /// What submitting it does.
    pub purpose: Purpose,
    /// The interaction's id; on account pages, which need none, the form's name.
    pub interaction: &'a str,
    /// The `sid` of the session that the page was shown to; empty if the page needs no session.
    pub sid: &'a str,
}

/// A browser, identified by its own cookie. It has no Debug, because the cookie is a secret.
pub struct Browser(SecretString);

/// The cookie's name.
pub fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_login")
}

impl Browser {
    /// The browser that sent a request, if it has a well-formed cookie.
    pub fn of(headers: &HeaderMap, issuer: &IssuerState) -> Option<Self> {
        let name = cookie_name(issuer);
        cookies(headers, &name).find_map(Self::of_cookie)
    }

    /// The browser with this cookie value, if the value is well-formed.
    pub fn of_cookie(value: &str) -> Option<Self> {
        encoding::decode_array::<BYTES>(value).ok()?;
        Some(Self(SecretString::new(value.to_owned())))
    }

    /// The browser that sent a request. Its existing cookie is kept, so that its other tabs stay valid; without one,
    /// a new one is made.
    pub fn of_or_new(headers: &HeaderMap, issuer: &IssuerState, random: &dyn Random) -> Self {
        Self::of(headers, issuer)
            .unwrap_or_else(|| Self(SecretString::new(random::base64url::<BYTES>(random))))
    }

    /// The `Set-Cookie` header for this browser.
    pub fn cookie(&self, issuer: &IssuerState) -> Option<HeaderValue> {
        set_cookie(issuer, &cookie_name(issuer), self.0.expose(), BROWSER_LIVES)
    }

    /// The digest of the cookie that an interaction carries.
    pub fn digest(&self) -> String {
        encoding::encode(&digest::sha256(&[self.0.expose().as_bytes()]))
    }

    /// Whether an interaction was begun in this browser.
    pub fn is(&self, digest: &str) -> bool {
        digest::constant_time_eq(self.digest().as_bytes(), digest.as_bytes())
    }

    /// The token for a form's hidden field `csrf_token`.
    pub fn token(&self, issuer: &IssuerState, form: PageForm<'_>) -> String {
        encoding::encode(&issuer.form_key.sign(&self.parts(form)))
    }

    /// Whether a form came from a page that this browser was shown. Constant time in the token.
    pub fn accepts(&self, issuer: &IssuerState, form: PageForm<'_>, token: Option<&str>) -> bool {
        let Some(tag) = token.and_then(|token| encoding::decode_array::<32>(token).ok()) else {
            return false;
        };
        issuer.form_key.verify(&self.parts(form), &tag)
    }

    /// Unambiguous: no part but the last can contain the separator NUL, because labels are constants and the other
    /// parts consist of base64url characters.
    fn parts<'a>(&'a self, form: PageForm<'a>) -> [&'a [u8]; 7] {
        let PageForm { purpose, interaction, sid } = form;
        [
            purpose.label(),
            &[0],
            self.0.expose().as_bytes(),
            &[0],
            interaction.as_bytes(),
            &[0],
            sid.as_bytes(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::id::IssuerId;

    use super::*;
    use crate::issuer::scene::issuer;

    fn here() -> IssuerState {
        issuer("http://localhost", "", 1)
    }

    fn browser(seed: u64) -> Browser {
        Browser::of_or_new(&HeaderMap::new(), &here(), &SeededRandom::new(seed))
    }

    fn form<'a>(purpose: Purpose, interaction: &'a str, sid: &'a str) -> PageForm<'a> {
        PageForm { purpose, interaction, sid }
    }

    fn with_cookie(line: &str) -> HeaderMap {
        HeaderMap::from_iter([(http::header::COOKIE, HeaderValue::from_str(line).unwrap())])
    }

    #[test]
    fn a_token_is_for_one_form_alone() {
        let (own, base) = (browser(1), form(Purpose::Consent, "tx_1", "s"));
        let token = own.token(&here(), base);
        assert!(own.accepts(&here(), base, Some(&token)));
        for other in [
            form(Purpose::Login, "tx_1", "s"),
            form(Purpose::Logout, "tx_1", "s"),
            form(Purpose::Consent, "tx_2", "s"),
            form(Purpose::Consent, "tx_1", "t"),
            form(Purpose::Consent, "tx_1", ""),
        ] {
            assert!(!own.accepts(&here(), other, Some(&token)));
        }
        assert!(!browser(2).accepts(&here(), base, Some(&token)), "another browser");
        assert!(!own.accepts(&issuer("http://localhost", "", 2), base, Some(&token)), "another issuer");
        assert!(!own.accepts(&here(), base, None));
    }

    #[test]
    fn the_cookie_is_as_strict_as_the_url_allows() {
        assert_eq!(cookie_name(&issuer("https://a", "", 1)), "__Host-symbolon_login_acme");
        assert_eq!(cookie_name(&issuer("https://a/x", "/x", 1)), "__Host-symbolon_login_acme");
        assert_eq!(cookie_name(&here()), "symbolon_login_acme");
        let default =
            |url| crate::issuer::IssuerState { id: IssuerId::default_issuer(), ..issuer(url, "", 1) };
        assert_eq!(cookie_name(&default("https://a")), "__Host-symbolon_login");
        assert_eq!(cookie_name(&default("http://localhost")), "symbolon_login");
        let cookie = browser(1).cookie(&issuer("https://a", "", 1)).unwrap();
        let cookie = cookie.to_str().unwrap();
        for part in ["Path=/;", "HttpOnly", "Secure", "Max-Age=86400"] {
            assert!(cookie.contains(part), "{cookie}");
        }
    }

    #[test]
    fn a_browser_is_known_again_and_a_foreign_cookie_is_none() {
        let own = browser(1);
        let known =
            Browser::of(&with_cookie(&format!("symbolon_login_acme={}", own.0.expose())), &here()).unwrap();
        assert!(known.is(&own.digest()) && !known.is(&browser(2).digest()) && !known.is(""));
        assert!(Browser::of(&with_cookie("symbolon_login_acme=short"), &here()).is_none());
    }

    proptest! {
        #[test]
        fn nothing_but_the_token_is_accepted(text in ".{0,60}") {
            let base = form(Purpose::Login, "tx_1", "");
            let own = browser(1);
            let token = own.token(&here(), base);
            prop_assert_eq!(own.accepts(&here(), base, Some(&text)), text == token);
        }

        #[test]
        fn a_changed_character_is_refused(at in 0_usize..43, with in "[A-Za-z0-9_-]") {
            let base = form(Purpose::Login, "tx_1", "");
            let own = browser(1);
            let mut token = own.token(&here(), base);
            token.replace_range(at..=at, &with);
            let same = token == own.token(&here(), base);
            prop_assert_eq!(own.accepts(&here(), base, Some(&token)), same);
        }

        #[test]
        fn any_cookie_header_is_read_without_panic(line in "[ -~]{0,200}") {
            let _ = Browser::of(&with_cookie(&format!("symbolon_login_acme={line}")), &here());
        }
    }
}
