//! Records every write and sync of the server under load, rebuilds the data directory as a power cut at random moments
//! would have left it, and verifies that everything acknowledged by then holds.
//!
//! `cargo run -p symbolon-testkit --example drill_power_cut -- target/debug/symbolon [--cuts 200] [--seconds 20]
//! [--last N] [--seed N] [--without-sync] [--expect-failure]`
//!
//! With `--last N` the moments are among the last N changes, during which the server stops and flushes its tables.
//!
//! After half of the cuts the power comes back at once, after the others two and a half minutes later, when nothing that was being
//! delivered is held back any more.
//!
//! Needs `strace`, and `faketime` for the time after a cut. With `--without-sync` the server does not sync, and the drill must fail: `--expect-failure`.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a drill: a failure is a failed drill, and counts are its output"
)]

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use symbolon_testkit::drill::disk::{Disk, Survival};
use symbolon_testkit::drill::inbox::Inbox;
use symbolon_testkit::drill::strace::{self, Event, Reader};
use symbolon_testkit::drill::{
    Arguments, Crew, Depth, Dice, Launch, Moment, People, Pressure, RelyingPartyAtHand, Tally, unix_micros,
};

/// How long the server has a delivery for itself, in seconds, and a little more.
const CLAIM: i64 = 130;

/// How long the server may take to deliver what is due.
const DELIVERED_WITHIN: Duration = Duration::from_secs(20);

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let cuts = arguments.number("--cuts", 200) as usize;
    let seconds = arguments.number("--seconds", 20);
    let last = arguments.number("--last", u64::MAX);
    let seed = arguments.number("--seed", unix_micros());
    let without_sync = arguments.switch("--without-sync");
    let expect_failure = arguments.switch("--expect-failure");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let binary = arguments.binary();
    println!("seed {seed}");
    let began = unix_micros();

    let mut launch = Launch::new(&binary, &directory.path().join("data"), &directory.path().join("log"));
    let people = People::new(launch.issuer(), Inbox::open(&[]).expect("free ports")).one_step_in(3);
    launch = people.served_by(launch);
    if without_sync {
        launch = launch.env("SYMBOLON_STORAGE_SYNC", "false");
    }
    let trace = directory.path().join("trace");
    let crew = record(&launch, &people, (&trace, seconds, seed));
    println!(
        "{}\n{:>9}  bytes of trace",
        crew.tally(),
        trace.metadata().map_or(0, |metadata| metadata.len())
    );
    let replay = Replay { launch, crew, directory: directory.path(), last, dice: Dice::new(seed) };
    let (tally, syncs, done) = replay.run(&trace, cuts, expect_failure);
    println!("{tally}\n{done:>9}  power cuts\n{syncs:>9}  syncs in the record");
    println!("{} s in all; seed {seed}", (unix_micros() - began) / 1_000_000);
    if (tally.violations() > 0) == expect_failure {
        println!("{}", if expect_failure { "failed, as it must without sync" } else { "nothing lost" });
        return ExitCode::SUCCESS;
    }
    ExitCode::FAILURE
}

/// Runs the load under strace; returns the workers with their ledgers.
fn record(launch: &Launch, people: &People, (trace, seconds, seed): (&Path, u64, u64)) -> Crew {
    let traced = launch.clone().under(strace::wrapper(trace));
    let mut provider = traced.start().expect("a start under strace");
    let party = RelyingPartyAtHand::register_told(&traced.wire(), people).expect("an answer");
    let mut crew = Crew::new(party, 4, seed).with_crowds(1_000).with_people(people.clone());
    crew.load(&traced.wire(), Pressure::None, |_| std::thread::sleep(Duration::from_secs(seconds)));
    provider.stop();
    assert_eq!(crew.tally().violations(), 0, "{}", crew.tally());
    crew
}

fn events(trace: &Path) -> impl Iterator<Item = Event> {
    let mut reader = Reader::default();
    let lines = BufReader::new(File::open(trace).expect("the trace")).lines();
    lines.flat_map(move |line| reader.read(&line.expect("a line of the trace")))
}

struct Replay<'a> {
    launch: Launch,
    crew: Crew,
    directory: &'a Path,
    /// Only the last so many changes are candidates.
    last: u64,
    dice: Dice,
}

impl Replay<'_> {
    fn run(mut self, trace: &Path, cuts: usize, stop_at_first: bool) -> (Tally, u64, usize) {
        let moments = self.moments(trace, cuts);
        let (mut tally, mut disk, mut done) = (Tally::default(), Disk::new(&self.launch.data), 0);
        let mut changes = 0;
        for event in events(trace) {
            if !disk.take(&event) {
                continue;
            }
            changes += 1;
            if moments.get(done) == Some(&changes) {
                done += 1;
                let found = self.cut(&disk, &event, done);
                tally.merge(found);
                if stop_at_first && tally.violations() > 0 {
                    break;
                }
            }
        }
        (tally, disk.syncs(), done)
    }

    /// Draws after which changes the power is cut: random ones, in order.
    fn moments(&mut self, trace: &Path, cuts: usize) -> Vec<usize> {
        let mut disk = Disk::new(&self.launch.data);
        let all = events(trace).filter(|event| disk.take(event)).count();
        println!("{all:>9}  changes and syncs in the record");
        let first = all.saturating_sub(usize::try_from(self.last).unwrap_or(usize::MAX));
        let mut moments: Vec<usize> = (first..all).map(|index| index + 1).collect();
        for index in 0..moments.len().min(cuts) {
            let other = index + self.dice.below(moments.len() - index);
            moments.swap(index, other);
        }
        moments.truncate(cuts);
        moments.sort_unstable();
        moments
    }

    fn cut(&mut self, disk: &Disk, event: &Event, number: usize) -> Tally {
        let data = self.directory.join(format!("cut-{number}"));
        let survival = match self.dice.below(3) {
            0 => Survival::Nothing,
            1 => Survival::Prefix,
            _ => Survival::Any,
        };
        disk.cut(&data, survival, &mut self.dice).expect("room for a copy of the data");
        let log = self.directory.join(format!("log-{number}"));
        let launch = self.launch.elsewhere(&data, &log);
        let later = if number.is_multiple_of(2) { CLAIM } else { 0 };
        let (launch, ahead) = at_the_time_of(&launch, event.at, later);
        let mut crew = self.crew.clone();
        crew.forget_counts();
        crew.go_back_to(event.at, ahead.unwrap_or(0));
        let mut tally = Tally::default();
        match launch.start() {
            Ok(mut provider) => {
                crew.verify_as_of(&launch.wire(), Depth { youngest: 40, others: 20 }, event.at);
                if later > 0 && ahead.is_some() {
                    crew.verify_deliveries(DELIVERED_WITHIN);
                }
                crew.verify_copies();
                tally = crew.tally();
                provider.kill();
            }
            Err(said) => tally.violation(said),
        }
        tally.count(&format!("cuts after which {} of what was not synced was left", left(survival)));
        let said = fs::read_to_string(&log).unwrap_or_default();
        if said.contains("took back a batch") {
            tally.count("cuts that tore a batch, which was taken back");
        }
        if tally.violations() > 0 {
            println!("cut {number} after {} at {} ({survival:?}):\n{tally}", event.name, event.at);
            said.lines().rev().take(10).for_each(|line| println!("{line}"));
        }
        drop(fs::remove_file(&log));
        fs::remove_dir_all(&data).expect("the copy can be removed");
        tally
    }
}

/// Gives the process the clock of the moment of the cut, or of a later one; and by how many seconds that is ahead of this
/// process's. `None` where `faketime` is not installed: then it has the present time.
fn at_the_time_of(launch: &Launch, cut: Moment, later: i64) -> (Launch, Option<i64>) {
    let behind = (unix_micros() - cut) / 1_000_000;
    let ahead = later - i64::try_from(behind).unwrap_or_default();
    match launch.with_clock(ahead) {
        Some(launch) => (launch, Some(ahead)),
        None => (launch.clone(), None),
    }
}

fn left(survival: Survival) -> &'static str {
    match survival {
        Survival::Nothing => "nothing",
        Survival::Prefix => "the beginning",
        Survival::Any => "any part",
    }
}
