//! `symbolon client why` and `symbolon explain`.

use serde_json::json;

use crate::place::{Place, Server};

const REGISTERED: &str = "https://app.example/cb";

/// A server with a client, of which two requests were refused; the request ids.
fn with_failures(place: &Place) -> (Server, [&'static str; 2]) {
    let create = ["client", "create", "--name", "App", "--client-id", "app", "--redirect-uri", REGISTERED];
    place.run(&create).good();
    let server = place.serve(&[]);
    let ids = ["slash-at-the-end", "wrong-secret-1"];
    let path = "/authorize?client_id=app&response_type=code&scope=openid&redirect_uri=https%3A%2F%2Fapp.example%2Fcb%2F";
    let page = Place::ask(&place.listen(), &format!("GET {path} HTTP/1.1\r\nx-request-id: {}", ids[0]), "");
    assert!(page.starts_with("HTTP/1.1 400"), "{page}");
    let form = "grant_type=client_credentials&client_id=app&client_secret=not-the-secret-of-the-client-000";
    let kind = "content-type: application/x-www-form-urlencoded";
    let head = format!("POST /token HTTP/1.1\r\n{kind}\r\nx-request-id: {}", ids[1]);
    let refused = Place::ask(&place.listen(), &head, form);
    assert!(
        refused.starts_with("HTTP/1.1 401") && refused.contains("client authentication failed"),
        "{refused}"
    );
    (server, ids)
}

/// The same with a server and without.
fn ask(place: &Place, ids: [&str; 2]) {
    let slash = place.run(&["explain", ids[0]]).good();
    for text in [
        "redirect_uri_not_registered",
        "`redirect_uri` was https://app.example/cb/, registered is https://app.example/cb: it differs in the slash",
        "Mend: ",
        "client app",
        "address 127.0.0.1",
    ] {
        assert!(slash.contains(text), "{text} is not in {slash}");
    }
    let why = place.run(&["client", "why", "app"]).good();
    let (secret, uri) =
        (why.find("client_secret_wrong").unwrap(), why.find("redirect_uri_not_registered").unwrap());
    assert!(secret < uri, "the newest first: {why}");
    assert!(!why.contains("not-the-secret"), "{why}");
    let one = place.run(&["client", "why", "app", "--limit", "1", "--json"]).json();
    assert_eq!((one.as_array().unwrap().len(), &one[0]["request_id"]), (1, &json!(ids[1])));
    assert_eq!(place.run(&["explain", ids[1], "--json"]).json()[0]["reason"], "client_secret_wrong");
    assert!(place.run(&["explain", "no-such-request"]).bad(1).contains("404"));
    assert_eq!(place.run(&["client", "why", "App"]).good(), why, "a client is also found by its name");
    assert!(place.run(&["client", "why", "nobody"]).bad(1).contains("no such client"));
    assert!(place.run(&["client", "why", "app", "--issuer", "nobody"]).bad(1).contains("404"));
    for (option, value, found) in [
        ("--request", ids[0], Some(ids[0])),
        ("--address", "127.0.0.1", Some(ids[1])),
        ("--address", "192.0.2.1", None),
        ("--name", "nobody@example.com", None),
    ] {
        let refused = ["audit", "search", "--event", "request.refused", "--json", option, value];
        let newest = place.run(&refused).json()[0]["request"].clone();
        assert_eq!(newest.as_str(), found, "{option} {value}");
    }
    let all = place.run(&["client", "why", "app", "--limit", "0", "--json"]).json();
    assert_eq!(all.as_array().unwrap().len(), 2, "{all}");
    let part = place.run(&["client", "why", "app", "--limit", "1"]);
    assert!(part.error.contains("there are more than these 1"), "{}", part.error);
    let whole = place.run(&["client", "why", "app", "--limit", "2"]);
    assert!(!whole.error.contains("more"), "{}", whole.error);
    let at_issuer = place.run(&["issuer", "why", "--json"]).json();
    assert_eq!(at_issuer, all, "no other request was refused at this issuer");
    place.run(&["explain"]).bad(2);
}

#[test]
fn one_command_says_why_with_a_server_and_without() {
    let place = Place::new();
    let (server, ids) = with_failures(&place);
    ask(&place, ids);
    place
        .run(&["client", "create", "--name", "Calm", "--client-id", "calm", "--redirect-uri", REGISTERED])
        .good();
    assert!(place.run(&["client", "why", "calm"]).good().contains("No request of calm was refused"));
    let log = server.into_log();
    let line = log.iter().find(|line| line.contains(ids[0])).unwrap();
    assert!(
        line.contains("redirect_uri_not_registered") && line.contains("it differs in the slash"),
        "{line}"
    );
    assert!(!log.iter().any(|line| line.contains("not-the-secret")));
    ask(&place, ids);
}
