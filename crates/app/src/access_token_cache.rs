//! Cache of access tokens whose signature was already verified, so that it is not verified again on every request.
//!
//! The key of the cache is a digest of the whole token, so a forged token never hits. An entry keeps the `kid` that
//! verified it, and a hit counts only while the issuer still accepts that key. Expiry and revocation are not cached:
//! the caller checks them on every request.

use std::sync::Arc;

use quick_cache::sync::Cache;
use symbolon_crypto::digest;
use symbolon_crypto::jws::Compact;
use symbolon_figures::CacheFigures;
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::token::access_token::AccessToken;

use crate::issuer::IssuerState;

/// Capacity in tokens; each takes about 1 KiB.
const CAPACITY: usize = 16_384;

/// An access token of an issuer, with a verified signature.
pub struct VerifiedAccessToken {
    /// The token's claims.
    pub claims: AccessToken,
    /// The records whose end revokes the token.
    pub lineage: Lineage,
    kid: String,
}

/// The cache.
pub struct AccessTokenCache {
    cache: Cache<[u8; 32], Arc<VerifiedAccessToken>>,
    figures: Arc<CacheFigures>,
}

impl AccessTokenCache {
    /// An empty cache that counts its hits and misses.
    pub fn new(figures: Arc<CacheFigures>) -> Self {
        Self { cache: Cache::new(CAPACITY), figures }
    }

    /// The claims of an access token that this issuer signed with a key that still verifies; `None` for any other
    /// token. The caller checks expiry and revocation.
    pub fn verify(&self, issuer: &IssuerState, token: &str) -> Option<Arc<VerifiedAccessToken>> {
        let key = digest::sha256(&[token.as_bytes()]);
        if let Some(known) = self.cache.get(&key) {
            self.figures.hit();
            let good = known.claims.iss == *issuer.url && issuer.keys.load().verifying(&known.kid).is_some();
            return good.then_some(known);
        }
        self.figures.miss();
        let verified = Arc::new(verify(issuer, token)?);
        self.cache.insert(key, Arc::clone(&verified));
        Some(verified)
    }
}

fn verify(issuer: &IssuerState, token: &str) -> Option<VerifiedAccessToken> {
    let jws = Compact::parse(token).ok()?;
    let kid = jws.header().kid.as_deref()?.to_owned();
    let payload = {
        let keys = issuer.keys.load();
        jws.verified_payload(keys.verifying(&kid)?).ok()?
    };
    // RFC 9068 4: the type and the issuer must be right.
    let claims = AccessToken::parse(jws.header(), &payload).ok()?;
    if claims.iss != *issuer.url {
        return None;
    }
    let lineage = claims.lineage(&issuer.id);
    Some(VerifiedAccessToken { claims, lineage, kid })
}
