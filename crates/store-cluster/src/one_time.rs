//! Records in Redis that are used once: many may read one, exactly one caller takes it.
//!
//! The client library repeats a command whose answer was lost, although the first one may have been executed. So a
//! caller that takes a record writes a random number of its own into it. If its command is repeated, it finds its own
//! number and knows that it took the record itself. A repeated command that stores or replaces a record may arrive
//! after the record was taken: then it changes nothing.

use std::io::Write;
use std::sync::LazyLock;
use std::time::Duration;

use redis::{Cmd, RedisWrite};
use symbolon_crypto::random;
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};
use symbolon_store::StoreError;

use crate::redis::{Key, Script, ScriptCall};
use crate::{ClusterStore, failed};

/// Length of a record's header: `F` (fresh) or `U` (used), 16 characters that identify the taker, and the expiry in
/// milliseconds, 15 digits. The value follows.
const HEADER: usize = 32;

/// Initial capacity of a command that stores a record, so that its buffer need not grow.
const KEEPING: usize = 1_024;

/// Takes a fresh record that has not expired, and lets Redis keep it longer, because a second use must be recognized
/// for a while after the expiry. Returns 0 if there is no such record, 1 if this caller has taken it, 2 if another
/// caller took it before.
static TAKE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local head = redis.call('GETRANGE', KEYS[1], 0, 31)
         if #head < 32 then return 0 end
         if string.sub(head, 1, 1) == 'U' then
           if string.sub(head, 2, 17) == ARGV[1] then return 1 end
           return 2
         end
         local left = tonumber(string.sub(head, 18, 32)) - tonumber(ARGV[2])
         if left <= 0 then return 0 end
         redis.call('SETRANGE', KEYS[1], 0, 'U' .. ARGV[1])
         redis.call('PEXPIRE', KEYS[1], left + tonumber(ARGV[3]))
         return 1",
    )
});

/// Takes a fresh record that has not expired and returns its value, in one command. The record stays until its expiry, for a
/// command that is repeated.
static TAKE_VALUE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local record = redis.call('GET', KEYS[1])
         if not record or #record < 32 then return false end
         if string.sub(record, 1, 1) == 'U' then
           if string.sub(record, 2, 17) ~= ARGV[1] then return false end
           return string.sub(record, 33)
         end
         if tonumber(string.sub(record, 18, 32)) <= tonumber(ARGV[2]) then return false end
         redis.call('SETRANGE', KEYS[1], 0, 'U' .. ARGV[1])
         return string.sub(record, 33)",
    )
});

/// Replaces a fresh record that has not expired; returns 1 if it did. The command may be repeated and arrive late: a
/// taken record is never replaced.
static REPLACE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local head = redis.call('GETRANGE', KEYS[1], 0, 31)
         if #head < 32 or string.sub(head, 1, 1) ~= 'F' then return 0 end
         if tonumber(string.sub(head, 18, 32)) <= tonumber(ARGV[3]) then return 0 end
         redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
         return 1",
    )
});

/// The result of taking a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// There is nothing to take.
    Absent,
    /// Taken by this caller.
    Now,
    /// Taken before, by another caller.
    Before,
}

/// A record as read.
pub(crate) struct OneTime {
    pub(crate) used: bool,
    expires_at: Timestamp,
    record: Vec<u8>,
}

impl OneTime {
    fn parse(record: Vec<u8>) -> Option<Self> {
        let used = record.first()? == &b'U';
        let end = std::str::from_utf8(record.get(17..HEADER)?).ok()?;
        let expires_at = Timestamp::from_millis(end.parse().ok()?);
        Some(Self { used, expires_at, record })
    }

    /// Whether it has expired.
    pub(crate) fn ended(&self, now: Timestamp) -> bool {
        self.expires_at <= now
    }

    /// The stored value.
    pub(crate) fn value(&self) -> &[u8] {
        self.record.get(HEADER..).unwrap_or_default()
    }
}

/// How long Redis keeps a record that expires at `expires_at`, in milliseconds: until 15 minutes after that, by the
/// clock of Redis.
pub(crate) fn time_to_live(expires_at: Timestamp, now: Timestamp) -> u64 {
    in_millis(expires_at.since(now).saturating_add(KEPT_AFTER_END))
}

/// How long Redis keeps a record that nobody has used, in milliseconds: until it expires. A missing record is refused
/// like an expired one. Most codes of silent authentication are never redeemed, and 15 more minutes of each would waste
/// memory.
fn time_until_end(expires_at: Timestamp, now: Timestamp) -> u64 {
    in_millis(expires_at.since(now))
}

fn in_millis(life: Duration) -> u64 {
    let life = life.max(Duration::from_secs(1));
    u64::try_from(life.as_millis()).unwrap_or(u64::MAX).min(i64::MAX.unsigned_abs() / 2)
}

/// The header of a fresh record.
fn write_header(out: &mut dyn Write, expires_at: Timestamp) -> Result<(), StoreError> {
    write!(out, "F{:16}{:015}", "", expires_at.millis().min(999_999_999_999_999)).map_err(failed)
}

impl ClusterStore {
    /// Stores a value, which the closure `value` writes, without waiting for a replica: the record may be lost with its
    /// primary. A repeated call changes nothing.
    pub(crate) async fn keep_once(
        &self,
        key: &Key,
        value: impl FnOnce(&mut dyn Write) -> Result<(), StoreError>,
        (expires_at, now): (Timestamp, Timestamp),
    ) -> Result<(), StoreError> {
        let mut cmd = Cmd::with_capacity(6, KEEPING);
        cmd.arg("SET").arg(key.as_bytes());
        {
            let mut record = cmd.writer_for_next_arg();
            write_header(&mut record, expires_at)?;
            value(&mut record)?;
        }
        // NX: an existing record was written by the same command before, and may have changed since.
        cmd.arg("PX").arg(time_until_end(expires_at, now)).arg("NX");
        self.redis.ask_at(key.hash_slot(), &cmd).await.map(drop)
    }

    /// Replaces a record that exists, is fresh and has not expired; returns whether it did.
    pub(crate) async fn replace(
        &self,
        key: &Key,
        value: &[u8],
        (expires_at, now): (Timestamp, Timestamp),
    ) -> Result<bool, StoreError> {
        let mut record = Vec::with_capacity(HEADER + value.len());
        write_header(&mut record, expires_at)?;
        record.extend_from_slice(value);
        let numbers = [time_until_end(expires_at, self.now()), now.millis()].map(|number| number.to_string());
        let [life, now] = &numbers;
        let arguments = [&record, life.as_bytes(), now.as_bytes()];
        let call = ScriptCall { keys: &[key], arguments: &arguments };
        Ok(self.redis.run(&REPLACE, call).await?.read::<u8>()? == 1)
    }

    /// Reads a record without taking it.
    pub(crate) async fn look_at(&self, key: &Key) -> Result<Option<OneTime>, StoreError> {
        let mut cmd = redis::cmd("GET");
        cmd.arg(key.as_bytes());
        let record: Option<Vec<u8>> = self.redis.ask_at(key.hash_slot(), &cmd).await?.read()?;
        Ok(record.and_then(OneTime::parse))
    }

    /// Takes a record. On return a replica has this change too, if the policy asks for that.
    pub(crate) async fn take(&self, key: &Key, now: Timestamp) -> Result<Taken, StoreError> {
        let taker = random::base64url::<12>(&*self.random);
        let numbers = [now.millis(), in_millis(KEPT_AFTER_END)].map(|number| number.to_string());
        let [now, kept] = &numbers;
        let arguments = [taker.as_bytes(), now.as_bytes(), kept.as_bytes()];
        let call = ScriptCall { keys: &[key], arguments: &arguments };
        match self.redis.run_durably(&TAKE, call).await?.read::<u8>()? {
            0 => Ok(Taken::Absent),
            1 => Ok(Taken::Now),
            _ => Ok(Taken::Before),
        }
    }

    /// Takes a record whose second use need not be told from one that never was, and returns its value. Does not wait for a
    /// replica: with its primary, the use may be lost.
    pub(crate) async fn take_value(&self, key: &Key, now: Timestamp) -> Result<Option<Vec<u8>>, StoreError> {
        let taker = random::base64url::<12>(&*self.random);
        let now = now.millis().to_string();
        let call = ScriptCall { keys: &[key], arguments: &[taker.as_bytes(), now.as_bytes()] };
        self.redis.run(&TAKE_VALUE, call).await?.read()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_read_back_and_garbage_is_none() {
        let fresh = OneTime::parse(b"F                000001800000000value".to_vec()).unwrap();
        assert!(!fresh.used && fresh.value() == b"value");
        assert!(fresh.ended(Timestamp::from_millis(1_800_000_000)));
        assert!(!fresh.ended(Timestamp::from_millis(1_799_999_999)));
        assert!(OneTime::parse(b"Utaker-of-it-0000000001800000000".to_vec()).unwrap().used);
        for bad in [&b""[..], b"F", b"F                00000180000000x"] {
            assert!(OneTime::parse(bad.to_vec()).is_none());
        }
    }

    #[test]
    fn what_was_used_goes_a_quarter_of_an_hour_after_its_end_and_the_rest_at_its_end() {
        let now = Timestamp::from_millis(1_000_000);
        let end = now + Duration::from_secs(60);
        assert_eq!([time_to_live(end, now), time_until_end(end, now)], [960_000, 60_000]);
        assert_eq!(time_until_end(now, end), 1_000);
        assert_eq!(time_to_live(Timestamp::from_millis(0), now), 900_000);
    }
}
