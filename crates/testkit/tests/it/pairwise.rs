//! Pairwise subject identifiers (OpenID Connect Core 8, 8.1): each sector knows a person by a name of its own, and everything that ends
//! a token still ends it.

use serde_json::{Value, json};
use symbolon_testkit::{
    Answer, AuthorizationRequest, Browser, Options, RelyingParty, TestServer, TokenSet, decode_jwt,
};

use crate::upstream::fake::{Fake, ok};
use crate::upstream::options;

const EXCHANGE: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ACCESS_TOKEN: &str = "urn:ietf:params:oauth:token-type:access_token";

/// A client of the sector that its host makes.
fn client(server: &TestServer, host: &str, more: Value) -> RelyingParty {
    let mut metadata =
        json!({ "redirect_uris": [format!("https://{host}/callback")], "subject_type": "pairwise" });
    for (name, value) in more.as_object().unwrap() {
        metadata[name] = value.clone();
    }
    RelyingParty::register(server, metadata)
}

fn id_claims(tokens: &TokenSet) -> Value {
    decode_jwt(tokens.id_token.as_deref().expect("an ID token")).1
}

fn text(claims: &Value, name: &str) -> String {
    claims[name].as_str().unwrap_or_else(|| panic!("no {name}: {claims}")).to_owned()
}

fn userinfo(server: &TestServer, token: &str) -> Answer {
    server.browser().get_with("/userinfo", &[("authorization", &format!("Bearer {token}"))])
}

fn introspected(rp: &RelyingParty, token: &str) -> Value {
    rp.post("/introspect", &[("token", token)]).json()
}

fn is_active(rp: &RelyingParty, token: &str) -> bool {
    introspected(rp, token)["active"] == true
}

fn silent(rp: &RelyingParty, browser: &Browser, more: &[(&str, &str)]) -> Answer {
    let asked = rp.authorization_request().with("prompt", "none");
    let asked = more.iter().fold(asked, |asked: AuthorizationRequest, (name, value)| asked.with(name, value));
    browser.get(&asked.path())
}

#[test]
fn a_sector_has_one_name_for_a_person_everywhere_and_another_sector_another() {
    let server = TestServer::start();
    let [a, again, b] = ["a.example", "a.example", "b.example"].map(|host| client(&server, host, json!({})));
    let (user, browser) = server.signed_in("ann@example.com");
    let [of_a, of_again, of_b] = [&a, &again, &b].map(|rp| rp.sign_in(&browser));
    let sub = text(&id_claims(&of_a), "sub");
    assert_eq!(sub.len(), 43);
    assert_eq!(text(&id_claims(&of_again), "sub"), sub, "the same sector");
    let other = text(&id_claims(&of_b), "sub");
    assert!(other != sub && other != user && sub != user);
    let (_, access) = decode_jwt(&of_a.access_token);
    let refresh_token = of_a.refresh_token.as_deref().expect("a refresh token");
    for told in [
        access["sub"].clone(),
        userinfo(&server, &of_a.access_token).json()["sub"].clone(),
        introspected(&a, &of_a.access_token)["sub"].clone(),
        introspected(&a, refresh_token)["sub"].clone(),
        id_claims(&TokenSet::of(&a.refresh(refresh_token)))["sub"].clone(),
    ] {
        assert_eq!(told, json!(sub));
    }
    let path = format!("/clients/{}/preview-tokens?user={user}", a.client_id);
    let preview = server.admin("GET", &path, None).json()["preview"].clone();
    for part in ["id_token", "access_token", "userinfo"] {
        assert_eq!(preview[part]["sub"], json!(sub), "{part}: {preview}");
    }
    // Nothing else that both clients see is the same, or names the person.
    for name in ["gid", "sid"] {
        assert!(access.get(name).is_none(), "{access}");
    }
    assert_ne!(id_claims(&of_a)["sid"], id_claims(&of_b)["sid"]);
    for tokens in [&of_a, &of_b] {
        for claims in [id_claims(tokens), decode_jwt(&tokens.access_token).1] {
            assert!(!claims.to_string().contains(&user), "{claims}");
        }
    }
    let supported = server.browser().get("/.well-known/openid-configuration").json();
    assert_eq!(supported["subject_types_supported"], json!(["public", "pairwise"]));
}

#[test]
fn the_names_stay_over_a_restart() {
    let server = TestServer::start();
    let (issuer, rp) = (server.issuer.clone(), client(&server, "a.example", json!({})));
    let (_, browser) = server.signed_in("ann@example.com");
    let tokens = rp.sign_in(&browser);
    let server = server.restart(Options { seed: 2, ..Options::default() }.issuer(&issuer));
    let rp = rp.at(&server);
    let refreshed = TokenSet::of(&rp.refresh(tokens.refresh_token.as_deref().unwrap()));
    assert_eq!(id_claims(&refreshed)["sub"], id_claims(&tokens)["sub"]);
    assert_eq!(userinfo(&server, &tokens.access_token).status, 200, "a token from before is still read");
}

#[test]
fn the_end_of_person_session_and_token_ends_the_tokens() {
    let server = TestServer::start();
    let rp = client(&server, "a.example", json!({}));
    for how in ["sign-out", "sessions", "revoke"] {
        let (user, browser) = server.signed_in(&format!("{how}@example.com"));
        let (_, bystander) = server.signed_in(&format!("not-{how}@example.com"));
        let [ended, lives] = [&browser, &bystander].map(|browser| rp.sign_in(browser).access_token);
        assert!(is_active(&rp, &ended) && is_active(&rp, &lives));
        let status = match how {
            "sign-out" => server.admin("POST", &format!("/users/{user}/sign-out"), None).status,
            "sessions" => server.admin("DELETE", &format!("/users/{user}/sessions"), None).status,
            _ => rp.post("/revoke", &[("token", &ended)]).status,
        };
        assert!(matches!(status, 200 | 204), "{how}: {status}");
        assert!(!is_active(&rp, &ended) && userinfo(&server, &ended).status == 401, "{how}");
        assert!(is_active(&rp, &lives), "{how}");
    }
}

#[test]
fn a_hint_and_a_sub_name_the_person_to_their_own_sector_alone() {
    let server = TestServer::start();
    let [a, b] = ["a.example", "b.example"].map(|host| client(&server, host, json!({})));
    let public = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("ann@example.com");
    let (_, elsewhere) = server.signed_in("bob@example.com");
    let (own, others) = (a.sign_in(&browser), a.sign_in(&elsewhere));
    let sub = text(&id_claims(&own), "sub");
    let (own, others) = (own.id_token.unwrap(), others.id_token.unwrap());
    let of_public = public.sign_in(&browser).id_token.unwrap();
    let error = |rp: &RelyingParty, more: &[(&str, &str)]| silent(rp, &browser, more).redirected("error");
    let refused = Some("login_required".to_owned());
    assert_eq!(error(&a, &[("id_token_hint", &own)]), None);
    assert_eq!(error(&a, &[("id_token_hint", &others)]), refused);
    // Whether another sector's hint fits would join the two names.
    assert_eq!(error(&b, &[("id_token_hint", &own)]), refused);
    assert_eq!(error(&public, &[("id_token_hint", &own)]), refused);
    assert_eq!(error(&a, &[("id_token_hint", &of_public)]), refused);
    let asking = |sub: &str| json!({ "id_token": { "sub": { "value": sub } } }).to_string();
    assert_eq!(error(&a, &[("claims", &asking(&sub))]), None);
    for nobody in [&sub[1..], &*user, "not an id"] {
        assert_eq!(error(&a, &[("claims", &asking(nobody))]), refused, "{nobody}");
    }
    assert_eq!(error(&b, &[("claims", &asking(&sub))]), refused);
    // Another account of the browser is found by both.
    browser.set_cookie("symbolon_accounts", &elsewhere.cookie("symbolon_session").unwrap());
    assert_eq!(error(&a, &[("id_token_hint", &others)]), None);
    let bobs = text(&decode_jwt(&others).1, "sub");
    let request = a.authorization_request().with("prompt", "none").with("claims", &asking(&bobs));
    assert_eq!(id_claims(&a.sign_in_with(&browser, request))["sub"], json!(bobs));
}

#[test]
fn a_logout_is_found_by_the_hint_and_tells_each_client_its_own_names() {
    let server = TestServer::start_with(options());
    let fake = Fake::start(&json!({ "keys": [] }));
    let more = json!({
        "backchannel_logout_uri": format!("{}/logout", fake.issuer),
        "frontchannel_logout_uri": "https://a.example/out",
    });
    fake.set("/logout", ok(&json!({})));
    let a = client(&server, "a.example", more);
    let (_, browser) = server.signed_in("ann@example.com");
    let tokens = a.sign_in(&browser);
    let claims = id_claims(&tokens);
    let hint = tokens.id_token.clone().unwrap();
    // From a browser without the session's cookie: the hint alone finds the session.
    assert_eq!(server.browser().get(&format!("/logout?id_token_hint={hint}")).status, 200);
    assert!(!is_active(&a, &tokens.access_token));
    let token = (0..600).find_map(|_| {
        let request = fake.requests("/logout").pop();
        if request.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        request
    });
    let token = token.expect("a logout token");
    let token = token.split_once("logout_token=").expect("the parameter").1;
    let told = decode_jwt(token).1;
    assert_eq!((&told["sub"], &told["sid"]), (&claims["sub"], &claims["sid"]));
    // And the frame of the signed-out page.
    let (_, browser) = server.signed_in("bob@example.com");
    let tokens = a.sign_in(&browser);
    let page = browser.get(&format!("/logout?id_token_hint={}", tokens.id_token.as_deref().unwrap()));
    assert!(page.body.contains(&format!("sid={}", text(&id_claims(&tokens), "sid"))), "{page:?}");
}

#[test]
fn a_token_is_exchanged_within_its_sector_alone() {
    let server = TestServer::start();
    let a = client(&server, "a.example", json!({}));
    let [service, of_b, public] =
        [("a.example", "pairwise"), ("b.example", "pairwise"), ("c.example", "public")].map(
            |(host, subject_type)| {
                client(
                    &server,
                    host,
                    json!({ "subject_type": subject_type, "allowed_subject_token_clients": [a.client_id] }),
                )
            },
        );
    let (_, browser) = server.signed_in("ann@example.com");
    let subject = a.sign_in(&browser).access_token;
    let exchange = |rp: &RelyingParty| {
        let form =
            [("grant_type", EXCHANGE), ("subject_token", &*subject), ("subject_token_type", ACCESS_TOKEN)];
        rp.token(&form)
    };
    let result = TokenSet::of(&exchange(&service)).access_token;
    assert_eq!(decode_jwt(&result).1["sub"], decode_jwt(&subject).1["sub"]);
    for rp in [&of_b, &public] {
        let answer = exchange(rp);
        assert_eq!((answer.status, answer.error()), (400, "invalid_grant".to_owned()), "{answer:?}");
    }
    assert!(is_active(&service, &result));
    assert_eq!(a.post("/revoke", &[("token", &subject)]).status, 200);
    assert!(!is_active(&service, &result), "it dies with its subject");
}

#[test]
fn the_document_of_a_sector_must_list_the_redirect_uris_when_the_client_is_saved() {
    let server = TestServer::start_with(options().one_node());
    let fake = Fake::start(&json!({ "keys": [] }));
    let uris = ["https://a.example/callback", "https://b.example/callback"];
    let at = format!("{}/sector", fake.issuer);
    let body = json!({
        "client_name": "x", "redirect_uris": uris, "subject_type": "pairwise", "sector_identifier_uri": at,
    });
    let save = || server.admin("POST", "/clients", Some(body.clone()));
    let missing = save();
    assert!(
        missing.status == 400 && missing.body.contains("sector_identifier_uri could not be read"),
        "{missing:?}"
    );
    fake.set("/sector", ok(&json!([uris[0]])));
    let short = save();
    assert!(
        short.status == 400 && short.body.contains("leads to a list without https://b.example/callback"),
        "{short:?}"
    );
    fake.set("/sector", ok(&json!(uris)));
    let saved = save();
    assert_eq!(saved.status, 201, "{saved:?}");
    let shown = saved.json()["client"].clone();
    assert_eq!((&shown["subject_type"], &shown["sector_identifier_uri"]), (&json!("pairwise"), &json!(at)));
    let asked = fake.requests("/sector").len();
    let path = format!("/clients/{}", text(&shown, "client_id"));
    assert_eq!(server.admin("PATCH", &path, Some(json!({ "client_name": "y" }))).status, 200);
    assert_eq!(fake.requests("/sector").len(), asked, "nothing changed of what it was read for");
    let wider = json!({ "redirect_uris": [uris[0], "https://evil.example/"] });
    assert_eq!(server.admin("PATCH", &path, Some(wider)).status, 400);
    // Applications that register themselves.
    let open = json!({ "client_registration": "open" });
    assert_eq!(server.admin("PATCH", "/settings", Some(open)).status, 200);
    let register = |body: &Value| {
        let headers = [("content-type", "application/json")];
        server.browser().send("POST", "/connect/register", &headers, body.to_string().as_bytes())
    };
    let own = register(&body);
    assert!(own.status == 201 && own.json()["subject_type"] == "pairwise", "{own:?}");
    let mut other = body.clone();
    other["redirect_uris"] = json!(["https://evil.example/"]);
    let refused = register(&other);
    assert_eq!((refused.status, refused.error()), (400, "invalid_client_metadata".to_owned()), "{refused:?}");
}
