//! Pushed authorization requests in memory: each is used once by its client. They are lost when the process ends.

use async_trait::async_trait;
use parking_lot::Mutex;
use symbolon_crypto::digest;
use symbolon_crypto::random::Random;
use symbolon_figures::{Room, ShareNumber, StoreKind};
use symbolon_protocol::authorize::pushed_request::PushedRequestId;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::id_text::IdText;
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{self, PushedBy, Shards};
use symbolon_store::shard::ShardKind;

use crate::EmbeddedStore;
use crate::room::PUSHED_REQUESTS;
use crate::sharded::{Key, KeyMap, slot_of_key};

/// The locks that all requests share.
const LOCKS: usize = 64;

/// The most that one client may take of the room, in percent, and all those together that anybody can be: what is pushed beyond
/// keeps no other client out.
const OF_CLIENT: u64 = 50;

/// Memory of a request besides its parameters: its key, its issuer and client, its end, its shares, and its place in a table that is
/// three quarters full on average.
const BESIDE_REQUEST: usize = 160;

/// The key of a request: a digest of its id alone, which fits a single block. Issuer and client stand beside the request.
fn key_of(id: &PushedRequestId) -> Key {
    digest::sha256(&[id.expose().as_bytes()]).first_chunk().copied().unwrap_or_default()
}

/// One request.
struct Kept {
    request: Box<[u8]>,
    /// Who alone may use it.
    issuer: IssuerId,
    client: ClientId,
    end: Timestamp,
    /// The issuer and the client for which it counts.
    shares: Shares,
}

#[derive(Clone, Copy)]
struct Shares {
    issuer: ShareNumber,
    client: ShareNumber,
}

impl Kept {
    fn is_of(&self, issuer: &IssuerId, client: &ClientId) -> bool {
        self.issuer == *issuer && self.client == *client
    }

    fn bytes(&self) -> usize {
        self.request.len() + BESIDE_REQUEST
    }
}

/// All requests that were pushed and not used.
pub(crate) struct PushedRequests {
    locks: Box<[Mutex<KeyMap<Kept>>]>,
    /// What each client takes.
    clients: Room,
}

impl Default for PushedRequests {
    fn default() -> Self {
        let clients = Room::new();
        clients.set_most(PUSHED_REQUESTS);
        clients.set_share(OF_CLIENT);
        Self { locks: (0..LOCKS).map(|_| Mutex::default()).collect(), clients }
    }
}

impl PushedRequests {
    fn of(&self, key: &Key) -> Result<&Mutex<KeyMap<Kept>>, StoreError> {
        let lock = slot_of_key(key) as usize % LOCKS;
        self.locks.get(lock).ok_or_else(|| StoreError::Failed("a pushed request has no place".into()))
    }
}

impl EmbeddedStore {
    fn room_of_pushed_request(&self, issuer: &IssuerId, by: PushedBy<'_>) -> Result<Shares, StoreError> {
        let (room, clients) = (self.figures.pushed_request_room(), &self.pushed_requests.clients);
        // A single issuer has no share to be counted for.
        let of_issuer = room.share_percent().map_or(ShareNumber::NOBODY, |_| room.share_of(issuer.as_str()));
        // No id contains a space, and none is empty.
        let of = if by.is_stranger { "" } else { by.client.as_str() };
        let of_client = clients.share_of(IdText::new(issuer.as_str()).text(" ").text(of).as_str());
        if !room.admits(of_issuer) {
            return Err(StoreError::no_room("pushed requests", !room.is_within_share(of_issuer)));
        }
        if !clients.is_within_share(of_client) {
            room.refuse();
            let why = "pushed requests of one client take all that one client may";
            return Err(StoreError::Unavailable(why.into()));
        }
        Ok(Shares { issuer: of_issuer, client: of_client })
    }

    fn count_pushed_request(&self, kept: &Kept, (before, after): (usize, usize)) {
        let room = self.figures.pushed_request_room();
        room.moved(before, after);
        room.moved_of(kept.shares.issuer, before, after);
        self.pushed_requests.clients.moved_of(kept.shares.client, before, after);
    }

    /// Runs `work` on the requests of a key, under their lock and measured.
    fn on_pushed_requests<R>(
        &self,
        key: &Key,
        work: impl FnOnce(&mut KeyMap<Kept>) -> R,
    ) -> Result<R, StoreError> {
        let mut timer = self.figures.kind(StoreKind::PushedRequest).start(0);
        let lock = self.pushed_requests.of(key)?;
        let mut requests = lock.try_lock().unwrap_or_else(|| {
            let requests = lock.lock();
            timer.admitted();
            requests
        });
        let result = work(&mut requests);
        drop(requests);
        timer.finish(true);
        Ok(result)
    }

    pub(crate) async fn sweep_pushed_requests(&self, now: Timestamp) -> u64 {
        let mut gone = 0;
        for lock in &self.pushed_requests.locks {
            gone += self.sweep_some_pushed_requests(&mut lock.lock(), now);
            tokio::task::yield_now().await;
        }
        gone
    }

    fn sweep_some_pushed_requests(&self, requests: &mut KeyMap<Kept>, now: Timestamp) -> u64 {
        let before = requests.len();
        requests.retain(|_, kept| {
            let stays = kept.end > now;
            if !stays {
                self.count_pushed_request(kept, (kept.bytes(), 0));
            }
            stays
        });
        if requests.capacity() > 4 * requests.len() + 64 {
            requests.shrink_to_fit();
        }
        (before - requests.len()) as u64
    }
}

#[async_trait]
impl port::PushedRequests for EmbeddedStore {
    async fn keep_pushed_request(
        &self,
        issuer: &IssuerId,
        by: PushedBy<'_>,
        request: Box<[u8]>,
        expires_at: Timestamp,
        random: &dyn Random,
    ) -> Result<PushedRequestId, StoreError> {
        self.check_not_frozen()?;
        let shares = self.room_of_pushed_request(issuer, by)?;
        let id = self.place(ShardKind::Challenge).draw::<32>(ShardKind::Challenge, random);
        let id = PushedRequestId::new(id);
        let key = key_of(&id);
        let kept =
            Kept { request, issuer: issuer.clone(), client: by.client.clone(), end: expires_at, shares };
        self.count_pushed_request(&kept, (0, kept.bytes()));
        self.on_pushed_requests(&key, |requests| requests.insert(key, kept))?;
        Ok(id)
    }

    async fn use_pushed_request(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        id: &PushedRequestId,
        now: Timestamp,
    ) -> Result<Option<Box<[u8]>>, StoreError> {
        self.check_not_frozen()?;
        let key = key_of(id);
        // Whoever else knows the id uses nothing up.
        let taken = self.on_pushed_requests(&key, |requests| {
            requests.get(&key).filter(|kept| kept.is_of(issuer, client))?;
            requests.remove(&key)
        })?;
        let Some(kept) = taken else { return Ok(None) };
        self.count_pushed_request(&kept, (kept.bytes(), 0));
        Ok((kept.end > now).then_some(kept.request))
    }
}

#[cfg(test)]
mod tests {
    use symbolon_crypto::random::SeededRandom;
    use symbolon_store::port::PushedRequests as _;

    use super::*;
    use crate::open::tests::options;

    #[tokio::test]
    async fn a_client_that_pushes_without_end_keeps_no_other_out() {
        const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
        let home = tempfile::tempdir().unwrap();
        let store = EmbeddedStore::open(options(home.path())).unwrap();
        let (issuer, random) = (IssuerId::default_issuer(), SeededRandom::new(1));
        let end = NOW + std::time::Duration::from_secs(60);
        let push = async |client: &str, is_stranger: bool| {
            let (client, request) = (ClientId::parse(client).unwrap(), vec![7; 8 * 1024].into_boxed_slice());
            store
                .keep_pushed_request(
                    &issuer,
                    PushedBy { client: &client, is_stranger },
                    request,
                    end,
                    &random,
                )
                .await
        };
        store.pushed_requests.clients.set_most(1 << 20);
        let taken = (1 << 19) / (8 * 1024 + BESIDE_REQUEST) + 1;
        for _ in 0..taken {
            push("loud", false).await.unwrap();
        }
        assert!(matches!(push("loud", false).await, Err(StoreError::Unavailable(_))));
        push("quiet", false).await.unwrap();
        assert_eq!(store.sweep_pushed_requests(end).await, taken as u64 + 1);
        assert_eq!(store.figures.pushed_request_room().snapshot().bytes, 0);
        push("loud", false).await.unwrap();

        // Whom anybody can be, takes half together with all others of the kind.
        for number in 0..taken {
            push(&format!("stranger-{number}"), true).await.unwrap();
        }
        assert!(matches!(push("another-stranger", true).await, Err(StoreError::Unavailable(_))));
        push("quiet", false).await.unwrap();
    }
}
