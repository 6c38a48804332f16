//! `private_key_jwt`: a JWT that the client signs with its own key (RFC 7523 2.2, 3; OpenID Connect Core 9).

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use symbolon_crypto::jws::{Compact, Header};
use symbolon_crypto::key::VerifyingKey;

use super::{AssertionUse, AuthenticationFailed, Expectation};
use crate::client::Client;
use crate::error::{ErrorCode, OAuthError};
use crate::id::{ClientId, Jti};
use crate::refusal::{Details, Reason};
use crate::time::Timestamp;

/// The value of `client_assertion_type` (RFC 7523 2.2).
pub const CLIENT_ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
/// How long an assertion is accepted after its `iat`, or before its `exp` if it has no `iat`. The mark of its use is
/// kept that long.
pub const MAX_ASSERTION_LIFE: Duration = Duration::from_secs(5 * 60);
/// The tolerated difference between the client's clock and the server's.
const LEEWAY: Duration = Duration::from_secs(30);
/// How many keys are tried if the assertion has no `kid`.
const MAX_TRIED_KEYS: usize = 4;

/// A parsed assertion that is not verified.
pub struct Assertion<'a> {
    client_id: ClientId,
    token: Compact<'a>,
    claims: Claims,
}

/// The claims of RFC 7523 3. A repeated claim is an error (RFC 7519 4 leaves it to the parser).
#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    exp: NumericDate,
    iat: Option<NumericDate>,
    nbf: Option<NumericDate>,
    jti: Option<String>,
}

/// RFC 7519 4.1.3: one string or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    /// Every audience.
    fn all(&self) -> impl Iterator<Item = &str> {
        let values = match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values.as_slice(),
        };
        values.iter().map(String::as_str)
    }

    /// The audience, if there is exactly one.
    fn only(&self) -> Option<&str> {
        match self {
            Self::One(value) => Some(value),
            Self::Many(values) => match values.as_slice() {
                [value] => Some(value),
                _ => None,
            },
        }
    }
}

/// RFC 7519 2: seconds; a fraction is dropped.
#[derive(Clone, Copy)]
struct NumericDate(Timestamp);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The cast saturates: negative numbers become the epoch, too large ones the end of time.
        f64::deserialize(deserializer).map(|seconds| Self(Timestamp::from_seconds(seconds as u64)))
    }
}

impl<'a> Assertion<'a> {
    /// Parses an assertion, to know which client to load.
    pub(super) fn read(text: &'a str) -> Result<Self, AuthenticationFailed> {
        let refused = || AuthenticationFailed::invalid_client(Reason::AssertionMalformed, false);
        let token = Compact::parse(text).map_err(|_| refused())?;
        let payload = token.payload().map_err(|_| refused())?;
        let claims: Claims = serde_json::from_slice(&payload).map_err(|_| refused())?;
        let client_id = ClientId::parse(&claims.sub).map_err(|_| refused())?;
        Ok(Self { client_id, token, claims })
    }

    /// The client that the assertion claims to be from.
    pub fn client_id(&self) -> &ClientId {
        &self.client_id
    }

    /// Verifies the signature by a key of the client, then the claims.
    pub(super) fn verify(
        &self,
        client: &Client,
        expected: &Expectation<'_>,
    ) -> Result<AssertionUse, AuthenticationFailed> {
        // RFC 7523 3, items 9 and 10: signed by the client, and valid in all other respects (RFC 7519).
        let key = self.signed_by(client)?;
        let (jti, expires_at) = self.check_claims(client, expected)?;
        let key_thumbprint = key.jwk().thumbprint();
        Ok(AssertionUse { client_id: client.client_id.clone(), key_thumbprint, jti, expires_at })
    }

    /// The key of the client that verifies the signature.
    fn signed_by(&self, client: &Client) -> Result<VerifyingKey, AuthenticationFailed> {
        let Header { alg, .. } = self.token.header();
        // OpenID Connect Registration 2: MUST be rejected, if not signed with the algorithm that is registered.
        if let Some(only) = client.token_endpoint_auth_signing_alg.filter(|only| only != alg) {
            let details = Details::of("alg").sent(alg.as_str()).registered([only.as_str()]);
            return Err(
                AuthenticationFailed::invalid_client(Reason::AssertionAlgorithmOther, false).about(details)
            );
        }
        self.fitting_keys(client)
            .take(MAX_TRIED_KEYS)
            .find(|key| self.token.verify(key).is_ok())
            .ok_or_else(|| self.not_verified(client))
    }

    /// The registered keys that the assertion's header fits.
    fn fitting_keys(&self, client: &Client) -> impl Iterator<Item = VerifyingKey> {
        let Header { alg, kid, .. } = self.token.header();
        let keys = client.jwks.iter().flat_map(|set| &set.keys);
        keys.filter(move |key| kid.is_none() || key.kid == *kid)
            // The key must be meant for the algorithm (RFC 8725 3.1): otherwise `from_jwk` fails.
            .filter_map(move |key| VerifyingKey::from_jwk(key.clone(), Some(*alg)).ok())
    }

    /// The failure if no key verified the signature.
    fn not_verified(&self, client: &Client) -> AuthenticationFailed {
        let Header { alg, kid, .. } = self.token.header();
        let reason = match self.fitting_keys(client).next() {
            Some(_) => Reason::AssertionSignatureWrong,
            None => Reason::AssertionKeyUnknown,
        };
        let keys = client.jwks.iter().flat_map(|set| &set.keys);
        let details = Details::of("kid")
            .sent(&format!("{} ({alg})", kid.as_deref().unwrap_or("none")))
            .registered(keys.map(|key| key.kid.as_deref().unwrap_or("a key without kid")));
        AuthenticationFailed::invalid_client(reason, false).about(details)
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

/// A claim in seconds beside the present time.
fn beside_clock(claim: &str, time: Timestamp, now: Timestamp) -> Details {
    let now = format!("{} on the provider's clock", now.seconds());
    Details::of(claim).sent(&time.seconds().to_string()).expected([now.as_str()])
}

/// RFC 7523 3, item 3: the audience must be the authorization server. It must be the only audience: any other one
/// could present the assertion here (CVE-2025-27370).
fn check_audience(aud: &Audience, client: &Client, expected: &Expectation<'_>) -> Result<(), OAuthError> {
    let only = aud.only();
    let is_issuer = only == Some(expected.issuer);
    let wrong = |accepted: &[&str], error: OAuthError| {
        let sent = aud.all().take(5).collect::<Vec<_>>().join(" ");
        error.about(Details::of("aud").sent(&sent).expected(accepted.iter().copied()))
    };
    if client.settings.audience_is_issuer.unwrap_or(expected.audience_is_issuer) {
        let description = "the assertion's aud must be this issuer, and nothing else";
        return require(is_issuer, Reason::AssertionAudienceWrong, description)
            .map_err(|error| wrong(&[expected.issuer], error));
    }
    require(
        is_issuer || only == Some(expected.token_endpoint),
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
