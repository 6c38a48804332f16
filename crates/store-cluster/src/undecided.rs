//! What waits for somebody's decision, in Redis: what devices ask for, and what clients ask people for. One hash each.
//!
//! They are in constant slots of the challenges, and count with the codes of their issuer for the share that it may take. A
//! decision and a redemption wait for a replica as the redemption of a code does. A poll does not: what may be lost of it is how long
//! the client has to wait.
//!
//! The client library repeats a command whose answer was lost. So whoever keeps, decides or redeems writes a random text of its
//! own, by which a repeated command knows that it was the first. A repeated poll may be told to slow down.
//!
//! The fields: `s` digest of the secret by which its client polls, `c` client, `a` what is asked for, `e` its end, `w` for whose decision
//! it waits if that is known, `i` the interval of polls, `p` the last poll, `d` the decision, `o` 1 if it allows, `b` by which call it was
//! decided, `t` by which call it was redeemed. Times are in milliseconds.

use std::sync::LazyLock;

use symbolon_crypto::random;
use symbolon_figures::StoreKind;
use symbolon_protocol::decision::{Decision, JITTER, LONGEST_INTERVAL, SLOWED_BY};
use symbolon_protocol::id::ClientId;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;
use symbolon_store::port::{Decided, Deciding, Polled, Redemption};

use crate::redis::{Key, Script, ScriptCall};
use crate::{ClusterStore, from_document, to_document};

/// What a grant adds to a record, in bytes. Counted when it is kept.
pub(crate) const GRANT: usize = 512;

/// Decides once. Returns the empty text to whoever decided, the decision to all others, and nothing if there is no such record, it
/// has ended, or it is for another user. A second key is the list of what waits for the user, which the record leaves.
static DECIDE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local kept = redis.call('HMGET', KEYS[1], 'e', 'd', 'b', 'w')
         if not kept[1] or tonumber(kept[1]) <= tonumber(ARGV[4]) then return false end
         if kept[4] and kept[4] ~= ARGV[5] then return false end
         if kept[2] then
           if kept[3] == ARGV[3] then return '' end
           return kept[2]
         end
         redis.call('HSET', KEYS[1], 'd', ARGV[1], 'o', ARGV[2], 'b', ARGV[3])
         if KEYS[2] then redis.call('ZREM', KEYS[2], ARGV[6]) end
         return ''",
    )
});

/// Says what became of a record, with the decision, and notes the poll: see
/// [`Polling`](symbolon_protocol::decision::Polling).
static POLL: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local kept = redis.call('HMGET', KEYS[1], 's', 'c', 'e', 'd', 't', 'p', 'i')
         if kept[1] ~= ARGV[1] then return {'unknown', ''} end
         if kept[2] ~= ARGV[2] then return {'other', ''} end
         if kept[5] then return {'used', kept[4]} end
         local now = tonumber(ARGV[3])
         if tonumber(kept[3]) <= now then return {'unknown', ''} end
         if kept[4] then return {'decided', kept[4]} end
         local interval = tonumber(kept[7])
         local is_early = kept[6] and now + tonumber(ARGV[4]) < tonumber(kept[6]) + interval
         redis.call('HSET', KEYS[1], 'p', ARGV[3])
         if not is_early then return {'pending', ''} end
         interval = math.min(interval + tonumber(ARGV[5]), tonumber(ARGV[6]))
         redis.call('HSET', KEYS[1], 'i', string.format('%.0f', interval))
         return {'slow', ''}",
    )
});

/// Redeems a record that was allowed and has not ended, and lets Redis keep it longer, because a second use must be recognized
/// for a while after the end. Returns 0 if there is no such record, 1 if this caller has redeemed it, 2 if another caller has.
static REDEEM: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local kept = redis.call('HMGET', KEYS[1], 's', 'e', 'o', 't')
         if kept[1] ~= ARGV[1] or kept[3] ~= '1' then return 0 end
         if kept[4] then
           if kept[4] == ARGV[2] then return 1 end
           return 2
         end
         local left = tonumber(kept[2]) - tonumber(ARGV[3])
         if left <= 0 then return 0 end
         redis.call('HSET', KEYS[1], 't', ARGV[2])
         redis.call('PEXPIRE', KEYS[1], string.format('%.0f', left + tonumber(ARGV[4])))
         return 1",
    )
});

/// A record's place, and the digest of its secret as text.
pub(crate) struct Place {
    pub(crate) kind: StoreKind,
    pub(crate) key: Key,
    pub(crate) shard: u32,
    pub(crate) secret_digest: String,
}

/// The list of what waits for a user, and the name in it of the record that is decided.
pub(crate) struct Listed<'a> {
    pub(crate) list: &'a Key,
    pub(crate) name: &'a str,
}

impl ClusterStore {
    pub(crate) async fn decide_undecided(
        &self,
        (kind, key, shard): (StoreKind, &Key, u32),
        listed: Option<Listed<'_>>,
        decision: &Decision,
        now: Timestamp,
    ) -> Result<Deciding, StoreError> {
        // As for a code: the decision rests on cached records, which are valid only while this node holds its lease.
        self.nodes.check()?;
        let caller = random::base64url::<12>(&*self.random);
        let (document, now) = (to_document(decision)?, now.millis().to_string());
        let is_allowed: &[u8] = if decision.is_allowed() { b"1" } else { b"0" };
        let name = listed.as_ref().map_or("", |listed| listed.name);
        let arguments = [
            document.as_bytes(),
            is_allowed,
            caller.as_bytes(),
            now.as_bytes(),
            decision.user().as_str().as_bytes(),
            name.as_bytes(),
        ];
        let mut keys = vec![key];
        keys.extend(listed.as_ref().map(|listed| listed.list));
        let call = ScriptCall { keys: &keys, arguments: &arguments };
        let run = async { self.redis.run_durably(&DECIDE, call).await?.read::<Option<Vec<u8>>>() };
        Ok(match self.measured(kind, shard, run).await? {
            None => Deciding::Unknown,
            Some(before) if before.is_empty() => Deciding::Decided,
            Some(before) => {
                let before: Decision = from_document(before)?;
                Deciding::Before(Decided::from(&before))
            }
        })
    }

    pub(crate) async fn poll_undecided(
        &self,
        place: &Place,
        client: &ClientId,
        now: Timestamp,
    ) -> Result<Polled, StoreError> {
        let [jitter, slowed_by, longest] =
            [JITTER, SLOWED_BY, LONGEST_INTERVAL].map(|duration| duration.as_millis().to_string());
        let now = now.millis().to_string();
        let arguments = [
            place.secret_digest.as_bytes(),
            client.as_str().as_bytes(),
            now.as_bytes(),
            jitter.as_bytes(),
            slowed_by.as_bytes(),
            longest.as_bytes(),
        ];
        let call = ScriptCall { keys: &[&place.key], arguments: &arguments };
        let run = async { self.redis.run(&POLL, call).await?.read::<(String, Vec<u8>)>() };
        let (state, decision) = self.measured(place.kind, place.shard, run).await?;
        let decision: Option<Decision> = match decision.is_empty() {
            true => None,
            false => Some(from_document(decision)?),
        };
        Ok(match (&*state, decision) {
            ("pending", _) => Polled::Pending,
            ("slow", _) => Polled::SlowDown,
            ("other", _) => Polled::OfOtherClient,
            ("used", Some(Decision::Allowed(grant))) => Polled::Used(grant),
            (_, Some(Decision::Allowed(grant))) => Polled::Allowed(grant),
            (_, Some(Decision::Denied(user))) => Polled::Denied(user),
            _ => Polled::Unknown,
        })
    }

    pub(crate) async fn redeem_undecided(
        &self,
        place: &Place,
        now: Timestamp,
    ) -> Result<Redemption, StoreError> {
        self.nodes.check()?;
        let caller = random::base64url::<12>(&*self.random);
        let (now, kept) = (now.millis().to_string(), KEPT_AFTER_END.as_millis().to_string());
        let arguments = [place.secret_digest.as_bytes(), caller.as_bytes(), now.as_bytes(), kept.as_bytes()];
        let call = ScriptCall { keys: &[&place.key], arguments: &arguments };
        let run = async { self.redis.run_durably(&REDEEM, call).await?.read::<u8>() };
        Ok(match self.measured(place.kind, place.shard, run).await? {
            0 => Redemption::Unknown,
            1 => Redemption::Redeemed,
            _ => Redemption::Replayed,
        })
    }
}
