//! How long imports take: exports of each kind with 100,000 users, or as many as `SYMBOLON_IMPORT_USERS` says. Ignored,
//! because it measures; `docs/development/measuring.md` has the command.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::time::Instant;

use serde_json::{Value, json};

use crate::import::{BCRYPT, DJANGO, FIREBASE, HASH_CONFIG};
use crate::passwords::{serve, signs_in};
use crate::place::Place;

fn users() -> u64 {
    std::env::var("SYMBOLON_IMPORT_USERS").ok().and_then(|text| text.parse().ok()).unwrap_or(100_000)
}

/// The e-mail address of a user.
fn email(kind: &str, number: u64) -> String {
    format!("user{number}@{kind}.example")
}

/// Writes a list of users with something before and behind it.
fn list(place: &Place, name: &str, around: [&str; 3], user: impl Fn(u64) -> Value) {
    let [before, between, behind] = around;
    let mut out = BufWriter::new(File::create(place.path(name)).unwrap());
    out.write_all(before.as_bytes()).unwrap();
    for number in 0..users() {
        let comma = if number == 0 { "" } else { between };
        write!(out, "{comma}{}", user(number)).unwrap();
    }
    out.write_all(behind.as_bytes()).unwrap();
    out.flush().unwrap();
}

fn keycloak(place: &Place) {
    let hash = DJANGO.rsplit_once('$').unwrap().1;
    let secret = json!({ "value": hash, "salt": "c2Vhc2FsdDAxMjM0NTY3ODlhYmNk" }).to_string();
    let data = json!({ "hashIterations": 1000, "algorithm": "pbkdf2-sha256" }).to_string();
    let groups: Vec<Value> = (0..100)
        .map(
            |n| json!({ "id": format!("g{n}"), "name": format!("Group {n}"), "path": format!("/Group {n}") }),
        )
        .collect();
    let before = format!(
        r#"{{"realm":"acme","roles":{{"realm":[{{"id":"r1","name":"reader"}}]}},"groups":{},"users":["#,
        Value::from(groups)
    );
    list(place, "keycloak", [&before, ",\n", "]}"], |n| {
        json!({
            "id": format!("keycloak-{n}"), "username": format!("keycloak{n}"), "email": email("keycloak", n),
            "enabled": true, "emailVerified": true, "firstName": "First", "lastName": "Last", "createdTimestamp": n,
            "credentials": [{ "type": "password", "secretData": secret, "credentialData": data }],
            "realmRoles": ["reader"], "groups": [format!("/Group {}", n % 100)], "requiredActions": [],
        })
    });
}

fn others(place: &Place) {
    list(
        place,
        "auth0",
        ["", "\n", "\n"],
        |n| json!({ "_id": { "$oid": n.to_string() }, "email": email("auth0", n), "email_verified": true, "passwordHash": BCRYPT }),
    );
    list(
        place,
        "firebase",
        [r#"{"users":["#, ",\n", "]}"],
        |n| json!({ "localId": format!("f{n}"), "email": email("firebase", n), "passwordHash": FIREBASE, "salt": "42xEC+ixf3L2lw==" }),
    );
    list(place, "cognito", [r#"{"Users":["#, ",\n", "]}"], |n| {
        let attributes = json!([{ "Name": "sub", "Value": format!("c{n}") }, { "Name": "email", "Value": email("cognito", n) }]);
        json!({ "Username": format!("c{n}"), "Enabled": true, "Attributes": attributes })
    });
    list(place, "authentik", ["[", ",\n", "]"], |n| {
        let fields = json!({
            "username": format!("authentik{n}"), "email": email("authentik", n), "uuid": format!("a{n}"), "password": DJANGO,
        });
        json!({ "model": "authentik_core.user", "pk": n, "fields": fields })
    });
    let mut out = BufWriter::new(File::create(place.path("csv")).unwrap());
    writeln!(out, "id,email,name,password_hash").unwrap();
    for n in 0..users() {
        writeln!(out, "csv{n},{},Name,{DJANGO}", email("csv", n)).unwrap();
    }
    out.flush().unwrap();
    std::fs::write(place.path("hash-config.txt"), HASH_CONFIG).unwrap();
}

/// Runs a command and says how long it took.
fn timed(place: &Place, what: &str, arguments: &[&str]) -> String {
    #[allow(clippy::disallowed_methods, reason = "this measures")]
    let began = Instant::now();
    let out = place.run(arguments).good();
    let seconds = began.elapsed().as_secs_f64();
    println!("{what:20} {seconds:7.2} s {:9.0} users/s", users() as f64 / seconds);
    out
}

#[test]
#[ignore = "it measures"]
fn import_of_a_hundred_thousand_users() {
    let place = Place::new();
    let _server = serve(&place);
    keycloak(&place);
    others(&place);
    for kind in ["keycloak", "auth0", "firebase", "cognito", "authentik", "csv"] {
        let mut arguments = vec!["import", kind, kind];
        if kind == "firebase" {
            arguments.extend(["--hash-config", "hash-config.txt"]);
        }
        let dry = [&arguments[..], &["--dry-run"]].concat();
        timed(&place, &format!("{kind}, dry"), &dry);
        let told = timed(&place, kind, &arguments);
        assert!(
            told.contains(&format!("users: {} created, 0 there already, 0 not taken", users())),
            "{told}"
        );
        timed(&place, &format!("{kind}, again"), &arguments);
        if kind != "cognito" {
            for number in [0, users() / 2, users() - 1] {
                assert!(signs_in(&place, &email(kind, number)), "{kind} {number}");
            }
        }
    }
    timed(&place, "export", &["export", "--output", "all"]);
}
