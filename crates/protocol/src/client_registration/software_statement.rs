//! Software statements (RFC 7591 2.3): a JWT in which somebody whom the issuer trusts says what a piece of software is.
//!
//! What a statement says takes precedence over the members beside it, and is bounded by the issuer's policy like them. It is
//! verified when it comes, and kept as it is: a client that changes its registration later does not get rid of it, only
//! another statement takes its place.

use serde::Deserialize;
use serde_json::Value;
use symbolon_crypto::jwk::Jwk;
use symbolon_crypto::jws::{Compact, Header};

use super::members::is_registrable;
use crate::assertion_claims::{Audience, LEEWAY, NumericDate};
use crate::client::Client;
use crate::client_key;
use crate::client_metadata::Metadata;
use crate::error::{ErrorCode, OAuthError};
use crate::refusal::{Details, Reason, Refusal};
use crate::settings::IssuerSettings;
use crate::time::Timestamp;
use crate::trusted_issuer::{TrustedIssuer, TrustedUse};

/// The member with the statement.
pub(super) const MEMBER: &str = "software_statement";
/// The longest statement, in bytes.
const LONGEST: usize = 8 << 10;

/// Its claims that are no client metadata.
#[derive(Deserialize)]
struct Claims {
    /// RFC 7591 2.3: it MUST be there.
    iss: String,
    aud: Option<Audience>,
    exp: Option<NumericDate>,
    nbf: Option<NumericDate>,
    iat: Option<NumericDate>,
}

/// A statement that was read, and is not verified.
pub struct SoftwareStatement<'a> {
    token: Compact<'a>,
    checked: Claims,
    claims: Metadata,
}

/// With what a statement is compared.
#[derive(Clone, Copy)]
pub struct Expected<'a> {
    /// Its issuer, as the settings have it.
    pub trusted: &'a TrustedIssuer,
    /// The URL of the issuer at which the client registers.
    pub issuer: &'a str,
    /// The URL of its registration endpoint.
    pub endpoint: &'a str,
    /// The current time.
    pub now: Timestamp,
}

/// Takes the statement out of what was sent; `None` if there is none.
///
/// # Errors
/// `invalid_software_statement` for what is no text, or too long.
pub fn take(metadata: &mut Metadata) -> Result<Option<String>, OAuthError> {
    match metadata.remove(MEMBER) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.len() <= LONGEST => Ok(Some(text)),
        Some(Value::String(_)) => Err(invalid("is longer than 8192 bytes")),
        Some(_) => Err(invalid("is not a JWT")),
    }
}

/// Whether there is anybody whose statements are believed.
///
/// # Errors
/// `unapproved_software_statement`
pub fn check_any_is_trusted(settings: &IssuerSettings) -> Result<(), OAuthError> {
    if trusted(settings).next().is_some() {
        return Ok(());
    }
    let told = "no issuer of software statements is trusted here";
    Err(unapproved(told, Details::of(MEMBER)))
}

fn trusted(settings: &IssuerSettings) -> impl Iterator<Item = &TrustedIssuer> {
    settings.trusted_issuers.iter().filter(|own| own.is_for(TrustedUse::SoftwareStatement))
}

/// The refusal of a registration that lacks a statement, where the issuer asks for one.
///
/// # Errors
/// `invalid_client_metadata`, always but if the issuer does not ask.
pub fn check_none_is_needed(settings: &IssuerSettings) -> Result<(), OAuthError> {
    if !settings.client_registration_require_software_statement {
        return Ok(());
    }
    let (code, reason) = (ErrorCode::InvalidClientMetadata, Reason::SoftwareStatementMissing);
    Err(OAuthError::new(code, reason, "software_statement is required here").about(Details::of(MEMBER)))
}

/// The refusal of a statement whose issuer's keys cannot be had: the client may send it again.
pub fn unreachable(refusal: Refusal) -> OAuthError {
    let told = "the keys of the statement's issuer cannot be had at the moment";
    OAuthError::new(ErrorCode::TemporarilyUnavailable, refusal.reason, told).because(refusal)
}

fn unapproved(told: &'static str, details: Details) -> OAuthError {
    let code = ErrorCode::UnapprovedSoftwareStatement;
    OAuthError::new(code, Reason::SoftwareStatementUnapproved, told).about(details)
}

fn invalid(why: &str) -> OAuthError {
    let (code, reason) = (ErrorCode::InvalidSoftwareStatement, Reason::SoftwareStatementInvalid);
    let details = Details::of(MEMBER).differing(Some(&format!("it {why}")));
    OAuthError::with(code, reason, format!("{MEMBER} {why}")).about(details)
}

impl<'a> SoftwareStatement<'a> {
    /// Reads a statement.
    ///
    /// # Errors
    /// `invalid_software_statement` for what is no JWT with an `iss`, and for one whose signature is of a kind that proves nothing:
    /// `alg` is `none`, or an HMAC.
    pub fn read(text: &'a str) -> Result<Self, OAuthError> {
        Self::parse(text).ok_or_else(|| invalid("is no signed JWT with the claim iss"))
    }

    fn parse(text: &'a str) -> Option<Self> {
        let token = Compact::parse(text).ok()?;
        let payload = token.payload().ok()?;
        let checked = serde_json::from_slice(&payload).ok()?;
        Some(Self { token, checked, claims: serde_json::from_slice(&payload).ok()? })
    }

    /// Its `iss`.
    pub fn issuer(&self) -> &str {
        &self.checked.iss
    }

    /// The header, not yet verified: which of the issuer's keys may have signed.
    pub fn header(&self) -> &Header {
        self.token.header()
    }

    /// The refusal of a statement of somebody who is not trusted for this (RFC 7591 3.2.2).
    pub fn of_stranger(&self, settings: &IssuerSettings) -> OAuthError {
        let known = trusted(settings).map(|own| own.issuer.as_str());
        let details = Details::of("iss").sent(self.issuer()).registered(known);
        unapproved("the issuer of the software statement is not trusted here", details)
    }

    /// Verifies the signature by one of these keys of the trusted issuer, then the claims. A statement need not end, for it
    /// is about software; where it says when, or for whom it is, that counts.
    ///
    /// # Errors
    /// `invalid_software_statement`
    pub fn verify(&self, keys: &[Jwk], expected: &Expected<'_>) -> Result<(), OAuthError> {
        let Expected { trusted, issuer, endpoint, now } = *expected;
        let Claims { iss, aud, exp, nbf, iat } = &self.checked;
        if *iss != trusted.issuer || client_key::verifying(keys, &self.token).is_none() {
            return Err(invalid("is not signed by a key of its issuer"));
        }
        // RFC 8725 3.11: a JWT that the issuer signed for another purpose is refused.
        let header = self.token.header();
        let types = TrustedUse::SoftwareStatement.types();
        if header.typ.is_some() && !types.iter().any(|own| header.is_type(own)) {
            return Err(invalid("has the typ of another kind of JWT"));
        }
        let accepted = [Some(issuer), Some(endpoint), trusted.audience.as_deref()];
        if aud.as_ref().is_some_and(|aud| !aud.all().any(|own| accepted.contains(&Some(own)))) {
            return Err(invalid("is for another audience"));
        }
        if exp.is_some_and(|exp| now >= exp.0 + LEEWAY) {
            return Err(invalid("has expired"));
        }
        if [nbf, iat].into_iter().flatten().any(|time| time.0 > now + LEEWAY) {
            return Err(invalid("is not valid yet"));
        }
        Ok(())
    }

    /// Puts what it says in the place of the members beside it (RFC 7591 2.3). What is no metadata that a client may
    /// register is ignored, as it is of members (RFC 7591 3.1.1).
    pub fn put_over(&self, metadata: &mut Metadata) {
        let says = |name: &str| self.claims.contains_key(name) && is_registrable(name);
        metadata.retain(|name, _| {
            // A name that somebody vouches for is no other in another language.
            let is_translation = name.split_once('#').is_some_and(|(base, _)| says(base));
            // One of them excludes the other.
            let is_other_key = (name == "jwks" && says("jwks_uri")) || (name == "jwks_uri" && says("jwks"));
            !is_translation && !is_other_key
        });
        let said = self.claims.iter().filter(|(name, _)| is_registrable(name));
        metadata.extend(said.map(|(name, value)| (name.clone(), value.clone())));
    }
}

/// The statement with which a client registered itself.
pub fn of_client(client: &Client) -> Option<&str> {
    client.dynamic_registration.as_deref()?.software_statement.as_deref()
}

/// Puts what the statement of a client says over what the client sends now. It was verified when it came.
pub fn put_stored_over(metadata: &mut Metadata, statement: &str) {
    if let Some(stored) = SoftwareStatement::parse(statement) {
        stored.put_over(metadata);
    }
}

/// Notes the statement with which a client registered itself, or changed that; without one it keeps what it has.
pub fn note(client: &mut Client, statement: Option<String>) {
    if let (Some(own), Some(statement)) = (client.dynamic_registration.as_mut(), statement) {
        own.software_statement = Some(statement);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use symbolon_crypto::Algorithm;
    use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
    use symbolon_crypto::key::SigningKey;

    use super::*;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
    const ENDPOINT: &str = "https://op.example/connect/register";

    fn trusting(uses: &Value) -> IssuerSettings {
        let trusted = json!([{ "issuer": "https://vendor.example", "audience": "urn:op", "for": uses }]);
        IssuerSettings {
            trusted_issuers: serde_json::from_value(trusted).unwrap(),
            ..IssuerSettings::default()
        }
    }

    fn signed(key: &SigningKey, typ: Option<&str>, claims: &Value) -> String {
        let header = EncodedHeader::for_key(key, typ);
        let input = signing_input(header.as_str(), &serde_json::to_vec(claims).unwrap());
        let signature = key.sign(input.as_bytes()).unwrap();
        finish(input, &signature)
    }

    fn verified(key: &SigningKey, text: &str) -> Result<(), String> {
        let settings = trusting(&json!(["software_statement"]));
        let expected = Expected {
            trusted: &settings.trusted_issuers[0],
            issuer: "https://op.example",
            endpoint: ENDPOINT,
            now: NOW,
        };
        let statement = SoftwareStatement::read(text).map_err(|error| error.description.to_string())?;
        let done = statement.verify(&[key.public().jwk().clone()], &expected);
        done.map_err(|error| {
            assert_eq!(error.code, ErrorCode::InvalidSoftwareStatement);
            error.description.to_string()
        })
    }

    #[test]
    fn a_statement_is_verified_by_its_issuers_keys_and_what_it_says_of_itself() {
        let key = SigningKey::generate(Algorithm::Es256, Some("k")).unwrap();
        let other = SigningKey::generate(Algorithm::Es256, Some("k")).unwrap();
        let with = |more: Value| {
            let mut claims = json!({ "iss": "https://vendor.example", "software_id": "shop" });
            claims.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            claims
        };
        let now = NOW.seconds();
        for good in [
            json!({}),
            json!({ "exp": now + 1, "nbf": now, "iat": now - 1_000_000 }),
            json!({ "aud": "https://op.example" }),
            json!({ "aud": ["https://other.example", ENDPOINT] }),
            json!({ "aud": "urn:op" }),
        ] {
            assert_eq!(verified(&key, &signed(&key, Some("JWT"), &with(good.clone()))), Ok(()), "{good}");
        }
        assert_eq!(verified(&key, &signed(&key, None, &with(json!({})))), Ok(()));
        for (bad, why) in [
            (json!({ "exp": now - 31 }), "has expired"),
            (json!({ "nbf": now + 31 }), "not valid yet"),
            (json!({ "iat": now + 31 }), "not valid yet"),
            (json!({ "aud": "https://other.example" }), "another audience"),
            (json!({ "iss": "https://other.example" }), "not signed by a key of its issuer"),
            (json!({ "iss": null }), "no signed JWT with the claim iss"),
        ] {
            let told = verified(&key, &signed(&key, Some("JWT"), &with(bad.clone()))).unwrap_err();
            assert!(told.contains(why), "{bad}: {told}");
        }
        let claims = with(json!({}));
        assert!(verified(&key, &signed(&other, Some("JWT"), &claims)).is_err());
        assert!(verified(&key, &signed(&key, Some("at+jwt"), &claims)).unwrap_err().contains("typ"));
        for bad in ["", "a.b.c", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJ4In0."] {
            assert!(verified(&key, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_a_statement_says_takes_precedence_in_every_language() {
        let key = SigningKey::generate(Algorithm::Es256, Some("k")).unwrap();
        let text = signed(
            &key,
            None,
            &json!({
                "iss": "https://vendor.example", "client_name": "Shop", "client_name#de": "Laden",
                "jwks_uri": "https://rp.example/jwks", "redirect_uris": ["https://rp.example/cb"],
                "skip_consent": true, "software_id": "shop",
            }),
        );
        let mut metadata: Metadata = serde_json::from_value(json!({
            "client_name": "Bank", "client_name#fr": "Banque", "jwks": { "keys": [] }, "contacts": ["a@rp.example"],
            "redirect_uris": ["https://evil.example/cb"], "tos_uri#fr": "https://rp.example/cgu",
        }))
        .unwrap();
        put_stored_over(&mut metadata, &text);
        let expected = json!({
            "client_name": "Shop", "client_name#de": "Laden", "jwks_uri": "https://rp.example/jwks",
            "redirect_uris": ["https://rp.example/cb"], "software_id": "shop", "contacts": ["a@rp.example"],
            "tos_uri#fr": "https://rp.example/cgu",
        });
        assert_eq!(Value::Object(metadata), expected);
    }

    #[test]
    fn only_those_are_believed_who_are_trusted_for_this() {
        let code = |result: Result<(), OAuthError>| result.err().map(|error| error.code);
        let unapproved = Some(ErrorCode::UnapprovedSoftwareStatement);
        assert_eq!(code(check_any_is_trusted(&IssuerSettings::default())), unapproved);
        let of_clients = trusting(&json!(["client_authentication", "jwt_bearer"]));
        assert_eq!(code(check_any_is_trusted(&of_clients)), unapproved);
        assert_eq!(code(check_any_is_trusted(&trusting(&json!(["software_statement"])))), None);
        let needed =
            IssuerSettings { client_registration_require_software_statement: true, ..of_clients.clone() };
        assert_eq!(code(check_none_is_needed(&needed)), Some(ErrorCode::InvalidClientMetadata));
        assert_eq!(code(check_none_is_needed(&of_clients)), None);
        let sent = |value: Value| {
            let mut metadata = Metadata::from_iter([(MEMBER.to_owned(), value)]);
            let taken = take(&mut metadata).map_err(|error| error.code);
            assert!(metadata.is_empty());
            taken
        };
        assert_eq!(sent(json!("a.b.c")), Ok(Some("a.b.c".to_owned())));
        assert_eq!(sent(Value::Null), Ok(None));
        for bad in [json!(7), json!("x".repeat(LONGEST + 1))] {
            assert_eq!(sent(bad), Err(ErrorCode::InvalidSoftwareStatement));
        }
    }
}
