//! Tombstones: all live ones are in memory, so a look-up that misses never reads the disk.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use hashbrown::{Equivalent, HashMap};
use parking_lot::{RwLock, RwLockReadGuard};
use serde::{Deserialize, Serialize};
use smol_str::SmolStr;
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::revocation::{Target, Tombstone};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::port::Revocations;
use symbolon_store::shard::Route;
use symbolon_store::{Outcome, StoreError};

use crate::journal::{CommitNumber, Op, Table, split_value};
use crate::{EmbeddedStore, decode, put_record};

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
enum TargetKind {
    Token = b't',
    Grant = b'g',
    Session = b's',
    User = b'u',
    Client = b'c',
    Issuer = b'i',
    Consent = b'a',
}

fn split(target: &Target) -> (TargetKind, Cow<'_, str>) {
    match target {
        Target::Token(jti) => (TargetKind::Token, jti.as_str().into()),
        Target::Grant(grant) => (TargetKind::Grant, grant.to_string().into()),
        Target::Session(sid) => (TargetKind::Session, sid.as_str().into()),
        Target::User(user) => (TargetKind::User, user.as_str().into()),
        Target::Client(client) => (TargetKind::Client, client.as_str().into()),
        Target::Issuer => (TargetKind::Issuer, "".into()),
        Target::Consent(user, client) => (TargetKind::Consent, consent_id(user, client).into()),
    }
}

/// The id of a consent in keys: user and client with a space between them, which neither contains.
fn consent_id(user: &UserId, client: &ClientId) -> String {
    [user.as_str(), client.as_str()].join(" ")
}

#[derive(PartialEq, Eq, Hash)]
struct Name {
    kind: TargetKind,
    issuer: IssuerId,
    id: SmolStr,
}

/// A [`Name`] to look up, without owning it.
#[derive(Hash)]
struct Probe<'a> {
    kind: TargetKind,
    issuer: &'a IssuerId,
    id: &'a str,
}

impl Equivalent<Name> for Probe<'_> {
    fn equivalent(&self, name: &Name) -> bool {
        self.kind == name.kind && self.id == name.id && *self.issuer == name.issuer
    }
}

#[derive(Clone, Copy)]
struct Mark {
    not_before: Timestamp,
    expires_at: Timestamp,
    commit: CommitNumber,
}

/// The tombstones of one shard, or those of clients and issuers, which concern every slot.
#[derive(Default)]
pub(crate) struct Tombstones {
    marks: HashMap<Name, Mark>,
    /// How many of them end consents. While there are none, no look-up has to build the id of a consent.
    consents: usize,
}

impl Tombstones {
    /// Merges a tombstone with the present one of the same target: the later `not_before` and the later `expires_at`
    /// count, so a second tombstone never revokes less.
    fn joined(&self, issuer: &IssuerId, tombstone: &Tombstone) -> Tombstone {
        let (kind, id) = split(&tombstone.target);
        let mut joined = tombstone.clone();
        if let Some(mark) = self.marks.get(&Probe { kind, issuer, id: &id }) {
            joined.not_before = joined.not_before.max(mark.not_before);
            joined.expires_at = joined.expires_at.max(mark.expires_at);
        }
        joined
    }

    /// Puts a tombstone that is [joined](Self::joined) already.
    fn put(&mut self, issuer: &IssuerId, tombstone: &Tombstone, commit: CommitNumber) {
        let (kind, id) = split(&tombstone.target);
        let name = Name { kind, issuer: issuer.clone(), id: SmolStr::new(id) };
        let Tombstone { not_before, expires_at, .. } = *tombstone;
        if self.marks.insert(name, Mark { not_before, expires_at, commit }).is_none() {
            self.consents += usize::from(kind == TargetKind::Consent);
        }
    }

    /// The commit of the mark that revokes what was born at `born`, if there is one.
    fn find(&self, kind: TargetKind, issuer: &IssuerId, id: &str, born: Timestamp) -> Option<CommitNumber> {
        let mark = self.marks.get(&Probe { kind, issuer, id })?;
        (born <= mark.not_before).then_some(mark.commit)
    }

    /// As [`find`](Self::find), for the consent of a user to a client.
    fn find_consent(
        &self,
        issuer: &IssuerId,
        (user, client): (&UserId, &ClientId),
        born: Timestamp,
    ) -> Option<CommitNumber> {
        if self.consents == 0 {
            return None;
        }
        self.find(TargetKind::Consent, issuer, &consent_id(user, client), born)
    }

    fn sweep(&mut self, now: Timestamp) -> u64 {
        let before = self.marks.len();
        let consents = &mut self.consents;
        self.marks.retain(|name, mark| {
            let kept = mark.expires_at + KEPT_AFTER_END > now;
            *consents -= usize::from(!kept && name.kind == TargetKind::Consent);
            kept
        });
        if self.marks.capacity() > 4 * self.marks.len() + 64 {
            self.marks.shrink_to_fit();
        }
        (before - self.marks.len()) as u64
    }
}

/// The tombstones of clients and issuers, which concern every slot and are few.
#[derive(Default)]
pub(crate) struct Everywhere {
    tombstones: RwLock<Tombstones>,
    /// Whether there is any. Every request asks, and mostly there is none: then no core waits for the shared lock.
    any: AtomicBool,
}

impl Everywhere {
    fn change<R>(&self, work: impl FnOnce(&mut Tombstones) -> R) -> R {
        let mut tombstones = self.tombstones.write();
        let result = work(&mut tombstones);
        // Before the lock is released, and so before the change is acknowledged.
        self.any.store(!tombstones.marks.is_empty(), Ordering::Release);
        result
    }

    fn read(&self) -> Option<RwLockReadGuard<'_, Tombstones>> {
        self.any.load(Ordering::Acquire).then(|| self.tombstones.read())
    }
}

fn concerns_every_slot(target: &Target) -> bool {
    matches!(target, Target::Client(_) | Target::Issuer)
}

/// A tombstone on disk.
#[derive(Serialize, Deserialize)]
pub(crate) struct Stored {
    pub(crate) issuer: IssuerId,
    pub(crate) tombstone: Tombstone,
}

/// The change that writes a tombstone.
pub(crate) fn put(issuer: &IssuerId, tombstone: &Tombstone) -> Result<Op, StoreError> {
    let (kind, id) = split(&tombstone.target);
    let key = [&[kind as u8], issuer.as_str().as_bytes(), &[0], id.as_bytes()].concat();
    let record = Stored { issuer: issuer.clone(), tombstone: tombstone.clone() };
    put_record(Table::Revocations, &key, tombstone.expires_at.millis(), &record)
}

impl EmbeddedStore {
    /// Writes tombstones of different targets in one slot, and in the same batch the changes of `with`. The caller may
    /// hold the lock of a session's or a family's shard: the order of locks is that shard, revocations, journal.
    pub(crate) fn bury(
        &self,
        issuer: &IssuerId,
        tombstones: &[Tombstone],
        with: impl IntoIterator<Item = Op>,
    ) -> Result<CommitNumber, StoreError> {
        let Some(first) = tombstones.first() else { return Ok(self.journal.append(with)) };
        // Merged and written under one lock, so that disk and memory end up with the same marks.
        self.with_tombstones(first, |all| {
            let joined: Vec<Tombstone> = tombstones.iter().map(|one| all.joined(issuer, one)).collect();
            let ops = joined.iter().map(|one| put(issuer, one)).collect::<Result<Vec<_>, _>>()?;
            let commit = self.journal.append(ops.into_iter().chain(with));
            for tombstone in &joined {
                all.put(issuer, tombstone, commit);
            }
            Ok(commit)
        })
    }

    /// Runs `work` on the set of tombstones to which this one belongs, under its lock.
    fn with_tombstones<R>(&self, tombstone: &Tombstone, work: impl FnOnce(&mut Tombstones) -> R) -> R {
        if concerns_every_slot(&tombstone.target) {
            self.everywhere.change(work)
        } else {
            let route = Route { generation: 0, shard: u32::from(tombstone.slot) };
            self.revocations.with(route, work)
        }
    }

    /// Loads every live tombstone into memory; returns how many. The store is not ready before that.
    pub(crate) fn load_tombstones(&self) -> Result<u64, StoreError> {
        let mut loaded = 0;
        for record in self.journal.scan_prefix(Table::Revocations, &[]).map_err(crate::failed)? {
            let (_, value) = record.map_err(crate::failed)?;
            let Some((_, record)) = split_value(&value) else {
                return Err(StoreError::Failed("a tombstone is cut short".into()));
            };
            let Stored { issuer, tombstone } = decode(record)?;
            self.with_tombstones(&tombstone, |all| all.put(&issuer, &tombstone, CommitNumber::LOADED));
            loaded += 1;
        }
        Ok(loaded)
    }

    pub(crate) async fn sweep_tombstones(&self, now: Timestamp) -> u64 {
        let everywhere = self.everywhere.change(|all| all.sweep(now));
        everywhere + self.revocations.each(|shard| shard.sweep(now)).await
    }

    fn ended_in_slot(&self, issuer: &IssuerId, lineage: &Lineage) -> Option<CommitNumber> {
        let route = Route { generation: 0, shard: u32::from(lineage.slot.number()) };
        self.revocations.glance(route, |shard| {
            if shard.marks.is_empty() {
                return None;
            }
            let born = lineage.born;
            let find = |kind, id: &str| shard.find(kind, issuer, id, born);
            lineage
                .tokens
                .iter()
                .find_map(|jti| find(TargetKind::Token, jti.as_str()))
                .or_else(|| find(TargetKind::Grant, lineage.grant?.text().as_str()))
                .or_else(|| find(TargetKind::Session, lineage.session.as_ref()?.as_str()))
                .or_else(|| find(TargetKind::User, lineage.user.as_ref()?.as_str()))
                .or_else(|| shard.find_consent(issuer, lineage.consent()?, born))
        })
    }

    fn ended_everywhere(&self, issuer: &IssuerId, lineage: &Lineage) -> Option<CommitNumber> {
        let everywhere = self.everywhere.read()?;
        let mut clients = lineage.clients();
        clients
            .find_map(|client| everywhere.find(TargetKind::Client, issuer, client.as_str(), lineage.born))
            .or_else(|| everywhere.find(TargetKind::Issuer, issuer, "", lineage.born))
    }
}

#[async_trait]
impl Revocations for EmbeddedStore {
    async fn revoke(&self, issuer: &IssuerId, tombstones: &[Tombstone]) -> Result<Outcome<()>, StoreError> {
        self.check_writable()?;
        let mut last = CommitNumber::LOADED;
        for tombstone in tombstones {
            last = last.max(self.bury(issuer, std::slice::from_ref(tombstone), [])?);
        }
        Ok(self.outcome((), last))
    }

    async fn revoked(&self, issuer: &IssuerId, lineage: &Lineage) -> Result<Outcome<bool>, StoreError> {
        let epoch = self.epoch.get().copied().flatten();
        if lineage.issued.zip(epoch).is_some_and(|(issued, epoch)| issued <= epoch) {
            return Ok(Outcome::settled(true));
        }
        let ended = self.ended_in_slot(issuer, lineage).or_else(|| self.ended_everywhere(issuer, lineage));
        Ok(ended.map_or(Outcome::settled(false), |commit| self.outcome(true, commit)))
    }
}
