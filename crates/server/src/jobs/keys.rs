//! Rotates every issuer's keys and replaces missing ones, by the rules of [`symbolon_protocol::key`].

use std::sync::Arc;
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
use symbolon_app::audit::{AuditEntry, ChangedFields};
use symbolon_app::issuer::{self, IssuerError, IssuerState, longest_life};

/// What has to be done for a key set.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Whether a next key's time to take over has come.
    pub(super) take_over: bool,
    /// Algorithms whose active key is to be replaced by the next one, once relying parties know that.
    pub(super) rotate: Vec<Algorithm>,
    /// Algorithms that lack an active key or a next one.
    pub(super) complete: Vec<Algorithm>,
    /// The issuer's signing algorithm, if the set has keys of other algorithms only.
    pub(super) introduce: Option<Algorithm>,
    /// Whether there are records of keys that nothing needs any more.
    pub(super) drop: bool,
}

impl Plan {
    pub(super) fn make(keys: &[KeyRecord], settings: &IssuerSettings, now: Timestamp) -> Self {
        let has = |algorithm, state| keys.iter().any(|key| key.algorithm == algorithm && key.state == state);
        let waits = |algorithm| {
            let mut next = keys.iter().filter(|key| key.state == KeyState::Next);
            next.any(|key| key.algorithm == algorithm && key.signs_from.is_some())
        };
        let is_new = |algorithm| !keys.is_empty() && keys.iter().all(|key| key.algorithm != algorithm);
        let own = settings.signing_algorithm;
        let introduce = is_new(own).then_some(own);
        let mut in_use: Vec<Algorithm> = introduce.is_none().then_some(own).into_iter().collect();
        for key in keys.iter().filter(|key| key.state != KeyState::Retiring) {
            if !in_use.contains(&key.algorithm) {
                in_use.push(key.algorithm);
            }
        }
        let complete = |algorithm: &Algorithm| {
            has(*algorithm, KeyState::Next) && (has(*algorithm, KeyState::Active) || waits(*algorithm))
        };
        Self {
            take_over: key::is_take_over_due(keys, now),
            rotate: key::rotation_due(keys, settings, now).filter(|algorithm| !waits(*algorithm)).collect(),
            complete: in_use.into_iter().filter(|algorithm| !complete(algorithm)).collect(),
            introduce,
            drop: key::drop_gone(&mut keys.to_vec(), now),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Changes the set by this plan. `longest`: the longest lifetime of anything that a key signed.
    pub(super) fn carry_out<M: MakeKey>(
        &self,
        keys: &mut Vec<KeyRecord>,
        now: Timestamp,
        longest: Duration,
        maker: &mut M,
    ) -> Result<(), M::Error> {
        key::settle(keys, now, longest, maker)?;
        for algorithm in &self.rotate {
            key::rotate(keys, *algorithm, now, longest, maker)?;
        }
        for algorithm in &self.complete {
            key::ensure(keys, *algorithm, now, maker)?;
        }
        if let Some(algorithm) = self.introduce {
            key::introduce(keys, algorithm, now, maker)?;
        }
        key::drop_gone(keys, now);
        Ok(())
    }
}

/// Maintains the keys of every issuer.
pub(super) async fn keep(app: &App) {
    let issuers = app.issuers.load_full();
    for issuer in issuers.iter() {
        match keep_issuer(app, issuer).await {
            Ok(()) => {}
            // Another node is changing the keys; the next run sees the result.
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
        // A retiring key that has ended leaves the published JWKS first, and its record is deleted later.
        if issuer.keys.load().is_stale(now) {
            app.follow(&Changed::Keys(issuer.id.clone())).await?;
        }
        return Ok(());
    }
    let longest = longest_life(&*app.store, &issuer.id, &settings).await?;
    let (id, master, mut keys) = (issuer.id.clone(), app.master.load_full(), seen.clone());
    let generator = Arc::clone(&app.key_generator);
    // Generating RSA keys takes long, so a blocking thread does it.
    let made = tokio::task::spawn_blocking(move || {
        let mut make = |algorithm| issuer::new_key(&*generator, &id, algorithm, &master, now);
        plan.carry_out(&mut keys, now, longest, &mut make).map(|()| (plan, keys))
    });
    let (plan, keys) = made.await.map_err(|error| IssuerError::Crypto(error.to_string()))??;
    app.store.put_keys(&issuer.id, &seen, &keys).await?;
    app.follow(&Changed::Keys(issuer.id.clone())).await?;
    let created: Vec<Algorithm> = plan.complete.iter().chain(&plan.introduce).copied().collect();
    for (event, algorithms) in [(Event::KeyRotated, &plan.rotate), (Event::KeyCreated, &created)] {
        for algorithm in algorithms {
            let of = |keys: &[KeyRecord]| -> Vec<KeyRecord> {
                keys.iter().filter(|key| key.algorithm == *algorithm).cloned().collect()
            };
            let changed = ChangedFields::of_keys(&of(&seen), &of(&keys));
            let entry = AuditEntry::system(event, changed.onto(json!({ "algorithm": algorithm })));
            app.audit.record(&issuer.id, entry, now);
        }
    }
    Ok(())
}
