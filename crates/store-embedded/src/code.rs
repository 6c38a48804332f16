//! Authorization codes in memory: redeemed once, remembered for a while after, never on disk.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{Codes, Redemption};
use symbolon_store::shard::record_key;

use crate::EmbeddedStore;
use crate::sharded::{Key, KeyMap};

/// Codes that one insertion may clear away: more than one, so that the shard shrinks while it is in use.
const SWEPT_PER_INSERT: usize = 3;

struct Kept {
    grant: Arc<CodeGrant>,
    used: bool,
}

/// The codes of one shard.
#[derive(Default)]
pub(crate) struct CodeShard {
    kept: KeyMap<Kept>,
    /// When each code's next look is due, oldest first as far as lifetimes agree.
    due: VecDeque<(Timestamp, Key)>,
}

impl CodeShard {
    fn insert(&mut self, key: Key, grant: CodeGrant, now: Timestamp) {
        self.sweep(now, SWEPT_PER_INSERT);
        self.due.push_back((grant.expires_at, key));
        self.kept.insert(key, Kept { grant: Arc::new(grant), used: false });
    }

    /// Clears up to `most` codes away: unused ones at their end, used ones 15 minutes later, because a replay must
    /// be recognised even by a clock that is behind. An unused code that is gone is refused like an expired one.
    fn sweep(&mut self, now: Timestamp, most: usize) -> u64 {
        let mut gone = 0;
        for _ in 0..most {
            let Some((due, key)) = self.due.front().copied() else { break };
            if due > now {
                break;
            }
            self.due.pop_front();
            let Some(kept) = self.kept.get(&key) else { continue };
            let end =
                kept.grant.expires_at + if kept.used { KEPT_AFTER_END } else { std::time::Duration::ZERO };
            if end <= now {
                self.kept.remove(&key);
                gone += 1;
            } else {
                self.due.push_back((end, key));
            }
        }
        gone
    }
}

impl EmbeddedStore {
    pub(crate) async fn sweep_codes(&self, now: Timestamp) -> u64 {
        self.codes
            .each(|shard| {
                let gone = shard.sweep(now, usize::MAX);
                if shard.kept.capacity() > 4 * shard.kept.len() + 64 {
                    shard.kept.shrink_to_fit();
                    shard.due.shrink_to_fit();
                }
                gone
            })
            .await
    }
}

#[async_trait]
impl Codes for EmbeddedStore {
    async fn keep_code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        grant: CodeGrant,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let key = record_key(issuer, code.expose());
        self.codes.with(self.codes.route(issuer, code.expose()), |shard| shard.insert(key, grant, now));
        Ok(())
    }

    async fn code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Option<Arc<CodeGrant>>, StoreError> {
        let key = record_key(issuer, code.expose());
        let found = self.codes.with(self.codes.route(issuer, code.expose()), |shard| {
            let kept = shard.kept.get(&key)?;
            (kept.used || kept.grant.expires_at > now).then(|| Arc::clone(&kept.grant))
        });
        Ok(found)
    }

    async fn redeem_code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        let key = record_key(issuer, code.expose());
        let outcome = self.codes.with(self.codes.route(issuer, code.expose()), |shard| {
            let Some(kept) = shard.kept.get_mut(&key) else { return Redemption::Unknown };
            if kept.used {
                return Redemption::Replayed(kept.grant.grant.clone());
            }
            if kept.grant.expires_at <= now {
                return Redemption::Unknown;
            }
            kept.used = true;
            Redemption::Redeemed(Arc::clone(&kept.grant))
        });
        Ok(outcome)
    }
}
