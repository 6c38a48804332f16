//! The client of a drill.

use serde_json::{Value, json};

use super::ledger::Span;
use super::people::People;
use super::used_once::DEVICE;
use super::{NoAnswer, Wire, unix_micros};

pub(super) const REDIRECT_URI: &str = "https://rp.example/callback";

/// The client that every worker acts for.
#[derive(Clone, Debug)]
pub struct RelyingPartyAtHand {
    pub(super) id: String,
    pub(super) secret: String,
    /// The issuer at which it is registered.
    pub(super) issuer: String,
    /// Whether it pushes requests, connects devices and binds tokens by proofs.
    pub(super) uses_once: bool,
    /// When it was registered.
    pub registered: Span,
}

impl RelyingPartyAtHand {
    /// Registers a client that may do everything.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn register(wire: &Wire) -> Result<Self, NoAnswer> {
        Self::register_with(wire, json!({}), true)
    }

    /// The same for a client that is told of logouts, of an issuer at which everybody may register.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn register_told(wire: &Wire, people: &People) -> Result<Self, NoAnswer> {
        Self::register_for(wire, people, true)
    }

    /// The same for a client that neither pushes requests nor connects devices, and whose tokens no proof binds: a release that
    /// knows nothing of these can serve it too.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn register_plain(wire: &Wire, people: &People) -> Result<Self, NoAnswer> {
        Self::register_for(wire, people, false)
    }

    fn register_for(wire: &Wire, people: &People, uses_once: bool) -> Result<Self, NoAnswer> {
        let open = wire.admin("PATCH", "/settings", Some(&json!({ "registration": "open" })))?;
        assert_eq!(open.status, 200, "{open:?}");
        let members = json!({ "backchannel_logout_uri": people.inbox.logout_uri() });
        Self::register_with(wire, members, uses_once)
    }

    fn register_with(wire: &Wire, members: Value, uses_once: bool) -> Result<Self, NoAnswer> {
        let sent = unix_micros();
        let mut grants = vec![
            "authorization_code",
            "refresh_token",
            "client_credentials",
            "urn:ietf:params:oauth:grant-type:token-exchange",
        ];
        grants.extend(uses_once.then_some(DEVICE));
        let mut body = json!({
            "client_name": "A drill",
            "redirect_uris": [REDIRECT_URI],
            "grant_types": grants,
            "scope": "openid profile email",
            "token_endpoint_auth_method": "client_secret_post",
            "skip_consent": true,
            "token_exchange_allowed": true,
        });
        if let (Some(body), Value::Object(members)) = (body.as_object_mut(), members) {
            body.extend(members);
        }
        let answer = wire.admin("POST", "/clients", Some(&body))?;
        assert_eq!(answer.status, 201, "{answer:?}");
        let discovery = wire.get("/.well-known/openid-configuration", &[])?;
        assert_eq!(discovery.status, 200, "{discovery:?}");
        let issuer = discovery.json()["issuer"].as_str().expect("an issuer").to_owned();
        let client = &answer.json()["client"];
        let text = |name: &str| client[name].as_str().expect("a string").to_owned();
        let registered = Span { sent, acked: Some(unix_micros()) };
        Ok(Self { id: text("client_id"), secret: text("client_secret"), issuer, uses_once, registered })
    }
}
