//! Authorization codes in memory: redeemed once, remembered for a while after, never on disk.

mod log;

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
use log::{Log, Place};

/// Codes that one insertion may clear away: more than one, so that the shard shrinks while it is in use.
const SWEPT_PER_INSERT: usize = 3;

/// Where a code is kept, and whether it was used. A busy minute leaves millions of codes, most of them never redeemed,
/// so that this is one word.
#[derive(Clone, Copy)]
struct Kept(u64);

impl Kept {
    const USED: u64 = 1 << 63;
    const AGED: u64 = 1 << 62;

    fn fresh(place: Place) -> Self {
        Self(place.number())
    }

    fn aged(place: Place) -> Self {
        Self(place.number() | Self::USED | Self::AGED)
    }

    fn is_used(self) -> bool {
        self.0 & Self::USED != 0
    }

    fn is_aged(self) -> bool {
        self.0 & Self::AGED != 0
    }

    fn place(self) -> Place {
        Place::of_number(self.0 & !(Self::USED | Self::AGED))
    }
}

/// The codes of one shard.
#[derive(Default)]
pub(crate) struct CodeShard {
    kept: KeyMap<Kept>,
    /// Until they end, in the order in which they were issued: oldest end first as far as lifetimes agree.
    fresh: Log,
    /// Those that were used, from their end on.
    aged: Log,
}

impl CodeShard {
    fn insert(&mut self, key: Key, expires_at: Timestamp, grant: &[u8], now: Timestamp) {
        self.sweep(now, SWEPT_PER_INSERT);
        let place = self.fresh.append(&key, expires_at, grant);
        self.kept.insert(key, Kept::fresh(place));
    }

    /// The grant of a code, serialized, while the code is of any use: valid, or used.
    fn grant(&self, key: &Key, now: Timestamp) -> Option<&[u8]> {
        let kept = *self.kept.get(key)?;
        let log = if kept.is_aged() { &self.aged } else { &self.fresh };
        let entry = log.get(kept.place())?;
        (kept.is_used() || entry.due > now).then_some(entry.grant)
    }

    fn redeem(&mut self, key: &Key, now: Timestamp) -> Redemption {
        match self.kept.get_mut(key) {
            Some(kept) if kept.is_used() => Redemption::Replayed,
            Some(kept) if self.fresh.get(kept.place()).is_some_and(|entry| entry.due > now) => {
                kept.0 |= Kept::USED;
                Redemption::Redeemed
            }
            _ => Redemption::Unknown,
        }
    }

    /// Clears up to `most` codes away: unused ones at their end, used ones 15 minutes later, because a replay must
    /// be recognised even by a clock that is behind. An unused code that is gone is refused like an expired one.
    fn sweep(&mut self, now: Timestamp, most: usize) -> u64 {
        let mut gone = 0;
        for _ in 0..most {
            let Some(entry) = self.fresh.oldest().filter(|entry| entry.due <= now) else { break };
            let key = entry.key;
            match self.kept.get_mut(&key) {
                Some(kept) if kept.is_used() => {
                    *kept = Kept::aged(self.aged.append(&key, entry.due + KEPT_AFTER_END, entry.grant));
                }
                _ => {
                    self.kept.remove(&key);
                    gone += 1;
                }
            }
            self.fresh.forget_oldest();
        }
        for _ in 0..most {
            let Some(entry) = self.aged.oldest().filter(|entry| entry.due <= now) else { break };
            self.kept.remove(&entry.key);
            gone += 1;
            self.aged.forget_oldest();
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
        self.check_not_frozen()?;
        let key = record_key(issuer, code.expose());
        let route = self.codes.route(issuer, code.expose());
        serialized(&grant, |bytes| {
            self.codes.with(route, |shard| shard.insert(key, grant.expires_at, bytes, now));
        })
    }

    async fn code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Option<Arc<CodeGrant>>, StoreError> {
        let key = record_key(issuer, code.expose());
        let found = self.codes.with(self.codes.route(issuer, code.expose()), |shard| {
            shard.grant(&key, now).map(postcard::from_bytes::<CodeGrant>)
        });
        found.transpose().map(|found| found.map(Arc::new)).map_err(failed)
    }

    async fn redeem_code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        self.check_not_frozen()?;
        let key = record_key(issuer, code.expose());
        Ok(self.codes.with(self.codes.route(issuer, code.expose()), |shard| shard.redeem(&key, now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(second: u64) -> Timestamp {
        Timestamp::from_seconds(second)
    }

    fn key(number: u64) -> Key {
        let mut key = [0; 16];
        key[..8].copy_from_slice(&number.to_be_bytes());
        key
    }

    #[test]
    fn unused_codes_go_at_their_end_and_used_ones_later_with_all_their_memory() {
        let mut shard = CodeShard::default();
        for number in 0..1_000 {
            shard.insert(key(number), at(60), &[7; 200], at(0));
        }
        for number in (0..1_000).step_by(10) {
            assert_eq!(shard.redeem(&key(number), at(30)), Redemption::Redeemed);
            assert_eq!(shard.redeem(&key(number), at(30)), Redemption::Replayed);
        }
        assert_eq!(shard.sweep(at(59), usize::MAX), 0);
        assert_eq!(shard.redeem(&key(1), at(60)), Redemption::Unknown);
        assert_eq!(shard.sweep(at(60), usize::MAX), 900);
        assert!(shard.fresh.oldest().is_none());
        let forgotten = 60 + KEPT_AFTER_END.as_secs();
        for number in 0..1_000 {
            let grant = shard.grant(&key(number), at(forgotten - 1));
            assert_eq!(grant.is_some_and(|grant| *grant == [7; 200]), number % 10 == 0, "{number}");
        }
        assert_eq!(shard.redeem(&key(10), at(forgotten - 1)), Redemption::Replayed);
        assert_eq!(shard.sweep(at(forgotten - 1), usize::MAX), 0);
        assert_eq!(shard.sweep(at(forgotten), usize::MAX), 100);
        assert!(shard.kept.is_empty());
        assert_eq!((shard.fresh.bytes(), shard.aged.bytes()), (0, 0));
    }

    #[test]
    fn a_busy_shard_clears_itself_while_codes_come() {
        let mut shard = CodeShard::default();
        for second in 0..10_000 {
            shard.insert(key(second), at(second + 60), &[7; 200], at(second));
        }
        assert_eq!(shard.kept.len(), 60);
    }
}
