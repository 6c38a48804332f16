//! Attributes of users by the schema of an issuer: written, found, and released as claims.

use std::time::Duration;

use serde_json::{Value, json};
use symbolon_crypto::encoding;
use symbolon_testkit::{Answer, RelyingParty, TestServer, TokenSet, decode_jwt};

use crate::admin::bulk;
use crate::groups::{export, listed, refused};

fn define(server: &TestServer, name: &str, definition: Value) -> Answer {
    server.admin("PUT", &format!("/settings/attributes/{name}"), Some(definition))
}

/// Defines attributes, each of which must be accepted.
fn schema(server: &TestServer, definitions: &[(&str, Value)]) {
    for (name, definition) in definitions {
        let answer = define(server, name, definition.clone());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
}

fn create(server: &TestServer, id: &str, attributes: Value) -> Answer {
    let user = json!({ "id": id, "preferred_username": id, "attributes": attributes });
    server.admin("POST", "/users", Some(user))
}

/// The user of an answer.
fn user(answer: &Answer, status: u16) -> Value {
    assert_eq!(answer.status, status, "{answer:?}");
    answer.json()["user"].clone()
}

#[test]
fn a_schema_is_built_definition_by_definition() {
    let server = TestServer::start();
    assert_eq!(server.admin("GET", "/settings/attributes", None).json(), json!({ "attributes": [] }));
    let defined = define(&server, "team", json!({ "type": "string", "scope": "work" }));
    let team = json!({
        "name": "team", "type": "string", "required": false, "unique": false, "scope": "work",
        "readable_by": ["person", "administrator"], "writable_by": ["administrator"],
    });
    assert_eq!((defined.status, &defined.json()["attribute"]), (200, &team));
    schema(
        &server,
        &[("level", json!({ "type": "number", "name": "level" })), ("team", json!({ "type": "list" }))],
    );
    let all = server.admin("GET", "/settings/attributes", None).json();
    let names: Vec<_> =
        all["attributes"].as_array().unwrap().iter().map(|one| (&one["name"], &one["type"])).collect();
    assert_eq!(names, [(&json!("team"), &json!("list")), (&json!("level"), &json!("number"))]);
    assert_eq!(server.admin("GET", "/settings", None).json()["settings"]["attributes"], all["attributes"]);

    for (name, definition, why) in [
        ("sub", json!({ "type": "string" }), "attributes.sub is the name of a claim"),
        ("groups", json!({ "type": "list" }), "attributes.groups is the name of a claim"),
        (
            "x",
            json!({ "type": "string", "pattern": "(" }),
            "attributes.x has a pattern that is not valid: unclosed group",
        ),
        ("x", json!({ "type": "text" }), "attributes.x is not valid: unknown variant `text`"),
        ("x", json!({ "type": "string", "uniq": true }), "attributes.x is not valid: unknown field `uniq`"),
        ("x", json!({ "type": "string", "name": "y" }), "name must be x, as in the path"),
        ("a%20b", json!({ "type": "string" }), "attributes.a b: the name of an attribute"),
    ] {
        let told = refused(&define(&server, name, definition), 400);
        assert!(told.starts_with(why), "{told}");
    }
    assert_eq!(server.admin("DELETE", "/settings/attributes/level", None).status, 204);
    refused(&server.admin("DELETE", "/settings/attributes/level", None), 404);
    let replaced = server.admin("PATCH", "/settings", Some(json!({ "attributes": null })));
    assert_eq!(replaced.json()["settings"]["attributes"], json!([]));
}

#[test]
fn attributes_are_checked_when_they_are_written() {
    let server = TestServer::start();
    schema(
        &server,
        &[
            ("number", json!({ "type": "string", "required": true, "pattern": "E-[0-9]+" })),
            ("until", json!({ "type": "date" })),
            ("team", json!({ "type": "list" })),
        ],
    );
    for (attributes, why) in [
        (json!({}), "attributes.number is required"),
        (json!({ "number": null }), "attributes.number is required"),
        (json!({ "number": "12" }), "attributes.number must match the pattern E-[0-9]+"),
        (json!({ "number": 12 }), "attributes.number must be a text"),
        (json!({ "number": "E-1", "until": "soon" }), "attributes.until must be a date"),
        (
            json!({ "number": "E-1", "nubmer": "E-2" }),
            "attributes.nubmer is not in the issuer's schema, which has number, until, team",
        ),
        (json!({ "number": { "a": 1 } }), "attributes.number must be a text, a number"),
        (json!("E-1"), "attributes is not valid"),
    ] {
        let told = refused(&create(&server, "ann", attributes), 400);
        assert!(told.starts_with(why), "{told}");
    }
    let made = user(&create(&server, "ann", json!({ "number": "E-1", "team": ["a"] })), 201);
    assert_eq!(made["attributes"], json!({ "number": "E-1", "team": ["a"] }));

    let patch = |body: Value| server.admin("PATCH", "/users/ann", Some(body));
    let changed = user(&patch(json!({ "attributes": { "until": "2026-11-28", "team": null } })), 200);
    assert_eq!(changed["attributes"], json!({ "number": "E-1", "until": "2026-11-28" }));
    assert_eq!(user(&patch(json!({ "name": "Ann" })), 200)["attributes"], changed["attributes"]);
    assert!(refused(&patch(json!({ "attributes": { "number": null } })), 400).contains("is required"));
    assert!(refused(&patch(json!({ "attributes": null })), 400).contains("is required"));
    let replaced = json!({ "preferred_username": "ann", "attributes": { "number": "E-2" } });
    let replaced = user(&server.admin("PUT", "/users/ann", Some(replaced)), 200);
    assert_eq!(replaced["attributes"], json!({ "number": "E-2" }));
    let shown = user(&server.admin("GET", "/users/ann", None), 200);
    assert_eq!(
        user(&server.admin("PUT", "/users/ann", Some(shown.clone())), 200)["attributes"],
        shown["attributes"]
    );

    // A schema that asks for more is asked at the next write of attributes; until then the user can be disabled.
    schema(
        &server,
        &[("room", json!({ "type": "string", "required": true })), ("number", json!({ "type": "number" }))],
    );
    assert_eq!(user(&patch(json!({ "active": false })), 200)["active"], false);
    assert!(
        refused(&patch(json!({ "attributes": { "team": ["b"] } })), 400)
            .contains("attributes.number must be a number")
    );
    let mended = user(&patch(json!({ "attributes": { "number": 2, "room": "1.03" } })), 200);
    assert_eq!(mended["attributes"], json!({ "number": 2, "room": "1.03" }));
}

#[test]
fn administrators_see_and_write_what_the_schema_gives_them() {
    let server = TestServer::start();
    let both = json!({ "type": "string" });
    schema(&server, &[("team", both.clone()), ("own", both.clone()), ("secret", both.clone())]);
    create(&server, "ann", json!({ "team": "a", "own": "b", "secret": "c" }));
    schema(
        &server,
        &[
            ("own", json!({ "type": "string", "writable_by": ["person"] })),
            ("secret", json!({ "type": "string", "unique": true, "readable_by": ["person"] })),
        ],
    );
    let seen = json!({ "team": "a", "own": "b" });
    let of = |answer: &Answer| user(answer, 200)["attributes"].clone();
    assert_eq!(of(&server.admin("GET", "/users/ann", None)), seen);
    for path in ["/users", "/users?search=ann"] {
        assert_eq!(server.admin("GET", path, None).json()["users"][0]["attributes"], seen, "{path}");
    }
    for path in ["/users/export", "/users/export?password_hashes=true"] {
        assert_eq!(export(&server, path)[0]["attributes"], seen, "{path}");
    }
    let told = refused(&server.admin("GET", "/users?attribute.secret=c", None), 400);
    assert!(told.starts_with("attribute.secret: users are found only by attributes"), "{told}");

    let patch =
        |attributes: Value| server.admin("PATCH", "/users/ann", Some(json!({ "attributes": attributes })));
    for own in [json!("x"), Value::Null] {
        assert!(refused(&patch(json!({ "own": own })), 400).contains("not written by administrators"));
    }
    assert_eq!(
        of(&patch(json!({ "team": "d", "own": "b" }))),
        json!({ "team": "d", "own": "b" }),
        "`own` is as it was"
    );
    // A record that is put back keeps what its reader did not see.
    let put = json!({ "preferred_username": "ann", "attributes": { "team": "e" } });
    assert_eq!(of(&server.admin("PUT", "/users/ann", Some(put))), json!({ "team": "e", "own": "b" }));
    assert_eq!(
        of(&server.admin("PUT", "/users/ann", Some(json!({ "preferred_username": "ann" })))),
        json!({ "own": "b" })
    );
    // Nor does the audit log, which administrators read, tell them what they may not see.
    assert_eq!(of(&patch(json!({ "secret": "hidden-value" }))), json!({ "own": "b" }));
    let found = server.admin("GET", "/audit-logs?event=user.updated", None);
    assert_eq!(
        found.json()["audit_logs"][0]["detail"]["changes"]["attributes.secret"],
        json!({ "changed": true })
    );
    assert!(!found.body.contains("hidden-value"), "{}", found.body);
    assert_eq!(of(&patch(json!({ "secret": "c" }))), json!({ "own": "b" }));
    // What administrators may neither see nor write cannot be found out by naming its value.
    let persons = json!({ "type": "string", "readable_by": ["person"], "writable_by": ["person"] });
    schema(&server, &[("secret", persons)]);
    for guess in ["c", "x"] {
        assert!(refused(&patch(json!({ "secret": guess })), 400).contains("not written by administrators"));
    }
    schema(&server, &[("secret", json!({ "type": "string" }))]);
    assert_eq!(of(&server.admin("GET", "/users/ann", None)), json!({ "own": "b", "secret": "c" }));

    // Without a definition a value stays, unseen, until the definition is back or the value is removed.
    assert_eq!(server.admin("DELETE", "/settings/attributes/secret", None).status, 204);
    assert_eq!(of(&server.admin("GET", "/users/ann", None)), json!({ "own": "b" }));
    assert_eq!(of(&patch(json!({ "team": "f" }))), json!({ "own": "b", "team": "f" }));
    assert!(refused(&patch(json!({ "secret": "d" })), 400).contains("not in the issuer's schema"));
    schema(&server, &[("secret", both.clone())]);
    assert_eq!(of(&server.admin("GET", "/users/ann", None))["secret"], "c");
    assert_eq!(server.admin("DELETE", "/settings/attributes/secret", None).status, 204);
    assert_eq!(of(&patch(json!({ "secret": null }))), json!({ "own": "b", "team": "f" }));
    schema(&server, &[("secret", both)]);
    assert_eq!(of(&server.admin("GET", "/users/ann", None)).get("secret"), None);
}

#[test]
fn a_unique_value_belongs_to_one_user_who_is_found_by_it() {
    let server = TestServer::start();
    schema(
        &server,
        &[
            ("number", json!({ "type": "string", "unique": true })),
            ("badge", json!({ "type": "number", "unique": true })),
            ("team", json!({ "type": "string" })),
        ],
    );
    let made = [
        create(&server, "ann", json!({ "number": "E-1", "badge": 7, "team": "a" })),
        create(&server, "bob", json!({ "number": "E-2", "team": "a" })),
    ];
    assert!(made.iter().all(|made| made.status == 201), "{made:?}");
    let mend = "is unique, and another user has this value: give another one";
    assert_eq!(
        refused(&create(&server, "cat", json!({ "number": "e-1" })), 409),
        format!("attributes.number {mend}")
    );
    assert_eq!(
        refused(&create(&server, "cat", json!({ "badge": 7.0 })), 409),
        format!("attributes.badge {mend}")
    );
    let again = refused(&create(&server, "ann", json!({ "number": "E-1" })), 409);
    assert_eq!(again, "there is a user of this id");
    // Whoever has the id is there, whatever else is taken.
    let line = |id: &str| json!({ "id": id, "preferred_username": id, "attributes": { "number": "E-1" } });
    for path in ["/users/bulk", "/users/bulk?dry_run=true"] {
        assert_eq!(bulk(&server, path, &[line("bob")])[0]["taken"], "id", "{path}");
    }
    assert_eq!(bulk(&server, "/users/bulk", &[line("cat")])[0]["taken"], "attribute");
    let moved = json!({ "attributes": { "number": "E-1" } });
    assert_eq!(
        refused(&server.admin("PATCH", "/users/bob", Some(moved)), 409),
        format!("attributes.number {mend}")
    );

    let found = |query: &str| listed(&server, &format!("/users?{query}"), "users", "id");
    assert_eq!(found("attribute.number=E-1"), ["ann"]);
    assert_eq!(found("attribute.number=e-2&limit=5"), ["bob"]);
    assert_eq!(found("attribute.badge=7"), ["ann"]);
    assert!(found("attribute.badge=8").is_empty() && found("attribute.number=%25").is_empty());
    for (query, why) in [
        ("attribute.team=a", "attribute.team: users are found only by attributes"),
        ("attribute.nothing=a", "attribute.nothing: users are found only by attributes"),
        ("attribute.badge=seven", "attribute.badge must be a number"),
        ("attribute.number=a&attribute.badge=1", "users are found by one attribute at a time"),
        ("attribute.=a", "attribute. is no query parameter"),
        ("attributes=a", "attributes is no query parameter"),
    ] {
        let told = refused(&server.admin("GET", &format!("/users?{query}"), None), 400);
        assert!(told.starts_with(why), "{told}");
    }

    let lines = [
        json!({ "id": "dan", "email": "dan@example.com", "attributes": { "number": "E-3" } }),
        json!({ "id": "eve", "email": "eve@example.com", "attributes": { "number": "E-3" } }),
        json!({ "id": "fay", "email": "fay@example.com", "attributes": { "team": 1 } }),
        json!({ "id": "gus", "email": "gus@example.com", "attributes": { "number": "E-4", "team": "b" } }),
    ];
    let answers = bulk(&server, "/users/bulk", &lines);
    assert_eq!(answers[0]["user"]["id"], "dan");
    assert_eq!(answers[1]["error_description"], format!("attributes.number {mend}"));
    assert_eq!(answers[2]["error_description"], "attributes.team must be a text");
    assert_eq!(answers[3]["user"]["id"], "gus");
    assert_eq!(found("attribute.number=E-4"), ["gus"]);
    assert_eq!(server.admin("DELETE", "/users/gus", None).status, 204);
    assert!(found("attribute.number=E-4").is_empty());
}

#[test]
fn an_attribute_becomes_unique_only_if_no_two_users_share_a_value() {
    let server = TestServer::start();
    schema(&server, &[("number", json!({ "type": "string" }))]);
    create(&server, "ann", json!({ "number": "E-1" }));
    create(&server, "bob", json!({ "number": "e-1" }));
    let told = refused(&define(&server, "number", json!({ "type": "string", "unique": true })), 409);
    assert!(
        told.starts_with("attributes.number cannot be unique while the users ")
            && told.contains("change one"),
        "{told}"
    );
    assert!(told.contains("ann") && told.contains("bob"), "{told}");
    let settings = server.admin("GET", "/settings/attributes", None).json();
    assert_eq!(settings["attributes"][0]["unique"], false);
    let moved = json!({ "attributes": { "number": "E-2" } });
    assert_eq!(server.admin("PATCH", "/users/bob", Some(moved)).status, 200);
    schema(&server, &[("number", json!({ "type": "string", "unique": true }))]);
    assert_eq!(listed(&server, "/users?attribute.number=E-2", "users", "id"), ["bob"]);
    refused(&create(&server, "cat", json!({ "number": "E-1" })), 409);
}

#[test]
fn a_scope_releases_attributes_in_id_tokens_and_at_userinfo() {
    let server = TestServer::start();
    schema(
        &server,
        &[
            ("level", json!({ "type": "number", "scope": "work" })),
            ("team", json!({ "type": "list", "scope": "work" })),
            ("nick", json!({ "type": "string", "scope": "profile" })),
            ("note", json!({ "type": "string" })),
        ],
    );
    let metadata = server.browser().get("/.well-known/openid-configuration").json();
    let has = |list: &str, name: &str| metadata[list].as_array().unwrap().contains(&json!(name));
    assert!(
        has("scopes_supported", "work")
            && has("claims_supported", "level")
            && !has("claims_supported", "note")
    );

    let rp = RelyingParty::register(&server, json!({ "scope": "openid profile work offline_access" }));
    create(&server, "ann", json!({ "level": 3, "team": ["a \"b\""], "nick": "Annie", "note": "x" }));
    let session = server.admin("POST", "/test/sessions", Some(json!({ "user_id": "ann" }))).json();
    let browser = server.browser();
    browser.set_cookie("symbolon_session", session["session_id"].as_str().unwrap());
    let sign_in = |scope: &str| {
        let request = rp.authorization_request().with("scope", scope).with("prompt", "none");
        rp.sign_in_with(&browser, request)
    };
    let told = |tokens: &TokenSet| {
        let (id, access) =
            (decode_jwt(tokens.id_token.as_deref().unwrap()).1, decode_jwt(&tokens.access_token).1);
        let bearer = format!("Bearer {}", tokens.access_token);
        let info = server.browser().get_with("/userinfo", &[("authorization", &bearer)]).json();
        for name in ["level", "team", "nick", "note"] {
            assert_eq!(id.get(name), info.get(name), "{name}");
            assert_eq!(access.get(name), None, "{name}");
        }
        json!([id["level"], id["team"], id["nick"], id["note"]])
    };
    assert_eq!(told(&sign_in("openid")), json!([null, null, null, null]));
    assert_eq!(told(&sign_in("openid profile")), json!([null, null, "Annie", null]));
    let tokens = sign_in("openid work offline_access");
    assert_eq!(told(&tokens), json!([3, ["a \"b\""], null, null]));

    // A refresh tells of the present: of the user's values and of the schema.
    let refresh = |tokens: &TokenSet| TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
    let changed = json!({ "attributes": { "level": 4, "team": null } });
    assert_eq!(server.admin("PATCH", "/users/ann", Some(changed)).status, 200);
    let tokens = refresh(&tokens);
    assert_eq!(told(&tokens), json!([4, null, null, null]));
    schema(&server, &[("level", json!({ "type": "string", "scope": "work" }))]);
    let tokens = refresh(&tokens);
    assert_eq!(told(&tokens), json!([null, null, null, null]), "a value of an earlier type is not released");
    schema(&server, &[("level", json!({ "type": "number", "scope": "work" }))]);
    let tokens = refresh(&tokens);
    assert_eq!(told(&tokens), json!([4, null, null, null]));
    assert_eq!(server.admin("DELETE", "/settings/attributes/level", None).status, 204);
    assert_eq!(told(&refresh(&tokens)), json!([null, null, null, null]));
}

/// OpenID Connect Core 5.6.2: what another provider vouches for is passed on as it signed it.
#[test]
fn the_jwt_of_a_claims_provider_is_passed_on_until_it_ends() {
    let server = TestServer::start();
    let types = || {
        let document = server.browser().get("/.well-known/openid-configuration").json();
        document["claim_types_supported"].clone()
    };
    assert_eq!(types(), json!(["normal"]));
    schema(&server, &[("bank", json!({ "type": "aggregated", "scope": "credit" }))]);
    assert_eq!(types(), json!(["normal", "aggregated"]));
    let ends = server.now().seconds() + 60;
    let part = |value: Value| encoding::encode(value.to_string().as_bytes());
    let payload = json!({ "iss": "https://bank.example", "sub": "b1", "score": 650, "exp": ends });
    let jwt = format!("{}.{}.c2lnbmVk", part(json!({ "alg": "PS512", "kid": "1" })), part(payload));
    let bad = create(&server, "bob", json!({ "bank": "no.jwt.here" }));
    assert!(bad.status == 400 && bad.body.contains("attributes.bank must be a signed JWT"), "{bad:?}");
    user(&create(&server, "ann", json!({ "bank": jwt })), 201);

    let rp = RelyingParty::register(&server, json!({ "scope": "openid credit" }));
    let session = server.admin("POST", "/test/sessions", Some(json!({ "user_id": "ann" }))).json();
    let browser = server.browser();
    browser.set_cookie("symbolon_session", session["session_id"].as_str().unwrap());
    // What UserInfo and the ID token tell alike: the names of claims, and where they are.
    let told = |scope: &str| {
        let tokens = rp.sign_in_with(&browser, rp.authorization_request().with("scope", scope));
        let bearer = format!("Bearer {}", tokens.access_token);
        let info = server.browser().get_with("/userinfo", &[("authorization", &bearer)]).json();
        let id = decode_jwt(tokens.id_token.as_deref().unwrap()).1;
        for name in ["_claim_names", "_claim_sources", "bank", "score"] {
            assert_eq!(id.get(name), info.get(name), "{name}");
        }
        assert!(info.get("bank").is_none() && info.get("score").is_none(), "{info}");
        json!([info["_claim_names"], info["_claim_sources"]])
    };
    let credit = json!([{ "score": "bank" }, { "bank": { "JWT": jwt } }]);
    assert_eq!((told("openid"), told("openid credit")), (json!([null, null]), credit));
    server.clock.advance(Duration::from_secs(60));
    assert_eq!(told("openid credit"), json!([null, null]), "it has ended");
}
