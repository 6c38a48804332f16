//! What token answers and access tokens must say.

use serde::Deserialize;
use symbolon_crypto::Algorithm;
use symbolon_crypto::jws::Compact;

use super::Wrong;
use crate::client::Response;
use crate::seed::Seed;

/// The members of a token answer (RFC 6749 5.1, RFC 8693 2.2.1, OpenID Connect Core 1.0, 3.1.3.3).
#[derive(Deserialize)]
pub(crate) struct TokenAnswer<'a> {
    #[serde(borrow)]
    pub(crate) access_token: &'a str,
    pub(crate) token_type: &'a str,
    /// In seconds.
    pub(crate) expires_in: Option<u64>,
    pub(crate) scope: Option<&'a str>,
    pub(crate) refresh_token: Option<&'a str>,
    pub(crate) id_token: Option<&'a str>,
    pub(crate) issued_token_type: Option<&'a str>,
}

impl<'a> TokenAnswer<'a> {
    /// Reads a 200 answer with a bearer token.
    pub(crate) fn read(response: &Response<'a>) -> Result<Self, Wrong> {
        expect_status(response, 200)?;
        let answer: Self =
            serde_json::from_slice(response.body).map_err(|error| Wrong::new("body", error.to_string()))?;
        // RFC 6749 7.1 compares without case; the reference scripts want exactly this.
        if answer.token_type != "Bearer" {
            return Err(Wrong::new("token_type", answer.token_type));
        }
        Ok(answer)
    }
}

/// The claims of a JWT access token (RFC 9068 2.2) that scenarios look at; the signature is the clients' to
/// check, not the load generator's.
#[derive(Deserialize)]
pub(crate) struct Claims {
    pub(crate) iss: String,
    pub(crate) sub: String,
    pub(crate) aud: Audience,
    #[serde(default)]
    pub(crate) exp: u64,
    #[serde(default)]
    pub(crate) iat: u64,
    #[serde(default)]
    pub(crate) client_id: String,
    #[serde(default)]
    pub(crate) scope: String,
    pub(crate) act: Option<Actor>,
    pub(crate) nonce: Option<String>,
}

/// One value or several (RFC 7519 4.1.3).
#[derive(Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub(crate) enum Audience {
    One(String),
    Several(Vec<String>),
}

impl Audience {
    /// Whether it is exactly this one value.
    pub(crate) fn is(&self, value: &str) -> bool {
        match self {
            Self::One(one) => one == value,
            Self::Several(several) => matches!(several.as_slice(), [one] if one == value),
        }
    }

    /// Its values.
    pub(crate) fn values(&self) -> &[String] {
        match self {
            Self::One(one) => std::slice::from_ref(one),
            Self::Several(several) => several,
        }
    }
}

/// The acting party, and whoever acted before (RFC 8693 4.1).
#[derive(Deserialize)]
pub(crate) struct Actor {
    pub(crate) sub: String,
    act: Option<Box<Self>>,
}

impl Claims {
    /// Decodes a token's payload.
    pub(crate) fn of(token: &str) -> Result<Self, Wrong> {
        let (_, payload) = token
            .split_once('.')
            .and_then(|(header, rest)| Some((header, rest.split_once('.')?.0)))
            .ok_or_else(|| Wrong::new("access_token", "not a JWT"))?;
        let json = symbolon_crypto::encoding::decode(payload)
            .map_err(|error| Wrong::new("access_token", error.to_string()))?;
        serde_json::from_slice(&json).map_err(|error| Wrong::new("access_token", error.to_string()))
    }

    /// The algorithm that a token is signed with.
    pub(crate) fn algorithm(token: &str) -> Option<Algorithm> {
        Compact::parse(token).ok().map(|jws| jws.header().alg)
    }
}

/// The status must be this one.
pub(crate) fn expect_status(response: &Response<'_>, status: u16) -> Result<(), Wrong> {
    if response.status == status {
        return Ok(());
    }
    let kind = match response.status {
        400 => "status_400",
        401 => "status_401",
        403 => "status_403",
        429 => "status_429",
        503 => "status_503",
        500..=599 => "status_5xx",
        _ => "status",
    };
    let body: String = response.text().chars().take(200).collect();
    Err(Wrong::new(kind, format!("{} {body}", response.status)))
}

/// The value must be this one. The detail names both, so neither may be a secret.
pub(crate) fn expect_eq(kind: &'static str, got: &str, expected: &str) -> Result<(), Wrong> {
    if got == expected { Ok(()) } else { Err(Wrong::new(kind, format!("{got} instead of {expected}"))) }
}

/// The provider must not have handed it out before: a code serves once (RFC 6749 10.5), and so does a refresh token that is
/// rotated (RFC 9700 4.14.2). Of access tokens nothing says so.
pub(crate) fn expect_new(seed: &Seed, kind: &'static str, value: &str) -> Result<(), Wrong> {
    if seed.seen.is_new(value) { Ok(()) } else { Err(Wrong::new(kind, "it was handed out before")) }
}

/// The scope must hold exactly these values, in any order (RFC 6749 3.3).
pub(crate) fn expect_scope(got: &str, expected: &str) -> Result<(), Wrong> {
    let has_all =
        |of: &str, values: &str| values.split(' ').all(|value| of.split(' ').any(|one| one == value));
    if got == expected || (has_all(got, expected) && has_all(expected, got)) {
        return Ok(());
    }
    Err(Wrong::new("scope", format!("{got} instead of {expected}")))
}

/// The chain must be this one client and nobody before it (RFC 8693 4.1). A client may be named so that it cannot
/// clash with a user, as `client:` and its id.
pub(crate) fn expect_actor(got: Option<&Actor>, client_id: &str) -> Result<(), Wrong> {
    let sub = got.map_or("", |actor| &*actor.sub);
    if sub.strip_prefix("client:").unwrap_or(sub) != client_id {
        return Err(Wrong::new("act", format!("{sub:?} acts instead of {client_id}")));
    }
    match got.and_then(|actor| actor.act.as_deref()) {
        None => Ok(()),
        Some(before) => Err(Wrong::new("act", format!("{:?} acted before {sub:?}", before.sub))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_of_actors_is_compared_whole() {
        let chain = |json: &str| serde_json::from_str::<Actor>(json).unwrap();
        let kind = |got: Option<&Actor>| expect_actor(got, "c").err().map(|wrong| wrong.kind);
        assert_eq!(kind(Some(&chain(r#"{"sub":"client:c","client_id":"c"}"#))), None);
        assert_eq!(kind(Some(&chain(r#"{"sub":"c"}"#))), None);
        assert_eq!(kind(Some(&chain(r#"{"sub":"client:d"}"#))), Some("act"));
        assert_eq!(kind(Some(&chain(r#"{"sub":"client:c","act":{"sub":"client:d"}}"#))), Some("act"));
        assert_eq!(kind(None), Some("act"));
    }

    #[test]
    fn claims_are_decoded() {
        let payload = br#"{"iss":"https://i","sub":"u","aud":["a"],"scope":"b a","act":{"sub":"c"}}"#;
        let token = format!("eyJ9.{}.c2ln", symbolon_crypto::encoding::encode(payload));
        let claims = Claims::of(&token).unwrap();
        assert!(claims.aud.is("a") && !claims.aud.is("b"));
        assert_eq!(claims.act.unwrap().sub, "c");
        assert!(expect_scope(&claims.scope, "a b").is_ok());
        assert_eq!(Claims::of("opaque").err().unwrap().kind, "access_token");
    }

    #[test]
    fn a_scope_more_or_less_is_wrong() {
        assert!(expect_scope("a b", "a b").is_ok());
        assert!(expect_scope("a b c", "a b").is_err());
        assert!(expect_scope("a", "a b").is_err());
    }
}
