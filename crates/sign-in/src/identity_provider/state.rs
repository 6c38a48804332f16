//! The state of a sign-in that waits for another provider (RFC 6749 10.12, RFC 9700 4.7).

use serde::{Deserialize, Serialize};
use symbolon_crypto::secret::SecretString;
use symbolon_crypto::{digest, encoding};
use symbolon_protocol::id::{Sid, UserId};
use symbolon_protocol::identity_provider::IdentityProvider;
use symbolon_protocol::identity_provider::authentication_request::Drawn;
use symbolon_protocol::time::Timestamp;
use symbolon_store::Durable;

use crate::interaction::PendingAuthorization;
use symbolon_app::http::csrf::{Browser, INTERACTION_LIVES};
use symbolon_app::http::{Context, Failure};
use symbolon_app::one_use::use_once;

/// The kind of the marks of used states.
const MARK: &str = "identity-provider";

/// What the person wants of the other provider.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Purpose {
    /// To sign in.
    SignIn(Box<PendingAuthorization>),
    /// To be connected.
    Connect {
        /// Who.
        user: UserId,
        /// In which session.
        sid: Sid,
    },
}

/// The sealed contents.
#[derive(Serialize, Deserialize)]
struct Contents {
    /// The digest of the cookie of the browser that asked.
    browser: String,
    begun_at: Timestamp,
    verifier: String,
    nonce: String,
    prompts_login: bool,
    purpose: Purpose,
}

/// A state, opened in the browser in which it was made, for the provider for which it was made.
pub(super) struct State {
    pub(super) begun_at: Timestamp,
    /// The PKCE verifier (RFC 7636 4.1).
    pub(super) verifier: SecretString,
    pub(super) nonce: String,
    /// Whether the provider was asked for a new sign-in.
    prompts_login: bool,
    pub(super) purpose: Purpose,
}

/// Sealed for one provider: the state of another's answer cannot be opened (RFC 9700 4.4).
fn sealed_for(provider: &IdentityProvider) -> String {
    format!("identity provider {}", provider.key)
}

/// Seals the state of a request that is about to be sent.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn seal(
    context: &Context,
    provider: &IdentityProvider,
    (browser, drawn, prompts_login): (&Browser, &Drawn, bool),
    purpose: Purpose,
) -> Result<String, Failure> {
    let internal = |error: String| Failure::Internal(error);
    let contents = Contents {
        browser: browser.digest(),
        begun_at: context.app.now(),
        verifier: drawn.verifier.expose().to_owned(),
        nonce: drawn.nonce.clone(),
        prompts_login,
        purpose,
    };
    let plain = serde_json::to_vec(&contents).map_err(|error| internal(error.to_string()))?;
    let sealed = context.issuer.interactions.seal(&sealed_for(provider), &plain);
    sealed.map_err(|error| internal(error.to_string()))
}

/// Opens a state; `None` if it is not this issuer's for this provider, was made for another browser, or is too old.
pub(super) fn open(
    context: &Context,
    provider: &IdentityProvider,
    browser: Option<&Browser>,
    text: &str,
) -> Option<State> {
    let opened = context.issuer.interactions.open(&sealed_for(provider), text).ok()?;
    let contents: Contents = serde_json::from_slice(opened.expose()).ok()?;
    let Contents { browser: begun_in, begun_at, verifier, nonce, prompts_login, purpose } = contents;
    let is_live = context.app.now().since(begun_at) <= INTERACTION_LIVES;
    let is_here = browser.is_some_and(|browser| browser.is(&begun_in));
    let verifier = SecretString::new(verifier);
    (is_live && is_here).then_some(State { begun_at, verifier, nonce, prompts_login, purpose })
}

impl State {
    /// When a new sign-in was asked for, if it was.
    pub(super) fn signed_in_since(&self) -> Option<Timestamp> {
        self.prompts_login.then_some(self.begun_at)
    }

    /// Uses the state up, when the answer is verified: of many that bring it, one goes on.
    ///
    /// # Errors
    /// [`Failure`]: the store is out of reach.
    pub(super) async fn use_up(
        &self,
        context: &Context,
        text: &str,
        durable: &mut Durable,
    ) -> Result<bool, Failure> {
        let name = encoding::encode(&digest::sha256(&[text.as_bytes()]));
        let until = self.begun_at + INTERACTION_LIVES;
        Ok(use_once((&context.app, &context.issuer), MARK, &name, until).await?.take(durable))
    }
}
