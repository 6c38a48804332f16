//! `symbolon session`, `symbolon grant` and `symbolon audit`, with a server and without.

use serde_json::{Value, json};

use crate::place::Place;

/// Two users, two clients, two sessions of Ann and one of Bob, and a refresh token of each client of Ann's. They are
/// made at a server.
fn prepare(place: &Place) {
    for (id, email) in [("ann", "ann@example.com"), ("bob", "bob@example.com")] {
        place.run(&["user", "create", "--no-password", "--id", id, "--email", email]).good();
    }
    for (id, name) in [("mail", "Mail"), ("shop", "Shop")] {
        let grants = ["--grant-type", "authorization_code", "--grant-type", "refresh_token"];
        let client =
            ["client", "create", "--client-id", id, "--name", name, "--redirect-uri", "https://a.example/cb"];
        place.run(&[&client[..], &grants, &["--scope", "openid offline_access"]].concat()).good();
    }
    for user in ["ann", "ann", "bob"] {
        assert_eq!(place.admin("POST", "/sessions/bulk", &json!({ "user_id": user }).to_string()).0, 200);
    }
    for client in ["mail", "shop"] {
        let line = json!({ "client_id": client, "user_id": "ann", "scope": "openid offline_access" });
        assert_eq!(place.admin("POST", "/refresh-tokens/bulk", &line.to_string()).0, 200);
    }
}

fn sessions(place: &Place, more: &[&str]) -> Vec<Value> {
    let listed = place.run(&[&["session", "list", "--json"][..], more].concat()).json();
    listed.as_array().unwrap().clone()
}

fn sessions_end(place: &Place) {
    assert_eq!(sessions(place, &[]).len(), 3);
    let of_ann = sessions(place, &["--user", "ann@example.com"]);
    assert_eq!((of_ann.len(), &of_ann[0]["user_id"]), (2, &json!("ann")));
    let table = place.run(&["session", "list", "--user", "ann"]).good();
    assert!(table.starts_with("SID ") && table.contains('T') && table.contains('Z'), "{table}");
    assert!(table.lines().next().unwrap().contains("DEVICE") && table.contains("ADDRESS"), "{table}");
    assert!(of_ann[0]["device"].is_null() && of_ann[0]["address"].is_null(), "nobody signed in: {of_ann:?}");
    for more in [&["--limit", "2"][..], &["--limit", "1", "--user", "ann"]] {
        let cut = place.run(&[&["session", "list", "--json"][..], more].concat());
        assert!(cut.error.contains("there are more"), "{more:?}: {}", cut.error);
        let wanted: usize = more[1].parse().unwrap();
        assert_eq!(cut.json().as_array().unwrap().len(), wanted, "{more:?}");
    }
    assert_eq!(place.run(&["session", "list", "--limit", "3"]).error, "");

    let sid = of_ann[0]["sid"].as_str().unwrap();
    let told = place.run(&["session", "end", sid]).good();
    assert!(told.contains(sid) && told.contains("is ended"), "{told}");
    let again = place.run(&["session", "end", sid]).bad(1);
    assert!(again.contains("no live session") && again.contains("session list"), "{again}");
    assert_eq!(sessions(place, &["--user", "ann"]).len(), 1);
    let ended = place.run(&["session", "end", "--user", "ANN@example.com", "--json"]).json();
    assert_eq!(ended, json!({ "user_id": "ann", "ended": 1 }));
    assert_eq!(sessions(place, &[]).len(), 1, "Bob's goes on");
    for arguments in [&["session", "end"][..], &["session", "end", sid, "--user", "ann"]] {
        place.run(arguments).bad(2);
    }
    assert!(place.run(&["session", "list", "--user", "nobody"]).bad(1).contains("no user"));
}

fn granted(place: &Place) -> Vec<Value> {
    let listed = place.run(&["grant", "list", "ann@example.com", "--json"]).json();
    listed.as_array().unwrap().iter().map(|grant| grant["client_id"].clone()).collect()
}

fn grants_end(place: &Place) {
    assert_eq!(granted(place), [json!("mail"), json!("shop")]);
    let table = place.run(&["grant", "list", "ann"]).good();
    assert!(table.starts_with("CLIENT ") && table.contains("openid offline_access"), "{table}");
    let told = place.run(&["grant", "end", "ann", "Mail"]).good();
    assert_eq!(told, "what mail had of ann is ended\n");
    assert_eq!(granted(place), [json!("shop")]);
    let mistyped = place.run(&["grant", "end", "ann", "shpo"]).bad(1);
    assert!(mistyped.contains("no client \"shpo\""), "{mistyped}");
    assert_eq!(granted(place), [json!("shop")]);
    place.run(&["grant", "end", "ann", "--all", "--yes"]).good();
    assert_eq!(granted(place), [] as [Value; 0]);
    for arguments in
        [&["grant", "end", "ann"][..], &["grant", "end", "ann", "mail", "--all"], &["grant", "list"]]
    {
        place.run(arguments).bad(2);
    }
}

fn audited(place: &Place, more: &[&str]) -> Vec<Value> {
    let found = place.run(&[&["audit", "search", "--json"][..], more].concat()).json();
    found.as_array().unwrap().clone()
}

fn the_audit_log_is_searched(place: &Place) {
    let of_ann = audited(place, &["--user", "ann@example.com", "--event", "grant.ended"]);
    assert!(of_ann.len() >= 2 && of_ann.iter().all(|record| record["user"] == "ann"), "{of_ann:?}");
    let times: Vec<u64> = of_ann.iter().map(|record| record["at"].as_u64().unwrap()).collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "newest first: {times:?}");
    let of_mail = audited(place, &["--client", "Mail"]);
    assert!(of_mail.iter().any(|record| record["event"] == "client.created"), "{of_mail:?}");
    assert!(of_mail.iter().all(|record| record["client"] == "mail"), "{of_mail:?}");

    assert_eq!(audited(place, &["--to", "2020-01-01"]), [] as [Value; 0]);
    assert_eq!(
        audited(place, &["--from", "1h", "--limit", "0"]).len(),
        audited(place, &["--limit", "0"]).len()
    );
    let table = place.run(&["audit", "search", "--event", "user.created"]).good();
    assert!(table.starts_with("AT ") && table.contains("user.created") && table.contains('Z'), "{table}");
    let cut = place.run(&["audit", "search", "--limit", "1"]);
    assert!(cut.error.contains("there are more"), "{}", cut.error);
    assert_eq!(cut.good().lines().count(), 2);

    // What is deleted is found by its id.
    place.run(&["client", "delete", "shop"]).good();
    let gone = place.run(&["audit", "search", "--client", "shop", "--event", "client.deleted", "--json"]);
    assert!(gone.error.contains("searched for as an id"), "{}", gone.error);
    assert_eq!(gone.json().as_array().unwrap().len(), 1);
    for bad in [&["--event", "client.crated"][..], &["--from", "yesterday"], &["--limit", "x"]] {
        place.run(&[&["audit", "search"][..], bad].concat()).bad(2);
    }
}

fn all(place: &Place) {
    sessions_end(place);
    grants_end(place);
    the_audit_log_is_searched(place);
}

#[test]
fn sessions_grants_and_the_audit_log_at_the_server() {
    let place = Place::new();
    let _server = place.serve(&[]);
    prepare(&place);
    all(&place);
}

#[test]
fn sessions_grants_and_the_audit_log_without_a_server() {
    let place = Place::new();
    let mut server = place.serve(&[]);
    prepare(&place);
    server.terminate();
    assert_eq!(server.ended(), Some(0));
    all(&place);
}
