//! A browser in which somebody has signed in before. Its attempts at the names of that account are counted for themselves, so that
//! whoever guesses at the account from the same address, or from everywhere, takes none of them away
//! (`docs/decisions/062-known-browsers.md`).
//!
//! Nothing is stored: the browser keeps a sealed value with an id and digests of the names. It proves nothing: whoever steals it has
//! as many attempts as anybody at another address.

use std::time::Duration;

use http::HeaderValue;
use serde::{Deserialize, Serialize};
use symbolon_app::http::{Context, Received, cookies, set_cookie};
use symbolon_app::issuer::IssuerState;
use symbolon_app::rate_limit::LoginFrom;
use symbolon_crypto::random;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::user::User;

/// The sealing purpose.
const PURPOSE: &str = "known browser";
/// How long a browser is known after a sign-in.
const LIVES: Duration = Duration::from_secs(180 * 86_400);
/// The most names: of five accounts, each with an address and a user name.
const MOST_NAMES: usize = 10;

/// What a browser keeps.
#[derive(Serialize, Deserialize)]
struct Known {
    /// Which browser it is.
    id: String,
    /// When somebody last signed in.
    at: Timestamp,
    /// Keyed digests of names by which somebody may sign in here, those last used first.
    names: Vec<String>,
}

impl Known {
    /// What the browser of a request keeps, if it was sealed by this issuer and not too long ago.
    fn of(context: &Context, received: &Received) -> Option<Self> {
        let Context { app, issuer, .. } = context;
        let name = cookie_name(issuer);
        let opened = cookies(&received.headers, &name).find_map(|sealed| {
            let opened = issuer.interactions.open(PURPOSE, sealed).ok()?;
            serde_json::from_slice::<Self>(opened.expose()).ok()
        });
        opened.filter(|known| app.now().since(known.at) < LIVES)
    }

    /// The same after a sign-in of a user.
    fn with(mut self, issuer: &IssuerState, user: &User) -> Self {
        let own = [user.email.as_deref(), user.profile.preferred_username.as_deref()];
        let mut names: Vec<String> =
            own.into_iter().flatten().map(|name| issuer.login_name_digest(name)).collect();
        self.names.retain(|name| !names.contains(name));
        names.append(&mut self.names);
        names.truncate(MOST_NAMES);
        Self { names, ..self }
    }
}

fn cookie_name(issuer: &IssuerState) -> String {
    issuer.cookie_name("symbolon_known")
}

/// The cookie of a browser in which a user has just signed in; `None` if it cannot be sealed.
pub(super) fn cookie(context: &Context, received: &Received, user: &User) -> Option<HeaderValue> {
    let Context { app, issuer, .. } = context;
    let known = Known::of(context, received).unwrap_or_else(|| Known {
        id: random::base64url::<16>(&*app.random),
        at: app.now(),
        names: Vec::new(),
    });
    let known = Known { at: app.now(), ..known }.with(issuer, user);
    let sealed = issuer.interactions.seal(PURPOSE, &serde_json::to_vec(&known).ok()?).ok()?;
    set_cookie(issuer, &cookie_name(issuer), &sealed, LIVES)
}

/// Where an attempt at a name comes from: its address, and the browser if somebody has signed in there by this name. Nobody is looked
/// up, so it says nothing about the name.
pub(super) fn origin(context: &Context, received: &Received, typed: &str) -> LoginFrom {
    let known = Known::of(context, received);
    let digest = || context.issuer.login_name_digest(typed);
    match known.filter(|known| known.names.contains(&digest())) {
        Some(known) => LoginFrom::known_browser(context.remote, known.id),
        None => context.remote.into(),
    }
}
