//! Claims that an issuer or a client defines, in every token and answer.

use serde_json::{Value, json};
use symbolon_testkit::{Browser, RelyingParty, TestServer, TokenSet, decode_jwt};

use super::{alice, change, id_token, refreshed, sign_in, userinfo};

const SCOPE: &str = "openid email groups roles teams offline_access";

/// A server with the user `alice`, who is in the groups `dev` and `dev ops`, and has the role `admin` of the issuer.
struct Scene {
    server: TestServer,
    browser: Browser,
}

impl Scene {
    fn new() -> Self {
        let server = TestServer::start();
        let browser = alice(&server);
        for name in ["dev", "dev ops"] {
            let group = server.admin("POST", "/groups", Some(json!({ "name": name }))).json();
            let path = format!("/groups/{}/members/alice", group["group"]["id"].as_str().unwrap());
            assert!(server.admin("PUT", &path, None).status < 300);
        }
        let role = server.admin("POST", "/roles", Some(json!({ "name": "admin" }))).json();
        let path = format!("/users/alice/roles/{}", role["role"]["id"].as_str().unwrap());
        assert!(server.admin("PUT", &path, None).status < 300);
        Self { server, browser }
    }

    fn define(&self, claims: Value) {
        change(&self.server, "PATCH", "/settings", json!({ "claims": claims }));
    }

    fn client(&self, settings: Value) -> RelyingParty {
        RelyingParty::register(&self.server, json!({ "scope": SCOPE, "settings": settings }))
    }

    /// One claim in the ID token, the access token, the answers of UserInfo and of introspection, in this order.
    fn told(&self, rp: &RelyingParty, tokens: &TokenSet, name: &str) -> [Value; 4] {
        let introspected = rp.post("/introspect", &[("token", &tokens.access_token)]).json();
        assert_eq!(introspected["active"], true, "{introspected}");
        [id_token(tokens), decode_jwt(&tokens.access_token).1, userinfo(&self.server, tokens), introspected]
            .map(|claims| claims[name].clone())
    }
}

#[test]
fn a_claim_goes_to_each_destination_that_is_named_and_to_no_other() {
    let scene = Scene::new();
    let destinations = ["id_token", "access_token", "userinfo", "introspection"];
    let definitions: Vec<Value> = destinations
        .iter()
        .map(|place| json!({ "name": format!("https://x.example/{place}"), "source": "groups", "destinations": [place] }))
        .collect();
    scene.define(json!(definitions));
    let rp = scene.client(json!({}));
    let first = sign_in(&rp, &scene.browser, "openid");
    for tokens in [&first, &refreshed(&rp, &first)] {
        for (n, place) in destinations.iter().enumerate() {
            let told = scene.told(&rp, tokens, &format!("https://x.example/{place}"));
            for (m, value) in told.iter().enumerate() {
                let expected = if n == m { json!(["dev", "dev ops"]) } else { Value::Null };
                assert_eq!(*value, expected, "{place} in {}", destinations[m]);
            }
        }
    }
}

#[test]
fn without_the_scope_nothing_is_told_and_a_refresh_tells_of_the_present() {
    let scene = Scene::new();
    scene.define(json!([{
        "name": "teams", "expression": "groups.filter(g, !g.contains(' ')).map(g, 'team:' + g)", "scope": "teams",
        "destinations": ["id_token", "access_token", "userinfo", "introspection"],
    }]));
    let rp = scene.client(json!({}));
    let without = sign_in(&rp, &scene.browser, "openid");
    assert_eq!(scene.told(&rp, &without, "teams"), [Value::Null, Value::Null, Value::Null, Value::Null]);
    let with = sign_in(&rp, &scene.browser, "openid teams");
    let dev = || json!(["team:dev"]);
    assert_eq!(scene.told(&rp, &with, "teams"), [dev(), dev(), dev(), dev()]);

    let groups = scene.server.admin("GET", "/groups", None).json();
    let dev = groups["groups"].as_array().unwrap().iter().find(|group| group["name"] == "dev").unwrap();
    let path = format!("/groups/{}/members/alice", dev["id"].as_str().unwrap());
    assert!(scene.server.admin("DELETE", &path, None).status < 300);
    let later = refreshed(&rp, &with);
    assert_eq!(scene.told(&rp, &later, "teams"), [json!([]), json!([]), json!([]), json!([])]);
}

#[test]
fn a_client_overrides_the_definitions_of_its_issuer_from_the_next_token_on() {
    let scene = Scene::new();
    let everywhere = json!(["id_token", "access_token", "userinfo", "introspection"]);
    let own = json!({ "claims": [
        { "name": "a", "value": 2, "destinations": everywhere },
        { "name": "b", "enabled": false },
        { "name": "c", "source": "roles", "form": "first", "destinations": everywhere },
        { "name": "groups", "source": "groups", "form": "comma_separated", "destinations": everywhere },
    ] });
    // The client has definitions before the issuer has any.
    let (plain, special) = (scene.client(json!({})), scene.client(own));
    let all = |rp: &RelyingParty, name: &str| {
        let tokens = sign_in(rp, &scene.browser, "openid groups");
        let told = scene.told(rp, &tokens, name);
        assert!(told.iter().all(|value| *value == told[0]), "{name}: {told:?}");
        told[0].clone()
    };
    assert_eq!(all(&special, "a"), json!(2));
    assert_eq!((all(&special, "c"), all(&special, "groups")), (json!("admin"), json!("dev,dev ops")));
    scene.define(json!([
        { "name": "a", "value": 1, "destinations": everywhere },
        { "name": "b", "value": 1, "destinations": everywhere },
    ]));
    assert_eq!((all(&plain, "a"), all(&plain, "b"), all(&plain, "c")), (json!(1), json!(1), Value::Null));
    assert_eq!((all(&special, "a"), all(&special, "b")), (json!(2), Value::Null));

    let path = format!("/clients/{}", special.client_id);
    change(&scene.server, "PATCH", &path, json!({ "settings": { "claims": [] } }));
    assert_eq!((all(&special, "a"), all(&special, "c")), (json!(1), Value::Null));
    change(&scene.server, "PATCH", &path, json!({ "settings": { "claims": [{ "name": "a", "value": 3 }] } }));
    let tokens = sign_in(&special, &scene.browser, "openid");
    assert_eq!(scene.told(&special, &tokens, "a"), [json!(3), Value::Null, json!(3), Value::Null]);
}

#[test]
fn an_exchanged_token_carries_what_is_defined_for_access_tokens() {
    let scene = Scene::new();
    scene.define(json!([{ "name": "teams", "source": "groups", "destinations": ["access_token"] }]));
    let rp = scene.client(json!({}));
    let tokens = sign_in(&rp, &scene.browser, "openid email");
    let answer = rp.post(
        "/token",
        &[
            ("grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"),
            ("subject_token", &tokens.access_token),
            ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ],
    );
    assert_eq!(answer.status, 200, "{answer:?}");
    let exchanged = decode_jwt(answer.json()["access_token"].as_str().unwrap()).1;
    assert_eq!(exchanged["teams"], json!(["dev", "dev ops"]));
}

#[test]
fn what_cannot_be_right_is_refused_when_it_is_saved() {
    let scene = Scene::new();
    for (definition, why) in [
        (json!({ "name": "iss", "value": "x" }), "reserved"),
        (json!({ "name": "gid", "value": "x" }), "reserved"),
        (json!({ "name": "a", "expression": "groups.map(g, groups.map(h, h))" }), "within another"),
        (json!({ "name": "a", "expression": "groups.map(g, groups)" }), "steps"),
        (json!({ "name": "a", "expression": "groups + groups + groups + groups" }), "longer than 4096 bytes"),
        (json!({ "name": "a", "expression": "1 / size(groups)" }), "division by zero"),
        (json!({ "name": "a", "expression": "user.password" }), "no member password"),
        (json!({ "name": "a", "expression": "groups.map(" }), "cannot be read"),
        (json!({ "name": "a", "expression": "x".repeat(1_001) }), "longer than 1000 bytes"),
        (json!({ "name": "a", "source": "secret" }), "source must be"),
    ] {
        for (method, path, body) in [
            ("PATCH", "/settings", json!({ "claims": [definition] })),
            (
                "POST",
                "/clients",
                json!({ "client_name": "x", "redirect_uris": ["https://x.example/"], "settings": { "claims": [definition] } }),
            ),
        ] {
            let answer = scene.server.admin(method, path, Some(body));
            assert_eq!(answer.status, 400, "{definition}: {answer:?}");
            let told = answer.json()["error_description"].as_str().unwrap().to_owned();
            assert!(told.contains(why), "{path} {definition}: {told}");
        }
    }
    assert_eq!(scene.server.admin("GET", "/settings", None).json()["settings"]["claims"], json!([]));
}

#[test]
fn a_failing_expression_is_counted_and_nobody_is_kept_from_signing_in() {
    let scene = Scene::new();
    // It fails for a user with two groups, which neither of the users has with whom it is tried.
    scene.define(json!([
        { "name": "bad", "expression": "1 / (size(groups) - 2)" },
        { "name": "good", "expression": "size(groups)" },
    ]));
    let rp = scene.client(json!({}));
    let tokens = sign_in(&rp, &scene.browser, "openid");
    let claims = id_token(&tokens);
    assert_eq!((claims.get("bad"), &claims["good"]), (None, &json!(2)));
    assert!(userinfo(&scene.server, &tokens).get("bad").is_none());
    for (destination, failures) in [("id_token", 1), ("userinfo", 1), ("access_token", 0)] {
        let line = format!("symbolon_claim_failures_total{{destination=\"{destination}\"}}");
        assert_eq!(scene.server.counted(&line), failures, "{destination}");
    }
}

#[test]
fn attributes_are_told_by_definitions_and_a_definition_comes_before_their_own_scope() {
    let scene = Scene::new();
    for (name, definition) in
        [("team", json!({ "type": "string", "scope": "teams" })), ("level", json!({ "type": "number" }))]
    {
        let path = format!("/settings/attributes/{name}");
        change(&scene.server, "PUT", &path, definition);
    }
    let attributes = json!({ "attributes": { "team": "engines", "level": 3 } });
    change(&scene.server, "PATCH", "/users/alice", attributes);
    let everywhere = json!(["id_token", "access_token", "userinfo", "introspection"]);
    scene.define(json!([
        { "name": "rank", "source": "attribute:level", "destinations": everywhere },
        { "name": "next", "expression": "user.attributes.level + 1", "destinations": everywhere },
    ]));
    let rp = scene.client(json!({}));
    let tokens = sign_in(&rp, &scene.browser, "openid teams");
    let all = |value: Value| [value.clone(), value.clone(), value.clone(), value];
    assert_eq!(scene.told(&rp, &tokens, "rank"), all(json!(3)));
    assert_eq!(scene.told(&rp, &tokens, "next"), all(json!(4)));
    let team = json!("engines");
    assert_eq!(scene.told(&rp, &tokens, "team"), [team.clone(), Value::Null, team, Value::Null]);

    let path = format!("/clients/{}", rp.client_id);
    let own =
        json!([{ "name": "team", "source": "attribute:team", "prefix": "t:", "destinations": ["userinfo"] }]);
    change(&scene.server, "PATCH", &path, json!({ "settings": { "claims": own } }));
    let tokens = refreshed(&rp, &sign_in(&rp, &scene.browser, "openid teams offline_access"));
    let team = json!("t:engines");
    assert_eq!(scene.told(&rp, &tokens, "team"), [Value::Null, Value::Null, team, Value::Null]);

    // What the issuer's own claims are made from stays.
    let kept = scene.server.admin("DELETE", "/settings/attributes/level", None);
    assert_eq!(kept.status, 400);
    assert!(
        kept.json().to_string().contains("the claim rank: it is made from the attribute level"),
        "{kept:?}"
    );
    // Nobody knows any more who may see it.
    assert_eq!(scene.server.admin("DELETE", "/settings/attributes/team", None).status, 204);
    let tokens = refreshed(&rp, &tokens);
    assert_eq!(scene.told(&rp, &tokens, "team"), all(Value::Null));
    assert_eq!(scene.told(&rp, &tokens, "rank"), all(json!(3)));
    let preview = scene.server.admin("GET", &format!("{path}/preview-tokens?user=alice"), None).json();
    let failures = &preview["preview"]["failures"];
    assert_eq!(failures[0]["name"], "team", "{failures}");
    assert!(failures[0]["why"].as_str().unwrap().contains("which the schema does not have"), "{failures}");
}

#[test]
fn a_preview_and_discovery_show_what_is_defined() {
    let scene = Scene::new();
    scene.define(json!([
        { "name": "https://x.example/roles", "source": "roles", "scope": "teams" },
        { "name": "plan", "value": "gold", "destinations": ["introspection"] },
    ]));
    let rp = scene.client(json!({ "claims": [{ "name": "own", "value": true }] }));
    let tokens = sign_in(&rp, &scene.browser, SCOPE);
    let path = format!("/clients/{}/preview-tokens?user=alice", rp.client_id);
    let preview = scene.server.admin("GET", &path, None).json()["preview"].clone();
    for name in ["https://x.example/roles", "own"] {
        assert_eq!(preview["id_token"][name], id_token(&tokens)[name], "{preview}");
        assert_eq!(preview["userinfo"][name], userinfo(&scene.server, &tokens)[name], "{preview}");
        assert!(!preview["id_token"][name].is_null() && preview["access_token"][name].is_null(), "{preview}");
    }
    assert_eq!(preview["introspection"], json!({ "plan": "gold" }));

    let metadata = scene.server.browser().get("/.well-known/openid-configuration").json();
    let lists = |list: &str, name: &str| metadata[list].as_array().unwrap().contains(&json!(name));
    assert!(lists("claims_supported", "https://x.example/roles") && lists("scopes_supported", "teams"));
    assert!(!lists("claims_supported", "own") && !lists("claims_supported", "plan"), "{metadata}");
}
