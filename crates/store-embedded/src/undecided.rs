//! What waits for somebody's decision, in memory: what devices ask for, and what clients ask people for. Each is decided once and
//! redeemed once, and is lost when the process ends.

use parking_lot::Mutex;
use symbolon_crypto::digest;
use symbolon_figures::{Room, ShareNumber, StoreFigures, StoreKind};
use symbolon_protocol::decision::{Decision, Polling, Undecided};
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{Decided, Deciding, Polled, Redemption};

use crate::sharded::{Key, KeyMap, slot_of_key};

/// The locks that all of a kind share.
const LOCKS: usize = 64;

/// The most that one client may take of the room, in percent: what it asks for beyond keeps no other client out.
const OF_CLIENT: u64 = 50;

/// One request.
pub(crate) struct Kept<A> {
    pub(crate) asked: A,
    /// The digest of the secret by which its client polls.
    secret_digest: [u8; 16],
    polling: Polling,
    decision: Option<Decision>,
    is_used: bool,
    /// The issuer and the client for which it counts, and how many bytes.
    shares: Shares,
    bytes: usize,
}

#[derive(Clone, Copy)]
pub(crate) struct Shares {
    issuer: ShareNumber,
    client: ShareNumber,
}

impl<A: Undecided> Kept<A> {
    pub(crate) fn new(asked: A, secret_digest: [u8; 16], shares: Shares, bytes: usize) -> Self {
        Self {
            asked,
            secret_digest,
            polling: Polling::default(),
            decision: None,
            is_used: false,
            shares,
            bytes,
        }
    }

    /// What was decided, once somebody has.
    pub(crate) fn decided(&self) -> Option<Decided> {
        self.decision.as_ref().map(Decided::from)
    }

    /// A used one is remembered, so that a second use is recognised.
    fn goes_at(&self) -> Timestamp {
        match self.is_used {
            true => self.asked.expires_at() + KEPT_AFTER_END,
            false => self.asked.expires_at(),
        }
    }

    pub(crate) fn has_ended(&self, now: Timestamp) -> bool {
        self.asked.expires_at() <= now
    }

    pub(crate) fn decide(&mut self, decision: Decision, now: Timestamp) -> Deciding {
        if self.has_ended(now) {
            return Deciding::Unknown;
        }
        match &self.decision {
            Some(before) => Deciding::Before(Decided::from(before)),
            None => {
                self.decision = Some(decision);
                Deciding::Decided
            }
        }
    }

    pub(crate) fn poll(&mut self, client: &ClientId, now: Timestamp) -> Polled {
        if self.asked.client() != client {
            return Polled::OfOtherClient;
        }
        match &self.decision {
            Some(Decision::Allowed(grant)) if self.is_used => Polled::Used(grant.clone()),
            _ if self.has_ended(now) => Polled::Unknown,
            Some(Decision::Allowed(grant)) => Polled::Allowed(grant.clone()),
            Some(Decision::Denied(user)) => Polled::Denied(user.clone()),
            None => match self.polling.poll(now) {
                true => Polled::Pending,
                false => Polled::SlowDown,
            },
        }
    }

    pub(crate) fn redeem(&mut self, now: Timestamp) -> Redemption {
        if self.is_used {
            return Redemption::Replayed;
        }
        let is_allowed = self.decision.as_ref().is_some_and(Decision::is_allowed);
        if self.has_ended(now) || !is_allowed {
            return Redemption::Unknown;
        }
        self.is_used = true;
        Redemption::Redeemed
    }
}

/// All requests of one kind.
pub(crate) struct Waiting<A> {
    locks: Box<[Mutex<KeyMap<Kept<A>>>]>,
    /// What each client takes.
    pub(crate) clients: Room,
    kind: StoreKind,
    /// The room that the kind takes.
    room: fn(&StoreFigures) -> &Room,
    /// What the kind is called where there is no room for one more.
    name: &'static str,
}

impl<A: Undecided> Waiting<A> {
    /// None, with `most` bytes of room.
    pub(crate) fn new(
        (kind, name): (StoreKind, &'static str),
        room: fn(&StoreFigures) -> &Room,
        most: u64,
    ) -> Self {
        let clients = Room::new();
        clients.set_most(most);
        clients.set_share(OF_CLIENT);
        Self { locks: (0..LOCKS).map(|_| Mutex::default()).collect(), clients, kind, room, name }
    }

    /// Whether there is room for one more of a client.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: there is none.
    pub(crate) fn admit(
        &self,
        figures: &StoreFigures,
        issuer: &IssuerId,
        client: &ClientId,
    ) -> Result<Shares, StoreError> {
        let (room, clients) = ((self.room)(figures), &self.clients);
        // A single issuer has no share to be counted for.
        let of_issuer = room.share_percent().map_or(ShareNumber::NOBODY, |_| room.share_of(issuer.as_str()));
        // No id contains a space.
        let of_client = clients.share_of(&format!("{issuer} {client}"));
        if !room.admits(of_issuer) {
            return Err(StoreError::no_room(self.name, !room.is_within_share(of_issuer)));
        }
        if !clients.is_within_share(of_client) {
            room.refuse();
            let why = format!("{} of one client take all that one client may", self.name);
            return Err(StoreError::Unavailable(why));
        }
        Ok(Shares { issuer: of_issuer, client: of_client })
    }

    fn count(&self, figures: &StoreFigures, kept: &Kept<A>, (before, after): (usize, usize)) {
        let room = (self.room)(figures);
        room.moved(before, after);
        room.moved_of(kept.shares.issuer, before, after);
        self.clients.moved_of(kept.shares.client, before, after);
    }

    /// Runs `work` on the records that share a key's lock, measured.
    pub(crate) fn on_all<R>(
        &self,
        figures: &StoreFigures,
        key: &Key,
        work: impl FnOnce(&mut KeyMap<Kept<A>>) -> R,
    ) -> Result<R, StoreError> {
        let mut timer = figures.kind(self.kind).start(0);
        let lock = self.locks.get(slot_of_key(key) as usize % LOCKS);
        let lock = lock.ok_or_else(|| StoreError::Failed("what waits has no place".into()))?;
        let mut all = lock.try_lock().unwrap_or_else(|| {
            let all = lock.lock();
            timer.admitted();
            all
        });
        let result = work(&mut all);
        drop(all);
        timer.finish(true);
        Ok(result)
    }

    /// Runs `work` on the record of a key, if there is one with this secret.
    pub(crate) fn on_secret<R>(
        &self,
        figures: &StoreFigures,
        (key, secret_digest): (&Key, &[u8; 16]),
        work: impl FnOnce(&mut Kept<A>) -> R,
    ) -> Result<Option<R>, StoreError> {
        self.on_all(figures, key, |all| {
            let kept = all.get_mut(key)?;
            digest::constant_time_eq(&kept.secret_digest, secret_digest).then(|| work(kept))
        })
    }

    /// Keeps a record unless its key is taken, in which case it is given back. One that is over makes room.
    pub(crate) fn keep(
        &self,
        figures: &StoreFigures,
        key: &Key,
        kept: Kept<A>,
        now: Timestamp,
    ) -> Result<Option<Kept<A>>, StoreError> {
        self.on_all(figures, key, |all| self.insert(figures, all, (key, kept), now))
    }

    /// As [`keep`](Self::keep), under the lock.
    pub(crate) fn insert(
        &self,
        figures: &StoreFigures,
        all: &mut KeyMap<Kept<A>>,
        (key, kept): (&Key, Kept<A>),
        now: Timestamp,
    ) -> Option<Kept<A>> {
        if all.get(key).is_some_and(|there| there.goes_at() > now) {
            return Some(kept);
        }
        self.count(figures, &kept, (0, kept.bytes));
        if let Some(over) = all.insert(*key, kept) {
            self.count(figures, &over, (over.bytes, 0));
        }
        None
    }

    /// Drops what is over; returns how many.
    pub(crate) async fn sweep(&self, figures: &StoreFigures, now: Timestamp) -> u64 {
        let mut gone = 0;
        for lock in &self.locks {
            gone += self.sweep_some(figures, &mut lock.lock(), now);
            tokio::task::yield_now().await;
        }
        gone
    }

    fn sweep_some(&self, figures: &StoreFigures, all: &mut KeyMap<Kept<A>>, now: Timestamp) -> u64 {
        let before = all.len();
        all.retain(|_, kept| {
            let stays = kept.goes_at() > now;
            if !stays {
                self.count(figures, kept, (kept.bytes, 0));
            }
            stays
        });
        if all.capacity() > 4 * all.len() + 64 {
            all.shrink_to_fit();
        }
        (before - all.len()) as u64
    }
}
