//! What each client takes of what is kept for it before anybody has signed in: pushed requests, and what devices ask for. One
//! that asks without end keeps no other client out.
//!
//! A client may take half of as many bytes as the embedded store keeps of all clients, and no more than is free for codes. It is
//! counted as what an issuer takes, and by an estimate as good; but also where there is one issuer. What is used before its end
//! counts until then.

use symbolon_figures::{Room, ShareNumber};
use symbolon_protocol::id::IssuerId;
use symbolon_store::StoreError;
use symbolon_store::shard::record_key;

use super::{Counted, ShareCounts, Shared};
use crate::{ClusterStore, key_text};

/// The most that one client may take, in percent, and all those together that anybody can be.
const OF_CLIENT: u64 = 50;

/// The bytes of pushed requests of which that is a part.
const PUSHED_REQUESTS: u64 = 128 << 20;

/// The same for what devices ask for.
const DEVICE_AUTHORIZATIONS: u64 = 96 << 20;

/// What is kept for clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OfClients {
    PushedRequests,
    DeviceAuthorizations,
}

/// The number under which something counts for its client.
pub(crate) type ClientShare = (OfClients, ShareNumber);

/// What the clients take of one kind.
pub(super) struct Clients {
    room: Room,
    counted: Box<[Counted]>,
}

impl Clients {
    fn new(most: u64) -> Self {
        let room = Room::new();
        room.set_most(most);
        room.set_share(OF_CLIENT);
        Self { room, counted: (0..ShareNumber::COUNT).map(|_| Counted::default()).collect() }
    }

    pub(super) fn of_pushed_requests() -> Self {
        Self::new(PUSHED_REQUESTS)
    }

    pub(super) fn of_device_authorizations() -> Self {
        Self::new(DEVICE_AUTHORIZATIONS)
    }
}

impl ShareCounts {
    pub(super) fn of_clients(&self, kind: OfClients) -> Shared<'_> {
        let (clients, letter) = match kind {
            OfClients::PushedRequests => (&self.pushed_requests, 'n'),
            OfClients::DeviceAuthorizations => (&self.device_authorizations, 'u'),
        };
        Shared { room: &clients.room, counted: &clients.counted, letter, code: None }
    }
}

impl ClusterStore {
    /// The share under which something is counted for its client, if that has room for one more. `client` is empty for all
    /// those together that anybody can be.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`]: it has not.
    pub(crate) async fn admit_client(
        &self,
        kind: OfClients,
        (issuer, client): (&IssuerId, &str),
    ) -> Result<ClientShare, StoreError> {
        let shared = self.shares.of_clients(kind);
        let (room, why) = match kind {
            OfClients::PushedRequests => (
                self.figures.pushed_request_room(),
                "pushed requests of one client take all that one client may",
            ),
            OfClients::DeviceAuthorizations => (
                self.figures.device_authorization_room(),
                "device authorizations of one client take all that one client may",
            ),
        };
        // No id contains a space, and none is empty.
        let share = shared.room.share_of(&format!("{issuer} {client}"));
        let is_full = || {
            let own = shared.room.bytes_of(share);
            !shared.room.is_within_share(share) || self.leaves_too_little(room, own, OF_CLIENT)
        };
        let name = key_text(&record_key(issuer, client));
        self.read_share(shared, (&name, share), &is_full).await;
        if is_full() {
            room.refuse();
            return Err(StoreError::Unavailable(why.into()));
        }
        Ok((kind, share))
    }
}
