//! An issuer for tests and fuzz targets.

use arc_swap::{ArcSwap, ArcSwapOption};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::sealed_text::TextSealer;
use symbolon_crypto::secret::SecretArray;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;

use crate::issuer::{IssuerClaims, IssuerState, KeyRing};

/// An issuer whose keys consist of the byte `key`.
pub(crate) fn issuer(url: &str, prefix: &str, key: u8) -> IssuerState {
    let id = IssuerId::trusted("acme");
    IssuerState {
        record: Issuer {
            id: id.clone(),
            url: url.to_owned(),
            sealed_secret: Vec::new(),
            created_at: Timestamp::EPOCH,
        },
        id,
        url: url.into(),
        token_endpoint: format!("{url}/token"),
        prefix: prefix.to_owned(),
        cookie: "symbolon_session".to_owned(),
        browser_state_cookie: "symbolon_browser_state".to_owned(),
        hsts: None,
        mutual_tls: None,
        discovery: ArcSwap::default(),
        settings: ArcSwap::default(),
        style: ArcSwapOption::default(),
        logo: ArcSwapOption::default(),
        claims: IssuerClaims::new(url, &IssuerSettings::default()),
        keys: ArcSwap::from_pointee(KeyRing::default()),
        refresh_token_key: HmacKey::new(&[0; 32]),
        client_secret_key: HmacKey::new(&[key; 32]),
        form_key: HmacKey::new(&[key; 32]),
        provider_secrets: TextSealer::new(&SecretArray::new([key; 32])),
        interactions: TextSealer::new(&SecretArray::new([key; 32])),
        deliveries: TextSealer::new(&SecretArray::new([key; 32])),
        interaction_session_key: HmacKey::new(&[key; 32]),
        sign_in_key: HmacKey::new(&[key; 32]),
        dpop_nonce_key: HmacKey::new(&[key; 32]),
        login_name_key: HmacKey::new(&[key; 32]),
        pairwise_key: HmacKey::new(&[key; 32]),
        veils: TextSealer::new(&SecretArray::new([key; 32])),
    }
}
