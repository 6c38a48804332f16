//! Pushed authorization requests in Redis, each of which is used once by its client.
//!
//! They are in the shards of the challenges, and count with the codes of their issuer for the share that it may take: an issuer
//! that pushes without end keeps no other one from making codes. They count for their client too. Their use does not wait for a replica. If a primary is lost at
//! that moment, the same client can use the request a second time until it ends, which RFC 9126 4 allows; the code that
//! comes of it is used once all the same.

use std::io::Write;

use async_trait::async_trait;
use symbolon_crypto::random::Random;
use symbolon_figures::StoreKind;
use symbolon_protocol::authorize::pushed_request::PushedRequestId;
use symbolon_protocol::id::{ClientId, IssuerId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{PushedBy, PushedRequests, Shards};
use symbolon_store::shard::{ShardKind, pushed_request_key};

use crate::redis::Key;
use crate::share::OfClients;
use crate::{ClusterStore, failed, key_text};

impl ClusterStore {
    fn pushed_request_key(&self, issuer: &IssuerId, client: &ClientId, id: &PushedRequestId) -> (Key, u32) {
        let route = self.generations.route(ShardKind::Challenge, issuer, id.expose());
        let text = key_text(&pushed_request_key(issuer, client, id));
        (self.redis.tags().shard(ShardKind::Challenge, route).key('p', text.as_bytes()), route.shard)
    }
}

#[async_trait]
impl PushedRequests for ClusterStore {
    async fn keep_pushed_request(
        &self,
        issuer: &IssuerId,
        by: PushedBy<'_>,
        request: Box<[u8]>,
        expires_at: Timestamp,
        random: &dyn Random,
    ) -> Result<PushedRequestId, StoreError> {
        let _pass = self.gate.enter()?;
        let id = self.place(ShardKind::Challenge).draw::<32>(ShardKind::Challenge, random);
        let id = PushedRequestId::new(id);
        let (key, shard) = self.pushed_request_key(issuer, by.client, &id);
        self.admit(self.figures.pushed_request_room(), (&key, shard)).await?;
        let of = if by.is_stranger { "" } else { by.client.as_str() };
        let client = self.admit_client(OfClients::PushedRequests, (issuer, of)).await?;
        let share = self.admit_share_of_codes(issuer, &key).await?;
        let counting = self.counting_code(share, expires_at).for_client(client);
        counting.set_grant(request.len());
        let write = |out: &mut dyn Write| out.write_all(&request).map_err(failed);
        let keep = self.keep_once(&key, write, (expires_at, self.now()));
        self.measured(StoreKind::PushedRequest, 0, keep).await?;
        Ok(id)
    }

    async fn use_pushed_request(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        id: &PushedRequestId,
        now: Timestamp,
    ) -> Result<Option<Box<[u8]>>, StoreError> {
        let _pass = self.gate.enter()?;
        let (key, _) = self.pushed_request_key(issuer, client, id);
        let taken = self.measured(StoreKind::PushedRequest, 0, self.take_value(&key, now)).await?;
        Ok(taken.map(Vec::into_boxed_slice))
    }
}
