//! Checks whether two stores have the same records.

use std::collections::BTreeMap;

use serde::Serialize;
use symbolon_crypto::digest;
use symbolon_protocol::key::KeyRecord;
use symbolon_protocol::revocation::{Target, Tombstone};
use symbolon_protocol::time::Timestamp;

use super::{Class, Export, Record};
use crate::StoreError;

/// The latest time that every back-end keeps exactly, in milliseconds; any later time means for ever.
const LATEST: u64 = (1 << 53) - 1;

/// The records of one class: how many, and the sum of their digests, which does not depend on their order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// How many records.
    pub count: u64,
    digests: u128,
}

/// The sums of a store's records by class. Two stores with equal sums have the same records.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally(BTreeMap<Class, Sum>);

impl Tally {
    /// Adds a record.
    ///
    /// # Errors
    /// [`StoreError::Failed`]: the record cannot be serialized.
    pub fn add(&mut self, record: &Record) -> Result<(), StoreError> {
        let digest = digest::sha256(&[&canonical(record).map_err(|error| {
            StoreError::Failed(format!(
                "a record of {} cannot be written down: {error}",
                record.class().as_str()
            ))
        })?]);
        let sum = self.0.entry(record.class()).or_default();
        sum.count += 1;
        sum.digests =
            sum.digests.wrapping_add(u128::from_be_bytes(*digest.first_chunk().unwrap_or(&[0; 16])));
        Ok(())
    }

    /// The records of a class.
    #[must_use]
    pub fn of(&self, class: Class) -> Sum {
        self.0.get(&class).copied().unwrap_or_default()
    }

    /// The classes whose records differ between the two stores.
    #[must_use]
    pub fn differing(&self, other: &Self) -> Vec<Class> {
        Class::ALL.into_iter().filter(|class| self.of(*class) != other.of(*class)).collect()
    }
}

/// Sums up the records of a store, without those that ended at `ended` or before. `progress` is called after each piece
/// with the number of records of its class so far.
///
/// # Errors
/// [`StoreError`].
pub async fn tally(
    store: &dyn Export,
    ended: Timestamp,
    progress: &mut (dyn FnMut(Class, u64) + Send),
) -> Result<Tally, StoreError> {
    let mut tally = Tally::default();
    let mut records = store.records(ended).await?;
    while let Some(some) = records.next().await? {
        some.iter().try_for_each(|record| tally.add(record))?;
        if let Some(class) = some.first().map(Record::class) {
            progress(class, tally.of(class).count);
        }
    }
    Ok(tally)
}

/// A record as text, the same from every back-end. What is sealed is left out, because a move may seal it under another
/// key.
fn canonical(record: &Record) -> serde_json::Result<Vec<u8>> {
    match record {
        Record::Shards(kind, generations) => json(&(kind, generations)),
        Record::Epoch(at) => json(at),
        Record::Issuer(whole) => {
            let (issuer, settings, keys) = &**whole;
            let keys: Vec<KeyRecord> =
                keys.iter().map(|key| KeyRecord { sealed: Vec::new(), ..key.clone() }).collect();
            json(&(&issuer.id, &issuer.url, issuer.created_at, settings, keys))
        }
        Record::Session { issuer, key, session, used_at, origin } => {
            json(&(issuer, key, session, used_at, origin))
        }
        Record::Family(key, family) => json(&(key, family)),
        Record::Revocation(issuer, tombstone) => json(&(issuer, told(tombstone))),
        Record::Assertion(key, until) => json(&(key, capped(*until))),
        Record::EmailCode(key, until, used) => json(&(key, capped(*until), used)),
        Record::Client(issuer, client) => json(&(issuer, client)),
        // The digest is one of the kind and the content.
        Record::Logo(issuer, client, logo) => json(&(issuer, client, logo.digest())),
        Record::User(issuer, user, password) => {
            json(&(issuer, user, password.as_ref().map(|password| password.expose())))
        }
        Record::Authenticators(issuer, user, revision, set) => json(&(issuer, user, revision, set)),
        Record::Identity(issuer, identity) => json(&(issuer, identity)),
        Record::Consent(issuer, user, client, consent) => json(&(issuer, user, client, consent)),
        Record::Group(issuer, group) => json(&(issuer, group)),
        Record::Role(issuer, role) => json(&(issuer, role)),
        Record::Membership(issuer, membership) => json(&(issuer, membership)),
        Record::GivenRole(issuer, given) => json(&(issuer, given)),
        Record::Invitation(issuer, kept) => json(&(issuer, kept)),
        Record::Delivery(issuer, delivery) => json(&(issuer, delivery)),
        Record::Audit(issuer, record) => json(&(issuer, record)),
    }
}

fn json(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    serde_json::to_vec(value)
}

/// A tombstone without the fields that have no meaning for its target, and with times limited to what every back-end
/// can keep.
fn told(tombstone: &Tombstone) -> Tombstone {
    let everywhere = matches!(tombstone.target, Target::Client(_) | Target::Issuer);
    Tombstone {
        target: tombstone.target.clone(),
        slot: if everywhere { 0 } else { tombstone.slot },
        not_before: capped(tombstone.not_before),
        expires_at: capped(tombstone.expires_at),
    }
}

fn capped(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.millis().min(LATEST))
}

#[cfg(test)]
mod tests {
    use symbolon_protocol::grant::Slot;
    use symbolon_protocol::id::{ClientId, IssuerId, Jti};

    use super::*;

    fn of(records: &[Record]) -> Tally {
        let mut tally = Tally::default();
        records.iter().try_for_each(|record| tally.add(record)).unwrap();
        tally
    }

    fn assertion(key: u8, until: u64) -> Record {
        Record::Assertion([key; 16], Timestamp::from_millis(until))
    }

    #[test]
    fn the_order_does_not_matter_and_every_difference_does() {
        let tallied = of(&[assertion(1, 5), assertion(2, 6), assertion(2, 6)]);
        assert_eq!(tallied, of(&[assertion(2, 6), assertion(1, 5), assertion(2, 6)]));
        assert_eq!(tallied.of(Class::Assertions).count, 3);
        for other in
            [&[assertion(1, 5), assertion(2, 6)][..], &[assertion(1, 5), assertion(1, 5), assertion(2, 6)]]
        {
            assert_eq!(tallied.differing(&of(other)), [Class::Assertions]);
        }
        assert!(tallied.differing(&tallied).is_empty());
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        let issuer = IssuerId::default_issuer();
        let client = |slot| {
            let ended = Target::Client(ClientId::parse("app").unwrap());
            Record::Revocation(
                issuer.clone(),
                Tombstone::up_to(ended, Slot::new(slot), Timestamp::EPOCH, Timestamp::FOREVER),
            )
        };
        assert_eq!(of(&[client(1)]), of(&[client(2)]));
        let token = |slot, until| {
            let jti = Jti::parse("x").unwrap();
            Record::Revocation(issuer.clone(), Tombstone::token(jti, Slot::new(slot), until))
        };
        let latest = Timestamp::from_millis(LATEST);
        assert_eq!(of(&[token(1, latest)]), of(&[token(1, Timestamp::FOREVER)]));
        assert_ne!(of(&[token(1, latest)]), of(&[token(2, latest)]));
    }
}
