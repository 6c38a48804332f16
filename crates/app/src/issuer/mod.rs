//! Issuers in memory. Each part that can change is replaced as a whole.

mod appearance;
mod claims;
mod directory;
mod hsts;
mod key_ring;
mod keys;
mod longest_life;
mod veiled;

#[cfg(any(test, feature = "fuzz"))]
pub(crate) mod scene;

pub use appearance::Appearance;
pub use claims::IssuerClaims;
pub use directory::{Directory, Located};
pub use directory::{host_and_prefix, is_same_place};
pub use key_ring::{ActiveKey, KeyRing, KeyRingError, TokenType};
pub use keys::{IssuerError, create, new_issuer, new_key, rewrap};
pub use longest_life::longest_life;

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use http::HeaderValue;
use symbolon_crypto::digest::{self, HmacKey};
use symbolon_crypto::encoding;
use symbolon_crypto::seal::SealError;
use symbolon_crypto::sealed_text::TextSealer;
use symbolon_crypto::secret::{SecretArray, SecretString};
use symbolon_protocol::branding::StyleSheet;
use symbolon_protocol::discovery::{self, MutualTls};
use symbolon_protocol::id::{IdentityProviderId, IssuerId};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::logo::Logo;
use symbolon_protocol::pkce::PkcePolicy;
use symbolon_protocol::precis::login_key;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::sign_in::method::SignInMethods;

/// What the secrets of other providers are sealed for.
const PROVIDER_SECRET: &str = "identity provider's secret";

/// The state of one issuer.
pub struct IssuerState {
    /// The id.
    pub id: IssuerId,
    /// The issuer identifier, as in `iss`.
    pub url: Arc<str>,
    /// The token endpoint's URL, which is accepted as the audience of client assertions (RFC 7523 3).
    pub token_endpoint: String,
    /// The stored record.
    pub record: Issuer,
    /// The path prefix of its endpoints: empty, or for example `/acme`.
    pub prefix: String,
    /// The session cookie's name.
    pub cookie: String,
    /// The name of the cookie with the browser's state (Session Management 1.0).
    pub browser_state_cookie: String,
    /// The `Strict-Transport-Security` header of its answers, if any.
    pub hsts: Option<HeaderValue>,
    /// What it offers of mutual TLS (RFC 8705); `None` where no client certificates arrive.
    pub mutual_tls: Option<MutualTls>,
    /// The document of OpenID Connect Discovery 3 and RFC 8414 3.
    pub discovery: ArcSwap<Bytes>,
    /// Settings, replaced when they change.
    pub settings: ArcSwap<IssuerSettings>,
    /// The style sheet that the settings' branding makes, replaced with them.
    pub style: ArcSwapOption<StyleSheet>,
    /// Its logo, replaced when it or the settings change.
    pub logo: ArcSwapOption<Logo>,
    /// The claim definitions of the settings and of clients, prepared for use.
    pub claims: IssuerClaims,
    /// Signing and verifying keys, replaced when they change.
    pub keys: ArcSwap<KeyRing>,
    /// Authenticates refresh tokens.
    pub refresh_token_key: HmacKey,
    /// The key of the digests of short client secrets.
    pub client_secret_key: HmacKey,
    /// The key of the CSRF tokens in forms.
    pub form_key: HmacKey,
    /// Seals interactions, which the browser keeps while a person looks at a page.
    pub interactions: TextSealer,
    /// Seals what waits in the queue of deliveries, such as mail.
    pub deliveries: TextSealer,
    /// Seals the secrets that other providers gave.
    pub provider_secrets: TextSealer,
    /// Derives a session's id from the interaction that signed in. So one interaction signs in only once.
    pub interaction_session_key: HmacKey,
    /// Authenticates what signing in hands to the browser: digests of codes, ids of imagined credentials.
    pub sign_in_key: HmacKey,
    /// Makes the nonces of DPoP proofs (RFC 9449 8).
    pub dpop_nonce_key: HmacKey,
    /// Digests typed login names, by which the audit log is searched.
    pub login_name_key: HmacKey,
    /// Makes pairwise subjects, and the names of sessions beside them (OpenID Connect Core 8.1).
    pub pairwise_key: HmacKey,
    /// Seals whom a token with a pairwise subject is about.
    pub veils: TextSealer,
}

impl IssuerState {
    /// The first part of the paths of callbacks: each provider has its own, so that an answer of one is never taken for
    /// another's (RFC 9700 4.4.2).
    pub const CALLBACK: &'static str = "/login/callback/";

    /// The redirect URI that is registered at another provider.
    pub fn callback_of(&self, provider: &IdentityProviderId) -> String {
        format!("{}{}{provider}", discovery::base(&self.url), Self::CALLBACK)
    }

    /// The path of the address to which another provider sends people back after a logout there.
    pub const LOGOUT_CALLBACK: &'static str = "/logout/callback";

    /// The post-logout redirect URI that is registered at another provider.
    pub fn logout_callback(&self) -> String {
        format!("{}{}", discovery::base(&self.url), Self::LOGOUT_CALLBACK)
    }

    /// Seals a secret that another provider gave.
    ///
    /// # Errors
    /// [`SealError`]
    pub fn seal_provider_secret(&self, secret: &SecretString) -> Result<String, SealError> {
        self.provider_secrets.seal(PROVIDER_SECRET, secret.expose().as_bytes())
    }

    /// Opens a secret that another provider gave.
    ///
    /// # Errors
    /// [`SealError`]
    pub fn open_provider_secret(&self, sealed: &str) -> Result<SecretString, SealError> {
        let opened = self.provider_secrets.open(PROVIDER_SECRET, sealed)?;
        let text = std::str::from_utf8(opened.expose()).map_err(|_| SealError::Corrupt)?;
        Ok(SecretString::new(text.to_owned()))
    }

    /// The origin of its pages (RFC 6454 4), as browsers send it.
    pub fn origin(&self) -> &str {
        let base = discovery::base(&self.url);
        base.strip_suffix(self.prefix.as_str()).unwrap_or(base)
    }

    /// Whether pages at an origin, as browsers send it, may call the login API: its own, and those of the setting.
    pub fn allows_origin(&self, origin: &str) -> bool {
        origin == self.origin() || self.settings.load().login_api_origins.iter().any(|own| own.allows(origin))
    }

    /// The methods by which people sign in on its pages. `has_mail`: mail can arrive somewhere.
    pub fn sign_in_methods(&self, has_mail: bool) -> SignInMethods {
        self.settings.load().sign_in_methods.unwrap_or_else(|| SignInMethods::usual(has_mail))
    }

    /// Whether the issuer's URL is https, so that its cookies can be `Secure`.
    pub fn is_https(&self) -> bool {
        self.url.starts_with("https://")
    }

    /// The name of one of its cookies, with the strictest prefix that its URL allows (RFC 6265bis 4.1.3).
    pub fn cookie_name(&self, usual: &str) -> String {
        Issuer::cookie_name(&self.id, usual, self.is_https(), !self.prefix.is_empty())
    }

    /// A digest of a login name as it was typed, equal for every spelling of one name. It is keyed, so that nobody who
    /// reads the audit log can find out by trying what was typed.
    pub fn login_name_digest(&self, typed: &str) -> String {
        let digest = self.login_name_key.sign(&[login_key(typed.trim()).as_bytes()]);
        encoding::encode(digest.first_chunk::<12>().unwrap_or(&[0; 12]))
    }

    /// Whether it is the issuer `default` without a path prefix.
    pub(super) fn is_default_at_root(&self) -> bool {
        self.prefix.is_empty() && self.id == IssuerId::default_issuer()
    }
}

/// Warns of an issuer's settings that leave its clients less protected than the defaults do.
pub fn warn_of_weak_settings(url: &str, settings: &IssuerSettings) {
    if settings.pkce.is_below_default() {
        tracing::warn!(issuer = url, "the issuer has pkce=optional. {}", PkcePolicy::WEAKENS);
    }
}

/// Says at the start if an issuer's `pkce` is another one than the default, which asks for less or for more. An issuer that an
/// earlier version made has `required` stored, and nobody may know that it does.
pub(crate) fn tell_of_pkce(url: &str, settings: &IssuerSettings) {
    warn_of_weak_settings(url, settings);
    if settings.pkce == PkcePolicy::Required {
        tracing::info!(issuer = url, "the issuer has pkce=required. {}", PkcePolicy::KEEPS_OUT);
    }
}

/// A key for one purpose, derived from the issuer's secret.
fn derived(secret: &SecretArray<32>, purpose: &str) -> HmacKey {
    HmacKey::from(&digest::derive(secret, purpose))
}
