//! The records with which targets compare what they read.

use std::sync::LazyLock;

use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::jwk::JwkSet;
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::{Algorithm, SeededRandom, encoding};
use symbolon_protocol::claim_definition::NO_CLAIMS;
use symbolon_protocol::client::{Client, TokenEndpointAuthMethod};
use symbolon_protocol::client_metadata;
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::issuer::Issuer;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::Context;

pub(super) const URL: &str = "https://op.example.com";
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_500);
/// The secret of every confidential client.
pub(super) const SECRET: &str = "s3cret+%2B-of-32-characters-or-more";

/// A key whose public half the signing client has registered. It differs in every process, so no corpus can contain its
/// signatures: a valid signature was made by the target itself.
pub(super) static CLIENT_KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate(Algorithm::Es256, Some("client")).expect("a key"));

/// The issuer's key for client secrets.
pub(super) static SECRET_KEY: LazyLock<HmacKey> = LazyLock::new(|| HmacKey::new(b"client secrets"));

/// One client for each `auth` method.
pub(super) struct Clients {
    /// `client_secret_basic`.
    pub(super) app: Client,
    /// `none`.
    pub(super) spa: Client,
    /// `private_key_jwt`.
    pub(super) signer: Client,
}

impl Clients {
    pub(super) fn all(&self) -> [&Client; 3] {
        [&self.app, &self.spa, &self.signer]
    }

    pub(super) fn find(&self, id: &str) -> Option<&Client> {
        self.all().into_iter().find(|client| client.client_id.as_str() == id)
    }
}

fn client(id: &str, method: TokenEndpointAuthMethod) -> Client {
    let mut metadata = serde_json::json!({
        "client_id": id,
        "client_name": id,
        "redirect_uris": [
            "https://app.example.com/cb",
            "https://app.example.com/cb?fixed=1",
            "http://127.0.0.1/cb",
            "http://[::1]:8000/cb",
            "com.example.app:/cb",
        ],
        "post_logout_redirect_uris": ["https://app.example.com/bye"],
        "grant_types": [
            "authorization_code", "refresh_token", "client_credentials",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ],
        "scope": "openid profile email offline_access api",
        "token_endpoint_auth_method": method,
        "token_exchange_allowed": true,
    });
    match method {
        TokenEndpointAuthMethod::None => {
            metadata["grant_types"] = serde_json::json!(["authorization_code", "refresh_token"]);
            metadata["token_exchange_allowed"] = false.into();
        }
        TokenEndpointAuthMethod::PrivateKeyJwt => {
            let set = JwkSet::new(vec![CLIENT_KEY.public().jwk().clone()]);
            metadata["jwks"] = serde_json::to_value(set).expect("JSON");
        }
        _ => metadata["client_secret"] = SECRET.into(),
    }
    let serde_json::Value::Object(metadata) = metadata else { unreachable!("an object") };
    let made = client_metadata::create(metadata, &SECRET_KEY, NOW, &SeededRandom::new(1));
    made.unwrap_or_else(|error| panic!("{id}: {error}")).client
}

pub(super) static CLIENTS: LazyLock<Clients> = LazyLock::new(|| Clients {
    app: client("app", TokenEndpointAuthMethod::ClientSecretBasic),
    spa: client("spa", TokenEndpointAuthMethod::None),
    signer: client("signer", TokenEndpointAuthMethod::PrivateKeyJwt),
});

pub(super) static SETTINGS: LazyLock<IssuerSettings> = LazyLock::new(IssuerSettings::default);

static ISSUER: LazyLock<Issuer> = LazyLock::new(|| Issuer {
    id: IssuerId::default_issuer(),
    url: URL.to_owned(),
    sealed_secret: Vec::new(),
    created_at: Timestamp::EPOCH,
});

static PAIRWISE_KEY: LazyLock<HmacKey> = LazyLock::new(|| HmacKey::new(&[7; 32]));

/// The context of a grant for one of the clients.
pub(super) fn context<'a>(client: &'a Client, random: &'a SeededRandom) -> Context<'a> {
    Context {
        issuer: &ISSUER,
        settings: &SETTINGS,
        client,
        claims: &NO_CLAIMS,
        now: NOW,
        pairwise_key: &PAIRWISE_KEY,
        jkt: None,
        x5t_s256: None,
        random,
    }
}

/// Standard base64 with padding.
pub(super) fn base64(bytes: &[u8]) -> String {
    let mut text = encoding::encode(bytes).replace('-', "+").replace('_', "/");
    while !text.len().is_multiple_of(4) {
        text.push('=');
    }
    text
}

/// A form of these pairs.
pub(super) fn form(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// The text before and after the first line feed.
pub(super) fn two_lines(data: &[u8]) -> Option<(&str, &str)> {
    std::str::from_utf8(data).ok()?.split_once('\n')
}
