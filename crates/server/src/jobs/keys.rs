//! Keeps every issuer's key set complete and fresh, by the rules of [`symbolon_protocol::key`].

use std::time::Duration;

use serde_json::json;
use symbolon_crypto::algorithm::Algorithm;
use symbolon_protocol::event::Event;
use symbolon_protocol::key::{self, KeyRecord, KeyState, MakeKey};
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::Changed;

use symbolon_app::app::App;
use symbolon_app::audit::AuditEntry;
use symbolon_app::issuer::{self, IssuerError, IssuerState, longest_life};

/// For how long relying parties see a key before the schedule lets it sign: their caches must know it by then.
const PUBLISHED_AHEAD: Duration = Duration::from_secs(3_600);

/// What there is to do for a key set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Algorithms whose active key gives way to the next one.
    pub(super) rotate: Vec<Algorithm>,
    /// Algorithms that lack an active key or a next one.
    pub(super) complete: Vec<Algorithm>,
    /// Whether there are records that nothing needs any more.
    pub(super) drop: bool,
}

impl Plan {
    pub(super) fn make(keys: &[KeyRecord], settings: &IssuerSettings, now: Timestamp) -> Self {
        let has = |algorithm, state| keys.iter().any(|key| key.algorithm == algorithm && key.state == state);
        let next_is_known = |algorithm: &Algorithm| {
            keys.iter().any(|key| {
                key.algorithm == *algorithm
                    && key.state == KeyState::Next
                    && now.since(key.created_at) >= PUBLISHED_AHEAD
            })
        };
        let mut in_use = vec![settings.signing_algorithm];
        for key in keys.iter().filter(|key| key.state != KeyState::Retiring) {
            if !in_use.contains(&key.algorithm) {
                in_use.push(key.algorithm);
            }
        }
        let complete =
            |algorithm: &Algorithm| has(*algorithm, KeyState::Active) && has(*algorithm, KeyState::Next);
        Self {
            rotate: key::rotation_due(keys, settings, now).filter(next_is_known).collect(),
            complete: in_use.into_iter().filter(|algorithm| !complete(algorithm)).collect(),
            drop: key::drop_gone(&mut keys.to_vec(), now),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Changes the set accordingly. `longest`: the longest life of what a key signed.
    pub(super) fn carry_out<M: MakeKey>(
        &self,
        keys: &mut Vec<KeyRecord>,
        now: Timestamp,
        longest: Duration,
        maker: &mut M,
    ) -> Result<(), M::Error> {
        for algorithm in &self.rotate {
            key::rotate(keys, *algorithm, now, longest, maker)?;
        }
        for algorithm in &self.complete {
            key::ensure(keys, *algorithm, now, maker)?;
        }
        key::drop_gone(keys, now);
        Ok(())
    }
}

/// Looks after the keys of every issuer.
pub(super) async fn keep(app: &App) {
    let issuers = app.issuers.load_full();
    for issuer in issuers.iter() {
        match keep_issuer(app, issuer).await {
            Ok(()) => {}
            // Somebody else is at it; the next look sees what they left.
            Err(IssuerError::Store(StoreError::Conflict)) => {}
            Err(error) => {
                tracing::error!(target: "symbolon::jobs", issuer = %issuer.id, %error, "keys were not looked after");
            }
        }
    }
}

async fn keep_issuer(app: &App, issuer: &IssuerState) -> Result<(), IssuerError> {
    let (seen, settings, now) = (app.store.keys(&issuer.id).await?, issuer.settings.load_full(), app.now());
    let plan = Plan::make(&seen, &settings, now);
    if plan.is_empty() {
        // A retiring key whose time is over leaves the published set before its record goes.
        if issuer.keys.load().is_stale(now) {
            app.follow(&Changed::Keys(issuer.id.clone())).await?;
        }
        return Ok(());
    }
    let longest = longest_life(&*app.store, &issuer.id, &settings).await?;
    let (id, master, mut keys) = (issuer.id.clone(), app.master.load_full(), seen.clone());
    // RSA keys take their time.
    let made = tokio::task::spawn_blocking(move || {
        let mut make = |algorithm| issuer::new_key(&id, algorithm, KeyState::Next, &master, now);
        plan.carry_out(&mut keys, now, longest, &mut make).map(|()| (plan, keys))
    });
    let (plan, keys) = made.await.map_err(|error| IssuerError::Crypto(error.to_string()))??;
    app.store.put_keys(&issuer.id, &seen, &keys).await?;
    app.follow(&Changed::Keys(issuer.id.clone())).await?;
    for (event, algorithms) in [(Event::KeyRotated, &plan.rotate), (Event::KeyCreated, &plan.complete)] {
        for algorithm in algorithms {
            let entry = AuditEntry::system(event, json!({ "algorithm": algorithm }));
            app.audit.record(&issuer.id, entry, now);
        }
    }
    Ok(())
}
