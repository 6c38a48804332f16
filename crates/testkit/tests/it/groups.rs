//! Groups of the admin API, and who is in them.

use serde_json::{Value, json};
use symbolon_testkit::{Answer, TestServer};

use crate::admin::bulk;

/// Creates a group; its id.
pub(crate) fn create(server: &TestServer, body: Value) -> String {
    let answer = server.admin("POST", "/groups", Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["group"]["id"].as_str().unwrap().to_owned()
}

/// One member of each entry of a listing.
pub(crate) fn listed(server: &TestServer, path: &str, entries: &str, member: &str) -> Vec<String> {
    let answer = server.admin("GET", path, None);
    assert_eq!(answer.status, 200, "{answer:?}");
    let found = answer.json();
    let of = |entry: &Value| entry[member].as_str().unwrap().to_owned();
    found[entries].as_array().unwrap().iter().map(of).collect()
}

/// The reason for a refusal with a status.
pub(crate) fn refused(answer: &Answer, status: u16) -> String {
    assert_eq!(answer.status, status, "{answer:?}");
    answer.json()["error_description"].as_str().unwrap().to_owned()
}

/// The lines of an export.
pub(crate) fn export(server: &TestServer, path: &str) -> Vec<Value> {
    let answer = server.admin("GET", path, None);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")));
    answer.body.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The events of the audit log with their details, the oldest first.
pub(crate) fn audited(server: &TestServer, event: &str) -> Vec<Value> {
    let found = server.admin("GET", &format!("/audit-logs?event={event}&limit=100"), None).json();
    let mut records = found["audit_logs"].as_array().unwrap().clone();
    records.reverse();
    records
}

#[test]
fn a_group_is_created_changed_and_deleted() {
    let server = TestServer::start();
    let made = server.admin("POST", "/groups", Some(json!({ "name": "Staff", "description": "All of us" })));
    assert_eq!(made.status, 201, "{made:?}");
    let group = made.json()["group"].clone();
    let id = group["id"].as_str().unwrap().to_owned();
    assert_eq!(
        (&group["name"], &group["description"], &group["path"]),
        (&json!("Staff"), &json!("All of us"), &json!("/Staff"))
    );
    assert!(group["created_at"].is_u64() && group.get("parent_id").is_none(), "{group}");
    let path = format!("/groups/{id}");
    assert_eq!(server.admin("GET", &path, None).json()["group"], group);

    let below = create(&server, json!({ "name": "R/D", "parent_id": id }));
    let below = format!("/groups/{below}");
    assert_eq!(server.admin("GET", &below, None).json()["group"]["path"], "/Staff/R~1D", "RFC 6901 3");
    let patched = server.admin("PATCH", &path, Some(json!({ "name": "Everybody", "description": null })));
    assert_eq!(patched.status, 200, "{patched:?}");
    let patched = patched.json()["group"].clone();
    assert!(patched["name"] == "Everybody" && patched.get("description").is_none(), "{patched}");
    assert!(patched["updated_at"].as_u64() > group["updated_at"].as_u64());
    assert_eq!(patched["created_at"], group["created_at"]);
    assert_eq!(server.admin("GET", &below, None).json()["group"]["path"], "/Everybody/R~1D");
    // What is shown may be sent back, and what a PUT leaves out is gone.
    let shown = server.admin("GET", &below, None).json()["group"].clone();
    assert_eq!(server.admin("PUT", &below, Some(shown)).json()["group"]["path"], "/Everybody/R~1D");
    let alone = server.admin("PUT", &below, Some(json!({ "name": "R/D" }))).json();
    assert_eq!(alone["group"]["path"], "/R~1D");

    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    for method in ["GET", "DELETE"] {
        assert_eq!(server.admin(method, &path, None).status, 404, "{method}");
    }
    for (method, body) in [("PUT", json!({ "name": "x" })), ("PATCH", json!({}))] {
        assert_eq!(server.admin(method, &path, Some(body)).status, 404, "{method}");
    }
}

#[test]
fn a_mistake_in_a_group_is_refused_with_what_mends_it() {
    let server = TestServer::start();
    let staff = create(&server, json!({ "name": "\u{c4}rzte" }));
    let other = create(&server, json!({ "name": "Other" }));
    for spelled in ["\u{c4}rzte", "\u{e4}RZTE", "A\u{308}rzte"] {
        let why = refused(&server.admin("POST", "/groups", Some(json!({ "name": spelled }))), 409);
        assert!(why.contains("name"), "{why}");
        let renamed = server.admin("PATCH", &format!("/groups/{other}"), Some(json!({ "name": spelled })));
        assert_eq!((renamed.status, renamed.error()), (409, "conflict".to_owned()), "{spelled}");
    }
    let same_id = json!({ "id": staff, "name": "Another" });
    assert_eq!(server.admin("POST", "/groups", Some(same_id)).status, 409);
    for (bad, named) in [
        (json!({}), "name"),
        (json!({ "name": "" }), "name"),
        (json!({ "name": "admin\u{200b}" }), "name"),
        (json!({ "name": 5 }), "name"),
        (json!({ "name": "x", "parent_id": "no id" }), "parent_id"),
        (json!({ "name": "x", "parentId": staff }), "parentId"),
        (json!({ "name": "x", "members": ["ann"] }), "members"),
        (json!({ "name": "x", "id": "bulk" }), "id"),
        (json!({ "name": "x", "description": "x".repeat(2_001) }), "description"),
    ] {
        let why = refused(&server.admin("POST", "/groups", Some(bad.clone())), 400);
        assert!(why.contains(named), "{bad}: {why}");
    }
    let path = format!("/groups/{staff}");
    assert_eq!(server.admin("PATCH", &path, Some(json!({ "id": "other" }))).status, 400);
    assert_eq!(server.admin("PATCH", &path, Some(json!({ "nmae": "x" }))).status, 400);
    let why =
        refused(&server.admin("POST", "/groups", Some(json!({ "name": "x", "parent_id": "none" }))), 404);
    assert!(why.contains("parent_id"), "{why}");
    assert_eq!(server.admin("PATCH", &path, Some(json!({ "parent_id": "none" }))).status, 404);
    assert_eq!(server.admin("GET", "/groups/no%20id", None).status, 404);
    assert_eq!(
        server.admin("GET", "/groups", None).json()["pagination"]["total"],
        2,
        "nothing was half made"
    );
}

#[test]
fn groups_are_nested_eight_deep_and_never_in_a_circle() {
    let server = TestServer::start();
    let mut chain = vec![create(&server, json!({ "name": "1" }))];
    for depth in 2..=8 {
        chain.push(create(&server, json!({ "name": depth.to_string(), "parent_id": chain.last().unwrap() })));
    }
    let deepest = format!("/groups/{}", chain[7]);
    assert_eq!(server.admin("GET", &deepest, None).json()["group"]["path"], "/1/2/3/4/5/6/7/8");
    let ninth = server.admin("POST", "/groups", Some(json!({ "name": "9", "parent_id": chain[7] })));
    let why = refused(&ninth, 400);
    assert!(why.contains("8 deep") && why.contains("move"), "{why}");
    // A group is moved with all below it, and so these count.
    let pair = create(&server, json!({ "name": "a" }));
    create(&server, json!({ "name": "b", "parent_id": pair }));
    let moved =
        |below: &str| server.admin("PATCH", &format!("/groups/{pair}"), Some(json!({ "parent_id": below })));
    assert!(refused(&moved(&chain[6]), 400).contains("8 deep"));
    assert_eq!(moved(&chain[5]).status, 200);
    for below in [0, 4, 7] {
        let body = json!({ "parent_id": chain[below] });
        let why = refused(&server.admin("PATCH", &format!("/groups/{}", chain[0]), Some(body)), 400);
        assert!(why.contains("below it") && why.contains("move"), "{why}");
    }
    let why = refused(&server.admin("DELETE", &format!("/groups/{}", chain[6]), None), 409);
    assert!(why.contains("below it") && why.contains("parent_id"), "{why}");
    assert_eq!(server.admin("DELETE", &deepest, None).status, 204);
    assert_eq!(server.admin("DELETE", &format!("/groups/{}", chain[6]), None).status, 204);
}

#[test]
fn groups_are_listed_by_page_name_and_place() {
    let server = TestServer::start();
    let top = create(&server, json!({ "name": "Top" }));
    let lines: Vec<Value> =
        (0..25).map(|n| json!({ "name": format!("Team {n:02}"), "parent_id": top })).collect();
    assert!(bulk(&server, "/groups/bulk", &lines).iter().all(|line| line["group"]["id"].is_string()));
    let names = |query: &str| listed(&server, &format!("/groups{query}"), "groups", "name");
    let mut seen = [names("?limit=20"), names("?limit=20&page=2"), names("?limit=20&page=3")].concat();
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 26, "each once");
    assert_eq!(names("?topmost=true"), ["Top"]);
    assert_eq!(
        server.admin("GET", &format!("/groups?parent_id={top}"), None).json()["pagination"]["total"],
        25
    );
    assert_eq!(names("?search=team%200&limit=100").len(), 10, "whatever the case");
    assert_eq!(names("?search=%25"), Vec::<String>::new());
    assert_eq!(names("?name=tEAM%2007"), ["Team 07"]);
    assert!(names("?name=Team").is_empty() && names("?name=Top&page=2").is_empty());
    assert_eq!((names("?parent_id=none").len(), names("?name=&limit=5").len()), (0, 5));
    for bad in [
        "?name=Top&search=x",
        "?name=Top&topmost=true",
        "?topmost=true&parent_id=x",
        "?topmost=perhaps",
        "?parent=x",
        "?page=0",
    ] {
        assert_eq!(server.admin("GET", &format!("/groups{bad}"), None).status, 400, "{bad}");
    }
}

#[test]
fn a_user_is_put_into_a_group_and_taken_out_again() {
    let server = TestServer::start();
    let staff = create(&server, json!({ "name": "Staff" }));
    let guests = create(&server, json!({ "name": "Guests" }));
    let (ann, bob) = (server.create_user("ann@example.com"), server.create_user("bob@example.com"));
    let one = |group: &str, user: &str| format!("/groups/{group}/members/{user}");
    for _ in 0..2 {
        assert_eq!(server.admin("PUT", &one(&staff, &ann), None).status, 204, "as often as one likes");
    }
    assert_eq!(server.admin("PUT", &one(&staff, &bob), None).status, 204);
    assert_eq!(server.admin("PUT", &one(&guests, &ann), None).status, 204);
    let members = |query: &str| listed(&server, &format!("/groups/{staff}/members{query}"), "members", "id");
    let mut both = vec![ann.clone(), bob.clone()];
    both.sort();
    assert_eq!(members(""), both, "in the order of their ids");
    assert_eq!([members("?limit=1"), members("?limit=1&page=2")].concat(), both);
    assert_eq!(members("?search=BOB"), std::slice::from_ref(&bob));
    let groups_of = |user: &str| listed(&server, &format!("/users/{user}/groups"), "groups", "name");
    assert_eq!(groups_of(&ann), ["Guests", "Staff"], "by name");
    assert_eq!(groups_of(&bob), ["Staff"]);
    assert_eq!(server.admin("DELETE", &one(&staff, &bob), None).status, 204);
    let why = refused(&server.admin("DELETE", &one(&staff, &bob), None), 404);
    assert!(why.contains("not in this group"), "{why}");
    assert_eq!(members(""), std::slice::from_ref(&ann));
    for (method, path, named) in [
        ("PUT", one(&staff, "nobody"), "user"),
        ("PUT", one("none", &ann), "group"),
        ("DELETE", one("none", &ann), "group"),
        ("DELETE", one(&staff, "nobody"), "not in this group"),
        ("GET", "/groups/none/members".to_owned(), "group"),
        ("GET", "/users/nobody/groups".to_owned(), "user"),
    ] {
        let why = refused(&server.admin(method, &path, None), 404);
        assert!(why.contains(named), "{method} {path}: {why}");
    }
    // A membership ends with either of its two, and nobody inherits it.
    assert_eq!(server.admin("DELETE", &format!("/groups/{guests}"), None).status, 204);
    assert_eq!(groups_of(&ann), ["Staff"]);
    assert_eq!(server.admin("DELETE", &format!("/users/{ann}"), None).status, 204);
    assert_eq!(members(""), Vec::<String>::new());
    let again = server.admin("POST", "/users", Some(json!({ "id": ann, "email": "ann@example.com" })));
    assert_eq!(again.status, 201, "{again:?}");
    assert_eq!(groups_of(&ann), Vec::<String>::new());
}

#[test]
fn groups_and_memberships_are_made_in_bulk_and_exported_to_be_made_again() {
    let server = TestServer::start();
    let users: Vec<Value> =
        (0..30).map(|n| json!({ "id": format!("u{n:02}"), "email": format!("u{n}@example.com") })).collect();
    bulk(&server, "/users/bulk", &users);
    let mut lines = vec![json!({ "id": "z-top", "name": "Top" })];
    lines.extend(
        (0..30).map(|n| json!({ "id": format!("g{n:02}"), "name": format!("G {n}"), "parent_id": "z-top" })),
    );
    lines.extend([
        json!({ "id": "a-low", "name": "Low", "parent_id": "g07" }),
        json!({ "name": "top" }),
        json!({ "name": "Lost", "parent_id": "none" }),
        json!({ "name": "Bad", "parent": "z-top" }),
    ]);
    let answers = bulk(&server, "/groups/bulk", &lines);
    assert!(answers[..32].iter().all(|line| line["group"]["id"].is_string()), "{answers:?}");
    let errors: Vec<(&Value, &Value)> =
        answers[32..].iter().map(|line| (&line["error"], &line["line"])).collect();
    assert_eq!(
        errors,
        [
            (&json!("conflict"), &json!(33)),
            (&json!("not_found"), &json!(34)),
            (&json!("invalid_request"), &json!(35)),
        ]
    );
    let memberships: Vec<Value> =
        (0..30).map(|n| json!({ "group_id": format!("g{n:02}"), "user_id": format!("u{n:02}") })).collect();
    for changed in [true, false] {
        let answers = bulk(&server, "/memberships/bulk", &memberships);
        assert!(answers.iter().all(|line| line["changed"] == changed), "{answers:?}");
    }
    let refused = bulk(
        &server,
        "/memberships/bulk",
        &[
            json!({ "group_id": "none", "user_id": "u00" }),
            json!({ "group_id": "g00", "user_id": "nobody" }),
            json!({ "group_id": "g00", "user_id": "u01", "role": "x" }),
        ],
    );
    let errors: Vec<&Value> = refused.iter().map(|line| &line["error"]).collect();
    assert_eq!(errors, ["not_found", "not_found", "invalid_request"]);
    let removal =
        bulk(&server, "/memberships/bulk-removal", &[memberships[0].clone(), memberships[0].clone()]);
    assert_eq!((&removal[0]["changed"], &removal[1]["changed"]), (&json!(true), &json!(false)));

    let (groups, kept) = (export(&server, "/groups/export"), export(&server, "/memberships/export"));
    assert_eq!((groups.len(), kept.len()), (32, 29));
    assert_eq!(groups[0]["id"], "z-top", "a group comes after the one above it: {groups:?}");
    let url = format!("{}/acme", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url }))).status, 201);
    bulk(&server, "/issuers/acme/users/bulk", &users);
    let again = bulk(&server, "/issuers/acme/groups/bulk", &groups);
    assert!(again.iter().all(|line| line.get("error").is_none()), "{again:?}");
    let again = bulk(&server, "/issuers/acme/memberships/bulk", &kept);
    assert!(again.iter().all(|line| line["changed"] == true), "{again:?}");
    assert_eq!(export(&server, "/issuers/acme/memberships/export"), kept);
}

#[test]
fn a_group_of_one_issuer_is_none_of_another() {
    let server = TestServer::start();
    let url = format!("{}/acme", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url }))).status, 201);
    let staff = create(&server, json!({ "id": "staff", "name": "Staff" }));
    let ann = server.create_user("ann@example.com");
    assert_eq!(server.admin("PUT", &format!("/groups/{staff}/members/{ann}"), None).status, 204);
    for (method, path) in [
        ("GET", format!("/issuers/acme/groups/{staff}")),
        ("DELETE", format!("/issuers/acme/groups/{staff}")),
        ("GET", format!("/issuers/acme/groups/{staff}/members")),
        ("DELETE", format!("/issuers/acme/groups/{staff}/members/{ann}")),
    ] {
        assert_eq!(server.admin(method, &path, None).status, 404, "{method} {path}");
    }
    let below = json!({ "name": "Below", "parent_id": staff });
    assert_eq!(server.admin("POST", "/issuers/acme/groups", Some(below)).status, 404);
    let same = json!({ "id": "staff", "name": "Staff" });
    assert_eq!(server.admin("POST", "/issuers/acme/groups", Some(same)).status, 201);
    let foreign = format!("/issuers/acme/groups/staff/members/{ann}");
    assert_eq!(server.admin("PUT", &foreign, None).status, 404, "a user of the other issuer");
    assert_eq!(listed(&server, "/groups/staff/members", "members", "id"), [ann]);
}

#[test]
fn every_change_of_a_group_is_in_the_audit_log_with_what_it_changed() {
    let server = TestServer::start();
    let staff = create(&server, json!({ "name": "Staff" }));
    let (path, ann) = (format!("/groups/{staff}"), server.create_user("ann@example.com"));
    server.admin("PATCH", &path, Some(json!({ "name": "Everybody", "description": "All" })));
    let one = format!("{path}/members/{ann}");
    for method in ["PUT", "PUT", "DELETE", "DELETE", "PUT"] {
        server.admin(method, &one, None);
    }
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    server.drain_audit();
    let detail = |event: &str| -> Vec<Value> {
        audited(&server, event).iter().map(|record| record["detail"].clone()).collect()
    };
    let from = |value: &str| json!({ "from": value, "to": null });
    let to = |value: &str| json!({ "from": null, "to": value });
    let made = json!({ "id": to(&staff), "name": to("Staff") });
    assert_eq!(detail("group.created"), [json!({ "group": staff, "name": "Staff", "changes": made })]);
    let changes = json!({
        "name": { "from": "Staff", "to": "Everybody" },
        "description": { "from": null, "to": "All" },
    });
    assert_eq!(detail("group.updated"), [json!({ "group": staff, "name": "Everybody", "changes": changes })]);
    let added = audited(&server, "group.member_added");
    assert_eq!(added.len(), 2, "what changes nothing is no event: {added:?}");
    assert!(
        added.iter().all(|record| record["user"] == json!(ann) && record["actor"] == "admin"),
        "{added:?}"
    );
    let removed = json!({ "group_id": from(&staff), "user_id": from(&ann) });
    let removed = json!({ "group": staff, "name": "Everybody", "changes": removed });
    assert_eq!(detail("group.member_removed"), [removed]);
    let gone = json!({ "id": from(&staff), "name": from("Everybody"), "description": from("All") });
    let deleted = json!({ "group": staff, "name": "Everybody", "members": 1, "changes": gone });
    assert_eq!(detail("group.deleted"), [deleted]);
}

/// Two changes at once are both made: the one that comes second is applied to what the first one left.
#[test]
fn changes_at_once_lose_nothing() {
    let server = TestServer::start();
    let path = format!("/groups/{}", create(&server, json!({ "name": "Staff" })));
    std::thread::scope(|scope| {
        for body in [json!({ "name": "Everybody" }), json!({ "description": "All of us" })] {
            let (server, path) = (&server, &path);
            scope.spawn(move || assert_eq!(server.admin("PATCH", path, Some(body)).status, 200));
        }
    });
    let group = server.admin("GET", &path, None).json()["group"].clone();
    assert_eq!((&group["name"], &group["description"]), (&json!("Everybody"), &json!("All of us")));
}

/// A dry run says of each line what would become of it, but for what the lines before it would make.
#[test]
fn a_dry_run_of_groups_roles_and_clients_changes_nothing() {
    let server = TestServer::start();
    let staff = json!({ "id": "staff", "name": "Staff" });
    assert_eq!(server.admin("POST", "/groups", Some(staff)).status, 201);
    let told = |path: &str, lines: &[Value]| -> Vec<String> {
        let answers = bulk(&server, &format!("{path}?dry_run=true"), lines);
        answers.iter().map(|answer| answer["error"].as_str().unwrap_or_default().to_owned()).collect()
    };
    let groups = [
        json!({ "id": "it", "name": "IT", "parent_id": "not-there-yet" }),
        json!({ "id": "staff", "name": "Other" }),
        json!({ "id": "other", "name": "STAFF" }),
        json!({ "id": "bad", "name": "admin\u{200b}" }),
    ];
    assert_eq!(told("/groups/bulk", &groups), ["", "conflict", "conflict", "invalid_request"]);
    let roles = [json!({ "name": "Admin", "client_id": "not-there-yet" }), json!({ "name": "" })];
    assert_eq!(told("/roles/bulk", &roles), ["", "invalid_request"]);
    let client = |id: &str| json!({ "client_id": id, "client_name": "App", "redirect_uris": ["https://a.example/cb"] });
    assert_eq!(server.admin("POST", "/clients", Some(client("there"))).status, 201);
    let lines = [client("app"), client("there"), json!({ "client_id": "bare", "client_name": "App" })];
    assert_eq!(told("/clients/bulk", &lines), ["", "conflict", "invalid_request"]);
    let answer = bulk(&server, "/clients/bulk?dry_run=true", &[client("app")]).remove(0);
    assert!(answer["client"].get("client_secret").is_none(), "a secret that nobody stores: {answer}");
    let mut short = client("app");
    short["client_secret"] = json!("0123456789abcdef");
    let answer = bulk(&server, "/clients/bulk?dry_run=true", &[short]).remove(0);
    assert_eq!(
        answer["warnings"].as_array().map(Vec::len),
        Some(1),
        "it is warned of a short secret: {answer}"
    );
    let total =
        |path: &str, member: &str| server.admin("GET", path, None).json()[member].as_array().unwrap().len();
    assert_eq!(
        (total("/groups", "groups"), total("/roles", "roles"), total("/clients", "clients")),
        (1, 0, 1)
    );
    assert_eq!(told("/roles/bulk", &[json!({ "name": "Admin" })]), [""]);
    assert_eq!(server.admin("POST", "/roles", Some(json!({ "name": "Admin" }))).status, 201);
    assert_eq!(told("/roles/bulk", &[json!({ "name": "ADMIN" })]), ["conflict"]);
}
