//! Refresh-token families: memory in front of the journal, rotated under the shard's lock.

mod listing;

pub(crate) use listing::forget_lists;

use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::family::{self, Family, FamilyId, Rotation, RotationRequest, Step};
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::revocation::Tombstone;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::port::{Created, FamilyCursor, NextFamilies, RefreshTokens};
use symbolon_store::shard::{Route, families_key, family_key};
use symbolon_store::{Outcome, StoreError};

use crate::journal::{CommitNumber, Op, Table, split_value};
use crate::resident::{Ends, Known, Vacancy};
use crate::sharded::{Key, slot_of_key};
use crate::{EmbeddedStore, decode, put_record};

/// How many families one shard keeps in memory; others are read from the disk when they are needed.
const MOST_PER_SHARD: usize = 8_192;

impl Ends for Arc<Family> {
    fn ends_at(&self) -> Timestamp {
        Family::ends_at(self)
    }
}

/// The change that writes a family.
pub(crate) fn put(key: &Key, family: &Family) -> Result<Op, StoreError> {
    put_record(Table::Families, key, family.ends_at().millis(), family)
}

/// `FamiliesOfUser` is keyed by user, then family: one scan finds all families of a user.
fn user_key(issuer: &IssuerId, user: &UserId, key: &Key) -> [u8; 32] {
    let mut whole = [0; 32];
    let (of_user, of_family) = whole.split_at_mut(16);
    of_user.copy_from_slice(&families_key(issuer, user));
    of_family.copy_from_slice(key);
    whole
}

/// The change that puts a family on its user's list, until the latest time at which the family can live. A rotation
/// moves only the earlier end of a family that is not used, so it leaves the list as it is.
fn put_on_list(issuer: &IssuerId, key: &Key, family: &Family) -> Op {
    let by_user = user_key(issuer, &family.user, key);
    Op::put(Table::FamiliesOfUser, &by_user, family.expires_at.millis(), &[])
}

/// The changes that remove a family.
fn removal(issuer: &IssuerId, key: &Key, user: &UserId) -> [Op; 2] {
    let by_user = user_key(issuer, user, key);
    [Op::remove(Table::Families, key), Op::remove(Table::FamiliesOfUser, &by_user)]
}

/// The result of an attempt to begin a family.
enum Begun {
    /// It began.
    Now(CommitNumber),
    /// The id is taken, or was: the last change of its entry.
    Taken(CommitNumber),
    /// The id is not in memory. The caller reads the disk and, if the disk has none, tries again with this number of
    /// evictions.
    AskDisk(u64),
}

impl EmbeddedStore {
    /// The shard and the key of a family. The id names the shard; if that does not exist here, the key's slot is used.
    fn family_route(&self, issuer: &IssuerId, id: &FamilyId) -> (Route, Key) {
        let said = Route { generation: id.generation, shard: id.shard };
        let key = family_key(issuer, id);
        let slot = Route { generation: 0, shard: slot_of_key(&key) };
        (if self.families.exists(said) { said } else { slot }, key)
    }

    /// Loads a family into memory if the disk has it; returns whether it does.
    async fn load_family(&self, route: Route, key: Key, evictions: u64) -> Result<bool, StoreError> {
        let Some(value) = self.read(Table::Families, key).await? else { return Ok(false) };
        let (_, record) =
            split_value(&value).ok_or_else(|| StoreError::Failed("a family is cut short".into()))?;
        let family: Family = decode(record)?;
        let used_at = family.rotated_at;
        self.families.with(route, |shard| {
            shard.loaded(key, Arc::new(family), evictions, used_at);
            // After `loaded`, because an eviction before it would make it discard the record that was just read.
            shard.make_room(MOST_PER_SHARD + 1, |commit| self.journal.durable(commit));
        });
        Ok(true)
    }

    /// Begins a family that is not in memory. `drawn`: its id was drawn at random, so the disk cannot have it.
    /// `absent`: the number of evictions before a read of the disk that did not find it.
    fn begin(
        &self,
        issuer: &IssuerId,
        (route, key): (Route, Key),
        drawn: bool,
        family: &Arc<Family>,
        absent: Option<u64>,
    ) -> Result<Begun, StoreError> {
        let ops = [put(&key, family)?, put_on_list(issuer, &key, family)];
        Ok(self.families.with(route, |shard| {
            shard.make_room(MOST_PER_SHARD, |commit| self.journal.durable(commit));
            match shard.vacancy(key) {
                Err(commit) => Begun::Taken(commit),
                Ok(Vacancy { evictions, .. }) if !drawn && absent != Some(evictions) => {
                    Begun::AskDisk(evictions)
                }
                Ok(vacancy) => {
                    let commit = self.journal.append(ops);
                    vacancy.put(Arc::clone(family), commit, family.rotated_at);
                    Begun::Now(commit)
                }
            }
        }))
    }

    /// Begins a family whose id may already be in use, in memory or on the disk.
    async fn begin_anywhere(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        family: Arc<Family>,
    ) -> Result<(Created, CommitNumber), StoreError> {
        let (route, key) = self.family_route(issuer, id);
        let mut absent = None;
        loop {
            match self.begin(issuer, (route, key), id.generation != 0, &family, absent)? {
                Begun::Now(commit) => return Ok((Created::Created, commit)),
                Begun::Taken(commit) => return Ok((Created::Exists, commit)),
                Begun::AskDisk(evictions) if self.load_family(route, key, evictions).await? => {}
                Begun::AskDisk(evictions) => absent = Some(evictions),
            }
        }
    }

    /// Rotates a family that is in memory, under its shard's lock. If it is not there, returns the number of evictions.
    fn rotate_resident(
        &self,
        issuer: &IssuerId,
        route: Route,
        key: Key,
        request: &RotationRequest,
    ) -> Result<Result<(Rotation, CommitNumber), u64>, StoreError> {
        self.families.with(route, |shard| {
            let entry = match shard.get(&key) {
                Known::Absent(evictions) => return Ok(Err(evictions)),
                Known::Ended(commit) => return Ok(Ok((Rotation::Unknown, commit))),
                Known::Live(entry) => entry,
            };
            let Some(family) = &mut entry.value else { return Ok(Ok((Rotation::Unknown, entry.commit))) };
            entry.used_at = request.now;
            let mut next = (**family).clone();
            match family::rotate(&mut next, request) {
                Step::Moved => {
                    entry.commit = self.journal.append([put(&key, &next)?]);
                    *family = Arc::new(next);
                    Ok(Ok((Rotation::Rotated(Arc::clone(family)), entry.commit)))
                }
                Step::Retry => Ok(Ok((Rotation::Retry(Arc::clone(family)), entry.commit))),
                Step::Unknown => Ok(Ok((Rotation::Unknown, entry.commit))),
                Step::Reused => {
                    let tombstone = Tombstone::grant(next.grant, request.tombstone_until);
                    let ended = self.bury(issuer, &[tombstone], removal(issuer, &key, &next.user))?;
                    entry.end(ended);
                    Ok(Ok((Rotation::Reused(Arc::new(next)), ended)))
                }
            }
        })
    }

    pub(crate) async fn sweep_families(&self, now: Timestamp) -> u64 {
        self.families
            .each(|shard| shard.sweep(|commit| self.journal.durable(commit), now - KEPT_AFTER_END))
            .await
    }
}

#[async_trait]
impl RefreshTokens for EmbeddedStore {
    async fn begin_family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        family: Arc<Family>,
    ) -> Result<Outcome<Created>, StoreError> {
        self.check_writable()?;
        let (created, commit) = self.begin_anywhere(issuer, id, family).await?;
        Ok(self.outcome(created, commit))
    }

    async fn begin_families(
        &self,
        issuer: &IssuerId,
        families: Vec<(FamilyId, Family)>,
    ) -> Result<Outcome<()>, StoreError> {
        self.check_writable()?;
        let mut last = CommitNumber::LOADED;
        for (id, family) in families {
            let (_, commit) = self.begin_anywhere(issuer, &id, Arc::new(family)).await?;
            last = last.max(commit);
        }
        Ok(self.outcome((), last))
    }

    async fn family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
    ) -> Result<Outcome<Option<Arc<Family>>>, StoreError> {
        let (route, key) = self.family_route(issuer, id);
        loop {
            let step = self.families.with(route, |shard| match shard.get(&key) {
                Known::Absent(evictions) => Err(evictions),
                Known::Ended(commit) => Ok((None, commit)),
                Known::Live(entry) => Ok((entry.value.clone(), entry.commit)),
            });
            match step {
                Ok((family, commit)) => return Ok(self.outcome(family, commit)),
                Err(evictions) if self.load_family(route, key, evictions).await? => {}
                Err(_) => return Ok(Outcome::settled(None)),
            }
        }
    }

    async fn rotate(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        request: &RotationRequest,
    ) -> Result<Outcome<Rotation>, StoreError> {
        self.check_writable()?;
        let (route, key) = self.family_route(issuer, id);
        loop {
            match self.rotate_resident(issuer, route, key, request)? {
                Ok((rotation, commit)) => return Ok(self.outcome(rotation, commit)),
                Err(evictions) if self.load_family(route, key, evictions).await? => {}
                Err(_) => return Ok(Outcome::settled(Rotation::Unknown)),
            }
        }
    }

    async fn end_family(
        &self,
        issuer: &IssuerId,
        id: &FamilyId,
        tombstone: &Tombstone,
    ) -> Result<Outcome<Option<Arc<Family>>>, StoreError> {
        self.check_writable()?;
        let (route, key) = self.family_route(issuer, id);
        loop {
            let step = self.families.with(route, |shard| match shard.get(&key) {
                Known::Absent(evictions) => Ok(Err(evictions)),
                Known::Ended(commit) => Ok(Ok((None, commit))),
                Known::Live(entry) => {
                    let Some(family) = &entry.value else { return Ok(Ok((None, entry.commit))) };
                    let removal = removal(issuer, &key, &family.user);
                    let commit = self.bury(issuer, std::slice::from_ref(tombstone), removal)?;
                    Ok(Ok((entry.end(commit), commit)))
                }
            });
            match step? {
                Ok((family, commit)) => return Ok(self.outcome(family, commit)),
                Err(evictions) if self.load_family(route, key, evictions).await? => {}
                Err(_) => return Ok(Outcome::settled(None)),
            }
        }
    }

    async fn next_families_of(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        after: Option<FamilyCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextFamilies, StoreError> {
        self.next_listed(issuer, user, after, limit, now).await
    }
}
