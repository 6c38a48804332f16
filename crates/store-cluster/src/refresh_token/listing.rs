//! The families of each user: the table `families_of_users`, and how families that are older than this table get their
//! rows.

use std::sync::Arc;

use parking_lot::Mutex;
use symbolon_protocol::family::Family;
use symbolon_protocol::id::{IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{FamilyCursor, Issuers, NextFamilies, Users};
use symbolon_store::shard::{families_key, may_be_of};

use super::table::{Key, key_of};
use super::{PIECE, PIECES, live};
use crate::ClusterStore;
use crate::postgres::{column, retried};

const LIST: &str = "
    SELECT o.key, f.document
    FROM (SELECT key FROM families_of_users WHERE owner = $1 AND key > $2 ORDER BY key LIMIT $3) o
    LEFT JOIN families f ON f.key = o.key ORDER BY o.key";

/// The last row of a piece of the table, in the order of its keys; no row if less than a piece is left.
const PIECE_END: &str = "SELECT key, owner FROM families_of_users WHERE (owner, key) > ($1, $2)
    ORDER BY owner, key OFFSET $3 LIMIT 1";

const SWEEP: &str = "
    DELETE FROM families_of_users o WHERE (owner, key) > ($1, $2) AND (owner, key) <= ($3, $4)
    AND NOT EXISTS (SELECT 1 FROM families f WHERE f.key = o.key)";

const FAMILIES: &str = "SELECT key, document FROM families WHERE key > $1 ORDER BY key LIMIT $2";

const ADD: &str = "INSERT INTO families_of_users (owner, key)
    SELECT owner, key FROM unnest($1::bytea[], $2::bytea[]) AS n(owner, key) ON CONFLICT DO NOTHING";

/// The key in `meta` which says that every family has its row.
const MARK: &str = "families_of_users";

/// Where the last sweep stopped: owner and key.
pub(super) type Swept = Mutex<Option<(Vec<u8>, Key)>>;

impl ClusterStore {
    pub(super) async fn next_listed_families(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        after: Option<FamilyCursor>,
        limit: u32,
        now: Timestamp,
    ) -> Result<NextFamilies, StoreError> {
        let owner = families_key(issuer, user);
        let after = after.as_ref().map_or(&[][..], |FamilyCursor(key)| key);
        let limit = i64::from(limit.clamp(1, 1_000));
        let rows = self.postgres.connection().await?.all(LIST, &[&&owner[..], &after, &limit]).await?;
        let mut items = Vec::with_capacity(rows.len());
        for row in &rows {
            let Some(document) = column::<Option<&str>>(row, 1)? else { continue };
            // The name of a registered token's family is derived from its `jti`. So a family of another user may get
            // the same key while the old row still exists.
            let own = |family: &Family| family.user == *user && !family.ended(now);
            items.extend(live(document)?.filter(own).map(Arc::new));
        }
        let full = i64::try_from(rows.len()).is_ok_and(|rows| rows == limit);
        let last = rows.last().filter(|_| full).map(key_of).transpose()?;
        Ok(NextFamilies { items, next: last.map(FamilyCursor) })
    }

    /// Deletes rows whose family no longer exists, in the next pieces of the table; returns how many.
    pub(super) async fn sweep_lists(&self) -> Result<u64, StoreError> {
        let mut gone = 0;
        for _ in 0..PIECES {
            let (owner, key) = self.families.lists_swept.lock().clone().unzip();
            let (owner, key) = (owner.unwrap_or_default(), key.map_or_else(Vec::new, |key| key.to_vec()));
            let connection = self.postgres.connection().await?;
            let end = connection.first(PIECE_END, &[&owner, &key, &(PIECE - 1)]).await?;
            drop(connection);
            let last = match &end {
                Some(row) => Some((column::<Vec<u8>>(row, 1)?, key_of(row)?)),
                None => None,
            };
            // An upper bound: it is longer than every owner and consists of the greatest bytes.
            let (last_owner, last_key) = last.clone().unwrap_or((vec![u8::MAX; 17], [u8::MAX; 16]));
            let bounds: [crate::postgres::Parameter<'_>; 4] = [&owner, &key, &last_owner, &&last_key[..]];
            let sweep = || async { self.postgres.connection().await?.change(SWEEP, &bounds).await };
            gone += retried(sweep).await?;
            let is_end = last.is_none();
            *self.families.lists_swept.lock() = last;
            if is_end {
                break;
            }
        }
        Ok(gone)
    }

    /// Adds the rows of families that have none, because a release that did not know the table began them, or because
    /// they came from another store. Every node does so when it starts, until one has done so while no older node was
    /// running.
    pub(crate) async fn list_families(&self) -> Result<(), StoreError> {
        self.once(MARK, self.list_every_family()).await
    }

    /// Adds the missing rows of all families, whatever was done before.
    pub(crate) async fn list_every_family(&self) -> Result<(), StoreError> {
        let issuers: Vec<_> = self.issuers().await?.into_iter().map(|issuer| issuer.id).collect();
        let (mut after, mut listed, mut of_nobody) = (Vec::new(), 0, 0_u64);
        loop {
            let rows = self.postgres.connection().await?.all(FAMILIES, &[&after, &PIECE]).await?;
            let (mut owners, mut keys) = (Vec::new(), Vec::new());
            for row in &rows {
                let Some(family) = live(column(row, 1)?)? else { continue };
                match self.issuer_of(&issuers, &family).await? {
                    Some(issuer) => {
                        owners.push(families_key(issuer, &family.user).to_vec());
                        keys.push(key_of(row)?.to_vec());
                    }
                    None => of_nobody += 1,
                }
            }
            let add = || async { self.postgres.connection().await?.change(ADD, &[&owners, &keys]).await };
            listed += retried(add).await?;
            match rows.last() {
                Some(last) => after = key_of(last)?.to_vec(),
                None => break,
            }
        }
        if listed + of_nobody > 0 {
            tracing::info!(
                target: "symbolon::store", listed, of_nobody, "refresh-token families were listed by their users"
            );
        }
        Ok(())
    }

    /// The issuer of a family, which the row does not store: the only one whose slot fits, or of several such issuers
    /// the only one that has the user. `None` if no issuer or more than one is left.
    async fn issuer_of<'a>(
        &self,
        issuers: &'a [IssuerId],
        family: &Family,
    ) -> Result<Option<&'a IssuerId>, StoreError> {
        let mut candidates: Vec<_> = issuers.iter().filter(|issuer| may_be_of(issuer, family)).collect();
        if candidates.len() > 1 {
            let mut with_the_user = Vec::new();
            for issuer in candidates {
                if self.user(issuer, &family.user).await?.is_some() {
                    with_the_user.push(issuer);
                }
            }
            candidates = with_the_user;
        }
        Ok(if candidates.len() == 1 { candidates.pop() } else { None })
    }
}
