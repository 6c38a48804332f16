use serde_json::{Value, json};

use super::*;

/// What a mapper of the client `app` says, whose claim goes to ID tokens, and with them to UserInfo.
fn in_place(kind: &str, config: Value, scope: Option<&str>, has_all_roles: bool) -> Result<Said, Fault> {
    let schema = Schema::of(&json!({ "attributes": [
        { "name": "team", "type": "string" }, { "name": "level", "type": "number" },
        { "name": "tags", "type": "list" }, { "name": "staff", "type": "boolean" },
    ] }));
    let mut document =
        json!({ "name": "x", "protocolMapper": format!("oidc-{kind}-mapper"), "config": config });
    if let Some(config) = document["config"].as_object_mut() {
        config.entry("id.token.claim").or_insert(json!("true"));
    }
    let schema = schema.unwrap();
    said(&Mapper { document: &document, client_id: "app", scope, has_all_roles, schema: &schema })
}

fn of(kind: &str, config: Value) -> Result<Said, Fault> {
    in_place(kind, config, None, true)
}

/// The definition without its destinations, where they are the usual ones.
fn defined(kind: &str, config: Value) -> Value {
    match of(kind, config.clone()) {
        Ok(Said::Claim(definition)) => {
            let mut definition = json!(definition);
            if definition["destinations"] == json!(["id_token", "userinfo"]) {
                definition.as_object_mut().unwrap().remove("destinations");
            }
            definition
        }
        said => panic!("{kind} {config}: {said:?}"),
    }
}

const GROUP: &str = "group-membership";
const REALM_ROLE: &str = "usermodel-realm-role";
const CLIENT_ROLE: &str = "usermodel-client-role";
const PROPERTY: &str = "usermodel-property";
const ATTRIBUTE: &str = "usermodel-attribute";
const CONSTANT: &str = "hardcoded-claim";

#[test]
fn a_mapper_that_says_the_same_becomes_a_scope_or_an_audience() {
    let own = "usermodel.clientRoleMapping.clientId";
    for (kind, config, said) in [
        (GROUP, json!({ "claim.name": "groups", "full.path": "false" }), Said::Scope(GROUPS)),
        (
            CLIENT_ROLE,
            json!({ "claim.name": "roles", "multivalued": "true", own: "app" }),
            Said::Scope(ROLES),
        ),
        (REALM_ROLE, json!({ "claim.name": "roles", "multivalued": "true" }), Said::Scope(ROLES)),
        (
            PROPERTY,
            json!({ "user.attribute": "firstName", "claim.name": "given_name" }),
            Said::Scope("profile"),
        ),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "phoneNumber", "claim.name": "phone_number" }),
            Said::Scope("phone"),
        ),
        // The name is reserved, so that the scope is all that there is.
        (
            PROPERTY,
            json!({ "user.attribute": "emailVerified", "claim.name": "email_verified", "jsonType.label": "boolean", "access.token.claim": "true" }),
            Said::Scope("email"),
        ),
        (
            "audience",
            json!({ "included.client.audience": "api", "access.token.claim": "true" }),
            Said::Audience("api".into()),
        ),
        ("acr", json!({}), Said::Already),
    ] {
        assert_eq!(of(kind, config.clone()), Ok(said), "{kind} {config}");
    }
}

#[test]
fn groups_and_roles_become_claims_of_the_client() {
    let (client, prefix) = ("usermodel.clientRoleMapping.clientId", "usermodel.clientRoleMapping.rolePrefix");
    for (kind, config, wanted) in [
        (GROUP, json!({ "claim.name": "memberOf" }), json!({ "name": "memberOf", "source": "groups" })),
        (
            GROUP,
            json!({ "claim.name": "groups", "full.path": "true" }),
            json!({ "name": "groups", "source": "groups", "form": "paths" }),
        ),
        (
            GROUP,
            json!({ "claim.name": r"https://a\.example/groups" }),
            json!({ "name": "https://a.example/groups", "source": "groups" }),
        ),
        (
            REALM_ROLE,
            json!({ "claim.name": "realm_access.roles", "multivalued": "true", "jsonType.label": "String" }),
            json!({ "name": "realm_access", "source": "issuer_roles", "form": "keycloak" }),
        ),
        (
            REALM_ROLE,
            json!({ "claim.name": "roles", "multivalued": "true", "usermodel.realmRoleMapping.rolePrefix": "r:" }),
            json!({ "name": "roles", "source": "issuer_roles", "prefix": "r:" }),
        ),
        (
            REALM_ROLE,
            json!({ "claim.name": "role" }),
            json!({ "name": "role", "source": "issuer_roles", "form": "first" }),
        ),
        (
            CLIENT_ROLE,
            json!({ "claim.name": "resource_access.${client_id}.roles", "multivalued": "true" }),
            json!({ "name": "resource_access", "source": "client_roles", "form": "keycloak" }),
        ),
        (
            CLIENT_ROLE,
            json!({ "claim.name": "roles", "multivalued": "true", client: "other", prefix: "o-" }),
            json!({ "name": "roles", "source": "client_roles:other", "prefix": "o-" }),
        ),
    ] {
        assert_eq!(defined(kind, config), wanted);
    }
}

#[test]
fn what_users_have_and_what_is_the_same_for_all_become_claims_of_the_client() {
    for (kind, config, wanted) in [
        (
            PROPERTY,
            json!({ "user.attribute": "firstName", "claim.name": "first", "multivalued": "true" }),
            json!({ "name": "first", "source": "given_name" }),
        ),
        (
            PROPERTY,
            json!({ "user.attribute": "id", "claim.name": "uid" }),
            json!({ "name": "uid", "source": "sub" }),
        ),
        (
            PROPERTY,
            json!({ "user.attribute": "emailVerified", "claim.name": "verified", "jsonType.label": "boolean" }),
            json!({ "name": "verified", "source": "email_verified" }),
        ),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "locale", "claim.name": "languages", "multivalued": "true" }),
            json!({ "name": "languages", "source": "locale", "form": "list" }),
        ),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "team", "claim.name": "team" }),
            json!({ "name": "team", "source": "attribute:team" }),
        ),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "tags", "claim.name": "tags", "multivalued": "true", "jsonType.label": "String" }),
            json!({ "name": "tags", "source": "attribute:tags", "form": "list" }),
        ),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "tags", "claim.name": "tag" }),
            json!({ "name": "tag", "source": "attribute:tags", "form": "first" }),
        ),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "level", "claim.name": "level", "jsonType.label": "long" }),
            json!({ "name": "level", "source": "attribute:level" }),
        ),
        // Not defined yet.
        (
            ATTRIBUTE,
            json!({ "user.attribute": "mail2", "claim.name": "email" }),
            json!({ "name": "email", "source": "attribute:mail2", "form": "first" }),
        ),
        (
            CONSTANT,
            json!({ "claim.name": "tier", "claim.value": "5" }),
            json!({ "name": "tier", "value": "5" }),
        ),
        (
            CONSTANT,
            json!({ "claim.name": "tier", "claim.value": "5", "jsonType.label": "int" }),
            json!({ "name": "tier", "value": 5 }),
        ),
        (
            CONSTANT,
            json!({ "claim.name": "tier", "claim.value": "True", "jsonType.label": "boolean" }),
            json!({ "name": "tier", "value": true }),
        ),
        (
            CONSTANT,
            json!({ "claim.name": "tier", "claim.value": "{\"a\":[1]}", "jsonType.label": "JSON" }),
            json!({ "name": "tier", "value": { "a": [1] } }),
        ),
    ] {
        assert_eq!(defined(kind, config), wanted);
    }
}

#[test]
fn a_claim_goes_where_the_mapper_says() {
    let destinations = |more: Value| {
        let mut config = json!({ "claim.name": "groups", "full.path": "false" });
        config.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let Ok(Said::Claim(definition)) = in_place(GROUP, config, Some("team"), true) else {
            return json!(null);
        };
        assert_eq!(definition.scope.as_deref(), Some("team"));
        json!(definition.destinations)
    };
    let (id, access) = ("id.token.claim", "access.token.claim");
    let (userinfo, introspection) = ("userinfo.token.claim", "introspection.token.claim");
    assert_eq!(destinations(json!({})), json!(null), "the scope does that");
    for (config, wanted) in [
        (json!({ access: "true" }), json!(["id_token", "access_token", "userinfo", "introspection"])),
        (
            json!({ access: "true", userinfo: "false", introspection: "false" }),
            json!(["id_token", "access_token"]),
        ),
        (json!({ id: "false", access: "true" }), json!(["access_token", "introspection"])),
        (
            json!({ id: "false", userinfo: "true", introspection: "true" }),
            json!(["userinfo", "introspection"]),
        ),
    ] {
        assert_eq!(destinations(config.clone()), wanted, "{config}");
    }
    let email = json!({ "user.attribute": "email", "claim.name": "email", access: "true" });
    assert_eq!(defined(PROPERTY, email)["source"], "email", "beyond what the scope does");
}

#[test]
fn a_mapper_that_says_something_else_is_told() {
    let client = "usermodel.clientRoleMapping.clientId";
    for (kind, config, word) in [
        (GROUP, json!({ "claim.name": "a.groups" }), "member of an object"),
        (GROUP, json!({}), "names no claim"),
        (GROUP, json!({ "claim.name": "memberOf", "id.token.claim": "false" }), "no token"),
        (REALM_ROLE, json!({ "claim.name": "realm_access.roles" }), "member of an object"),
        (REALM_ROLE, json!({ "claim.name": "role", "jsonType.label": "JSON" }), "something else than texts"),
        (CLIENT_ROLE, json!({ "claim.name": "apps", "multivalued": "true" }), "every client"),
        (
            CLIENT_ROLE,
            json!({ "claim.name": "resource_access.${client_id}.roles", "multivalued": "true", client: "app" }),
            "object",
        ),
        (CLIENT_ROLE, json!({ "claim.name": "${client_id}", client: "app" }), "made up for each client"),
        (
            PROPERTY,
            json!({ "user.attribute": "createdTimestamp", "claim.name": "since" }),
            "createdTimestamp",
        ),
        (PROPERTY, json!({ "user.attribute": "emailVerified", "claim.name": "verified" }), "another type"),
        (ATTRIBUTE, json!({ "user.attribute": "level", "claim.name": "level" }), "another type"),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "x", "claim.name": "x", "jsonType.label": "JSON" }),
            "another type",
        ),
        (ATTRIBUTE, json!({ "user.attribute": "country", "claim.name": "land" }), "part of the address"),
        (ATTRIBUTE, json!({ "user.attribute": "a b", "claim.name": "x" }), "cannot have"),
        (
            ATTRIBUTE,
            json!({ "user.attribute": "sub", "claim.name": "x", "aggregate.attrs": "true" }),
            "of groups",
        ),
        (CONSTANT, json!({ "claim.name": "tier" }), "tier has no value"),
        (
            CONSTANT,
            json!({ "claim.name": "tier", "claim.value": "x", "jsonType.label": "long" }),
            "not of its type",
        ),
        ("script-x.js", json!({}), "script-x.js"),
    ] {
        let told = of(kind, config.clone());
        assert!(told.as_ref().is_err_and(|fault| fault.why.contains(word)), "{kind} {config}: {told:?}");
    }
}

/// A token of a client that may not have all roles of its user must not have them here.
#[test]
fn roles_of_a_client_that_has_only_some_are_not_defined() {
    let (realm, own) = (
        json!({ "claim.name": "realm_access.roles", "multivalued": "true" }),
        "resource_access.${client_id}.roles",
    );
    for (kind, config) in
        [(REALM_ROLE, realm), (CLIENT_ROLE, json!({ "claim.name": own, "multivalued": "true" }))]
    {
        let told = in_place(kind, config, None, false);
        assert!(told.as_ref().is_err_and(|fault| fault.why.contains("fullScopeAllowed")), "{told:?}");
    }
}
