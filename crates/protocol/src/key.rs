//! Signing keys and their lives: next, active, retiring, revoked.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use symbolon_crypto::algorithm::Algorithm;

use crate::id::Kid;
use crate::settings::IssuerSettings;
use crate::time::{KEPT_AFTER_END, Timestamp};

/// For how long anybody may keep an answer of the key set (`Cache-Control: max-age`).
pub const JWKS_MAX_AGE: Duration = Duration::from_secs(300);

/// For how long a key is published before it signs: until every cached key set without it has ended. Half a minute more,
/// because `created_at` is read before the key is made, stored and followed by every node, and their clocks differ.
pub const PUBLISHED_AHEAD: Duration = Duration::from_secs(JWKS_MAX_AGE.as_secs() + 30);

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
    /// When relying parties know it. None: [`PUBLISHED_AHEAD`] after it was made, or since before it signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known_from: Option<Timestamp>,
    /// When a next key takes over; none while nothing asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signs_from: Option<Timestamp>,
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
        self.signs_from = None;
    }

    /// Lets a next key take over as soon as relying parties know it (OpenID Connect Core 10.1.1).
    fn promise(&mut self, now: Timestamp) {
        let known = self.known_from.unwrap_or(self.created_at + PUBLISHED_AHEAD);
        self.signs_from.get_or_insert(now.max(known));
    }

    /// Whether its time has come to take over from the key that signs.
    fn is_due(&self, now: Timestamp) -> bool {
        self.state == KeyState::Next && self.signs_from.is_some_and(|from| from <= now)
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
/// issuer's own algorithm; of each an active one and the next. They may sign at once: nobody has a key set of a new
/// issuer without them.
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
    for key in &mut keys {
        key.known_from = Some(now);
    }
    Ok(keys)
}

/// Publishes a key of an algorithm that no key signs with yet; it signs from [`KeyRecord::signs_from`] on. Whether
/// anything changed: not where a key signs already, or waits to.
///
/// # Errors
/// The maker's; the set is then as it was.
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

/// Makes a key of an algorithm sign at once for clients that ask for it by name: they would refuse a token of any other
/// (OpenID Connect Core 3.1.3.7). For all others it counts from [`KeyRecord::known_from`] on. Whether anything changed.
///
/// # Errors
/// The maker's; the set may then be incomplete, and is not to be stored.
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

/// Completes the set for an algorithm: a key that signs at once, and the next one; whether anything was missing. It is
/// for a new issuer, and for an algorithm whose signing key was revoked; a new algorithm is [introduced](introduce).
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

/// Replaces the active key of an algorithm by the next one and makes a new next one: at once where relying parties know
/// the next key, else from its [`KeyRecord::signs_from`] on. The old one stays published for `longest`, the longest life
/// of a token that it signed.
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

/// Lets the next keys whose time has come [take over](take_over), and makes new next ones.
///
/// # Errors
/// The maker's; the set is then not to be stored.
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

/// Whether a next key is to take over.
pub fn is_take_over_due(keys: &[KeyRecord], now: Timestamp) -> bool {
    keys.iter().any(|key| key.is_due(now))
}

/// Lets the next keys whose time has come take over; the algorithms that lack a next key since. A server signs with such
/// a key from its time on by itself: this brings the records in line.
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
    let (algorithm, state, waited) = (key.algorithm, key.state, key.signs_from.take().is_some());
    key.state = KeyState::Revoked;
    key.retired_at.get_or_insert(now);
    key.gone_at = Some(now + longest);
    key.reason = reason;
    match state {
        // It was to take over: its successor does, as soon as relying parties know it.
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

/// Drops the records that nothing needs any more; whether there were any.
pub fn drop_gone(keys: &mut Vec<KeyRecord>, now: Timestamp) -> bool {
    let before = keys.len();
    keys.retain(|key| key.gone_at.is_none_or(|gone| now < gone + KEPT_AFTER_END));
    keys.len() != before
}

#[cfg(test)]
mod tests;
