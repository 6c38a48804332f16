use serde_json::{Value, json};

use crate::command::import::samples::AUTHENTIK;
use crate::command::import::testing::{Noted, file, opened, reasons};

fn imported(text: &str, more: &[&str]) -> (Noted, Value) {
    let (_file, path) = file(text);
    let read = opened(&[&["authentik", &path], more].concat()).unwrap();
    let server = Noted::default();
    let (done, report) = server.import(false, |importer| read(importer));
    assert_eq!(done, Ok(()));
    (server, report)
}

fn told(report: &Value, part: &str) -> bool {
    reasons(report).iter().any(|it| it.contains(part))
}

#[test]
fn users_come_with_hash_groups_and_state() {
    let (server, report) = imported(AUTHENTIK, &[]);
    let users = server.to("/users/bulk");
    let hash = "pbkdf2_sha256$1000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=";
    let ann = json!({
        "id": "aa-ann", "preferred_username": "ann", "name": "Ann Ash", "email": "ann@example.com", "locale": "de",
        "password_hash": hash, "is_active": true,
    });
    assert_eq!(users, [ann, json!({ "id": "aa-bob", "preferred_username": "bob", "is_active": false })]);
    // Ann names the group, and the group names Bob.
    let members = ["aa-ann", "aa-bob"]
        .map(|user| json!({ "group_id": "11111111-0000-4000-8000-00000000000a", "user_id": user }));
    assert_eq!(server.to("/memberships/bulk"), members);
    assert!(told(&report, "the group 11111111-0000-4000-8000-00000000000f is not in the file"));
    for name in ["attribute department", "service account", "authentik_flows.flow", "mfa"] {
        assert_eq!(report["left_out"][name], 1, "{name}: {report}");
    }
}

#[test]
fn groups_come_behind_the_one_above_them_and_circles_are_told() {
    let (server, report) = imported(AUTHENTIK, &[]);
    let staff = json!({ "id": "11111111-0000-4000-8000-00000000000b", "name": "Staff" });
    let leads = json!({ "id": "11111111-0000-4000-8000-00000000000a", "name": "Leads", "parent_id": "11111111-0000-4000-8000-00000000000b" });
    assert_eq!(server.to("/groups/bulk"), [staff, leads]);
    for name in ["group A", "group B"] {
        assert!(
            told(&report, &format!("{name} : the group above it was not taken, or is below it")),
            "{report}"
        );
    }
    assert!(told(&report, "group Staff is_superuser: its members are superusers"));
}

#[test]
fn superusers_get_a_role_where_one_is_named() {
    let (server, report) = imported(AUTHENTIK, &["--superuser-role", "Boss"]);
    let roles = server.to("/roles/bulk");
    assert_eq!((roles.len(), &roles[0]["name"]), (1, &json!("Boss")));
    assert_eq!(
        server.to("/given-roles/bulk"),
        [json!({ "role_id": roles[0]["id"], "group_id": "11111111-0000-4000-8000-00000000000b" })]
    );
    assert!(!told(&report, "is_superuser"));
}

#[test]
fn providers_are_clients_with_the_names_of_their_applications() {
    let (server, report) = imported(AUTHENTIK, &[]);
    let wiki = json!({
        "client_id": "wiki", "client_name": "The Wiki", "client_secret": "0123456789abcdef0123456789abcdef",
        "redirect_uris": ["https://wiki.example.com/cb"], "client_uri": "https://wiki.example.com/",
        "grant_types": ["authorization_code", "refresh_token", "client_credentials"],
        "scope": "email groups offline_access openid profile",
        "settings": { "access_token_lifetime": 300, "id_token_claims": "minimal" },
    });
    assert_eq!(server.to("/clients/bulk"), [wiki]);
    assert!(
        told(&report, "is compared by regex") && told(&report, "hashed_user_id: the application knew users")
    );
}

#[test]
fn a_blueprint_says_the_same() {
    let rows: Vec<Value> = serde_json::from_str(AUTHENTIK).unwrap();
    let entries: Vec<Value> = rows
        .into_iter()
        .map(|row| json!({ "model": row["model"], "identifiers": { "pk": row["pk"] }, "attrs": row["fields"], "state": "present" }))
        .collect();
    let blueprint = json!({ "version": 1, "metadata": { "name": "x" }, "entries": entries }).to_string();
    let (of_rows, of_blueprint) = (imported(AUTHENTIK, &[]).0, imported(&blueprint, &[]).0);
    assert_eq!(*of_rows.sent.borrow(), *of_blueprint.sent.borrow());
}

#[test]
fn a_file_of_another_kind_is_refused() {
    for text in ["{}", "[]", r#"{"users":[{"model":"x"}]}"#] {
        let (_file, path) = file(text);
        assert!(
            opened(&["authentik", &path]).err().unwrap().to_string().contains("no export of authentik"),
            "{text}"
        );
    }
}
