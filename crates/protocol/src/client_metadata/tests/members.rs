//! What the metadata may say.

use super::*;

#[test]
fn creation_answers_with_everything_and_the_secret_once() {
    let made = made(readme());
    let shown = Value::Object(made.view());
    let secret = shown["client_secret"].as_str().unwrap();
    assert!(secret.len() >= LONG);
    assert!(secret.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'));
    assert_eq!(digests(&made.client), [secret_digest(secret).0]);
    assert_eq!(shown["client_id"].as_str().unwrap().len(), 23);
    assert_eq!(shown["response_types"], json!(["code"]));
    assert_eq!(shown["token_endpoint_auth_method"], "client_secret_basic");
    assert_eq!(shown["subject_type"], "public");
    assert_eq!(shown["skip_consent"], true);
    assert_eq!(shown["is_trusted"], false);
    assert_eq!(shown["token_exchange_allowed"], true);
    assert_eq!(shown["created_at"], json!(NOW));
    assert!(!view(&made.client).contains_key("client_secret"), "only on creation");
}

#[test]
fn defaults_of_the_contract() {
    let least = json!({"client_name": "x", "redirect_uris": ["https://rp.example/"]});
    let client = made(object(least)).client;
    assert_eq!(client.grant_types, [GrantType::AuthorizationCode]);
    assert_eq!(client.scope.as_str(), "openid profile email");
    assert_eq!(client.token_endpoint_auth_method, TokenEndpointAuthMethod::ClientSecretBasic);
    assert!(!client.skip_consent && !client.token_exchange.allowed);
    assert_eq!(client.token_exchange.targets, None, "none lets it name any");
    assert_eq!(client.token_exchange.delegation_mode, DelegationMode::Delegation);
}

/// RFC 9126 6. A record without it is as before, for nodes of earlier versions.
#[test]
fn pushed_requests_may_be_required() {
    const NAME: &str = "require_pushed_authorization_requests";
    let mut metadata = readme();
    assert!(!view(&made(metadata.clone()).client).contains_key(NAME));
    metadata.insert(NAME.to_owned(), json!(true));
    let client = made(metadata).client;
    assert!(client.require_pushed_authorization_requests);
    assert_eq!(view(&client)[NAME], true);
    let stored = serde_json::to_value(&client).unwrap();
    assert!(serde_json::from_value::<Client>(stored).unwrap() == client);
}

#[test]
fn refusals_name_the_member() {
    let table = [
        ("client_name", json!(null)),
        ("client_name", json!("")),
        ("client_name", json!(7)),
        ("client_name", json!("a\u{0}b")),
        ("client_id", json!("a b")),
        ("redirect_uris", json!([])),
        ("redirect_uris", json!("https://rp.example")),
        ("redirect_uris", json!(["/cb"])),
        ("redirect_uris", json!(["https://rp.example/#x"])),
        ("redirect_uris", json!(["javascript:alert(1)"])),
        ("post_logout_redirect_uris", json!(["http://rp.example"])),
        ("grant_types", json!(["password"])),
        ("response_types", json!(["token"])),
        ("scope", json!("a\"b")),
        ("token_endpoint_auth_method", json!("client_secret_jwt")),
        ("jwks_uri", json!("http://rp.example/jwks")),
        ("jwks_uri", json!("https://rp.example/jwks#one")),
        ("jwks_uri", json!("com.example.app:/jwks")),
        ("jwks", json!({"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB"}]})),
        ("subject_type", json!("sector")),
        ("token_endpoint_auth_signing_alg", json!("HS256")),
        ("dpop_bound_access_tokens", json!("yes")),
        ("id_token_encrypted_response_alg", json!("RSA-OAEP-256")),
        ("backchannel_logout_uri", json!("http://rp.example/logout")),
        ("backchannel_logout_uri", json!("https://rp.example/logout#x")),
        ("backchannel_logout_uri", json!("https://user@rp.example/logout")),
        ("backchannel_logout_uri", json!("com.example.app:/logout")),
        ("backchannel_logout_uri", json!(["https://rp.example/logout"])),
        ("backchannel_logout_session_required", json!("yes")),
        ("frontchannel_logout_uri", json!("https://other.example/logout")),
        ("frontchannel_logout_uri", json!("javascript:alert(1)")),
        ("id_token_signed_response_alg", json!("none")),
        ("allowed_redirect_origins", json!(["https://rp.example/path"])),
        ("default_max_age", json!(-1)),
        ("settings", json!({"access_token_lifetime": "1h"})),
        ("require_auth_time", json!(true)),
        ("settings.code_lifetime", json!(null)),
        ("client_secret", json!("short")),
        ("client_secret", json!("fifteen-letters")),
        ("client_secret", json!("abcdefg".repeat(9))),
        ("client_secret", json!("a secret with spaces, that is long enough")),
        ("logo_uri", json!("javascript:alert(1)")),
        ("policy_uri#de", json!("javascript:alert(1)")),
        ("client_name#de", json!("")),
        ("client_name#de", json!(7)),
        ("delegation_mode", json!("both")),
        ("skip_consent", json!("yes")),
        ("redirect_uri_forms", json!(["anything"])),
        ("redirect_uri_forms", json!("wildcard_host")),
    ];
    for (name, value) in table {
        let metadata = match name {
            "settings.code_lifetime" => with("settings", json!({"code_lifetime": 601})),
            name => with(name, value),
        };
        let error = create(metadata, NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{name}");
        assert!(error.description.starts_with(name), "{name}: {error}");
    }
}

#[test]
fn members_that_no_client_has_are_refused_by_the_nearest_name() {
    let first = made(readme()).client;
    let table = [
        ("redirect_uri", json!(["https://rp.example/"]), "redirect_uri", Some("redirect_uris")),
        ("name", json!("x"), "name", Some("client_name")),
        ("enabled", json!(false), "enabled", None),
        ("skip_consnet", json!(null), "skip_consnet", Some("skip_consent")),
        (
            "settings",
            json!({"acces_token_lifetime": null}),
            "settings.acces_token_lifetime",
            Some("settings.access_token_lifetime"),
        ),
    ];
    for (name, value, unknown, nearest) in table {
        let mut expected = format!("unknown member \"{unknown}\"");
        if let Some(nearest) = nearest {
            expected.push_str(&format!("; did you mean \"{nearest}\"?"));
        }
        let patched = [(name.to_owned(), value.clone())].into_iter().collect();
        let refusals = [
            create(with(name, value.clone()), NOW, &SeededRandom::new(1)),
            replace(&first, with(name, value), NOW, &SeededRandom::new(1)),
            patch(&first, patched, NOW, &SeededRandom::new(1)),
        ];
        for refused in refusals {
            assert_eq!(refused.map(|_| ()).unwrap_err().description, expected);
        }
    }
}

#[test]
fn a_setting_may_stand_beside_the_metadata() {
    let client = made(with("refresh_token_rotation", json!(false))).client;
    assert_eq!(client.settings.refresh_token_rotation, Some(false));
    let change = object(json!({"code_lifetime": 30, "settings": {"id_token_lifetime": 60}}));
    let client = patch(&client, change, NOW, &SeededRandom::new(2)).unwrap().client;
    let settings = (client.settings.code_lifetime, client.settings.id_token_lifetime);
    assert_eq!((settings, client.settings.refresh_token_rotation), ((Some(30), Some(60)), Some(false)));
    let change = object(json!({"refresh_token_rotation": null}));
    let client = patch(&client, change, NOW, &SeededRandom::new(2)).unwrap().client;
    assert_eq!(client.settings.refresh_token_rotation, None);
    let mut twice = with("code_lifetime", json!(30));
    twice.insert("settings".to_owned(), json!({"code_lifetime": 60}));
    let refused = create(twice, NOW, &SeededRandom::new(2)).map(|_| ()).unwrap_err();
    assert!(refused.description.starts_with("code_lifetime and settings.code_lifetime"), "{refused}");
}

#[test]
fn no_setting_has_the_name_of_metadata() {
    let shown = view(&made(readme()).client);
    let names = unknown_member::names_of::<ClientOverrides>();
    assert!(!names.is_empty());
    for name in names {
        assert!(!shown.contains_key(*name), "{name} would be taken for a setting");
    }
}

#[test]
fn forms_of_redirect_uris_are_allowed_one_by_one_and_warned_of() {
    let wild = json!(["https://*.preview.example.com/cb"]);
    assert!(create(with("redirect_uris", wild.clone()), NOW, &SeededRandom::new(1)).is_err());
    let mut allowed = with("redirect_uris", wild.clone());
    allowed
        .insert("redirect_uri_forms".into(), json!(["wildcard_host", "any_localhost_port", "wildcard_host"]));
    let registered = made(allowed.clone());
    let forms = json!(["any_localhost_port", "wildcard_host"]);
    assert_eq!(registered.view()["redirect_uri_forms"], forms);
    let warnings: Vec<String> = registered.warnings.iter().map(ToString::to_string).collect();
    assert!(
        warnings.len() == 2 && warnings[1].starts_with("redirect_uri_forms allows wildcard_host"),
        "{warnings:?}"
    );
    // What is registered stays allowed, or cannot stay.
    let client = registered.client;
    let forbidden = patch(&client, object(json!({"redirect_uri_forms": null})), NOW, &SeededRandom::new(1));
    assert!(forbidden.map(|_| ()).unwrap_err().description.starts_with("redirect_uris has https://*."));
    let change = object(json!({"redirect_uri_forms": [], "redirect_uris": ["https://rp.example/"]}));
    let plain = patch(&client, change, NOW, &SeededRandom::new(1)).unwrap();
    assert!(plain.warnings.is_empty() && !plain.view().contains_key("redirect_uri_forms"));
    allowed.insert("post_logout_redirect_uris".into(), wild);
    let refused = create(allowed, NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
    assert!(refused.description.starts_with("post_logout_redirect_uris"), "{refused}");
    let stored = serde_json::to_string(&client).unwrap();
    assert!(serde_json::from_str::<Client>(&stored).unwrap() == client);
}

#[test]
fn a_refused_redirect_uri_says_which_form_would_allow_it() {
    for (name, uri, form) in [
        ("redirect_uris", "http://10.0.0.5/cb", Some("http_private_host")),
        ("redirect_uris", "myapp:/cb", Some("private_use_scheme_without_dot")),
        ("redirect_uris", "https://*.preview.example.com/cb", Some("wildcard_host")),
        ("redirect_uris", "http://rp.example/cb", None),
        ("redirect_uris", "javascript:/cb", None),
        ("post_logout_redirect_uris", "http://10.0.0.5/", Some("http_private_host")),
        ("post_logout_redirect_uris", "https://*.preview.example.com/", None),
    ] {
        let refused = create(with(name, json!([uri])), NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
        assert!(refused.description.starts_with(&format!("{name} has {uri}, which must")), "{refused}");
        let mend = form.map(|form| format!("; redirect_uri_forms with {form} allows it"));
        assert_eq!(refused.description.contains("allows it"), mend.is_some(), "{refused}");
        assert!(refused.description.ends_with(&mend.unwrap_or_default()), "{refused}");
    }
}

#[test]
fn methods_and_what_they_need() {
    let public = json!({"client_name": "spa", "redirect_uris": ["https://rp.example/"],
        "token_endpoint_auth_method": "none"});
    let public = made(object(public));
    assert!(public.client_secret.is_none() && public.client.client_secrets.is_empty());
    for (name, value) in
        [("token_endpoint_auth_method", "none"), ("token_endpoint_auth_method", "private_key_jwt")]
    {
        assert!(create(with(name, value.into()), NOW, &SeededRandom::new(1)).is_err(), "{value}");
    }
    let service = json!({"client_name": "service", "grant_types": ["client_credentials"]});
    let service = made(object(service));
    assert_eq!(service.view()["response_types"], json!([]));
    assert!(service.client_secret.is_some());
}

#[test]
fn request_uris_are_addresses_of_the_client() {
    let uris = json!(["https://rp.example/r", "https://rp.example/r#version", "http://127.0.0.1:8080/r"]);
    let client = made(with("request_uris", uris.clone())).client;
    assert_eq!(view(&client)["request_uris"], uris);
    assert!(!serde_json::to_string(&made(readme()).client).unwrap().contains("request_uris"));
    let long = format!("https://rp.example/{}", "x".repeat(500));
    let many: Vec<String> = (0..17).map(|number| format!("https://rp.example/{number}")).collect();
    for bad in [
        json!(["http://rp.example/r"]),
        json!(["com.example.app:/r"]),
        json!(["https://user@rp.example/r"]),
        json!(["https://rp.example/\u{e4}"]),
        json!([long]),
        json!(many),
        json!("https://rp.example/r"),
    ] {
        let refused = create(with("request_uris", bad.clone()), NOW, &SeededRandom::new(1));
        let refused = refused.map(|_| ()).unwrap_err();
        assert!(refused.description.starts_with("request_uris"), "{bad}: {refused}");
    }
}

/// RFC 7591 2: `jwks` and `jwks_uri` are never both there.
#[test]
fn published_keys_stand_in_for_given_ones_and_never_beside_them() {
    let uri = json!("https://rp.example/jwks?tenant=1");
    let mut metadata = with("jwks_uri", uri.clone());
    metadata.insert("token_endpoint_auth_method".to_owned(), json!("private_key_jwt"));
    let client = made(metadata.clone()).client;
    assert!(client.jwks.is_none() && client.client_secrets.is_empty());
    assert_eq!(view(&client)["jwks_uri"], uri);
    let stored = serde_json::to_value(&client).unwrap();
    assert!(serde_json::from_value::<Client>(stored).unwrap() == client);
    assert!(!serde_json::to_string(&made(readme()).client).unwrap().contains("jwks_uri"));
    // Whoever publishes keys on this machine needs no https; whether it is called is decided when it is called.
    assert!(
        create(with("jwks_uri", json!("http://127.0.0.1:8080/jwks")), NOW, &SeededRandom::new(1)).is_ok()
    );
    metadata.insert("jwks".to_owned(), json!({ "keys": [] }));
    let both = create(metadata, NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
    assert!(both.description.starts_with("jwks_uri must not stand beside jwks"), "{both}");
}

#[test]
fn response_types_and_grant_types_agree() {
    let made = |members: Value| {
        let mut metadata = json!({ "client_name": "rp", "redirect_uris": ["https://rp.example/"] });
        metadata.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        create(object(metadata), NOW, &SeededRandom::new(1)).map(|made| made.view())
    };
    let hybrid = made(json!({ "response_types": ["code", "token id_token code"] })).unwrap();
    assert_eq!(hybrid["response_types"], json!(["code", "code id_token token"]));
    assert_eq!(hybrid["grant_types"], json!(["authorization_code", "implicit"]));
    let implicit = made(json!({ "response_types": ["id_token"] })).unwrap();
    assert_eq!(implicit["grant_types"], json!(["implicit"]));
    assert_eq!(
        made(json!({ "response_types": ["code"] })).unwrap()["grant_types"],
        json!(["authorization_code"])
    );
    for (members, told) in [
        (json!({ "grant_types": ["implicit"] }), "no response type uses"),
        (
            json!({ "grant_types": ["authorization_code"], "response_types": ["code token"] }),
            "needs implicit",
        ),
        (
            json!({ "grant_types": ["implicit"], "response_types": ["code token"] }),
            "needs authorization_code",
        ),
        (json!({ "response_types": ["token"] }), "not supported"),
        (
            json!({ "response_types": ["code token"], "dpop_bound_access_tokens": true }),
            "pass through the browser",
        ),
        (json!({ "response_types": ["id_token"], "redirect_uris": [] }), "for the grant type implicit"),
    ] {
        let refused = made(members.clone()).unwrap_err();
        assert!(refused.description.contains(told), "{members}: {}", refused.description);
    }
    // Who takes a grant type away says what becomes of the response type that needs it.
    let hybrid = json!({ "client_name": "rp", "redirect_uris": ["https://rp.example/"], "response_types": ["code token"] });
    let client = create(object(hybrid), NOW, &SeededRandom::new(1)).unwrap().client;
    let changed = |change: Value| patch(&client, object(change), NOW, &SeededRandom::new(1));
    assert!(changed(json!({ "grant_types": ["authorization_code"] })).is_err());
    let whole = json!({ "grant_types": ["authorization_code"], "response_types": ["code"] });
    let patched = changed(whole).unwrap().client;
    assert!(patched.response_types.is_empty());
}

#[test]
fn a_grant_type_that_can_do_nothing_alone_is_refused_with_the_mend() {
    const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
    for (metadata, told) in [
        (json!({ "grant_types": ["refresh_token"] }), "add authorization_code"),
        (json!({ "grant_types": ["refresh_token", "refresh_token"] }), "add authorization_code"),
        (json!({ "redirect_uris": [] }), "name one, or leave that grant type out"),
        (
            json!({ "grant_types": ["client_credentials"], "token_endpoint_auth_method": "none" }),
            "client_credentials, which public clients may not use",
        ),
        (
            json!({ "grant_types": [EXCHANGE], "token_endpoint_auth_method": "none" }),
            "token-exchange, which public",
        ),
        (json!({ "grant_types": [EXCHANGE] }), "token_exchange_allowed must be true"),
        (
            json!({ "grant_types": [EXCHANGE], "token_exchange_allowed": true, "delegation_mode": "none" }),
            "delegation_mode must not be none",
        ),
    ] {
        let mut whole = object(json!({ "client_name": "x", "redirect_uris": ["https://rp.example/"] }));
        whole.extend(object(metadata.clone()));
        let error = create(whole, NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{metadata}");
        assert!(error.description.contains(told), "{metadata}: {error}");
    }
    // An API that only introspects has no grant type, and what has a permission may lose it for a time.
    assert!(made(with("grant_types", json!([]))).client.grant_types.is_empty());
    let exchanging = json!({ "client_name": "x", "grant_types": [EXCHANGE], "token_exchange_allowed": true });
    let exchanging = made(object(exchanging)).client;
    let paused = object(json!({ "token_exchange_allowed": false }));
    assert!(patch(&exchanging, paused, NOW, &SeededRandom::new(2)).is_ok());
    let alone = object(json!({ "grant_types": ["refresh_token"] }));
    assert!(patch(&exchanging, alone.clone(), NOW, &SeededRandom::new(2)).is_err());
    assert!(replace(&exchanging, alone, NOW, &SeededRandom::new(2)).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        Just(json!("https://rp.example/cb")),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,4}", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

#[test]
fn keys_that_cannot_be_used_leave_no_trace() {
    let usable = json!({"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"});
    let other = json!({"kty": "EC", "crv": "P-999", "x": "AA", "y": "AA"});
    let client = made(with("jwks", json!({"keys": [other, usable]}))).client;
    let stored = serde_json::to_string(&client).unwrap();
    assert!(serde_json::from_str::<Client>(&stored).unwrap() == client);
}

proptest! {
    #[test]
    fn any_metadata_is_taken_or_refused_and_what_is_taken_round_trips(
        changes in prop::collection::vec((prop::sample::select(view(&made(readme()).client).keys().cloned()
            .chain(["jwks", "client_secret", "default_max_age", "contacts", "logo_uri"].map(String::from))
            .collect::<Vec<_>>()), any_json()), 0..4),
    ) {
        let mut metadata = readme();
        metadata.extend(changes);
        if let Ok(made) = create(metadata, NOW, &SeededRandom::new(1)) {
            let same = replace(&made.client, view(&made.client), NOW, &SeededRandom::new(2)).unwrap().client;
            let same = Client { updated_at: made.client.updated_at, ..same };
            prop_assert!(same == made.client);
            let stored = serde_json::to_string(&made.client).unwrap();
            prop_assert!(serde_json::from_str::<Client>(&stored).unwrap() == made.client);
        }
    }
}

#[test]
fn addresses_that_are_told_of_logouts_are_kept_and_shown() {
    let mut metadata = with("redirect_uris", json!(["https://rp.example:8443/cb", "http://127.0.0.1/cb"]));
    metadata.extend(object(json!({
        "backchannel_logout_uri": "https://back.example/logout?tenant=1",
        "backchannel_logout_session_required": true,
        "frontchannel_logout_uri": "https://rp.example:8443/out",
    })));
    let client = made(metadata).client;
    assert_eq!(
        client.logout,
        LogoutUris {
            backchannel_logout_uri: Some("https://back.example/logout?tenant=1".to_owned()),
            backchannel_logout_session_required: true,
            frontchannel_logout_uri: Some("https://rp.example:8443/out".to_owned()),
            frontchannel_logout_session_required: false,
        }
    );
    let stored: Client = serde_json::from_value(serde_json::to_value(&client).unwrap()).unwrap();
    assert!(stored == client && stored.unknown_members.is_empty());
    let shown = view(&client);
    assert_eq!(shown["backchannel_logout_session_required"], json!(true));
    assert_eq!(shown["frontchannel_logout_uri"], json!("https://rp.example:8443/out"));
    let without =
        patch(&client, object(json!({ "frontchannel_logout_uri": null })), NOW, &SeededRandom::new(1));
    let without = without.map(|registration| registration.client).unwrap();
    assert_eq!(without.logout.frontchannel_logout_uri, None);
    // Plain http to a private host: only for a client that may have such redirect URIs.
    let private = json!("http://intranet/logout");
    let refused =
        patch(&client, object(json!({ "backchannel_logout_uri": private })), NOW, &SeededRandom::new(1));
    assert!(refused.map(drop).unwrap_err().description.contains("http_private_host"));
    let allowed = json!({ "backchannel_logout_uri": private, "redirect_uri_forms": ["http_private_host"] });
    assert!(patch(&client, object(allowed), NOW, &SeededRandom::new(1)).is_ok());
}

#[test]
fn names_and_links_may_be_in_further_languages() {
    let body = json!({
        "client_name": "Shop", "redirect_uris": ["https://rp.example/"], "client_name#de": "Laden",
        "client_name#pt-BR": "Loja", "policy_uri": "https://rp.example/privacy",
        "policy_uri#de": "https://rp.example/datenschutz", "tos_uri#fr": null
    });
    let client = made(object(body)).client;
    let names = ["de", "de-AT", "DE", "pt", "ja"].map(|language| client.display_name_in(language));
    assert_eq!(names, ["Laden", "Laden", "Laden", "Loja", "Shop"]);
    assert_eq!(client.displayed_in("policy_uri", "de").as_deref(), Some("https://rp.example/datenschutz"));
    assert_eq!(client.displayed_in("policy_uri", "fr").as_deref(), Some("https://rp.example/privacy"));
    assert_eq!(client.displayed_in("tos_uri", "fr"), None);
    let mut many = json!({ "client_name": "Shop", "redirect_uris": ["https://rp.example/"] });
    for number in 0..65 {
        many[format!("client_name#x{number}")] = json!("Shop");
    }
    for wrong in ["client_name#", "client_name#d_e", "client_name#toolongsubtag", "contacts#de"] {
        let body = json!({ "client_name": "x", "redirect_uris": ["https://rp.example/"], wrong: "Shop" });
        assert!(create(object(body), NOW, &SeededRandom::new(5)).is_err(), "{wrong}");
    }
    assert!(create(object(many), NOW, &SeededRandom::new(5)).is_err());
}

#[test]
fn a_sign_in_from_outside_begins_at_an_https_address() {
    let client = made(with("initiate_login_uri", json!("https://rp.example:8443/go?tenant=1"))).client;
    assert_eq!(client.initiate_login_uri.as_deref(), Some("https://rp.example:8443/go?tenant=1"));
    let stored: Client = serde_json::from_value(serde_json::to_value(&client).unwrap()).unwrap();
    assert!(stored == client && stored.unknown_members.is_empty());
    assert_eq!(view(&client)["initiate_login_uri"], json!("https://rp.example:8443/go?tenant=1"));
    let without = patch(&client, object(json!({ "initiate_login_uri": null })), NOW, &SeededRandom::new(1));
    assert!(!view(&without.unwrap().client).contains_key("initiate_login_uri"));
    for bad in [
        "http://rp.example/go",
        "http://127.0.0.1/go",
        "com.example.app:/go",
        "javascript:alert(1)",
        "https://rp.example/go#now",
        "https://ann@rp.example/go",
        "https://*.rp.example/go",
        "/go",
        "https://rp.example/go?iss=https://evil.example",
        "https://rp.example/go?tenant=1&login%5Fhint=ann",
        "https://rp.example/go?target_link_uri",
    ] {
        let refused = create(with("initiate_login_uri", json!(bad)), NOW, &SeededRandom::new(1));
        let description = refused.map(drop).unwrap_err().description.to_string();
        assert!(description.contains("initiate_login_uri"), "{bad}: {description}");
    }
}

/// A record without them is as before, for nodes of earlier versions.
#[test]
fn algorithms_of_signed_answers_are_kept_and_none_means_that_there_is_none() {
    for name in ["userinfo_signed_response_alg", "introspection_signed_response_alg"] {
        for unsigned in [json!(null), json!("none")] {
            let client = made(with(name, unsigned)).client;
            assert!(!view(&client).contains_key(name), "{name}");
            assert_eq!(serde_json::to_value(&client).unwrap().get(name), None);
        }
        let client = made(with(name, json!("ES256"))).client;
        assert_eq!(view(&client)[name], "ES256");
        let stored = serde_json::to_value(&client).unwrap();
        assert!(serde_json::from_value::<Client>(stored).unwrap() == client);
        let error = create(with(name, json!("HS256")), NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
        assert!(error.description.starts_with(name), "{error}");
    }
}

/// OpenID Connect Registration 2: `none` MUST NOT be the algorithm of ID tokens of a client that gets them through the browser; here no
/// client has it. Nor does it sign access tokens (RFC 9068 2.1), responses (JARM 3), assertions and requests.
#[test]
fn no_id_token_is_unsigned() {
    for name in [
        "id_token_signed_response_alg",
        "access_token_signed_response_alg",
        "authorization_signed_response_alg",
        "token_endpoint_auth_signing_alg",
        "request_object_signing_alg",
    ] {
        let error = create(with(name, json!("none")), NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
        assert!(error.description.starts_with(name), "{error}");
    }
}

/// Another issuer may sign in the client's place, and then it needs no key of its own.
#[test]
fn other_issuers_may_sign_for_a_client() {
    let entries = json!([{ "issuer": "https://k8s.example", "sub": "system:serviceaccount:shop:*" }]);
    let mut metadata = with("assertion_issuers", entries.clone());
    assert!(create(metadata.clone(), NOW, &SeededRandom::new(1)).is_err(), "only with private_key_jwt");
    metadata.insert("token_endpoint_auth_method".to_owned(), json!("private_key_jwt"));
    let client = made(metadata.clone()).client;
    assert!(
        client.takes_assertions_of("https://k8s.example")
            && !client.takes_assertions_of("https://other.example")
    );
    assert_eq!(view(&client)["assertion_issuers"], entries);
    assert!(!serde_json::to_string(&made(readme()).client).unwrap().contains("assertion_issuers"));
    for bad in [
        json!([]),
        json!([{ "issuer": "https://k8s.example", "sub": "*" }]),
        json!([{ "issuer": "https://k8s.example" }]),
    ] {
        metadata.insert("assertion_issuers".to_owned(), bad.clone());
        assert!(create(metadata.clone(), NOW, &SeededRandom::new(1)).is_err(), "{bad}");
    }
}

#[test]
fn a_pairwise_client_has_a_sector_or_is_told_how_to_get_one() {
    let tried = |redirect_uris: serde_json::Value, document: serde_json::Value| {
        let mut metadata = with("subject_type", json!("pairwise"));
        metadata.insert("redirect_uris".to_owned(), redirect_uris);
        metadata.insert("sector_identifier_uri".to_owned(), document);
        create(metadata, NOW, &SeededRandom::new(1)).map(|made| made.client)
    };
    let two = json!(["https://a.example/1", "https://b.example/2"]);
    let client = tried(json!(["https://a.example/1", "https://a.example:8443/2"]), json!(null)).unwrap();
    assert_eq!(client.sector.as_deref(), Some("a.example"));
    assert_eq!(view(&client)["subject_type"], "pairwise");
    let stored = serde_json::to_value(&client).unwrap();
    assert!(serde_json::from_value::<Client>(stored).unwrap() == client);
    assert_eq!(document_needed(None, &client), None);
    let client = tried(two.clone(), json!("https://s.example/list")).unwrap();
    assert_eq!(client.sector.as_deref(), Some("s.example"));
    assert_eq!(document_needed(None, &client), Some("https://s.example/list"));
    assert_eq!(document_needed(Some(&client), &client), None);
    let fewer = Client { redirect_uris: vec!["https://a.example/1".to_owned()], ..client.clone() };
    assert!(document_needed(Some(&fewer), &client).is_some());
    assert!(check_document(&client, two.to_string().as_bytes()).is_ok());
    for bad in ["[\"https://a.example/1\"]", "{}", "[1]", ""] {
        assert!(check_document(&client, bad.as_bytes()).is_err(), "{bad}");
    }
    for (redirect_uris, document, about) in [
        (two.clone(), json!(null), "subject_type"),
        (json!(["http://127.0.0.1/cb"]), json!(null), "subject_type"),
        (json!(["com.example.app:/cb"]), json!(null), "subject_type"),
        (two.clone(), json!("http://s.example/list"), "sector_identifier_uri"),
        (two, json!(7), "sector_identifier_uri"),
    ] {
        let error = tried(redirect_uris, document).map(|_| ()).unwrap_err();
        assert!(error.description.starts_with(about), "{error}");
    }
    // Where subjects are public the member is shown, and nothing is asked for.
    let public = made(with("sector_identifier_uri", json!("https://s.example/list"))).client;
    assert_eq!((public.sector.as_deref(), document_needed(None, &public)), (None, None));
}

/// RFC 8705 2.1.2: exactly one member says what the certificate has.
#[test]
fn a_client_of_mutual_tls_registers_what_its_certificate_has() {
    let by_certificate = |members: Value| {
        let mut metadata = with("token_endpoint_auth_method", json!("tls_client_auth"));
        metadata.extend(object(members));
        metadata
    };
    let name = json!({ "tls_client_auth_subject_dn": "CN=client,O=Acme" });
    let client = made(by_certificate(name)).client;
    assert_eq!(view(&client)["tls_client_auth_subject_dn"], "CN=client,O=Acme");
    let stored = serde_json::to_value(&client).unwrap();
    assert!(serde_json::from_value::<Client>(stored).unwrap() == client);
    let refused = |metadata: Metadata| {
        create(metadata, NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err().description.to_string()
    };
    for (members, told) in [
        (json!({}), "tls_client_auth_subject_dn is required for tls_client_auth"),
        (json!({ "tls_client_auth_subject_dn": "client" }), "tls_client_auth_subject_dn must be"),
        (
            json!({ "tls_client_auth_san_dns": "a.example", "tls_client_auth_san_ip": "192.0.2.1" }),
            "tls_client_auth_san_ip must not stand beside another",
        ),
    ] {
        let error = refused(by_certificate(members.clone()));
        assert!(error.starts_with(told), "{members}: {error}");
    }
    let other_method = refused(with("tls_client_auth_san_dns", json!("a.example")));
    assert!(other_method.contains("needs the token_endpoint_auth_method tls_client_auth"), "{other_method}");
    let keyless = refused(with("token_endpoint_auth_method", json!("self_signed_tls_client_auth")));
    assert!(keyless.starts_with("jwks is required for self_signed_tls_client_auth"), "{keyless}");
    let bound = made(with("tls_client_certificate_bound_access_tokens", json!(true))).client;
    assert!(bound.requires_bound_tokens() && !bound.requires_proof());
    assert!(!view(&made(readme()).client).contains_key("tls_client_certificate_bound_access_tokens"));
}
