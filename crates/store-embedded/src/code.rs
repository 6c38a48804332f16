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

use crate::sharded::{Key, KeyMap};
use crate::{EmbeddedStore, failed, serialized};

/// Codes that one insertion may clear away: more than one, so that the shard shrinks while it is in use.
const SWEPT_PER_INSERT: usize = 3;

/// What a code stands for, in one piece: a busy minute leaves millions of codes, most of them never redeemed, and each
/// piece of memory costs when it is taken, when it is touched a minute later, and when it is given back.
struct Kept {
    grant: Box<[u8]>,
    expires_at: Timestamp,
    used: bool,
}

impl Kept {
    fn new(grant: &CodeGrant) -> Result<Self, StoreError> {
        let written = serialized(grant, |bytes| Box::from(bytes))?;
        Ok(Self { grant: written, expires_at: grant.expires_at, used: false })
    }

    fn grant(&self) -> Result<CodeGrant, StoreError> {
        postcard::from_bytes(&self.grant).map_err(failed)
    }
}

/// The codes of one shard.
#[derive(Default)]
pub(crate) struct CodeShard {
    kept: KeyMap<Kept>,
    /// When each code's next look is due, oldest first as far as lifetimes agree.
    due: VecDeque<(Timestamp, Key)>,
}

impl CodeShard {
    fn insert(&mut self, key: Key, kept: Kept, now: Timestamp) {
        self.sweep(now, SWEPT_PER_INSERT);
        self.due.push_back((kept.expires_at, key));
        self.kept.insert(key, kept);
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
            let end = kept.expires_at + if kept.used { KEPT_AFTER_END } else { std::time::Duration::ZERO };
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
        let (key, kept) = (record_key(issuer, code.expose()), Kept::new(&grant)?);
        self.codes.with(self.codes.route(issuer, code.expose()), |shard| shard.insert(key, kept, now));
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
            (kept.used || kept.expires_at > now).then(|| kept.grant())
        });
        found.transpose().map(|found| found.map(Arc::new))
    }

    async fn redeem_code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        let key = record_key(issuer, code.expose());
        self.codes.with(self.codes.route(issuer, code.expose()), |shard| {
            Ok(match shard.kept.get_mut(&key) {
                Some(kept) if kept.used => Redemption::Replayed,
                Some(kept) if kept.expires_at > now => {
                    kept.used = true;
                    Redemption::Redeemed
                }
                _ => Redemption::Unknown,
            })
        })
    }
}
