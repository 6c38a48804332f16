//! The parameter `claims` (OpenID Connect Core 5.5): claims that a request asks for by name.
//!
//! A claim about the person is asked for by the scope that releases it, as if the request had named that scope: the person is
//! asked for it, the grant has it, and so have the tokens of every refresh
//! (`docs/decisions/078-a-claim-is-asked-for-by-its-scope.md`).

use serde_json::{Map, Value};
use smol_str::SmolStr;

use crate::claim_definition::{Destination, Origin};
use crate::client::Client;
use crate::encoded;
use crate::error::OAuthError;
use crate::refusal::{Details, Reason};
use crate::scope::{GROUPS, ROLES, Scope};
use crate::settings::IssuerSettings;
use crate::sign_in::acr::RequestedAcr;
use crate::user_claims::PROFILE_CLAIMS;

/// The longest `claims`, in bytes of its JSON form within the interaction of a page.
const LONGEST: usize = 4 * 1024;

/// What a request asks for by `claims`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ClaimsParameter {
    userinfo: Vec<String>,
    id_token: Vec<String>,
    /// The user whom the answer must be about: `sub` with a `value` (5.5.1).
    pub(super) sub: Option<SmolStr>,
    /// The classes of authentication that are asked for: `acr` with `value` or `values` (5.5.1.1).
    pub(super) acr: Option<RequestedAcr>,
    /// Whether one of these classes must be reached.
    pub(super) acr_is_essential: bool,
}

impl ClaimsParameter {
    /// Reads the parameter. Members and claims that are not known are ignored (5.5, 5.5.1).
    ///
    /// # Errors
    /// `invalid_request` for what is no such object, asks for two users, or has more than 4 KiB.
    pub(super) fn parse(text: &str) -> Result<Self, OAuthError> {
        if !encoded::fits_json(text, LONGEST) {
            return Err(malformed("claims has more than 4096 bytes"));
        }
        let Ok(Value::Object(document)) = serde_json::from_str::<Value>(text) else {
            return Err(malformed("claims is no JSON object"));
        };
        let (userinfo, id_token) = (requests(&document, "userinfo")?, requests(&document, "id_token")?);
        let acr = id_token.and_then(|asked| asked.get("acr")).and_then(Value::as_object);
        let classes = acr.and_then(classes);
        let is_essential = acr.is_some_and(|acr| acr.get("essential") == Some(&Value::Bool(true)));
        let names = |asked: Option<&Map<String, Value>>| -> Vec<String> {
            asked.map(|asked| asked.keys().cloned().collect()).unwrap_or_default()
        };
        Ok(Self {
            userinfo: names(userinfo),
            id_token: names(id_token),
            sub: one_user(sub(id_token)?, sub(userinfo)?)?,
            // Voluntary classes that nobody knows are ignored, as those of `acr_values` are.
            acr: classes.filter(|classes| is_essential || !classes.is_empty()),
            acr_is_essential: is_essential && classes.is_some(),
        })
    }

    /// The scope with the scopes that release the claims which are asked for, as far as the client has registered them.
    #[must_use]
    pub(super) fn and_scope(&self, scope: Scope, client: &Client, settings: &IssuerSettings) -> Scope {
        let userinfo = self.userinfo.iter().map(|name| (name.as_str(), Destination::Userinfo));
        let id_token = self.id_token.iter().map(|name| (name.as_str(), Destination::IdToken));
        let asked = userinfo
            .chain(id_token)
            .filter_map(|(name, destination)| releasing(name, destination, client, settings))
            .filter(|token| client.scope.contains(token) && !scope.contains(token));
        let mut more: Vec<&str> = Vec::new();
        for token in asked {
            if !more.contains(&token) {
                more.push(token);
            }
        }
        if more.is_empty() {
            return scope;
        }
        // No claim has to be told (5.5.1), so none of them is asked for if the scope would become too long.
        let wider = Scope::parse(&more.join(" ")).and_then(|more| scope.union(&more));
        wider.unwrap_or(scope)
    }
}

fn malformed(description: &'static str) -> OAuthError {
    OAuthError::invalid_request(Reason::ClaimsMalformed, description).about(Details::of("claims"))
}

/// The requests for claims of one member.
fn requests<'d>(
    document: &'d Map<String, Value>,
    member: &str,
) -> Result<Option<&'d Map<String, Value>>, OAuthError> {
    match document.get(member) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(asked)) if asked.values().all(is_request) => Ok(Some(asked)),
        Some(_) => Err(malformed("userinfo and id_token of claims must be objects of requests for claims")),
    }
}

/// Whether a value is a request for one claim (5.5.1): `null`, or an object.
fn is_request(value: &Value) -> bool {
    let Value::Object(asked) = value else { return value.is_null() };
    asked.get("essential").is_none_or(Value::is_boolean) && asked.get("values").is_none_or(Value::is_array)
}

/// The user whom a member asks for.
fn sub(asked: Option<&Map<String, Value>>) -> Result<Option<&str>, OAuthError> {
    match asked.and_then(|asked| asked.get("sub")).and_then(|sub| sub.get("value")) {
        None => Ok(None),
        Some(Value::String(sub)) => Ok(Some(sub.as_str())),
        Some(_) => Err(malformed("the value of sub in claims must be a text")),
    }
}

fn one_user(id_token: Option<&str>, userinfo: Option<&str>) -> Result<Option<SmolStr>, OAuthError> {
    match (id_token, userinfo) {
        (Some(one), Some(other)) if one != other => Err(malformed("claims asks for two users")),
        (one, other) => Ok(one.or(other).map(SmolStr::new)),
    }
}

/// The classes that a request for `acr` names; `None` if it names none.
fn classes(acr: &Map<String, Value>) -> Option<RequestedAcr> {
    let one = acr.get("value").into_iter();
    let several = acr.get("values").and_then(Value::as_array);
    let mut named = one.chain(several.into_iter().flatten()).peekable();
    named.peek()?;
    Some(RequestedAcr::of(named.filter_map(Value::as_str)))
}

/// The scope that releases a claim to a destination; `None` for a claim that needs none, or that nobody is told there.
fn releasing<'a>(
    name: &str,
    destination: Destination,
    client: &'a Client,
    settings: &'a IssuerSettings,
) -> Option<&'a str> {
    // Whether an address or number was verified is told of the user's own alone, and goes with it.
    let told_with = match name {
        "email_verified" => "email",
        "phone_number_verified" => "phone_number",
        name => name,
    };
    // A definition takes the place of the claim of its name, a client's that of its issuer.
    let mut definitions = client.settings.claims.iter().chain(&settings.claims);
    if let Some(own) = definitions.find(|definition| definition.name == told_with) {
        let is_told = name == told_with && own.origin != Origin::Off && own.destinations.contain(destination);
        return own.scope.as_deref().filter(|_| is_told);
    }
    if let Some(scope) = standard(told_with) {
        return Some(scope);
    }
    let mut attributes = settings.attributes.definitions().iter();
    let attribute = attributes.find(|definition| definition.name.as_str() == name)?;
    attribute.scope.as_ref().map(Scope::as_str)
}

/// The scope that releases a standard claim (5.4).
fn standard(name: &str) -> Option<&'static str> {
    match name {
        "email" => Some("email"),
        "phone_number" => Some("phone"),
        "address" => Some("address"),
        "updated_at" => Some("profile"),
        GROUPS => Some(GROUPS),
        ROLES => Some(ROLES),
        name => PROFILE_CLAIMS.contains(&name).then_some("profile"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::token::fixture::client;

    fn parse(document: &Value) -> ClaimsParameter {
        ClaimsParameter::parse(&document.to_string()).unwrap_or_else(|error| panic!("{document}: {error}"))
    }

    /// The scope of a request with the scope `openid`.
    fn asked_of(settings: &IssuerSettings, client: &Client, document: &Value) -> String {
        let openid = Scope::parse("openid").unwrap();
        parse(document).and_scope(openid, client, settings).as_str().to_owned()
    }

    fn asked(document: &Value) -> String {
        asked_of(&IssuerSettings::default(), &client("app"), document)
    }

    #[test]
    fn a_claim_is_asked_for_by_the_scope_that_releases_it() {
        for (document, scope) in [
            (json!({}), "openid"),
            (json!({ "userinfo": null, "id_token": null, "other": 7 }), "openid"),
            (json!({ "userinfo": { "email": null } }), "openid email"),
            (json!({ "userinfo": { "email_verified": { "essential": true } } }), "openid email"),
            (json!({ "id_token": { "phone_number": { "value": "1" } } }), "openid phone"),
            (json!({ "id_token": { "given_name": { "more": [] } } }), "openid profile"),
            (json!({ "userinfo": { "name": null, "nickname": null, "updated_at": null } }), "openid profile"),
            (json!({ "userinfo": { "address": null, "roles": null } }), "openid address roles"),
            (
                json!({ "userinfo": { "http://example.com/unheard_of": null, "offline_access": null } }),
                "openid",
            ),
            (json!({ "id_token": { "auth_time": { "essential": true }, "sub": null } }), "openid"),
        ] {
            assert_eq!(asked(&document), scope, "{document}");
        }
        let narrow = Client { scope: Scope::parse("openid email").unwrap(), ..client("app") };
        let both = json!({ "userinfo": { "email": null, "name": null } });
        let scope = asked_of(&IssuerSettings::default(), &narrow, &both);
        assert_eq!(scope, "openid email", "the client is not registered for the other one");
    }

    #[test]
    fn attributes_and_definitions_are_asked_for_by_their_scopes() {
        let read = |value: Value| serde_json::from_value(value).unwrap();
        let mut settings = IssuerSettings {
            attributes: serde_json::from_value(json!([
                { "name": "team", "type": "string", "scope": "api" },
                { "name": "note", "type": "string" },
            ]))
            .unwrap(),
            ..IssuerSettings::default()
        };
        let team = json!({ "userinfo": { "team": null, "note": null } });
        assert_eq!(asked_of(&settings, &client("app"), &team), "openid api");
        settings.claims = read(json!([
            { "name": "email", "value": "x", "scope": "api", "destinations": ["id_token"] },
            { "name": "team", "enabled": false },
        ]));
        for (document, scope) in [
            (json!({ "id_token": { "email": null } }), "openid api"),
            (json!({ "userinfo": { "email": null } }), "openid"),
            (json!({ "id_token": { "email_verified": null } }), "openid"),
            (team, "openid"),
        ] {
            assert_eq!(asked_of(&settings, &client("app"), &document), scope, "{document}");
        }
        let mut own = client("app");
        own.settings.claims = read(json!([{ "name": "email", "value": "x", "scope": "groups" }]));
        let email = json!({ "userinfo": { "email": null } });
        assert_eq!(asked_of(&settings, &own, &email), "openid groups", "the client's own comes first");
    }

    #[test]
    fn a_user_and_classes_are_read_from_their_values() {
        let claims =
            parse(&json!({ "id_token": { "sub": { "value": "alice" } }, "userinfo": { "sub": null } }));
        assert_eq!(claims.sub.as_deref(), Some("alice"));
        assert_eq!(parse(&json!({ "userinfo": { "sub": { "value": "bob" } } })).sub.as_deref(), Some("bob"));
        for (acr, classes, is_essential) in [
            (json!(null), None, false),
            (json!({ "essential": true }), None, false),
            (json!({ "value": "phr" }), Some("phr"), false),
            (json!({ "essential": true, "values": ["phrh", "gold", 7, "phr"] }), Some("phrh phr"), true),
            (json!({ "values": ["gold"] }), None, false),
            (json!({ "essential": true, "values": ["gold"] }), Some(""), true),
        ] {
            let claims = parse(&json!({ "id_token": { "acr": acr } }));
            assert_eq!(claims.acr, classes.map(RequestedAcr::parse), "{acr}");
            assert_eq!(claims.acr_is_essential, is_essential, "{acr}");
        }
    }

    #[test]
    fn what_is_no_request_for_claims_is_refused() {
        let named = |length: usize| format!(r#"{{"userinfo":{{"{}":null}}}}"#, "n".repeat(length));
        let (short, long) = (named(3_000), named(4_090));
        for (text, is_good) in [
            ("", false),
            ("email", false),
            ("[]", false),
            ("null", false),
            (r#"{"userinfo":[]}"#, false),
            (r#"{"userinfo":{"email":true}}"#, false),
            (r#"{"userinfo":{"email":{"essential":"yes"}}}"#, false),
            (r#"{"id_token":{"acr":{"values":"phr"}}}"#, false),
            (r#"{"id_token":{"sub":{"value":7}}}"#, false),
            (r#"{"id_token":{"sub":{"value":"a"}},"userinfo":{"sub":{"value":"b"}}}"#, false),
            (&*short, true),
            (&*long, false),
        ] {
            assert_eq!(ClaimsParameter::parse(text).is_ok(), is_good, "{text}");
        }
    }
}
