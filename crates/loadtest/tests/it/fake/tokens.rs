//! The fake's tokens: signed by nobody, but for those of the test endpoint.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::{Value, json};
use symbolon_crypto::jws::Compact;
use symbolon_crypto::key::SigningKey;
use symbolon_crypto::{Algorithm, encoding};

use super::{Fake, Fault};

/// The provider's time, in seconds since 1970.
const NOW: u64 = 1_900_000_000;
/// When its tokens end.
const END: u64 = 1_900_600_000;

/// What the test endpoint hands out.
pub(super) static TEST_KEY: LazyLock<SigningKey> =
    LazyLock::new(|| SigningKey::generate(Algorithm::Rs256, Some("test-key")).unwrap());

impl Fake {
    pub(super) fn jwt(&self, sub: &str, aud: &str, client: &str, scope: &str) -> String {
        let sub = if self.has(Fault::Subject) { "somebody-else" } else { sub };
        let scope = if self.has(Fault::Scope) { "openid admin" } else { scope };
        let aud = if self.has(Fault::Audience) { "https://elsewhere" } else { aud };
        self.sign(&json!({
            "iss": self.url(), "sub": sub, "aud": aud, "client_id": client, "scope": scope,
            "jti": self.id("jti"), "iat": NOW, "exp": END,
        }))
    }

    pub(super) fn sign(&self, claims: &Value) -> String {
        let header = encoding::encode(br#"{"alg":"ES256","typ":"at+jwt","kid":"k"}"#);
        format!("{header}.{}.{}", encoding::encode(claims.to_string().as_bytes()), encoding::encode(&[7; 64]))
    }

    /// The answer to an exchange.
    pub(super) fn exchange(&self, form: &HashMap<String, String>, client: &str) -> Option<Value> {
        let subject = self.verified(&form["subject_token"])?;
        let actor = form.get("actor_token").map(|token| claims(token)["sub"].clone());
        let actor = actor.unwrap_or_else(|| format!("client:{client}").into());
        let actor = if self.has(Fault::Actor) { "client:other".into() } else { actor };
        let token = self.jwt(subject["sub"].as_str().unwrap(), &form["audience"], client, &form["scope"]);
        let mut claims = claims(&token);
        claims["act"] = json!({ "sub": actor });
        if self.has(Fault::Chain) {
            claims["act"]["act"] = json!({ "sub": "client:before" });
        }
        if let Some(resource) = form.get("resource") {
            claims["aud"] = json!([claims["aud"], resource]);
            claims["resource"] = resource.clone().into();
        }
        claims["exp"] = if self.has(Fault::Outlives) { END + 1 } else { END }.into();
        Some(json!({
            "access_token": self.sign(&claims), "token_type": "Bearer",
            "issued_token_type": form["requested_token_type"],
        }))
    }

    /// The claims of a token that is good: signed by this provider, not expired, not revoked.
    pub(super) fn verified(&self, token: &str) -> Option<Value> {
        let told = self.told(token);
        let token = &*told;
        let jws = Compact::parse(token).unwrap();
        let signed = match jws.header().alg {
            Algorithm::Rs256 => jws.verify(TEST_KEY.public()).is_ok(),
            _ => jws.signature() == [7; 64],
        };
        let claims = claims(token);
        let expired = claims["exp"].as_u64().unwrap() <= NOW;
        let revoked = self.data.lock().unwrap().revoked.contains(token);
        let good = (signed || self.has(Fault::Signature))
            && (!expired || self.has(Fault::Expired))
            && (!revoked || self.has(Fault::Revoked));
        good.then_some(claims)
    }

    pub(super) fn family(&self, user: &str) -> String {
        let token = self.id("rt_");
        self.data.lock().unwrap().families.insert(token.clone(), user.to_owned());
        token
    }
}

pub(super) fn claims(token: &str) -> Value {
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&encoding::decode(payload).unwrap()).unwrap()
}
