//! Client secrets (RFC 6749 2.3.1): what is kept of each, which ones are alive, and how a new one takes over.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use smol_str::{SmolStr, format_smolstr};
use symbolon_crypto::digest::{self, HmacKey};
use symbolon_crypto::random::{self, Random};
use symbolon_crypto::secret::SecretString;

use crate::client_authentication::secret_digest;
use crate::time::Timestamp;

/// The shortest secret that may be given, in characters. The secrets that are drawn here are longer than [`LONG`].
pub const SHORTEST: usize = 16;

/// From this length on a secret is kept as a plain digest. If its characters are random, nobody guesses it from the digest,
/// not even in a search of years: RFC 6749 10.10 asks for a chance below 2^-128.
pub const LONG: usize = 32;

/// How many different characters a given secret must have at least. Fewer are no random text of this length.
pub const DIFFERENT_CHARACTERS: usize = 8;

/// The longest time for which an old secret may stay alive beside a new one.
pub const LONGEST_KEPT: Duration = Duration::from_secs(30 * 86_400);

/// A use of a secret is noted in the client's record if the noted one is at least so old. So what the record says may be too
/// early by as much, and there is not a write for every request.
pub const USE_NOTED_EVERY: Duration = Duration::from_secs(600);

/// The SHA-256 of a secret, or what was made of it with a key ([`ClientSecret::is_keyed`]).
///
/// It is no slow hash, because every request of a client compares it. A slow hash would only protect secrets that are too
/// short to be searched for otherwise. Those of at least [`LONG`] characters are not; for shorter ones that another provider
/// drew, whoever has a copy of the database lacks the key, without which there is nothing to search
/// (`docs/decisions/034-imported-client-secrets.md`). Of one that came as a digest ([`ClientSecret::of_digest`]) neither length nor
/// strength can be judged: it is taken on the word of whoever sent it (`docs/decisions/060-client-secrets-move-by-digest.md`).
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretDigest(pub [u8; 32]);

/// A client secret as stored.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientSecret {
    /// Tells it from the client's other secret. It says nothing about the secret itself.
    pub id: SmolStr,
    /// What presented secrets are compared with.
    pub digest: SecretDigest,
    /// Whether `digest` is the HMAC-SHA-256 of the secret's SHA-256 under the issuer's key for this purpose.
    pub is_keyed: bool,
    /// When it was made; unknown for secrets that builds before this member made.
    pub created_at: Option<Timestamp>,
    /// From when on it is refused; `None` if it stays until it is replaced.
    pub expires_at: Option<Timestamp>,
    /// Its noted use ([`USE_NOTED_EVERY`]).
    pub last_used_at: Option<Timestamp>,
}

impl ClientSecret {
    /// A new secret. If it is shorter than [`LONG`], its digest is made with the issuer's key.
    pub fn new(secret: &SecretString, key: &HmacKey, now: Timestamp, random: &dyn Random) -> Self {
        let (plain, is_keyed) = (secret_digest(secret.expose()), secret.expose().len() < LONG);
        Self {
            id: drawn_id(random),
            digest: if is_keyed { keyed(&plain, key) } else { plain },
            is_keyed,
            created_at: Some(now),
            expires_at: None,
            last_used_at: None,
        }
    }

    /// A secret that another installation drew, of which only the SHA-256 is known. So short secrets, whose digests are made
    /// with an issuer's key, cannot be moved like this.
    pub fn of_digest(
        sha256: [u8; 32],
        expires_at: Option<Timestamp>,
        now: Timestamp,
        random: &dyn Random,
    ) -> Self {
        Self {
            id: drawn_id(random),
            digest: SecretDigest(sha256),
            is_keyed: false,
            created_at: Some(now),
            expires_at,
            last_used_at: None,
        }
    }

    /// The SHA-256 of the secret, if that is what is kept.
    pub fn sha256(&self) -> Option<&[u8; 32]> {
        (!self.is_keyed).then_some(&self.digest.0)
    }

    /// Whether it authenticates at this time.
    pub fn is_live(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|end| now < end)
    }

    /// Whether a secret that was presented with this SHA-256 is this one. Takes the same time for all.
    pub fn matches(&self, presented: &SecretDigest, key: &HmacKey) -> bool {
        if self.is_keyed {
            return digest::constant_time_eq(&self.digest.0, &keyed(presented, key).0);
        }
        digest::constant_time_eq(&self.digest.0, &presented.0)
    }

    /// Its id, if a use at this time should be noted.
    pub fn use_to_note(&self, now: Timestamp) -> Option<SmolStr> {
        let is_due = self.last_used_at.is_none_or(|noted| now.since(noted) >= USE_NOTED_EVERY);
        is_due.then(|| self.id.clone())
    }
}

/// An id that starts with a letter, so that it never looks like a command-line option.
fn drawn_id(random: &dyn Random) -> SmolStr {
    format_smolstr!("s{}", random::base64url::<6>(random))
}

fn keyed(plain: &SecretDigest, key: &HmacKey) -> SecretDigest {
    SecretDigest(key.sign(&[&plain.0]))
}

/// The secrets of a client, the newest first. At most two are alive; those that have expired go at the next change.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredSecrets", into = "StoredSecrets")]
pub struct ClientSecrets(Vec<ClientSecret>);

impl ClientSecrets {
    /// One secret and no other.
    pub fn only(secret: ClientSecret) -> Self {
        Self(vec![secret])
    }

    /// Whether there is none, as with public clients and those that sign assertions.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All, the newest first.
    pub fn iter(&self) -> std::slice::Iter<'_, ClientSecret> {
        self.0.iter()
    }

    /// The one of which this is the SHA-256.
    pub fn of_sha256(&self, sha256: &[u8; 32], key: &HmacKey) -> Option<&ClientSecret> {
        let presented = SecretDigest(*sha256);
        self.0.iter().find(|secret| secret.matches(&presented, key))
    }

    /// Those that are alive.
    pub fn live(&self, now: Timestamp) -> Self {
        Self(self.0.iter().filter(|secret| secret.is_live(now)).cloned().collect())
    }

    /// A new secret beside the newest live one, which expires after `keep_old`, or earlier if it already had an end. Every
    /// other one is left out, so no more than two are alive.
    pub fn renewed(&self, new: ClientSecret, keep_old: Duration, now: Timestamp) -> Self {
        let mut secrets = vec![new];
        if !keep_old.is_zero()
            && let Some(old) = self.0.iter().find(|secret| secret.is_live(now))
        {
            let end = now + keep_old;
            let expires_at = Some(old.expires_at.map_or(end, |own| own.min(end)));
            secrets.push(ClientSecret { expires_at, ..old.clone() });
        }
        Self(secrets)
    }

    /// Notes the use of a secret, unless a later one is noted.
    pub fn note_use(&mut self, id: &str, at: Timestamp) {
        for secret in self.0.iter_mut().filter(|secret| secret.id == id) {
            secret.last_used_at = secret.last_used_at.max(Some(at));
        }
    }

    /// Notes the uses of several secrets. Returns whether that changed anything.
    pub fn note_uses(&mut self, uses: &[(SmolStr, Timestamp)]) -> bool {
        let before = self.clone();
        for (id, at) in uses {
            self.note_use(id, *at);
        }
        *self != before
    }

    /// What a change to `after` did to the secrets.
    pub fn changes_to(&self, after: &Self) -> SecretChanges {
        let of = |secrets: &Self, id: &str| secrets.0.iter().find(|secret| secret.id == id).cloned();
        let not_in = |those: &Self, these: &Self| {
            let missing = those.0.iter().filter(|secret| of(these, &secret.id).is_none());
            missing.map(|secret| secret.id.clone()).collect()
        };
        let ending = after.0.iter().filter(|secret| {
            of(self, &secret.id).is_some_and(|before| before.expires_at != secret.expires_at)
        });
        SecretChanges {
            added: not_in(after, self),
            ended: not_in(self, after),
            ending: ending.map(|secret| Ending { id: secret.id.clone(), at: secret.expires_at }).collect(),
        }
    }
}

/// What a change did to a client's secrets, by their ids: for the audit log.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SecretChanges {
    /// New ones.
    pub added: Vec<SmolStr>,
    /// Those that are refused from now on.
    pub ended: Vec<SmolStr>,
    /// Those that got another end.
    pub ending: Vec<Ending>,
}

/// A secret and its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Ending {
    /// The secret's id.
    pub id: SmolStr,
    /// From when on it is refused.
    pub at: Option<Timestamp>,
}

impl SecretChanges {
    /// Whether nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl From<Vec<ClientSecret>> for ClientSecrets {
    fn from(secrets: Vec<ClientSecret>) -> Self {
        Self(secrets)
    }
}

/// How secrets are stored: the digests as builds before had them, and beside them, in the same order, what else is known.
/// So a node of such a build, which runs on during an upgrade, still authenticates clients. (It knows no end of a secret.)
#[derive(Serialize, Deserialize)]
struct StoredSecrets {
    #[serde(default)]
    client_secrets: Vec<SecretDigest>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    client_secret_records: Vec<StoredRecord>,
}

/// What is known of a secret beside its digest.
#[derive(Clone, Serialize, Deserialize)]
struct StoredRecord {
    id: SmolStr,
    /// Left out where it is false, as in the records of builds that knew no keys.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_keyed: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    last_used_at: Option<Timestamp>,
}

impl From<StoredSecrets> for ClientSecrets {
    fn from(stored: StoredSecrets) -> Self {
        let StoredSecrets { client_secrets, client_secret_records } = stored;
        // A build before wrote the record, or the last one to write it was of such a build: the digests alone are known.
        let is_known = client_secret_records.len() == client_secrets.len();
        let mut records = client_secret_records.into_iter().filter(|_| is_known);
        let secrets = client_secrets.into_iter().enumerate().map(|(place, digest)| match records.next() {
            Some(StoredRecord { id, is_keyed, created_at, expires_at, last_used_at }) => {
                ClientSecret { id, digest, is_keyed, created_at, expires_at, last_used_at }
            }
            None => ClientSecret {
                id: format_smolstr!("s{}", place + 1),
                digest,
                is_keyed: false,
                created_at: None,
                expires_at: None,
                last_used_at: None,
            },
        });
        Self(secrets.collect())
    }
}

impl From<ClientSecrets> for StoredSecrets {
    fn from(secrets: ClientSecrets) -> Self {
        let split = secrets.0.into_iter().map(|secret| {
            let ClientSecret { id, digest, is_keyed, created_at, expires_at, last_used_at } = secret;
            (digest, StoredRecord { id, is_keyed, created_at, expires_at, last_used_at })
        });
        let (client_secrets, client_secret_records) = split.unzip();
        Self { client_secrets, client_secret_records }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const HOUR: Duration = Duration::from_secs(3_600);

    fn secret(text: &str) -> ClientSecret {
        let random = SeededRandom::new(u64::from(text.as_bytes()[0]));
        ClientSecret::new(&SecretString::from(text), &HmacKey::new(b"key"), NOW, &random)
    }

    fn ids(secrets: &ClientSecrets) -> Vec<&str> {
        secrets.iter().map(|secret| secret.id.as_str()).collect()
    }

    #[test]
    fn a_new_secret_stands_alone_or_beside_the_newest_old_one() {
        let (first, second, third) = (secret("first"), secret("second"), secret("third"));
        let one = ClientSecrets::only(first.clone());
        assert_eq!(ids(&one.renewed(second.clone(), Duration::ZERO, NOW)), [second.id.as_str()]);
        let two = one.renewed(second.clone(), HOUR, NOW);
        assert_eq!(ids(&two), [second.id.as_str(), first.id.as_str()]);
        assert_eq!(two.0[1].expires_at, Some(NOW + HOUR));
        let three = two.renewed(third.clone(), HOUR * 2, NOW);
        assert_eq!(ids(&three), [third.id.as_str(), second.id.as_str()], "two at most");
        let changes = two.changes_to(&three);
        assert_eq!((changes.added, changes.ended), (vec![third.id], vec![first.id]));
        assert_eq!(changes.ending, [Ending { id: second.id, at: Some(NOW + HOUR * 2) }]);
    }

    #[test]
    fn a_secret_is_refused_from_its_end_on_and_never_gets_a_later_one() {
        let (old, new) = (secret("old"), secret("new"));
        let two = ClientSecrets::only(old.clone()).renewed(new.clone(), HOUR, NOW);
        let kept = &two.0[1];
        assert!(kept.is_live(NOW + (HOUR - Duration::from_millis(1))) && !kept.is_live(NOW + HOUR));
        assert_eq!(ids(&two.live(NOW + HOUR)), [new.id.as_str()]);
        // Only the old one is left: a longer time for it does not bring back what was to end.
        let left = ClientSecrets(vec![kept.clone()]).renewed(secret("x"), HOUR * 9, NOW);
        assert_eq!(left.0[1].expires_at, Some(NOW + HOUR));
    }

    #[test]
    fn a_use_is_noted_once_in_a_while() {
        let mut secrets = ClientSecrets::only(secret("x"));
        let id = secrets.0[0].id.clone();
        assert_eq!(secrets.0[0].use_to_note(NOW).as_ref(), Some(&id));
        secrets.note_use(&id, NOW);
        secrets.note_use(&id, NOW - HOUR);
        secrets.note_use("another", NOW + HOUR);
        assert_eq!(secrets.0[0].last_used_at, Some(NOW));
        assert_eq!(secrets.0[0].use_to_note(NOW + (USE_NOTED_EVERY - Duration::from_millis(1))), None);
        assert_eq!(secrets.0[0].use_to_note(NOW + USE_NOTED_EVERY), Some(id));
    }

    #[test]
    fn a_short_secret_is_known_only_with_the_key() {
        let (key, other) = (HmacKey::new(b"key"), HmacKey::new(b"other"));
        for (length, is_keyed) in [(16, true), (31, true), (32, false), (64, false)] {
            let text: String = ('!'..='~').take(length).collect();
            let secret =
                ClientSecret::new(&SecretString::from(text.as_str()), &key, NOW, &SeededRandom::new(1));
            let presented = secret_digest(&text);
            assert_eq!((secret.is_keyed, secret.digest != presented), (is_keyed, is_keyed), "{length}");
            assert!(secret.matches(&presented, &key), "{length}");
            assert_eq!(secret.matches(&presented, &other), !is_keyed, "{length}");
            assert!(!secret.matches(&secret_digest("another"), &key), "{length}");
            // Who has the database and sends what it holds is not let in.
            assert!(!secret.matches(&secret.digest, &key) || !is_keyed, "{length}");
            let stored = serde_json::to_value(ClientSecrets::only(secret.clone())).unwrap();
            assert!(serde_json::from_value::<ClientSecrets>(stored).unwrap() == ClientSecrets::only(secret));
        }
    }

    #[test]
    fn what_builds_before_stored_is_read_and_what_is_stored_they_read() {
        let digests = vec![vec![7_u8; 32], vec![8; 32]];
        let read: ClientSecrets = serde_json::from_value(json!({ "client_secrets": digests })).unwrap();
        assert_eq!((ids(&read), read.0[1].digest.0), (vec!["s1", "s2"], [8; 32]));
        assert!(read.iter().all(|secret| secret.created_at.is_none() && secret.is_live(NOW)));
        let none: ClientSecrets = serde_json::from_value(json!({})).unwrap();
        assert!(none.is_empty());
        let two = ClientSecrets::only(secret("a")).renewed(secret("b"), HOUR, NOW);
        let stored = serde_json::to_value(&two).unwrap();
        assert_eq!(stored["client_secrets"][0], json!(two.0[0].digest.0));
        assert!(serde_json::from_value::<ClientSecrets>(stored.clone()).unwrap() == two);
        // Records that do not belong to the digests say nothing.
        let mut cut = stored;
        cut["client_secret_records"].as_array_mut().unwrap().pop();
        assert_eq!(ids(&serde_json::from_value(cut).unwrap()), ["s1", "s2"]);
    }
}
