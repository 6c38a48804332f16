//! Proof Key for Code Exchange (RFC 7636), S256 only.

use symbolon_crypto::{digest, encoding};

use crate::error::OAuthError;
use crate::refusal::{Details, Reason};

/// An S256 code challenge: the SHA-256 of the verifier.
pub type CodeChallenge = [u8; 32];

/// Reads `code_challenge` and `code_challenge_method` of an authorization request.
///
/// # Errors
/// `invalid_request` if PKCE is required and missing (RFC 7636 4.4.1), if the method is not S256, or if the challenge
/// is not a SHA-256 in base64url.
pub fn challenge(
    challenge: Option<&str>,
    method: Option<&str>,
    required: bool,
) -> Result<Option<CodeChallenge>, OAuthError> {
    let Some(challenge) = challenge else {
        return match (required, method) {
            (true, _) => Err(OAuthError::invalid_request(
                Reason::PkceMissing,
                "code_challenge is missing: PKCE is required",
            )),
            (false, Some(_)) => {
                Err(OAuthError::invalid_request(Reason::PkceMissing, "code_challenge is missing"))
            }
            (false, None) => Ok(None),
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
    use crate::error::ErrorCode;

    // RFC 7636 appendix B.
    const VERIFIER: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    const CHALLENGE: &str = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

    #[test]
    fn appendix_b() {
        let read = challenge(Some(CHALLENGE), Some("S256"), true).expect("valid").expect("given");
        assert_eq!(verify(Some(&read), Some(VERIFIER)), Ok(()));
    }

    #[test]
    fn requests() {
        let refused = |c, m, r| challenge(c, m, r).map_err(|e| e.code) == Err(ErrorCode::InvalidRequest);
        assert!(refused(None, None, true));
        assert!(refused(None, Some("S256"), false));
        assert!(refused(Some(CHALLENGE), None, false), "no method means plain");
        assert!(refused(Some(CHALLENGE), Some("plain"), false));
        assert!(refused(Some(CHALLENGE), Some("s256"), false));
        assert!(refused(Some(&CHALLENGE[1..]), Some("S256"), false));
        assert!(refused(Some(&CHALLENGE.replace('-', "+")), Some("S256"), false));
        assert_eq!(challenge(None, None, false), Ok(None));
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
            let read = challenge(Some(&text), Some("S256"), true).expect("valid").expect("given");
            prop_assert!(verify(Some(&read), Some(&right)).is_ok());
            prop_assert_eq!(verify(Some(&read), Some(&other)).is_ok(), right == other);
        }
    }
}
