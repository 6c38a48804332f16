//! The places: what names the address, and how it comes to be called.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, Browser, RelyingParty};

use super::Visit;
use crate::login::hidden;
use crate::upstream::fake::ok;
use crate::upstream::{ANN, add, at_login, parameter, press};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const METADATA: &str = "/.well-known/openid-configuration";
const KEYS: &str = "/jwks";
const TOKEN: &str = "/token";
const USERINFO: &str = "/userinfo";
const GITHUB_TOKEN: &str = "/login/oauth/access_token";
const GITHUB_USER: &str = "/api/v3/user";
/// The path of a `backchannel_logout_uri`.
pub(super) const LOGOUT: &str = "/logout";

/// Has the address called; whether what is there was used.
pub(super) type Asking = Box<dyn FnOnce(&Visit) -> bool>;

/// A place that calls an address.
pub(super) struct Place {
    /// What names the address.
    pub(super) name: &'static str,
    /// Which code calls it, below `crates/`.
    pub(super) file: &'static str,
    /// The path that is asked for.
    pub(super) path: &'static str,
    /// The path that is asked for before, where private addresses were no use any more at once.
    pub(super) after: Option<&'static str>,
    /// Has everything there, but does not ask yet.
    pub(super) prepare: fn(&Visit) -> Asking,
}

const fn place(
    name: &'static str,
    file: &'static str,
    path: &'static str,
    prepare: fn(&Visit) -> Asking,
) -> Place {
    Place { name, file, path, after: None, prepare }
}

const fn behind(before: &'static str, place: Place) -> Place {
    Place { after: Some(before), ..place }
}

const CLIENT_KEYS: &str = "app/src/client_keys.rs";
const UPSTREAM: &str = "app/src/upstream/mod.rs";

pub(super) static PLACES: [Place; 15] = [
    place("jwks_uri, for an assertion", CLIENT_KEYS, KEYS, keys_of_an_assertion),
    place("jwks_uri, for a request object", CLIENT_KEYS, KEYS, keys_of_a_request_object),
    place("jwks_uri, to encrypt for", CLIENT_KEYS, KEYS, keys_of_a_recipient),
    place("jwks_uri of a trusted issuer", CLIENT_KEYS, KEYS, keys_of_a_trusted_issuer),
    place("a trusted issuer", CLIENT_KEYS, METADATA, metadata_of_a_trusted_issuer),
    behind(METADATA, place("a trusted issuer's metadata", CLIENT_KEYS, KEYS, keys_that_metadata_name)),
    place("a client's URL", "app/src/client_documents.rs", "/client.json", document_of_a_client),
    place("sector_identifier_uri", "app/src/sector.rs", "/sector", document_of_a_sector),
    place("request_uri", "app/src/request_objects.rs", "/request", request_object),
    place(
        "backchannel_logout_uri",
        "server/src/jobs/deliveries/back_channel_logout.rs",
        LOGOUT,
        told_of_a_logout,
    ),
    place("a provider", UPSTREAM, METADATA, metadata_of_a_provider),
    behind(METADATA, place("a provider's token_endpoint", UPSTREAM, TOKEN, token_of_a_provider)),
    behind(TOKEN, place("a provider's jwks_uri", UPSTREAM, KEYS, keys_of_a_provider)),
    behind(KEYS, place("a provider's userinfo_endpoint", UPSTREAM, USERINFO, userinfo_of_a_provider)),
    behind(GITHUB_TOKEN, place("the API of a GitHub server", UPSTREAM, GITHUB_USER, api_of_github)),
];

fn has_code(answer: &Answer) -> bool {
    matches!(answer.status, 302 | 303) && answer.redirected("code").is_some()
}

fn authorize(parameters: &[(&str, &str)]) -> String {
    let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(parameters).finish();
    format!("/authorize?{query}")
}

fn keys_of_an_assertion(visit: &Visit) -> Asking {
    let metadata = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": visit.at(KEYS) });
    let rp = RelyingParty::register(&visit.server, metadata);
    let now = visit.server.now().seconds();
    let assertion = visit.key.assertion(&rp.client_id, &visit.server.issuer, "one", now);
    authenticates(rp, assertion)
}

/// Authenticates by an assertion.
fn authenticates(rp: RelyingParty, assertion: String) -> Asking {
    Box::new(move |visit: &Visit| {
        let form = [
            ("grant_type", "client_credentials"),
            ("client_id", &*rp.client_id),
            ("client_assertion_type", JWT_BEARER),
            ("client_assertion", &*assertion),
        ];
        visit.server.browser().post("/token", &form).status == 200
    })
}

/// The request object of a new request.
fn object(visit: &Visit, rp: &RelyingParty) -> String {
    let now = visit.server.now().seconds();
    let mut claims = json!({ "iss": rp.client_id, "aud": visit.server.issuer, "nbf": now, "exp": now + 300 });
    for (name, value) in &rp.authorization_request().parameters {
        claims[name] = json!(value);
    }
    visit.key.jwt("oauth-authz-req+jwt", &claims)
}

fn keys_of_a_request_object(visit: &Visit) -> Asking {
    let rp = RelyingParty::register(&visit.server, json!({ "jwks_uri": visit.at(KEYS) }));
    let (_, browser) = visit.server.signed_in(ANN);
    let object = object(visit, &rp);
    Box::new(move |_: &Visit| {
        has_code(&browser.get(&authorize(&[("client_id", &rp.client_id), ("request", &object)])))
    })
}

fn keys_of_a_recipient(visit: &Visit) -> Asking {
    let mut key = visit.key.jwks()["keys"][0].clone();
    for (name, value) in [("use", "enc"), ("alg", "ECDH-ES"), ("kid", "e")] {
        key[name] = json!(value);
    }
    visit.fake.set(KEYS, ok(&json!({ "keys": [key] })));
    let metadata = json!({ "jwks_uri": visit.at(KEYS), "id_token_encrypted_response_alg": "ECDH-ES" });
    let rp = RelyingParty::register(&visit.server, metadata);
    let (_, browser) = visit.server.signed_in(ANN);
    Box::new(move |_: &Visit| {
        let request = rp.authorization_request();
        let code = browser.get(&request.path()).redirected("code").expect("a code");
        rp.redeem(&code, &request.verifier).status == 200
    })
}

/// A workload whose issuer has these settings besides its name.
fn workload(visit: &Visit, issuer: &str, settings: Value) -> Asking {
    const SUBJECT: &str = "system:serviceaccount:shop:api";
    let mut trusted = settings;
    trusted["issuer"] = json!(issuer);
    trusted["for"] = json!(["client_authentication"]);
    let answer = visit.server.admin("PATCH", "/settings", Some(json!({ "trusted_issuers": [trusted] })));
    assert_eq!(answer.status, 200, "{answer:?}");
    let accepted = json!({ "issuer": issuer, "sub": SUBJECT, "claims": {} });
    let metadata =
        json!({ "token_endpoint_auth_method": "private_key_jwt", "assertion_issuers": [accepted] });
    let rp = RelyingParty::register(&visit.server, metadata);
    let now = visit.server.now().seconds();
    let claims = json!({
        "iss": issuer, "sub": SUBJECT, "aud": [visit.server.issuer], "iat": now, "nbf": now, "exp": now + 3_600,
    });
    authenticates(rp, visit.key.jwt("JWT", &claims))
}

fn keys_of_a_trusted_issuer(visit: &Visit) -> Asking {
    workload(visit, "https://platform.example", json!({ "jwks_uri": visit.at(KEYS) }))
}

fn metadata_of_a_trusted_issuer(visit: &Visit) -> Asking {
    let keys = format!("{}{KEYS}", visit.fake.issuer);
    visit.fake.set(METADATA, ok(&json!({ "issuer": visit.target, "jwks_uri": keys })));
    workload(visit, &visit.target, json!({}))
}

fn keys_that_metadata_name(visit: &Visit) -> Asking {
    let issuer = &visit.fake.issuer;
    visit.fake.set(METADATA, ok(&json!({ "issuer": issuer, "jwks_uri": visit.at(KEYS) })));
    workload(visit, issuer, json!({}))
}

fn document_of_a_client(visit: &Visit) -> Asking {
    let (_, host) = visit.target.split_once("://").unwrap();
    let settings = json!({ "client_id_metadata_documents": [host] });
    assert_eq!(visit.server.admin("PATCH", "/settings", Some(settings)).status, 200);
    let (id, callback) = (visit.at("/client.json"), visit.at("/callback"));
    let document = json!({
        "client_id": id, "client_name": "Tools", "redirect_uris": [callback], "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code"], "scope": "openid profile email",
    });
    visit.fake.set("/client.json", ok(&document));
    let rp = RelyingParty::known(&visit.server, &id, None, &callback);
    // On to the page where people sign in, or nowhere.
    Box::new(move |visit: &Visit| {
        visit.server.browser().get(&rp.authorization_request().path()).status == 302
    })
}

fn document_of_a_sector(visit: &Visit) -> Asking {
    let uris = json!(["https://a.example/callback", "https://b.example/callback"]);
    visit.fake.set("/sector", ok(&uris));
    let metadata = json!({
        "client_name": "x", "redirect_uris": uris, "subject_type": "pairwise",
        "sector_identifier_uri": visit.at("/sector"),
    });
    Box::new(move |visit: &Visit| visit.server.admin("POST", "/clients", Some(metadata)).status == 201)
}

fn request_object(visit: &Visit) -> Asking {
    let uri = visit.at("/request");
    let rp =
        RelyingParty::register(&visit.server, json!({ "jwks": visit.key.jwks(), "request_uris": [uri] }));
    visit.fake.set("/request", ("200 OK".to_owned(), object(visit, &rp)));
    let (_, browser) = visit.server.signed_in(ANN);
    Box::new(move |_: &Visit| {
        let parameters = [
            ("client_id", &*rp.client_id),
            ("request_uri", &*uri),
            ("response_type", "code"),
            ("scope", "openid"),
            ("redirect_uri", &*rp.redirect_uri),
        ];
        has_code(&browser.get(&authorize(&parameters)))
    })
}

fn told_of_a_logout(visit: &Visit) -> Asking {
    visit.fake.set(LOGOUT, ok(&json!({})));
    let rp = RelyingParty::register(&visit.server, json!({ "backchannel_logout_uri": visit.at(LOGOUT) }));
    let (user, browser) = visit.server.signed_in(ANN);
    rp.sign_in(&browser);
    Box::new(move |visit: &Visit| {
        let ended = visit.server.admin("DELETE", &format!("/users/{user}/sessions"), None);
        assert!(ended.status < 300, "{ended:?}");
        let happened = |event: &str| {
            visit.server.counted(&format!("symbolon_events_total{{event=\"logout.{event}\"}}")) > 0
        };
        // The job does it in its own time.
        for _ in 0..600 {
            if happened("delivered") || happened("postponed") {
                return happened("delivered");
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("nothing became of the logout");
    })
}

fn metadata_of_a_provider(visit: &Visit) -> Asking {
    let mut metadata = visit.fake.metadata();
    metadata["issuer"] = json!(visit.target);
    visit.fake.set(METADATA, ok(&metadata));
    add(&visit.server, "acme", json!({ "issuer": visit.target }));
    let rp = RelyingParty::register(&visit.server, json!({}));
    Box::new(move |visit: &Visit| {
        let browser = visit.server.browser();
        let (transaction, csrf) = hidden(&at_login(&browser, &rp.authorization_request()));
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("provider", "acme")];
        browser.post("/login/provider", &form).status == 303
    })
}

/// Presses the button of a provider; the browser, and the address that it is sent to.
fn pressed(visit: &Visit, provider: &str) -> (Browser, String) {
    let rp = RelyingParty::register(&visit.server, json!({}));
    let browser = visit.server.browser();
    let to = press(&browser, &at_login(&browser, &rp.authorization_request()), provider);
    (browser, to)
}

/// Comes back from a provider with a code.
fn comes_back((browser, to): (Browser, String), provider: &'static str) -> Asking {
    let state = parameter(&to, "state").expect("a state");
    Box::new(move |_: &Visit| {
        has_code(&browser.get(&format!("/login/callback/{provider}?code=c&state={state}")))
    })
}

/// Somebody who comes back from a provider of which one endpoint is where the test wants it. Only UserInfo tells the address of somebody
/// whose ID token tells none.
fn provider(visit: &Visit, endpoint: &str, path: &str) -> Asking {
    let mut metadata = visit.fake.metadata();
    metadata[endpoint] = json!(visit.at(path));
    visit.fake.set(METADATA, ok(&metadata));
    let issuer = &visit.fake.issuer;
    add(&visit.server, "acme", json!({ "issuer": issuer, "sign_up": true }));
    let (browser, to) = pressed(visit, "acme");
    let (nonce, now) = (parameter(&to, "nonce").expect("a nonce"), visit.server.now().seconds());
    let mut person =
        json!({ "iss": issuer, "aud": "us", "sub": "s1", "nonce": nonce, "iat": now, "exp": now + 300 });
    if path == USERINFO {
        visit.fake.set(USERINFO, ok(&json!({ "sub": "s1", "email": ANN, "email_verified": true })));
    } else {
        person["email"] = json!(ANN);
        person["email_verified"] = json!(true);
    }
    visit.fake.say(&visit.key.jwt("JWT", &person));
    comes_back((browser, to), "acme")
}

fn token_of_a_provider(visit: &Visit) -> Asking {
    provider(visit, "token_endpoint", TOKEN)
}

fn keys_of_a_provider(visit: &Visit) -> Asking {
    provider(visit, "jwks_uri", KEYS)
}

fn userinfo_of_a_provider(visit: &Visit) -> Asking {
    provider(visit, "userinfo_endpoint", USERINFO)
}

/// Its addresses are all below that of the server, so that the API is private where the server is.
fn api_of_github(visit: &Visit) -> Asking {
    let tokens = json!({ "access_token": "gh", "token_type": "bearer", "scope": "" });
    visit.fake.set(GITHUB_TOKEN, ok(&tokens));
    let user = json!({ "id": 42, "login": "ann", "name": "Ann", "avatar_url": null });
    visit.fake.set(GITHUB_USER, ok(&user));
    let emails = json!([{ "email": ANN, "primary": true, "verified": true }]);
    visit.fake.set(&format!("{GITHUB_USER}/emails"), ok(&emails));
    let members = json!({
        "preset": "github", "issuer": visit.fake.issuer, "client_secret": "gh-s", "sign_up": true,
    });
    add(&visit.server, "github", members);
    comes_back(pressed(visit, "github"), "github")
}
