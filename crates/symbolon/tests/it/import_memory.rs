//! An import holds little of a file, however large it is.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::Stdio;
use std::time::Duration;

use serde_json::json;

use crate::place::Place;

/// Users of the huge file.
const USERS: usize = 3_000;
/// What each of them has besides, which is left out.
const BESIDES: usize = 64 << 10;
/// How much more memory the huge file may take than a small one, in KiB: a quarter of its length.
const MORE: u64 = (USERS * BESIDES / 4 / 1_024) as u64;

/// Writes an export of Auth0.
fn export(place: &Place, name: &str, users: usize) {
    let mut out = BufWriter::new(File::create(place.path(name)).unwrap());
    let besides = "x".repeat(BESIDES);
    for n in 0..users {
        let (id, email) = (format!("{name}-{n}"), format!("{name}-{n}@example.com"));
        writeln!(out, "{}", json!({ "_id": { "$oid": id }, "email": email, "tenant": besides })).unwrap();
    }
    out.flush().unwrap();
}

/// Imports a file; the most memory that the command had at a time, in KiB, and what it printed.
fn imported(place: &Place, name: &str) -> (u64, String) {
    let mut command = place.command(&["import", "auth0", name], &[]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let (status, mut most) = (format!("/proc/{}/status", child.id()), 0_u64);
    while child.try_wait().unwrap().is_none() {
        let told = std::fs::read_to_string(&status).unwrap_or_default();
        let peak = told.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
        most = most.max(peak.map_or(0, |peak| peak.trim().parse().unwrap()));
        std::thread::sleep(Duration::from_millis(2));
    }
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    (most, text(&output.stdout))
}

#[test]
fn a_huge_file_is_imported_in_bounded_memory() {
    let place = Place::new();
    // It keeps what is imported, so that the command has its own memory alone.
    let _server = place.serve(&[]);
    export(&place, "small", 1);
    export(&place, "huge", USERS);
    let (small, _) = imported(&place, "small");
    let (huge, told) = imported(&place, "huge");
    assert!(told.contains(&format!("users: {USERS} created, 0 there already, 0 not taken")), "{told}");
    assert!(huge < small + MORE, "{huge} KiB where a file of one user takes {small} KiB");
}
