//! Authorization codes in memory: redeemed once, remembered for a while after, never on disk.

mod log;

use async_trait::async_trait;
use symbolon_crypto::random::{self, Random, SystemRandom};
use symbolon_crypto::{digest, encoding};
use symbolon_figures::{Room, ShareNumber};
use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{CodePlace, Codes, KeptCode, Redemption, Shards};
use symbolon_store::shard::{Route, ShardKind};

use crate::room::no_room;
use crate::sharded::{Key, KeyMap};
use crate::{EmbeddedStore, failed, serialized};
use log::{Copied, Log, LogEntry, LogPlace, bytes_with};

/// How many ended codes one insertion clears from each log at most: more than one, so that a shard in use shrinks.
const SWEPT_PER_INSERT: usize = 3;

/// How many ended codes a refusal clears from each log at most.
const SWEPT_WHEN_FULL: usize = 256;

/// Random bytes of a code.
const SECRET: usize = 32;

/// Bytes of a code: its secret, and the masked place of its record.
const CODE: usize = SECRET + size_of::<u64>();

/// The codes of one shard.
///
/// A code holds the place of its record. A table from codes to places would cost a cache miss when a code is issued and
/// another one when it is redeemed, and most codes are never redeemed.
#[derive(Default)]
pub(crate) struct CodeShard {
    /// Codes until they expire, in the order of issue; with equal lifetimes also the order of expiry.
    fresh: Log,
    /// Used codes after their expiry, kept to recognise replays.
    aged: Log,
    /// The places of the codes in `aged`.
    places: KeyMap<LogPlace>,
}

impl CodeShard {
    fn insert(
        &mut self,
        (key, share): (&Key, ShareNumber),
        expires_at: Timestamp,
        grant: &[u8],
        now: Timestamp,
        room: &Room,
    ) -> LogPlace {
        self.sweep(now, SWEPT_PER_INSERT, room);
        room.moved_of(share, 0, bytes_with(grant));
        self.fresh.append(key, expires_at, share, grant)
    }

    /// The memory that the shard holds, without `places`.
    fn bytes(&self) -> usize {
        self.fresh.bytes() + self.aged.bytes()
    }

    fn find(&self, key: &Key, place: LogPlace) -> Option<LogEntry<'_>> {
        let fresh = self.fresh.get(place).filter(|entry| entry.key == *key);
        fresh.or_else(|| self.aged.get(*self.places.get(key)?))
    }

    /// Copies the entry of a code that is valid or was used; `None` for any other code. Looks where
    /// [`find`](Self::find) does, but copies an entry before reading it.
    fn kept<'a>(
        &self,
        key: &Key,
        place: LogPlace,
        now: Timestamp,
        copied: &'a mut Copied,
    ) -> Option<LogEntry<'a>> {
        self.fresh.copy(place, copied);
        if copied.entry().is_none_or(|entry| entry.key != *key) {
            self.aged.copy(*self.places.get(key)?, copied);
        }
        copied.entry().filter(|entry| entry.used || entry.due > now)
    }

    fn redeem(&mut self, key: &Key, place: LogPlace, now: Timestamp) -> Redemption {
        match self.find(key, place) {
            Some(entry) if entry.used => Redemption::Replayed,
            Some(entry) if entry.due > now => {
                self.fresh.mark_used(place);
                Redemption::Redeemed
            }
            _ => Redemption::Unknown,
        }
    }

    /// Clears up to `most` codes from each log: unused codes at their end, used ones 15 minutes later, because a replay
    /// must be recognised even by a clock that is behind. An unused code that is gone is refused like an expired one.
    fn sweep(&mut self, now: Timestamp, most: usize, room: &Room) -> u64 {
        let mut gone = 0;
        for _ in 0..most {
            let Some(entry) = self.fresh.oldest().filter(|entry| entry.due <= now) else { break };
            if entry.used {
                let due = entry.due + KEPT_AFTER_END;
                let place = self.aged.append(&entry.key, due, entry.share, entry.grant);
                self.aged.mark_used(place);
                self.places.insert(entry.key, place);
            } else {
                room.moved_of(entry.share, entry.bytes(), 0);
                gone += 1;
            }
            self.fresh.forget_oldest();
        }
        for _ in 0..most {
            let Some(entry) = self.aged.oldest().filter(|entry| entry.due <= now) else { break };
            self.places.remove(&entry.key);
            room.moved_of(entry.share, entry.bytes(), 0);
            gone += 1;
            self.aged.forget_oldest();
        }
        gone
    }
}

/// The random salt in the keys of codes. It lives only as long as the process, as the codes do.
pub(crate) struct CodeSalt([u8; 16]);

impl CodeSalt {
    pub(crate) fn draw() -> Self {
        Self(random::bytes(&SystemRandom))
    }

    /// The key of a code, and its veil: the mask of its place. Without the mask, the place would disclose how many
    /// codes were issued. Each code has its own mask, which cannot be computed without the salt.
    fn digest(&self, issuer: &IssuerId, secret: &[u8]) -> (Key, u64) {
        // Salt and secret have fixed lengths, so the end of one is never taken for the beginning of the next. With an
        // issuer id as short as `default`, all three fit into one block of the digest.
        let digest = digest::sha256(&[&self.0, secret, issuer.as_str().as_bytes()]);
        let (key, rest) = digest.split_first_chunk().unwrap_or((&[0; 16], &[]));
        let veil = rest.first_chunk().map_or(0, |veil| u64::from_be_bytes(*veil));
        (*key, veil)
    }
}

impl EmbeddedStore {
    /// Reads a code: `ac_<generation>_<shard>_<secret and masked place, in base64url>`.
    fn read_code(&self, issuer: &IssuerId, code: &AuthorizationCode) -> Option<CodePlace> {
        let (route, rest) = Route::split(ShardKind::Code, code.expose())?;
        let bytes: [u8; CODE] = encoding::decode_array(rest).ok()?;
        let (secret, place) = bytes.split_last_chunk()?;
        let (key, veil) = self.code_salt.digest(issuer, secret);
        let entry = u64::from_be_bytes(*place) ^ veil;
        // If the code's generation is gone, the look-up falls back to a constant slot. Slots hold no codes, so it finds
        // none.
        Some(CodePlace { route, key, entry })
    }

    pub(crate) async fn sweep_codes(&self, now: Timestamp) -> u64 {
        let room = self.figures.code_room();
        self.codes
            .each(|shard| {
                let before = shard.bytes();
                let gone = shard.sweep(now, usize::MAX, room);
                room.moved(before, shard.bytes());
                if shard.places.capacity() > 4 * shard.places.len() + 64 {
                    shard.places.shrink_to_fit();
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
        grant: CodeGrant,
        now: Timestamp,
        random: &dyn Random,
    ) -> Result<AuthorizationCode, StoreError> {
        self.check_not_frozen()?;
        let route = self.place(ShardKind::Code);
        let mut bytes = [0; CODE];
        let (secret, place) = bytes.split_at_mut(SECRET);
        random.fill(secret);
        let (key, veil) = self.code_salt.digest(issuer, secret);
        let room = self.figures.code_room();
        // A single issuer has no share to be counted for.
        let share = room.share().map_or(ShareNumber::NOBODY, |_| room.share_of(issuer.as_str()));
        if !room.admits(share) {
            // Clears expired codes now instead of at the next sweep, so that the next code may find room.
            self.codes.with(route, |shard| {
                let before = shard.bytes();
                shard.sweep(now, SWEPT_WHEN_FULL, room);
                room.moved(before, shard.bytes());
            });
            return Err(no_room("authorization codes"));
        }
        let kept = serialized(&grant, |grant_bytes| {
            self.codes.with(route, |shard| {
                let before = shard.bytes();
                let place = shard.insert((&key, share), grant.expires_at, grant_bytes, now, room);
                room.moved(before, shard.bytes());
                place
            })
        })?;
        place.copy_from_slice(&(kept.number() ^ veil).to_be_bytes());
        Ok(AuthorizationCode::new(route.id(ShardKind::Code, &bytes)))
    }

    async fn code(
        &self,
        issuer: &IssuerId,
        code: &AuthorizationCode,
        now: Timestamp,
    ) -> Result<Option<KeptCode>, StoreError> {
        let Some(at) = self.read_code(issuer, code) else { return Ok(None) };
        let mut copied = Copied::default();
        let place = LogPlace::of_number(at.entry);
        let kept = self.codes.with(at.route, |shard| shard.kept(&at.key, place, now, &mut copied));
        let Some(entry) = kept else { return Ok(None) };
        let grant = Box::new(postcard::from_bytes(entry.grant).map_err(failed)?);
        Ok(Some(KeptCode { grant, at }))
    }

    async fn redeem_code(&self, at: &CodePlace, now: Timestamp) -> Result<Redemption, StoreError> {
        self.check_not_frozen()?;
        let CodePlace { route, key, entry } = at;
        Ok(self.codes.with(*route, |shard| shard.redeem(key, LogPlace::of_number(*entry), now)))
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;

    use super::*;
    use crate::open::tests::{code_grant, options};

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
        let (mut shard, room) = (CodeShard::default(), Room::new());
        let share = room.share_of("default");
        let mut insert = |number| shard.insert((&key(number), share), at(60), &[7; 200], at(0), &room);
        let places: Vec<LogPlace> = (0..1_000).map(&mut insert).collect();
        assert_eq!(room.bytes_of(share), 1_000 * bytes_with(&[7; 200]) as u64);
        let redeem = |shard: &mut CodeShard, number: usize, now| {
            shard.redeem(&key(number as u64), places[number], now)
        };
        for number in (0..1_000).step_by(10) {
            assert_eq!(redeem(&mut shard, number, at(30)), Redemption::Redeemed);
            assert_eq!(redeem(&mut shard, number, at(30)), Redemption::Replayed);
        }
        assert_eq!(shard.redeem(&key(1), places[2], at(30)), Redemption::Unknown, "that is another's place");
        assert_eq!(shard.sweep(at(59), usize::MAX, &room), 0);
        assert_eq!(redeem(&mut shard, 1, at(60)), Redemption::Unknown);
        assert_eq!(shard.sweep(at(60), usize::MAX, &room), 900);
        assert_eq!(room.bytes_of(share), 100 * bytes_with(&[7; 200]) as u64);
        assert!(shard.fresh.oldest().is_none());
        let forgotten = 60 + KEPT_AFTER_END.as_secs();
        let mut copied = Copied::default();
        for number in 0..1_000 {
            let kept = shard.kept(&key(number), places[number as usize], at(forgotten - 1), &mut copied);
            let grant = kept.map(|entry| entry.grant);
            assert_eq!(grant.is_some_and(|grant| *grant == [7; 200]), number % 10 == 0, "{number}");
        }
        assert_eq!(redeem(&mut shard, 10, at(forgotten - 1)), Redemption::Replayed);
        assert_eq!(shard.sweep(at(forgotten - 1), usize::MAX, &room), 0);
        assert_eq!(shard.sweep(at(forgotten), usize::MAX, &room), 100);
        assert_eq!(redeem(&mut shard, 10, at(forgotten - 1)), Redemption::Unknown);
        assert!(shard.places.is_empty());
        assert_eq!((shard.fresh.bytes(), shard.aged.bytes(), room.bytes_of(share)), (0, 0, 0));
    }

    #[test]
    fn a_busy_shard_clears_itself_while_codes_come() {
        let (mut shard, room) = (CodeShard::default(), Room::new());
        for second in 0..10_000 {
            let code = (&key(second), ShareNumber::NOBODY);
            shard.insert(code, at(second + 60), &[7; 200], at(second), &room);
        }
        assert_eq!(shard.sweep(at(20_000), usize::MAX, &room), 60);
    }

    #[tokio::test]
    async fn what_a_code_says_of_its_place_tells_nobody_else() {
        const CODES: usize = 1_000;
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(home.path())).unwrap();
        let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(7));
        let mut set = [0_usize; 64];
        for _ in 0..CODES {
            let code =
                store.keep_code(&issuer, code_grant(&issuer, &random, at(1)), at(1), &random).await.unwrap();
            let (_, rest) = Route::split(ShardKind::Code, code.expose()).unwrap();
            let bytes: [u8; CODE] = encoding::decode_array(rest).unwrap();
            let said = u64::from_be_bytes(*bytes.last_chunk().unwrap());
            assert_ne!(said, store.read_code(&issuer, &code).unwrap().entry);
            (0..64).for_each(|bit| set[bit] += usize::from(said >> bit & 1 == 1));
        }
        // Without the mask, the places have most bits in common.
        assert!(set.iter().all(|ones| (CODES / 3..2 * CODES / 3).contains(ones)), "{set:?}");
    }
}
