//! The claim definitions of an issuer and of its clients, prepared once and used for every token.

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use symbolon_protocol::claim_definition::{ClaimDefinition, ClaimFailure, ClaimSet};
use symbolon_protocol::client::Client;
use symbolon_protocol::id::ClientId;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;

use super::IssuerState;

/// How much memory the prepared definitions of clients with their own take, in bytes, about.
const MOST_MEMORY: u64 = 32 << 20;

/// What those of a usual client take.
const USUAL: u64 = 32 << 10;

/// One line of the log in this time tells of failed claims, so that a flood of tokens is no flood of lines.
const BETWEEN_LINES: Duration = Duration::from_secs(10);

/// The prepared definitions of one issuer.
pub struct IssuerClaims {
    /// Those of clients without their own; `None` if there are none.
    of_issuer: ArcSwapOption<ClaimSet>,
    of_clients: Cache<ClientId, Arc<OfClient>, ByMemory>,
    untold: Mutex<Untold>,
}

/// The definitions in force for a client with its own, and what they were prepared from.
struct OfClient {
    settings: Arc<IssuerSettings>,
    own: Vec<ClaimDefinition>,
    claims: Arc<ClaimSet>,
}

#[derive(Clone, Copy, Debug)]
struct ByMemory;

impl Weighter<ClientId, Arc<OfClient>> for ByMemory {
    fn weight(&self, _: &ClientId, client: &Arc<OfClient>) -> u64 {
        client.claims.weight()
    }
}

/// Failures since the last line of the log.
#[derive(Default)]
struct Untold {
    last_line: Option<Timestamp>,
    failures: u64,
}

impl Untold {
    /// Counts failures. Returns how many a line has to tell of, if it is time for one.
    fn note(&mut self, failures: u64, now: Timestamp) -> Option<u64> {
        self.failures += failures;
        if self.last_line.is_some_and(|last| now.since(last) < BETWEEN_LINES) {
            return None;
        }
        self.last_line = Some(now);
        Some(std::mem::take(&mut self.failures))
    }
}

impl IssuerClaims {
    /// Prepares the definitions of an issuer.
    pub(super) fn new(url: &str, settings: &IssuerSettings) -> Self {
        Self {
            of_issuer: ArcSwapOption::new(prepared(url, settings)),
            of_clients: Cache::with_weighter((MOST_MEMORY / USUAL) as usize, MOST_MEMORY, ByMemory),
            untold: Mutex::default(),
        }
    }

    /// Prepares the definitions of an issuer whose settings changed.
    pub(super) fn reload(&self, url: &str, settings: &IssuerSettings) {
        self.of_issuer.store(prepared(url, settings));
    }
}

fn prepared(url: &str, settings: &IssuerSettings) -> Option<Arc<ClaimSet>> {
    if settings.claims.is_empty() {
        return None;
    }
    let claims = ClaimSet::of(&settings.claims, &[], &settings.attributes);
    tell_of_broken(url, None, &claims);
    Some(Arc::new(claims))
}

/// An earlier release may have saved what this one refuses, and a client may name an attribute that users do not have yet.
fn tell_of_broken(issuer: &str, client_id: Option<&ClientId>, claims: &ClaimSet) {
    for refused in claims.broken() {
        let client_id = client_id.map(ClientId::as_str);
        tracing::warn!(issuer, client_id, "a claim definition cannot be used and is left out: {refused}");
    }
}

impl IssuerState {
    /// The definitions in force for clients without their own.
    pub fn own_claims(&self) -> Option<Arc<ClaimSet>> {
        self.claims.of_issuer.load_full()
    }

    /// The definitions in force for a client; `None` if there are none. `settings` are the issuer's.
    pub fn claims_for(&self, settings: &Arc<IssuerSettings>, client: &Client) -> Option<Arc<ClaimSet>> {
        if client.settings.claims.is_empty() {
            return if settings.claims.is_empty() { None } else { self.own_claims() };
        }
        Some(self.claims_of_client(settings, client))
    }

    fn claims_of_client(&self, settings: &Arc<IssuerSettings>, client: &Client) -> Arc<ClaimSet> {
        let (known, own) = (&self.claims.of_clients, &client.settings.claims);
        let is_current = |known: &OfClient| Arc::ptr_eq(&known.settings, settings) && known.own == *own;
        if let Some(found) = known.get(&client.client_id).filter(|known| is_current(known)) {
            return Arc::clone(&found.claims);
        }
        let claims = Arc::new(ClaimSet::of(&settings.claims, own, &settings.attributes));
        tell_of_broken(&self.url, Some(&client.client_id), &claims);
        let kept = OfClient { settings: Arc::clone(settings), own: own.clone(), claims: Arc::clone(&claims) };
        known.insert(client.client_id.clone(), Arc::new(kept));
        claims
    }

    /// Says in the log, at times, that claims failed and were left out.
    pub(crate) fn tell_of_failed_claims(&self, client: &ClientId, failures: &[ClaimFailure], now: Timestamp) {
        let Some(first) = failures.first() else { return };
        let Some(count) = self.claims.untold.lock().note(failures.len() as u64, now) else { return };
        tracing::warn!(
            issuer = &*self.url,
            client_id = client.as_str(),
            claim = first.name.as_str(),
            why = first.why,
            failures = count,
            "an expression failed, and its claim was left out"
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use symbolon_protocol::claim_definition::Destination;

    use super::*;
    use crate::issuer::scene;

    fn settings(claims: serde_json::Value) -> Arc<IssuerSettings> {
        let claims = serde_json::from_value(claims).unwrap();
        Arc::new(IssuerSettings { claims, ..IssuerSettings::default() })
    }

    fn client(claims: serde_json::Value) -> Client {
        let client = json!({
            "client_id": "app", "settings": { "claims": claims }, "created_at": 0, "updated_at": 0,
        });
        serde_json::from_value(client).unwrap()
    }

    #[test]
    fn definitions_are_prepared_once_and_anew_when_something_changed() {
        let issuer = scene::issuer("https://op.example", "", 1);
        let (none, plain) = (settings(json!([])), client(json!([])));
        assert!(issuer.claims_for(&none, &plain).is_none());

        let own = client(json!([{ "name": "a", "value": 1 }]));
        let first = issuer.claims_for(&none, &own).unwrap();
        assert!(Arc::ptr_eq(&first, &issuer.claims_for(&none, &own).unwrap()));
        let changed = client(json!([{ "name": "a", "value": 2 }]));
        assert!(!Arc::ptr_eq(&first, &issuer.claims_for(&none, &changed).unwrap()));

        let some = settings(json!([{ "name": "b", "source": "groups" }]));
        issuer.claims.reload("https://op.example", &some);
        let scope = symbolon_protocol::scope::Scope::default();
        let needs = |claims: &ClaimSet| claims.need(Destination::Userinfo, &scope).entitlements;
        assert!(needs(&issuer.claims_for(&some, &plain).unwrap()));
        assert!(needs(&issuer.claims_for(&some, &changed).unwrap()), "of the issuer and of the client");
        assert!(!needs(&issuer.claims_for(&none, &changed).unwrap()));
    }

    #[test]
    fn one_line_in_ten_seconds_tells_of_all_failures() {
        let mut untold = Untold::default();
        let at = Timestamp::from_seconds;
        assert_eq!(untold.note(2, at(100)), Some(2));
        assert_eq!(untold.note(3, at(101)), None);
        assert_eq!(untold.note(1, at(109)), None);
        assert_eq!(untold.note(1, at(110)), Some(5));
        assert_eq!(untold.note(1, at(111)), None);
    }
}
