//! Proof Key for Code Exchange (RFC 7636), S256 only, and who must use it (RFC 9700 2.1.1).

pub mod policy;

use symbolon_crypto::{digest, encoding};

use crate::client::ClientType;
use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason};

pub use policy::PkcePolicy;

/// An S256 code challenge: the SHA-256 of the verifier.
pub type CodeChallenge = [u8; 32];

/// Reads `code_challenge` and `code_challenge_method` of an authorization request. Whether a challenge is needed is
/// decided by [`check_protected`].
///
/// # Errors
/// `invalid_request` if the method came without a challenge, if it is not S256, or if the challenge is not a SHA-256
/// in base64url.
pub fn challenge(challenge: Option<&str>, method: Option<&str>) -> Result<Option<CodeChallenge>, OAuthError> {
    let Some(challenge) = challenge else {
        return match method {
            Some(method) => Err(OAuthError::invalid_request(
                Reason::PkceMissing,
                "code_challenge is missing: code_challenge_method came without it",
            )
            .about(Details::of("code_challenge_method").sent(method))),
            None => Ok(None),
        };
    };
    // RFC 7636 4.3: no method means `plain`, which RFC 9700 2.1.1 advises against, so it is refused.
    if method != Some("S256") {
        let details =
            Details::of("code_challenge_method").sent(method.unwrap_or_default()).expected(["S256"]);
        let description = "code_challenge_method must be S256";
        return Err(OAuthError::invalid_request(Reason::PkceMethodUnsupported, description).about(details));
    }
    // RFC 7636 4.2: BASE64URL(SHA256(verifier)), 43 characters for 32 bytes.
    encoding::decode_array(challenge).map(Some).map_err(|_| {
        OAuthError::invalid_request(
            Reason::PkceChallengeMalformed,
            "code_challenge must be a SHA-256 in base64url, 43 characters",
        )
    })
}

/// What an authorization request lacks: somebody who stole its code could inject it into another browser unnoticed.
/// The text says what to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unprotected {
    /// The client is public.
    #[error(
        "code_challenge is missing: a public client must send it, with code_challenge_method=S256 (PKCE)"
    )]
    PublicClient,
    /// The policy demands PKCE.
    #[error("code_challenge is missing: this client must send it, with code_challenge_method=S256 (PKCE)")]
    NoChallenge,
    /// The policy demands PKCE or a nonce.
    #[error(
        "send code_challenge with code_challenge_method=S256 (PKCE) or, in a request with the scope openid, a nonce"
    )]
    NeitherChallengeNorNonce,
}

/// Whether a request has what its client must send against injected codes.
///
/// `nonce` is that of an OpenID request: where no ID token is issued, nobody can compare it, so it protects nothing.
///
/// # Errors
/// [`Unprotected`], which is `invalid_request` at the authorization endpoint (RFC 7636 4.4.1).
pub fn check_protected(
    policy: PkcePolicy,
    client_type: ClientType,
    challenge: Option<&CodeChallenge>,
    nonce: Option<&str>,
) -> Result<(), Unprotected> {
    match (client_type, policy) {
        _ if challenge.is_some() => Ok(()),
        // RFC 9700 2.1.1: public clients MUST use PKCE.
        (ClientType::Public, _) => Err(Unprotected::PublicClient),
        (ClientType::Confidential, PkcePolicy::Optional) => Ok(()),
        // RFC 9700 2.1.1: confidential clients may use the nonce instead.
        (ClientType::Confidential, PkcePolicy::OrNonce) if nonce.is_some() => Ok(()),
        (ClientType::Confidential, PkcePolicy::OrNonce) => Err(Unprotected::NeitherChallengeNorNonce),
        (ClientType::Confidential, PkcePolicy::Required) => Err(Unprotected::NoChallenge),
    }
}

impl From<Unprotected> for OAuthError {
    fn from(lack: Unprotected) -> Self {
        let reason = match lack {
            Unprotected::PublicClient | Unprotected::NoChallenge => Reason::PkceMissing,
            Unprotected::NeitherChallengeNorNonce => Reason::PkceOrNonceMissing,
        };
        Self::with(ErrorCode::InvalidRequest, reason, lack.to_string())
            .about(Details::of("code_challenge").sent(""))
    }
}

/// Compares the verifier of a token request with the code's challenge.
///
/// # Errors
/// `invalid_grant` if they do not match (RFC 7636 4.6), or if only one of them is present (RFC 9700 4.8.2).
pub fn verify(challenge: Option<&CodeChallenge>, verifier: Option<&str>) -> Result<(), OAuthError> {
    match (challenge, verifier) {
        (None, None) => Ok(()),
        // RFC 9700 4.8.2: a verifier without a challenge is a sign of a PKCE downgrade attack.
        (None, Some(_)) => Err(OAuthError::invalid_grant(
            Reason::PkceVerifierUnexpected,
            "the code was not requested with a code_challenge",
        )),
        (Some(_), None) => {
            Err(OAuthError::invalid_grant(Reason::PkceVerifierMissing, "code_verifier is missing"))
        }
        (Some(challenge), Some(verifier)) => {
            let fits = is_verifier(verifier)
                && digest::constant_time_eq(&digest::sha256(&[verifier.as_bytes()]), challenge);
            fits.then_some(()).ok_or_else(|| {
                OAuthError::invalid_grant(
                    Reason::PkceVerifierWrong,
                    "code_verifier does not fit the code_challenge",
                )
            })
        }
    }
}

/// RFC 7636 4.1: 43 to 128 unreserved characters.
fn is_verifier(text: &str) -> bool {
    (43..=128).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    // RFC 7636 appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn appendix_b() {
        let read = challenge(Some(CHALLENGE), Some("S256")).expect("valid").expect("given");
        assert_eq!(verify(Some(&read), Some(VERIFIER)), Ok(()));
    }

    #[test]
    fn requests() {
        let refused = |c, m| challenge(c, m).map_err(|e| e.code) == Err(ErrorCode::InvalidRequest);
        assert!(refused(None, Some("S256")));
        assert!(refused(Some(CHALLENGE), None), "no method means plain");
        assert!(refused(Some(CHALLENGE), Some("plain")));
        assert!(refused(Some(CHALLENGE), Some("s256")));
        assert!(refused(Some(&CHALLENGE[1..]), Some("S256")));
        assert!(refused(Some(&CHALLENGE.replace('-', "+")), Some("S256")));
        assert_eq!(challenge(None, None), Ok(None));
    }

    /// Every policy, kind of client, and what the request brings.
    #[test]
    fn who_must_send_what_by_rfc_9700_section_2_1_1() {
        use ClientType::{Confidential, Public};
        use PkcePolicy::{Optional, OrNonce, Required};
        let sent = digest::sha256(&[VERIFIER.as_bytes()]);
        for (client_type, policy, with_nonce, with_nothing) in [
            (Public, Required, Err(Unprotected::PublicClient), Err(Unprotected::PublicClient)),
            (Public, OrNonce, Err(Unprotected::PublicClient), Err(Unprotected::PublicClient)),
            (Public, Optional, Err(Unprotected::PublicClient), Err(Unprotected::PublicClient)),
            (Confidential, Required, Err(Unprotected::NoChallenge), Err(Unprotected::NoChallenge)),
            (Confidential, OrNonce, Ok(()), Err(Unprotected::NeitherChallengeNorNonce)),
            (Confidential, Optional, Ok(()), Ok(())),
        ] {
            let check = |challenge, nonce| check_protected(policy, client_type, challenge, nonce);
            assert_eq!(check(Some(&sent), None), Ok(()), "{client_type:?} {policy:?}");
            assert_eq!(check(Some(&sent), Some("n")), Ok(()), "{client_type:?} {policy:?}");
            assert_eq!(check(None, Some("n")), with_nonce, "{client_type:?} {policy:?}");
            assert_eq!(check(None, None), with_nothing, "{client_type:?} {policy:?}");
        }
    }

    #[test]
    fn the_error_says_what_to_send() {
        for (lack, named) in [
            (Unprotected::PublicClient, &["code_challenge", "S256"][..]),
            (Unprotected::NoChallenge, &["code_challenge", "S256"]),
            (Unprotected::NeitherChallengeNorNonce, &["code_challenge", "S256", "nonce", "openid"]),
        ] {
            let error = OAuthError::from(lack);
            assert_eq!((error.code, &*error.description), (ErrorCode::InvalidRequest, &*lack.to_string()));
            assert!(named.iter().all(|name| error.description.contains(name)), "{error}");
        }
    }

    #[test]
    fn verifiers() {
        let read = digest::sha256(&[VERIFIER.as_bytes()]);
        let refused = |c: Option<&CodeChallenge>, v: Option<&str>| {
            verify(c, v).map_err(|e| e.code) == Err(ErrorCode::InvalidGrant)
        };
        assert!(refused(None, Some(VERIFIER)), "RFC 9700 4.8.2");
        assert!(refused(Some(&read), None));
        assert!(refused(Some(&read), Some(&VERIFIER.to_uppercase())));
        for bad in ["short".to_owned(), "a".repeat(42), "a".repeat(129), format!("{}+", "a".repeat(42))] {
            let own = digest::sha256(&[bad.as_bytes()]);
            assert!(refused(Some(&own), Some(&bad)), "{bad}: the form is checked too");
        }
        assert_eq!(verify(None, None), Ok(()));
    }

    proptest! {
        #[test]
        fn only_the_right_verifier_fits(right in "[A-Za-z0-9._~-]{43,128}", other in "[A-Za-z0-9._~-]{43,128}") {
            let text = encoding::encode(&digest::sha256(&[right.as_bytes()]));
            let read = challenge(Some(&text), Some("S256")).expect("valid").expect("given");
            prop_assert!(verify(Some(&read), Some(&right)).is_ok());
            prop_assert_eq!(verify(Some(&read), Some(&other)).is_ok(), right == other);
        }
    }
}
