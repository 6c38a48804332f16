//! Secrets, and changes of a registration.

use super::*;

#[test]
fn a_given_secret_is_kept() {
    let secret = "a-secret+that=is/long%enough-to-keep";
    let made = made(with("client_secret", secret.into()));
    assert_eq!(digests(&made.client), [secret_digest(secret).0]);
    assert_eq!(made.view()["client_secret"], secret);
}

#[test]
fn a_secret_that_another_provider_drew_is_taken_with_a_warning() {
    for (secret, is_short) in [
        ("sixteen-letters!", true),
        ("0123456789abcdef0123456789abcde", true),
        ("0123456789abcdef0123456789abcdef", false),
    ] {
        assert_eq!((secret.len() >= SHORTEST, secret.len() < LONG), (true, is_short), "{secret}");
        let made = made(with("client_secret", secret.into()));
        assert_eq!(made.view()["client_secret"], secret);
        let stored = made.client.client_secrets.iter().next().unwrap();
        assert_eq!(stored.digest != secret_digest(secret), is_short, "a short one is kept by a keyed digest");
        assert!(stored.matches(&secret_digest(secret), &KEY), "{secret}");
        let warnings: Vec<String> = made.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(warnings.len(), usize::from(is_short), "{warnings:?}");
        assert!(warnings.iter().all(|warning| !warning.contains(secret)), "{warnings:?}");
        // It is warned of once, where it is given.
        let patched = patch(&made.client, object(json!({"client_name": "x"})), NOW, &SeededRandom::new(2));
        assert!(patched.unwrap().warnings.is_empty());
    }
    assert!(made(readme()).warnings.is_empty(), "a drawn one is long enough");
}

#[test]
fn a_patch_changes_what_it_names() {
    let first = made(with("settings", json!({"code_lifetime": 30, "id_token_lifetime": 60}))).client;
    let change = json!({"client_name": "new", "scope": null, "settings": {"code_lifetime": null},
        "logo_uri": "https://rp.example/logo.png"});
    let second = patch(&first, object(change), NOW, &SeededRandom::new(2)).unwrap();
    assert!(second.client_secret.is_none(), "the old secret stays");
    let second = second.client;
    assert!(second.client_secrets == first.client_secrets);
    assert_eq!(second.client_name, "new");
    assert_eq!(second.scope.as_str(), "openid profile email");
    assert_eq!((second.settings.code_lifetime, second.settings.id_token_lifetime), (None, Some(60)));
    assert_eq!(second.redirect_uris, first.redirect_uris);
    assert!(second.skip_consent);
    assert_eq!(second.display["logo_uri"], "https://rp.example/logo.png");
    assert!(second.updated_at > first.updated_at, "even where the clock stands still");
    assert_eq!(second.created_at, first.created_at);
}

#[test]
fn a_replacement_starts_from_the_defaults() {
    let first = made(readme()).client;
    let document = json!({"client_name": "new", "redirect_uris": ["https://rp.example/"]});
    let second = replace(&first, object(document), NOW, &SeededRandom::new(2)).unwrap().client;
    assert!(!second.skip_consent);
    assert_eq!(second.grant_types, [GrantType::AuthorizationCode]);
    assert_eq!(second.client_id, first.client_id);
    assert!(second.client_secrets == first.client_secrets);
    let moved = with("client_id", "other".into());
    assert!(replace(&first, moved, NOW, &SeededRandom::new(2)).is_err());
}

#[test]
fn secrets_come_and_go_with_the_method() {
    let first = made(object(json!({"client_name": "x", "redirect_uris": ["https://rp.example/"]}))).client;
    let none = object(json!({"token_endpoint_auth_method": "none"}));
    let public = patch(&first, none, NOW, &SeededRandom::new(2)).unwrap().client;
    assert!(public.client_secrets.is_empty());
    assert!(regenerate_secret(&public, Duration::ZERO, &SeededRandom::new(3)).is_err());
    let back = object(json!({"token_endpoint_auth_method": "client_secret_post"}));
    let again = patch(&public, back, NOW, &SeededRandom::new(2)).unwrap();
    assert!(again.client_secret.is_some());
    let other = regenerate_secret(&again.client, Duration::ZERO, &SeededRandom::new(4)).unwrap();
    assert!(digests(&other.client) != digests(&again.client) && digests(&other.client).len() == 1);
}

#[test]
fn an_old_secret_is_shown_beside_the_new_one_until_it_has_expired_and_something_changes() {
    let minute = Duration::from_secs(60);
    let first = made(readme()).client;
    let second = regenerate_secret(&first, minute, &SeededRandom::new(2)).unwrap();
    let shown = Value::Object(second.view());
    assert_eq!(shown["client_secret_expires_at"], 0, "the new one stays");
    let secrets = shown["client_secrets"].as_array().unwrap();
    assert_eq!((secrets.len(), &secrets[0]["expires_at"]), (2, &Value::Null));
    assert_eq!((&secrets[0]["created_at"], &secrets[1]["expires_at"]), (&json!(NOW), &json!(NOW + minute)));
    assert_eq!((&secrets[1]["last_used_at"], digests(&second.client)[1]), (&Value::Null, digests(&first)[0]));
    for (later, left) in [(NOW + minute / 2, 2), (NOW + minute, 1)] {
        let renamed = object(json!({"client_name": "new"}));
        let renamed = patch(&second.client, renamed, later, &SeededRandom::new(3)).unwrap();
        assert_eq!(
            (renamed.client.client_secrets.iter().count(), renamed.client_secret.is_none()),
            (left, true)
        );
    }
    let given = object(json!({"client_secret": "a-secret+that=is/long%enough-to-keep"}));
    let given = patch(&second.client, given, NOW, &SeededRandom::new(3)).unwrap();
    assert_eq!(given.client.client_secrets.iter().count(), 1, "a given secret is in place of all others");
}

/// A node of this build may run beside nodes of a later one, and before, beside nodes of an earlier one.
#[test]
fn records_of_other_builds_are_read_and_lose_nothing() {
    let client = made(readme()).client;
    let stored = serde_json::to_value(&client).unwrap();
    assert!(client.unknown_members.is_empty(), "every member is known");
    let mut earlier = stored.clone();
    earlier.as_object_mut().unwrap().remove("client_secret_records");
    let earlier: Client = serde_json::from_value(earlier).unwrap();
    assert!(earlier.unknown_members.is_empty() && digests(&earlier) == digests(&client));
    let mut later = stored;
    later["member_of_a_later_build"] = json!({"a": [1]});
    let mut read: Client = serde_json::from_value(later.clone()).unwrap();
    let id = read.client_secrets.iter().next().unwrap().id.clone();
    read.client_secrets.note_use(&id, NOW);
    assert_eq!(serde_json::to_value(&read).unwrap()["member_of_a_later_build"], json!({"a": [1]}));
    let changed =
        patch(&read, object(json!({"client_name": "x"})), NOW, &SeededRandom::new(2)).unwrap().client;
    assert!(changed.unknown_members == read.unknown_members);
    assert!(!view(&changed).contains_key("member_of_a_later_build"));
}
