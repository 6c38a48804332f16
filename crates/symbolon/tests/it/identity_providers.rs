//! `symbolon identity-provider`, with a server and without.

use serde_json::json;

use crate::place::Place;

fn identity_providers(place: &Place) {
    let run = |arguments: &[&str]| place.run(&[&["identity-provider"], arguments].concat());
    let json_of = |arguments: &[&str]| run(&[arguments, &["--json"]].concat()).json();
    std::fs::write(place.path("secret"), "from-a-file\nnot this\n").unwrap();
    let google = run(&["create", "google", "--preset", "google", "--client-id", "us"]);
    let told = google.good();
    assert!(told.starts_with("id ") && told.contains("https://accounts.google.com"), "{told}");
    assert!(told.contains("http://issuer.test/login/callback/google"), "{told}");
    let acme = [
        "create",
        "acme",
        "--issuer-url",
        "https://login.acme.example",
        "--client-id",
        "us",
        "--client-secret-file",
        "secret",
        "--sign-up",
        "--email-domain",
        "Acme.example",
    ];
    let made = json_of(&acme);
    assert_eq!((&made["has_client_secret"], &made["sign_up"]), (&json!(true), &json!(true)), "{made}");
    assert_eq!(
        (&made["kind"], &made["email_domains"]),
        (&json!("openid"), &json!(["acme.example"])),
        "{made}"
    );
    let microsoft = ["create", "ms", "--preset", "microsoft", "--tenant", "consumers", "--client-id", "us"];
    assert!(
        json_of(&microsoft)["issuer"].as_str().unwrap().starts_with("https://login.microsoftonline.com/")
    );
    assert_eq!(json_of(&["create", "gh", "--preset", "github", "--client-id", "us"])["kind"], "github");

    for (bad, told) in [
        (&["create", "x", "--client-id", "us"][..], "issuer is required, or a preset"),
        (&["create", "x", "--preset", "microsoft", "--client-id", "us"], "tenant is missing"),
        (&["create", "x", "--issuer-url", "http://x.example", "--client-id", "us"], "is not https"),
        (&["update", "acme"], "nothing to change"),
        (&["update", "acme", "--client-secret-file", "-"], "the client secret is empty"),
        (&["show", " "], "the id of the provider is empty"),
    ] {
        let refused = run(bad).bad(2);
        assert!(refused.contains(told), "{refused}");
    }
    assert!(run(&["create", "acme", "--preset", "apple", "--client-id", "us"]).bad(1).contains("acme"));
    assert!(run(&["show", "nothing"]).bad(1).contains("no such identity provider"));

    let table = run(&["list"]).good();
    assert!(table.starts_with("ID ") && table.contains("https://login.acme.example"), "{table}");
    let ids: Vec<_> = json_of(&["list"]).as_array().unwrap().iter().map(|own| own["id"].clone()).collect();
    assert_eq!(json!(ids), json!(["google", "acme", "ms", "gh"]));

    let piped = ["identity-provider", "update", "google", "--client-secret-file", "-", "--json"];
    assert_eq!(place.run_with(&piped, &[], "from-a-pipe\n").json()["has_client_secret"], true);
    let changed = json_of(&[
        "update",
        "acme",
        "--no-client-secret",
        "--name",
        "Acme Ltd",
        "--scope",
        "openid groups",
        "--enabled=false",
        "--set",
        "groups={\"claim\":\"groups\",\"groups\":{\"Staff\":\"staff\"}}",
    ]);
    assert_eq!(changed["has_client_secret"], false, "{changed}");
    assert_eq!(
        (&changed["scopes"], &changed["enabled"]),
        (&json!(["openid", "groups"]), &json!(false)),
        "{changed}"
    );
    assert_eq!(
        (&changed["sign_up"], &changed["groups"]["claim"]),
        (&json!(true), &json!("groups")),
        "{changed}"
    );
    assert_eq!(json_of(&["show", "acme"]), changed);
    let shown = run(&["show", "google"]).good();
    assert!(shown.contains("has_client_secret") && !shown.contains("from-a-"), "{shown}");

    assert_eq!(run(&["delete", "acme"]).good(), "acme (Acme Ltd) is deleted\n");
    assert!(run(&["delete", "acme", "--yes"]).bad(1).contains("no such identity provider"));
    assert_eq!(json_of(&["list"]).as_array().unwrap().len(), 3);
}

#[test]
fn identity_providers_without_a_server() {
    identity_providers(&Place::new());
}

#[test]
fn identity_providers_at_the_server() {
    let place = Place::new();
    let mut server = place.serve(&[]);
    identity_providers(&place);
    assert!(server.is_running());
}
