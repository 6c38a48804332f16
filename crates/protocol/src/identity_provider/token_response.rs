//! What a provider's token endpoint answers (RFC 6749 5, OpenID Connect Core 3.1.3.3).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use symbolon_crypto::secret::SecretString;

/// The tokens.
pub struct TokenResponse {
    /// For the provider's own endpoints, used at once and not kept.
    pub access_token: SecretString,
    /// Who it is; GitHub sends none.
    pub id_token: Option<String>,
}

#[derive(Deserialize)]
struct Members {
    access_token: Option<String>,
    token_type: Option<String>,
    id_token: Option<String>,
    error: Option<String>,
}

/// The credentials of a client for `Authorization: Basic` (RFC 6749 2.3.1: both are form-encoded first).
pub fn basic_credentials(client_id: &str, secret: &SecretString) -> SecretString {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(client_id), encoded(secret.expose()));
    SecretString::new(STANDARD.encode(pair.as_bytes()))
}

/// Reads an answer with the status 200. GitHub tells errors by it, too.
///
/// # Errors
/// The error code, or what is wrong, for the operator.
pub fn parse(json: &[u8]) -> Result<TokenResponse, String> {
    let members: Members =
        serde_json::from_slice(json).map_err(|_| "the answer is no JSON of a token endpoint".to_owned())?;
    if let Some(error) = members.error {
        return Err(error_code(&error));
    }
    // RFC 6749 7.1: a token of a type that is not understood MUST NOT be used.
    let is_bearer = members.token_type.is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"));
    match members.access_token {
        Some(token) if is_bearer => {
            Ok(TokenResponse { access_token: SecretString::new(token), id_token: members.id_token })
        }
        _ => Err("the answer has no bearer token".to_owned()),
    }
}

/// The error code of an answer with another status.
pub fn error_of(json: &[u8]) -> Option<String> {
    let members: Members = serde_json::from_slice(json).ok()?;
    members.error.as_deref().map(error_code)
}

/// RFC 6749 5.2: printable ASCII; what goes into the log is short.
pub fn error_code(text: &str) -> String {
    text.chars().filter(|c| c.is_ascii_graphic()).take(64).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_is_encoded_in_credentials() {
        let basic = basic_credentials("a:b", &SecretString::new("c d%".to_owned()));
        assert_eq!(STANDARD.decode(basic.expose()).unwrap(), b"a%3Ab:c+d%25");
    }

    #[test]
    fn only_bearer_tokens_are_taken() {
        let read = parse(br#"{"access_token":"a","token_type":"Bearer","id_token":"i","expires_in":5}"#).ok();
        assert_eq!(read.and_then(|read| read.id_token).as_deref(), Some("i"));
        for (answer, told) in [
            (&b"<html>"[..], "no JSON"),
            (br#"{"error":"bad_verification_code"}"#, "bad_verification_code"),
            (br#"{"access_token":"a","token_type":"DPoP"}"#, "no bearer token"),
            (br#"{"access_token":"a"}"#, "no bearer token"),
            (br#"{"token_type":"bearer"}"#, "no bearer token"),
        ] {
            let why = parse(answer).err().expect("refused");
            assert!(why.contains(told), "{why}");
        }
        assert_eq!(error_of(b"{\"error\":\"invalid\\ngrant\"}").as_deref(), Some("invalidgrant"));
    }
}
