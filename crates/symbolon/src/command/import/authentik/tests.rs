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
        "post_logout_redirect_uris": ["https://wiki.example.com/bye"],
        "grant_types": ["authorization_code", "refresh_token"],
        "scope": "email groups offline_access openid profile",
        "settings": { "access_token_lifetime": 300, "id_token_claims": "minimal" },
    });
    assert_eq!(server.to("/clients/bulk"), [wiki]);
    for part in [
        "is compared by regex",
        "symbolon client update wiki --redirect-uri URI",
        "sub_mode: hashed_user_id: the application knew users",
        "signing_key: it has none, so that its tokens were signed by HS256",
        "encryption_key: its tokens were encrypted",
        "grant_types: \"implicit\" is not taken",
    ] {
        assert!(told(&report, part), "{part}: {report}");
    }
}

/// A file with one provider that has these members.
fn provider(members: Value) -> String {
    let mut fields =
        json!({ "name": "App", "client_id": "app", "client_secret": "0123456789abcdef0123456789abcdef" });
    fields.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!([{ "model": "authentik_providers_oauth2.oauth2provider", "pk": 7, "fields": fields }]).to_string()
}

#[test]
fn a_provider_of_an_older_release_says_less() {
    let uris = "https://app.example.com/cb\nhttps://app.example.com/other";
    let (server, report) = imported(&provider(json!({ "_redirect_uris": {}, "redirect_uris": uris })), &[]);
    let client = &server.to("/clients/bulk")[0];
    assert_eq!(client["redirect_uris"].as_array().unwrap().len(), 2);
    assert_eq!(client["grant_types"], json!(["authorization_code", "refresh_token", "client_credentials"]));
    assert!(told(&report, "sub_mode: hashed_user_id"), "what authentik does where it says nothing: {report}");
}

#[test]
fn a_client_acts_for_itself_only_where_the_file_says_so() {
    let grants = |members: Value| {
        let (server, _) = imported(&provider(members), &[]);
        server.to("/clients/bulk")[0]["grant_types"].clone()
    };
    assert_eq!(grants(json!({ "grant_types": [] })), json!([]));
    assert_eq!(grants(json!({ "grant_types": ["client_credentials"] })), json!(["client_credentials"]));
    let public = json!({ "grant_types": ["client_credentials"], "client_type": "public" });
    assert_eq!(grants(public), json!([]));
    let (_, report) = imported(&provider(json!({ "signing_key": "5", "sub_mode": "user_uuid" })), &[]);
    assert!(!told(&report, "signing_key") && !told(&report, "sub_mode"), "{report}");
}

#[test]
fn entries_of_a_blueprint_that_are_to_be_absent_are_not_created() {
    for state in [json!("absent"), json!("ABSENT"), json!(5)] {
        let entry = |model: &str, attrs: Value| json!({ "model": model, "state": state, "identifiers": {}, "attrs": attrs });
        let blueprint = json!({ "entries": [
            entry("authentik_core.user", json!({ "username": "ann", "uuid": "u1" })),
            entry("authentik_core.group", json!({ "name": "Staff" })),
            entry("authentik_providers_oauth2.oauth2provider", json!({ "client_id": "app" })),
            { "model": "authentik_core.user", "state": "created", "attrs": { "username": "bob", "uuid": "u2" } },
        ] });
        let (server, report) = imported(&blueprint.to_string(), &[]);
        let sent: Vec<Value> = server.sent.borrow().iter().map(|(_, record)| record["id"].clone()).collect();
        assert_eq!(sent, [json!("u2")]);
        let left_out: u64 = report["left_out"].as_object().unwrap().values().filter_map(Value::as_u64).sum();
        assert_eq!(left_out, 3, "{report}");
    }
}

#[test]
fn of_several_parents_the_first_is_taken_and_the_others_are_told() {
    let uuid = |n: u8| format!("11111111-0000-4000-8000-00000000000{n}");
    let group = |n: u8| json!({ "model": "authentik_core.group", "pk": uuid(n), "fields": { "name": format!("G{n}") } });
    let node = |child: u8, parent: u8| {
        let fields = json!({ "child": uuid(child), "parent": uuid(parent) });
        json!({ "model": "authentik_core.groupparentagenode", "pk": format!("{child}{parent}"), "fields": fields })
    };
    let rows = json!([node(1, 2), node(1, 3), node(1, 2), group(1), group(2), group(3)]);
    let (server, report) = imported(&rows.to_string(), &[]);
    let groups = server.to("/groups/bulk");
    assert_eq!(
        (groups.len(), &groups[2]["id"], &groups[2]["parent_id"]),
        (3, &json!(uuid(1)), &json!(uuid(2)))
    );
    assert!(told(&report, "group G1 parents: it has 1 more parents"), "{report}");
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

#[test]
fn a_member_of_a_group_that_the_server_refuses_is_told_so() {
    let (_file, path) = file(AUTHENTIK);
    let read = opened(&["authentik", &path]).unwrap();
    let server = Noted::default();
    server.refuse("\"name\":\"Leads\"", "invalid_request", "no");
    let (done, report) = server.import(false, |importer| read(importer));
    assert_eq!((done, server.to("/memberships/bulk").len()), (Ok(()), 0));
    // The one whom the group names, too.
    for user in ["user ann@example.com", "user bob"] {
        let why = format!(
            "{user} groups: the group 11111111-0000-4000-8000-00000000000a is not in the file, or was not taken"
        );
        assert!(told(&report, &why), "{report}");
    }
}
