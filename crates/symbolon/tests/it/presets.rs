//! `symbolon client create --preset`: each makes a client that the server takes, and prints what the other side needs.

use serde_json::{Value, json};

use crate::place::Place;

const URL: &str = "https://app.example.com";

fn create(place: &Place, preset: &str, more: &[&str]) -> Value {
    place.run(&[&["client", "create", "--preset", preset, "--json"][..], more].concat()).json()
}

/// What each preset makes: name, redirect URI, whether it keeps a secret, whether it asks for offline refresh tokens,
/// and a line of the configuration that is printed.
type Row = (&'static str, &'static str, bool, bool, &'static str);

const ROWS: [Row; 10] = [
    ("web-server", "/callback", true, true, " http://issuer.test\n"),
    ("single-page", "/callback", false, false, " http://issuer.test/token\n"),
    ("oauth2-proxy", "/oauth2/callback", true, true, "oidc_issuer_url = \"http://issuer.test\"\n"),
    (
        "mod-auth-openidc",
        "/redirect_uri",
        true,
        false,
        "OIDCProviderMetadataURL \"http://issuer.test/.well-known/openid-configuration\"\n",
    ),
    (
        "spring-boot",
        "/login/oauth2/code/symbolon",
        true,
        false,
        "            issuer-uri: \"http://issuer.test\"\n",
    ),
    ("auth-js", "/api/auth/callback/symbolon", true, true, "AUTH_SYMBOLON_ISSUER=\"http://issuer.test\"\n"),
    (
        "django",
        "/oidc/callback/",
        true,
        false,
        "OIDC_OP_JWKS_ENDPOINT = \"http://issuer.test/.well-known/jwks.json\"\n",
    ),
    (
        "jupyterhub",
        "/hub/oauth_callback",
        true,
        false,
        "c.GenericOAuthenticator.token_url = \"http://issuer.test/token\"\n",
    ),
    ("kubernetes", "", false, true, "    url: \"http://issuer.test\"\n"),
    ("native", "", false, true, " http://issuer.test/.well-known/jwks.json\n"),
];

fn every_preset(place: &Place) {
    for (preset, callback, has_secret, is_offline, wanted) in ROWS {
        let made = create(place, preset, &["--url", URL]);
        let first = made["redirect_uris"][0].as_str().unwrap();
        if !callback.is_empty() {
            assert_eq!(first, format!("{URL}{callback}"), "{preset}");
            assert_eq!(made["post_logout_redirect_uris"], json!([URL, format!("{URL}/")]), "{preset}");
        }
        let secret = made.get("client_secret").and_then(Value::as_str);
        assert_eq!(secret.is_some(), has_secret, "{preset}");
        let scopes: Vec<&str> = made["scope"].as_str().unwrap().split(' ').collect();
        assert_eq!(scopes.contains(&"offline_access"), is_offline, "{preset}");
        assert_eq!(made["grant_types"], json!(["authorization_code", "refresh_token"]), "{preset}");
        let configuration = made["configuration"].as_str().unwrap();
        assert!(configuration.contains(wanted), "{preset}: {configuration}");
        for value in [made["client_id"].as_str(), secret].into_iter().flatten() {
            assert!(configuration.contains(value), "{preset} without {value}: {configuration}");
        }
        assert_eq!(made["issuer"], "http://issuer.test");
        // What was printed is what is stored.
        let stored = place.run(&["client", "show", made["client_id"].as_str().unwrap(), "--json"]).json();
        assert_eq!(stored["redirect_uris"], made["redirect_uris"]);
        assert_eq!(stored["client_name"], "app.example.com");
    }
    let groups =
        ["oauth2-proxy", "mod-auth-openidc", "kubernetes", "spring-boot", "auth-js", "django", "jupyterhub"];
    let clients = place.run(&["client", "list", "--json"]).json();
    let with_groups = clients
        .as_array()
        .unwrap()
        .iter()
        .filter(|client| client["scope"].as_str().unwrap().split(' ').any(|scope| scope == "groups"));
    assert_eq!(with_groups.count(), groups.len());
}

#[test]
fn every_preset_makes_a_client_at_the_server() {
    let place = Place::new();
    let _server = place.serve(&[]);
    every_preset(&place);
}

#[test]
fn every_preset_makes_a_client_without_a_server() {
    every_preset(&Place::new());
}

#[test]
fn a_machine_gets_a_token_and_a_resource_server_reads_it() {
    let place = Place::new();
    let _server = place.serve(&[]);
    let machine = create(&place, "machine", &["--name", "Job", "--scope", "orders"]);
    let api = create(&place, "resource-server", &["--url", "https://api.example.com"]);
    assert_eq!((&api["audiences"], &api["grant_types"]), (&json!(["https://api.example.com"]), &json!([])));
    let id = machine["client_id"].as_str().unwrap();
    let audience = ["--set", "access_token_audiences=[\"https://api.example.com\"]"];
    place.run(&[&["client", "update", id][..], &audience].concat()).good();
    let of = |client: &Value| {
        let member = |name: &str| client[name].as_str().unwrap().to_owned();
        format!("client_id={}&client_secret={}", member("client_id"), member("client_secret"))
    };
    let (status, token) =
        place.form("/token", &format!("grant_type=client_credentials&scope=orders&{}", of(&machine)));
    assert_eq!((status, &token["scope"]), (200, &json!("orders")), "{token}");
    let token = token["access_token"].as_str().unwrap();
    let (status, read) = place.form("/introspect", &format!("token={token}&{}", of(&api)));
    assert_eq!(
        (status, &read["active"], &read["client_id"]),
        (200, &json!(true), &machine["client_id"]),
        "{read}"
    );
}

#[test]
fn options_win_over_the_preset_and_people_read_what_to_paste() {
    let place = Place::new();
    let own = [
        "--redirect-uri",
        "https://other.example/oauth2/callback",
        "--client-id",
        "proxy",
        "--name",
        "Proxy",
    ];
    let arguments =
        [&["client", "create", "--preset", "oauth2-proxy", "--scope", "openid email"][..], &own].concat();
    let told = place.run(&arguments).good();
    for wanted in [
        "client_name    Proxy\n",
        "The secret is shown this once",
        "For oauth2-proxy.cfg:\n",
        "redirect_url = \"https://other.example/oauth2/callback\"\n",
        "scope = \"openid email\"\n",
        "client_id = \"proxy\"\n",
    ] {
        assert!(told.contains(wanted), "{wanted}: {told}");
    }
}

#[test]
fn another_issuer_is_named_by_its_own_url() {
    let place = Place::new();
    place.run(&["issuer", "create", "acme", "--url", "https://acme.example"]).good();
    let made = create(&place, "jupyterhub", &["--url", URL, "--issuer", "acme"]);
    assert_eq!(made["issuer"], "https://acme.example");
    let configuration = made["configuration"].as_str().unwrap();
    assert!(configuration.contains("authorize_url = \"https://acme.example/authorize\""), "{configuration}");
    assert_eq!(place.run(&["client", "list", "--json"]).json(), json!([]), "it belongs to the other issuer");
}

#[test]
fn a_preset_uses_weaker_forms_of_redirect_uris_where_they_are_allowed() {
    let place = Place::new();
    for (preset, url, form, wanted) in [
        ("django", "http://nas.local:8000", "http_private_host", "http://nas.local:8000/oidc/callback/"),
        (
            "web-server",
            "https://*.preview.example.com",
            "wildcard_host",
            "https://*.preview.example.com/callback",
        ),
        ("native", URL, "any_localhost_port", "http://localhost/callback"),
    ] {
        let made = create(&place, preset, &["--url", url, "--redirect-uri-form", form]);
        let uris = made["redirect_uris"].as_array().unwrap();
        assert!(uris.contains(&json!(wanted)), "{preset}: {made}");
        assert_eq!(made["redirect_uri_forms"], json!([form]), "{preset}");
    }
}

#[test]
fn what_a_preset_cannot_do_is_told_and_makes_no_client() {
    let place = Place::new();
    let refused = |more: &[&str]| {
        let told = place.run(&[&["client", "create"][..], more].concat()).bad(2);
        assert_eq!(told.lines().filter(|line| line.starts_with("symbolon: ")).count(), 1, "{told}");
        told
    };
    assert!(refused(&["--preset", "django"]).contains("needs --url"));
    assert!(refused(&["--preset", "django", "--url", "app.example.com"]).contains("--url app.example.com"));
    // An address that the server does not allow is told in its own words, with the form that would allow it.
    let private = refused(&["--preset", "django", "--url", "http://nas.local:8000"]);
    assert!(private.contains("redirect_uri_forms with http_private_host allows it"), "{private}");
    let plain = refused(&["--preset", "django", "--url", "http://app.example.com"]);
    assert!(plain.contains("must use https"), "{plain}");
    let unknown = place.run(&["client", "create", "--preset", "djanog", "--url", URL]).bad(2);
    assert!(unknown.contains("django"), "the nearest name: {unknown}");
    place.run(&["client", "create", "--url", URL, "--name", "x"]).bad(2);
    assert_eq!(place.run(&["client", "list", "--json"]).json(), json!([]));
}
