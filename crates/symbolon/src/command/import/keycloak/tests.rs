use serde_json::{Value, json};

use crate::command::import::samples::KEYCLOAK;
use crate::command::import::testing::{Noted, file, opened, reasons};

fn import_into(server: &Noted, texts: &[&str]) -> Value {
    let files: Vec<_> = texts.iter().map(|text| file(text)).collect();
    let paths: Vec<&str> = files.iter().map(|(_, path)| path.as_str()).collect();
    let read = opened(&[&["keycloak"], &*paths].concat()).unwrap();
    let (done, report) = server.import(false, |importer| read(importer));
    assert_eq!(done, Ok(()));
    report
}

fn imported(texts: &[&str]) -> (Noted, Value) {
    let server = Noted::default();
    let report = import_into(&server, texts);
    (server, report)
}

fn told(report: &Value, part: &str) -> bool {
    reasons(report).iter().any(|it| it.contains(part))
}

#[test]
fn users_come_with_hash_profile_and_state() {
    let (server, report) = imported(&[KEYCLOAK]);
    let users = server.to("/users/bulk");
    let ann = json!({
        "id": "u-ann", "preferred_username": "ann", "email": "ann@example.com", "email_verified": true,
        "given_name": "Ann", "family_name": "Ash", "name": "Ann Ash", "locale": "de",
        "address": { "street_address": "Ring 1", "country": "AT" },
        "enabled": true, "password_hash": "$pbkdf2-sha256$i=1000,l=32$AAECAwQFBgcICQoLDA0ODw==$hVZ9fMRCSyEXdkpMhAPE5JQ6DqJbgnBj0yRcbT4VZVU=",
    });
    assert_eq!(users[0], ann);
    assert_eq!((users.len(), &users[1]["enabled"], users[1].get("password_hash")), (2, &json!(false), None));
    assert!(told(&report, "user ann@example.com : another user of the file has this e-mail address"));
    assert!(told(&report, "user dan : the password's algorithm \"md5\" is not taken"));
    for name in [
        "attribute department",
        "credential of type otp",
        "requiredActions",
        "service account",
        "identityProviders",
    ] {
        assert!(report["left_out"][name].is_number(), "{name}: {report}");
    }
}

#[test]
fn groups_keep_their_places_and_get_names_that_are_unique() {
    let (server, report) = imported(&[KEYCLOAK]);
    let groups = [
        json!({ "id": "g-sales", "name": "Sales" }),
        json!({ "id": "g-leads", "name": "Sales/Leads", "parent_id": "g-sales" }),
        json!({ "id": "g-it", "name": "IT" }),
        json!({ "id": "g-it-leads", "name": "IT/leads", "parent_id": "g-it" }),
    ];
    assert_eq!(server.to("/groups/bulk"), groups);
    assert!(told(&report, "group /IT/leads name: several groups have this name"));
    let memberships = server.to("/memberships/bulk");
    let of_ann = ["g-it", "g-leads"].map(|group| json!({ "group_id": group, "user_id": "u-ann" }));
    assert_eq!(memberships, of_ann);
    assert!(told(&report, "the group /Gone is not in the file"));
    assert_eq!(report["left_out"]["attribute site of a group"], 1);
}

#[test]
fn a_composite_role_is_given_with_all_that_it_contains() {
    let (server, report) = imported(&[KEYCLOAK]);
    let roles = server.to("/roles/bulk");
    let names: Vec<&str> = roles.iter().map(|role| role["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["admin", "reader", "editor"]);
    assert_eq!((&roles[0]["description"], &roles[2]["client_id"]), (&json!("All"), &json!("wiki")));
    let given = server.to("/given-roles/bulk");
    let of = |holder: &str, id: &str| -> Vec<String> {
        let mut ids: Vec<String> = given
            .iter()
            .filter(|given| given[holder] == id)
            .map(|given| given["role_id"].as_str().unwrap().to_owned())
            .collect();
        ids.sort();
        ids
    };
    // `admin` contains itself, the realm's `reader` and the wiki's `editor`.
    assert_eq!(of("user_id", "u-ann"), ["r-admin", "r-editor", "r-reader"]);
    assert_eq!(
        (of("group_id", "g-sales"), of("group_id", "g-it")),
        (vec!["r-reader".into()], vec!["r-editor".into()])
    );
    assert!(told(&report, "role admin composites: a role contains no others here"));
    assert!(told(&report, "there is no role nobody"));
    assert!(told(&report, "client wiki roles of its service account"));
}

#[test]
fn clients_say_the_same_or_it_is_told() {
    let (server, report) = imported(&[KEYCLOAK]);
    let clients = server.to("/clients/bulk");
    let access = json!(["access_token", "introspection"]);
    let wiki = json!({
        "client_id": "wiki", "client_name": "Wiki", "client_secret": "0123456789abcdef0123456789abcdef",
        "redirect_uris": ["https://wiki.example.com/callback"],
        "post_logout_redirect_uris": ["https://wiki.example.com/callback"],
        "allowed_redirect_origins": ["https://app.example.com"], "client_uri": "https://wiki.example.com/start",
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"], "skip_consent": true,
        "scope": "email groups offline_access openid profile roles team",
        "access_token_audiences": ["https://api.example.com"],
        "settings": { "access_token_lifetime": 300, "pkce": "required", "claims": [
            { "name": "department", "source": "attribute:department", "form": "first", "destinations": ["id_token", "userinfo"] },
            { "name": "resource_access", "source": "client_roles", "form": "keycloak", "destinations": access },
            { "name": "realm_access", "source": "issuer_roles", "form": "keycloak", "destinations": access },
        ] },
    });
    assert_eq!(clients[0], wiki);
    assert_eq!(
        (&clients[1]["client_id"], &clients[1]["token_endpoint_auth_method"]),
        (&json!("spa"), &json!("none"))
    );
    assert!(clients[2].get("client_secret").is_none() && clients.len() == 3);
    for part in [
        "https://wiki.example.com/* has a wildcard",
        "client wiki directAccessGrantsEnabled: the grant is not taken",
        "client wiki mapper tier: the claim tier has no value",
        "client wiki mapper again: the claim department: it is defined twice",
        "client spa webOrigins: * is no origin",
        "client masked secret: the export hides it",
        "client old : it is disabled",
        "client saml : its protocol is saml",
    ] {
        assert!(told(&report, part), "{part}: {report}");
    }
}

#[test]
fn of_two_mappers_of_one_claim_the_first_is_taken() {
    let mapper = |name: &str, full_path: &str| {
        let config = json!({ "claim.name": "groups", "full.path": full_path, "id.token.claim": "true" });
        json!({ "name": name, "protocolMapper": "oidc-group-membership-mapper", "config": config })
    };
    let client = |id: &str, mappers: [Value; 2]| {
        json!({ "clientId": id, "redirectUris": ["https://a.example/"], "protocolMappers": mappers,
                "optionalClientScopes": ["teams"] })
    };
    let document = json!({
        "realm": "acme",
        "clients": [
            client("paths", [mapper("one", "true"), mapper("two", "false")]),
            client("names", [mapper("one", "false"), mapper("two", "true")]),
        ],
        "clientScopes": [{ "name": "teams", "protocolMappers": [mapper("three", "true")] }],
    });
    let (server, report) = imported(&[&document.to_string()]);
    let clients = server.to("/clients/bulk");
    let definition = json!({ "name": "groups", "source": "groups", "form": "paths", "destinations": ["id_token", "userinfo"] });
    assert_eq!(clients[0]["settings"]["claims"], json!([definition]), "{report}");
    assert_eq!(
        (&clients[0]["scope"], &clients[1]["scope"]),
        (&json!("openid teams"), &json!("groups openid teams"))
    );
    assert!(clients[1].get("settings").is_none());
    for part in ["paths mapper two", "paths mapper three", "names mapper two", "names mapper three"] {
        assert!(told(&report, &format!("client {part}: ")), "{part}: {report}");
    }
}

/// Its tokens would have all roles of the user.
#[test]
fn a_client_that_has_only_some_roles_does_not_get_the_scope_of_all() {
    let client = |id: &str, has_all: bool| {
        json!({ "clientId": id, "redirectUris": ["https://a.example/"], "fullScopeAllowed": has_all,
                "defaultClientScopes": ["roles", "email"] })
    };
    let document = json!({ "realm": "acme", "clients": [client("all", true), client("some", false)] });
    let (server, report) = imported(&[&document.to_string()]);
    let scopes: Vec<Value> =
        server.to("/clients/bulk").iter().map(|client| client["scope"].clone()).collect();
    assert_eq!(scopes, ["email openid roles", "email openid"]);
    assert!(
        told(&report, "client some scope roles: ") && !told(&report, "client all scope roles"),
        "{report}"
    );
}

#[test]
fn users_may_stand_in_files_of_their_own() {
    let mut realm: Value = serde_json::from_str(KEYCLOAK).unwrap();
    let users = realm.as_object_mut().unwrap().remove("users").unwrap();
    let users = json!({ "realm": "acme", "users": users }).to_string();
    // Whatever the order of the files.
    let (apart, report) = imported(&[&users, &realm.to_string()]);
    let (one, _) = imported(&[KEYCLOAK]);
    for path in ["/users/bulk", "/groups/bulk", "/memberships/bulk", "/given-roles/bulk", "/clients/bulk"] {
        assert_eq!(apart.to(path), one.to(path), "{path}");
    }
    assert!(report["not_taken"].as_array().unwrap().iter().any(|entry| entry["file"].is_string()));
}

#[test]
fn what_is_there_already_is_known_and_nothing_is_taken_for_something_else() {
    let server = Noted::default();
    *server.there.borrow_mut() = vec![
        ("/groups/export".into(), json!({ "id": "own-it", "name": "it" })),
        ("/groups/export".into(), json!({ "id": "own", "name": "Elsewhere" })),
        ("/groups/export".into(), json!({ "id": "own-sales", "name": "sales", "parent_id": "own" })),
        ("/roles/export".into(), json!({ "id": "own-reader", "name": "Reader" })),
    ];
    let report = import_into(&server, &[KEYCLOAK]);
    // The group of the same name at another place is another group: it and those below it are not taken.
    assert!(told(&report, "group /Sales : the group own-sales has this name, at another place"));
    assert!(told(&report, "group /Sales/Leads : the group above it was not taken"));
    let groups = server.to("/groups/bulk");
    assert_eq!(groups, [json!({ "id": "g-it-leads", "name": "IT/leads", "parent_id": "own-it" })]);
    assert_eq!(server.to("/memberships/bulk"), [json!({ "group_id": "own-it", "user_id": "u-ann" })]);
    assert!(server.to("/given-roles/bulk").contains(&json!({ "role_id": "own-reader", "user_id": "u-ann" })));
    assert_eq!(
        (&report["records"]["groups"]["existing"], &report["records"]["roles"]["existing"]),
        (&json!(1), &json!(1))
    );
}

#[test]
fn ids_that_the_file_does_not_have_are_the_same_each_time() {
    let text = r#"{"realm":"acme","roles":{"realm":[{"name":"admin"}]},"groups":[{"name":"IT"}],
                   "users":[{"username":"ann","realmRoles":["admin"],"groups":["/IT"]}]}"#;
    let (one, _) = imported(&[text]);
    let (other, _) = imported(&[text]);
    assert_eq!(*one.sent.borrow(), *other.sent.borrow());
    assert_eq!((one.to("/memberships/bulk").len(), one.to("/given-roles/bulk").len()), (1, 1));
    assert!(imported(&[&text.replace("acme", "other")]).0.to("/users/bulk") != one.to("/users/bulk"));
}

#[test]
fn what_the_server_refuses_is_not_given_to_anybody() {
    let server = Noted::default();
    server.refuse(r#""name":"admin""#, "invalid_request", "no");
    server.refuse(r#""name":"IT""#, "invalid_request", "no");
    drop(import_into(&server, &[KEYCLOAK]));
    assert!(server.to("/given-roles/bulk").iter().all(|given| given["role_id"] != "r-admin"));
    assert!(server.to("/memberships/bulk").iter().all(|given| given["group_id"] != "g-it"));
}

#[test]
fn a_group_that_is_nested_too_deep_is_told_with_those_below_it() {
    let mut group = json!({ "name": "g10" });
    for depth in (1..10).rev() {
        group = json!({ "name": format!("g{depth}"), "subGroups": [group] });
    }
    let (server, report) = imported(&[&json!({ "realm": "acme", "groups": [group] }).to_string()]);
    assert_eq!(server.to("/groups/bulk").len(), 8);
    assert!(told(&report, "8 deep") && told(&report, "g10 : the group above it was not taken"), "{report}");
}

#[test]
fn a_composite_of_everything_is_bounded() {
    let names: Vec<String> = (0..3_000).map(|n| format!("r{n}")).collect();
    let mut roles: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
    roles.push(json!({ "name": "all", "composites": { "realm": names } }));
    let document = json!({
        "realm": "acme", "roles": { "realm": roles }, "users": [{ "username": "ann", "realmRoles": ["all", "r1"] }],
    });
    let (server, report) = imported(&[&document.to_string()]);
    assert_eq!((server.to("/roles/bulk").len(), server.to("/given-roles/bulk").len()), (3_001, 1_000));
    assert!(told(&report, "user ann roles: at least 2001 more roles"), "{report}");
}

#[test]
fn a_file_of_another_kind_is_refused() {
    for text in ["{}", "[]", r#"{"value":1}"#] {
        let (_file, path) = file(text);
        assert!(
            opened(&["keycloak", &path]).err().unwrap().to_string().contains("no export of Keycloak"),
            "{text}"
        );
    }
}
