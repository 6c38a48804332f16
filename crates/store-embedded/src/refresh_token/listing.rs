//! Lists the families of a user: reads the disk after all pending changes have reached it.

use std::ops::Bound;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension};
use symbolon_protocol::family::Family;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{FamilyCursor, NextFamilies};
use symbolon_store::shard::{families_key, may_be_of};

use super::put_on_list;
use crate::database::DatabaseSnapshot;
use crate::journal::{CommitNumber, NEVER, Op, Table, split_value};
use crate::record::issuers;
use crate::sharded::Key;
use crate::{EmbeddedStore, decode, failed};

/// Key of the mark that every family in the journal is on its user's list.
const MARK: &[u8] = b"families_of_user";

/// How many families are put on lists in one batch.
const AT_ONCE: usize = 1_000;

const PAUSE: Duration = Duration::from_millis(1);

const KNOWN_USER: &str = "SELECT 1 FROM users WHERE issuer = ?1 AND id = ?2";

fn read(value: &[u8]) -> Result<Family, StoreError> {
    let (_, record) = split_value(value).ok_or_else(|| StoreError::Failed("a family is cut short".into()))?;
    decode(record)
}

/// The change that removes the mark, so that the next [`EmbeddedStore::list_families`] reads every family.
pub(crate) fn forget_lists() -> Op {
    Op::remove(Table::Meta, MARK)
}

impl EmbeddedStore {
    pub(super) async fn next_listed(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        after: Option<FamilyCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextFamilies, StoreError> {
        self.journal.flush().await;
        let (prefix, user) = (families_key(issuer, user), user.clone());
        let limit = limit.clamp(1, 1_000) as usize;
        self.blocking(move |journal| {
            let from = match after {
                None => Bound::Included(prefix.to_vec()),
                Some(FamilyCursor(key)) => Bound::Excluded([prefix, key].concat()),
            };
            let to = Bound::Included([prefix, [u8::MAX; 16]].concat());
            let mut items = Vec::new();
            let scan = journal.scan(Table::FamiliesOfUser, (from, to)).map_err(failed)?;
            for (looked_at, record) in scan.enumerate() {
                let (by_user, _) = record.map_err(failed)?;
                let Some(key) = by_user.last_chunk::<16>() else { continue };
                if let Some(value) = journal.get(Table::Families, key).map_err(failed)? {
                    let family = read(&value)?;
                    // A registered token's id may be used again for another user while the old list entry is still
                    // here.
                    if family.user == user && !family.ended(now) {
                        items.push(Arc::new(family));
                    }
                }
                if looked_at + 1 == limit {
                    return Ok(NextFamilies { items, next: Some(FamilyCursor(*key)) });
                }
            }
            Ok(NextFamilies { items, next: None })
        })
        .await
    }

    /// Puts families that are on no list on their users' lists: those begun by a version that had no such lists, and
    /// those from another store. Done once for a data directory. Blocks: it reads every family.
    pub(crate) fn list_families(&self) -> Result<(), StoreError> {
        if !self.journal.writable() || self.journal.get(Table::Meta, MARK).map_err(failed)?.is_some() {
            return Ok(());
        }
        let database = DatabaseSnapshot::of_file(&self.directory.database()).map_err(failed)?;
        let connection = database.connection();
        let issuers: Vec<_> =
            issuers(connection).map_err(failed)?.into_iter().map(|issuer| issuer.id).collect();
        let (mut listed, mut of_nobody) = (0_u64, 0_u64);
        let mut ops = Vec::with_capacity(AT_ONCE);
        for record in self.journal.scan(Table::Families, ..).map_err(failed)? {
            let (key, value) = record.map_err(failed)?;
            let Some(key) = key.first_chunk::<16>() else { continue };
            let family = read(&value)?;
            match issuer_of(&issuers, connection, &family)? {
                Some(issuer) => {
                    ops.push(put_on_list(issuer, key as &Key, &family));
                    listed += 1;
                }
                None => of_nobody += 1,
            }
            if ops.len() == AT_ONCE {
                self.wait_blocking(self.journal.append(ops.drain(..)));
            }
        }
        ops.push(Op::put(Table::Meta, MARK, NEVER, &[]));
        self.journal.append(ops);
        if listed + of_nobody > 0 {
            tracing::info!(
                target: "symbolon::store", listed, of_nobody, "refresh-token families were listed by their users"
            );
        }
        Ok(())
    }

    /// Waits for a batch at startup, so that the batches of a large table do not pile up in memory.
    fn wait_blocking(&self, commit: CommitNumber) {
        while !self.journal.durable(commit) && self.journal.writable() {
            thread::sleep(PAUSE);
        }
    }
}

/// The issuer of a family, whose record does not name it. Candidates are the issuers for which the grant lies in the
/// right slot; if there are several, those that have a user of this id. `None` unless exactly one candidate remains.
fn issuer_of<'a>(
    issuers: &'a [IssuerId],
    connection: &Connection,
    family: &Family,
) -> Result<Option<&'a IssuerId>, StoreError> {
    let mut candidates: Vec<_> = issuers.iter().filter(|issuer| may_be_of(issuer, family)).collect();
    if candidates.len() > 1 {
        let mut with_the_user = Vec::new();
        for issuer in candidates {
            if has_user(connection, issuer, &family.user).map_err(failed)? {
                with_the_user.push(issuer);
            }
        }
        candidates = with_the_user;
    }
    Ok(if candidates.len() == 1 { candidates.pop() } else { None })
}

fn has_user(connection: &Connection, issuer: &IssuerId, user: &UserId) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(KNOWN_USER)?;
    Ok(statement.query_row([issuer.as_str(), user.as_str()], |_| Ok(())).optional()?.is_some())
}

#[cfg(test)]
mod tests;
