//! Roles of the admin API, who was given them, and what a user has by them.

use serde_json::{Value, json};
use symbolon_testkit::{RelyingParty, TestServer};

use crate::admin::bulk;
use crate::groups::{self, audited, export, listed, refused};

/// Creates a role; its id.
fn create(server: &TestServer, body: Value) -> String {
    let answer = server.admin("POST", "/roles", Some(body));
    assert_eq!(answer.status, 201, "{answer:?}");
    answer.json()["role"]["id"].as_str().unwrap().to_owned()
}

fn register(server: &TestServer, client: &str) {
    RelyingParty::register(server, json!({ "client_id": client }));
}

#[test]
fn a_role_is_created_changed_and_deleted() {
    let server = TestServer::start();
    register(&server, "app");
    let body = json!({ "name": "Editor", "client_id": "app", "description": "May write" });
    let made = server.admin("POST", "/roles", Some(body.clone()));
    assert_eq!(made.status, 201, "{made:?}");
    let role = made.json()["role"].clone();
    for member in ["name", "client_id", "description"] {
        assert_eq!(role[member], body[member], "{member}");
    }
    let path = format!("/roles/{}", role["id"].as_str().unwrap());
    assert_eq!(server.admin("GET", &path, None).json()["role"], role);
    let patched = server.admin("PATCH", &path, Some(json!({ "name": "Writer" }))).json()["role"].clone();
    assert_eq!(
        (&patched["name"], &patched["description"], &patched["client_id"]),
        (&json!("Writer"), &json!("May write"), &json!("app"))
    );
    let replaced = server.admin("PUT", &path, Some(json!({ "name": "Writer" }))).json()["role"].clone();
    assert!(replaced.get("description").is_none() && replaced["client_id"] == "app", "{replaced}");
    assert_eq!(server.admin("PUT", &path, Some(replaced)).status, 200, "what is shown may be sent back");
    for (bad, named) in [
        (json!({ "client_id": "other" }), "client_id cannot be changed"),
        (json!({ "client_id": null }), "client_id cannot be changed"),
        (json!({ "id": "other" }), "id cannot be changed"),
        (json!({ "name": null }), "name is required"),
        (json!({ "users": [] }), "users"),
    ] {
        let why = refused(&server.admin("PATCH", &path, Some(bad.clone())), 400);
        assert!(why.contains(named), "{bad}: {why}");
    }
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    for method in ["GET", "DELETE"] {
        assert_eq!(server.admin(method, &path, None).status, 404, "{method}");
    }
}

#[test]
fn a_name_is_unique_at_its_client_or_at_the_issuer() {
    let server = TestServer::start();
    register(&server, "app");
    register(&server, "other");
    let own = create(&server, json!({ "name": "Admin" }));
    let of_app = create(&server, json!({ "name": "Admin", "client_id": "app" }));
    create(&server, json!({ "name": "ADMIN", "client_id": "other" }));
    for taken in [json!({ "name": "admin" }), json!({ "name": "admin", "client_id": "app" })] {
        let why = refused(&server.admin("POST", "/roles", Some(taken.clone())), 409);
        assert!(why.contains("name"), "{taken}: {why}");
    }
    let user = create(&server, json!({ "name": "User", "client_id": "app" }));
    let renamed = server.admin("PATCH", &format!("/roles/{user}"), Some(json!({ "name": "aDMIN" })));
    assert_eq!(renamed.status, 409, "{renamed:?}");
    let why =
        refused(&server.admin("POST", "/roles", Some(json!({ "name": "x", "client_id": "none" }))), 404);
    assert!(why.contains("client_id"), "{why}");
    for bad in
        [json!({}), json!({ "name": "x", "client_id": "a b" }), json!({ "name": "x", "client": "app" })]
    {
        assert_eq!(server.admin("POST", "/roles", Some(bad.clone())).status, 400, "{bad}");
    }

    let ids = |query: &str| listed(&server, &format!("/roles{query}"), "roles", "id");
    assert_eq!(ids("").len(), 4);
    assert_eq!(ids("?client_id=app").len(), 2);
    assert_eq!(ids("?of_issuer=true"), std::slice::from_ref(&own));
    assert_eq!(ids("?name=ADMIN"), std::slice::from_ref(&own), "the issuer's own where no client is named");
    assert_eq!(ids("?name=admin&client_id=app"), std::slice::from_ref(&of_app));
    assert_eq!(ids("?search=use"), [user]);
    assert_eq!(ids("?search=adm&client_id=app"), std::slice::from_ref(&of_app));
    for bad in ["?client_id=app&of_issuer=true", "?name=x&search=y", "?client=app", "?of_issuer=1"] {
        assert_eq!(server.admin("GET", &format!("/roles{bad}"), None).status, 400, "{bad}");
    }
    // A role ends with its client, and a later client of that id has none.
    assert_eq!(server.admin("DELETE", "/clients/app", None).status, 204);
    assert_eq!(server.admin("GET", &format!("/roles/{of_app}"), None).status, 404);
    register(&server, "app");
    assert!(ids("?client_id=app").is_empty());
}

#[test]
fn a_role_is_given_and_taken_away() {
    let server = TestServer::start();
    register(&server, "app");
    let (ann, bob) = (server.create_user("ann@example.com"), server.create_user("bob@example.com"));
    let staff = groups::create(&server, json!({ "name": "Staff" }));
    let editor = create(&server, json!({ "name": "Editor", "client_id": "app" }));
    let auditor = create(&server, json!({ "name": "Auditor" }));
    let to_user = |user: &str, role: &str| format!("/users/{user}/roles/{role}");
    let to_group = |group: &str, role: &str| format!("/groups/{group}/roles/{role}");
    for path in [to_user(&ann, &editor), to_user(&ann, &auditor), to_group(&staff, &auditor)] {
        for _ in 0..2 {
            assert_eq!(server.admin("PUT", &path, None).status, 204, "{path}: as often as one likes");
        }
    }
    let names = |path: String, entries: &str| listed(&server, &path, entries, "name");
    assert_eq!(names(format!("/users/{ann}/roles"), "roles"), ["Auditor", "Editor"], "by name");
    assert_eq!(names(format!("/users/{ann}/roles?search=edit"), "roles"), ["Editor"]);
    assert_eq!(names(format!("/users/{bob}/roles"), "roles"), Vec::<String>::new());
    assert_eq!(names(format!("/groups/{staff}/roles"), "roles"), ["Auditor"]);
    assert_eq!(
        listed(&server, &format!("/roles/{auditor}/users"), "users", "id"),
        std::slice::from_ref(&ann)
    );
    assert_eq!(names(format!("/roles/{auditor}/groups"), "groups"), ["Staff"]);
    for path in [to_user(&ann, &auditor), to_group(&staff, &auditor)] {
        assert_eq!(server.admin("DELETE", &path, None).status, 204, "{path}");
        let why = refused(&server.admin("DELETE", &path, None), 404);
        assert!(why.contains("not given this role"), "{why}");
    }
    assert_eq!(names(format!("/users/{ann}/roles"), "roles"), ["Editor"]);
    for (method, path, named) in [
        ("PUT", to_user("nobody", &editor), "user"),
        ("PUT", to_group("none", &editor), "group"),
        ("PUT", to_user(&ann, "none"), "role"),
        ("PUT", to_group(&staff, "none"), "role"),
        ("DELETE", to_user(&ann, "none"), "role"),
        ("GET", "/users/nobody/roles".to_owned(), "user"),
        ("GET", "/groups/none/roles".to_owned(), "group"),
        ("GET", "/roles/none/users".to_owned(), "role"),
        ("GET", "/roles/none/groups".to_owned(), "role"),
        ("GET", "/users/nobody/entitlements".to_owned(), "user"),
    ] {
        let why = refused(&server.admin(method, &path, None), 404);
        assert!(why.contains(named), "{method} {path}: {why}");
    }
    // A deleted role is taken from everybody; a later one of that id is given to nobody.
    assert_eq!(server.admin("DELETE", &format!("/roles/{editor}"), None).status, 204);
    assert_eq!(names(format!("/users/{ann}/roles"), "roles"), Vec::<String>::new());
    create(&server, json!({ "id": editor, "name": "Editor" }));
    assert!(listed(&server, &format!("/roles/{editor}/users"), "users", "id").is_empty());
}

#[test]
fn what_a_user_has_says_where_it_comes_from() {
    let server = TestServer::start();
    register(&server, "app");
    let ann = server.create_user("ann@example.com");
    let entitlements =
        || server.admin("GET", &format!("/users/{ann}/entitlements"), None).json()["entitlements"].clone();
    assert_eq!(entitlements(), json!({ "groups": [], "roles": [], "is_cut": false }));
    let company = groups::create(&server, json!({ "id": "company", "name": "Company" }));
    let team = groups::create(&server, json!({ "id": "team", "name": "A Team", "parent_id": company }));
    let reader = create(&server, json!({ "id": "reader", "name": "Reader" }));
    let editor = create(&server, json!({ "id": "editor", "name": "Editor", "client_id": "app" }));
    for path in [
        format!("/groups/{team}/members/{ann}"),
        format!("/groups/{company}/roles/{reader}"),
        format!("/groups/{team}/roles/{reader}"),
        format!("/users/{ann}/roles/{editor}"),
    ] {
        assert_eq!(server.admin("PUT", &path, None).status, 204, "{path}");
    }
    let groups = json!([
        { "id": "team", "name": "A Team", "path": "/Company/A Team", "direct": true },
        { "id": "company", "name": "Company", "path": "/Company", "direct": false },
    ]);
    let editor_view =
        json!({ "id": "editor", "name": "Editor", "client_id": "app", "direct": true, "by_groups": [] });
    let reader_view =
        json!({ "id": "reader", "name": "Reader", "direct": false, "by_groups": ["team", "company"] });
    let expected = json!({ "groups": groups, "roles": [editor_view, reader_view], "is_cut": false });
    assert_eq!(entitlements(), expected);
    // Each change is seen at once: a group that is moved away, a name that is changed, a role that is deleted.
    server.admin("PATCH", "/groups/team", Some(json!({ "parent_id": null, "name": "B Team" })));
    let now = entitlements();
    assert_eq!(now["groups"], json!([{ "id": "team", "name": "B Team", "path": "/B Team", "direct": true }]));
    assert_eq!(now["roles"][1]["by_groups"], json!(["team"]));
    server.admin("DELETE", "/roles/reader", None);
    assert_eq!(entitlements()["roles"], json!([editor_view]));
    server.admin("DELETE", &format!("/groups/team/members/{ann}"), None);
    assert_eq!(entitlements(), json!({ "groups": [], "roles": [editor_view], "is_cut": false }));
    server.admin("DELETE", "/clients/app", None);
    assert_eq!(entitlements()["roles"], json!([]));
}

#[test]
fn roles_are_made_and_given_in_bulk_and_exported_to_be_given_again() {
    let server = TestServer::start();
    let url = format!("{}/acme", server.url);
    assert_eq!(server.admin("POST", "/issuers", Some(json!({ "id": "acme", "url": url }))).status, 201);
    let client =
        json!({ "client_id": "app", "client_name": "App", "redirect_uris": ["https://rp.example/cb"] });
    let user = json!({ "id": "ann", "email": "ann@example.com" });
    let group = json!({ "id": "staff", "name": "Staff" });
    for issuer in ["", "/issuers/acme"] {
        for (path, body) in [("clients", &client), ("users", &user), ("groups", &group)] {
            let made = server.admin("POST", &format!("{issuer}/{path}"), Some(body.clone()));
            assert_eq!(made.status, 201, "{made:?}");
        }
    }
    let answers = bulk(
        &server,
        "/roles/bulk",
        &[
            json!({ "id": "reader", "name": "Reader" }),
            json!({ "id": "editor", "name": "Editor", "client_id": "app" }),
            json!({ "name": "READER" }),
            json!({ "name": "x", "client_id": "none" }),
            json!({ "nmae": "x" }),
        ],
    );
    let told: Vec<&Value> = answers.iter().map(|line| &line["error"]).collect();
    assert_eq!(
        told,
        [&Value::Null, &Value::Null, &json!("conflict"), &json!("not_found"), &json!("invalid_request")]
    );
    assert_eq!(answers[1]["role"]["client_id"], "app");
    let given = [
        json!({ "role_id": "reader", "group_id": "staff" }),
        json!({ "role_id": "editor", "user_id": "ann" }),
        json!({ "role_id": "reader", "user_id": "ann" }),
    ];
    for changed in [true, false] {
        let answers = bulk(&server, "/given-roles/bulk", &given);
        assert!(answers.iter().all(|line| line["changed"] == changed), "{answers:?}");
    }
    let answers = bulk(
        &server,
        "/given-roles/bulk",
        &[
            json!({ "role_id": "none", "user_id": "ann" }),
            json!({ "role_id": "reader", "user_id": "nobody" }),
            json!({ "role_id": "reader", "group_id": "none" }),
            json!({ "role_id": "reader" }),
            json!({ "role_id": "reader", "user_id": "ann", "group_id": "staff" }),
        ],
    );
    let told: Vec<&Value> = answers.iter().map(|line| &line["error"]).collect();
    assert_eq!(told, ["not_found", "not_found", "not_found", "invalid_request", "invalid_request"]);
    let removal = bulk(&server, "/given-roles/bulk-removal", &[given[2].clone(), given[2].clone()]);
    assert_eq!((&removal[0]["changed"], &removal[1]["changed"]), (&json!(true), &json!(false)));

    let (roles, kept) = (export(&server, "/roles/export"), export(&server, "/given-roles/export"));
    assert_eq!(roles.len(), 2);
    assert!(kept.len() == 2 && given[..2].iter().all(|line| kept.contains(line)), "{kept:?}");
    let again = bulk(&server, "/issuers/acme/roles/bulk", &roles);
    assert!(again.iter().all(|line| line.get("error").is_none()), "{again:?}");
    let again = bulk(&server, "/issuers/acme/given-roles/bulk", &kept);
    assert!(again.iter().all(|line| line["changed"] == true), "{again:?}");
    assert_eq!(export(&server, "/issuers/acme/given-roles/export"), kept);
}

#[test]
fn every_change_of_a_role_is_in_the_audit_log() {
    let server = TestServer::start();
    register(&server, "app");
    let ann = server.create_user("ann@example.com");
    let staff = groups::create(&server, json!({ "name": "Staff" }));
    let role = create(&server, json!({ "name": "Editor", "client_id": "app" }));
    let path = format!("/roles/{role}");
    server.admin("PATCH", &path, Some(json!({ "name": "Writer" })));
    for holder in [format!("/users/{ann}"), format!("/groups/{staff}")] {
        for method in ["PUT", "PUT", "DELETE", "DELETE", "PUT"] {
            server.admin(method, &format!("{holder}{path}"), None);
        }
    }
    assert_eq!(server.admin("DELETE", &path, None).status, 204);
    server.drain_audit();
    let of = |event: &str| audited(&server, event);
    assert_eq!(of("role.created")[0]["client"], "app");
    let changes = json!({ "name": { "from": "Editor", "to": "Writer" } });
    let updated = json!({ "role": role, "name": "Writer", "changes": changes });
    assert_eq!(of("role.updated")[0]["detail"], updated);
    for (event, count) in [("role.given", 4), ("role.taken", 2)] {
        let records = of(event);
        assert_eq!(records.len(), count, "what changes nothing is no event: {records:?}");
        let to_users = records.iter().filter(|record| record["user"] == json!(ann)).count();
        let to_groups = records.iter().filter(|record| record["detail"]["group"] == json!(staff)).count();
        assert_eq!((to_users, to_groups), (count / 2, count / 2), "{records:?}");
        assert!(records.iter().all(|record| record["detail"]["role"] == json!(role)), "{records:?}");
    }
    let from = |value: &str| json!({ "from": value, "to": null });
    let gone = json!({ "id": from(&role), "name": from("Writer"), "client_id": from("app") });
    let deleted = json!({ "role": role, "name": "Writer", "users": 1, "groups": 1, "changes": gone });
    assert_eq!(of("role.deleted")[0]["detail"], deleted);
}
