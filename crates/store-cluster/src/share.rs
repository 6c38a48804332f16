//! What each issuer takes of the rooms for codes, for marks and for codes by e-mail, so that one cannot fill them for the
//! others.
//!
//! Redis and PostgreSQL know what all records take, and not whose they are. So every issuer has a hash in Redis for each
//! of the three: the bytes of its records by the minute in which they go. Each node counts what it stores, and adds that
//! to the hash with every 64th record of the issuer, from which it learns what the other nodes have stored.
//!
//! It is an estimate: a node knows of the others' records 63 records late, an addition that was repeated after a lost
//! answer counts twice until its minute, and one that Redis lost does not count. Nothing is counted for an issuer where there is one
//! issuer; what counts for clients is [counted](client) all the same.

mod client;

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use symbolon_figures::{Room, ShareNumber, StoreFigures};
use symbolon_protocol::id::IssuerId;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::shard::ShardKind;

use crate::ClusterStore;
use crate::redis::{Key, Script, ScriptCall};
use crate::room::{ASSERTION_MARK, EMAIL_CODE};

use client::Clients;
pub(crate) use client::{ClientShare, OfClients};

/// How many records of an issuer this node stores between two additions to its hash.
const ADD_EVERY: u32 = 64;

/// How long after an issuer was found to have its share no hash is read for it, in milliseconds.
const FULL_FOR: u64 = 1_000;

/// What a code takes in Redis besides its grant: header, key, and its places in the tables of keys and of ends.
const BESIDE_GRANT: u64 = 192;

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
pub(crate) struct ShareCounts {
    figures: Arc<StoreFigures>,
    codes: Box<[Counted]>,
    marks: Box<[Counted]>,
    email_codes: Box<[Counted]>,
    pushed_requests: Clients,
    device_authorizations: Clients,
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

impl ShareCounts {
    pub(crate) fn new(figures: &Arc<StoreFigures>) -> Self {
        let none = || (0..ShareNumber::COUNT).map(|_| Counted::default()).collect();
        Self {
            figures: Arc::clone(figures),
            codes: none(),
            marks: none(),
            email_codes: none(),
            pushed_requests: Clients::of_pushed_requests(),
            device_authorizations: Clients::of_device_authorizations(),
        }
    }

    fn of_marks(&self) -> Shared<'_> {
        Shared { room: self.figures.assertion_room(), counted: &self.marks, letter: 'm', code: None }
    }

    fn of_email_codes(&self) -> Shared<'_> {
        Shared { room: self.figures.email_code_room(), counted: &self.email_codes, letter: 'e', code: None }
    }

    /// Counts a mark that was set, and goes at `end`.
    pub(crate) fn count_mark(&self, share: ShareNumber, end: Timestamp, now: Timestamp) {
        self.of_marks().count(share, ASSERTION_MARK, end, now);
    }

    /// Counts a code by e-mail of which a record was begun, which goes at `end`.
    pub(crate) fn count_email_code(&self, share: ShareNumber, end: Timestamp, now: Timestamp) {
        self.of_email_codes().count(share, EMAIL_CODE, end, now);
    }
}

/// Counts a code when it is dropped, unless nothing of it was stored: a request is given up when its connection closes, and
/// then it may be on its way to Redis.
pub(crate) struct CodeCount<'a> {
    store: &'a ClusterStore,
    share: ShareNumber,
    end: Timestamp,
    /// The bytes of its grant.
    grant: AtomicU64,
    /// The client for which it counts too.
    client: Option<ClientShare>,
}

impl CodeCount<'_> {
    /// Says how many bytes the grant has.
    pub(crate) fn set_grant(&self, bytes: usize) {
        self.grant.store(bytes as u64, Ordering::Relaxed);
    }

    /// Has it count for a client too.
    #[must_use]
    pub(crate) fn for_client(mut self, client: ClientShare) -> Self {
        self.client = Some(client);
        self
    }

    /// Says that nothing was stored.
    pub(crate) fn cancel(mut self) {
        self.share = ShareNumber::NOBODY;
        self.client = None;
    }
}

impl Drop for CodeCount<'_> {
    fn drop(&mut self) {
        if self.share == ShareNumber::NOBODY && self.client.is_none() {
            return;
        }
        let bytes = self.grant.load(Ordering::Relaxed) + BESIDE_GRANT;
        let now = self.store.now();
        self.store.shared_codes(None).count(self.share, bytes, self.end, now);
        if let Some((kind, share)) = self.client {
            self.store.shares.of_clients(kind).count(share, bytes, self.end, now);
        }
    }
}

/// Bytes by minute that are on their way to an issuer's hash. What did not arrive there when this is dropped is added the next
/// time: after an error, or when the request that adds it was given up.
struct Adding<'a> {
    counted: &'a Counted,
    bytes: Vec<(u64, u64)>,
    now: Timestamp,
}

impl Drop for Adding<'_> {
    fn drop(&mut self) {
        for (minute, bytes) in self.bytes.drain(..) {
            self.counted.add(bytes, Timestamp::from_millis(minute * MINUTE), self.now);
        }
    }
}

/// One of the rooms that are shared out, with the letter of its hashes.
#[derive(Clone, Copy)]
struct Shared<'a> {
    room: &'a Room,
    counted: &'a [Counted],
    letter: char,
    /// The code that is to be stored, where the room is memory of Redis: its primary is looked at.
    code: Option<&'a Key>,
}

impl Shared<'_> {
    fn count(self, share: ShareNumber, bytes: u64, end: Timestamp, now: Timestamp) {
        if let Some(counted) = self.counted.get(share.index()).filter(|_| share != ShareNumber::NOBODY) {
            self.room.moved_of(share, 0, usize::try_from(bytes).unwrap_or(usize::MAX));
            counted.add(bytes, end, now);
        }
    }
}

impl ClusterStore {
    fn shared_codes<'a>(&'a self, code: Option<&'a Key>) -> Shared<'a> {
        Shared { room: self.figures.code_room(), counted: &self.shares.codes, letter: 'c', code }
    }

    /// The share under which an issuer's codes are counted, if it has room for one more.
    ///
    /// All records of Redis are in one memory, and sessions may take any part of it. So an issuer may take its part of
    /// what its own codes take and what is free for codes: with a half, as much as it leaves for all others.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: it has not.
    pub(crate) async fn admit_share_of_codes(
        &self,
        issuer: &IssuerId,
        code: &Key,
    ) -> Result<ShareNumber, StoreError> {
        let shared = self.shared_codes(Some(code));
        let Some(percent) = shared.room.share_percent() else { return Ok(ShareNumber::NOBODY) };
        let share = shared.room.share_of(issuer.as_str());
        let is_full = || self.codes_are_over(share, percent);
        self.read_share(shared, (issuer.as_str(), share), &is_full).await;
        if is_full() {
            shared.room.refuse();
            return Err(StoreError::no_room("codes", true));
        }
        Ok(share)
    }

    fn codes_are_over(&self, share: ShareNumber, percent: u64) -> bool {
        let room = self.figures.code_room();
        self.leaves_too_little(room, room.bytes_of(share), percent)
    }

    /// Whether somebody's records take more than so many percent of what they take and what is free for codes in Redis, where
    /// `room` has what a primary uses.
    fn leaves_too_little(&self, room: &Room, own: u64, percent: u64) -> bool {
        let all = room.snapshot();
        // Every primary that has shards is taken to be as full as the one that was looked at last: codes are spread over them.
        let Some(primaries) = self.redis.primaries().filter(|_| all.most != u64::MAX) else { return false };
        let primaries = primaries.min(self.generations.shards(ShardKind::Code) as usize);
        let free = all.most.saturating_sub(all.bytes).saturating_mul(primaries as u64);
        own.saturating_mul(100 - percent) > free.saturating_mul(percent)
    }

    /// The share under which an issuer's marks are counted.
    pub(crate) async fn share_of_marks(&self, issuer: &IssuerId) -> ShareNumber {
        self.share_in_postgres(self.shares.of_marks(), issuer).await
    }

    /// The share under which an issuer's codes by e-mail are counted.
    pub(crate) async fn share_of_email_codes(&self, issuer: &IssuerId) -> ShareNumber {
        self.share_in_postgres(self.shares.of_email_codes(), issuer).await
    }

    async fn share_in_postgres(&self, shared: Shared<'_>, issuer: &IssuerId) -> ShareNumber {
        if shared.room.share_percent().is_none() {
            return ShareNumber::NOBODY;
        }
        let share = shared.room.share_of(issuer.as_str());
        self.read_share(shared, (issuer.as_str(), share), &|| !shared.room.is_within_share(share)).await;
        share
    }

    /// Adds what this node has stored of an issuer, or of a client, to the hash of that name and reads it, if that is due.
    async fn read_share(
        &self,
        shared: Shared<'_>,
        (name, share): (&str, ShareNumber),
        is_full: &(dyn Fn() -> bool + Sync),
    ) {
        let Some(counted) = shared.counted.get(share.index()) else { return };
        let now = self.now();
        if counted.is_due(is_full(), now) {
            // Boxed to keep the callers' futures small: this branch is rarely taken.
            Box::pin(self.add_to_share(shared, counted, (name, share), now)).await;
        }
    }

    async fn add_to_share(
        &self,
        shared: Shared<'_>,
        counted: &Counted,
        (name, share): (&str, ShareNumber),
        now: Timestamp,
    ) {
        let mut adding = Adding { counted, bytes: counted.take(now), now };
        let numbers: Vec<String> = std::iter::once(now.millis() / MINUTE)
            .chain(adding.bytes.iter().flat_map(|(minute, bytes)| [*minute, *bytes]))
            .map(|number| number.to_string())
            .collect();
        let arguments: Vec<&[u8]> = numbers.iter().map(|number| number.as_bytes()).collect();
        let key = self.share_key(shared.letter, name, share);
        if let Some(code) = shared.code {
            // For the free memory, which an issuer's part depends on.
            self.is_full(shared.room, code).await;
        }
        let call = ScriptCall { keys: &[&key], arguments: &arguments };
        if let Ok(bytes) = self.redis.run(&ADD, call).await.and_then(|answer| answer.read::<u64>()) {
            adding.bytes.clear();
            shared.room.set_bytes_of(share, bytes);
        }
    }

    fn share_key(&self, letter: char, name: &str, share: ShareNumber) -> Key {
        // No issuer is called so, and no digest.
        let name = if share == ShareNumber::OTHERS { "*" } else { name };
        self.redis.tags().named(&format!("share:{name}")).key(letter, b"")
    }

    /// Counts a code once it is dropped, unless that is cancelled. The code goes at `end`.
    pub(crate) fn counting_code(&self, share: ShareNumber, end: Timestamp) -> CodeCount<'_> {
        CodeCount { store: self, share, end, grant: AtomicU64::new(0), client: None }
    }

    /// What [`counting_redeemed_code`](Self::counting_redeemed_code) has to know of a code: share and bytes.
    pub(crate) fn entry_of_code(&self, issuer: &IssuerId, grant: usize) -> u64 {
        let room = self.figures.code_room();
        let share = room.share_percent().map_or(ShareNumber::NOBODY, |_| room.share_of(issuer.as_str()));
        u64::from(share.to_u16()) << 32 | u64::from(u32::try_from(grant).unwrap_or(u32::MAX))
    }

    /// Counts a code that is redeemed, and kept until `end` for it, once this is dropped. Until its own end it counts twice.
    pub(crate) fn counting_redeemed_code(&self, entry: u64, end: Timestamp) -> CodeCount<'_> {
        let share = ShareNumber::of_u16(u16::try_from(entry >> 32).unwrap_or_default());
        let grant = AtomicU64::new(entry & u64::from(u32::MAX));
        CodeCount { store: self, share, end, grant, client: None }
    }
}

#[cfg(test)]
mod tests;
