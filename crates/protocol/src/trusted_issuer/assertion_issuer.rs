//! The client metadata `assertion_issuers`: whose assertions authenticate the client in place of its own, and what they must say.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most entries of one client.
const MOST_ENTRIES: usize = 32;
/// The most claims of one entry.
const MOST_CLAIMS: usize = 16;
/// The longest text, in bytes.
const LONGEST: usize = 512;

/// A trusted issuer, and the workload to which it gives tokens.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AssertionIssuer {
    /// The `iss`.
    pub issuer: String,
    /// The `sub`: the whole text, or its beginning with one `*` in place of the rest.
    pub sub: String,
    /// Further claims that must be there with exactly these values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub claims: BTreeMap<String, Value>,
}

impl AssertionIssuer {
    /// Whether the claims of a verified assertion are those of the workload.
    pub fn is_met_by(&self, iss: &str, sub: &str, claims: &Map<String, Value>) -> bool {
        self.issuer == iss
            && self.is_subject(sub)
            && self.claims.iter().all(|(name, value)| claims.get(name) == Some(value))
    }

    /// Whether it is about this subject.
    pub(crate) fn is_subject(&self, sub: &str) -> bool {
        match self.sub.strip_suffix('*') {
            Some(begin) => sub.strip_prefix(begin).is_some_and(|rest| !rest.is_empty()),
            None => self.sub == sub,
        }
    }
}

/// Checks the entries of a client.
///
/// # Errors
/// What is wrong, as the end of a sentence that begins with the member's name.
pub(crate) fn check(entries: &[AssertionIssuer]) -> Result<(), String> {
    if entries.len() > MOST_ENTRIES {
        return Err(format!("has more than {MOST_ENTRIES} entries"));
    }
    entries.iter().try_for_each(check_one)
}

fn check_one(entry: &AssertionIssuer) -> Result<(), String> {
    let is_sound = |text: &str| (1..=LONGEST).contains(&text.len()) && !text.chars().any(char::is_control);
    if !is_sound(&entry.issuer) || !is_sound(&entry.sub) {
        return Err(format!("must have issuer and sub, each of 1 to {LONGEST} bytes"));
    }
    check_pattern(&entry.sub)?;
    if entry.claims.len() > MOST_CLAIMS {
        return Err(format!("has an entry with more than {MOST_CLAIMS} claims"));
    }
    for (name, value) in &entry.claims {
        let is_exact = match value {
            Value::String(text) => text.len() <= LONGEST,
            Value::Bool(_) => true,
            Value::Number(number) => !number.is_f64(),
            Value::Null | Value::Array(_) | Value::Object(_) => false,
        };
        if !is_sound(name) || !is_exact {
            return Err("has a claim whose value is no text, whole number or truth value".to_owned());
        }
        // They have members of their own, or change with each assertion.
        if ["iss", "sub", "aud", "exp", "iat", "nbf", "jti"].contains(&name.as_str()) {
            return Err(format!("must not name {name} in claims"));
        }
    }
    Ok(())
}

/// One `*` at the end at most, behind something that ends a part of the name: `repo:acme*` would be `repo:acme-thief/...` too, whoever
/// can have that name.
fn check_pattern(sub: &str) -> Result<(), String> {
    let Some(begin) = sub.strip_suffix('*') else {
        return match sub.contains('*') {
            true => Err("has a sub with * elsewhere than at its end".to_owned()),
            false => Ok(()),
        };
    };
    let is_end_of_part = begin.ends_with([':', '/', '|']);
    match is_end_of_part && !begin.contains('*') {
        true => Ok(()),
        false => Err("has a sub whose * does not follow a separator such as : or /".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(more: Value) -> AssertionIssuer {
        let mut entry = json!({ "issuer": "https://k8s.example", "sub": "system:serviceaccount:shop:api" });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(entry).unwrap()
    }

    fn meets(entry: &AssertionIssuer, sub: &str, claims: &Value) -> bool {
        entry.is_met_by("https://k8s.example", sub, claims.as_object().unwrap())
    }

    #[test]
    fn a_subject_is_the_whole_text_or_its_beginning() {
        let exact = entry(json!({}));
        let pattern = entry(json!({ "sub": "system:serviceaccount:shop:*" }));
        for (sub, is_exact, is_begin) in [
            ("system:serviceaccount:shop:api", true, true),
            ("system:serviceaccount:shop:api2", false, true),
            ("system:serviceaccount:shop:", false, false),
            ("system:serviceaccount:shop", false, false),
            ("system:serviceaccount:shop2:api", false, false),
            ("x:system:serviceaccount:shop:api", false, false),
            ("System:serviceaccount:shop:api", false, false),
            ("", false, false),
        ] {
            assert_eq!(
                (meets(&exact, sub, &json!({})), meets(&pattern, sub, &json!({}))),
                (is_exact, is_begin),
                "{sub}"
            );
        }
        let claims = Map::new();
        assert!(!exact.is_met_by("https://other.example", "system:serviceaccount:shop:api", &claims));
    }

    #[test]
    fn every_claim_has_exactly_its_value() {
        let own = entry(json!({ "sub": "s", "claims": { "ref": "refs/heads/main", "run": 5, "own": true } }));
        let good = json!({ "ref": "refs/heads/main", "run": 5, "own": true, "more": 1 });
        assert!(meets(&own, "s", &good));
        for (name, value) in [
            ("ref", json!("refs/heads/main2")),
            ("ref", json!(["refs/heads/main"])),
            ("ref", Value::Null),
            ("run", json!("5")),
            ("own", json!("true")),
        ] {
            let mut claims = good.clone();
            claims[name] = value;
            assert!(!meets(&own, "s", &claims), "{name}: {claims}");
            claims.as_object_mut().unwrap().remove(name);
            assert!(!meets(&own, "s", &claims), "without {name}");
        }
    }

    #[test]
    fn entries_are_checked() {
        for good in [
            json!({}),
            json!({ "sub": "repo:acme/shop:*" }),
            json!({ "sub": "repo:acme/*" }),
            json!({ "claims": { "ref": "refs/heads/main", "n": -1, "b": false } }),
        ] {
            assert_eq!(check(&[entry(good.clone())]), Ok(()), "{good}");
        }
        for bad in [
            json!({ "issuer": "" }),
            json!({ "sub": "" }),
            json!({ "sub": "*" }),
            json!({ "sub": "repo:acme*" }),
            json!({ "sub": "repo:acme-*" }),
            json!({ "sub": "repo:acme_*" }),
            json!({ "sub": "repo:acme.*" }),
            json!({ "sub": "repo:*:main" }),
            json!({ "sub": "repo:*/*" }),
            json!({ "sub": "repo:**" }),
            json!({ "sub": "a\nb" }),
            json!({ "claims": { "x": [] } }),
            json!({ "claims": { "x": null } }),
            json!({ "claims": { "x": 1.5 } }),
            json!({ "claims": { "": "x" } }),
            json!({ "claims": { "aud": "x" } }),
        ] {
            assert!(check(&[entry(bad.clone())]).is_err(), "{bad}");
        }
        assert!(check(&vec![entry(json!({})); MOST_ENTRIES + 1]).is_err());
        assert!(
            serde_json::from_value::<AssertionIssuer>(json!({ "issuer": "https://a", "sub": "b", "x": 1 }))
                .is_err()
        );
        assert!(serde_json::from_value::<AssertionIssuer>(json!({ "issuer": "https://a" })).is_err());
    }
}
