//! Cache of access tokens whose signature was already verified, so that it is not verified again on every request.
//!
//! The key of the cache is a digest of the token's signature. An entry keeps the signing input that the signature was
//! verified with (RFC 7515 5.2), and a hit counts only if the presented token has the same one, so a forged token never
//! hits. Digesting the signature alone takes a fraction of digesting the whole token, and the memory of the cache does not
//! contain a usable token: its signature is missing.
//!
//! An entry also keeps the `kid` that verified it, and a hit counts only while the issuer still accepts that key. Expiry
//! and revocation are not cached: the caller checks them on every request.

use std::sync::Arc;

use quick_cache::sync::Cache;
use serde::Deserialize;
use symbolon_crypto::digest;
use symbolon_crypto::jws::Compact;
use symbolon_figures::CacheFigures;
use symbolon_protocol::grant::Lineage;
use symbolon_protocol::refusal::{Details, Reason, Refusal};
use symbolon_protocol::token::access_token::AccessToken;

use crate::issuer::IssuerState;

/// Capacity in tokens; each takes about 1.5 KiB.
const CAPACITY: usize = 16_384;

/// An access token of an issuer, with a verified signature.
pub struct VerifiedAccessToken {
    /// The token's claims.
    pub claims: AccessToken,
    /// The records whose end revokes the token.
    pub lineage: Lineage,
    kid: String,
    /// Header and payload as they were signed.
    signing_input: Box<str>,
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

    /// The claims of an access token that this issuer signed with a key that still verifies. The caller checks expiry
    /// and revocation.
    ///
    /// # Errors
    /// [`Refusal`]: it is not such a token.
    pub fn verify(&self, issuer: &IssuerState, token: &str) -> Result<Arc<VerifiedAccessToken>, Refusal> {
        let Some((signing_input, signature)) = token.rsplit_once('.') else {
            self.figures.miss();
            return Err(Reason::TokenMalformed.into());
        };
        let key = digest::sha256(&[signature.as_bytes()]);
        if let Some(known) = self.cache.get(&key).filter(|known| *known.signing_input == *signing_input) {
            self.figures.hit();
            if known.claims.iss != *issuer.url {
                return Err(of_other_issuer(issuer, &known.claims.iss));
            }
            return match issuer.keys.load().verifying(&known.kid) {
                Some(_) => Ok(known),
                None => Err(of_unknown_key(&known.kid)),
            };
        }
        self.figures.miss();
        let (claims, kid) = verify(issuer, token)?;
        let lineage = claims.lineage(&issuer.id);
        let verified =
            Arc::new(VerifiedAccessToken { claims, lineage, kid, signing_input: signing_input.into() });
        self.cache.insert(key, Arc::clone(&verified));
        Ok(verified)
    }
}

/// The claims of a token, and the `kid` of the key that verified its signature.
fn verify(issuer: &IssuerState, token: &str) -> Result<(AccessToken, String), Refusal> {
    let jws = Compact::parse(token).map_err(|_| Reason::TokenMalformed)?;
    let kid = jws.header().kid.as_deref().ok_or_else(|| not_verifiable(issuer, &jws))?.to_owned();
    let payload = {
        let keys = issuer.keys.load();
        let key = keys.verifying(&kid).ok_or_else(|| not_verifiable(issuer, &jws))?;
        jws.verified_payload(key).map_err(|_| Reason::TokenSignatureWrong)?
    };
    // RFC 9068 4: the type and the issuer must be right.
    let mut claims = AccessToken::parse(jws.header(), &payload).map_err(Reason::from)?;
    if claims.iss != *issuer.url {
        return Err(of_other_issuer(issuer, &claims.iss));
    }
    // Without it nobody would know whose end revokes the token.
    issuer.unveil_access_token(&mut claims).map_err(|_| Reason::TokenMalformed)?;
    Ok((claims, kid))
}

/// The refusal of a token that names none of the issuer's keys. Most such tokens come from another issuer, and say so.
/// Nobody has verified what they say; it is told to the operator alone.
#[cold]
fn not_verifiable(issuer: &IssuerState, jws: &Compact<'_>) -> Refusal {
    #[derive(Deserialize)]
    struct Claims {
        iss: String,
    }
    let payload = jws.payload().ok();
    match payload.and_then(|payload| serde_json::from_slice::<Claims>(&payload).ok()) {
        Some(Claims { iss }) if iss != *issuer.url => of_other_issuer(issuer, &iss),
        _ => of_unknown_key(jws.header().kid.as_deref().unwrap_or_default()),
    }
}

#[cold]
fn of_other_issuer(issuer: &IssuerState, iss: &str) -> Refusal {
    Refusal::about(Reason::TokenOfOtherIssuer, Details::of("iss").sent(iss).expected([&*issuer.url]))
}

#[cold]
fn of_unknown_key(kid: &str) -> Refusal {
    Refusal::about(Reason::TokenKeyUnknown, Details::of("kid").sent(kid))
}
