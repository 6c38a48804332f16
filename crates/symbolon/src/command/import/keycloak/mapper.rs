//! Protocol mappers: what each puts into tokens, as far as a setting of ours says the same.

use serde_json::Value;
use symbolon_protocol::scope::{GROUPS, ROLES};

/// What a mapper comes to here.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// A scope releases the claim.
    Scope(&'static str),
    /// A value of `aud` of access tokens.
    Audience(String),
    /// Nothing is needed: every token has it, or a standard scope releases it.
    Already,
    /// Nothing here does the same.
    Not(String),
}

/// Standard claims that a scope releases (OpenID Connect Core 5.4).
const STANDARD: [(&str, &str); 20] = [
    ("name", "profile"),
    ("given_name", "profile"),
    ("family_name", "profile"),
    ("middle_name", "profile"),
    ("nickname", "profile"),
    ("preferred_username", "profile"),
    ("profile", "profile"),
    ("picture", "profile"),
    ("website", "profile"),
    ("gender", "profile"),
    ("birthdate", "profile"),
    ("zoneinfo", "profile"),
    ("locale", "profile"),
    ("updated_at", "profile"),
    ("email", "email"),
    ("email_verified", "email"),
    ("phone_number", "phone"),
    ("phone_number_verified", "phone"),
    ("address", "address"),
    ("sub", "openid"),
];

/// Properties and attributes of a user by which Keycloak fills a standard claim of another name.
const SOURCES: [(&str, &str); 8] = [
    ("username", "preferred_username"),
    ("firstName", "given_name"),
    ("lastName", "family_name"),
    ("middleName", "middle_name"),
    ("emailVerified", "email_verified"),
    ("phoneNumber", "phone_number"),
    ("phoneNumberVerified", "phone_number_verified"),
    ("id", "sub"),
];

/// What a mapper of a client says.
pub(super) fn said(mapper: &Value, client_id: &str) -> Said {
    let kind = mapper.get("protocolMapper").and_then(Value::as_str).unwrap_or_default();
    let config = |name: &str| {
        let value = mapper.get("config").and_then(|config| config.get(name)).and_then(Value::as_str);
        value.filter(|text| !text.is_empty())
    };
    let is_on = |name: &str| config(name) == Some("true");
    let claim = config("claim.name").unwrap_or_default();
    match kind {
        "oidc-group-membership-mapper" if is_on("full.path") => {
            Said::Not(format!("the claim {claim} has the paths of groups, and {GROUPS} has their names"))
        }
        "oidc-group-membership-mapper" if claim == GROUPS => Said::Scope(GROUPS),
        "oidc-usermodel-realm-role-mapper"
            if claim == ROLES && config("usermodel.realmRoleMapping.rolePrefix").is_none() =>
        {
            Said::Scope(ROLES)
        }
        "oidc-usermodel-client-role-mapper" if claim == ROLES && is_plain_role_of(client_id, config) => {
            Said::Scope(ROLES)
        }
        "oidc-audience-mapper" if is_on("access.token.claim") => {
            match config("included.client.audience").or_else(|| config("included.custom.audience")) {
                Some(audience) => Said::Audience(audience.to_owned()),
                None => Said::Already,
            }
        }
        "oidc-usermodel-property-mapper" => of_user(config("user.attribute"), claim),
        "oidc-usermodel-attribute-mapper" => of_user(config("user.attribute"), claim),
        "oidc-full-name-mapper" => Said::Scope("profile"),
        "oidc-address-mapper" => Said::Scope("address"),
        "oidc-allowed-origins-mapper"
        | "oidc-acr-mapper"
        | "oidc-sub-mapper"
        | "oidc-audience-resolve-mapper" => Said::Already,
        "oidc-usersessionmodel-note-mapper"
            if matches!(claim, "auth_time" | "client_id" | "clientAddress" | "clientHost") =>
        {
            Said::Already
        }
        kind if claim.is_empty() => Said::Not(format!("nothing here does what {kind} does")),
        kind => Said::Not(format!("the claim {claim} of {kind} has no counterpart")),
    }
}

fn is_plain_role_of<'a>(client_id: &str, config: impl Fn(&str) -> Option<&'a str>) -> bool {
    let of = config("usermodel.clientRoleMapping.clientId");
    of.is_none_or(|of| of == client_id) && config("usermodel.clientRoleMapping.rolePrefix").is_none()
}

/// A claim that is made of a property or an attribute of the user.
fn of_user(source: Option<&str>, claim: &str) -> Said {
    let source = source.unwrap_or_default();
    let filled = SOURCES.iter().find(|(theirs, _)| *theirs == source).map_or(source, |(_, ours)| *ours);
    match STANDARD.iter().find(|(standard, _)| *standard == claim && filled == claim) {
        Some((_, scope)) => Said::Scope(scope),
        None => Said::Not(format!("the claim {claim} is made of {source}, which no scope releases here")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(kind: &str, config: Value) -> Said {
        said(&json!({ "name": "x", "protocolMapper": kind, "config": config }), "app")
    }

    #[test]
    fn a_mapper_that_says_the_same_becomes_a_scope_or_an_audience() {
        let group = "oidc-group-membership-mapper";
        assert_eq!(of(group, json!({ "claim.name": "groups", "full.path": "false" })), Said::Scope(GROUPS));
        let role = "oidc-usermodel-client-role-mapper";
        let own = json!({ "claim.name": "roles", "usermodel.clientRoleMapping.clientId": "app" });
        assert_eq!(of(role, own), Said::Scope(ROLES));
        assert_eq!(
            of("oidc-usermodel-realm-role-mapper", json!({ "claim.name": "roles" })),
            Said::Scope(ROLES)
        );
        let audience = json!({ "included.client.audience": "api", "access.token.claim": "true" });
        assert_eq!(of("oidc-audience-mapper", audience), Said::Audience("api".into()));
        let first = json!({ "user.attribute": "firstName", "claim.name": "given_name" });
        assert_eq!(of("oidc-usermodel-property-mapper", first), Said::Scope("profile"));
        assert_eq!(of("oidc-acr-mapper", json!({})), Said::Already);
    }

    #[test]
    fn a_mapper_that_says_something_else_is_told() {
        for (kind, config, word) in [
            ("oidc-group-membership-mapper", json!({ "claim.name": "groups", "full.path": "true" }), "paths"),
            ("oidc-group-membership-mapper", json!({ "claim.name": "memberOf" }), "memberOf"),
            (
                "oidc-usermodel-client-role-mapper",
                json!({ "claim.name": "roles", "usermodel.clientRoleMapping.clientId": "other" }),
                "roles",
            ),
            (
                "oidc-usermodel-attribute-mapper",
                json!({ "claim.name": "email", "user.attribute": "mail2" }),
                "mail2",
            ),
            ("oidc-hardcoded-claim-mapper", json!({ "claim.name": "tier" }), "tier"),
            ("script-x.js", json!(null), "script-x.js"),
        ] {
            let Said::Not(why) = of(kind, config) else { panic!("{kind}") };
            assert!(why.contains(word), "{why}");
        }
    }
}
