use std::collections::HashSet;
use std::path::Path;

use symbolon_crypto::digest::HmacKey;
use symbolon_crypto::random::SeededRandom;
use symbolon_protocol::attribute::AttributeDefinition;
use symbolon_protocol::client_metadata;
use symbolon_protocol::id::refused_in_paths;
use symbolon_protocol::settings::IssuerSettings;
use symbolon_protocol::time::Timestamp;

use super::*;

/// `UPDATE_GENERATED=1` writes it anew.
#[test]
fn the_document_is_committed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    let generated = format!("{:#}\n", document());
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&path, &generated).expect("written");
    }
    let committed = std::fs::read_to_string(&path).expect("docs/reference/openapi.json");
    assert!(committed == generated, "stale: UPDATE_GENERATED=1 cargo test -p symbolon-admin openapi");
}

#[test]
fn every_route_is_documented_once() {
    let document = document();
    let operations = crate::operations();
    let mut seen = HashSet::new();
    for operation in &operations {
        assert!(
            seen.insert((operation.method.clone(), operation.path)),
            "{} {}",
            operation.method,
            operation.path
        );
        let method = operation.method.as_str().to_ascii_lowercase();
        let described = &document["paths"][operation.path][&method];
        assert_eq!(described["summary"], operation.summary);
        let below = format!("/issuers/{{issuer}}{}", operation.path);
        assert_eq!(document["paths"][below.as_str()][&method].is_null(), operation.global, "{below}");
        assert!(axum::routing::MethodFilter::try_from(operation.method.clone()).is_ok());
    }
    let described: usize = document["paths"].as_object().expect("paths").values().map(methods).sum();
    let global = operations.iter().filter(|operation| operation.global).count();
    assert_eq!(described, 2 * operations.len() - global);
}

fn methods(path: &Value) -> usize {
    path.as_object().map_or(0, Map::len)
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            found.extend(members.get("$ref").and_then(Value::as_str));
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere_and_every_schema_is_used() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    for reference in &found {
        let pointer = reference.trim_start_matches('#');
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
    for name in document["components"]["schemas"].as_object().expect("schemas").keys() {
        assert!(found.iter().any(|reference| reference.ends_with(&format!("/{name}"))), "{name} is not used");
    }
}

/// What is shown has no member that the schema does not name.
fn assert_described(schema: &str, shown: &Value) {
    let all = schema::all();
    let properties = all[schema]["properties"].as_object().expect("an object");
    for name in shown.as_object().expect("an object").keys() {
        assert!(properties.contains_key(name), "{schema} lacks {name}");
    }
}

#[test]
fn schemas_name_every_member_that_is_shown() {
    let Value::Object(metadata) = json!({
        "client_name": "x", "redirect_uris": ["https://rp.example/cb"], "logo_uri": "https://rp.example/logo",
        "contacts": ["a@rp.example"], "default_max_age": 5,
        "token_endpoint_auth_signing_alg": "ES256", "id_token_signed_response_alg": "ES256",
        "access_token_signed_response_alg": "ES256", "userinfo_signed_response_alg": "ES256",
        "introspection_signed_response_alg": "ES256", "allowed_token_exchange_resources": ["https://api.example"],
        "allowed_subject_token_clients": ["a"], "settings": { "code_lifetime": 5, "pkce": "required", "access_token_typ": "JWT" },
        "redirect_uri_forms": ["http_private_host"], "jwks_uri": "https://rp.example/jwks",
    }) else {
        panic!("an object")
    };
    let made = client_metadata::create(
        metadata,
        &HmacKey::new(b"key"),
        Timestamp::from_millis(1),
        &SeededRandom::new(1),
    );
    let view = Value::Object(made.expect("valid").view());
    assert_described("ClientWithSecret", &view);
    assert_described(
        "ClientMetadata",
        &json!({ "pkce": "required", "require_pkce": true, "access_token_typ": "JWT", "profile": "fapi2_security" }),
    );
    assert_described(
        "ClientMetadata",
        &json!({
            "assertion_issuers": [], "authorization_details_types": [], "id_token_exchange_allowed": true,
            "allowed_subject_token_issuers": [], "id_jag_audiences": [],
        }),
    );
    assert_described("IssuerSettings", &json!({ "trusted_issuers": [], "authorization_details_types": [] }));
    assert_described("IssuerSettings", &json!({ "token_exchange_id_jag": true }));
    let settings = json!(IssuerSettings::default());
    assert_described("IssuerSettings", &settings);
    assert_described("IssuerSettings", &json!({ "attributes": [] }));
    let definition = json!({ "name": "x", "type": "string", "pattern": "a", "scope": "b" });
    let definition: AttributeDefinition = serde_json::from_value(definition).expect("valid");
    assert_described("AttributeDefinition", &json!(definition));
    assert_described("User", &json!({ "attributes": {} }));
    assert_described("IssuerSettings", &json!({ "require_pkce": true }));
    let overrides = schema::all()["Client"]["properties"]["settings"]["properties"].clone();
    for name in view["settings"].as_object().expect("an object").keys() {
        assert!(overrides.get(name).is_some(), "settings of a client lack {name}");
    }
    let lifetimes = settings["lifetimes"].as_object().expect("an object");
    let all = schema::all();
    let described =
        all["IssuerSettings"]["properties"]["lifetimes"]["properties"].as_object().expect("an object");
    assert!(lifetimes.keys().all(|name| described.contains_key(name)));
}

/// RFC 7591 2.2: what is for people may be given in further languages.
#[test]
fn members_of_clients_in_further_languages_are_described() {
    let document = document();
    for name in ["ClientMetadata", "Client", "ClientWithSecret"] {
        let schema = &document["components"]["schemas"][name];
        let patterns = schema["patternProperties"].as_object().expect("patterns");
        let [(pattern, described)] = patterns.iter().collect::<Vec<_>>()[..] else { panic!("{patterns:?}") };
        assert!(described["description"].as_str().expect("a text").contains("`client_name#de`"));
        let names = pattern.strip_prefix("^(").and_then(|rest| rest.split_once(")#")).expect("names").0;
        for member in names.split('|') {
            assert!(schema["properties"][member].is_object(), "{name} lacks {member}");
            // What the document promises is taken, and shown under the same name.
            let translated = format!("{member}#de-CH");
            let value = if member == "client_name" { "Programm" } else { "https://rp.example/de" };
            let Value::Object(metadata) = json!({
                "client_name": "x", "redirect_uris": ["https://rp.example/cb"], (translated.as_str()): value,
            }) else {
                panic!("an object")
            };
            let (key, now) = (HmacKey::new(b"key"), Timestamp::from_millis(1));
            let made = client_metadata::create(metadata, &key, now, &SeededRandom::new(1)).expect("valid");
            assert_eq!(made.view().get(&translated), Some(&json!(value)));
        }
        assert_eq!(names.split('|').count(), client_metadata::IN_LANGUAGES.len());
    }
}

/// Texts and links of branding too, in the same form.
#[test]
fn branding_in_further_languages_is_described() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    for name in ["IssuerSettings", "ClientMetadata"] {
        let branding = &schemas[name]["properties"]["branding"];
        let patterns = branding["patternProperties"].as_object().expect("patterns");
        let [pattern] = patterns.keys().collect::<Vec<_>>()[..] else { panic!("{patterns:?}") };
        assert!(pattern.starts_with("^(help_uri|policy_uri|tos_uri|intro|foot)#"), "{pattern}");
        assert_eq!(branding["additionalProperties"], false, "{name}");
    }
}

/// Whether a schema, or each of its alternatives, refuses members that it does not name.
fn is_closed(schema: &Value) -> bool {
    match schema["oneOf"].as_array() {
        Some(alternatives) => alternatives.iter().all(is_closed),
        None => schema["additionalProperties"] == false,
    }
}

/// As the server does, the schema of a body refuses members that it does not name.
#[test]
fn bodies_have_no_further_members() {
    let document = document();
    let schemas = &document["components"]["schemas"];
    // An image has no members.
    let operations = crate::operations();
    let bodies = operations.iter().filter_map(|operation| operation.body);
    for (name, _) in bodies.filter(|(name, _)| *name != "Image") {
        assert!(is_closed(&schemas[name]), "{name}");
    }
    assert_eq!(schemas["UserRecord"]["properties"]["address"]["additionalProperties"], false);
    assert_eq!(schemas["ClientMetadata"]["properties"]["settings"]["additionalProperties"], false);
    assert!(schemas["User"]["additionalProperties"].is_null(), "answers may get members");
    assert!(schemas["ClientMetadata"]["properties"]["jwks"]["additionalProperties"].is_null());
}

#[test]
fn groups_and_roles_are_shown_as_their_schemas_say_and_can_be_sent_back() {
    let fields = |document: Value| {
        let Value::Object(object) = document else { panic!("an object") };
        crate::fields::Fields::new(object)
    };
    let (random, now) = (SeededRandom::new(1), Timestamp::from_millis(1));
    let group = json!({ "name": "IT", "description": "x", "parent_id": "staff" });
    let group = crate::groups::new(fields(group), &random, now).expect("valid");
    let role = json!({ "name": "Ops", "description": "x", "client_id": "app" });
    let role = crate::roles::new(fields(role), &random, now).expect("valid");
    for (schemas, view) in [
        (["Group", "NewGroup", "GroupRecord"], crate::groups::view(&group)),
        (["Role", "NewRole", "RoleRecord"], crate::roles::view(&role)),
    ] {
        for schema in schemas {
            assert_described(schema, &Value::Object(view.clone()));
        }
    }
}

#[test]
fn a_missing_body_is_not_documented_and_a_stream_is() {
    let document = document();
    assert!(document["paths"]["/users"]["get"]["requestBody"].is_null());
    let bulk = &document["paths"]["/users/bulk"]["post"];
    assert!(bulk["requestBody"]["content"]["application/x-ndjson"].is_object());
    assert!(bulk["responses"]["200"]["content"]["application/x-ndjson"].is_object());
}

/// `/users/export` stands beside `/users/{user_id}`: no path would lead to a user of that id.
#[test]
fn no_record_has_an_id_that_is_a_path_of_its_own() {
    let paths: HashSet<&str> = crate::operations().iter().map(|operation| operation.path).collect();
    let is_variable = |path: &str| path.rsplit('/').next().is_some_and(|last| last.starts_with('{'));
    let above = |path: &str| path.rsplit_once('/').map(|(above, _)| above.to_owned());
    let with_records: HashSet<String> =
        paths.iter().filter(|path| is_variable(path)).filter_map(|path| above(path)).collect();
    let mut literal: Vec<&str> = paths
        .iter()
        .filter(|path| !is_variable(path) && above(path).is_some_and(|above| with_records.contains(&above)))
        .filter_map(|path| path.rsplit('/').next())
        .collect();
    literal.sort_unstable();
    literal.dedup();
    assert!(literal.contains(&"export") && literal.contains(&"bulk"), "{literal:?}");
    for last in literal {
        assert!(refused_in_paths(last).is_some(), "{last}");
    }
}

/// Paths that cannot stand beside each other panic here and not at the start of a server.
#[test]
fn every_path_can_be_routed_beside_the_others() {
    let document = document();
    let paths = document["paths"].as_object().expect("paths").keys();
    let routed = paths.fold(axum::Router::<()>::new(), |router, path| {
        router.route(path, axum::routing::any(|| std::future::ready("")))
    });
    drop(routed);
}
