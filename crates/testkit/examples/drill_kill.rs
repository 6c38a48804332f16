//! Kills the server again and again under mixed load, and verifies after each start that everything acknowledged holds.
//!
//! `cargo run -p symbolon-testkit --example drill_kill -- target/debug/symbolon [--kills 50] [--seed N] [--workers 6]
//! [--plants]`
//!
//! With `--plants` the data directory is put back to an earlier state behind the server's back, which must be found.
//!
//! Needs `faketime` to let the time go on at the end, so that everything that waits is delivered.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a drill: a failure is a failed drill, and counts are its output"
)]

use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::Ordering;
use std::time::Duration;

use symbolon_testkit::drill::inbox::Inbox;
use symbolon_testkit::drill::{
    Arguments, Crew, Depth, Dice, Launch, People, Pressure, Provider, RelyingPartyAtHand, unix_micros,
};

/// The least and the most milliseconds of load before a kill.
const LOAD: [usize; 2] = [150, 1_500];

/// How long the server has a delivery for itself, in seconds, and a little more.
const CLAIM: i64 = 130;

/// How long the server may take to deliver what is due.
const DELIVERED_WITHIN: Duration = Duration::from_secs(30);

/// Within this time after its start, the server has sent what is due.
const SENT_WITHIN: Duration = Duration::from_millis(600);

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let kills = arguments.number("--kills", 50);
    let seed = arguments.number("--seed", unix_micros());
    let workers = arguments.number("--workers", 6);
    let plants = arguments.switch("--plants");
    let binary = arguments.binary();
    let directory = tempfile::tempdir().expect("a temporary directory");
    println!("seed {seed}");
    // What is to be found must have happened in the short time around the moment to which the data goes back.
    let one_in = if plants { 2 } else { 5 };
    let mut drill = Drill::begin(&binary, directory.path(), (workers as usize, one_in), seed);
    if plants {
        return drill.find_plants(directory.path());
    }
    let began = unix_micros();
    let mut dice = Dice::new(seed);
    let mut slowest = 0;
    for kill in 1..=kills {
        let pause = LOAD[0] + dice.below(LOAD[1] - LOAD[0]);
        drill.load_and_kill(Duration::from_millis(pause as u64));
        let restarted = unix_micros();
        if let Err(said) = drill.start() {
            println!("VIOLATION  after kill {kill}: {said}");
            return ExitCode::FAILURE;
        }
        slowest = slowest.max(unix_micros() - restarted);
        let depth = if kill == kills { Depth::ALL } else { Depth { youngest: 150, others: 50 } };
        let tally = drill.crew.verify(&drill.launch.wire(), depth);
        println!("kill {kill}: {} acknowledged, {} violations", tally.acknowledged(), tally.violations());
    }
    drill.provider.stop();
    drill.deliver_everything();
    let tally = drill.crew.tally();
    println!("{tally}");
    println!("{kills:>9}  kills");
    println!(
        "slowest start {} ms; {} s in all; seed {seed}",
        slowest / 1000,
        (unix_micros() - began) / 1_000_000
    );
    if tally.violations() > 0 {
        println!("the server's log:\n{}", std::fs::read_to_string(&drill.launch.log).unwrap_or_default());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

struct Drill {
    launch: Launch,
    provider: Provider,
    crew: Crew,
    inbox: Inbox,
}

impl Drill {
    fn begin(binary: &Path, directory: &Path, (workers, one_in): (usize, usize), seed: u64) -> Self {
        let launch = Launch::new(binary, &directory.join("data"), &directory.join("log"));
        let inbox = Inbox::open(&[]).expect("free ports");
        let people = People::new(launch.issuer(), inbox.clone()).one_step_in(one_in);
        let launch = people.served_by(launch);
        let provider = launch.start().expect("the first start");
        let party = RelyingPartyAtHand::register_told(&launch.wire(), &people).expect("an answer");
        let crew = Crew::new(party, workers, seed).with_crowds(1_000).with_people(people);
        Self { launch, provider, crew, inbox }
    }

    fn load_and_kill(&mut self, lasts: Duration) {
        let provider = &mut self.provider;
        self.crew.load(&self.launch.wire(), Pressure::None, |over| {
            std::thread::sleep(lasts);
            over.store(true, Ordering::SeqCst);
            provider.kill();
        });
    }

    fn start(&mut self) -> Result<(), String> {
        self.provider = self.launch.start()?;
        Ok(())
    }

    /// Lets the time go on, until everything is due that killed servers had claimed and that the server of mail did not
    /// answer; and once more, so that what came twice could come a third time.
    fn deliver_everything(&mut self) {
        for nth in 1..=2 {
            let Some(later) = self.launch.with_clock(nth * CLAIM) else {
                println!("left out: what waits at the end, which needs `faketime`");
                return;
            };
            let mut provider = later.start().expect("a start");
            if nth == 1 {
                self.crew.verify_deliveries(DELIVERED_WITHIN);
            }
            std::thread::sleep(SENT_WITHIN);
            provider.stop();
        }
        self.crew.verify_copies();
    }
}

/// How long the load lasts at a time around the moment to which the data goes back.
const AROUND: Duration = Duration::from_millis(1_500);

/// The most times of load, before and after that moment, until enough has happened.
const MOST_TIMES: usize = 40;

/// What has to have happened so often before the moment.
const BEFORE: [(&str, u64); 5] = [
    ("acknowledged generator that was set up", 6),
    ("acknowledged passkey that was added", 6),
    ("acknowledged request for a code by mail", 12),
    ("acknowledged request for a recovery link", 8),
    ("acknowledged request for a code of a registration", 8),
];

/// What has to have happened so often between the moment and the kill.
const AFTER: [(&str, u64); 9] = [
    ("acknowledged use of a proof", 4),
    ("acknowledged sign-in by a recovery code", 6),
    ("acknowledged sign-in by a code of a generator", 6),
    ("acknowledged use of a code by mail", 6),
    ("acknowledged use of a recovery link", 4),
    ("acknowledged use of a code of a registration", 4),
    ("acknowledged changed password", 3),
    ("acknowledged passkey that was removed", 4),
    ("acknowledged mail", 6),
];

/// What is found when the data goes back to an earlier state: each of these.
const FOUND: [&str; 12] = [
    "proof that was used",
    "recovery code that was used",
    "code of a generator that was used",
    "code by mail that was used",
    "recovery link that was used",
    "code of a registration that was used",
    "account that was registered",
    "password that was replaced",
    "passkey that was removed",
    "mail that was acknowledged never came",
    "logout token never came",
    "mail that came twice at most",
];

impl Drill {
    /// Puts the data back to an earlier state: what was used is unused again, what was queued is lost, and what was delivered
    /// is delivered again, and again.
    fn find_plants(&mut self, directory: &Path) -> ExitCode {
        self.load_until_away(&BEFORE);
        let earlier = directory.join("earlier");
        copy(&self.launch.data, &earlier);
        self.inbox.set_away(false);
        self.start().expect("a start");
        self.crew.forget_counts();
        self.load_until_away(&AFTER);
        self.inbox.set_away(false);
        self.crew.forget_counts();
        for nth in 1..=2 {
            std::fs::remove_dir_all(&self.launch.data).expect("the data can be removed");
            copy(&earlier, &self.launch.data);
            self.start().expect("a start");
            if nth == 1 {
                self.crew.verify(&self.launch.wire(), Depth::ALL);
            }
            self.crew.verify_deliveries(2 * AROUND);
            self.provider.kill();
        }
        self.crew.verify_copies();
        let tally = self.crew.tally();
        let found = |what: &&str| {
            let times = tally.violations_like(what);
            println!("{times:>5} times found: {what}");
            times > 0
        };
        let missed = FOUND.iter().filter(|what| !found(what)).count();
        if missed == 0 {
            return ExitCode::SUCCESS;
        }
        println!("{tally}");
        ExitCode::FAILURE
    }

    /// Load until enough has happened, and at its end until nothing is delivered any more; then a kill.
    fn load_until_away(&mut self, enough: &[(&str, u64)]) {
        for _ in 0..MOST_TIMES {
            self.crew.load(&self.launch.wire(), Pressure::None, |_| std::thread::sleep(AROUND));
            let tally = self.crew.tally();
            if enough.iter().all(|(kind, times)| tally.of(kind) >= *times) {
                break;
            }
        }
        let (inbox, provider) = (self.inbox.clone(), &mut self.provider);
        self.crew.load(&self.launch.wire(), Pressure::None, |over| {
            inbox.set_away(true);
            // So long that sessions end, too, of which nobody can be told any more.
            std::thread::sleep(3 * AROUND);
            over.store(true, Ordering::SeqCst);
            provider.kill();
        });
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.is_ok_and(|status| status.success()), "{} can be copied", from.display());
}
