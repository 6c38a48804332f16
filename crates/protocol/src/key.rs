//! Signing keys and their states: next, active, retiring, revoked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;

use crate::id::Kid;
use crate::settings::IssuerSettings;
use crate::time::{KEPT_AFTER_END, Timestamp};

/// How long a response with the key set may be cached (`Cache-Control: max-age`).
pub const JWKS_MAX_AGE: Duration = Duration::from_secs(300);

/// How long a key is published before it signs, so that every cached key set without it has expired. Half a minute
/// longer than [`JWKS_MAX_AGE`], because `created_at` is read before the key is generated, stored and loaded by all
/// nodes, and because their clocks differ.
pub const PUBLISHED_AHEAD: Duration = Duration::from_secs(JWKS_MAX_AGE.as_secs() + 30);

/// The state of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Published before it signs, so that relying parties already know it.
    Next,
    /// Signs; is published and verifies.
    Active,
    /// No longer signs; is published and verifies until the last token that it signed has expired.
    Retiring,
    /// Does not sign, is not published, and does not verify.
    Revoked,
}

impl KeyState {
    /// Whether the key is published and its signatures are accepted.
    pub fn verifies(self) -> bool {
        !matches!(self, Self::Revoked)
    }
}

/// A signing key as stored, with its private key sealed under the master key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The key's `kid`.
    pub kid: Kid,
    /// Its algorithm.
    pub algorithm: Algorithm,
    /// Its state.
    pub state: KeyState,
    /// The private key as sealed PKCS#8; bound to issuer and kid.
    pub sealed: Vec<u8>,
    /// When it was generated.
    pub created_at: Timestamp,
    /// When relying parties know it. `None`: [`PUBLISHED_AHEAD`] after `created_at`, or before it first signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_from: Option<Timestamp>,
    /// When a next key takes over; `None` until a rotation requires it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signs_from: Option<Timestamp>,
    /// When it became active.
    pub activated_at: Option<Timestamp>,
    /// When it stopped signing.
    pub retired_at: Option<Timestamp>,
    /// When the last token signed by a retiring key has expired. The record of a revoked key is also kept until then.
    pub gone_at: Option<Timestamp>,
    /// Why it was revoked.
    pub reason: Option<String>,
}

/// Generates a key for an algorithm: a record in state [`KeyState::Next`] with its private key sealed. Provided by
/// the caller, because this takes long and needs the master key.
pub trait MakeKey {
    /// Why a key could not be made.
    type Error;
    /// Makes one.
    ///
    /// # Errors
    /// The implementation's own.
    fn make(&mut self, algorithm: Algorithm) -> Result<KeyRecord, Self::Error>;
}

impl<E, F: FnMut(Algorithm) -> Result<KeyRecord, E>> MakeKey for F {
    type Error = E;
    fn make(&mut self, algorithm: Algorithm) -> Result<KeyRecord, E> {
        self(algorithm)
    }
}

impl KeyRecord {
    fn activate(&mut self, now: Timestamp) {
        self.state = KeyState::Active;
        self.activated_at = Some(now);
        self.signs_from = None;
    }

    /// Schedules a next key to take over as soon as relying parties know it (OpenID Connect Core 10.1.1).
    fn promise(&mut self, now: Timestamp) {
        let known = self.known_from.unwrap_or(self.created_at + PUBLISHED_AHEAD);
        self.signs_from.get_or_insert(now.max(known));
    }

    /// Whether it is due to take over from the active key.
    fn is_due(&self, now: Timestamp) -> bool {
        self.state == KeyState::Next && self.signs_from.is_some_and(|from| from <= now)
    }

    /// Stops signing. Tokens that it has signed live for at most `longest`.
    fn retire(&mut self, now: Timestamp, longest: Duration) {
        self.state = KeyState::Retiring;
        self.retired_at = Some(now);
        self.gone_at = Some(now + longest);
    }

    /// Whether the key verifies at this time: it is not revoked, and its tokens may still be alive.
    pub fn verifies_at(&self, now: Timestamp) -> bool {
        self.state.verifies() && self.gone_at.is_none_or(|gone| now < gone)
    }

    fn is(&self, algorithm: Algorithm, state: KeyState) -> bool {
        self.algorithm == algorithm && self.state == state
    }
}

/// The keys in the published set: next, active, and retiring until the last token that they signed has expired.
pub fn published(keys: &[KeyRecord], now: Timestamp) -> impl Iterator<Item = &KeyRecord> {
    keys.iter().filter(move |key| key.verifies_at(now))
}

/// The active key of an algorithm.
pub fn active(keys: &[KeyRecord], algorithm: Algorithm) -> Option<&KeyRecord> {
    keys.iter().find(|key| key.is(algorithm, KeyState::Active))
}

/// The keys of a new issuer: RS256, which every relying party must support (OpenID Connect Core 15.1), and the
/// issuer's own algorithm; an active and a next key of each. They may sign at once, because no relying party has
/// cached an older key set of a new issuer.
///
/// # Errors
/// The maker's error.
pub fn initial<M: MakeKey>(
    settings: &IssuerSettings,
    now: Timestamp,
    maker: &mut M,
) -> Result<Vec<KeyRecord>, M::Error> {
    let mut keys = Vec::with_capacity(4);
    for algorithm in [Algorithm::Rs256, settings.signing_algorithm] {
        ensure(&mut keys, algorithm, now, maker)?;
    }
    for key in &mut keys {
        key.known_from = Some(now);
    }
    Ok(keys)
}

/// Publishes a key of an algorithm for which no key signs yet; it signs from [`KeyRecord::signs_from`] on. False if
/// nothing was changed, because a key of the algorithm signs already or is scheduled to.
///
/// # Errors
/// The maker's error; the set is then unchanged.
pub fn introduce<M: MakeKey>(
    keys: &mut Vec<KeyRecord>,
    algorithm: Algorithm,
    now: Timestamp,
    maker: &mut M,
) -> Result<bool, M::Error> {
    if active(keys, algorithm).is_some() {
        return Ok(false);
    }
    if let Some(next) = keys.iter_mut().find(|key| key.is(algorithm, KeyState::Next)) {
        let waits = next.signs_from.is_some();
        next.promise(now);
        return Ok(!waits);
    }
    let mut key = maker.make(algorithm)?;
    key.promise(now);
    keys.push(key);
    Ok(true)
}

/// Makes a key of an algorithm sign at once for clients that ask for the algorithm by name, because they would refuse
/// a token of any other (OpenID Connect Core 3.1.3.7). For other clients it signs from [`KeyRecord::known_from`] on.
/// Returns whether anything was changed.
///
/// # Errors
/// The maker's error; the set may then be incomplete and must not be stored.
pub fn serve_by_name<M: MakeKey>(
    keys: &mut Vec<KeyRecord>,
    algorithm: Algorithm,
    now: Timestamp,
    maker: &mut M,
) -> Result<bool, M::Error> {
    let is_new = active(keys, algorithm).is_none();
    let changed = ensure(keys, algorithm, now, maker)?;
    for key in keys.iter_mut().filter(|key| is_new && key.is(algorithm, KeyState::Active)) {
        key.known_from.get_or_insert(key.created_at + PUBLISHED_AHEAD);
    }
    Ok(changed)
}

/// Completes the keys of an algorithm: one that signs at once, and a next one. Returns whether any was missing. For
/// new issuers, and for an algorithm whose active key was revoked; a new algorithm is [introduced](introduce)
/// instead.
///
/// # Errors
/// The maker's error; the set may then be incomplete and must not be stored.
pub fn ensure<M: MakeKey>(
    keys: &mut Vec<KeyRecord>,
    algorithm: Algorithm,
    now: Timestamp,
    maker: &mut M,
) -> Result<bool, M::Error> {
    let mut changed = false;
    if active(keys, algorithm).is_none() {
        match keys.iter_mut().find(|key| key.is(algorithm, KeyState::Next)) {
            Some(next) => next.activate(now),
            None => {
                let mut key = maker.make(algorithm)?;
                key.activate(now);
                keys.push(key);
            }
        }
        changed = true;
    }
    if !keys.iter().any(|key| key.is(algorithm, KeyState::Next)) {
        keys.push(maker.make(algorithm)?);
        changed = true;
    }
    Ok(changed)
}

/// Replaces the active key of an algorithm by the next one, and makes a new next one: at once if relying parties know
/// the next key, else from its [`KeyRecord::signs_from`] on. The old key stays published for `longest`, the longest
/// lifetime of a token that it signed.
///
/// # Errors
/// The maker's error; the set must then not be stored.
pub fn rotate<M: MakeKey>(
    keys: &mut Vec<KeyRecord>,
    algorithm: Algorithm,
    now: Timestamp,
    longest: Duration,
    maker: &mut M,
) -> Result<(), M::Error> {
    match keys.iter_mut().find(|key| key.is(algorithm, KeyState::Next)) {
        Some(next) => next.promise(now),
        None => {
            let mut next = maker.make(algorithm)?;
            next.promise(now);
            keys.push(next);
        }
    }
    settle(keys, now, longest, maker)
}

/// Makes the next keys that are due [take over](take_over), and generates new next ones.
///
/// # Errors
/// The maker's error; the set must then not be stored.
pub fn settle<M: MakeKey>(
    keys: &mut Vec<KeyRecord>,
    now: Timestamp,
    longest: Duration,
    maker: &mut M,
) -> Result<(), M::Error> {
    for algorithm in take_over(keys, now, longest) {
        ensure(keys, algorithm, now, maker)?;
    }
    Ok(())
}

/// Whether any next key is due to take over.
pub fn is_take_over_due(keys: &[KeyRecord], now: Timestamp) -> bool {
    keys.iter().any(|key| key.is_due(now))
}

/// Makes the next keys that are due take over. Returns the algorithms that then lack a next key. Servers sign with
/// such a key from its due time on, even before this updates its record.
pub fn take_over(keys: &mut [KeyRecord], now: Timestamp, longest: Duration) -> Vec<Algorithm> {
    let due: Vec<Algorithm> = keys.iter().filter(|key| key.is_due(now)).map(|key| key.algorithm).collect();
    for key in keys.iter_mut() {
        if key.state == KeyState::Active && due.contains(&key.algorithm) {
            key.retire(now, longest);
        } else if key.is_due(now) {
            key.activate(key.signs_from.unwrap_or(now));
        }
    }
    due
}

/// The algorithms whose active key has reached the rotation age.
pub fn rotation_due(
    keys: &[KeyRecord],
    settings: &IssuerSettings,
    now: Timestamp,
) -> impl Iterator<Item = Algorithm> {
    let days = u64::from(settings.key_rotation_days);
    let age = Duration::from_secs(days * 86_400);
    keys.iter()
        .filter(move |key| days > 0 && key.state == KeyState::Active)
        .filter(move |key| now.since(key.activated_at.unwrap_or(key.created_at)) >= age)
        .map(|key| key.algorithm)
}

/// Revokes a key at once: its signatures are no longer accepted. If it was active, the next key replaces it at once.
/// False if there is no such key or it was revoked before; then nothing is changed.
///
/// Its record is kept for `longest`, so that its `kid` is known as revoked while a token may still carry it.
///
/// # Errors
/// The maker's error. The key is revoked in the set all the same, and the set may be stored: then no key of the
/// algorithm signs until [`ensure`] succeeds.
pub fn revoke<M: MakeKey>(
    keys: &mut Vec<KeyRecord>,
    kid: &Kid,
    reason: Option<String>,
    now: Timestamp,
    longest: Duration,
    maker: &mut M,
) -> Result<bool, M::Error> {
    let found = keys.iter_mut().find(|key| key.kid == *kid && key.state != KeyState::Revoked);
    let Some(key) = found else { return Ok(false) };
    let (algorithm, state, waited) = (key.algorithm, key.state, key.signs_from.take().is_some());
    key.state = KeyState::Revoked;
    key.retired_at.get_or_insert(now);
    key.gone_at = Some(now + longest);
    key.reason = reason;
    match state {
        // It was scheduled to take over: a new key does so instead, as soon as relying parties know it.
        KeyState::Next if waited => {
            let mut next = maker.make(algorithm)?;
            next.promise(now);
            keys.push(next);
        }
        KeyState::Next | KeyState::Active => ensure(keys, algorithm, now, maker).map(drop)?,
        KeyState::Retiring | KeyState::Revoked => {}
    }
    Ok(true)
}

/// Removes records that nothing needs any more. Returns whether there were any.
pub fn drop_gone(keys: &mut Vec<KeyRecord>, now: Timestamp) -> bool {
    let before = keys.len();
    keys.retain(|key| key.gone_at.is_none_or(|gone| now < gone + KEPT_AFTER_END));
    keys.len() != before
}

#[cfg(test)]
mod tests;
