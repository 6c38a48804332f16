//! What a user has granted to clients: consents and refresh-token families, joined by client.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};
use symbolon_protocol::consent::Consent;
use symbolon_protocol::family::Family;
use symbolon_protocol::id::{ClientId, UserId};
use symbolon_protocol::scope::Scope;
use symbolon_protocol::time::Timestamp;
use symbolon_protocol::token::refresh_token::lineage;
use symbolon_store::Durable;
use symbolon_store::port::PageRequest;

use crate::call::{Call, done, ok};
use crate::error::{AdminError, Answer};
use crate::operation::{Operation, reference};
use crate::{ending, users};

/// Families and sessions per read from the store.
const AT_ONCE: u32 = 200;

pub(super) fn operations() -> Vec<Operation> {
    const ALL: &str = "/users/{user_id}/grants";
    let list_of = json!({
        "type": "object",
        "required": ["grants"],
        "properties": { "grants": { "type": "array", "items": reference("Grant") } },
    });
    vec![
        Operation::get(ALL, "Lists what each client has of a user: consent and refresh tokens", list)
            .answers(200, list_of),
        Operation::delete(
            ALL,
            "Ends everything that clients have of a user: consents, refresh and access tokens",
            end_all,
        )
        .answers(204, Value::Null),
        Operation::delete(
            "/users/{user_id}/grants/{client_id}",
            "Ends what a client has of a user: consent, refresh and access tokens",
            end_one,
        )
        .answers(204, Value::Null),
        Operation::plain(
            Method::POST,
            "/users/{user_id}/sign-out",
            "Signs a user out everywhere: ends all sessions and tokens, offline ones too; consents stay",
            sign_out,
        )
        .answers(204, Value::Null),
    ]
}

/// What one client was granted by a user.
#[derive(Default)]
pub(super) struct Grant {
    scopes: Vec<String>,
    since: Option<Timestamp>,
    last_used_at: Option<Timestamp>,
    offline: bool,
    /// Live refresh-token families.
    pub(super) families: u64,
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

    fn view(&self, client: &ClientId, name: Option<&str>) -> Value {
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
pub(super) type Grants = BTreeMap<ClientId, Grant>;

/// The live families of a user, by client. The result is durable on return.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn live_families(call: &Call, user: &UserId) -> Result<Grants, AdminError> {
    let store = &call.app.store;
    let (mut grants, mut durable, mut after) = (Grants::new(), Durable::already(), None);
    loop {
        let piece = store.next_families_of(call.id(), user, after, AT_ONCE, call.now()).await?;
        for family in &piece.items {
            // Families that ended with their user, client, consent or session are still stored; only a tombstone
            // marks them.
            if !store.revoked(call.id(), &lineage(family)).await?.take(&mut durable) {
                grants.entry(family.client.clone()).or_default().family(family);
            }
        }
        after = match piece.next {
            Some(next) => Some(next),
            None => break,
        };
    }
    durable.wait().await?;
    Ok(grants)
}

async fn grants_of(call: &Call, user: &UserId) -> Result<Grants, AdminError> {
    let mut grants = live_families(call, user).await?;
    for (client, consent) in call.app.store.consents_of(call.id(), user).await?.iter() {
        grants.entry(client.clone()).or_default().consent(consent);
    }
    Ok(grants)
}

async fn list(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let mut grants = Vec::new();
    for (id, grant) in grants_of(&call, &user.id).await? {
        let client = call.app.store.client(call.id(), &id).await?;
        grants.push(grant.view(&id, client.as_deref().map(|client| client.client_name.as_str())));
    }
    Ok(ok(&json!({ "grants": grants })))
}

async fn end_one(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let client: ClientId = call.path("client_id")?;
    ending::consent(&call, &user.id, &client).await?;
    Ok(done())
}

async fn end_all(call: Call) -> Answer {
    let user = users::load(&call).await?;
    let mut clients: BTreeSet<ClientId> = grants_of(&call, &user.id).await?.into_keys().collect();
    // Access tokens need neither a refresh token nor a consent: the clients of the user's sessions may hold some too.
    clients.extend(clients_of_sessions(&call, &user.id).await?);
    for client in &clients {
        ending::consent(&call, &user.id, client).await?;
    }
    Ok(done())
}

async fn clients_of_sessions(call: &Call, user: &UserId) -> Result<BTreeSet<ClientId>, AdminError> {
    let mut clients = BTreeSet::new();
    let mut page = PageRequest { page: 1, limit: AT_ONCE, search: None };
    loop {
        let found = call.app.store.list_sessions(call.id(), user, &page, call.now()).await?;
        clients.extend(found.items.iter().flat_map(|listed| listed.session.clients.iter().cloned()));
        if found.items.len() < AT_ONCE as usize {
            return Ok(clients);
        }
        page.page += 1;
    }
}

async fn sign_out(call: Call) -> Answer {
    let user = users::load(&call).await?;
    ending::signed_in(&call, &user.id).await?;
    Ok(done())
}

/// What still works for a user after a change: the numbers of live sessions, and of clients with refresh tokens.
///
/// # Errors
/// [`AdminError`]: the store failed.
pub(super) async fn left_alive(call: &Call, user: &UserId) -> Result<Value, AdminError> {
    let page = PageRequest { page: 1, limit: 1, search: None };
    let sessions = call.app.store.list_sessions(call.id(), user, &page, call.now()).await?.total;
    let grants = live_families(call, user).await?.len();
    Ok(json!({ "sessions": sessions, "grants": grants }))
}
