//! The client of a drill.

use serde_json::{Value, json};

use super::ledger::Span;
use super::people::People;
use super::{NoAnswer, Wire, unix_micros};

pub(super) const REDIRECT_URI: &str = "https://rp.example/callback";

/// The client that every worker acts for.
#[derive(Clone, Debug)]
pub struct RelyingPartyAtHand {
    pub(super) id: String,
    pub(super) secret: String,
    /// When it was registered.
    pub registered: Span,
}

impl RelyingPartyAtHand {
    /// Registers a client that may do everything.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn register(wire: &Wire) -> Result<Self, NoAnswer> {
        Self::register_with(wire, json!({}))
    }

    /// The same for a client that is told of logouts, of an issuer at which everybody may register.
    ///
    /// # Errors
    /// [`NoAnswer`].
    pub fn register_told(wire: &Wire, people: &People) -> Result<Self, NoAnswer> {
        let open = wire.admin("PATCH", "/settings", Some(&json!({ "registration": "open" })))?;
        assert_eq!(open.status, 200, "{open:?}");
        Self::register_with(wire, json!({ "backchannel_logout_uri": people.inbox.logout_uri() }))
    }

    fn register_with(wire: &Wire, members: Value) -> Result<Self, NoAnswer> {
        let sent = unix_micros();
        let mut body = json!({
            "client_name": "A drill",
            "redirect_uris": [REDIRECT_URI],
            "grant_types": [
                "authorization_code", "refresh_token", "client_credentials",
                "urn:ietf:params:oauth:grant-type:token-exchange",
            ],
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
        let client = &answer.json()["client"];
        let text = |name: &str| client[name].as_str().expect("a string").to_owned();
        let registered = Span { sent, acked: Some(unix_micros()) };
        Ok(Self { id: text("client_id"), secret: text("client_secret"), registered })
    }
}
