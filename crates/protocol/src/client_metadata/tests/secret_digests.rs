//! Secrets that come as digests, from an export of another installation.

use symbolon_crypto::encoding;

use super::*;

const SECRET: &str = "a-secret+that=is/long%enough-to-keep";

/// The export of a client, as far as its secrets go.
fn exported(client: &Client, now: Timestamp) -> Value {
    secret_digests(client, now).into()
}

#[test]
fn a_client_goes_on_with_the_secrets_that_it_had_elsewhere() {
    let first = made(with("client_secret", SECRET.into())).client;
    let random = SeededRandom::new(9);
    let two = regenerate_secret(&first, Duration::from_secs(60), &random).unwrap();
    let drawn = two.client_secret.unwrap();
    let moved = made(with("client_secret_digests", exported(&two.client, NOW)));
    assert!(moved.client_secret.is_none(), "nothing is drawn");
    assert_eq!(moved.warnings, [Warning::UncheckedSecret]);
    assert_eq!(digests(&moved.client), [secret_digest(drawn.expose()).0, secret_digest(SECRET).0]);
    let ends: Vec<_> = moved.client.client_secrets.iter().map(|secret| secret.expires_at).collect();
    assert_eq!(ends, [None, Some(NOW + Duration::from_secs(60))]);
    let other_key = HmacKey::new(b"the key of the other issuer");
    assert!(moved.client.client_secrets.iter().all(|secret| {
        let presented = if secret.expires_at.is_none() { drawn.expose() } else { SECRET };
        secret.matches(&secret_digest(presented), &other_key)
    }));
    // Of two, one has ended at the time of the export.
    assert_eq!(secret_digests(&two.client, NOW + Duration::from_secs(60)).len(), 1);
    assert!(moved.view().get("client_secret_digests").is_none(), "it is shown nowhere else");
}

/// What is kept of a short secret says nothing at another issuer, so one is drawn there.
#[test]
fn a_short_secret_is_not_exported_and_one_whose_time_is_over_is_not_taken() {
    let short = made(with("client_secret", "sixteen-letters!".into())).client;
    assert!(secret_digests(&short, NOW).is_empty());
    let over = json!([{ "sha256": encoding::encode(&[7; 32]), "expires_at": NOW.millis() }]);
    for digests in [json!([]), Value::Null, over] {
        let moved = made(with("client_secret_digests", digests));
        assert!(moved.client_secret.is_some() && moved.client.client_secrets.iter().count() == 1);
        assert!(moved.warnings.is_empty());
    }
}

#[test]
fn of_a_secret_that_the_client_has_only_the_end_is_changed() {
    let end = NOW + Duration::from_secs(60);
    for (text, is_keyed) in [(SECRET, false), ("sixteen-letters!", true)] {
        let mut client = made(with("client_secret", text.into())).client;
        let before = client.client_secrets.iter().next().unwrap().clone();
        client.client_secrets.note_use(&before.id, NOW);
        let digest =
            json!({ "sha256": encoding::encode(&secret_digest(text).0), "expires_at": end.millis() });
        let change = object(json!({ "client_secret_digests": [digest] }));
        let changed = patch(&client, change, NOW + Duration::from_secs(1), &SeededRandom::new(7)).unwrap();
        assert!(changed.client_secret.is_none() && changed.warnings.is_empty(), "{text}");
        let kept: Vec<_> = changed.client.client_secrets.iter().cloned().collect();
        let wanted = ClientSecret { expires_at: Some(end), last_used_at: Some(NOW), ..before };
        assert!(kept == [wanted] && kept[0].is_keyed == is_keyed, "{text}");
    }
}

#[test]
fn what_is_no_digest_is_refused() {
    let good = json!({ "sha256": encoding::encode(&[7; 32]) });
    for bad in [
        json!("x"),
        json!([{ "sha256": "AAAA" }]),
        json!([{ "sha256": "x".repeat(64) }]),
        json!([{ "sha256": encoding::encode(&[7; 32]), "alg": "none" }]),
        json!([{}]),
        json!([good, good]),
        json!([good, good, good]),
    ] {
        let refused = create(with("client_secret_digests", bad.clone()), NOW, &SeededRandom::new(1));
        assert!(refused.is_err_and(|error| error.to_string().contains("client_secret_digests")), "{bad}");
    }
    for (name, value) in [("client_secret", json!(SECRET)), ("token_endpoint_auth_method", json!("none"))] {
        let mut metadata = with("client_secret_digests", json!([good]));
        metadata.remove("token_exchange_allowed");
        metadata.insert("grant_types".to_owned(), json!(["authorization_code"]));
        metadata.insert(name.to_owned(), value);
        let refused = create(metadata, NOW, &SeededRandom::new(1)).err().unwrap();
        assert!(refused.to_string().contains("client_secret_digests"), "{name}: {refused}");
    }
}
