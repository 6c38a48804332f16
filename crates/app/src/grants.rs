//! What a user has granted to clients: consents and refresh-token families, joined by client; and how it ends.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_protocol::consent::Consent;
use symbolon_protocol::family::Family;
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::revocation::{SessionEnd, Tombstone};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::refresh_token::lineage;
use symbolon_store::StoreError;
use symbolon_store::port::PageRequest;

use crate::app::App;
use crate::issuer::{IssuerState, longest_life};

/// Families and sessions per read from the store.
const AT_ONCE: u32 = 200;

/// What one client was granted by a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grant {
    /// The scope tokens of consent and refresh tokens, each once.
    pub scopes: Vec<String>,
    /// The earliest of them.
    pub since: Option<Timestamp>,
    /// The last rotation of a refresh token.
    pub last_used_at: Option<Timestamp>,
    /// Whether something of it outlives the user's sessions.
    pub offline: bool,
    /// Live refresh-token families.
    pub families: u64,
}

impl Grant {
    fn include(&mut self, scope: &Scope, since: Timestamp) {
        for token in scope.iter() {
            if !self.scopes.iter().any(|known| known == token) {
                self.scopes.push(token.to_owned());
            }
        }
        self.since = Some(self.since.map_or(since, |earlier| earlier.min(since)));
    }

    fn consent(&mut self, consent: &Consent) {
        self.include(&consent.scope, consent.granted_at);
    }

    fn family(&mut self, family: &Family) {
        self.include(&family.scope, family.created_at);
        self.last_used_at = self.last_used_at.max(Some(family.rotated_at));
        self.offline |= family.bound_to().is_none();
        self.families += 1;
    }

    /// How it is shown to administrators and to the person, of a client with a name.
    pub fn view(&self, client: &ClientId, name: Option<&str>) -> Value {
        json!({
            "client_id": client,
            "client_name": name,
            "scope": self.scopes.join(" "),
            "since": self.since,
            "last_used_at": self.last_used_at,
            "offline": self.offline,
            "refresh_tokens": self.families,
        })
    }
}

/// What clients were granted by a user, by client.
pub type Grants = BTreeMap<ClientId, Grant>;

/// The live families of a user, by client. The result is durable on return.
///
/// # Errors
/// The store's.
pub async fn live_families(app: &App, issuer: &IssuerState, user: &UserId) -> Result<Grants, StoreError> {
    let (mut grants, mut after) = (Grants::new(), None);
    loop {
        let piece = app.store.next_families_of(&issuer.id, user, after, AT_ONCE, app.now()).await?;
        for family in &piece.items {
            // Families that ended with their user, client, consent or session are still stored; only a tombstone
            // marks them.
            if !app.store.revoked(&issuer.id, &lineage(family)).await?.told().await? {
                grants.entry(family.client.clone()).or_default().family(family);
            }
        }
        after = match piece.next {
            Some(next) => Some(next),
            None => break,
        };
    }
    Ok(grants)
}

/// The consents and the live families of a user, by client. The result is durable on return.
///
/// # Errors
/// The store's.
pub async fn of_user(app: &App, issuer: &IssuerState, user: &UserId) -> Result<Grants, StoreError> {
    let mut grants = live_families(app, issuer, user).await?;
    for (client, consent) in app.store.consents_of(&issuer.id, user).await?.iter() {
        grants.entry(client.clone()).or_default().consent(consent);
    }
    Ok(grants)
}

/// The clients at which the user's live sessions are signed in, each with the latest begin of such a session. They may
/// hold access tokens, which need neither a refresh token nor a consent.
///
/// # Errors
/// The store's.
pub async fn clients_of_sessions(
    app: &App,
    issuer: &IssuerState,
    user: &UserId,
) -> Result<BTreeMap<ClientId, Timestamp>, StoreError> {
    let mut clients = BTreeMap::new();
    let mut page = PageRequest { page: 1, limit: AT_ONCE, search: None };
    loop {
        let found = app.store.list_sessions(&issuer.id, user, &page, app.now()).await?;
        for listed in &found.items {
            for client in &listed.session.clients {
                let begun = clients.entry(client.clone()).or_insert(listed.session.created_at);
                *begun = listed.session.created_at.max(*begun);
            }
        }
        if found.items.len() < AT_ONCE as usize {
            return Ok(clients);
        }
        page.page += 1;
    }
}

/// What clients have of a user: grants, and sign-ins without one. A sign-in whose access was ended is left out, though the
/// session still remembers it. The result is durable on return.
///
/// # Errors
/// The store's.
pub async fn in_use(app: &App, issuer: &IssuerState, user: &UserId) -> Result<Grants, StoreError> {
    let mut grants = of_user(app, issuer, user).await?;
    for (client, born) in clients_of_sessions(app, issuer, user).await? {
        let lineage = Lineage { client: Some(client.clone()), ..Lineage::of_user(&issuer.id, user, born) };
        if !app.store.revoked(&issuer.id, &lineage).await?.told().await? {
            grants.entry(client).or_default();
        }
    }
    Ok(grants)
}

/// What was ended by [`end`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EndedGrant {
    /// The consent that was withdrawn.
    pub consent: Option<Consent>,
    /// The refresh-token families that ended.
    pub families: u64,
}

/// Withdraws a consent and ends the grants based on it. Durable on return.
///
/// # Errors
/// The store's. Some tokens may still be valid then, so the caller must report a failure.
pub async fn end(
    app: &App,
    issuer: &IssuerState,
    user: &UserId,
    client: &ClientId,
) -> Result<EndedGrant, StoreError> {
    let families = live_families(app, issuer, user).await?.get(client).map_or(0, |grant| grant.families);
    let given = app.store.consent(&issuer.id, user, client).await?;
    // Before the consent is withdrawn, and even if there is none: an earlier attempt may have stopped between the two
    // steps.
    end_tokens(app, issuer, user, client).await?;
    let withdrawn = app.store.withdraw(&issuer.id, user, client).await?;
    // Again, for grants that were made while the consent still existed: each of them began before the consent was
    // read.
    end_tokens(app, issuer, user, client).await?;
    Ok(EndedGrant { consent: given.filter(|_| withdrawn), families })
}

async fn end_tokens(
    app: &App,
    issuer: &IssuerState,
    user: &UserId,
    client: &ClientId,
) -> Result<(), StoreError> {
    let longest = longest_of(app, issuer).await?;
    let tombstone = Tombstone::consent(&issuer.id, user.clone(), client.clone(), app.now(), longest);
    write(app, issuer, tombstone).await
}

/// Ends all tokens and sessions of a user. Durable on return; returns the number of sessions.
///
/// # Errors
/// As [`end`].
pub async fn end_all_of_user(app: &App, issuer: &IssuerState, user: &UserId) -> Result<u64, StoreError> {
    end_tokens_of_user(app, issuer, user).await?;
    let end = SessionEnd::WithTokens { now: app.now(), longest: longest_of(app, issuer).await? };
    let ended = app.end_sessions_of(issuer, user, &end).await?;
    // Again, for tokens that a session issued between the two steps.
    end_tokens_of_user(app, issuer, user).await?;
    Ok(ended)
}

/// Ends every remembered browser of a user: each asks for the second factor again. Durable on return. For whoever ends
/// sessions of a user from elsewhere, because the device may not be in the user's hands any more. Call it first: what is
/// remembered afterwards has proven the factor.
///
/// # Errors
/// As [`end`].
pub async fn forget_browsers(app: &App, issuer: &IssuerState, user: &UserId) -> Result<(), StoreError> {
    write(app, issuer, Tombstone::remembered_browsers(&issuer.id, user.clone(), app.now())).await
}

async fn end_tokens_of_user(app: &App, issuer: &IssuerState, user: &UserId) -> Result<(), StoreError> {
    let longest = longest_of(app, issuer).await?;
    write(app, issuer, Tombstone::user(&issuer.id, user.clone(), app.now(), longest)).await
}

/// The longest lifetime of anything of the issuer: how long a tombstone must be kept.
async fn longest_of(app: &App, issuer: &IssuerState) -> Result<Duration, StoreError> {
    let settings = issuer.settings.load_full();
    longest_life(&*app.store, &issuer.id, &settings).await
}

async fn write(app: &App, issuer: &IssuerState, tombstone: Tombstone) -> Result<(), StoreError> {
    app.store.revoke(&issuer.id, &[tombstone]).await?.told().await
}
