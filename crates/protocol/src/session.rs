//! Sessions: a user's sign-in at the provider, known to one browser.

mod end_by_time;

pub use end_by_time::{EndByTime, TOLD_WITHIN, USE_WRITTEN_EVERY};

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize, Serializer};
use smol_str::SmolStr;

use crate::client::Client;
use crate::grant::Lineage;
use crate::id::{ClientId, IssuerId, Sid, UserId};
use crate::time::Timestamp;

/// An authentication method (`amr` value, RFC 8176).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthenticationMethod {
    /// Password.
    Pwd,
    /// One-time password.
    Otp,
    /// Proof of a hardware-held key.
    Hwk,
    /// More than one method.
    Mfa,
    /// The session was made through the admin API.
    AdminApi,
    /// Proof of a key that software holds.
    Swk,
    /// The browser in which the user proved a second factor some days ago. It stands in for one, and is none.
    Device,
    /// Another provider said who it is. RFC 8176 registers no value for it; that provider's own methods are not repeated.
    Federated,
}

impl AuthenticationMethod {
    const ALL: [Self; 8] = [
        Self::Pwd,
        Self::Otp,
        Self::Hwk,
        Self::Mfa,
        Self::AdminApi,
        Self::Swk,
        Self::Device,
        Self::Federated,
    ];

    /// The `amr` value.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pwd => "pwd",
            Self::Otp => "otp",
            Self::Hwk => "hwk",
            Self::Mfa => "mfa",
            Self::AdminApi => "admin_api",
            Self::Swk => "swk",
            Self::Device => "remembered_device",
            Self::Federated => "fed",
        }
    }
}

/// A set of authentication methods (`amr`, OpenID Connect Core 2) in one byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Amr(u8);

impl Amr {
    /// The set of one method.
    pub fn of(method: AuthenticationMethod) -> Self {
        Self(1 << method as u8)
    }

    /// This set with one more method.
    #[must_use]
    pub fn with(self, method: AuthenticationMethod) -> Self {
        Self(self.0 | 1 << method as u8)
    }

    /// The methods of the set.
    pub fn iter(self) -> impl Iterator<Item = AuthenticationMethod> {
        AuthenticationMethod::ALL.into_iter().filter(move |method| self.contains(*method))
    }

    /// Whether a method is in the set.
    pub fn contains(self, method: AuthenticationMethod) -> bool {
        self.0 & (1 << method as u8) != 0
    }

    /// Whether a second factor was proven, or one that was proven in this browser stands in for it.
    pub fn satisfies_second_factor(self) -> bool {
        self.contains(AuthenticationMethod::Mfa) || self.contains(AuthenticationMethod::Device)
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The secret in a session cookie: `se_<generation>_<shard>_<22 random characters>`. Stored only as a digest.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct SessionId(SmolStr);

impl SessionId {
    /// Takes any text as a session id; the store decides whether it exists.
    pub fn new(text: impl Into<SmolStr>) -> Self {
        Self(text.into())
    }

    /// The text, for the cookie.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionId(..)")
    }
}

/// A session as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The user who signed in.
    pub user: UserId,
    /// The session's public id, which does not reveal its secret one.
    pub sid: Sid,
    /// When the user last authenticated (`auth_time`, OpenID Connect Core 2).
    pub auth_time: Timestamp,
    /// When the session began.
    pub created_at: Timestamp,
    /// When it expires.
    pub expires_at: Timestamp,
    /// How the user authenticated.
    pub amr: Amr,
    /// Clients that have a grant in this session. A boxed slice, because there are millions of sessions, and a vector
    /// with one element allocates room for four.
    pub clients: Box<[ClientId]>,
    /// The `sid`s of this browser's earlier sessions of the same user, the latest last. What is bound to them ends
    /// with this session. At most [`MOST_PREDECESSORS`].
    pub predecessors: Predecessors,
    /// How it ends by itself before it expires. The last field, because records of earlier versions end before it.
    #[serde(
        default,
        skip_serializing_if = "EndByTime::is_plain",
        deserialize_with = "end_by_time::at_the_end"
    )]
    pub by_time: EndByTime,
}

/// The `sid`s of earlier sessions. As small as one pointer, because nearly every session has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "Vec<Sid>")]
pub struct Predecessors(
    #[allow(clippy::box_collection, reason = "a vector, or a boxed slice, takes two words more")]
    Option<Box<Vec<Sid>>>,
);

impl From<Vec<Sid>> for Predecessors {
    fn from(names: Vec<Sid>) -> Self {
        Self((!names.is_empty()).then(|| Box::new(names)))
    }
}

impl Deref for Predecessors {
    type Target = [Sid];

    fn deref(&self) -> &[Sid] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl Serialize for Predecessors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

/// The most earlier sessions that a session stands for.
pub const MOST_PREDECESSORS: usize = 16;

/// How many clients a session lists before one that is known by its metadata's URL is left out.
const MOST_DOCUMENTS: usize = 256;

impl Session {
    /// Whether it began by signing in, rather than through the admin API.
    pub fn is_sign_in(&self) -> bool {
        !self.amr.contains(AuthenticationMethod::AdminApi)
    }

    /// When it ends by itself, if `written_use` is the last use that was written: when it expires, or when it was idle for as
    /// long as it may be, and no use since then may be unwritten.
    pub fn ends_at(&self, written_use: Timestamp) -> Timestamp {
        match self.by_time.idle() {
            None => self.expires_at,
            Some(idle) => self.expires_at.min(written_use + idle + USE_WRITTEN_EVERY),
        }
    }

    /// Until when it is kept at least, if nobody ends it: past the end of its longest life, if its clients are to be told of that.
    pub fn kept_until(&self) -> Timestamp {
        if self.by_time.is_told() { self.expires_at + TOLD_WITHIN } else { self.expires_at }
    }

    /// Makes this session the successor of an earlier one of the same user in the same browser. So a person who signs
    /// in again stays signed in at the clients, and a later logout still ends everything. Returns an earlier `sid`
    /// for which there is no room: what is bound to it must be ended now.
    pub fn succeed(&mut self, earlier: &Self) -> Option<Sid> {
        let mut names: Vec<Sid> = earlier.sids().cloned().collect();
        let dropped = (names.len() > MOST_PREDECESSORS).then(|| names.remove(0));
        self.predecessors = names.into();
        self.clients.clone_from(&earlier.clients);
        if earlier.by_time.is_told() {
            self.by_time = self.by_time.told();
        }
        dropped
    }

    /// Whether a client is to be added to the list. Those that are known by their metadata's URL are added up to a number: anybody can make as
    /// many as they like, each sign-in would write the whole list anew, and nothing that ends rests on it.
    pub fn has_to_note(&self, client: &Client) -> bool {
        let is_full = client.is_from_document && self.clients.len() >= MOST_DOCUMENTS;
        !is_full && !self.clients.contains(&client.client_id)
    }

    /// Adds a client to the list. `is_told`: it is to be told of the session's end. True if it was not on the list.
    pub fn note(&mut self, client: &ClientId, is_told: bool) -> bool {
        let new = !self.clients.contains(client);
        if new {
            self.clients = self.clients.iter().chain(std::iter::once(client)).cloned().collect();
            if is_told {
                self.by_time = self.by_time.told();
            }
        }
        new
    }

    /// Every `sid` that tokens bound to this session may carry, its own last.
    pub fn sids(&self) -> impl Iterator<Item = &Sid> {
        self.predecessors.iter().chain(std::iter::once(&self.sid))
    }

    /// The lineage of what is bound to this session's `sid`.
    pub fn lineage(&self, issuer: &IssuerId) -> Lineage {
        let of_user = Lineage::of_user(issuer, &self.user, self.created_at);
        Lineage { session: Some(self.sid.clone()), ..of_user }
    }

    /// Whether a token's `sid` means this session.
    pub fn is_named(&self, sid: &str) -> bool {
        self.sids().any(|own| own.as_str() == sid)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn session(sid: &str) -> Session {
        Session {
            user: UserId::trusted("u1"),
            sid: Sid::trusted(sid),
            auth_time: Timestamp::from_millis(1),
            created_at: Timestamp::from_millis(1),
            expires_at: Timestamp::from_millis(2),
            amr: Amr::default(),
            clients: Box::new([ClientId::trusted("rp")]),
            predecessors: Predecessors::default(),
            by_time: EndByTime::default(),
        }
    }

    #[test]
    fn an_idle_session_ends_when_no_use_can_be_unwritten_and_none_outlives_its_longest_life() {
        let (hour, minute) = (Duration::from_secs(3_600), Duration::from_secs(60));
        let at = Timestamp::from_seconds;
        let mut session = Session { expires_at: at(10_000), ..session("s") };
        assert_eq!(session.ends_at(at(0)), at(10_000));
        session.by_time = EndByTime::after_idle(hour);
        assert_eq!(session.ends_at(at(100)), at(100) + hour + minute);
        assert_eq!(session.ends_at(at(9_000)), at(10_000));
    }

    #[test]
    fn a_session_and_the_counts_of_its_handle_are_two_cache_lines() {
        assert_eq!(size_of::<Session>() + 2 * size_of::<usize>(), 128);
    }

    #[test]
    fn a_session_stands_for_the_latest_ones_before_it() {
        let mut current = session("s0");
        for number in 1..=MOST_PREDECESSORS {
            let mut next = Session { clients: Box::default(), ..session(&format!("s{number}")) };
            assert_eq!(next.succeed(&current), None);
            current = next;
        }
        assert!(current.is_named("s0") && current.is_named("s16") && !current.is_named("s17"));
        assert_eq!(*current.clients, [ClientId::trusted("rp")]);
        let mut next = session("s17");
        assert_eq!(next.succeed(&current), Some(Sid::trusted("s0")));
        assert!(!next.is_named("s0") && next.is_named("s1"));
        assert!(!next.by_time.is_told() && next.note(&ClientId::trusted("told"), true));
        let mut last = session("s18");
        last.succeed(&next);
        assert!(last.by_time.is_told(), "the clients that it takes over are to be told");
        assert_eq!(last.kept_until(), last.expires_at + TOLD_WITHIN);
        assert_eq!(next.sids().count(), MOST_PREDECESSORS + 1);
    }
}
