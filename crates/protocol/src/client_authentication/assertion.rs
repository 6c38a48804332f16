//! `private_key_jwt`: a JWT that the client signs with its own key (RFC 7523 2.2, 3; OpenID Connect Core 9).

use std::time::Duration;

use symbolon_crypto::jwk::Jwk;
use symbolon_crypto::jws::{Compact, Header};
use symbolon_crypto::key::VerifyingKey;

use super::{AssertionUse, AuthenticationFailed, Expectation};
use crate::assertion_claims::{Audience, Claims, LEEWAY, beside_clock};
use crate::client::Client;
use crate::client_key;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, Jti};
use crate::refusal::{Details, Reason};
use crate::security_profile;
use crate::time::Timestamp;

/// The value of `client_assertion_type` (RFC 7523 2.2).
pub const CLIENT_ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How long an assertion is accepted after its `iat`, or before its `exp` if it has no `iat`. The mark of its use is
/// kept that long.
pub const MAX_ASSERTION_LIFE: Duration = Duration::from_secs(5 * 60);

/// A parsed assertion that is not verified.
pub struct Assertion<'a> {
    client_id: ClientId,
    token: Compact<'a>,
    claims: Claims,
}

impl<'a> Assertion<'a> {
    /// An assertion of the client itself, to know which client to load.
    pub(super) fn of_client(token: Compact<'a>, claims: Claims) -> Result<Self, AuthenticationFailed> {
        let client_id = ClientId::parse(&claims.sub).map_err(|_| malformed())?;
        Ok(Self { client_id, token, claims })
    }

    /// The client that the assertion claims to be from.
    pub fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// The header, not yet verified: which of the client's keys may have signed.
    pub fn header(&self) -> &Header {
        self.token.header()
    }

    /// Verifies the signature by one of these keys of the client, then the claims.
    pub(super) fn verify(
        &self,
        client: &Client,
        keys: &[Jwk],
        expected: &Expectation<'_>,
    ) -> Result<AssertionUse, AuthenticationFailed> {
        // RFC 7523 3, items 9 and 10: signed by the client, and valid in all other respects (RFC 7519).
        let key = self.signed_by(client, keys)?;
        let (jti, expires_at) = self.check_claims(client, expected)?;
        let key_thumbprint = key.jwk().thumbprint();
        Ok(AssertionUse { client_id: client.client_id.clone(), key_thumbprint, jti, expires_at })
    }

    /// The key of the client that verifies the signature.
    fn signed_by(&self, client: &Client, keys: &[Jwk]) -> Result<VerifyingKey, AuthenticationFailed> {
        check_algorithm(client, self.token.header())?;
        client_key::verifying(keys, &self.token).ok_or_else(|| {
            let refusal = client_key::not_verified(keys, self.token.header());
            OAuthError::invalid_client(refusal.reason).because(refusal).into()
        })
    }

    /// Checks the claims. Returns the `jti`, and until when the assertion is accepted.
    fn check_claims(
        &self,
        client: &Client,
        expected: &Expectation<'_>,
    ) -> Result<(Jti, Timestamp), OAuthError> {
        let Claims { iss, sub, aud, exp, iat, nbf, jti } = &self.claims;
        let (now, exp) = (expected.now, exp.0);
        let header = self.token.header();
        // RFC 8725 3.11: a JWT that the client signed for another purpose is refused.
        let typed =
            header.typ.is_none() || header.is_type("JWT") || header.is_type("client-authentication+jwt");
        require(
            typed,
            Reason::AssertionTypWrong,
            "the assertion's typ must be JWT or client-authentication+jwt",
        )
        .map_err(|error| {
            let sent = header.typ.as_deref().unwrap_or_default();
            error.about(Details::of("typ").sent(sent).expected(["JWT", "client-authentication+jwt"]))
        })?;
        // RFC 7523 3, items 1 and 2: for client authentication both are the client_id.
        let about_itself = [iss, sub].into_iter().all(|claim| claim == client.client_id.as_str());
        require(
            about_itself,
            Reason::AssertionSubjectWrong,
            "the assertion's iss and sub must be the client_id",
        )
        .map_err(|error| {
            let sent = format!("iss {iss}, sub {sub}");
            error.about(Details::of("iss, sub").sent(&sent).expected([client.client_id.as_str()]))
        })?;
        check_audience(aud, client, expected)?;
        // Item 4: not accepted after its end. With an `iat` an assertion ends at most 5 minutes after it, so that its
        // mark need not be kept for long. Without an `iat` its `exp` must not be further ahead than that.
        let end = iat.map_or(exp, |iat| exp.min(iat.0 + MAX_ASSERTION_LIFE));
        require(
            now < end + LEEWAY,
            Reason::AssertionExpired,
            "the assertion has expired, or was issued more than 5 minutes ago",
        )
        .map_err(|error| error.about(beside_clock("exp", exp, now)))?;
        require(
            end <= now + MAX_ASSERTION_LIFE + LEEWAY,
            Reason::AssertionLivesTooLong,
            "the assertion's exp is more than 5 minutes ahead, and it has no iat",
        )
        .map_err(|error| error.about(beside_clock("exp", exp, now)))?;
        // Items 5 and 6.
        for (name, time, description) in [
            ("nbf", nbf, "the assertion's nbf is in the future"),
            ("iat", iat, "the assertion's iat is in the future"),
        ] {
            require(
                time.is_none_or(|time| time.0 <= now + LEEWAY),
                Reason::AssertionNotYetValid,
                description,
            )
            .map_err(|error| error.about(beside_clock(name, time.map_or(now, |time| time.0), now)))?;
        }
        // Item 7 makes jti optional. Here it is required, because without it an assertion could be replayed.
        let jti = jti.as_deref().and_then(|jti| Jti::parse(jti).ok());
        let jti = jti.ok_or_else(|| {
            invalid(
                Reason::AssertionJtiMissing,
                "the assertion needs a jti of at most 512 visible characters",
            )
        })?;
        Ok((jti, end + LEEWAY))
    }
}

/// The failure if the text is no assertion.
pub(super) fn malformed() -> AuthenticationFailed {
    AuthenticationFailed::invalid_client(Reason::AssertionMalformed, false)
}

/// OpenID Connect Registration 2: MUST be rejected, if not signed with the algorithm that is registered.
pub(super) fn check_algorithm(client: &Client, header: &Header) -> Result<(), AuthenticationFailed> {
    let alg = header.alg;
    let details = Details::of("alg").sent(alg.as_str());
    let details = match client.token_endpoint_auth_signing_alg.filter(|only| *only != alg) {
        Some(only) => details.registered([only.as_str()]),
        // FAPI 2.0 Security Profile 5.4.
        None if !security_profile::allows(client.settings.profile, alg) => {
            details.expected(security_profile::algorithm_names(client.settings.profile))
        }
        None => return Ok(()),
    };
    Err(AuthenticationFailed::invalid_client(Reason::AssertionAlgorithmOther, false).about(details))
}

/// RFC 7523 3, item 3: the audience must be the authorization server, by one of its names or by several of them (RFC 7519 4.1.3).
/// Nobody else may be an audience: any other one could present the assertion here (CVE-2025-27370).
fn check_audience(aud: &Audience, client: &Client, expected: &Expectation<'_>) -> Result<(), OAuthError> {
    let only = aud.only();
    let is_issuer = only == Some(expected.issuer);
    let wrong = |accepted: &[&str], error: OAuthError| {
        error.about(Details::of("aud").sent(&aud.shown()).expected(accepted.iter().copied()))
    };
    // FAPI 2.0 Security Profile 5.3.2.1: as a string, and not as an array, even of one.
    let is_array = matches!(aud, Audience::Many(_));
    if security_profile::is_fapi2(client.settings.profile) && is_array {
        let description = "the assertion's aud must be this issuer as a text, not as an array";
        return require(false, Reason::AssertionAudienceWrong, description)
            .map_err(|error| wrong(&[expected.issuer], error));
    }
    if client.settings.requires_issuer_audience(expected.audience_is_issuer) {
        let description = "the assertion's aud must be this issuer, and nothing else";
        return require(is_issuer, Reason::AssertionAudienceWrong, description)
            .map_err(|error| wrong(&[expected.issuer], error));
    }
    let is_own = |one: &str| {
        one == expected.issuer || one == expected.token_endpoint || Some(one) == expected.asked_endpoint
    };
    require(
        aud.all().next().is_some() && aud.all().all(is_own),
        Reason::AssertionAudienceWrong,
        "the assertion's aud must be this issuer or its token endpoint, and nothing else",
    )
    .map_err(|error| wrong(&[expected.issuer, expected.token_endpoint], error))
}

const fn invalid(reason: Reason, description: &'static str) -> OAuthError {
    OAuthError::new(ErrorCode::InvalidClient, reason, description)
}

fn require(holds: bool, reason: Reason, otherwise: &'static str) -> Result<(), OAuthError> {
    if holds { Ok(()) } else { Err(invalid(reason, otherwise)) }
}
