//! Builds the state of issuers from their records, and maintains their keys: first keys, rotation, revocation.

use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_crypto::digest;
use symbolon_crypto::key::KeyGenerator;
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::seal::{MasterKey, SealError};
use symbolon_crypto::sealed_text::TextSealer;
use symbolon_crypto::secret::SecretArray;
use symbolon_protocol::discovery::{self, MutualTls};
use symbolon_protocol::id::{IssuerId, Kid};
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::key::{KeyRecord, KeyState};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{Created, Store};

use super::directory::host_and_prefix;
use super::hsts::strict_transport_security;
use super::key_ring::{KeyRingError, aad};
use super::{IssuerClaims, IssuerState, KeyRing, derived};
use symbolon_config::Security;

/// Why an issuer's state or keys could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum IssuerError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Keys(#[from] KeyRingError),
    #[error(transparent)]
    Seal(#[from] SealError),
    #[error("{0}")]
    Crypto(String),
}

impl IssuerError {
    /// The cause, if something sealed could not be opened.
    pub const fn seal(&self) -> Option<&SealError> {
        match self {
            Self::Seal(error) | Self::Keys(KeyRingError::Sealed { source: error, .. }) => Some(error),
            _ => None,
        }
    }
}

fn crypto(error: impl std::fmt::Display) -> IssuerError {
    IssuerError::Crypto(error.to_string())
}

/// Associated data that binds an issuer's sealed secret to the issuer.
fn secret_aad(issuer: &IssuerId) -> Vec<u8> {
    [b"issuer-secret\0", issuer.as_str().as_bytes()].concat()
}

/// A record for a new issuer, with a fresh secret.
///
/// # Errors
/// [`IssuerError::Crypto`] if sealing fails.
pub fn new_issuer(
    id: IssuerId,
    url: &str,
    master: &MasterKey,
    now: Timestamp,
    random: &dyn Random,
) -> Result<Issuer, IssuerError> {
    let secret = SecretArray::new(random::bytes::<32>(random));
    let sealed_secret = master.seal(&secret_aad(&id), secret.expose())?;
    Ok(Issuer { id, url: url.to_owned(), sealed_secret, created_at: now })
}

/// A record for a new signing key in state "next". CPU-bound for RSA: call it on a blocking thread.
///
/// # Errors
/// [`IssuerError::Crypto`] if the key cannot be made or sealed.
pub fn new_key(
    generator: &dyn KeyGenerator,
    issuer: &IssuerId,
    algorithm: Algorithm,
    master: &MasterKey,
    now: Timestamp,
) -> Result<KeyRecord, IssuerError> {
    let key = generator.generate(algorithm).map_err(crypto)?;
    let pkcs8 = key.to_pkcs8().map_err(crypto)?;
    let sealed = master.seal(&aad(issuer, key.kid()), pkcs8.expose())?;
    Ok(KeyRecord {
        kid: Kid::trusted(key.kid()),
        algorithm,
        state: KeyState::Next,
        sealed,
        created_at: now,
        known_from: None,
        signs_from: None,
        activated_at: None,
        retired_at: None,
        gone_at: None,
        reason: None,
    })
}

/// Creates an issuer with settings and its first signing keys.
///
/// # Errors
/// [`IssuerError`].
pub async fn create(
    store: &dyn Store,
    issuer: Issuer,
    settings: IssuerSettings,
    first_keys: &[KeyRecord],
) -> Result<Created, IssuerError> {
    let id = issuer.id.clone();
    let created = store.create_issuer(issuer, settings).await?;
    if created == Created::Created {
        match store.put_keys(&id, &[], first_keys).await {
            // Another node saw the issuer without keys and made the first ones.
            Ok(()) | Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(created)
}

/// Seals an issuer's secret and keys again under another master key. Idempotent.
///
/// # Errors
/// [`IssuerError`].
pub fn rewrap(
    issuer: &Issuer,
    keys: &[KeyRecord],
    old: &MasterKey,
    new: &MasterKey,
) -> Result<(Issuer, Vec<KeyRecord>), IssuerError> {
    use symbolon_crypto::seal::rewrap;
    let mut issuer = issuer.clone();
    issuer.sealed_secret = rewrap(old, new, &secret_aad(&issuer.id), &issuer.sealed_secret)?;
    let rewrapped = keys.iter().map(|record| {
        let mut record = record.clone();
        record.sealed = rewrap(old, new, &aad(&issuer.id, record.kid.as_str()), &record.sealed)?;
        Ok(record)
    });
    let keys = rewrapped.collect::<Result<Vec<_>, IssuerError>>()?;
    Ok((issuer, keys))
}

fn document(
    url: &str,
    settings: &IssuerSettings,
    mutual_tls: Option<&MutualTls>,
) -> Result<Bytes, IssuerError> {
    let metadata = discovery::provider_metadata(url, settings, mutual_tls);
    Ok(serde_json::to_vec(&metadata).map_err(crypto)?.into())
}

/// What an issuer with this path offers of mutual TLS.
fn mutual_tls(security: &Security, prefix: &str) -> Option<MutualTls> {
    let configured = security.mutual_tls.as_ref()?;
    Some(MutualTls { base: configured.url.as_ref().map(|url| format!("{url}{prefix}")) })
}

impl IssuerState {
    /// Loads an issuer from the store.
    ///
    /// # Errors
    /// [`IssuerError`]: the store is out of reach, or something was sealed under another master key.
    pub async fn load(
        store: &dyn Store,
        issuer: &Issuer,
        master: &MasterKey,
        security: &Security,
        now: Timestamp,
    ) -> Result<Self, IssuerError> {
        let opened = master.open(&secret_aad(&issuer.id), &issuer.sealed_secret)?;
        let secret: [u8; 32] =
            opened.expose().try_into().map_err(|_| crypto("an issuer's secret is cut short"))?;
        let secret = SecretArray::new(secret);
        let settings = store.settings(&issuer.id).await?;
        let logo = store.logo(&issuer.id, None).await?;
        let records = store.keys(&issuer.id).await?;
        let ring = KeyRing::open(&issuer.id, records, master, &KeyRing::default(), now)?;
        let (_, prefix) = host_and_prefix(&issuer.url);
        let mutual_tls = mutual_tls(security, &prefix);
        let mut state = Self {
            id: issuer.id.clone(),
            url: issuer.url.as_str().into(),
            token_endpoint: discovery::endpoint(&issuer.url, discovery::path::TOKEN),
            record: issuer.clone(),
            prefix,
            cookie: String::new(),
            browser_state_cookie: String::new(),
            hsts: strict_transport_security(&issuer.url, security.hsts),
            discovery: ArcSwap::from_pointee(document(&issuer.url, &settings, mutual_tls.as_ref())?),
            mutual_tls,
            claims: IssuerClaims::new(&issuer.url, &settings),
            style: ArcSwapOption::from_pointee(settings.branding.style_sheet()),
            settings: ArcSwap::from_pointee(settings),
            logo: ArcSwapOption::from_pointee(logo),
            keys: ArcSwap::from_pointee(ring),
            refresh_token_key: derived(&secret, "refresh-token"),
            client_secret_key: derived(&secret, "client-secret"),
            form_key: derived(&secret, "form"),
            interactions: TextSealer::new(&digest::derive(&secret, "interaction")),
            deliveries: TextSealer::new(&digest::derive(&secret, "delivery")),
            provider_secrets: TextSealer::new(&digest::derive(&secret, "identity-provider")),
            interaction_session_key: derived(&secret, "interaction-session"),
            sign_in_key: derived(&secret, "sign-in"),
            dpop_nonce_key: derived(&secret, "dpop-nonce"),
            login_name_key: derived(&secret, "login-name"),
            pairwise_key: derived(&secret, "pairwise-subject"),
            veils: TextSealer::new(&digest::derive(&secret, "pairwise-reference")),
        };
        state.cookie = match state.is_default_at_root() {
            true => security.session_cookie.clone(),
            false => state.cookie_name(Issuer::SESSION_COOKIE),
        };
        state.browser_state_cookie = state.cookie_name("symbolon_browser_state");
        Ok(state)
    }

    /// Reloads the keys. Requests use the old ones until this returns.
    ///
    /// # Errors
    /// [`IssuerError`].
    pub async fn reload_keys(
        &self,
        store: &dyn Store,
        master: &MasterKey,
        now: Timestamp,
    ) -> Result<(), IssuerError> {
        let records = store.keys(&self.id).await?;
        let ring = KeyRing::open(&self.id, records, master, &self.keys.load(), now)?;
        self.keys.store(Arc::new(ring));
        Ok(())
    }

    /// Reloads the settings and the logo.
    ///
    /// # Errors
    /// [`IssuerError`].
    pub async fn reload_settings(&self, store: &dyn Store) -> Result<(), IssuerError> {
        let settings = store.settings(&self.id).await?;
        self.logo.store(store.logo(&self.id, None).await?.map(Arc::new));
        self.discovery.store(Arc::new(document(&self.url, &settings, self.mutual_tls.as_ref())?));
        self.claims.reload(&self.url, &settings);
        self.style.store(settings.branding.style_sheet().map(Arc::new));
        self.settings.store(Arc::new(settings));
        Ok(())
    }
}
