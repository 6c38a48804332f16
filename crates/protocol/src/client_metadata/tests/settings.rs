//! Settings that stand beside the metadata.

use super::*;

/// `pkce`, in `settings` or beside it, and `require_pkce` for scripts that know the setting by this name.
#[test]
fn the_pkce_policy_is_read_by_both_names_in_both_places() {
    for (name, value, policy, earlier) in [
        ("pkce", json!("required"), Some(PkcePolicy::Required), Some(true)),
        ("pkce", json!("or_nonce"), Some(PkcePolicy::OrNonce), None),
        ("pkce", json!("optional"), Some(PkcePolicy::Optional), Some(false)),
        ("pkce", json!(null), None, None),
        ("require_pkce", json!(true), Some(PkcePolicy::Required), Some(true)),
        ("require_pkce", json!(false), Some(PkcePolicy::Optional), Some(false)),
        ("require_pkce", json!(null), None, None),
    ] {
        for metadata in [with("settings", json!({ name: value })), with(name, value.clone())] {
            let client = made(metadata).client;
            assert_eq!(client.settings.pkce, policy, "{name} {value}");
            let shown = Value::Object(view(&client));
            assert_eq!(shown["settings"]["pkce"].as_str(), policy.map(PkcePolicy::as_str), "{name} {value}");
            assert_eq!(shown["settings"]["require_pkce"].as_bool(), earlier, "{name} {value}");
            assert_eq!(shown.get(name), None, "{name} {value}: in one place");
        }
    }
}

#[test]
fn a_patch_by_either_name_changes_the_pkce_policy() {
    for before in [json!({ "pkce": "required", "code_lifetime": 9 }), json!({ "code_lifetime": 9 })] {
        for (change, policy) in [
            (json!({ "settings": { "require_pkce": false } }), Some(PkcePolicy::Optional)),
            (json!({ "settings": { "pkce": "or_nonce" } }), Some(PkcePolicy::OrNonce)),
            (json!({ "pkce": "or_nonce" }), Some(PkcePolicy::OrNonce)),
            (json!({ "settings": { "require_pkce": null } }), None),
            (json!({ "settings": { "pkce": null } }), None),
            (json!({ "require_pkce": null }), None),
        ] {
            let first = made(with("settings", before.clone())).client;
            let second = patch(&first, object(change.clone()), NOW, &SeededRandom::new(2)).unwrap().client;
            assert_eq!(second.settings.pkce, policy, "{before} {change}");
            assert_eq!(second.settings.code_lifetime, Some(9), "{before} {change}");
        }
    }
}

#[test]
fn two_pkce_policies_that_differ_are_refused() {
    for (metadata, named) in [
        (
            with("settings", json!({ "pkce": "or_nonce", "require_pkce": false })),
            "settings.pkce and require_pkce",
        ),
        (with("settings", json!({ "require_pkce": "yes" })), "settings.require_pkce is not valid"),
        (with("settings", json!({ "pkce": "sometimes" })), "settings.pkce is not valid"),
        (with("pkce", json!(true)), "settings.pkce is not valid"),
    ] {
        let error = create(metadata, NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
        assert_eq!(error.code, ErrorCode::InvalidRequest, "{named}");
        assert!(error.description.starts_with(named), "{named}: {error}");
    }
    let mut twice = with("settings", json!({ "pkce": "required" }));
    twice.insert("pkce".to_owned(), "optional".into());
    let error = create(twice, NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
    assert!(error.description.starts_with("pkce and settings.pkce"), "{error}");
}

#[test]
fn a_confidential_client_without_pkce_and_nonce_is_below_the_default() {
    let saved = |settings: Value, method: &str| {
        let metadata = json!({ "client_name": "x", "redirect_uris": ["https://rp.example/"],
            "token_endpoint_auth_method": method, "settings": settings });
        is_below_default(&made(object(metadata)).client)
    };
    assert!(saved(json!({ "pkce": "optional" }), "client_secret_basic"));
    assert!(!saved(json!({ "pkce": "or_nonce" }), "client_secret_basic"));
    assert!(!saved(json!({}), "client_secret_basic"));
    assert!(!saved(json!({ "pkce": "optional" }), "none"), "no effect");
}

#[test]
fn the_type_of_access_tokens_is_a_setting() {
    for (value, typ) in [("at+jwt", AccessTokenTyp::AtJwt), ("JWT", AccessTokenTyp::Jwt)] {
        for metadata in
            [with("settings", json!({ "access_token_typ": value })), with("access_token_typ", value.into())]
        {
            let client = made(metadata).client;
            assert_eq!(client.settings.access_token_typ, Some(typ));
            assert_eq!(view(&client)["settings"]["access_token_typ"], value);
        }
    }
    for bad in [json!("jwt"), json!("at+JWT"), json!("logout+jwt"), json!(1)] {
        let error =
            create(with("access_token_typ", bad), NOW, &SeededRandom::new(1)).map(|_| ()).unwrap_err();
        assert!(error.description.starts_with("settings is not valid"), "{error}");
    }
}

#[test]
fn claim_definitions_are_a_setting_and_are_checked() {
    let definitions = json!([
        { "name": "policy", "source": "client_roles:minio", "form": "comma_separated", "destinations": ["id_token"] },
        { "name": "groups", "enabled": false },
    ]);
    let client = made(with("settings", json!({ "claims": definitions }))).client;
    assert_eq!(view(&client)["settings"]["claims"], definitions);
    let kept =
        patch(&client, object(json!({ "client_name": "y" })), NOW, &SeededRandom::new(1)).unwrap().client;
    assert_eq!(kept.settings.claims, client.settings.claims);
    let none = json!({ "settings": { "claims": null } });
    let none = patch(&client, object(none), NOW, &SeededRandom::new(1)).unwrap().client;
    assert!(none.settings.claims.is_empty() && view(&none)["settings"].get("claims").is_none());
    for (bad, why) in [
        (
            json!([{ "name": "sub", "value": 1 }]),
            "settings.claims is not valid: the claim sub: the name is reserved",
        ),
        (json!([{ "name": "a" }]), "settings is not valid"),
        (json!([{ "name": "a", "expression": "user.\"x\"" }]), "settings.claims is not valid: the claim a"),
    ] {
        let error = create(with("settings", json!({ "claims": bad })), NOW, &SeededRandom::new(1))
            .map(|_| ())
            .unwrap_err();
        assert!(error.description.starts_with(why), "{error}");
        assert!(!error.description.contains(['"', '\\']), "{error}");
    }
}
