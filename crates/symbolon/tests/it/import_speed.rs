//! How long imports take, and how much memory the command has: exports of each kind with 100,000 users, or as many as
//! `SYMBOLON_IMPORT_USERS` says; and whether the users sign in with their old passwords, 2,000 of each kind, or as many as `SYMBOLON_IMPORT_SIGN_INS` says. Ignored, because it
//! measures; `docs/development/measuring.md` has the command.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::old_hashes;
use crate::passwords::{serve_with, signs_in_at};
use crate::place::Place;

/// Browsers that sign in at the same time.
const BROWSERS: u64 = 4;

/// A number that the environment may set.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
}

fn users() -> u64 {
    number("SYMBOLON_IMPORT_USERS", 100_000)
}

/// How many users of each kind sign in: all, if there are no more.
fn sign_ins() -> u64 {
    number("SYMBOLON_IMPORT_SIGN_INS", 2_000)
}

/// Every so many users one signs in.
fn every() -> u64 {
    users().div_ceil(sign_ins().max(1)).max(1)
}

/// Makes hashes: one for each user who signs in, which the users after have too.
struct Hashes<T> {
    make: fn(u64) -> T,
    last: Option<(u64, T)>,
}

impl<T: Clone> Hashes<T> {
    fn by(make: fn(u64) -> T) -> Self {
        Self { make, last: None }
    }

    fn of(&mut self, number: u64) -> T {
        let number = number - number % every();
        match &self.last {
            Some((last, hash)) if *last == number => hash.clone(),
            _ => self.last.insert((number, (self.make)(number))).1.clone(),
        }
    }
}

/// The e-mail address of a user.
fn email(kind: &str, number: u64) -> String {
    format!("user{number}@{kind}.example")
}

/// Writes a list of users with something before and behind it.
fn list(place: &Place, name: &str, around: [&str; 3], mut user: impl FnMut(u64) -> Value) {
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
    let mut hashes = Hashes::by(old_hashes::keycloak);
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
            "credentials": [hashes.of(n)],
            "realmRoles": ["reader"], "groups": [format!("/Group {}", n % 100)], "requiredActions": [],
        })
    });
}

fn others(place: &Place) {
    let mut hashes = Hashes::by(old_hashes::auth0);
    list(
        place,
        "auth0",
        ["", "\n", "\n"],
        |n| json!({ "_id": { "$oid": n.to_string() }, "email": email("auth0", n), "email_verified": true, "passwordHash": hashes.of(n) }),
    );
    let mut hashes = Hashes::by(old_hashes::firebase);
    list(place, "firebase", [r#"{"users":["#, ",\n", "]}"], |n| {
        let (hash, salt) = hashes.of(n);
        json!({ "localId": format!("f{n}"), "email": email("firebase", n), "passwordHash": hash, "salt": salt })
    });
    list(place, "cognito", [r#"{"Users":["#, ",\n", "]}"], |n| {
        let attributes = json!([{ "Name": "sub", "Value": format!("c{n}") }, { "Name": "email", "Value": email("cognito", n) }]);
        json!({ "Username": format!("c{n}"), "Enabled": true, "Attributes": attributes })
    });
    let mut hashes = Hashes::by(old_hashes::django);
    list(place, "authentik", ["[", ",\n", "]"], |n| {
        let fields = json!({
            "username": format!("authentik{n}"), "email": email("authentik", n), "uuid": format!("a{n}"),
            "password": hashes.of(n),
        });
        json!({ "model": "authentik_core.user", "pk": n, "fields": fields })
    });
    let mut out = BufWriter::new(File::create(place.path("csv")).unwrap());
    writeln!(out, "id,email,name,password_hash").unwrap();
    let mut hashes = Hashes::by(old_hashes::ldap);
    for n in 0..users() {
        writeln!(out, "csv{n},{},Name,{}", email("csv", n), hashes.of(n)).unwrap();
    }
    out.flush().unwrap();
    std::fs::write(place.path("hash-config.txt"), old_hashes::hash_config()).unwrap();
}

/// Signs in everybody who has a hash of their own, each with the password of theirs.
fn sign_in(place: &Place, kind: &str) {
    let url = format!("http://{}", place.listen());
    let asked: Vec<u64> = (0..users()).step_by(every() as usize).collect();
    #[allow(clippy::disallowed_methods, reason = "this measures")]
    let began = Instant::now();
    std::thread::scope(|scope| {
        for browser in 0..BROWSERS {
            let (url, some) = (&url, asked.iter().skip(browser as usize).step_by(BROWSERS as usize));
            scope.spawn(move || {
                for number in some {
                    let password = old_hashes::password(*number);
                    assert!(signs_in_at(url, &email(kind, *number), &password), "{kind} {number}");
                }
            });
        }
    });
    let other = old_hashes::password(users() + 1);
    assert!(!signs_in_at(&url, &email(kind, 0), &other), "{kind}: another password");
    let seconds = began.elapsed().as_secs_f64();
    println!("{kind:20} {seconds:7.2} s: {} of {} users signed in", asked.len(), users());
}

/// The most resident memory that a process has until it ends, in KiB.
fn peak_of(process: u32) -> u64 {
    let status = format!("/proc/{process}/status");
    let peak = |told: String| {
        let peak = told.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        peak.trim().strip_suffix("kB")?.trim().parse().ok()
    };
    let mut most = 0;
    // A process that has ended has no memory, and what it had at most never shrinks.
    while let Some(now) = std::fs::read_to_string(&status).ok().and_then(peak) {
        most = now;
        std::thread::sleep(Duration::from_millis(10));
    }
    most
}

/// Runs a command, and says how long it took and how much memory it had at most.
fn timed(place: &Place, what: &str, arguments: &[&str]) -> String {
    let mut command = place.command(arguments, &[]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    #[allow(clippy::disallowed_methods, reason = "this measures")]
    let began = Instant::now();
    let child = command.spawn().unwrap();
    let process = child.id();
    let peak = std::thread::spawn(move || peak_of(process));
    let output = child.wait_with_output().unwrap();
    let seconds = began.elapsed().as_secs_f64();
    let mib = peak.join().unwrap() as f64 / 1_024.0;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let out = text(&output.stdout);
    assert!(output.status.success(), "{out}{}", text(&output.stderr));
    println!("{what:20} {seconds:7.2} s {:9.0} users/s {mib:7.1} MiB", users() as f64 / seconds);
    out
}

#[test]
#[ignore = "it measures"]
fn import_of_a_hundred_thousand_users() {
    let place = Place::new();
    // What replaces an old hash is cheap here, and nobody is limited.
    let cheap = [("SYMBOLON_ARGON2_MEMORY", "64KiB"), ("SYMBOLON_ARGON2_ITERATIONS", "1")];
    let _server = serve_with(&place, &[&cheap[..], &[("SYMBOLON_RATE_LIMITS", "off")]].concat());
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
        // Cognito exports no passwords.
        if kind != "cognito" {
            sign_in(&place, kind);
        }
    }
    timed(&place, "export", &["export", "--output", "all"]);
}
