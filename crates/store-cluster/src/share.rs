//! What each issuer takes of the rooms for codes, for marks and for codes by e-mail, so that one cannot fill them for the
//! others.
//!
//! Redis and PostgreSQL know what all records take, and not whose they are. So every issuer has a hash in Redis for each
//! of the three: the bytes of its records by the minute in which they go. Each node counts what it stores, and adds that
//! to the hash with every 64th record of the issuer, from which it learns what the other nodes have stored.
//!
//! It is an estimate: a node knows of the others' records 63 records late, an addition that was repeated after a lost
//! answer counts twice until its minute, and one that Redis lost does not count. Nothing is counted where there is one
//! issuer.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use symbolon_figures::{Room, ShareNumber};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;

use crate::ClusterStore;
use crate::redis::{Key, Script, ScriptCall};
use crate::room::{ASSERTION_MARK, EMAIL_CODE, no_room};

/// How many records of an issuer this node stores between two additions to its hash.
const ADD_EVERY: u32 = 64;

/// How long after an issuer was found to have its share no hash is read for it, in milliseconds.
const FULL_FOR: u64 = 1_000;

/// What a code takes in Redis besides its grant: header, key, and its places in the tables of keys and of ends.
const BESIDE_GRANT: usize = 192;

const MINUTE: u64 = 60_000;

/// In minutes. A record that stays longer than an hour goes, for this count, at the end of a day, so that a hash stays
/// small.
const DAY: u64 = 24 * 60;

/// Adds bytes by the minute in which they go, forgets the minutes that are over, and returns the bytes of all others.
static ADD: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "for i = 2, #ARGV, 2 do redis.call('HINCRBY', KEYS[1], ARGV[i], ARGV[i + 1]) end
         local now, sum, last = tonumber(ARGV[1]), 0, 0
         local all = redis.call('HGETALL', KEYS[1])
         for i = 1, #all, 2 do
           local minute = tonumber(all[i])
           if minute <= now then
             redis.call('HDEL', KEYS[1], all[i])
           else
             sum = sum + tonumber(all[i + 1])
             last = math.max(last, minute)
           end
         end
         if last > now then redis.call('PEXPIRE', KEYS[1], (last - now) * 60000) end
         return sum",
    )
});

/// What this node has stored of each issuer and not yet added to the issuer's hash.
pub(crate) struct Shares {
    codes: Box<[Counted]>,
    marks: Box<[Counted]>,
    email_codes: Box<[Counted]>,
}

/// The records of one issuer and kind.
#[derive(Default)]
struct Counted {
    records: AtomicU32,
    /// When the hash was read last, in milliseconds since 1970; 0 before.
    read_at: AtomicU64,
    /// What goes within ten minutes, within an hour, and later. A record counts until the last of its part goes.
    parts: [Part; 3],
}

#[derive(Default)]
struct Part {
    bytes: AtomicU64,
    last: AtomicU64,
}

impl Counted {
    fn add(&self, bytes: u64, end: Timestamp, now: Timestamp) {
        let [soon, later, latest] = &self.parts;
        let part = match end.since(now) {
            life if life <= Duration::from_secs(600) => soon,
            life if life <= Duration::from_secs(3_600) => later,
            _ => latest,
        };
        part.last.fetch_max(end.millis(), Ordering::Relaxed);
        part.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.records.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the caller shall read the hash; no other one is told so.
    fn is_due(&self, is_full: bool, now: Timestamp) -> bool {
        let read_at = self.read_at.load(Ordering::Relaxed);
        let is_over = is_full && now.millis().saturating_sub(read_at) >= FULL_FOR;
        let is_due = read_at == 0 || is_over || self.records.load(Ordering::Relaxed) >= ADD_EVERY;
        is_due && {
            let exchanged = self.read_at.compare_exchange(
                read_at,
                now.millis().max(1),
                Ordering::Relaxed,
                Ordering::Relaxed,
            );
            exchanged.is_ok()
        }
    }

    /// Takes what was not yet added: minutes, and the bytes that go in each.
    fn take(&self, now: Timestamp) -> Vec<(u64, u64)> {
        self.records.store(0, Ordering::Relaxed);
        let taken = self.parts.iter().map(|part| {
            let last = part.last.swap(0, Ordering::Relaxed);
            (last, part.bytes.swap(0, Ordering::Relaxed))
        });
        let stays = taken.filter(|(last, bytes)| *bytes > 0 && *last > now.millis());
        stays.map(|(last, bytes)| (minute(last, now), bytes)).collect()
    }
}

/// The minute in which a record goes, for this count.
fn minute(end: u64, now: Timestamp) -> u64 {
    let (minute, now) = (end.div_ceil(MINUTE), now.millis() / MINUTE);
    if minute > now + 61 { minute.div_ceil(DAY) * DAY } else { minute.max(now + 1) }
}

impl Shares {
    pub(crate) fn new() -> Self {
        let none = || (0..ShareNumber::COUNT).map(|_| Counted::default()).collect();
        Self { codes: none(), marks: none(), email_codes: none() }
    }
}

/// One of the three rooms that are shared out, with the letter of its hashes.
#[derive(Clone, Copy)]
struct Shared<'a> {
    room: &'a Room,
    counted: &'a [Counted],
    letter: char,
    /// Whether the records are in the memory of Redis.
    is_in_redis: bool,
}

impl ClusterStore {
    fn shared_codes(&self) -> Shared<'_> {
        Shared { room: self.figures.code_room(), counted: &self.shares.codes, letter: 'c', is_in_redis: true }
    }

    fn shared_marks(&self) -> Shared<'_> {
        Shared {
            room: self.figures.assertion_room(),
            counted: &self.shares.marks,
            letter: 'm',
            is_in_redis: false,
        }
    }

    fn shared_email_codes(&self) -> Shared<'_> {
        Shared {
            room: self.figures.email_code_room(),
            counted: &self.shares.email_codes,
            letter: 'e',
            is_in_redis: false,
        }
    }

    /// The share under which an issuer's codes are counted, if it has room for one more.
    ///
    /// All records of Redis are in one memory, and sessions may take any part of it. So an issuer may take its part of
    /// what its own codes take and what is free for codes: with a half, as much as it leaves for all others.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: it has not.
    pub(crate) async fn admit_share_of_codes(&self, issuer: &IssuerId) -> Result<ShareNumber, StoreError> {
        let shared = self.shared_codes();
        let Some(percent) = shared.room.share() else { return Ok(ShareNumber::NOBODY) };
        let share = shared.room.share_of(issuer.as_str());
        let is_full = || self.codes_are_over(share, percent);
        self.read_share(shared, (issuer, share), &is_full).await;
        if is_full() {
            shared.room.refuse();
            return Err(no_room("the issuer's codes"));
        }
        Ok(share)
    }

    fn codes_are_over(&self, share: ShareNumber, percent: u64) -> bool {
        let room = self.figures.code_room();
        let (own, all) = (room.bytes_of(share), room.snapshot());
        // Every primary is taken to be as full as the one that was looked at last: codes are spread over all.
        let Some(primaries) = self.redis.primaries().filter(|_| all.most != u64::MAX) else { return false };
        let free = all.most.saturating_sub(all.bytes).saturating_mul(primaries as u64);
        own.saturating_mul(100 - percent) > free.saturating_mul(percent)
    }

    /// The share under which an issuer's marks are counted.
    pub(crate) async fn share_of_marks(&self, issuer: &IssuerId) -> ShareNumber {
        self.share_in_postgres(self.shared_marks(), issuer).await
    }

    /// The share under which an issuer's codes by e-mail are counted.
    pub(crate) async fn share_of_email_codes(&self, issuer: &IssuerId) -> ShareNumber {
        self.share_in_postgres(self.shared_email_codes(), issuer).await
    }

    async fn share_in_postgres(&self, shared: Shared<'_>, issuer: &IssuerId) -> ShareNumber {
        let Some(percent) = shared.room.share() else { return ShareNumber::NOBODY };
        let share = shared.room.share_of(issuer.as_str());
        let is_full = || shared.room.bytes_of(share) >= shared.room.snapshot().most / 100 * percent;
        self.read_share(shared, (issuer, share), &is_full).await;
        share
    }

    /// Adds what this node has stored of an issuer to the issuer's hash and reads it, if that is due.
    async fn read_share(
        &self,
        shared: Shared<'_>,
        (issuer, share): (&IssuerId, ShareNumber),
        is_full: &(dyn Fn() -> bool + Sync),
    ) {
        let Some(counted) = shared.counted.get(share.index()) else { return };
        let now = self.now();
        if counted.is_due(is_full(), now) {
            // Boxed to keep the callers' futures small: this branch is rarely taken.
            Box::pin(self.add_to_share(shared, counted, (issuer, share), now)).await;
        }
    }

    async fn add_to_share(
        &self,
        shared: Shared<'_>,
        counted: &Counted,
        (issuer, share): (&IssuerId, ShareNumber),
        now: Timestamp,
    ) {
        let taken = counted.take(now);
        let numbers: Vec<String> = std::iter::once(now.millis() / MINUTE)
            .chain(taken.iter().flat_map(|(minute, bytes)| [*minute, *bytes]))
            .map(|number| number.to_string())
            .collect();
        let arguments: Vec<&[u8]> = numbers.iter().map(|number| number.as_bytes()).collect();
        let key = self.share_key(shared.letter, issuer, share);
        if shared.is_in_redis {
            // For the free memory, which an issuer's part depends on.
            self.is_full(shared.room, &key).await;
        }
        let call = ScriptCall { keys: &[&key], arguments: &arguments };
        match self.redis.run(&ADD, call).await.and_then(|answer| answer.read::<u64>()) {
            Ok(bytes) => shared.room.set_bytes_of(share, bytes),
            // What this node knows still counts, and is added the next time.
            Err(_) => {
                for (minute, bytes) in taken {
                    counted.add(bytes, Timestamp::from_millis(minute * MINUTE), now);
                }
            }
        }
    }

    fn share_key(&self, letter: char, issuer: &IssuerId, share: ShareNumber) -> Key {
        // No issuer is called so.
        let name = if share == ShareNumber::OTHERS { "*" } else { issuer.as_str() };
        self.redis.tags().named(&format!("share:{name}")).key(letter, b"")
    }

    fn count(&self, shared: Shared<'_>, share: ShareNumber, bytes: usize, end: Timestamp) {
        if let Some(counted) = shared.counted.get(share.index()).filter(|_| share != ShareNumber::NOBODY) {
            shared.room.moved_of(share, 0, bytes);
            counted.add(bytes as u64, end, self.now());
        }
    }

    /// Counts a mark, which goes at `end`.
    pub(crate) fn count_mark(&self, share: ShareNumber, end: Timestamp) {
        self.count(self.shared_marks(), share, ASSERTION_MARK as usize, end);
    }

    /// Counts a code by e-mail, which goes at `end`.
    pub(crate) fn count_email_code(&self, share: ShareNumber, end: Timestamp) {
        self.count(self.shared_email_codes(), share, EMAIL_CODE as usize, end);
    }

    /// Counts a code, which goes at `end`, with a grant of so many bytes.
    pub(crate) fn count_code(&self, share: ShareNumber, grant: usize, end: Timestamp) {
        self.count(self.shared_codes(), share, grant + BESIDE_GRANT, end);
    }

    /// What [`count_redeemed_code`](Self::count_redeemed_code) has to know of a code: share and bytes.
    pub(crate) fn entry_of_code(&self, issuer: &IssuerId, grant: usize) -> u64 {
        let room = self.figures.code_room();
        let share = room.share().map_or(ShareNumber::NOBODY, |_| room.share_of(issuer.as_str()));
        u64::from(share.to_u16()) << 32 | u64::from(u32::try_from(grant).unwrap_or(u32::MAX))
    }

    /// Counts a code that was redeemed, and is kept longer for it: until `end`.
    pub(crate) fn count_redeemed_code(&self, entry: u64, end: Timestamp) {
        let share = ShareNumber::of_u16(u16::try_from(entry >> 32).unwrap_or_default());
        self.count_code(share, usize::try_from(entry & u64::from(u32::MAX)).unwrap_or_default(), end);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use symbolon_crypto::random::SeededRandom;
    use symbolon_protocol::client_authentication::AssertionUse;
    use symbolon_protocol::code::{AuthorizationCode, CodeGrant};
    use symbolon_protocol::id::{ClientId, Jti};
    use symbolon_store::Outcome;
    use symbolon_store::contract::sample;
    use symbolon_store::port::{Assertions, Codes, EmailCodes, Redemption, Store, Use};

    use super::*;
    use crate::engines::{RedisCluster, RedisServerOptions};
    use crate::testing::{NOW, Place, code_grant, used_memory};

    /// Two nodes of an installation with two issuers, of which one may take half.
    async fn nodes(place: &Place) -> [Arc<ClusterStore>; 2] {
        let nodes = [place.open().await, place.open().await];
        nodes.iter().for_each(|node| node.figures().share_rooms(2, 50));
        nodes
    }

    fn issuers() -> [IssuerId; 2] {
        ["default", "acme"].map(|id| IssuerId::parse(id).unwrap())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_issuers_codes_leave_as_much_free_as_they_take_whichever_node_keeps_them() {
        let redis = RedisCluster::start(RedisServerOptions::default());
        let place = Place::on(&redis, "shared-codes");
        let (nodes, [first, second], random) = (nodes(&place).await, issuers(), SeededRandom::new(1));
        let keep = async |node: usize, issuer: &IssuerId| -> Result<AuthorizationCode, StoreError> {
            let nonce = Some("n".repeat(2_000));
            let grant = CodeGrant { nonce, ..code_grant(issuer, &random, place.now()) };
            nodes[node].keep_code(issuer, grant, place.now(), &random).await
        };
        // Once, so that all scripts, buffers and connections are there when the memory is measured.
        for node in [0, 1] {
            keep(node, &first).await.unwrap();
        }
        let free: u64 = 2 << 20;
        let most = (0..3).map(|node| used_memory(&redis, node)).max().unwrap() + free;
        for node in 0..redis.nodes().len() {
            redis.cli(node, &["CONFIG", "SET", "maxmemory", &(most / 3 * 4).to_string()]);
        }
        let mut kept = Vec::new();
        for turn in 0.. {
            assert!(turn < 4_000, "it took all that there is");
            let Ok(code) = keep(turn % 2, &first).await else { break };
            kept.push(code);
        }
        let bytes = kept.len() as u64 * 2_600;
        assert!((free / 2..free * 2).contains(&bytes), "{} codes, about half of 6 MiB: {bytes}", kept.len());
        let refused = || nodes.iter().map(|node| node.figures().code_room().snapshot().refused).sum::<u64>();
        assert_eq!(refused(), 1);
        for node in [0, 1] {
            let mut late = 0;
            while keep(node, &first).await.is_ok() {
                late += 1;
                assert!(late <= ADD_EVERY, "node {node} does not hear of the other's");
            }
            let code = keep(node, &second).await.unwrap();
            let at = nodes[node].code(&second, &code, NOW).await.unwrap().unwrap().at;
            assert_eq!(nodes[node].redeem_code(&at, NOW).await.unwrap(), Redemption::Redeemed);
        }
        // What was kept before can be redeemed, and stays for it: the share is still used up after the codes' minute.
        for code in &kept {
            let at = nodes[0].code(&first, code, NOW).await.unwrap().unwrap().at;
            assert_eq!(nodes[0].redeem_code(&at, NOW).await.unwrap(), Redemption::Redeemed);
        }
        place.advance(Duration::from_secs(180));
        let room = nodes[0].figures().code_room();
        let share = room.share_of(first.as_str());
        drop(keep(0, &first).await);
        assert!(room.bytes_of(share) >= bytes / 2, "{} of {bytes}", room.bytes_of(share));
        // And is free when they have gone, by the clock of the nodes.
        place.advance(Duration::from_secs(1_200));
        keep(0, &first).await.unwrap();
        assert!(room.bytes_of(share) < 10_000, "{}", room.bytes_of(share));
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_issuers_marks_leave_room_for_those_of_others_whichever_node_sets_them() {
        let place = Place::new("shared-marks");
        let (nodes, [first, second]) = (nodes(&place).await, issuers());
        for node in &nodes {
            node.figures().assertion_room().set_most(1_000 * ASSERTION_MARK);
        }
        let used = |jti: &str| -> AssertionUse {
            let client = ClientId::parse("app").unwrap();
            sample::assertion_use(&client, &Jti::parse(jti).unwrap(), place.now() + Duration::from_secs(60))
        };
        let set = async |node: usize, issuer: &IssuerId, jti: &str| {
            nodes[node].use_assertion(issuer, &used(jti)).await.map(Outcome::in_memory)
        };
        let mut taken = 0_usize;
        while set(taken % 2, &first, &format!("mark-{taken}")).await.is_ok() {
            taken += 1;
            assert!(taken < 1_000, "it took everything");
        }
        // Each node may be 63 marks of the other behind.
        assert!((500..=630).contains(&taken), "{taken} of 1,000");
        assert_eq!(set(0, &second, "another").await.unwrap(), Use::First);
        assert_eq!(set(1, &second, "another").await.unwrap(), Use::Replayed);
        place.advance(Duration::from_secs(1_200));
        for node in [0, 1] {
            assert_eq!(set(node, &first, &format!("later-{node}")).await.unwrap(), Use::First);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_issuers_codes_by_email_leave_room_for_those_of_others() {
        let place = Place::new("shared-email-codes");
        let (nodes, [first, second]) = (nodes(&place).await, issuers());
        for node in &nodes {
            node.figures().email_code_room().set_most(1_000 * EMAIL_CODE);
        }
        let attempt = async |node: usize, issuer: &IssuerId, id: &str| {
            let end = place.now() + Duration::from_secs(60);
            nodes[node].try_email_code(issuer, (id, end), false).await.map(Outcome::in_memory)
        };
        let mut taken = 0_usize;
        while attempt(taken % 2, &first, &format!("code-{taken}")).await.is_ok() {
            // A code is counted once, however often it is tried.
            attempt(taken % 2, &first, &format!("code-{taken}")).await.unwrap();
            taken += 1;
            assert!(taken < 1_000, "it took everything");
        }
        assert!((500..=630).contains(&taken), "{taken} of 1,000");
        attempt(0, &second, "another").await.unwrap();
        attempt(1, &second, "another").await.unwrap();
        place.advance(Duration::from_secs(1_200));
        for node in [0, 1] {
            attempt(node, &first, &format!("later-{node}")).await.unwrap();
        }
    }

    #[test]
    fn what_stays_long_is_counted_by_days_and_all_else_by_minutes() {
        let now = Timestamp::from_millis(1_000 * DAY * MINUTE);
        let at = |minutes: u64| minute((now + Duration::from_secs(minutes * 60)).millis(), now) - 1_000 * DAY;
        assert_eq!([at(0), at(1), at(16), at(60), at(62), at(DAY + 1)], [1, 1, 16, 60, DAY, 2 * DAY]);
    }
}
