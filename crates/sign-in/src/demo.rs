//! The demo of development mode: a client for the walk-through, a client for its back end, and a user.
//!
//! Secrets are generated at the first start and stored in `demo.json` in the data directory, readable only by its
//! owner. Every start updates the records from that file and the configured port.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use symbolon_crypto::random;
use symbolon_crypto::secret::SecretString;
use symbolon_protocol::client::{
    Client, DelegationMode, GrantType, TokenEndpointAuthMethod, TokenExchangePolicy,
};
use symbolon_protocol::client_authentication::secret_digest;
use symbolon_protocol::client_secret::{ClientSecret, ClientSecrets};
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::{Profile, User};
use symbolon_store::StoreError;
use tokio::io::AsyncWriteExt;

use symbolon_app::app::App;
use symbolon_app::http::{Context, Failure};
use symbolon_app::passwords::Busy;
use symbolon_config::Mode;

/// The public client of the walk-through.
pub const CLIENT: &str = "demo";
/// The confidential client of the walk-through's back end.
pub const SERVICE: &str = "demo-service";
/// The next service that the back end calls: it exists only as an audience.
pub const NEXT_SERVICE: &str = "demo-next-service";
/// The scope that the walk-through requests.
pub const SCOPE: &str = "openid profile email";

/// The path at which the walk-through's back end exchanges tokens.
pub const EXCHANGE: &str = "/demo/token-exchange";

const FILE: &str = "demo.json";

/// The demo's secrets. No Debug, because it would print them.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Demo {
    /// The user's e-mail address, to sign in with.
    pub email: String,
    /// The user's password, displayed by the walk-through.
    pub password: String,
    /// The client secret of [`SERVICE`].
    pub service_secret: String,
}

/// Why the demo could not be set up.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DemoError {
    #[error("{path}: {source}", path = path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{path} is damaged; delete it for a new one: {source}", path = path.display())]
    Damaged { path: PathBuf, source: serde_json::Error },
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Busy(#[from] Busy),
}

/// The demo, if the issuer is the one of development mode.
///
/// # Errors
/// [`Failure::Internal`] if `demo.json` cannot be read.
pub async fn of(context: &Context) -> Result<Option<Demo>, Failure> {
    let config = context.app.config.load();
    if config.mode != Mode::Development || *context.issuer.url != *config.issuer.as_str() {
        return Ok(None);
    }
    read(&config.storage.data_dir).await.map_err(|error| Failure::Internal(error.to_string()))
}

impl Demo {
    fn draw(app: &App) -> Self {
        Self {
            email: "demo@example.com".to_owned(),
            password: random::base64url::<12>(&*app.random),
            service_secret: random::base64url::<32>(&*app.random),
        }
    }

    /// Resets the user's password if it differs from `demo.json`. Separate from [`prepare`], because checking a
    /// password takes longer than the rest of the start.
    ///
    /// # Errors
    /// [`DemoError`]
    pub async fn keep_password(&self, app: &App) -> Result<(), DemoError> {
        let issuer = IssuerId::default_issuer();
        let password = || SecretString::new(self.password.clone());
        let Some((user, hash)) = app.store.user_by_login(&issuer, &self.email).await? else { return Ok(()) };
        if !app.passwords.verify_own(password(), hash).await? {
            let hash = app.passwords.hash(password()).await?;
            app.store.set_password(&issuer, &user.id, Some(hash)).await?;
        }
        Ok(())
    }

    /// The text to print at every start: the URL and the login.
    pub fn greeting(&self, issuer: &str) -> String {
        let Self { email, password, .. } = self;
        let other = other_site(issuer);
        format!(
            "Walk-through:  {issuer}/   (as another site: {other}/)\nDemo user:     {email}\nDemo password: {password}\n\
             Demo client:   {CLIENT} (public, code + PKCE)"
        )
    }
}

/// The same port on another host name, which browsers treat as another site.
pub fn other_site(issuer: &str) -> String {
    issuer.replacen("//localhost", "//127.0.0.1", 1)
}

/// Sets up the demo on the loaded issuer `default`. For development mode only.
///
/// # Errors
/// [`DemoError`]
pub async fn prepare(app: &App) -> Result<Demo, DemoError> {
    let config = app.config.load_full();
    let demo = match read(&config.storage.data_dir).await? {
        Some(demo) => demo,
        None => {
            let demo = Demo::draw(app);
            write(&config.storage.data_dir, &demo).await?;
            demo
        }
    };
    let now = app.now();
    ensure_client(app, walk_through_client(config.issuer.as_str(), now)).await?;
    ensure_client(app, service_client(&demo, now)).await?;
    ensure_user(app, &demo, now).await?;
    Ok(demo)
}

/// Reads `demo.json` from a data directory; `None` before the first start.
///
/// # Errors
/// [`DemoError::File`], [`DemoError::Damaged`]
pub async fn read(data_dir: &Path) -> Result<Option<Demo>, DemoError> {
    let path = data_dir.join(FILE);
    match tokio::fs::read(&path).await {
        Ok(json) => {
            serde_json::from_slice(&json).map(Some).map_err(|source| DemoError::Damaged { path, source })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(DemoError::File { path, source }),
    }
}

async fn write(data_dir: &Path, demo: &Demo) -> Result<(), DemoError> {
    let path = data_dir.join(FILE);
    let written = async {
        let json = serde_json::to_vec_pretty(demo)?;
        // Written to another name and then renamed, so that a crash leaves no partial file.
        let draft = data_dir.join("demo.json.new");
        let mut file = tokio::fs::OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&draft)
            .await?;
        file.write_all(&json).await?;
        file.sync_all().await?;
        tokio::fs::rename(&draft, data_dir.join(FILE)).await
    };
    written.await.map_err(|source| DemoError::File { path, source })
}

/// The walk-through's client, for the issuer's own site and for the other site.
fn walk_through_client(issuer: &str, now: Timestamp) -> Client {
    let sites = [issuer.to_owned(), other_site(issuer)];
    let at = |paths: &[&str]| {
        sites.iter().flat_map(|site| paths.iter().map(move |path| format!("{site}{path}"))).collect()
    };
    Client {
        client_name: "Symbolon walk-through".to_owned(),
        redirect_uris: at(&["/callback", "/callback/silent"]),
        post_logout_redirect_uris: at(&["/"]),
        grant_types: vec![GrantType::AuthorizationCode, GrantType::RefreshToken],
        token_endpoint_auth_method: TokenEndpointAuthMethod::None,
        ..client(CLIENT, "openid profile email offline_access", now)
    }
}

fn service_client(demo: &Demo, now: Timestamp) -> Client {
    Client {
        client_name: "Symbolon demo service".to_owned(),
        client_secrets: ClientSecrets::only(ClientSecret {
            id: "demo".into(),
            digest: secret_digest(&demo.service_secret),
            is_keyed: false,
            created_at: Some(now),
            expires_at: None,
            last_used_at: None,
        }),
        grant_types: vec![GrantType::ClientCredentials, GrantType::TokenExchange],
        token_endpoint_auth_method: TokenEndpointAuthMethod::ClientSecretPost,
        token_exchange: TokenExchangePolicy {
            allowed: true,
            targets: Some(vec![NEXT_SERVICE.to_owned()]),
            subject_token_clients: vec![ClientId::trusted(CLIENT)],
            delegation_mode: DelegationMode::Delegation,
            ..TokenExchangePolicy::default()
        },
        ..client(SERVICE, SCOPE, now)
    }
}

/// A client without any grants or redirect URIs.
fn client(id: &'static str, scope: &str, now: Timestamp) -> Client {
    Client {
        client_id: ClientId::trusted(id),
        client_secrets: ClientSecrets::default(),
        client_name: String::new(),
        redirect_uris: Vec::new(),
        redirect_uri_forms: Vec::new(),
        post_logout_redirect_uris: Vec::new(),
        grant_types: Vec::new(),
        response_types: Vec::new(),
        scope: Scope::parse(scope).unwrap_or_default(),
        token_endpoint_auth_method: TokenEndpointAuthMethod::default(),
        jwks: None,
        jwks_uri: None,
        assertion_issuers: Vec::new(),
        token_endpoint_auth_signing_alg: None,
        id_token_signed_response_alg: None,
        request_object_signing_alg: None,
        request_uris: Vec::new(),
        require_signed_request_object: false,
        authorization_signed_response_alg: None,
        userinfo_signed_response_alg: None,
        id_token_encryption: None,
        userinfo_encryption: None,
        introspection_signed_response_alg: None,
        access_token_signed_response_alg: None,
        dpop_bound_access_tokens: false,
        tls_client_certificate_bound_access_tokens: false,
        certificate_subject: None,
        is_trusted: false,
        skip_consent: false,
        require_pushed_authorization_requests: false,
        authorization_details_types: Vec::new(),
        token_exchange: TokenExchangePolicy::default(),
        audiences: Vec::new(),
        access_token_audiences: Vec::new(),
        allowed_redirect_origins: Vec::new(),
        default_max_age: None,
        default_acr_values: Default::default(),
        initiate_login_uri: None,
        backchannel: None,
        sector: None,
        logout: Default::default(),
        settings: symbolon_protocol::settings::ClientOverrides::default(),
        branding: None,
        dynamic_registration: None,
        is_from_document: false,
        display: serde_json::Map::new(),
        created_at: now,
        updated_at: now,
        unknown_members: Default::default(),
    }
}

/// Creates a client, or updates the fields that depend on the port and on `demo.json`; other fields keep their
/// values.
async fn ensure_client(app: &App, wanted: Client) -> Result<(), DemoError> {
    let issuer = IssuerId::default_issuer();
    let Some(known) = app.store.client(&issuer, &wanted.client_id).await? else {
        app.store.create_client(&issuer, wanted).await?;
        return Ok(());
    };
    let digests =
        |client: &Client| client.client_secrets.iter().map(|own| own.digest.clone()).collect::<Vec<_>>();
    let same = known.redirect_uris == wanted.redirect_uris
        && known.post_logout_redirect_uris == wanted.post_logout_redirect_uris
        && digests(&known) == digests(&wanted);
    if !same {
        let changed = Client {
            redirect_uris: wanted.redirect_uris,
            post_logout_redirect_uris: wanted.post_logout_redirect_uris,
            client_secrets: wanted.client_secrets,
            updated_at: wanted.updated_at,
            ..Client::clone(&known)
        };
        app.store.update_client(&issuer, changed, known.updated_at).await?;
    }
    Ok(())
}

/// Creates the user if there is none.
async fn ensure_user(app: &App, demo: &Demo, now: Timestamp) -> Result<(), DemoError> {
    let issuer = IssuerId::default_issuer();
    if app.store.user_by_login(&issuer, &demo.email).await?.is_none() {
        let hash = app.passwords.hash(SecretString::new(demo.password.clone())).await?;
        app.store.create_user(&issuer, user(app, demo, now), Some(hash)).await?;
    }
    Ok(())
}

fn user(app: &App, demo: &Demo, now: Timestamp) -> User {
    User {
        id: UserId::trusted(random::token_128(&*app.random)),
        email: Some(demo.email.clone()),
        email_verified: true,
        profile: Profile {
            name: Some("Demo User".to_owned()),
            given_name: Some("Demo".to_owned()),
            family_name: Some("User".to_owned()),
            preferred_username: Some("demo".to_owned()),
            ..Profile::default()
        }
        .into(),
        active: true,
        created_at: now,
        updated_at: now,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn demo() -> Demo {
        Demo { email: "a@b".into(), password: "p".into(), service_secret: "s".repeat(43) }
    }

    #[test]
    fn both_sites_are_registered() {
        let client = walk_through_client("http://localhost:8080", Timestamp::EPOCH);
        let uris = ["localhost", "127.0.0.1"]
            .map(|host| ["/callback", "/callback/silent"].map(|path| format!("http://{host}:8080{path}")));
        assert_eq!(client.redirect_uris, uris.concat());
        assert_eq!(client.post_logout_redirect_uris, ["http://localhost:8080/", "http://127.0.0.1:8080/"]);
        assert!(client.is_public() && !client.skip_consent && client.scope.contains("openid"));
    }

    #[test]
    fn the_service_may_exchange_tokens_of_the_walk_through() {
        let policy = service_client(&demo(), Timestamp::EPOCH).token_exchange;
        assert!(policy.allowed && policy.subject_token_clients == [ClientId::trusted(CLIENT)]);
    }

    #[test]
    fn every_start_says_where_to_go_and_as_whom() {
        let text = demo().greeting("http://localhost:8080");
        for part in ["http://localhost:8080/", "http://127.0.0.1:8080/", "a@b"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[tokio::test]
    async fn the_file_is_the_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).await.unwrap().is_none());
        write(folder.path(), &demo()).await.unwrap();
        assert!(read(folder.path()).await.unwrap() == Some(demo()));
        let mode = std::fs::metadata(folder.path().join(FILE)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        std::fs::write(folder.path().join(FILE), "{}").unwrap();
        assert!(matches!(read(folder.path()).await, Err(DemoError::Damaged { .. })));
    }
}
