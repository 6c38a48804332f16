//! A change by an administrator that was acknowledged is in the audit log, though the process was killed a moment later.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::mpsc;

use symbolon_store_cluster::engines;

use crate::place::{Place, SECRET};

/// Who makes changes at once.
const ADMINISTRATORS: usize = 4;

/// Acknowledged changes before each kill. The first comes right after the start, before much else has begun.
const KILLS: [usize; 4] = [1, 4, 40, 9];

/// Creates a user; whether that was acknowledged. None: there is no answer.
fn create(management: &str, id: &str) -> Option<bool> {
    let body = format!(r#"{{"id":"{id}","email":"{id}@example.com"}}"#);
    let mut stream = TcpStream::connect(management).ok()?;
    let head = format!(
        "POST /api/admin/users HTTP/1.1\r\nhost: {management}\r\nauthorization: Bearer {SECRET}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    (!answer.is_empty()).then(|| answer.starts_with("HTTP/1.1 201"))
}

/// Users whose creation the audit log tells of.
fn audited(place: &Place) -> BTreeSet<String> {
    let mut users = BTreeSet::new();
    for page in 1.. {
        let (status, told) =
            place.admin("GET", &format!("/audit-logs?event=user.created&limit=100&page={page}"), "");
        assert_eq!(status, 200, "{told}");
        let records = told["audit_logs"].as_array().unwrap();
        users.extend(records.iter().map(|record| record["user"].as_str().unwrap().to_owned()));
        if records.is_empty() {
            break;
        }
    }
    users
}

fn every_acknowledged_change_is_audited(env: &[(&str, &str)]) {
    let place = Place::new();
    let acknowledged = Mutex::new(BTreeSet::new());
    for (kill, number) in KILLS.into_iter().enumerate() {
        let server = place.serve(env);
        let management = place.management();
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            for administrator in 0..ADMINISTRATORS {
                let (tell, management, acknowledged) = (tell.clone(), &management, &acknowledged);
                scope.spawn(move || {
                    for change in 0.. {
                        let id = format!("u{kill}-{administrator}-{change}");
                        match create(management, &id) {
                            Some(true) => acknowledged.lock().unwrap().insert(id),
                            Some(false) => continue,
                            None => return,
                        };
                        // Nobody counts after the kill.
                        let _ = tell.send(());
                    }
                });
            }
            drop(tell);
            assert_eq!(told.iter().take(number).count(), number, "the server ended by itself");
            // SIGKILL.
            drop(server);
        });
        let _server = place.serve(env);
        let audited = audited(&place);
        let missing: Vec<_> = acknowledged.lock().unwrap().difference(&audited).cloned().collect();
        assert!(missing.is_empty(), "after kill {kill}, not in the audit log: {missing:?}");
    }
}

#[test]
fn every_change_that_was_acknowledged_is_in_the_audit_log_of_a_data_directory() {
    every_acknowledged_change_is_audited(&[("SYMBOLON_RATE_LIMITS", "off")]);
}

#[test]
fn every_change_that_was_acknowledged_is_in_the_audit_log_of_the_engines() {
    let engines = engines::shared();
    engines.postgres.create_database("audit_kill");
    let env = [
        ("SYMBOLON_RATE_LIMITS", "off"),
        ("SYMBOLON_STORE", "cluster"),
        ("SYMBOLON_POSTGRES_URL", &engines.postgres.url("audit_kill")),
        ("SYMBOLON_REDIS_URLS", &engines.redis.urls()),
        ("SYMBOLON_REDIS_PREFIX", "audit_kill"),
        ("SYMBOLON_MASTER_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
    ];
    every_acknowledged_change_is_audited(&env);
}
