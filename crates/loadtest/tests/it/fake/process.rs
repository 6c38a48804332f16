//! The fake as a program of its own, which a load test starts, and which may waste what a provider should not.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use axum::Router;
use axum::routing::get;
use symbolon_loadtest::clock;

use super::{Fake, Fault, Whereabouts};

/// Says how it is to waste; set where this process is such a program.
const WASTES: &str = "SYMBOLON_TEST_FAKE_WASTES";
/// What a request leaks.
const LEAKED: usize = 128 << 10;
/// What a request spins.
const SPUN: Duration = Duration::from_millis(1);
/// How long one that stays does so at most: a test that fails leaves nothing for good.
const STAYS: Duration = Duration::from_secs(60);

/// A program in this directory that serves as `symbolon serve` does, with this fault: none, that it leaks, that it spins, or
/// that it stays.
pub(crate) fn program(directory: &Path, fault: Fault) -> PathBuf {
    let name = format!("{fault:?}");
    let test = "fake::process::a_program_serves_until_whoever_started_it_is_gone";
    script((directory, &name), &format!("{WASTES}={name}"), test)
}

/// A program of this name in a directory, which runs this test alone, with this in its environment.
pub(crate) fn script((directory, name): (&Path, &str), environment: &str, test: &str) -> PathBuf {
    let path = directory.join(name);
    let tests = std::env::current_exe().unwrap();
    let tests = tests.to_str().unwrap();
    let script = format!(
        "#!/bin/sh\nexport {environment}\nexec '{tests}' --exact {test} --nocapture --test-threads 1\n"
    );
    // Written by another process: a file that this one has open cannot be run, nor while a child that is just being started
    // has it open.
    let write = ["-c", "printf %s \"$1\" > \"$0\" && chmod +x \"$0\""];
    let written = Command::new("sh").args(write).arg(&path).arg(script).status().unwrap();
    assert!(written.success(), "{path:?}");
    path
}

/// Wastes what the fault says.
pub(super) fn waste(fake: &Fake) {
    if fake.has(Fault::Leaks) {
        Box::leak(vec![1_u8; LEAKED].into_boxed_slice());
        std::mem::forget(std::fs::File::open("/dev/null").unwrap());
    }
    if fake.has(Fault::Spins) {
        let began = clock::now();
        while began.elapsed() < SPUN {
            std::hint::spin_loop();
        }
    }
}

/// Serves until standard input ends, which it does with whoever started this; one that stays, for a while longer.
fn serve(fault: &str) -> ! {
    let secret = std::env::var("SYMBOLON_ADMIN_SECRET").unwrap();
    let fake = Fake::start_at(true, &secret, Whereabouts::default());
    let faults = [Fault::None, Fault::Leaks, Fault::Spins, Fault::Stays];
    fake.set_fault(faults.into_iter().find(|known| format!("{known:?}") == fault).unwrap());
    let management =
        std::net::TcpListener::bind(std::env::var("SYMBOLON_MANAGEMENT_LISTEN").unwrap()).unwrap();
    management.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(management).unwrap();
            // It counts nothing.
            let router = Router::new().route("/metrics", get(|| std::future::ready("# nothing\n")));
            axum::serve(listener, router).await.unwrap();
        });
    });
    println!("listening on {}", fake.url());
    std::io::copy(&mut std::io::stdin(), &mut std::io::sink()).unwrap();
    if fake.has(Fault::Stays) {
        std::thread::sleep(STAYS);
    }
    std::process::exit(0)
}

#[test]
fn a_program_serves_until_whoever_started_it_is_gone() {
    if let Ok(fault) = std::env::var(WASTES) {
        serve(&fault);
    }
    let place = tempfile::tempdir().unwrap();
    let mut child = Command::new(program(place.path(), Fault::None))
        .arg("serve")
        .env("SYMBOLON_ADMIN_SECRET", "another-secret")
        .env("SYMBOLON_MANAGEMENT_LISTEN", "127.0.0.1:0")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("listening on http://127.0.0.1:")));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}
