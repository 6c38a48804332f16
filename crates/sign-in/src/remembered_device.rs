//! A browser in which a second factor was proven some days ago, and which stands in for it.
//!
//! Nothing is stored: the browser keeps a sealed value that names the user, the time, and a digest of the credentials as they
//! were. So it ends with its time, with a change of the password, the generator or the passkeys, with everything else of the
//! user ("sign out everywhere" writes a tombstone that is looked up here), and where sessions of the user are ended from
//! elsewhere ([`forget_browsers`](symbolon_app::grants::forget_browsers) writes the other one).

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use serde::{Deserialize, Serialize};
use symbolon_app::http::{Call, Context, Failure, cookies, set_cookie};
use symbolon_app::issuer::IssuerState;
use symbolon_crypto::{digest, encoding};
use symbolon_protocol::authenticator::AuthenticatorSet;
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::id::UserId;
use symbolon_protocol::time::Timestamp;

/// The sealing purpose.
const PURPOSE: &str = "remembered device";
const DAY: Duration = Duration::from_secs(86_400);

#[derive(Serialize, Deserialize)]
struct Remembered {
    user: UserId,
    at: Timestamp,
    /// The digest of the user's credentials.
    credentials: String,
}

fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_device")
}

/// For how many days a browser may be remembered; 0: it may not.
pub(super) fn days(issuer: &IssuerState) -> u32 {
    issuer.settings.load().remember_device_days
}

/// The cookie by which this browser is remembered, if the issuer remembers any.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn cookie(context: &Context, user: &UserId) -> Result<Option<HeaderValue>, Failure> {
    let Context { app, issuer, .. } = context;
    let days = days(issuer);
    if days == 0 {
        return Ok(None);
    }
    let set = app.store.authenticators(&issuer.id, user).await?.set;
    let credentials = credentials(context, user, &set).await?;
    let remembered = Remembered { user: user.clone(), at: app.now(), credentials };
    let plain = serde_json::to_vec(&remembered).map_err(|error| Failure::Internal(error.to_string()))?;
    let sealed = issuer.interactions.seal(PURPOSE, &plain);
    let sealed = sealed.map_err(|error| Failure::Internal(error.to_string()))?;
    Ok(set_cookie(issuer, &cookie_name(issuer), &sealed, DAY * days))
}

/// Whether this browser stands in for a second factor of a user who has these authenticators.
///
/// # Errors
/// [`Failure`]: the store is out of reach.
pub(super) async fn is_remembered(
    call: &mut Call,
    user: &UserId,
    set: &AuthenticatorSet,
) -> Result<bool, Failure> {
    let Call { context, received, durable, .. } = call;
    let Context { app, issuer, .. } = &*context;
    let Some(remembered) = open(&received.headers, issuer) else { return Ok(false) };
    let is_recent = app.now().since(remembered.at) < DAY * days(issuer);
    if remembered.user != *user || !is_recent {
        return Ok(false);
    }
    let known = credentials(context, user, set).await?;
    if !digest::constant_time_eq(known.as_bytes(), remembered.credentials.as_bytes()) {
        return Ok(false);
    }
    // What ends it, besides time and changed credentials: whatever ends all of them, or everything of the user.
    let lineage = Lineage::of_remembered_browser(&issuer.id, &remembered.user, remembered.at);
    Ok(!app.store.revoked(&issuer.id, &lineage).await?.take(durable))
}

fn open(headers: &HeaderMap, issuer: &IssuerState) -> Option<Remembered> {
    let name = cookie_name(issuer);
    cookies(headers, &name).find_map(|sealed| {
        let opened = issuer.interactions.open(PURPOSE, sealed).ok()?;
        serde_json::from_slice(opened.expose()).ok()
    })
}

/// A digest of what the user proves with. The step of a generator is not part of it: it changes with each use.
async fn credentials(context: &Context, user: &UserId, set: &AuthenticatorSet) -> Result<String, Failure> {
    let Context { app, issuer, .. } = context;
    let stored = app.store.passwords_of(&issuer.id, std::slice::from_ref(user)).await?;
    let hash = stored.first().and_then(Option::as_ref);
    let mut parts = vec![hash.map_or(b"".as_slice(), |hash| hash.expose().as_bytes()), b"\0"];
    parts.push(set.totp.as_ref().map_or(b"", |totp| totp.secret.as_bytes()));
    for passkey in &set.passkeys {
        parts.extend([b"\0".as_slice(), passkey.id.as_bytes()]);
    }
    Ok(encoding::encode(&digest::sha256(&parts)))
}
