//! Logout tokens (OpenID Connect Back-Channel Logout 1.0 2.4).

use std::time::Duration;

use smol_str::SmolStr;
use symbolon_crypto::digest;
use symbolon_crypto::random::{self, Random};

use crate::id::{ClientId, DeliveryId, IssuerId, Sid, UserId};
use crate::json::Object;
use crate::pairwise::Pairwise;
use crate::time::Timestamp;

/// `typ` of logout tokens (section 2.4).
pub const TYP: &str = "logout+jwt";
/// How long a logout token may be used: two minutes at most (section 2.4).
pub const LIVES: Duration = Duration::from_secs(120);
/// How long a client is tried that does not take its logout token.
pub const TRIED_FOR: Duration = Duration::from_secs(86_400);

/// A session that has ended, as one client knew it.
#[derive(Clone, Copy, Debug)]
pub struct EndedSession<'a> {
    /// Whose session it was.
    pub user: &'a UserId,
    /// Its `sid`.
    pub sid: &'a Sid,
    /// The client.
    pub client: &'a ClientId,
}

impl EndedSession<'_> {
    /// The id under which its telling waits. It is derived, so that what is told twice waits once; and it begins alike for all
    /// that one client is told of, so that a client which takes nothing does not fill the queue.
    pub fn delivery_id(&self, issuer: &IssuerId) -> DeliveryId {
        let (sid, client) = (self.sid.as_str().as_bytes(), self.client.as_str().as_bytes());
        let of_client = [b"back-channel logout\0", issuer.as_str().as_bytes(), b"\0", client];
        DeliveryId::for_recipient(&half_digest(&of_client), &half_digest(&[b"sid\0", sid]))
    }

    /// The logout token for it, made now. It names user and session as the client knows them.
    pub fn logout_token(
        &self,
        issuer_url: &str,
        pairwise: Option<Pairwise<'_>>,
        now: Timestamp,
        random: &dyn Random,
    ) -> LogoutToken {
        let (sub, sid) = match pairwise {
            None => (self.user.clone(), self.sid.clone()),
            Some(pairwise) => (pairwise.sub(self.user), pairwise.sid(self.sid)),
        };
        LogoutToken {
            iss: issuer_url.to_owned(),
            sub,
            aud: self.client.clone(),
            iat: now.seconds(),
            exp: (now + LIVES).seconds(),
            jti: random::token_128(random),
            sid,
        }
    }
}

/// The first half of a digest: 128 bits.
fn half_digest(parts: &[&[u8]]) -> [u8; 16] {
    *digest::sha256(parts).first_chunk().unwrap_or(&[0; 16])
}

/// The claims of a logout token; written in this order. It has no `nonce`, so that nobody takes it for an ID token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutToken {
    /// The issuer's URL.
    pub iss: String,
    /// The user as the client knows them.
    pub sub: UserId,
    /// The client's id.
    pub aud: ClientId,
    /// When it was issued, in seconds.
    pub iat: u64,
    /// When it expires, in seconds.
    pub exp: u64,
    /// Its own id.
    pub jti: SmolStr,
    /// The session as the client knows it.
    pub sid: Sid,
}

impl LogoutToken {
    /// The JWS payload.
    pub fn to_json(&self) -> Vec<u8> {
        let mut json = Object::with_capacity(512);
        json.text("iss", &self.iss);
        json.text("sub", self.sub.as_str());
        json.text("aud", self.aud.as_str());
        json.number("iat", self.iat);
        json.number("exp", self.exp);
        json.text("jti", &self.jti);
        json.text("sid", self.sid.as_str());
        // Section 2.4: an empty object says nothing more than that.
        json.name("events");
        json.raw().extend_from_slice(br#"{"http://schemas.openid.net/event/backchannel-logout":{}}"#);
        json.end()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use symbolon_crypto::random::SeededRandom;

    use super::*;

    fn ended<'a>(user: &'a UserId, sid: &'a Sid, client: &'a ClientId) -> EndedSession<'a> {
        EndedSession { user, sid, client }
    }

    #[test]
    fn a_logout_token_has_these_claims_and_no_nonce() {
        let (user, sid, client) = (UserId::trusted("ann"), Sid::trusted("s1"), ClientId::trusted("rp"));
        let now = Timestamp::from_seconds(1_800_000_000);
        let token =
            ended(&user, &sid, &client).logout_token("https://op.example", None, now, &SeededRandom::new(1));
        let claims: Value = serde_json::from_slice(&token.to_json()).unwrap();
        assert_eq!(
            claims,
            json!({
                "iss": "https://op.example", "sub": "ann", "aud": "rp", "sid": "s1",
                "iat": 1_800_000_000, "exp": 1_800_000_120, "jti": token.jti.as_str(),
                "events": { "http://schemas.openid.net/event/backchannel-logout": {} },
            })
        );
    }

    #[test]
    fn what_is_told_twice_waits_once() {
        let (user, sid, client) = (UserId::trusted("ann"), Sid::trusted("s1"), ClientId::trusted("rp"));
        let issuer = IssuerId::default_issuer();
        let id = ended(&user, &sid, &client).delivery_id(&issuer);
        assert_eq!(id, ended(&user, &sid, &client).delivery_id(&issuer));
        assert!(DeliveryId::parse(id.as_str()).is_ok());
        let (other_sid, other_client) = (Sid::trusted("s2"), ClientId::trusted("rp2"));
        assert_ne!(id, ended(&user, &other_sid, &client).delivery_id(&issuer));
        assert_ne!(id, ended(&user, &sid, &other_client).delivery_id(&issuer));
        assert_ne!(id, ended(&user, &sid, &client).delivery_id(&IssuerId::trusted("other")));
    }
}
