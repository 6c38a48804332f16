//! Access tokens whose signature was checked: a signature checked once need not be checked again.
//!
//! Keyed by a digest of the whole token, so that nothing forged can hit. An entry names its key, whose state is
//! looked at on every hit; expiry and revocation are checked every time, by the caller.

use std::sync::Arc;

use quick_cache::sync::Cache;
use symbolon_crypto::digest;
use symbolon_crypto::jws::Compact;
use symbolon_figures::CacheFigures;
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::token::access_token::AccessToken;

use crate::issuer::IssuerState;

/// Tokens kept: about 1 KiB each.
const CAPACITY: usize = 16_384;

/// A token of an issuer, with a good signature.
pub struct VerifiedAccessToken {
    /// Its claims.
    pub claims: AccessToken,
    /// What ends it.
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

    /// The claims of an access token that this issuer signed with a key that still verifies; none for anything else.
    /// Expiry and revocation are the caller's to check.
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
