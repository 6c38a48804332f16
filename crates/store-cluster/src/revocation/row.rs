//! Tombstones and ends of sessions, as both engines store them.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use symbolon_protocol::grant::GrantId;
use symbolon_protocol::id::{ClientId, IssuerId, Jti, Sid, UserId};
use symbolon_protocol::revocation::{Target, Tombstone};
use symbolon_protocol::time::{KEPT_AFTER_END, Timestamp};

use crate::redis::Tag;

/// As the tag of a row: every constant slot.
pub(crate) const EVERYWHERE: &str = "*";

/// The latest time in a row, in milliseconds: up to here, Lua's numbers are exact.
const LATEST: u64 = (1 << 53) - 1;

/// The prefix of the key of a session's record, which is replaced when the session ends.
const SESSION_RECORD: &str = "r:";

/// The value of such a key after the session has ended.
const ENDED: &str = "E";

/// The end of a session's own record, in addition to the tombstones that revoke the session's tokens.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    /// The tag of its record.
    pub(crate) tag: Tag,
    /// The part of its record's key after the tag: `r:` and the session's key.
    pub(crate) id: String,
    /// When the session would have expired.
    pub(crate) until: Timestamp,
}

/// One row of the table `tombstones`: the value that one key of Redis must have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The name of the hash tag, or [`EVERYWHERE`].
    pub(crate) tag: String,
    /// The part of the key after the tag.
    pub(crate) id: String,
    /// Ends what was created at this millisecond or before.
    pub(crate) value: u64,
    /// Until when it is needed, in milliseconds.
    pub(crate) until: u64,
}

impl Row {
    /// The row of a tombstone.
    pub(crate) fn of(issuer: &IssuerId, tombstone: &Tombstone) -> Self {
        let (letter, id) = split(&tombstone.target);
        let tag = match tombstone.target {
            Target::Client(_) | Target::Issuer => EVERYWHERE.to_owned(),
            _ => tombstone.slot.to_string(),
        };
        let id = [letter, issuer.as_str(), ":", &id].concat();
        Self { tag, id, value: capped(tombstone.not_before), until: capped(tombstone.expires_at) }
    }

    /// The tombstone of a row, and its issuer. `None` for the end of a session's record, and for a row that no release
    /// writes.
    pub(crate) fn tombstone(&self) -> Option<(IssuerId, Tombstone)> {
        let (letter, rest) = self.id.split_at_checked(TOKEN.len())?;
        let (issuer, id) = rest.split_once(':')?;
        let target = match letter {
            TOKEN => Target::Token(Jti::trusted(id)),
            GRANT => Target::Grant(GrantId::parse(id)?),
            SESSION => Target::Session(Sid::trusted(id)),
            USER => Target::User(UserId::trusted(id)),
            CLIENT => Target::Client(ClientId::trusted(id)),
            ISSUER => Target::Issuer,
            CONSENT => {
                let (user, client) = id.split_once(' ')?;
                Target::Consent(UserId::trusted(user), ClientId::trusted(client))
            }
            _ => return None,
        };
        let slot = if self.tag == EVERYWHERE { 0 } else { self.tag.parse().ok()? };
        let [not_before, expires_at] = [self.value, self.until].map(Timestamp::from_millis);
        Some((IssuerId::trusted(issuer), Tombstone { target, slot, not_before, expires_at }))
    }

    /// The row of a session that has ended.
    pub(crate) fn ended(Ended { tag, id, until }: Ended) -> Self {
        Self { tag: tag.name().to_owned(), id, value: LATEST, until: capped(until) }
    }

    /// Whether it is the row of a session's record.
    pub(crate) fn is_session(&self) -> bool {
        self.id.starts_with(SESSION_RECORD)
    }

    /// Its value in Redis.
    pub(super) fn redis_value(&self) -> String {
        if self.is_session() { ENDED.to_owned() } else { self.value.to_string() }
    }

    /// How long Redis must hold it from now on, in milliseconds; at least one.
    pub(super) fn redis_ttl(&self, now: Timestamp) -> u64 {
        let end = Timestamp::from_millis(self.until) + KEPT_AFTER_END;
        end.millis().saturating_sub(now.millis()).max(1)
    }
}

/// A time as rows store it: in milliseconds, at most [`LATEST`].
pub(crate) fn capped(at: Timestamp) -> u64 {
    at.millis().min(LATEST)
}

pub(super) const TOKEN: &str = "t:";
pub(super) const GRANT: &str = "g:";
pub(super) const SESSION: &str = "s:";
pub(super) const USER: &str = "u:";
pub(super) const CLIENT: &str = "c:";
pub(super) const ISSUER: &str = "i:";
/// Followed by user and client with a space between them, which neither id has.
pub(super) const CONSENT: &str = "a:";

/// The parts of a key before and after the issuer, which together name a target.
fn split(target: &Target) -> (&'static str, Cow<'_, str>) {
    match target {
        Target::Token(jti) => (TOKEN, jti.as_str().into()),
        Target::Grant(grant) => (GRANT, grant.to_string().into()),
        Target::Session(sid) => (SESSION, sid.as_str().into()),
        Target::User(user) => (USER, user.as_str().into()),
        Target::Client(client) => (CLIENT, client.as_str().into()),
        Target::Issuer => (ISSUER, "".into()),
        Target::Consent(user, client) => (CONSENT, [user.as_str(), client.as_str()].join(" ").into()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use symbolon_protocol::grant::Slot;

    use super::*;

    #[test]
    fn for_ever_is_what_both_engines_count_exactly() {
        let jti = Jti::parse("x").unwrap();
        let row =
            Row::of(&IssuerId::default_issuer(), &Tombstone::token(jti, Slot::new(5), Timestamp::FOREVER));
        assert_eq!((row.tag.as_str(), row.id.as_str()), ("5", "t:default:x"));
        assert_eq!(row.redis_value(), "9007199254740991");
        // Lua reads numbers like this.
        let of_lua: f64 = row.value.to_string().parse().unwrap();
        assert_eq!(format!("{of_lua:.0}"), row.redis_value());
        assert!(i64::try_from(row.redis_ttl(Timestamp::EPOCH)).is_ok());
    }

    #[test]
    fn a_row_says_what_its_tombstone_said() {
        let (user, client) =
            (UserId::parse("u:1").unwrap(), ClientId::parse("https://rp.example/a:b").unwrap());
        let (issuer, slot) = (IssuerId::parse("acme").unwrap(), Slot::new(5));
        let [at, until] = [1, 2].map(Timestamp::from_seconds);
        for target in [
            Target::Token(Jti::parse("x:y").unwrap()),
            Target::User(user.clone()),
            Target::Consent(user.clone(), client.clone()),
        ] {
            let tombstone = Tombstone::up_to(target, slot, at, until);
            assert_eq!(Row::of(&issuer, &tombstone).tombstone(), Some((issuer.clone(), tombstone)));
        }
    }

    #[test]
    fn redis_keeps_a_row_a_quarter_of_an_hour_longer() {
        let now = Timestamp::from_seconds(1_000_000);
        let until = |at: Timestamp| Row { tag: "5".into(), id: "t:".into(), value: 1, until: at.millis() };
        assert_eq!(until(now + Duration::from_secs(1)).redis_ttl(now), 901_000);
        assert_eq!(until(now - Duration::from_secs(901)).redis_ttl(now), 1);
    }
}
