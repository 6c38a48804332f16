//! Records that administrators register.

use serde_json::Value;
use symbolon_crypto::SeededRandom;
use symbolon_crypto::password::PasswordHash;
use symbolon_protocol::client::Client;
use symbolon_protocol::client_metadata;
use symbolon_protocol::redirect_uri::check_form;

use super::fixture::{NOW, SECRET_KEY};

/// A client's metadata: what is registered is shown, and read again as the same client; no secret is shown twice.
pub fn client_metadata(data: &[u8]) {
    let Ok(Value::Object(document)) = serde_json::from_slice(data) else { return };
    let random = SeededRandom::new(1);
    let Ok(registered) = client_metadata::create(document, &SECRET_KEY, NOW, &random) else { return };
    let client = &registered.client;
    assert!(
        client.redirect_uris.iter().all(|uri| check_form(uri, &client.redirect_uri_forms).is_ok()),
        "a redirect URI of no good"
    );
    assert!(!client.is_public() || registered.client_secret.is_none(), "a public client with a secret");
    assert_eq!(registered.client_secret.is_some(), client.client_secrets.iter().count() == 1);
    let shown = client_metadata::view(client);
    assert!(!shown.contains_key("client_secret"));
    let again = client_metadata::replace(client, shown.clone(), &SECRET_KEY, NOW, &random)
        .unwrap_or_else(|error| panic!("what is shown cannot be sent back: {error}"));
    let mut view = client_metadata::view(&again.client);
    view.insert("updated_at".to_owned(), shown["updated_at"].clone());
    assert_eq!(view, shown);
    let stored = serde_json::to_vec(client).and_then(|text| serde_json::from_slice(&text));
    assert!(stored.is_ok_and(|stored: Client| stored == *client), "what is stored is not what is read");
}

/// A password's hash of any form: written as it was read, and verified without a failure if that is quick.
pub fn password_hash(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(hash) = PasswordHash::parse(text) else { return };
    let written = hash.to_text();
    let again = PasswordHash::parse(&written).unwrap_or_else(|error| panic!("{written}: {error}"));
    assert!(again == hash && again.to_text() == written);
    // A few milliseconds: about as much as the fuzzer tries in one.
    if hash.work_kib() < 4_096 {
        assert!(hash.verify(&"correct horse battery".into()).is_ok(), "{written} cannot be verified");
    }
}
