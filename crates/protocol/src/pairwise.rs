//! Pairwise subject identifiers (OpenID Connect Core 8, 8.1): each sector knows a user, and a user's session, by names of its own.
//!
//! A name is a keyed digest over the sector and the id: the same for every client of the sector, not computable by anybody else, and
//! not reversible (Core 8.1). What this server itself has to know of a token, it writes into the token beside these names, sealed.

use serde::{Deserialize, Serialize};
use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::encoding;

use crate::client::Client;
use crate::grant::GrantId;
use crate::id::{Sid, UserId};

/// The claim with the sealed [`Veiled`], in access tokens and ID tokens of clients with pairwise subjects.
pub const CLAIM: &str = "pairwise_ref";

/// How one client knows users and their sessions.
#[derive(Clone, Copy)]
pub struct Pairwise<'a> {
    key: &'a HmacKey,
    sector: &'a str,
}

impl<'a> Pairwise<'a> {
    /// `None` for a client whose subjects are public. `key` is the issuer's for this purpose.
    #[inline]
    pub fn of(key: &'a HmacKey, client: &'a Client) -> Option<Self> {
        client.sector.as_deref().map(|sector| Self { key, sector })
    }

    /// The `sub` of a user (Core 8.1): 43 characters of base64url.
    pub fn sub(&self, user: &UserId) -> UserId {
        UserId::trusted(self.digest("sub", user.as_str()))
    }

    /// The `sid` of a session. One for all clients would let them compare who was signed in at both (Front-Channel Logout 3 asks only
    /// that it is unique within the issuer).
    pub fn sid(&self, sid: &Sid) -> Sid {
        Sid::trusted(self.digest("sid", sid.as_str()))
    }

    /// No part contains the byte that separates them: a sector is a host, and ids are visible ASCII.
    fn digest(&self, what: &str, of: &str) -> String {
        let parts = [what.as_bytes(), b"\0", self.sector.as_bytes(), b"\0", of.as_bytes()];
        encoding::encode(&self.key.sign(&parts))
    }
}

/// What a token of a client with pairwise subjects is about, as this server alone knows it. Sealed in the claim [`CLAIM`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Veiled {
    /// The user.
    #[serde(rename = "u")]
    pub user: UserId,
    /// The session.
    #[serde(rename = "s", default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<Sid>,
    /// The grant. Its id begins with the slot of the user's tombstones, ten bits by which clients could compare users.
    #[serde(rename = "g", default, skip_serializing_if = "Option::is_none")]
    pub gid: Option<GrantId>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::fixture;

    fn client(sector: Option<&str>) -> Client {
        Client { sector: sector.map(str::to_owned), ..fixture::client("app") }
    }

    #[test]
    fn one_sector_knows_a_user_by_one_name_and_another_by_another() {
        let (key, other_key) = (HmacKey::new(&[1; 32]), HmacKey::new(&[2; 32]));
        let [a, b] = ["a.example", "b.example"].map(|sector| client(Some(sector)));
        let (ann, bob) = (UserId::trusted("ann"), UserId::trusted("bob"));
        let of = |key, client, user: &UserId| Pairwise::of(key, client).unwrap().sub(user);
        let told = of(&key, &a, &ann);
        assert_eq!(told, of(&key, &a, &ann));
        assert_eq!(told.as_str().len(), 43);
        for other in [of(&key, &b, &ann), of(&key, &a, &bob), of(&other_key, &a, &ann)] {
            assert_ne!(told, other);
        }
        let sid = Pairwise::of(&key, &a).unwrap().sid(&Sid::trusted("ann"));
        assert_ne!(sid.as_str(), told.as_str(), "a session's name is none of a user");
        assert!(Pairwise::of(&key, &client(None)).is_none());
    }
}
