//! What the answer of another provider means for the accounts here.

use serde_json::json;
use symbolon_testkit::{Browser, RelyingParty};

use super::{ANN, Scene, add, at_login, claims, local, user};

/// Somebody without an account gets one, and comes back to it, whatever the address is then.
#[test]
fn who_signs_up_comes_back_to_the_same_account() {
    let scene = Scene::new(json!({ "sign_up": true }));
    let (theirs, person) = scene.upstream.signed_in(ANN);
    let mut subjects = Vec::new();
    for email in [ANN, "new@example.com"] {
        let changed =
            scene.upstream.admin("PATCH", &format!("/users/{theirs}"), Some(json!({ "email": email })));
        assert_eq!(changed.status, 200, "{changed:?}");
        let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
        let done = scene.through(&browser, &person, &request);
        let claims = claims(&scene.rp, &request, &done);
        assert_eq!((&claims["email"], &claims["name"]), (&json!(ANN), &json!("A person")));
        assert_eq!((&claims["amr"], &claims["acr"]), (&json!(["fed"]), &json!("urn:symbolon:acr:1")));
        subjects.push(claims["sub"].clone());
    }
    assert_eq!(subjects[0], subjects[1]);
    let made = user(&scene.server, ANN);
    assert_eq!((&made["email_verified"], &made["locale"]), (&json!(true), &json!("en")), "that of the pages");
    assert!(user(&scene.server, "new@example.com").is_null());
}

#[test]
fn a_stranger_is_told_what_to_do_where_nobody_signs_up() {
    let scene = Scene::new(json!({}));
    let (_, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let refused = scene.through(&browser, &person, &request);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert!(refused.body.contains("No account here is connected"), "{}", refused.body);
    assert!(refused.body.contains("Continue with <bdi>Acme</bdi>"), "{}", refused.body);
    assert!(user(&scene.server, ANN).is_null());
    assert_eq!(browser.cookie("symbolon_session"), None);
}

/// An address that both sides verified connects; one that either side did not verify does not.
#[test]
fn an_account_is_connected_only_by_an_address_that_both_sides_verified() {
    for (here, there, setting, connects) in [
        (true, true, true, true),
        (true, true, false, false),
        (false, true, true, false),
        (true, false, true, false),
    ] {
        let scene = Scene::new(json!({ "link_by_verified_email": setting }));
        let own = scene.server.create_user(ANN);
        let (theirs, person) = scene.upstream.signed_in(ANN);
        for (server, id, verified) in [(&scene.server, &own, here), (&scene.upstream, &theirs, there)] {
            let body = json!({ "email_verified": verified });
            assert_eq!(server.admin("PATCH", &format!("/users/{id}"), Some(body)).status, 200);
        }
        let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
        let done = scene.through(&browser, &person, &request);
        if connects {
            assert_eq!(claims(&scene.rp, &request, &done)["sub"], *own);
        } else {
            assert_eq!(done.status, 403, "{here} {there} {setting}: {done:?}");
            assert_eq!(browser.cookie("symbolon_session"), None);
        }
    }
}

/// Every spelling of an address is one address; a letter that only looks the same makes another one, with a mailbox of its own.
#[test]
fn an_address_that_only_looks_the_same_is_not_connected_and_every_spelling_is() {
    let scene = Scene::new(json!({ "link_by_verified_email": true }));
    let ann = scene.server.create_user("ann@m\u{fc}ller.example");
    let bea = scene.server.create_user("bea@m\u{fc}ller.example");
    let sign_in = |person: &Browser| {
        let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
        let done = scene.through(&browser, person, &request);
        (browser, request, done)
    };
    // Cyrillic letters before and behind the @, a mark less, one more, and one of another letter.
    let look_alikes = [
        "\u{430}nn@m\u{fc}ller.example",
        "ann@m\u{fc}ll\u{435}r.example",
        "ann@muller.example",
        "ann@mu\u{308}\u{308}ller.example",
        "ann@m\u{171}ller.example",
    ];
    let people = look_alikes.map(|email| (email, scene.upstream.signed_in(email).1));
    for (email, person) in &people {
        let (browser, _, refused) = sign_in(person);
        assert_eq!(refused.status, 403, "{email}: {refused:?}");
        assert_eq!(browser.cookie("symbolon_session"), None, "{email}");
    }
    // Decomposed, and in capitals.
    for (spelling, own) in [("ann@mu\u{308}ller.example", &ann), ("BEA@M\u{dc}LLER.EXAMPLE", &bea)] {
        let (_, person) = scene.upstream.signed_in(spelling);
        let (_, request, done) = sign_in(&person);
        assert_eq!(claims(&scene.rp, &request, &done)["sub"], **own, "{spelling}");
    }
    let open = json!({ "sign_up": true });
    assert_eq!(scene.server.admin("PATCH", "/identity-providers/acme", Some(open)).status, 200);
    for (email, person) in &people {
        let (_, request, done) = sign_in(person);
        let claims = claims(&scene.rp, &request, &done);
        assert_eq!(claims["email"], **email, "an account of its own");
        assert!(claims["sub"] != *ann && claims["sub"] != *bea, "{email}: {claims}");
    }
}

/// The address was given to somebody else at the provider: the account is not theirs.
#[test]
fn an_address_that_was_registered_again_leads_to_no_account() {
    let scene = Scene::new(json!({ "link_by_verified_email": true }));
    let own = scene.server.create_user(ANN);
    let (theirs, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let done = scene.through(&browser, &person, &request);
    assert_eq!(claims(&scene.rp, &request, &done)["sub"], *own);

    assert_eq!(scene.upstream.admin("DELETE", &format!("/users/{theirs}"), None).status, 204);
    let (_, other) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let refused = scene.through(&browser, &other, &request);
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(browser.cookie("symbolon_session"), None);
}

/// A deactivated user is not let in by another door, and a deleted provider lets nobody in.
#[test]
fn who_may_not_sign_in_does_not_by_another_provider() {
    let scene = Scene::new(json!({ "link_by_verified_email": true }));
    let own = scene.server.create_user(ANN);
    let (_, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let done = scene.through(&browser, &person, &request);
    assert_eq!(claims(&scene.rp, &request, &done)["sub"], *own);
    let off = json!({ "active": false });
    assert_eq!(scene.server.admin("PATCH", &format!("/users/{own}"), Some(off)).status, 200);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    assert_eq!(scene.through(&browser, &person, &request).status, 403);

    let callback = scene.there(&browser, &person, &request);
    assert_eq!(scene.server.admin("DELETE", "/identity-providers/acme", None).status, 204);
    let gone = browser.get(&callback);
    assert_eq!(gone.location(), "/", "{gone:?}");
    let page = at_login(&browser, &request);
    assert!(!page.body.contains("Acme"), "{}", page.body);
}

/// Another provider is one factor, whatever it asked for itself.
#[test]
fn a_second_factor_is_still_asked_for() {
    let scene = Scene::new(json!({ "sign_up": true }));
    let required = json!({ "second_factor": "required" });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(required)).status, 200);
    let (_, person) = scene.upstream.signed_in(ANN);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let asked = scene.through(&browser, &person, &request);
    assert!(asked.location().starts_with("/login/second-factor?transaction="), "{asked:?}");
    assert_eq!(browser.cookie("symbolon_session"), None);
}

/// On the account page another provider is connected, signs in to the same account, and is disconnected; the last one is not.
#[test]
fn an_account_is_connected_on_its_page_and_keeps_one_way_to_sign_in() {
    let scene = Scene::new(json!({ "sign_up": true }));
    let redirect_uris = json!([format!("{}/login/callback/other", scene.server.issuer)]);
    let own = RelyingParty::register(&scene.upstream, json!({ "redirect_uris": redirect_uris }));
    let members = json!({
        "name": "Other", "issuer": scene.upstream.issuer, "client_id": own.client_id,
        "client_secret": own.client_secret,
    });
    add(&scene.server, "other", members);
    let (_, ann) = scene.upstream.signed_in(ANN);
    let (_, bea) = scene.upstream.signed_in("bea@example.com");
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let subject = claims(&scene.rp, &request, &scene.through(&browser, &ann, &request))["sub"].clone();

    let press = |name: &str, value: &str| {
        let page = browser.get("/account/security");
        let csrf = page.field("csrf_token").unwrap_or_else(|| panic!("{page:?}"));
        browser.post("/account/security", &[("csrf_token", &csrf), (name, value)])
    };
    let led = press("connect", "other");
    assert!(led.location().starts_with(&scene.upstream.issuer), "{led:?}");
    let back = local(&bea.get(&local(&led.location())).location());
    let stranger = scene.server.browser();
    assert_eq!(stranger.get(&back).location(), "/", "the answer is this browser's");
    assert_eq!(browser.get(&back).location(), "/account/security?done=connected");
    let page = browser.get("/account/security");
    assert!(page.body.contains("bea@example.com") && page.body.contains("value=\"other\""), "{}", page.body);
    scene.server.drain_audit();
    let linked = scene.server.admin("GET", "/audit-logs?event=identity.linked", None).json();
    assert_eq!(linked["audit_logs"][0]["detail"]["by"], "session", "{linked}");

    let elsewhere = scene.server.browser();
    let request = scene.rp.authorization_request();
    let to = super::press(&elsewhere, &at_login(&elsewhere, &request), "other");
    let back = local(&bea.get(&local(&to)).location());
    assert_eq!(claims(&scene.rp, &request, &elsewhere.get(&back))["sub"], subject);

    assert_eq!(press("disconnect", "acme").location(), "/account/security?done=disconnected");
    let last = press("disconnect", "other");
    assert_eq!(last.status, 409, "{last:?}");
    assert!(last.body.contains("only way to sign in"), "{}", last.body);
}

/// The domain of an address leads to its provider, where the page asks for the name first.
#[test]
fn an_address_leads_to_the_provider_of_its_domain() {
    let scene = Scene::new(json!({ "email_domains": ["example.com"] }));
    let first = json!({ "sign_in_page": "identifier_first" });
    assert_eq!(scene.server.admin("PATCH", "/settings", Some(first)).status, 200);
    let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
    let page = at_login(&browser, &request);
    let (transaction, csrf) = crate::login::hidden(&page);
    let next = |name: &str| {
        let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("username", name)];
        browser.post("/login", &form).location()
    };
    let led = next("Ann@Example.com");
    assert!(led.starts_with(&scene.upstream.issuer), "{led}");
    assert_eq!(super::parameter(&led, "login_hint").as_deref(), Some("Ann@Example.com"));
    for other in ["ann@example.org", "ann", "ann@sub.example.com"] {
        assert!(next(other).starts_with("/login?transaction="), "{other}");
    }
}

/// Groups follow the provider's at each sign-in.
#[test]
fn groups_follow_those_of_the_provider() {
    let mapping = json!({ "claim": "groups", "groups": { "Admins": "admins", "Staff": "staff" } });
    let scopes = json!(["openid", "email", "profile", "groups"]);
    let scene = Scene::new(json!({ "sign_up": true, "groups": mapping, "scopes": scopes }));
    let clients = scene.upstream.admin("GET", "/clients", None).json();
    let client = clients["clients"][0]["client_id"].as_str().unwrap().to_owned();
    let scope = json!({ "scope": "openid profile email groups" });
    assert_eq!(scene.upstream.admin("PATCH", &format!("/clients/{client}"), Some(scope)).status, 200);
    for (server, groups) in [(&scene.upstream, ["Admins", "Staff"]), (&scene.server, ["admins", "staff"])] {
        for group in groups {
            let body = json!({ "id": group, "name": group });
            assert_eq!(server.admin("POST", "/groups", Some(body)).status, 201);
        }
    }
    let (theirs, person) = scene.upstream.signed_in(ANN);
    let member = |method: &str, group: &str| {
        let answer = scene.upstream.admin(method, &format!("/groups/{group}/members/{theirs}"), None);
        assert!(answer.status < 300, "{answer:?}");
    };
    for (join, leave, expected) in
        [("Admins", None, json!(["admins"])), ("Staff", Some("Admins"), json!(["staff"]))]
    {
        member("PUT", join);
        leave.into_iter().for_each(|group| member("DELETE", group));
        let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
        let subject = claims(&scene.rp, &request, &scene.through(&browser, &person, &request))["sub"].clone();
        let groups =
            scene.server.admin("GET", &format!("/users/{}/groups", subject.as_str().unwrap()), None).json();
        let ids: Vec<_> =
            groups["groups"].as_array().unwrap().iter().map(|group| group["id"].clone()).collect();
        assert_eq!(json!(ids), expected, "{groups}");
    }
}

/// A new account takes what the mapping names, from the claim that it names, and nothing else; later it is the person's own.
#[test]
fn a_new_account_takes_the_claims_that_are_mapped() {
    let claims_of =
        json!({ "email": "email", "name": "nickname", "nickname": "name", "zoneinfo": "zoneinfo" });
    let scene = Scene::new(json!({ "sign_up": true, "claims": claims_of }));
    let (theirs, person) = scene.upstream.signed_in(ANN);
    let describe = |nickname: &str| {
        let body = json!({
            "name": "Ann Smith", "nickname": nickname, "given_name": "Ann", "zoneinfo": "Europe/Berlin",
            "website": "https://ann.example/",
        });
        let answer = scene.upstream.admin("PATCH", &format!("/users/{theirs}"), Some(body));
        assert_eq!(answer.status, 200, "{answer:?}");
    };
    let sign_in = || {
        let (browser, request) = (scene.server.browser(), scene.rp.authorization_request());
        let done = scene.through(&browser, &person, &request);
        claims(&scene.rp, &request, &done)["sub"].clone()
    };
    describe("Annie");
    let subject = sign_in();
    let taken = || {
        let user = user(&scene.server, ANN);
        assert_eq!(user["id"], subject, "{user}");
        let told = ["name", "nickname", "zoneinfo", "given_name", "website"].map(|name| user[name].clone());
        json!(told)
    };
    assert_eq!(taken(), json!(["Annie", "Ann Smith", "Europe/Berlin", null, null]));
    describe("Anna");
    assert_eq!(
        (sign_in(), taken()),
        (subject.clone(), json!(["Annie", "Ann Smith", "Europe/Berlin", null, null]))
    );
}
