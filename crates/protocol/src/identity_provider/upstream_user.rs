//! Who somebody is to another provider, as its claims say it (OpenID Connect Core 5.1).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::id_token::is_subject;
use super::{IdentityProvider, ProviderResponseMode};
use crate::email_address;
use crate::id::{GroupId, UserId};
use crate::time::Timestamp;
use crate::user::{Profile, User, is_claim_text};

/// The most entries of a claim of groups that are looked at.
const MOST_GROUPS: usize = 1_000;
/// The longest label, in characters.
const LONGEST_LABEL: usize = 120;

/// Somebody whom another provider has signed in.
#[derive(Clone, Debug, PartialEq)]
pub struct UpstreamUser {
    /// Its `sub`.
    pub subject: String,
    /// The address, if the provider has verified it and is believed for its domain. One that is not verified is not looked
    /// at for anything: everybody can give any.
    pub verified_email: Option<String>,
    /// What the person knows the identity by.
    pub label: Option<String>,
    claims: Map<String, Value>,
}

impl UpstreamUser {
    /// Reads the claims of a verified ID token, and of UserInfo.
    pub fn of_claims(provider: &IdentityProvider, claims: Map<String, Value>) -> Option<Self> {
        let subject = text(&claims, "sub").filter(|subject| is_subject(subject))?.to_owned();
        let email_claim = provider.claims.get("email").map_or("email", String::as_str);
        let email = text(&claims, email_claim).and_then(email_address::typed);
        // Core 5.1: the verification is of the claim `email` alone. Apple sends it as a text.
        let is_verified = email_claim == "email"
            && match claims.get("email_verified") {
                Some(Value::Bool(verified)) => *verified,
                Some(Value::String(text)) => text == "true",
                _ => false,
            };
        let verified_email = email.filter(|email| is_verified && provider.may_vouch_for(email));
        let label = email.or_else(|| text(&claims, "preferred_username")).or_else(|| text(&claims, "name"));
        let label =
            label.map(|label| label.chars().filter(|c| !c.is_control()).take(LONGEST_LABEL).collect());
        Some(Self { subject, verified_email: verified_email.map(str::to_owned), label, claims })
    }

    /// The same with the name that Apple posts beside the code, once, when somebody signs in there for the first time: its ID
    /// token has none. The browser brings it, so it is what the person says of themselves; an address in it is not read. Only
    /// from a provider that posts its answers, and only where the ID token says nothing.
    #[must_use]
    pub fn with_posted_name(mut self, provider: &IdentityProvider, json: &str) -> Self {
        if provider.response_mode != ProviderResponseMode::FormPost {
            return self;
        }
        let Ok(PostedUser { name: PostedName { first_name, last_name } }) = serde_json::from_str(json) else {
            return self;
        };
        let parts: Vec<&str> = [&first_name, &last_name].into_iter().flatten().map(String::as_str).collect();
        let whole = Some(parts.join(" ")).filter(|name| !name.is_empty());
        for (claim, value) in [("name", whole), ("given_name", first_name), ("family_name", last_name)] {
            if let Some(value) = value {
                self.claims.entry(claim).or_insert(Value::String(value));
            }
        }
        self
    }

    /// The user that somebody without an account becomes.
    pub fn new_user(&self, provider: &IdentityProvider, id: UserId, now: Timestamp) -> User {
        let taken = |own: &str| {
            let theirs = provider.claims.get(own)?;
            text(&self.claims, theirs).filter(|value| is_claim_text(value)).map(str::to_owned)
        };
        let profile = Profile {
            name: taken("name"),
            given_name: taken("given_name"),
            family_name: taken("family_name"),
            middle_name: taken("middle_name"),
            nickname: taken("nickname"),
            preferred_username: taken("preferred_username"),
            profile: taken("profile"),
            picture: taken("picture"),
            website: taken("website"),
            birthdate: taken("birthdate"),
            zoneinfo: taken("zoneinfo"),
            locale: taken("locale"),
            ..Profile::default()
        };
        User {
            id,
            email_verified: self.verified_email.is_some(),
            email: self.verified_email.clone(),
            profile: profile.into(),
            active: true,
            created_at: now,
            updated_at: now,
        }
    }

    /// The issuer's groups that the provider's put the person into, and those that they take the person out of. Nothing where
    /// the claim is missing: then the provider says nothing about groups.
    pub fn groups(&self, provider: &IdentityProvider) -> GroupChanges {
        let mut changes = GroupChanges::default();
        let Some(mapping) = &provider.groups else { return changes };
        let named: BTreeSet<&str> = match self.claims.get(&mapping.claim) {
            Some(Value::String(one)) => [one.as_str()].into(),
            Some(Value::Array(many)) => many.iter().take(MOST_GROUPS).filter_map(Value::as_str).collect(),
            _ => return changes,
        };
        for (theirs, own) in &mapping.groups {
            if named.contains(theirs.as_str()) {
                changes.join.insert(own.clone());
            }
        }
        // Two of the provider's groups may lead to one of the issuer's.
        let left = mapping.groups.values().filter(|own| !changes.join.contains(*own)).cloned().collect();
        GroupChanges { leave: left, ..changes }
    }
}

/// What Apple posts as `user`.
#[derive(Deserialize)]
struct PostedUser {
    name: PostedName,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostedName {
    first_name: Option<String>,
    last_name: Option<String>,
}

/// The issuer's groups that a sign-in changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupChanges {
    /// The person is a member of these.
    pub join: BTreeSet<GroupId>,
    /// The person is no member of these.
    pub leave: BTreeSet<GroupId>,
}

fn text<'a>(claims: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    claims.get(name).and_then(Value::as_str).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::GroupMapping;
    use super::super::tests::provider;
    use super::*;

    fn read(provider: &IdentityProvider, claims: Value) -> Option<UpstreamUser> {
        let Value::Object(claims) = claims else { panic!("an object") };
        UpstreamUser::of_claims(provider, claims)
    }

    #[test]
    fn an_address_counts_only_if_it_is_verified_and_the_provider_is_believed_for_it() {
        let own = IdentityProvider { email_domains: vec!["acme.example".to_owned()], ..provider() };
        let is = |provider: &IdentityProvider, email: Value, verified: Value| {
            let claims = json!({ "sub": "s", "email": email, "email_verified": verified });
            read(provider, claims).unwrap().verified_email
        };
        let ann = Some("ann@acme.example".to_owned());
        for (verified, expected) in [
            (json!(true), ann.clone()),
            (json!("true"), ann.clone()),
            (json!(false), None),
            (json!("false"), None),
            (json!(1), None),
            (Value::Null, None),
        ] {
            assert_eq!(is(&provider(), json!("ann@acme.example"), verified), expected);
        }
        assert_eq!(is(&own, json!("ann@acme.example"), json!(true)), ann);
        for other in ["ann@evil.example", "ann", "", "ann@acme.example>\r\nBcc: x@y.example"] {
            assert_eq!(is(&own, json!(other), json!(true)), None, "{other:?}");
        }
        let mut other_claim = provider();
        other_claim.claims.insert("email".to_owned(), "upn".to_owned());
        let claims = json!({ "sub": "s", "upn": "ann@acme.example", "email_verified": true });
        assert_eq!(
            read(&other_claim, claims).unwrap().verified_email,
            None,
            "what was verified is another claim"
        );
    }

    #[test]
    fn a_new_user_has_the_mapped_claims_and_no_unverified_address() {
        let mut own = provider();
        own.claims.insert("nickname".to_owned(), "login".to_owned());
        let claims = json!({
            "sub": "s", "name": "Ann", "login": "ann", "picture": "x", "locale": 5, "given_name": "a\u{0}",
            "email": "ann@acme.example", "email_verified": false,
        });
        let upstream = read(&own, claims).unwrap();
        let user = upstream.new_user(&own, UserId::trusted("u1"), Timestamp::from_millis(5));
        assert_eq!((user.email, user.email_verified), (None, false));
        let profile = &user.profile;
        assert_eq!((profile.name.as_deref(), profile.nickname.as_deref()), (Some("Ann"), Some("ann")));
        assert_eq!((&profile.picture, &profile.locale, &profile.given_name), (&None, &None, &None));
        assert_eq!(upstream.label.as_deref(), Some("ann@acme.example"));
        for bad in [json!({}), json!({ "sub": "" }), json!({ "sub": 5 }), json!({ "sub": "a\u{e9}" })] {
            assert_eq!(read(&own, bad), None);
        }
    }

    #[test]
    fn a_posted_name_is_taken_of_a_provider_that_posts_and_contradicts_no_token() {
        let apple = IdentityProvider { response_mode: ProviderResponseMode::FormPost, ..provider() };
        let posted = |of: &IdentityProvider, claims: Value, json: &str| {
            let user = read(of, claims).unwrap().with_posted_name(of, json);
            let user = user.new_user(of, UserId::trusted("u1"), Timestamp::from_millis(5));
            (user.profile.name.clone(), user.profile.family_name.clone(), user.email)
        };
        let json = r#"{"name":{"firstName":"Ann","lastName":"Lee"},"email":"ann@acme.example"}"#;
        let (ann, lee) = (Some("Ann Lee".to_owned()), Some("Lee".to_owned()));
        assert_eq!(posted(&apple, json!({ "sub": "s" }), json), (ann, lee.clone(), None));
        assert_eq!(posted(&provider(), json!({ "sub": "s" }), json), (None, None, None));
        let named = json!({ "sub": "s", "name": "Anna" });
        assert_eq!(posted(&apple, named.clone(), json), (Some("Anna".to_owned()), lee, None));
        for json in ["", "{}", "[]", r#"{"name":5}"#, r#"{"name":{"firstName":5}}"#, r#"{"name":{}}"#] {
            assert_eq!(posted(&apple, named.clone(), json), (Some("Anna".to_owned()), None, None), "{json}");
        }
        let control = r#"{"name":{"firstName":"A\u0000"}}"#;
        assert_eq!(posted(&apple, json!({ "sub": "s" }), control), (None, None, None));
    }

    #[test]
    fn groups_follow_the_claim_where_there_is_one() {
        let id = |own: &str| GroupId::trusted(own);
        let groups = [("a", "x"), ("b", "x"), ("c", "y")].map(|(theirs, own)| (theirs.to_owned(), id(own)));
        let mapping = GroupMapping { claim: "groups".to_owned(), groups: groups.into() };
        let own = IdentityProvider { groups: Some(mapping), ..provider() };
        let of = |claims: Value| read(&own, claims).unwrap().groups(&own);
        let changes = |join: &[&str], leave: &[&str]| GroupChanges {
            join: join.iter().map(|own| id(own)).collect(),
            leave: leave.iter().map(|own| id(own)).collect(),
        };
        assert_eq!(of(json!({ "sub": "s", "groups": ["b", "z", 5] })), changes(&["x"], &["y"]));
        assert_eq!(of(json!({ "sub": "s", "groups": "c" })), changes(&["y"], &["x"]));
        assert_eq!(of(json!({ "sub": "s", "groups": [] })), changes(&[], &["x", "y"]));
        assert_eq!(of(json!({ "sub": "s" })), changes(&[], &[]));
    }
}
