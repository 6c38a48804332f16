//! `symbolon import`: the files of other providers, with a server and without.

use serde_json::{Value, json};

use crate::passwords::{serve, signs_in};
use crate::place::Place;

/// Of the password that [`signs_in`] types. By Python's bcrypt, hashlib and cryptography, and by Django.
const BCRYPT: &str = "$2b$04$GNYcPjgmT/EMJGiKncV6Vu6YoG5lfrbtsV1.YJsLTB1xr2YyeGr8S";
const DJANGO: &str = "pbkdf2_sha256$1000$seasalt0123456789abcd$HY62XieXM90MMTi5ATfPxiZ8Bhvfx2LAiP5A5cP2kdE=";
const FIREBASE: &str =
    "ibs9huSHr0fFYD4PLTsikxBnkIXlLRQynAeI/geb0SmdMbEgVIiHq3qlwOEwuyW14MMdJfh2DzU9WUV1oOmHqA==";
/// As Firebase's console shows it.
const HASH_CONFIG: &str = "hash_config {\n  algorithm: SCRYPT,\n  base64_signer_key: \
                           jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA==,\n  \
                           base64_salt_separator: Bw==,\n  rounds: 8,\n  mem_cost: 10,\n}\n";

fn write(place: &Place, name: &str, text: &str) {
    std::fs::write(place.path(name), text).unwrap();
}

fn auth0(place: &Place) {
    let user = |id: &str, more: Value| {
        let email = format!("{id}@auth0.example");
        let mut user =
            json!({ "_id": { "$oid": id }, "email": email, "passwordHash": BCRYPT, "tenant": "t" });
        user.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        user.to_string()
    };
    let lines = [
        user("a1", json!({})),
        user("a2", json!({ "blocked": true })),
        user("a3", json!({ "passwordHash": BCRYPT.replace("$04$", "$31$") })),
        "{\"email\":".to_owned(),
        user("a4", json!({ "email": "not an address" })),
        user("a5", json!({ "email": "A1@auth0.example" })),
    ];
    write(place, "users.ndjson", &lines.join("\n"));
}

fn counts(report: &Value) -> [u64; 3] {
    let refused = report["refused"].as_array().unwrap().len() as u64;
    [report["created"].as_u64().unwrap(), report["existing"].as_u64().unwrap(), refused]
}

/// A report of users of whom some were not taken.
fn partly(place: &Place, arguments: &[&str]) -> Value {
    let ran = place.run(&[&["import"], arguments, &["--json"]].concat());
    assert_eq!(ran.code, 1, "{}{}", ran.out, ran.error);
    assert!(ran.error.contains("some users were not taken") && !ran.error.contains("$2b$"), "{}", ran.error);
    serde_json::from_str(&ran.out).unwrap()
}

fn is_imported(place: &Place) {
    auth0(place);
    for dry in [true, false, true, false] {
        let existing = place.run(&["user", "list", "--json"]).json().as_array().unwrap().len();
        let report = partly(
            place,
            if dry { &["auth0", "users.ndjson", "--dry-run"] } else { &["auth0", "users.ndjson"] },
        );
        let wanted = if existing == 0 { [2, 0, 4] } else { [0, 2, 4] };
        assert_eq!((report["dry_run"].as_bool(), counts(&report)), (Some(dry), wanted), "{report}");
        let refused: Vec<(u64, &str)> = report["refused"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| (it["line"].as_u64().unwrap(), it["reason"].as_str().unwrap()))
            .collect();
        for (line, words) in [
            (3, "bcrypt is taken with a cost"),
            (4, "not a JSON object"),
            (5, "email is not an e-mail address"),
            (6, "another user of the file"),
        ] {
            assert!(refused.iter().any(|(at, why)| *at == line && why.contains(words)), "{line}: {report}");
        }
        assert_eq!(report["left_out"]["tenant"], 5);
        let now = place.run(&["user", "list", "--json"]).json().as_array().unwrap().len();
        assert_eq!(now, if dry { existing } else { 2 }, "{report}");
    }
    let shown = place.run(&["user", "show", "auth0|a2", "--json"]).json();
    assert_eq!((&shown["email"], &shown["active"]), (&json!("a2@auth0.example"), &json!(false)));
    let table = place.run(&["import", "auth0", "users.ndjson"]);
    assert!(
        table.out.contains("line 4: not a JSON object") && table.out.contains("2 there already"),
        "{}",
        table.out
    );
}

#[test]
fn auth0_without_a_server_is_checked_then_created_then_known() {
    is_imported(&Place::new());
}

#[test]
fn whoever_was_imported_signs_in_with_the_old_password() {
    let place = Place::new();
    let _server = serve(&place);
    is_imported(&place);
    assert!(signs_in(&place, "a1@auth0.example") && !signs_in(&place, "a2@auth0.example"));

    let user = |id: &str, hash: &str| json!({ "localId": id, "email": format!("{id}@firebase.example"), "passwordHash": hash, "salt": "42xEC+ixf3L2lw==" });
    let export = json!({ "users": [user("f1", FIREBASE), user("f2", "AAAA")] });
    write(&place, "users.json", &export.to_string());
    write(&place, "hash-config.txt", HASH_CONFIG);
    let bare = partly(&place, &["firebase", "users.json"]);
    assert!(counts(&bare) == [0, 0, 2] && bare.to_string().contains("--hash-config"), "{bare}");
    let report = partly(&place, &["firebase", "users.json", "--hash-config", "hash-config.txt"]);
    assert_eq!(counts(&report), [1, 0, 1], "{report}");
    assert!(
        report["refused"][0]["reason"].as_str().unwrap().contains("not a whole Firebase hash"),
        "{report}"
    );
    assert!(signs_in(&place, "f1@firebase.example"));

    write(&place, "users.csv", &format!("mail,verified,password_hash\nc1@csv.example,yes,{DJANGO}\n"));
    let told = place.run(&["import", "csv", "users.csv"]).bad(2);
    assert!(told.contains("\"mail\"") && told.contains("--map mail="), "{told}");
    let mapped = ["import", "csv", "users.csv", "--map", "mail=email", "--map", "verified=email_verified"];
    assert_eq!(place.run(&mapped).good(), "1 created, 0 there already, 0 not taken\n");
    assert_eq!(place.run(&mapped).good(), "0 created, 1 there already, 0 not taken\n");
    assert!(signs_in(&place, "c1@csv.example"));
}

#[test]
fn a_file_that_is_not_there_or_of_another_kind_is_told_before_anything_is_done() {
    let place = Place::new();
    assert!(place.run(&["import", "auth0", "missing"]).bad(1).contains("missing"));
    write(&place, "users.csv", "email\nann@example.com\n");
    assert!(place.run(&["import", "firebase", "users.csv"]).bad(2).contains("no export of Firebase"));
    assert!(!place.path("data").exists(), "no store was made");
}
