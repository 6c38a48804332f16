//! Signing keys and their lives: next, active, retiring, revoked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;

use crate::id::Kid;
use crate::settings::IssuerSettings;
use crate::time::{KEPT_AFTER_END, Timestamp};

/// Where a key is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyState {
    /// Published, so that caches know it before it signs.
    Next,
    /// Signs, is published, and verifies.
    Active,
    /// No longer signs; published and verifies until its longest token has ended.
    Retiring,
    /// Neither signs, nor is published, nor verifies.
    Revoked,
}

impl KeyState {
    /// Whether relying parties see it and signatures under it are good.
    pub fn verifies(self) -> bool {
        !matches!(self, Self::Revoked)
    }
}

/// A signing key as it is stored: the private half sealed under the master key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The key's `kid`.
    pub kid: Kid,
    /// What it signs with.
    pub algorithm: Algorithm,
    /// Where it is in its life.
    pub state: KeyState,
    /// PKCS#8, sealed; bound to issuer and kid.
    pub sealed: Vec<u8>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it became active.
    pub activated_at: Option<Timestamp>,
    /// When it stopped signing.
    pub retired_at: Option<Timestamp>,
    /// When a retiring key has no live token left; revoked keys keep their record until then.
    pub gone_at: Option<Timestamp>,
    /// Why it was revoked.
    pub reason: Option<String>,
}

/// Makes a key for an algorithm: a record in state [`KeyState::Next`], its private half sealed. It is the caller's,
/// because making a key takes time and sealing it takes the master key.
pub trait MakeKey {
    /// Why no key could be made.
    type Error;
    /// Makes one.
    ///
    /// # Errors
    /// The maker's own.
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
    }

    /// Stops signing; what it signed lives on for `longest` at most.
    fn retire(&mut self, now: Timestamp, longest: Duration) {
        self.state = KeyState::Retiring;
        self.retired_at = Some(now);
        self.gone_at = Some(now + longest);
    }

    /// Whether the key may still verify at this time: not revoked, and not gone.
    pub fn verifies_at(&self, now: Timestamp) -> bool {
        self.state.verifies() && self.gone_at.is_none_or(|gone| now < gone)
    }

    fn is(&self, algorithm: Algorithm, state: KeyState) -> bool {
        self.algorithm == algorithm && self.state == state
    }
}

/// The keys that relying parties see: next, active, and retiring until the last token that they signed has ended.
pub fn published(keys: &[KeyRecord], now: Timestamp) -> impl Iterator<Item = &KeyRecord> {
    keys.iter().filter(move |key| key.verifies_at(now))
}

/// The key that signs with an algorithm.
pub fn active(keys: &[KeyRecord], algorithm: Algorithm) -> Option<&KeyRecord> {
    keys.iter().find(|key| key.is(algorithm, KeyState::Active))
}

/// The keys of a new issuer: RS256, which every relying party must support (OpenID Connect Core 15.1), and the
/// issuer's own algorithm; of each an active one and the next.
///
/// # Errors
/// The maker's.
pub fn initial<M: MakeKey>(
    settings: &IssuerSettings,
    now: Timestamp,
    maker: &mut M,
) -> Result<Vec<KeyRecord>, M::Error> {
    let mut keys = Vec::with_capacity(4);
    for algorithm in [Algorithm::Rs256, settings.signing_algorithm] {
        ensure(&mut keys, algorithm, now, maker)?;
    }
    Ok(keys)
}

/// Completes the set for an algorithm: an active key and the next one; whether anything was missing. So an algorithm
/// that a client asks for gets its keys on demand.
///
/// # Errors
/// The maker's; the set may then be incomplete, and is not to be stored.
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

/// Replaces the active key of an algorithm by the next one, which relying parties know already, and makes a new next
/// one. The old one stays published for `longest`, the longest life of a token that it signed.
///
/// # Errors
/// The maker's; the set is then not to be stored.
pub fn rotate<M: MakeKey>(
    keys: &mut Vec<KeyRecord>,
    algorithm: Algorithm,
    now: Timestamp,
    longest: Duration,
    maker: &mut M,
) -> Result<(), M::Error> {
    for key in keys.iter_mut().filter(|key| key.is(algorithm, KeyState::Active)) {
        key.retire(now, longest);
    }
    ensure(keys, algorithm, now, maker).map(drop)
}

/// The algorithms whose active key is old enough for the schedule.
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

/// Revokes a key at once: nothing that it signed is good any more. Where it was the active one, the next one takes its
/// place at once. False: there is no such key, or it was revoked before, and nothing changed.
///
/// Its record is kept for `longest`, so that its `kid` is known as revoked as long as a token may carry it.
///
/// # Errors
/// The maker's. The key is revoked in the set all the same, and the set may be stored: nothing signs then until
/// [`ensure`] succeeds.
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
    let (algorithm, signed) = (key.algorithm, matches!(key.state, KeyState::Active | KeyState::Next));
    key.state = KeyState::Revoked;
    key.retired_at.get_or_insert(now);
    key.gone_at = Some(now + longest);
    key.reason = reason;
    if signed {
        ensure(keys, algorithm, now, maker)?;
    }
    Ok(true)
}

/// Drops the records that nothing needs any more; whether there were any.
pub fn drop_gone(keys: &mut Vec<KeyRecord>, now: Timestamp) -> bool {
    let before = keys.len();
    keys.retain(|key| key.gone_at.is_none_or(|gone| now < gone + KEPT_AFTER_END));
    keys.len() != before
}

#[cfg(test)]
mod tests;
