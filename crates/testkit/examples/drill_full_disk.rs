//! Fills the disk of the server while it is under load. Reads must still be answered, writes must be refused with 503,
//! and writes must work again by themselves once there is room. Nothing that was acknowledged may be lost, not even by
//! a restart on the full disk.
//!
//! `cargo run -p symbolon-testkit --example drill_full_disk -- target/debug/symbolon [--seconds 3] [--megabytes 400]
//! [--seed N]`
//!
//! Must run as root: it mounts a file system of that size in memory.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a drill: a failure is a failed drill, and counts are its output"
)]

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use symbolon_testkit::drill::{
    Arguments, Crew, Depth, Launch, Pressure, Provider, RelyingPartyAtHand, Tally, unix_micros,
};

const MIB: u64 = 1 << 20;
/// Below this much free space the server refuses writes by default.
const RESERVE: u64 = 256 * MIB;

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let seconds = arguments.number("--seconds", 3);
    let megabytes = arguments.number("--megabytes", 400);
    let seed = arguments.number("--seed", unix_micros());
    let binary = arguments.binary();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let disk = SmallDisk::mount(&directory.path().join("disk"), megabytes);
    let log = directory.path().join("log");
    let launch = Launch::new(&binary, &disk.path.join("data"), &log);
    println!("seed {seed}");
    let provider = launch.start().expect("the first start");
    let party = RelyingPartyAtHand::register(&launch.wire()).expect("an answer");
    let crew = Crew::new(party, 4, seed);
    let mut drill =
        Drill { launch, disk, provider, crew, pause: Duration::from_secs(seconds), sum: Tally::default() };
    drill.run();
    println!("{}", drill.sum);
    println!("seed {seed}");
    if drill.sum.violations() > 0 {
        println!("the server's log:\n{}", fs::read_to_string(&log).unwrap_or_default());
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

struct Drill {
    launch: Launch,
    disk: SmallDisk,
    provider: Provider,
    crew: Crew,
    pause: Duration,
    sum: Tally,
}

impl Drill {
    fn run(&mut self) {
        self.phase("with room", Pressure::None);
        self.disk.fill_to(RESERVE + 4 * MIB);
        let pause = self.pause;
        let disk = &self.disk;
        self.crew.load(&self.launch.wire(), Pressure::FullDisk, |_| {
            std::thread::sleep(pause / 2);
            disk.fill_to(RESERVE / 4);
            std::thread::sleep(pause);
        });
        self.count("while it fills up");
        self.phase_full("on the reserve");
        self.disk.fill_to(0);
        self.phase_full("without a byte left");

        self.disk.empty();
        self.disk.fill_to(RESERVE / 16);
        self.restart("with little room", Provider::stop);
        self.phase_full("after a restart with little room");
        self.disk.fill_to(0);
        self.restart("without a byte left", Provider::kill);
        self.phase_full("after a restart without a byte left");

        self.disk.empty();
        // The server checks the disk ten times a second.
        std::thread::sleep(Duration::from_millis(500));
        self.phase("with room again, no restart", Pressure::None);
        self.restart("with room again", Provider::kill);
        let tally = self.crew.verify(&self.launch.wire(), Depth::ALL);
        println!("verified: {} violations", tally.violations());
        self.sum.merge(tally);
    }

    fn phase(&mut self, name: &str, pressure: Pressure) -> Tally {
        let pause = self.pause;
        self.crew.load(&self.launch.wire(), pressure, |_| std::thread::sleep(pause));
        self.count(name)
    }

    /// A phase in which every write must be refused, and every read answered.
    fn phase_full(&mut self, name: &str) {
        let tally = self.phase(name, Pressure::FullDisk);
        for kind in ["rotation", "revocation of an access token", "user"] {
            let done = tally.of(&format!("acknowledged {kind}"));
            self.sum.check("no write on a full disk", done == 0, || format!("{done} times {kind} {name}"));
        }
        let refused = tally.of("refused (503) rotation");
        self.sum.check("writes refused on a full disk", refused > 0, || {
            format!("no rotation was refused {name}")
        });
        for kind in ["introspection", "userinfo"] {
            let done = tally.of(&format!("acknowledged {kind}"));
            self.sum.check("reads on a full disk", done > 0, || format!("no {kind} {name}"));
        }
    }

    fn count(&mut self, name: &str) -> Tally {
        let tally = self.crew.tally();
        self.crew.forget_counts();
        println!("{name} ({} MiB free):\n{tally}\n", self.disk.free() / MIB);
        self.sum.merge(tally.clone());
        tally
    }

    fn restart(&mut self, name: &str, end: impl FnOnce(&mut Provider)) {
        end(&mut self.provider);
        match self.launch.start() {
            Ok(provider) => self.provider = provider,
            Err(said) => self.sum.violation(format!("a restart {name}: {said}")),
        }
        self.sum.count("restarts");
    }
}

/// A file system in memory, unmounted when this is dropped.
struct SmallDisk {
    path: PathBuf,
    ballast: PathBuf,
}

impl SmallDisk {
    fn mount(path: &Path, megabytes: u64) -> Self {
        fs::create_dir_all(path).expect("a directory");
        let size = format!("size={megabytes}m");
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", &size, "tmpfs"]).arg(path).status();
        assert!(mounted.is_ok_and(|status| status.success()), "mounting needs root");
        Self { path: path.to_owned(), ballast: path.join("ballast") }
    }

    fn free(&self) -> u64 {
        let stat = rustix::fs::statvfs(&self.path).expect("the disk");
        stat.f_bavail * stat.f_frsize
    }

    /// Writes until no more than `left` bytes are free.
    fn fill_to(&self, left: u64) {
        let mut file = File::options().append(true).create(true).open(&self.ballast).expect("the ballast");
        loop {
            let more = self.free().saturating_sub(left).min(MIB) as usize;
            if more == 0 || file.write_all(&vec![1; more]).is_err() {
                return;
            }
        }
    }

    fn empty(&self) {
        fs::remove_file(&self.ballast).expect("the ballast");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-l").arg(&self.path).status();
        assert!(unmounted.is_ok_and(|status| status.success()), "{} stays mounted", self.path.display());
    }
}
