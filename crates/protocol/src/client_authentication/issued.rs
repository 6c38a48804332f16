//! Client authentication by an assertion that another issuer made (RFC 7521 4.2, 6.1; RFC 7523 2.2): a workload is the client because its
//! platform says who it is.

use symbolon_crypto::jwk::Jwk;

use super::assertion::check_algorithm;
use super::{AssertionUse, AuthenticationFailed, Expectation};
use crate::client::Client;
use crate::error::OAuthError;
use crate::refusal::{Details, Reason, Refusal};
use crate::trusted_issuer::{AssertionIssuer, Expected, IssuedAssertion, TrustedUse, untrusted};

/// Verifies an assertion by these keys of its issuer, and that it is about the client. Returns the use to mark, if it counts once.
pub(super) fn verify(
    assertion: &IssuedAssertion<'_>,
    client: &Client,
    keys: &[Jwk],
    expected: &Expectation<'_>,
) -> Result<Option<AssertionUse>, AuthenticationFailed> {
    let iss = assertion.issuer();
    let trusted = expected.trusted_issuer.filter(|own| {
        own.issuer == iss && own.is_for(TrustedUse::ClientAuthentication) && client.takes_assertions_of(iss)
    });
    let Some(trusted) = trusted else {
        let accepted = client.assertion_issuers.iter().map(|own| own.issuer.as_str());
        return Err(refused(untrusted(iss, accepted)));
    };
    check_algorithm(client, assertion.header())?;
    let issuer_alone = client.settings.audience_is_issuer.unwrap_or(expected.audience_is_issuer);
    let claimed = Expected {
        trusted,
        purpose: TrustedUse::ClientAuthentication,
        issuer: expected.issuer,
        token_endpoint: (!issuer_alone).then_some(expected.token_endpoint),
        now: expected.now,
    };
    let vouched = assertion.verify(keys, &claimed).map_err(refused)?;
    // After the signature, so that the operator is told of what somebody really claims.
    if !client.assertion_issuers.iter().any(|own| own.is_met_by(iss, assertion.subject(), assertion.claims()))
    {
        return Err(refused(unmet(assertion, &client.assertion_issuers)));
    }
    vouched.mark_if_short().map_err(refused)
}

/// RFC 6749 5.2: whatever is wrong, the client is told the same.
fn refused(refusal: Refusal) -> AuthenticationFailed {
    OAuthError::invalid_client(refusal.reason).because(refusal).into()
}

/// In what the assertion is not what the client's entries ask for.
fn unmet(assertion: &IssuedAssertion<'_>, entries: &[AssertionIssuer]) -> Refusal {
    let iss = assertion.issuer();
    let of_issuer = move || entries.iter().filter(move |own| own.issuer == iss);
    let of_subject = of_issuer().filter(|own| own.is_subject(assertion.subject()));
    let other_claim = of_subject
        .flat_map(|own| &own.claims)
        .find(|(name, value)| assertion.claims().get(name.as_str()) != Some(*value));
    let details = match other_claim {
        Some((name, value)) => {
            let sent = assertion.claims().get(name).map(ToString::to_string).unwrap_or_default();
            Details::of(name).sent(&sent).registered([value.to_string().as_str()])
        }
        None => {
            let registered = of_issuer().map(|own| own.sub.as_str());
            Details::of("sub").sent(assertion.subject()).registered(registered)
        }
    };
    Refusal::about(Reason::AssertionConditionUnmet, details)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use symbolon_crypto::Algorithm;
    use symbolon_crypto::digest::HmacKey;
    use symbolon_crypto::jws::{EncodedHeader, finish, signing_input};
    use symbolon_crypto::key::SigningKey;

    use super::super::{CLIENT_ASSERTION_TYPE, PresentedCredentials, Verified};
    use super::*;
    use crate::client::TokenEndpointAuthMethod;
    use crate::params::Params;
    use crate::time::Timestamp;
    use crate::token::fixture;
    use crate::trusted_issuer::TrustedIssuer;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn client(entries: Value) -> Client {
        Client {
            token_endpoint_auth_method: TokenEndpointAuthMethod::PrivateKeyJwt,
            assertion_issuers: serde_json::from_value(entries).unwrap(),
            ..fixture::client("rp")
        }
    }

    fn workload() -> Client {
        client(json!([
            { "issuer": "https://ci.example", "sub": "other" },
            { "issuer": "https://ci.example", "sub": "repo:acme/*", "claims": { "ref": "main" } },
        ]))
    }

    fn trusted(uses: Value) -> TrustedIssuer {
        serde_json::from_value(json!({ "issuer": "https://ci.example", "for": uses })).unwrap()
    }

    struct Attempt {
        key: SigningKey,
        trusted: Option<TrustedIssuer>,
        named: &'static str,
    }

    impl Attempt {
        fn new() -> Self {
            let key = SigningKey::generate(Algorithm::EdDsa, Some("k1")).unwrap();
            Self { key, trusted: Some(trusted(json!(["client_authentication"]))), named: "rp" }
        }

        fn authenticate(&self, client: &Client, changes: Value) -> Result<Verified, AuthenticationFailed> {
            let mut claims = json!({
                "iss": "https://ci.example", "sub": "repo:acme/shop", "ref": "main", "aud": "https://op.example",
                "iat": NOW.seconds(), "exp": NOW.seconds() + 300, "jti": "j1",
            });
            claims.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
            let header = EncodedHeader::for_key(&self.key, Some("JWT"));
            let input = signing_input(header.as_str(), &serde_json::to_vec(&claims).unwrap());
            let signature = self.key.sign(input.as_bytes()).unwrap();
            let assertion = finish(input, &signature);
            let form = form_urlencoded::Serializer::new(String::new())
                .extend_pairs([
                    ("client_assertion_type", CLIENT_ASSERTION_TYPE),
                    ("client_assertion", &*assertion),
                    ("client_id", self.named),
                ])
                .finish();
            let params = Params::parse(form.as_bytes()).unwrap();
            let presented = PresentedCredentials::read(None, &params)?;
            let secret_key = HmacKey::new(b"key");
            let expected = Expectation {
                issuer: "https://op.example",
                token_endpoint: "https://op.example/token",
                asked_endpoint: None,
                audience_is_issuer: false,
                trusted_issuer: self.trusted.as_ref(),
                certificate: None,
                secret_key: &secret_key,
                now: NOW,
            };
            let keys = [self.key.public().jwk().clone()];
            super::super::verify(&presented, Some(client), &keys, &expected)
        }

        fn refused(&self, client: &Client, changes: Value) -> Reason {
            let failed = self.authenticate(client, changes).unwrap_err();
            let plain = OAuthError::invalid_client(Reason::ClientUnknown);
            assert_eq!(failed.error.told(), plain.told(), "the client is told no more");
            failed.error.reason
        }
    }

    #[test]
    fn a_workload_is_the_client_that_names_it() {
        let attempt = Attempt::new();
        let verified = attempt.authenticate(&workload(), json!({})).unwrap();
        assert_eq!(verified.assertion_use.unwrap().jti.as_str(), "j1");
        let long = json!({ "exp": NOW.seconds() + 3_600 });
        assert_eq!(attempt.authenticate(&workload(), long), Ok(Verified::default()), "it may come again");
        let by_endpoint = json!({ "aud": "https://op.example/token" });
        assert!(attempt.authenticate(&workload(), by_endpoint.clone()).is_ok());
        let mut strict = workload();
        strict.settings.audience_is_issuer = Some(true);
        assert_eq!(attempt.refused(&strict, by_endpoint), Reason::AssertionAudienceWrong);
    }

    #[test]
    fn whatever_does_not_match_is_refused_with_its_reason() {
        use Reason as R;
        let attempt = Attempt::new();
        for (changes, reason) in [
            (json!({ "sub": "repo:evil/shop" }), R::AssertionConditionUnmet),
            (json!({ "sub": "other2" }), R::AssertionConditionUnmet),
            (json!({ "ref": "other" }), R::AssertionConditionUnmet),
            (json!({ "ref": null }), R::AssertionConditionUnmet),
            (json!({ "iss": "https://evil.example" }), R::AssertionIssuerUntrusted),
            (json!({ "iss": "other" }), R::AssertionIssuerUntrusted),
            (json!({ "aud": "https://other.example" }), R::AssertionAudienceWrong),
            (json!({ "exp": NOW.seconds() - 60 }), R::AssertionExpired),
        ] {
            assert_eq!(attempt.refused(&workload(), changes.clone()), reason, "{changes}");
        }
        let mut only = workload();
        only.token_endpoint_auth_signing_alg = Some(Algorithm::Es256);
        assert_eq!(attempt.refused(&only, json!({})), R::AssertionAlgorithmOther);
        assert_eq!(attempt.refused(&client(json!([])), json!({})), R::AssertionIssuerUntrusted);
        let secret =
            Client { token_endpoint_auth_method: TokenEndpointAuthMethod::ClientSecretBasic, ..workload() };
        assert_eq!(attempt.refused(&secret, json!({})), R::ClientAuthenticationMethodOther);
    }

    #[test]
    fn an_issuer_must_be_trusted_for_this() {
        let none = Attempt { trusted: None, ..Attempt::new() };
        assert_eq!(none.refused(&workload(), json!({})), Reason::AssertionIssuerUntrusted);
        let for_other = Attempt { trusted: Some(trusted(json!(["jwt_bearer"]))), ..Attempt::new() };
        assert_eq!(for_other.refused(&workload(), json!({})), Reason::AssertionIssuerUntrusted);
        // RFC 7521 4.2: the request names the client, because the assertion does not.
        let unnamed = Attempt { named: "", ..Attempt::new() };
        assert_eq!(unnamed.refused(&workload(), json!({})), Reason::ClientNotNamed);
        let unusable = Attempt { named: "a b", ..Attempt::new() };
        assert_eq!(unusable.refused(&workload(), json!({})), Reason::ClientNotNamed);
        let of_other = Attempt { named: "other", ..Attempt::new() };
        assert_eq!(of_other.refused(&workload(), json!({})), Reason::ClientUnknown);
    }
}
