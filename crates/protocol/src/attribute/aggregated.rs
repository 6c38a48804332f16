//! Claims that another provider vouches for, passed on as it signed them (aggregated claims, OpenID Connect Core 5.6.2).
//!
//! The JWT is carried and not verified: it is the application that trusts the claims provider, and has its keys. Of its content two
//! things are read: what its claims are called, because the application is told so, and when it ends, because nobody has a
//! use for it afterwards (`docs/decisions/095-the-word-of-a-claims-provider-is-an-attribute.md`).

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};
use symbolon_crypto::encoding;

use super::AttributeName;
use crate::json::Object;
use crate::time::Timestamp;
use crate::token::claim::OF_TOKENS;

/// The longest JWT, in bytes.
const LONGEST: usize = 8 << 10;

/// The most claims of one JWT.
const MOST_CLAIMS: usize = 50;

/// What is read of the JWT of a claims provider.
pub(super) struct ClaimsJwt {
    /// The names of its claims, without those that every JWT may have.
    names: Vec<String>,
    /// `exp`, in seconds; a fraction is dropped.
    expires_at: Option<u64>,
}

impl ClaimsJwt {
    /// Reads a signed JWT (RFC 7519 3, RFC 7515 7.1); `None` for a text that is none, for one that is too long, and for one
    /// that has no claim to tell or too many.
    pub(super) fn read(text: &str) -> Option<Self> {
        if text.len() > LONGEST {
            return None;
        }
        let mut parts = text.split('.');
        let (header, payload, signature) = (parts.next()?, parts.next()?, parts.next()?);
        if parts.next().is_some() || signature.is_empty() {
            return None;
        }
        encoding::decode(signature).ok()?;
        // RFC 7519 6: without a signature nobody vouches for it.
        object(header)?.get("alg")?.as_str().filter(|algorithm| *algorithm != "none")?;
        let payload = object(payload)?;
        let expires_at = match payload.get("exp") {
            None => None,
            Some(exp) => Some(exp.as_f64()? as u64),
        };
        let names = payload.keys().filter(|name| !OF_TOKENS.contains(&name.as_str()));
        let names: Vec<String> = names.cloned().collect();
        (1..=MOST_CLAIMS).contains(&names.len()).then_some(Self { names, expires_at })
    }

    /// RFC 7519 4.1.4: on or after that time it MUST NOT be accepted.
    fn has_ended(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|at| at <= now.seconds())
    }
}

fn object(part: &str) -> Option<Map<String, Value>> {
    serde_json::from_slice(&encoding::decode(part).ok()?).ok()
}

/// Where a claim is found (OpenID Connect Core 5.6.2).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Source {
    #[serde(rename = "JWT")]
    jwt: String,
}

/// The claims of other providers about one user, and their JWTs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregatedClaims {
    names: BTreeMap<String, AttributeName>,
    sources: BTreeMap<AttributeName, Source>,
}

impl AggregatedClaims {
    /// Adds the claims of an attribute's JWT, unless it has ended. A claim that an earlier one has too is taken from the
    /// earlier one: a name has one source.
    pub(super) fn add(&mut self, attribute: &AttributeName, jwt: &str, now: Timestamp) {
        let Some(read) = ClaimsJwt::read(jwt).filter(|read| !read.has_ended(now)) else { return };
        let mut is_named = false;
        for name in read.names {
            self.names.entry(name).or_insert_with(|| {
                is_named = true;
                attribute.clone()
            });
        }
        if is_named {
            self.sources.insert(attribute.clone(), Source { jwt: jwt.to_owned() });
        }
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The same without those of some attributes; `None` if none is left.
    pub(crate) fn without(mut self, is_left_out: impl Fn(&AttributeName) -> bool) -> Option<Self> {
        self.names.retain(|_, attribute| !is_left_out(attribute));
        self.sources.retain(|attribute, _| !is_left_out(attribute));
        (!self.is_empty()).then_some(self)
    }

    /// Writes `_claim_names` and `_claim_sources`.
    pub(crate) fn write(&self, json: &mut Object) {
        json.optional_value("_claim_names", Some(&self.names));
        json.optional_value("_claim_sources", Some(&self.sources));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::attribute::{AttributeSchema, Attributes};
    use crate::scope::Scope;

    const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);

    fn jwt(header: &Value, payload: &Value) -> String {
        let part = |value: &Value| encoding::encode(value.to_string().as_bytes());
        format!("{}.{}.c2lnbmVk", part(header), part(payload))
    }

    fn signed(payload: &Value) -> String {
        jwt(&json!({ "alg": "PS512" }), payload)
    }

    fn names(text: &str) -> Option<Vec<String>> {
        ClaimsJwt::read(text).map(|read| read.names)
    }

    #[test]
    fn a_claims_providers_jwt_is_signed_and_has_claims_to_tell() {
        let good = signed(&json!({ "iss": "https://bank.example", "sub": "x", "score": 650, "exp": 1.5 }));
        assert_eq!(names(&good), Some(vec!["score".to_owned()]));
        let many = |count: usize| -> Value { (0..count).map(|n| (format!("c{n}"), json!(n))).collect() };
        assert_eq!(names(&signed(&many(MOST_CLAIMS))).map(|names| names.len()), Some(MOST_CLAIMS));
        let score = json!({ "score": 650 });
        for bad in [
            String::new(),
            "a.b".to_owned(),
            "a.b.c".to_owned(),
            format!("{good}.x"),
            good.trim_end_matches("c2lnbmVk").to_owned(),
            format!("{good}="),
            jwt(&json!({ "alg": "none" }), &score),
            jwt(&json!({}), &score),
            signed(&json!(["score"])),
            signed(&json!({ "iss": "https://bank.example", "sub": "x" })),
            signed(&json!({ "score": 1, "exp": "tomorrow" })),
            signed(&many(MOST_CLAIMS + 1)),
            signed(&json!({ "score": "x".repeat(LONGEST) })),
        ] {
            assert_eq!(names(&bad), None, "{bad}");
        }
    }

    #[test]
    fn the_schema_says_which_scope_releases_them_and_exp_how_long() {
        let schema: AttributeSchema = serde_json::from_value(json!([
            { "name": "bank", "type": "aggregated", "scope": "credit" },
            { "name": "agency", "type": "aggregated", "scope": "credit" },
            { "name": "old", "type": "aggregated", "scope": "credit" },
            { "name": "other", "type": "aggregated", "scope": "other" },
        ]))
        .unwrap();
        schema.validate().unwrap();
        let now = NOW.seconds();
        let bank = signed(&json!({ "score": 650, "limit": 9, "exp": now + 1 }));
        let agency = signed(&json!({ "score": 1 }));
        let old = signed(&json!({ "income": 1, "exp": now }));
        let values: Attributes =
            serde_json::from_value(json!({ "bank": bank, "agency": agency, "old": old, "other": agency }))
                .unwrap();
        let told = |scope: &str| -> Option<Value> {
            let found = schema.aggregated(&Scope::parse(scope).unwrap(), &values, NOW)?;
            let mut json = Object::with_capacity(0);
            found.write(&mut json);
            Some(serde_json::from_slice(&json.end()).unwrap())
        };
        let credit = json!({
            "_claim_names": { "score": "bank", "limit": "bank" },
            "_claim_sources": { "bank": { "JWT": bank } },
        });
        assert_eq!(told("openid credit"), Some(credit));
        assert_eq!(told("other").unwrap()["_claim_sources"], json!({ "other": { "JWT": agency } }));
        assert_eq!(told("openid"), None);
        // They are no claims of the attribute's own name.
        let scope = Scope::parse("credit").unwrap();
        assert_eq!(schema.released(&scope, &values).count(), 0);
    }
}
