//! What clients ask people for, in Redis: one hash each, and for each person a list of what waits. All of a person's lie in one constant
//! slot, which their ids have.

use std::sync::LazyLock;

use async_trait::async_trait;
use symbolon_figures::StoreKind;
use symbolon_protocol::backchannel_authentication::{
    AuthReqId, BackchannelAuthentication, BackchannelRequestId, LONGEST_LIFETIME, MOST_SHOWN, MOST_WAITING,
};
use symbolon_protocol::decision::{Decision, INTERVAL};
use symbolon_protocol::grant::Slot;
use symbolon_protocol::id::{ClientId, IssuerId, UserId};
use symbolon_protocol::time::Timestamp;
use symbolon_store::StoreError;
use symbolon_store::port::{
    BackchannelAuthentications, Decided, Deciding, KeptBackchannelAuthentication, Polled, Redemption,
};
use symbolon_store::shard::{Route, ShardKind, record_key};

use crate::redis::{Key, Script, ScriptCall};
use crate::share::OfClients;
use crate::undecided::{GRANT, Listed, Place};
use crate::{ClusterStore, from_document, key_text, to_document};

/// Keeps a record and puts it into its user's list, unless as many of its client are there as may be. Returns 1 if it did, 0 if it may
/// not, 2 if another record has its id. A name in the list is the id, a space, and the client.
static KEEP: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local there = redis.call('HGET', KEYS[1], 's')
         if there then
           if there == ARGV[1] then return 1 end
           return 2
         end
         redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', ARGV[8])
         local own = 0
         for _, name in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1)) do
           if string.sub(name, 24) == ARGV[2] then own = own + 1 end
         end
         if own >= tonumber(ARGV[9]) then return 0 end
         redis.call('HSET', KEYS[1], 's', ARGV[1], 'c', ARGV[2], 'a', ARGV[3], 'e', ARGV[4], 'i', ARGV[5], 'w', ARGV[7])
         redis.call('PEXPIRE', KEYS[1], ARGV[6])
         redis.call('ZADD', KEYS[2], ARGV[4], ARGV[10])
         redis.call('PEXPIRE', KEYS[2], ARGV[11])
         return 1",
    )
});

/// Reads some records: what is asked for, and the decision.
static READ: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local all = {}
         for place, key in ipairs(KEYS) do all[place] = redis.call('HMGET', key, 'a', 'd') end
         return all",
    )
});

/// A record as [`READ`] has it.
type Fields = Vec<Option<Vec<u8>>>;

/// The record of its fields; `None` if it is not there, is another issuer's, or has ended.
fn found(
    issuer: &IssuerId,
    id: BackchannelRequestId,
    fields: Fields,
    now: Timestamp,
) -> Result<Option<KeptBackchannelAuthentication>, StoreError> {
    let mut fields = fields.into_iter();
    let Some(asked) = fields.next().flatten() else { return Ok(None) };
    let asked: BackchannelAuthentication = from_document(asked)?;
    let decision: Option<Decision> = fields.next().flatten().map(from_document).transpose()?;
    let decided = decision.as_ref().map(Decided::from);
    // The key of a record has its issuer in it; the slot is looked at all the same.
    let is_here = Slot::of(issuer, asked.user.as_str()) == id.slot() && asked.expires_at > now;
    Ok(is_here.then_some(KeptBackchannelAuthentication { id, asked, decided }))
}

/// The name of a request in its user's list.
fn name_of(id: &BackchannelRequestId, client: &ClientId) -> String {
    format!("{id} {client}")
}

impl ClusterStore {
    /// The place of a request: its key has the issuer in it, so that an id means nothing to another.
    fn place_of_request(&self, issuer: &IssuerId, id: &BackchannelRequestId) -> (Key, u32) {
        let route = Route { generation: 0, shard: id.slot().number().into() };
        let text = key_text(&record_key(issuer, &id.to_string()));
        (self.redis.tags().shard(ShardKind::Challenge, route).key('b', text.as_bytes()), route.shard)
    }

    /// The list of what waits for a user.
    fn list_of(&self, issuer: &IssuerId, user: &UserId) -> (Key, u32) {
        let route = Route { generation: 0, shard: Slot::of(issuer, user.as_str()).number().into() };
        let text = key_text(&record_key(issuer, user.as_str()));
        (self.redis.tags().shard(ShardKind::Challenge, route).key('w', text.as_bytes()), route.shard)
    }

    fn place_of_auth_req_id(&self, issuer: &IssuerId, id: &AuthReqId) -> Option<Place> {
        let parts = id.parts(issuer)?;
        let (key, shard) = self.place_of_request(issuer, &parts.request);
        let kind = StoreKind::BackchannelAuthentication;
        Some(Place { kind, key, shard, secret_digest: key_text(&parts.secret_digest) })
    }

    /// Reads records, all of one slot.
    async fn read_requests(&self, keys: &[&Key], shard: u32) -> Result<Vec<Fields>, StoreError> {
        let call = ScriptCall { keys, arguments: &[] };
        let run = async { self.redis.run(&READ, call).await?.read::<Vec<Fields>>() };
        self.measured(StoreKind::BackchannelAuthentication, shard, run).await
    }

    /// Runs [`KEEP`]; returns its answer.
    async fn keep_request(
        &self,
        place: &Place,
        (list, name): (&Key, &str),
        (asked, document): (&BackchannelAuthentication, &str),
    ) -> Result<u8, StoreError> {
        let life = asked.expires_at.since(asked.asked_at).as_millis().max(1_000).to_string();
        let [end, now] = [asked.expires_at, asked.asked_at].map(|time| time.millis().to_string());
        let [interval, longest] =
            [INTERVAL, LONGEST_LIFETIME].map(|duration| duration.as_millis().to_string());
        let most = MOST_WAITING.to_string();
        let arguments = [
            place.secret_digest.as_bytes(),
            asked.client.as_str().as_bytes(),
            document.as_bytes(),
            end.as_bytes(),
            interval.as_bytes(),
            life.as_bytes(),
            asked.user.as_str().as_bytes(),
            now.as_bytes(),
            most.as_bytes(),
            name.as_bytes(),
            longest.as_bytes(),
        ];
        let call = ScriptCall { keys: &[&place.key, list], arguments: &arguments };
        let run = async { self.redis.run(&KEEP, call).await?.read::<u8>() };
        self.measured(place.kind, place.shard, run).await
    }
}

#[async_trait]
impl BackchannelAuthentications for ClusterStore {
    async fn keep_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &AuthReqId,
        asked: BackchannelAuthentication,
    ) -> Result<bool, StoreError> {
        let _pass = self.gate.enter()?;
        let not_ours = || StoreError::Failed("no auth_req_id".into());
        let parts = id.parts(issuer).ok_or_else(not_ours)?;
        let place = self.place_of_auth_req_id(issuer, id).ok_or_else(not_ours)?;
        let (list, _) = self.list_of(issuer, &asked.user);
        let document = to_document(&asked)?;
        let room = self.figures.backchannel_authentication_room();
        self.admit(room, (&place.key, place.shard)).await?;
        // Together with what devices ask for.
        let of = (issuer, asked.client.as_str());
        let client = self.admit_client(OfClients::DeviceAuthorizations, of).await?;
        let share = self.admit_share_of_codes(issuer, &place.key).await?;
        let counting = self.counting_code(share, asked.expires_at).for_client(client);
        // The grant has most of it a second time.
        counting.set_grant(2 * document.len() + GRANT);
        let name = name_of(&parts.request, &asked.client);
        let kept = self.keep_request(&place, (&list, &name), (&asked, &document)).await?;
        if kept != 1 {
            counting.cancel();
        }
        match kept {
            1 => Ok(true),
            0 => Ok(false),
            _ => Err(StoreError::Failed("the auth_req_id is taken".into())),
        }
    }

    async fn backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &BackchannelRequestId,
        now: Timestamp,
    ) -> Result<Option<KeptBackchannelAuthentication>, StoreError> {
        let (key, shard) = self.place_of_request(issuer, id);
        let records = self.read_requests(&[&key], shard).await?;
        records.into_iter().next().map_or(Ok(None), |fields| found(issuer, *id, fields, now))
    }

    async fn waiting_backchannel_authentications(
        &self,
        issuer: &IssuerId,
        user: &UserId,
        now: Timestamp,
    ) -> Result<Vec<KeptBackchannelAuthentication>, StoreError> {
        let (list, shard) = self.list_of(issuer, user);
        let mut cmd = redis::cmd("ZRANGEBYSCORE");
        cmd.arg(list.as_bytes()).arg(format!("({}", now.millis())).arg("+inf");
        cmd.arg("LIMIT").arg(0).arg(MOST_SHOWN);
        let ask = async { self.redis.ask_at(list.hash_slot(), &cmd).await?.read::<Vec<String>>() };
        let names = self.measured(StoreKind::BackchannelAuthentication, shard, ask).await?;
        let id_of =
            |name: &String| name.split_once(' ').and_then(|(id, _)| id.parse::<BackchannelRequestId>().ok());
        let ids: Vec<BackchannelRequestId> = names.iter().filter_map(id_of).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<Key> = ids.iter().map(|id| self.place_of_request(issuer, id).0).collect();
        let keys: Vec<&Key> = keys.iter().collect();
        let records = self.read_requests(&keys, shard).await?;
        let mut waiting = Vec::with_capacity(ids.len());
        for (id, fields) in ids.into_iter().zip(records) {
            // It may have been decided, or have ended, since the list was read.
            let kept = found(issuer, id, fields, now)?;
            waiting.extend(kept.filter(|kept| kept.decided.is_none() && kept.asked.user == *user));
        }
        Ok(waiting)
    }

    async fn decide_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        id: &BackchannelRequestId,
        decision: Decision,
        now: Timestamp,
    ) -> Result<Deciding, StoreError> {
        let _pass = self.gate.enter()?;
        // Its name in the list has the client in it, which only the record knows.
        let Some(kept) = self.backchannel_authentication(issuer, id, now).await? else {
            return Ok(Deciding::Unknown);
        };
        if kept.asked.user != *decision.user() {
            return Ok(Deciding::Unknown);
        }
        let (key, shard) = self.place_of_request(issuer, id);
        let (list, _) = self.list_of(issuer, &kept.asked.user);
        let name = name_of(id, &kept.asked.client);
        let listed = Some(Listed { list: &list, name: &name });
        let at = (StoreKind::BackchannelAuthentication, &key, shard);
        self.decide_undecided(at, listed, &decision, now).await
    }

    async fn poll_backchannel_authentication(
        &self,
        issuer: &IssuerId,
        client: &ClientId,
        id: &AuthReqId,
        now: Timestamp,
    ) -> Result<Polled, StoreError> {
        let _pass = self.gate.enter()?;
        let Some(place) = self.place_of_auth_req_id(issuer, id) else { return Ok(Polled::Unknown) };
        self.poll_undecided(&place, client, now).await
    }

    async fn redeem_auth_req_id(
        &self,
        issuer: &IssuerId,
        id: &AuthReqId,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        let _pass = self.gate.enter()?;
        let Some(place) = self.place_of_auth_req_id(issuer, id) else { return Ok(Redemption::Unknown) };
        self.redeem_undecided(&place, now).await
    }
}
