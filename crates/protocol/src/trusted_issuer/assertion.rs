//! An assertion that an issuer made about somebody else (RFC 7523 3, RFC 7521 5.2).

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use smol_str::SmolStr;
use symbolon_crypto::jwk::Jwk;
use symbolon_crypto::jws::{Compact, Header};

use super::{TrustedIssuer, TrustedUse, untrusted};
use crate::assertion_claims::{Claims, LEEWAY, beside_clock};
use crate::client_authentication::{AssertionUse, MAX_ASSERTION_LIFE};
use crate::client_key;
use crate::id::{ClientId, Jti};
use crate::refusal::{Details, Reason, Refusal};
use crate::time::Timestamp;

/// A parsed assertion that is not verified.
pub struct IssuedAssertion<'a> {
    token: Compact<'a>,
    checked: Claims,
    claims: Map<String, Value>,
}

/// With what an assertion is compared.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// Its issuer, as the settings have it.
    pub trusted: &'a TrustedIssuer,
    /// What it is to prove.
    pub purpose: TrustedUse,
    /// The URL of the issuer that is asked, which is always accepted as the `aud`.
    pub issuer: &'a str,
    /// The URL of its token endpoint, where that is accepted too.
    pub token_endpoint: Option<&'a str>,
    /// The current time.
    pub now: Timestamp,
}

/// What a verified assertion says of its use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vouched {
    issuer: String,
    key_thumbprint: SmolStr,
    jti: Option<String>,
    /// For how long it lives, from its `iat`, else its `nbf`; `None` if it has neither.
    lives: Option<Duration>,
    /// Until when it would be accepted.
    accepted_until: Timestamp,
}

impl<'a> IssuedAssertion<'a> {
    /// Parses an assertion; `None` if it is no JWT with the claims `iss`, `sub`, `aud` and `exp`, or its signature is of a kind that proves
    /// nothing: `alg` is `none`, or an HMAC.
    pub fn read(text: &'a str) -> Option<Self> {
        let token = Compact::parse(text).ok()?;
        let payload = token.payload().ok()?;
        let checked = serde_json::from_slice(&payload).ok()?;
        Self::of(token, checked, &payload)
    }

    /// An assertion whose usual claims were read before.
    pub(crate) fn of(token: Compact<'a>, checked: Claims, payload: &[u8]) -> Option<Self> {
        let claims = serde_json::from_slice(payload).ok()?;
        Some(Self { token, checked, claims })
    }

    /// Its `iss`.
    pub fn issuer(&self) -> &str {
        &self.checked.iss
    }

    /// Its `sub`.
    pub fn subject(&self) -> &str {
        &self.checked.sub
    }

    /// When it ends. Not yet verified.
    pub fn expires_at(&self) -> Timestamp {
        self.checked.exp.0
    }

    /// All of its claims.
    pub fn claims(&self) -> &Map<String, Value> {
        &self.claims
    }

    /// A claim by its type; `None` if it is absent or `null`.
    ///
    /// # Errors
    /// [`Reason::AssertionMalformed`]: it is of another type.
    pub fn claim<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, Reason> {
        match self.claims.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => {
                serde_json::from_value(value.clone()).map(Some).map_err(|_| Reason::AssertionMalformed)
            }
        }
    }

    /// The header, not yet verified: which of the issuer's keys may have signed.
    pub fn header(&self) -> &Header {
        self.token.header()
    }

    /// Verifies the signature by one of these keys of the trusted issuer, then the claims.
    ///
    /// # Errors
    /// Why it proves nothing, for the operator.
    pub fn verify(&self, keys: &[Jwk], expected: &Expected<'_>) -> Result<Vouched, Refusal> {
        // RFC 7523 3, item 1: the issuer is the one by whose keys it is verified.
        if self.checked.iss != expected.trusted.issuer {
            return Err(untrusted(&self.checked.iss, [expected.trusted.issuer.as_str()]));
        }
        // Items 9 and 10: signed by the issuer, and valid in all other respects (RFC 7519).
        let key = client_key::verifying(keys, &self.token)
            .ok_or_else(|| client_key::not_verified(keys, self.token.header()))?;
        self.check_type(expected.purpose)?;
        self.check_audience(expected)?;
        self.check_times(expected)?;
        let Claims { iss, exp, iat, nbf, jti, .. } = &self.checked;
        Ok(Vouched {
            issuer: iss.clone(),
            key_thumbprint: key.jwk().thumbprint(),
            jti: jti.clone(),
            lives: iat.or(*nbf).map(|begun| exp.0.since(begun.0)),
            accepted_until: exp.0 + LEEWAY,
        })
    }

    /// RFC 8725 3.11: a JWT that the issuer signed for another purpose is refused.
    fn check_type(&self, purpose: TrustedUse) -> Result<(), Refusal> {
        let header = self.token.header();
        let types = purpose.types();
        let is_untyped = header.typ.is_none() && purpose.needs_no_type();
        if is_untyped || types.iter().any(|own| header.is_type(own)) {
            return Ok(());
        }
        let details = Details::of("typ").sent(header.typ.as_deref().unwrap_or_default());
        Err(Refusal::about(Reason::AssertionTypWrong, details.expected(types.iter().copied())))
    }

    /// Item 3: the audience must be the authorization server, and nobody besides: any other could present the assertion here
    /// (CVE-2025-27370).
    fn check_audience(&self, expected: &Expected<'_>) -> Result<(), Refusal> {
        let aud = &self.checked.aud;
        // draft-ietf-oauth-identity-assertion-authz-grant 4.4.1: that of an ID-JAG MUST be the issuer identifier.
        let (endpoint, other) = match expected.purpose {
            TrustedUse::IdJag => (None, None),
            _ => (expected.token_endpoint, expected.trusted.audience.as_deref()),
        };
        let accepted = [Some(expected.issuer), endpoint, other];
        let only = aud.only();
        if only.is_some() && accepted.contains(&only) {
            return Ok(());
        }
        let details = Details::of("aud").sent(&aud.shown()).expected(accepted.into_iter().flatten());
        Err(Refusal::about(Reason::AssertionAudienceWrong, details))
    }

    /// Items 4 to 6: it must have an end, must not have ended, and must have begun.
    fn check_times(&self, expected: &Expected<'_>) -> Result<(), Refusal> {
        let Claims { exp, iat, nbf, .. } = &self.checked;
        let now = expected.now;
        let wrong = |reason, name, time| Err(Refusal::about(reason, beside_clock(name, time, now)));
        if now >= exp.0 + LEEWAY {
            return wrong(Reason::AssertionExpired, "exp", exp.0);
        }
        if exp.0 > now + expected.purpose.most_ahead() + LEEWAY {
            return wrong(Reason::AssertionLivesTooLong, "exp", exp.0);
        }
        for (name, time) in [("nbf", nbf), ("iat", iat)] {
            if let Some(time) = time.filter(|time| time.0 > now + LEEWAY) {
                return wrong(Reason::AssertionNotYetValid, name, time.0);
            }
        }
        Ok(())
    }
}

impl Vouched {
    /// The mark of its use, if it may be used once only: it has a `jti`, and lives five minutes at most. A workload reads a token that lives
    /// longer from a file, for as long as it lives, and presents it again and again.
    ///
    /// # Errors
    /// Its `jti` is none that can be marked.
    pub fn mark_if_short(self) -> Result<Option<AssertionUse>, Refusal> {
        let is_short = self.lives.is_some_and(|life| life <= MAX_ASSERTION_LIFE);
        match is_short && self.jti.is_some() {
            true => self.mark().map(Some),
            false => Ok(None),
        }
    }

    /// The mark of its use (RFC 7523 3, item 7), which is the issuer's: whoever presents the assertion a second time, as whatever client, is
    /// refused.
    ///
    /// # Errors
    /// It has no `jti` that can be marked.
    pub fn mark(self) -> Result<AssertionUse, Refusal> {
        let jti = self.jti.as_deref().and_then(|jti| Jti::parse(jti).ok());
        let Some(jti) = jti else { return Err(Reason::AssertionJtiMissing.into()) };
        Ok(AssertionUse {
            client_id: ClientId::trusted(self.issuer),
            key_thumbprint: self.key_thumbprint,
            jti,
            expires_at: self.accepted_until,
        })
    }
}

#[cfg(test)]
mod tests;
