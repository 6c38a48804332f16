//! Passing a logout on to the provider by which the person signed in (OpenID Connect RP-Initiated Logout 1.0 2, as the relying
//! party).
//!
//! Which provider that was stands in a cookie of the browser, sealed with the session's `sid`, for each of the browser's
//! accounts: the store keeps nothing for it.
//! Where the logout ends stands in `state`, sealed and bound to the browser: nobody can make an address that leads elsewhere.

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use symbolon_protocol::id::{ClientId, Sid};
use symbolon_protocol::identity_provider::{IdentityProvider, ProviderLogout};
use symbolon_protocol::params::Params;
use symbolon_protocol::session::Session;
use symbolon_protocol::settings::MOST_ACCOUNTS;
use symbolon_protocol::time::Timestamp;
use url::Url;

use crate::first_factor::FirstFactor;
use symbolon_app::http::csrf::{Browser, INTERACTION_LIVES};
use symbolon_app::http::{Call, Context, Failure, Received, cookies, remove_cookie, set_cookie};
use symbolon_app::issuer::IssuerState;
use symbolon_app::upstream::Upstream;

/// The sealing purposes.
const OF_COOKIE: &str = "identity provider of a session";
const OF_STATE: &str = "logout at an identity provider";

/// The longest address to which a browser is sent, in bytes: more is not taken by every server.
const LONGEST_ADDRESS: usize = 8 << 10;

/// By which provider a session of the browser began.
#[derive(Serialize, Deserialize)]
struct SignedInBy {
    sid: Sid,
    /// Its key.
    provider: String,
}

/// What the cookie holds.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Known {
    /// The sessions that began by a provider, the latest first.
    Several(Vec<SignedInBy>),
    /// One, as earlier versions sealed it.
    One(SignedInBy),
}

/// What the browser's cookie says, the latest first.
fn known(context: &Context, received: &Received) -> Vec<SignedInBy> {
    let issuer = &context.issuer;
    let name = cookie_name(issuer);
    let opened = cookies(&received.headers, &name).find_map(|sealed| {
        let opened = issuer.interactions.open(OF_COOKIE, sealed).ok()?;
        serde_json::from_slice::<Known>(opened.expose()).ok()
    });
    match opened {
        Some(Known::Several(known)) => known,
        Some(Known::One(known)) => vec![known],
        None => Vec::new(),
    }
}

/// The cookie that says this.
fn told(context: &Context, known: &[SignedInBy]) -> Result<Option<HeaderValue>, Failure> {
    let issuer = &context.issuer;
    if known.is_empty() {
        return Ok(remove_cookie(issuer, &cookie_name(issuer)));
    }
    let plain = serde_json::to_vec(known).map_err(internal)?;
    let sealed = issuer.interactions.seal(OF_COOKIE, &plain).map_err(internal)?;
    let lives = issuer.settings.load().lifetimes.session;
    Ok(set_cookie(issuer, &cookie_name(issuer), &sealed, lives))
}

/// Where a logout ends.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct LogoutEnd {
    /// Where the person is redirected, checked before; `None` for the provider's own page.
    pub(super) redirect: Option<String>,
    /// The client that asked.
    pub(super) client: Option<ClientId>,
}

/// The sealed contents of `state`.
#[derive(Serialize, Deserialize)]
struct Contents {
    /// The digest of the cookie of the browser that signs out.
    browser: String,
    begun_at: Timestamp,
    end: LogoutEnd,
}

fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_provider")
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Failure::Internal(error.to_string())
}

/// A provider to which logouts are passed on.
fn passed_on(issuer: &IssuerState, key: &str) -> Option<IdentityProvider> {
    let settings = issuer.settings.load();
    let all = settings.identity_providers.iter();
    let mut passed_on = all.filter(|own| own.enabled && own.logout == ProviderLogout::PassedOn);
    passed_on.find(|own| own.key == key).cloned()
}

/// The cookie that says by which provider a session began; `None` where logouts are not passed on to it.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn cookie(
    (context, received): (&Context, &Received),
    provider: &str,
    session: &Session,
) -> Result<Option<HeaderValue>, Failure> {
    let Some(provider) = passed_on(&context.issuer, provider) else { return Ok(None) };
    let mut by = vec![SignedInBy { sid: session.sid.clone(), provider: provider.key.to_string() }];
    by.extend(known(context, received).into_iter().filter(|by| !session.is_named(by.sid.as_str())));
    by.truncate(usize::from(MOST_ACCOUNTS));
    told(context, &by)
}

/// The same for a session that a second factor completed.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) fn cookie_after(
    browser: (&Context, &Received),
    first: &FirstFactor,
    session: &Session,
) -> Result<Option<HeaderValue>, Failure> {
    match first.identity_provider() {
        Some(key) => cookie(browser, key, session),
        None => Ok(None),
    }
}

/// A logout that goes on at a provider.
pub(super) struct PassedOn {
    /// The provider's address, with the request.
    pub(super) to: String,
    /// The cookies that the answer sets and removes.
    pub(super) cookies: [Option<HeaderValue>; 2],
}

/// Passes the logout of a session that has ended in this browser on; `None` where there is nobody to pass it on to, or who cannot
/// be asked: then it ends here.
///
/// # Errors
/// [`Failure::Internal`]
pub(super) async fn pass_on(
    (context, received): (&Context, &Received),
    session: &Session,
    end: LogoutEnd,
) -> Result<Option<PassedOn>, Failure> {
    let Context { app, issuer, .. } = context;
    // The person may have signed in again by another way: that session stands for the earlier ones.
    let (own, others): (Vec<_>, Vec<_>) =
        known(context, received).into_iter().partition(|by| session.is_named(by.sid.as_str()));
    let Some(provider) = own.first().and_then(|by| passed_on(issuer, &by.provider)) else { return Ok(None) };
    let endpoint = match (Upstream { app, issuer, provider: &provider }).metadata().await {
        Ok(metadata) => metadata.end_session_endpoint.clone(),
        Err(error) => {
            tracing::warn!(
                target: "symbolon::request", issuer = %issuer.id, identity_provider = %provider.id, %error,
                "a logout was not passed on to another provider"
            );
            None
        }
    };
    let Some(endpoint) = endpoint else { return Ok(None) };
    let browser = Browser::of_or_new(&received.headers, issuer, &*app.random);
    let state = seal(context, &browser, end)?;
    let to = request(endpoint, &provider, (&issuer.logout_callback(), &state));
    let cookies = [browser.cookie(issuer), told(context, &others)?];
    Ok((to.len() <= LONGEST_ADDRESS).then_some(PassedOn { to, cookies }))
}

/// The logout request (RP-Initiated Logout 2). There is no `id_token_hint`, because ID tokens of other providers are not kept: so
/// `client_id` says who asks, and the provider may ask the person.
fn request(mut endpoint: Url, provider: &IdentityProvider, (callback, state): (&str, &str)) -> String {
    endpoint
        .query_pairs_mut()
        .append_pair("client_id", &provider.client_id)
        .append_pair("post_logout_redirect_uri", callback)
        .append_pair("state", state);
    endpoint.into()
}

fn seal(context: &Context, browser: &Browser, end: LogoutEnd) -> Result<String, Failure> {
    let contents = Contents { browser: browser.digest(), begun_at: context.app.now(), end };
    let plain = serde_json::to_vec(&contents).map_err(internal)?;
    context.issuer.interactions.seal(OF_STATE, &plain).map_err(internal)
}

/// Where a logout ends that comes back from a provider (RP-Initiated Logout 3); `None` if its `state` is not this issuer's, of
/// another browser, or too old.
///
/// # Errors
/// [`Failure`]: `invalid_request` for a repeated parameter.
pub(super) fn end(call: &Call, params: &Params<'_>) -> Result<Option<LogoutEnd>, Failure> {
    let Context { app, issuer, .. } = &call.context;
    let Some(state) = params.get("state")? else { return Ok(None) };
    let Ok(opened) = issuer.interactions.open(OF_STATE, state) else { return Ok(None) };
    let Ok(contents) = serde_json::from_slice::<Contents>(opened.expose()) else { return Ok(None) };
    let browser = Browser::of(&call.received.headers, issuer);
    let is_here = browser.is_some_and(|browser| browser.is(&contents.browser));
    let is_recent = app.now().since(contents.begun_at) <= INTERACTION_LIVES;
    Ok((is_here && is_recent).then_some(contents.end))
}
