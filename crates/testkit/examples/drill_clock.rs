//! Starts the server with a wrong clock. If the clock is far behind the last time in the data, the start must be
//! refused with the reason and the command that accepts the clock. If it is a little behind or ahead, the start must
//! succeed.
//!
//! `cargo run -p symbolon-testkit --example drill_clock -- target/debug/symbolon`
//!
//! Needs `faketime` (of libfaketime).
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a drill: a failure is a failed drill, and counts are its output"
)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use symbolon_testkit::drill::{
    Arguments, Crew, Depth, Launch, Pressure, RelyingPartyAtHand, Tally, unix_micros,
};

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let seed = arguments.number("--seed", unix_micros());
    let binary = arguments.binary();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let launch = Launch::new(&binary, &directory.path().join("data"), &directory.path().join("log"));
    // Longer than the clock is ever off, so that no token expires because of the shift alone.
    let launch = launch.env("SYMBOLON_LIFETIME_ACCESS_TOKEN", "4h");
    let tally = drill(&launch, directory.path(), seed);
    println!("{tally}");
    if tally.violations() > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

fn drill(launch: &Launch, directory: &Path, seed: u64) -> Tally {
    let mut provider = launch.start().expect("the first start");
    let party = RelyingPartyAtHand::register(&launch.wire()).expect("an answer");
    let mut crew = Crew::new(party, 2, seed);
    crew.load(&launch.wire(), Pressure::None, |_| std::thread::sleep(Duration::from_secs(2)));
    provider.stop();
    let mut tally = Tally::default();

    let behind = shifted(launch, -3_600).start().map(drop);
    let said = behind.as_ref().err().map(String::as_str).unwrap_or_default();
    let named = said.contains("--accept-clock") && said.contains("has seen");
    tally.check("clock an hour behind, refused by name", named, || format!("{behind:?}"));

    // Expiry goes by the server's clock: ten minutes or an hour behind, nothing may have expired early.
    started(&mut tally, "clock ten minutes behind, followed", &shifted(launch, -600), &mut crew);
    let mut accepted = shifted(launch, -3_600);
    accepted.arguments.push("--accept-clock".into());
    started(&mut tally, "clock an hour behind, accepted", &accepted, &mut crew);
    started(&mut tally, "clock right again", launch, &mut crew);

    // Half an hour ahead, the access tokens of four hours are still valid.
    let ahead = shifted(launch, 1_800);
    started(&mut tally, "clock half an hour ahead, followed", &ahead, &mut crew);
    let back = launch.start().map(drop);
    let refused = back.as_ref().is_err_and(|said| said.contains("--accept-clock"));
    tally.check("clock set back by that half hour, refused by name", refused, || format!("{back:?}"));
    drop(std::fs::remove_file(directory.join("log")));
    tally
}

/// The same launch with a clock that is off by so many seconds.
fn shifted(launch: &Launch, by: i64) -> Launch {
    launch.with_clock(by).expect("faketime")
}

/// Starts, checks everything, and stays up long enough for the store to note the time.
fn started(tally: &mut Tally, kind: &str, launch: &Launch, crew: &mut Crew) {
    let started = launch.start();
    tally.check(kind, started.is_ok(), || format!("{:?}", started.as_ref().map(drop)));
    if let Ok(mut provider) = started {
        crew.forget_counts();
        let checked = crew.verify(&launch.wire(), Depth::ALL);
        println!("{kind}: {} violations", checked.violations());
        tally.merge(checked);
        provider.stop();
    }
}
