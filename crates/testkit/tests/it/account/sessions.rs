//! The page of sessions.

use serde_json::{Value, json};

use super::{audited, demo, demo_id, send, send_of, signed_in};
use crate::login::{PASSWORD, Scene, hidden};

/// The values of the buttons that end a session.
fn ends(page: &str) -> Vec<String> {
    let pieces = page.split("name=\"end\" value=\"").skip(1);
    pieces.map(|piece| piece.split_once('"').unwrap().0.to_owned()).collect()
}

#[test]
fn sessions_are_listed_and_ended_one_by_one() {
    let scene = Scene::new();
    let (first, second) = (demo(&scene), demo(&scene));
    let page = first.get("/account/sessions");
    assert!(page.body.contains("This browser") && page.body.contains("Another browser"), "{}", page.body);
    assert!(page.body.contains("password"));
    let sids = ends(&page.body);
    assert_eq!(sids.len(), 1, "this browser's has no button");
    for _ in 0..2 {
        let ended = send_of(&first, "/account/sessions", &page, &[("end", &sids[0])]);
        assert_eq!((ended.status, &*ended.location()), (303, "/account/sessions?done=sessions"));
    }
    assert_eq!(second.get("/account").status, 302);
    let page = first.get("/account/sessions?done=sessions");
    assert!(page.body.contains("That is ended.") && ends(&page.body).is_empty());
    let record = audited(&scene, "session.ended");
    assert_eq!((&record["actor"], &record["detail"]["self"]), (&"user".into(), &true.into()), "{record}");
}

#[test]
fn each_session_says_where_it_began() {
    let scene = Scene::new();
    let browser = scene.server.browser();
    let page = scene.at_login(&browser, &scene.rp.authorization_request());
    let (transaction, csrf) = hidden(&page);
    let form = [
        ("transaction", &*transaction),
        ("csrf_token", &*csrf),
        ("username", &*scene.demo.email),
        ("password", &*scene.demo.password),
    ];
    let user_agent = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0 <b>";
    assert_eq!(browser.post_with("/login", &form, &[("user-agent", user_agent)]).status, 303);
    demo(&scene);
    let page = browser.get("/account/sessions");
    let (own, other) = page.body.split_once("</li>").unwrap();
    assert!(own.contains("This browser") && own.contains("<bdi>Firefox · Linux</bdi>"), "{own}");
    assert!(own.contains("<bdi>127.0.0.1</bdi>") && other.contains("<bdi>127.0.0.1</bdi>"), "{}", page.body);
    assert!(!other.contains("Firefox") && !page.body.contains("Gecko"), "{}", page.body);
    let export = browser.get("/account/data/export").json();
    let origins: Vec<_> = export["sessions"].as_array().unwrap().iter().map(|one| &one["origin"]).collect();
    assert!(origins.iter().any(|origin| origin["device"] == "Firefox · Linux"), "{export}");
    assert!(origins.iter().all(|origin| origin["address"] == "127.0.0.1"), "{export}");
    administrators_see_it(&scene);
}

/// In the list of all sessions, in that of a user, and of one session.
fn administrators_see_it(scene: &Scene) {
    let user = demo_id(scene);
    let firefox = json!(["Firefox · Linux", "Linux", "127.0.0.1"]);
    let origin = |session: &Value| json!([session["device"], session["system"], session["address"]]);
    for path in
        ["/sessions".to_owned(), format!("/sessions?user_id={user}"), format!("/users/{user}/sessions")]
    {
        let listed = scene.server.admin("GET", &path, None).json();
        let sessions = listed["sessions"].as_array().unwrap();
        assert_eq!(sessions.len(), 2, "{path}");
        let own = sessions.iter().find(|session| session["device"] == "Firefox · Linux").expect("the one");
        assert_eq!(origin(own), firefox, "{path}");
        let other = sessions.iter().find(|session| session["sid"] != own["sid"]).unwrap();
        assert_eq!(origin(other), json!([null, null, "127.0.0.1"]), "{path}");
        let path = format!("/sessions/{}", own["sid"].as_str().unwrap());
        assert_eq!(origin(&scene.server.admin("GET", &path, None).json()["session"]), firefox);
    }
    // Of a session that nobody signed in for, nothing was noted.
    assert_eq!(scene.server.admin("POST", "/test/sessions", Some(json!({ "user_id": "other" }))).status, 201);
    let listed = scene.server.admin("GET", "/users/other/sessions", None).json();
    assert_eq!(origin(&listed["sessions"][0]), json!([null, null, null]), "{listed}");
}

#[test]
fn nobody_ends_the_sessions_of_somebody_else() {
    let scene = Scene::new();
    let (own, other) = (demo(&scene), signed_in(&scene, "other@example.com", PASSWORD));
    let second = demo(&scene);
    let sid = ends(&own.get("/account/sessions").body).remove(0);
    for sid in [&*sid, "nonsense", ""] {
        assert_eq!(send(&other, "/account/sessions", &[("end", sid)]).status, 303);
    }
    assert_eq!(second.get("/account").status, 200);
}

#[test]
fn all_others_end_at_once_and_this_one_stays() {
    let scene = Scene::new();
    let others: Vec<_> = (0..3).map(|_| demo(&scene)).collect();
    let own = demo(&scene);
    assert_eq!(send(&own, "/account/sessions", &[("end_others", "true")]).status, 303);
    assert!(others.iter().all(|browser| browser.get("/account").status == 302));
    assert_eq!(own.get("/account").status, 200);
}
