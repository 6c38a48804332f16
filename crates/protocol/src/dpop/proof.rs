//! One proof: reading and checking it (RFC 9449 4.2, 4.3).

use std::time::Duration;

use serde::Deserialize;
use smol_str::SmolStr;
use symbolon_crypto::digest::sha256;
use symbolon_crypto::encoding;
use symbolon_crypto::jwk::Jwk;
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::VerifyingKey;

use super::{DpopNonce, Nonces, invalid, target};
use crate::error::{ErrorCode, OAuthError};
use crate::id::{IssuerId, Jti};
use crate::refusal::{Details, Reason};
use crate::security_profile::{self, SecurityProfile};
use crate::time::Timestamp;
use crate::token::claim::numeric_date;

/// The longest proof, in bytes. One by an RSA key of 8192 bits has less than 5,000.
pub const MAX_PROOF: usize = 8 * 1024;
/// `typ` of proofs (RFC 9449 4.2).
const TYP: &str = "dpop+jwt";
/// How long after its `iat` a proof is accepted (RFC 9449 11.1: seconds or minutes).
const LIFE: Duration = Duration::from_secs(5 * 60);
/// The tolerated difference between the client's clock and the server's.
const LEEWAY: Duration = Duration::from_secs(30);

/// What a proof must be for.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// The method of the request.
    pub method: &'a str,
    /// The URL of the endpoint, without query.
    pub uri: &'a str,
    /// The access token that came with it; `None` at the token endpoint.
    pub access_token: Option<&'a str>,
    /// Whether the proof must have a nonce.
    pub nonce: DpopNonce,
    /// The profile of the client, which allows fewer algorithms.
    pub profile: Option<SecurityProfile>,
    /// The issuer's nonces.
    pub nonces: Nonces<'a>,
    /// The current time.
    pub now: Timestamp,
}

/// A proof that is good, but for its first use: whoever accepts it must set the mark [`Proof::mark`], once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proof {
    /// The thumbprint of the key whose possession it proves (RFC 9449 6.1).
    pub thumbprint: SmolStr,
    /// When nobody accepts it any more.
    pub expires_at: Timestamp,
    jti: SmolStr,
}

/// The header member that is a proof's own; [`Compact`] reads the others.
#[derive(Deserialize)]
struct KeyHeader {
    jwk: Option<Jwk>,
}

/// The claims of RFC 9449 4.2. A repeated claim is an error (RFC 7519 4 leaves it to the parser).
#[derive(Deserialize)]
struct Claims {
    jti: Option<String>,
    htm: String,
    htu: String,
    #[serde(deserialize_with = "numeric_date::required")]
    iat: u64,
    ath: Option<String>,
    nonce: Option<String>,
    #[serde(default, deserialize_with = "numeric_date::optional")]
    exp: Option<u64>,
    #[serde(default, deserialize_with = "numeric_date::optional")]
    nbf: Option<u64>,
}

impl Proof {
    /// Reads the values of the request's `DPoP` headers, and checks the proof in them. `None` is a value that is no text.
    ///
    /// # Errors
    /// `invalid_dpop_proof`, which names the check that failed; `use_dpop_nonce` where a nonce is missing or not good.
    pub fn check<'h>(
        mut values: impl Iterator<Item = Option<&'h str>>,
        expected: &Expected<'_>,
    ) -> Result<Self, OAuthError> {
        let value = values.next().ok_or_else(super::missing)?;
        // RFC 9449 4.3, item 1: not more than one header.
        if values.next().is_some() {
            return Err(malformed("more than one DPoP header"));
        }
        let text = value.filter(|text| text.len() <= MAX_PROOF);
        let text = text.ok_or_else(|| malformed("the DPoP header is not a proof"))?;
        // Items 2, 3 and 5: one well-formed JWT, whose algorithm is asymmetric and supported: no other one is parsed.
        let token = Compact::parse(text).map_err(|why| {
            malformed("the DPoP proof is not a JWS of a supported algorithm")
                .about(Details::of("DPoP").sent(&why.to_string()))
        })?;
        // Item 4.
        if !token.header().is_type(TYP) {
            let sent = token.header().typ.as_deref().unwrap_or_default();
            return Err(invalid(Reason::DpopProofTypWrong, "typ of the DPoP proof must be dpop+jwt")
                .about(Details::of("typ").sent(sent).expected([TYP])));
        }
        // FAPI 2.0 Security Profile 5.4.
        let algorithm = token.header().alg;
        if !security_profile::allows(expected.profile, algorithm) {
            let details = Details::of("alg").sent(algorithm.as_str());
            return Err(malformed("the DPoP proof is signed by an algorithm that the client may not use")
                .about(details.expected(security_profile::algorithm_names(expected.profile))));
        }
        let key = key(&token)?;
        // Item 6.
        let payload = token.verified_payload(&key).map_err(|_| {
            invalid(Reason::DpopProofSignatureWrong, "the DPoP proof is not signed by its jwk")
        })?;
        // RFC 7519 2: the claims are an object. A list of their values would be read as well.
        let is_object = payload.trim_ascii_start().starts_with(b"{");
        let claims = is_object.then(|| serde_json::from_slice::<Claims>(&payload).ok()).flatten();
        let claims =
            claims.ok_or_else(|| malformed("the DPoP proof needs the claims jti, htm, htu and iat"))?;
        claims.check_request(expected)?;
        let expires_at = claims.check_time(expected.now)?;
        claims.check_nonce(expected)?;
        let thumbprint = key.jwk().thumbprint();
        Ok(Self { thumbprint, expires_at, jti: claims.jti()? })
    }

    /// The mark that it was used at an issuer: a digest over its key and its `jti`, so that nobody uses up another's (RFC
    /// 9449 11.1).
    pub fn mark(&self, issuer: &IssuerId) -> [u8; 16] {
        // Neither an id nor a thumbprint contains a space.
        let parts = [issuer.as_str(), self.thumbprint.as_str(), self.jti.as_str()].map(str::as_bytes);
        let [issuer, thumbprint, jti] = parts;
        let digest = sha256(&[b"dpop ", issuer, b" ", thumbprint, b" ", jti]);
        digest.first_chunk().copied().unwrap_or_default()
    }
}

/// The public key in the header, for the algorithm of the header.
fn key(token: &Compact<'_>) -> Result<VerifyingKey, OAuthError> {
    let refused = |why: &str| {
        // RFC 9449 4.3, item 7: the key must not contain a private key.
        invalid(Reason::DpopProofKeyInvalid, "jwk of the DPoP proof must be a public key that fits its alg")
            .about(Details::of("jwk").sent(why))
    };
    let header = token.signing_input().split('.').next().unwrap_or_default();
    let header = encoding::decode(header).map_err(|_| refused("not readable"))?;
    // Its members are unique, which `Compact` has checked. A private member is an error of `Jwk`.
    let header: KeyHeader = serde_json::from_slice(&header).map_err(|error| refused(&error.to_string()))?;
    let jwk = header.jwk.ok_or_else(|| refused(""))?;
    VerifyingKey::from_jwk(jwk, Some(token.header().alg)).map_err(|error| refused(&error.to_string()))
}

impl Claims {
    /// RFC 9449 4.3, items 8, 9 and 12: the proof is for this request, and for its access token.
    fn check_request(&self, expected: &Expected<'_>) -> Result<(), OAuthError> {
        // RFC 9110 9.1: methods are case-sensitive.
        if self.htm != expected.method {
            let details = Details::of("htm").sent(&self.htm).expected([expected.method]);
            return Err(invalid(
                Reason::DpopProofMethodOther,
                "htm of the DPoP proof is not the request's method",
            )
            .about(details));
        }
        if !target::is_same(&self.htu, expected.uri) {
            let details = Details::of("htu").sent_uri(&self.htu).expected([expected.uri]);
            return Err(invalid(Reason::DpopProofUriOther, "htu of the DPoP proof is not this endpoint")
                .about(details));
        }
        let Some(access_token) = expected.access_token else { return Ok(()) };
        let ath = encoding::encode(&sha256(&[access_token.as_bytes()]));
        if self.ath.as_deref() != Some(ath.as_str()) {
            let sent = self.ath.as_deref().unwrap_or_default();
            return Err(invalid(
                Reason::DpopProofTokenOther,
                "ath of the DPoP proof is not the hash of the access token",
            )
            .about(Details::of("ath").sent(sent).expected([ath.as_str()])));
        }
        Ok(())
    }

    /// Item 11: the proof was made now, within a window. Returns its end. `exp` and `nbf`, which proofs need not have, hold
    /// where they stand (RFC 7519 4.1.4, 4.1.5).
    fn check_time(&self, now: Timestamp) -> Result<Timestamp, OAuthError> {
        let iat = Timestamp::from_seconds(self.iat);
        let end = iat + LIFE + LEEWAY;
        let end = self.exp.map_or(end, |exp| end.min(Timestamp::from_seconds(exp) + LEEWAY));
        let begin = self.nbf.map_or(iat, |nbf| iat.max(Timestamp::from_seconds(nbf)));
        if begin <= now + LEEWAY && now < end {
            return Ok(end);
        }
        let clock = format!("{} on the provider's clock", now.seconds());
        let details = Details::of("iat").sent(&self.iat.to_string()).expected([clock.as_str()]);
        Err(invalid(Reason::DpopProofTimeWrong, "iat of the DPoP proof is too old, or in the future")
            .about(details))
    }

    /// Whether the proof may have been used at a time of which that is not known. Whoever took it then has taken a clock that
    /// is ahead, too.
    fn may_be_forgotten(&self, expected: &Expected<'_>) -> bool {
        let iat = Timestamp::from_seconds(self.iat);
        expected.nonces.since.is_some_and(|since| iat <= since + LEEWAY)
    }

    /// Item 10 (RFC 9449 8): a nonce that is sent must be one of this server, whether or not one is needed. It is needed, too, where
    /// only a nonce tells whether the proof is a new one.
    fn check_nonce(&self, expected: &Expected<'_>) -> Result<(), OAuthError> {
        let refused = |reason, description| {
            Err(OAuthError::new(ErrorCode::UseDpopNonce, reason, description).about(Details::of("nonce")))
        };
        match &self.nonce {
            Some(nonce) if expected.nonces.is_good(expected.now, nonce) => Ok(()),
            Some(_) => refused(Reason::DpopNonceWrong, "the nonce of the DPoP proof is too old or not ours"),
            None if expected.nonce == DpopNonce::Required || self.may_be_forgotten(expected) => {
                refused(Reason::DpopNonceMissing, "the DPoP proof needs a nonce of this server")
            }
            None => Ok(()),
        }
    }

    /// RFC 9449 11.1: a `jti` of unreasonable length is refused.
    fn jti(&self) -> Result<SmolStr, OAuthError> {
        let jti = self.jti.as_deref().and_then(|jti| Jti::parse(jti).ok());
        let jti = jti.ok_or_else(|| {
            invalid(
                Reason::DpopProofJtiMissing,
                "the DPoP proof needs a jti of at most 512 visible characters",
            )
        })?;
        Ok(SmolStr::new(jti.as_str()))
    }
}

const fn malformed(description: &'static str) -> OAuthError {
    invalid(Reason::DpopProofMalformed, description)
}
