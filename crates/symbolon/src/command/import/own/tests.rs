use super::*;
use crate::command::import::record::object;
use crate::command::import::testing::{Noted, file, reasons};

const EXPORT: &str = r#"{"export":{"format":1,"issuer":"https://a.example"}}
{"settings":{"audit_days":7}}
{"client":{"client_id":"app","client_name":"App","token_endpoint_auth_method":"client_secret_basic"}}
{"role":{"id":"r1","name":"Admin","client_id":"app"}}
{"group":{"id":"g1","name":"Staff"}}
{"group":{"id":"g2","name":"IT","parent_id":"g1"}}
{"user":{"id":"u1","email":"ann@example.com","password_hash":"$2b$04$x"}}
{"membership":{"group_id":"g2","user_id":"u1"}}
{"given_role":{"role_id":"r1","group_id":"g1"}}
{"later":{}}
{"end":{"records":8}}
"#;

fn import_of(text: &str, with_settings: bool) -> (Noted, Value) {
    let (_file, path) = file(text);
    check(&path).unwrap();
    let server = Noted::default();
    let (done, report) = server.import(false, |importer| import(&path, with_settings, importer));
    assert_eq!(done, Ok(()));
    (server, report)
}

#[test]
fn every_kind_of_record_is_sent_as_it_stands() {
    let (server, report) = import_of(EXPORT, false);
    assert_eq!(server.to("/groups/bulk")[1], json!({ "id": "g2", "name": "IT", "parent_id": "g1" }));
    assert_eq!(server.to("/users/bulk")[0]["password_hash"], "$2b$04$x");
    for path in ["/clients/bulk", "/roles/bulk", "/memberships/bulk", "/given-roles/bulk"] {
        assert_eq!(server.to(path).len(), 1, "{path}");
    }
    assert!(server.to("/settings").is_empty() && report["notes"][0].as_str().unwrap().contains("--settings"));
    assert_eq!(report["left_out"]["later"], 1);
    assert!(reasons(&report)[0].contains("symbolon client new-secret app"));
    assert_eq!(import_of(EXPORT, true).0.to("/settings")[0]["audit_days"], 7);
}

#[test]
fn a_file_that_is_cut_off_or_of_another_kind_is_refused_whole() {
    let told = |text: &str| {
        let (_file, path) = file(text);
        check(&path).err().map(|error| error.to_string()).unwrap()
    };
    let last = EXPORT.find("{\"end\"").unwrap();
    assert!(told(&EXPORT[..last]).contains("cut off") && told(&EXPORT[..last - 10]).contains("cut off"));
    assert!(told("").contains("no export") && told("{\"user\":{}}").contains("first line"));
    assert!(told("{\"export\":{\"format\":2}}").contains("later release"));
}

#[test]
fn a_file_that_lacks_lines_is_refused_whole() {
    let without = EXPORT.replace("{\"group\":{\"id\":\"g1\",\"name\":\"Staff\"}}\n", "");
    let (_file, path) = file(&without);
    let told = check(&path).err().map(|error| error.to_string()).unwrap();
    assert!(told.contains("has 7 records, and its last line says that there are 8"), "{told}");
}

#[test]
fn what_is_there_under_another_id_is_named_by_that_id() {
    let export = EXPORT.replace("{\"later\":{}}", "{\"given_role\":{\"role_id\":\"r1\",\"user_id\":\"u1\"}}");
    let (_file, path) = file(&export);
    let server = Noted::default();
    *server.there.borrow_mut() = vec![
        ("/groups/export".into(), json!({ "id": "own-staff", "name": "staff" })),
        ("/roles/export".into(), json!({ "id": "own-admin", "name": "admin", "client_id": "app" })),
    ];
    let (done, report) = server.import(false, |importer| import(&path, false, importer));
    assert_eq!(done, Ok(()));
    assert_eq!(server.to("/groups/bulk"), [json!({ "id": "g2", "name": "IT", "parent_id": "own-staff" })]);
    let given = [
        json!({ "role_id": "own-admin", "group_id": "own-staff" }),
        json!({ "role_id": "own-admin", "user_id": "u1" }),
    ];
    assert_eq!(server.to("/given-roles/bulk"), given, "{report}");
}

/// The settings stand before the roles that they name, and the server refuses what is no role's id.
#[test]
fn roles_that_demand_a_second_factor_are_set_when_they_are_there() {
    let settings = r#"{"settings":{"audit_days":7,"second_factor_roles":["r1","r2","r3","gone"]}}"#;
    let role = r#"{"role":{"id":"r1","name":"Admin","client_id":"app"}}"#;
    let others = [r#"{"role":{"id":"r2","name":"Clerk"}}"#, r#"{"role":{"id":"r3","name":"Refused"}}"#];
    let roles = format!("{role}\n{}", others.join("\n"));
    let export = EXPORT.replace(r#"{"settings":{"audit_days":7}}"#, settings);
    let export = export.replace(role, &roles).replace(":8}", ":10}");
    // A file may end with its roles.
    let kinds = [HEADER, SETTINGS, "client", "role"];
    let up_to_roles = export.lines().filter(|line| kinds.iter().any(|kind| is_of(line.as_bytes(), kind)));
    let up_to_roles = up_to_roles.collect::<Vec<_>>().join("\n") + "\n{\"end\":{\"records\":4}}\n";
    for text in [export, up_to_roles] {
        let (_file, path) = file(&text);
        check(&path).unwrap();
        let server = Noted::default();
        server.refuse("\"r3\"", "invalid_request", "no");
        *server.there.borrow_mut() =
            vec![("/roles/export".into(), json!({ "id": "own-clerk", "name": "clerk" }))];
        let (done, report) = server.import(false, |importer| import(&path, true, importer));
        assert_eq!(done, Ok(()));
        let set = [json!({ "audit_days": 7 }), json!({ "second_factor_roles": ["r1", "own-clerk"] })];
        assert_eq!(server.to("/settings"), set, "{report}");
        let sent = server.sent.borrow();
        let places = |path: &str| sent.iter().rposition(|(to, _)| to == path);
        assert!(places("/roles/bulk") < places("/settings"), "{sent:?}");
        assert!(places("/users/bulk").is_none_or(|users| places("/settings") < Some(users)), "{sent:?}");
        let not_taken = report["not_taken"].as_array().unwrap().iter();
        let lost: Vec<_> = not_taken.filter(|it| it["part"] == FACTOR_ROLES).map(|it| &it["id"]).collect();
        assert_eq!(lost, ["r3", "gone"], "{report}");
    }
}

/// A short secret is kept by a digest that means nothing elsewhere; beside another one it must not go unnoticed.
#[test]
fn a_client_whose_secret_stays_behind_is_told() {
    let now = Timestamp::from_millis(1_000);
    let told = |secrets: Value, digests: Value| {
        let client = object(json!({
            "token_endpoint_auth_method": "client_secret_basic", "client_secrets": secrets, "client_secret_digests": digests,
        }));
        let parts = parts_of_client(&client, "app", now);
        parts.into_iter().map(|part| part.fault.why).collect::<String>()
    };
    let (long, ending) = (json!({ "expires_at": null }), json!({ "expires_at": 1_001 }));
    let over = json!({ "expires_at": 1_000 });
    assert!(told(json!([long, ending]), json!([{}])).contains("too short"));
    assert!(told(json!([ending]), Value::Null).contains("a new one is drawn"));
    assert!(told(json!([long]), json!([over])).contains("a new one is drawn"));
    assert_eq!(told(json!([long, ending]), json!([{}, ending])), "");
    assert_eq!(told(json!([long, over]), json!([{}])), "", "the short one has ended");
}

#[test]
fn what_belongs_to_something_that_was_refused_is_not_sent() {
    let (_file, path) = file(EXPORT);
    let server = Noted::default();
    server.refuse("\"client_id\":\"app\",\"client_name\"", "invalid_request", "no");
    server.refuse("\"id\":\"g", "invalid_request", "no");
    let (_, report) = server.import(false, |importer| import(&path, false, importer));
    for path in ["/roles/bulk", "/given-roles/bulk", "/memberships/bulk"] {
        assert!(server.to(path).is_empty(), "{path}: {report}");
    }
    let told = reasons(&report);
    assert!(told.iter().any(|it| it.contains("its group is not in the file, or was not taken")), "{told:?}");
}

#[test]
fn attributes_that_the_issuer_does_not_take_are_named_and_the_user_comes_in() {
    let schema = r#"{"settings":{"attributes":[{"name":"team"}]}}"#;
    let export = EXPORT.replace(r#"{"settings":{"audit_days":7}}"#, schema);
    let export = export.replace(r#""password_hash""#, r#""attributes":{"team":"a"},"password_hash""#);
    let (_file, path) = file(&export);
    let users = |is_dry: bool, with_settings: bool| {
        let server = Noted::default();
        let (_, report) = server.import(is_dry, |importer| import(&path, with_settings, importer));
        let path = if is_dry { "/users/bulk?dry_run=true" } else { "/users/bulk" };
        (server.to(path).remove(0)["attributes"].clone(), report.to_string())
    };
    let (taken, report) = users(false, false);
    assert!(taken.is_null() && report.contains("attributes.team"), "{report}");
    let (taken, report) = users(false, true);
    assert!(taken == json!({ "team": "a" }) && !report.contains("attributes.team"), "{report}");
    let (taken, report) = users(true, true);
    assert!(taken.is_null() && report.contains("not checked by a dry run"), "{report}");
}

#[test]
fn a_line_that_is_broken_is_told_and_the_others_go_on() {
    let broken = EXPORT.replace("{\"later\":{}}", "{\"user\":\n[1]\n{\"user\":5}").replace(":8}", ":10}");
    let (server, report) = import_of(&broken, false);
    assert_eq!(server.to("/users/bulk").len(), 1);
    let told = reasons(&report);
    assert_eq!(
        told.iter().filter(|it| it.contains("JSON object") || it.contains("no record")).count(),
        3,
        "{told:?}"
    );
}

const PROVIDER: &str = r#"{"identity_provider":{"id":"acme","kind":"openid","issuer":"https://acme.example","client_id":"us","has_client_secret":true,"enabled":true,"groups":{"claim":"groups","groups":{"staff":"g1","gone":"g9"}}}}"#;
const IDENTITY: &str = r#"{"identity":{"user_id":"u1","identity_provider":"acme","subject":"s1"}}"#;
const CONSENT: &str = r#"{"consent":{"user_id":"u1","client_id":"app","scope":"openid"}}"#;
const LOGO: &str = r#"{"logo":{"client_id":"app","media_type":"image/svg+xml","content":"PHN2Zy8-"}}"#;

/// The export with a provider and what belongs to users of it.
fn with_provider() -> String {
    let more = [PROVIDER, IDENTITY, CONSENT, LOGO].join("\n");
    EXPORT.replace("{\"later\":{}}", &more).replace(":8}", ":11}")
}

#[test]
fn a_provider_comes_without_its_secret_and_is_not_enabled() {
    let (_file, path) = file(&with_provider());
    let server = Noted::default();
    let there = ("/groups/export".to_owned(), json!({ "id": "own-staff", "name": "staff" }));
    server.there.borrow_mut().push(there);
    let (done, report) = server.import(false, |importer| import(&path, false, importer));
    assert_eq!(done, Ok(()));
    let sent = server.to("/identity-providers/bulk").remove(0);
    assert_eq!((&sent["enabled"], &sent["has_client_secret"]), (&json!(false), &Value::Null), "{sent}");
    assert_eq!(sent["groups"]["groups"], json!({ "staff": "own-staff" }), "by the ids that groups have here");
    assert_eq!(server.to("/identities/bulk").len(), 1);
    assert_eq!(server.to("/consents/bulk").len(), 1);
    assert_eq!(server.to("/clients/app/logo"), [json!({ "media_type": "image/svg+xml", "bytes": 6 })]);
    let told = reasons(&report).join("\n");
    assert!(told.contains("symbolon identity-provider update acme --client-secret-file"), "{told}");
    assert!(told.contains("groups.gone"), "{told}");
}

/// Who somebody is to one provider is said of nobody at another: whoever has that subject there would come in.
#[test]
fn identities_are_not_taken_where_another_provider_has_the_id() {
    for (member, other) in
        [("issuer", "https://other.example"), ("client_id", "them"), ("kind", "github"), ("", "")]
    {
        let (_file, path) = file(&with_provider());
        let mut there =
            json!({ "id": "acme", "kind": "openid", "issuer": "https://acme.example", "client_id": "us" });
        let is_same = member.is_empty();
        if !is_same {
            there[member] = json!(other);
        }
        let server = Noted::default();
        server.there.borrow_mut().push(("/identity-providers/export".to_owned(), there));
        let (_, report) = server.import(false, |importer| import(&path, false, importer));
        assert_eq!(server.to("/identities/bulk").len(), usize::from(is_same), "{member}: {report}");
        let is_told = reasons(&report).iter().any(|it| it.contains("another identity provider has this id"));
        assert_eq!(is_told, !is_same, "{report}");
    }
}

#[test]
fn an_identity_without_its_provider_is_not_sent() {
    let without = with_provider().replace(&format!("{PROVIDER}\n"), "").replace(":11}", ":10}");
    let (server, report) = import_of(&without, false);
    assert!(server.to("/identities/bulk").is_empty(), "{report}");
    assert!(reasons(&report).iter().any(|it| it.contains("its identity provider is not in the file")));
}

#[test]
fn an_identity_whose_provider_the_server_refuses_is_not_sent() {
    let (_file, path) = file(&with_provider());
    let server = Noted::default();
    server.refuse("\"id\":\"acme\"", "invalid_request", "no");
    let (done, report) = server.import(false, |importer| import(&path, false, importer));
    assert_eq!(done, Ok(()));
    assert_eq!(server.to("/identity-providers/bulk").len(), 1, "{report}");
    assert!(server.to("/identities/bulk").is_empty(), "{report}");
    assert_eq!(report["records"]["identities"]["refused"], 1, "{report}");
    let told = reasons(&report);
    assert!(told.iter().any(|it| it.contains("not in the file, or was not taken")), "{told:?}");
}

#[test]
fn what_is_no_image_is_no_logo() {
    for (media_type, content) in
        [("image/png", "PHN2Zy8-"), ("text/html", "PHN2Zy8-"), ("image/svg+xml", "PHN2Zy8+")]
    {
        let logo = json!({ "logo": { "media_type": media_type, "content": content } }).to_string();
        let (server, report) = import_of(&with_provider().replace(LOGO, &logo), false);
        assert!(server.to("/branding/logo").is_empty(), "{media_type}: {report}");
        assert_eq!(report["records"]["logos"]["refused"], 1, "{media_type}: {report}");
    }
}
