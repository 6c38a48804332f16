//! Breaks the nodes of a cluster, its PostgreSQL, its Redis and the network between them, in random order, under load.
//! Parts may be unavailable, but no answer may be wrong, and nothing that was acknowledged may be lost.
//!
//! `cargo run -p symbolon-testkit --example drill_cluster -- target/debug/symbolon [--seconds 120] [--seed N]
//! [--workers 4] [--fault NAME]... [--neighbour BINARY] [--plants]`
//!
//! Each fault happens at least once, even if that takes longer. `--neighbour` is the binary of another version, to
//! which the nodes change and back. `--plants` does what the nodes must never do instead of faults, and fails if that
//! is not found.
//!
//! Needs PostgreSQL and redis-server; for some of the faults network namespaces (root, `ip`), `strace` and libfaketime.
//! Without these, the faults are left out, and named in the output.
#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a drill: a failure is a failed drill, and counts are its output"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use symbolon_testkit::drill::cluster::{Cluster, Fault, Plant, all_faults, all_plants};
use symbolon_testkit::drill::{
    Arguments, Availability, Crew, Depth, Dice, LOST_CODE, LOST_USE, Meter, Pressure, Tally, unix_micros,
};

/// Load before each fault.
const CALM: Duration = Duration::from_millis(1_500);

/// How long a cluster that reports itself ready may still answer 503 now and then.
const MENDED_WITHIN: Duration = Duration::from_secs(120);

/// Within this time, the nodes have looked at the queue of deliveries and have sent what is due.
const LOOKED_AT_WITHIN: Duration = Duration::from_millis(3_000);

/// How long the mended cluster may take to deliver what is due.
const DELIVERED_WITHIN: Duration = Duration::from_secs(60);

/// The same where a violation was planted.
const PLANTED_WITHIN: Duration = Duration::from_secs(8);

/// How often a violation is planted until it is found: in the few seconds of one try, nobody may have done what it is about.
const PLANTED_AT_MOST: usize = 3;

/// How many lost answers are reported after each fault; the others are only counted.
const REASONS: usize = 3;

/// Texts of errors for a connection that the other end closed before it answered.
const HANG_UPS: [&str; 2] = ["reset by peer", "Peer disconnected"];

/// How much is checked after each fault; at the end everything is.
const DEPTH: Depth = Depth { youngest: 24, others: 12 };

fn main() -> ExitCode {
    let mut arguments = Arguments::of_process();
    let seconds = arguments.number("--seconds", 120);
    let seed = arguments.number("--seed", unix_micros());
    let workers = arguments.number("--workers", 4);
    let wanted: Vec<String> = std::iter::from_fn(|| arguments.text("--fault")).collect();
    let plants = arguments.switch("--plants");
    let neighbour = arguments.text("--neighbour").map(PathBuf::from);
    let binary = arguments.binary();
    println!("seed {seed}");
    let cluster = match Cluster::start(&binary, neighbour) {
        Ok(cluster) => cluster,
        Err(said) => {
            println!("VIOLATION  the first start: {said}");
            return ExitCode::FAILURE;
        }
    };
    let mut drill = Drill::new(cluster, workers as usize, seed);
    if plants {
        return drill.find_plants();
    }
    let faults = possible(&drill.cluster, &wanted);
    drill.run(faults, Duration::from_secs(seconds));
    drill.report(seed)
}

/// The wanted faults that can happen on this machine; prints the names of the others.
fn possible(cluster: &Cluster, wanted: &[String]) -> Vec<Box<dyn Fault>> {
    let mut faults = all_faults();
    let names: Vec<&str> = faults.iter().map(|fault| fault.name()).collect();
    let unknown: Vec<&String> = wanted.iter().filter(|name| !names.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "no fault is called {unknown:?}, but {names:?}");
    faults.retain(|fault| wanted.is_empty() || wanted.iter().any(|name| name == fault.name()));
    faults.retain(|fault| match fault.left_out(cluster) {
        None => true,
        Some(why) => {
            println!("left out: {}: {why}", fault.name());
            false
        }
    });
    assert!(!faults.is_empty(), "no fault can happen here");
    faults
}

struct Drill {
    cluster: Cluster,
    crew: Crew,
    dice: Dice,
    tally: Tally,
    /// Whether a primary of Redis has ended, so that codes may be lost.
    codes_lost: bool,
    /// By fault: how often it happened, and the availability meanwhile.
    figures: BTreeMap<&'static str, (u32, Availability)>,
}

impl Drill {
    fn new(cluster: Cluster, workers: usize, seed: u64) -> Self {
        let crew = cluster.crew(workers, seed);
        let (dice, tally, figures) = (Dice::new(seed), Tally::default(), BTreeMap::new());
        Self { cluster, crew, dice, tally, codes_lost: false, figures }
    }

    /// Runs all faults in random order, again and again until the time is over.
    fn run(&mut self, mut faults: Vec<Box<dyn Fault>>, lasts: Duration) {
        let began = unix_micros();
        let mut turns = faults.len();
        'all: loop {
            for last in (1..faults.len()).rev() {
                faults.swap(last, self.dice.below(last + 1));
            }
            for fault in &mut faults {
                self.round(fault.as_mut(), DEPTH);
                turns = turns.saturating_sub(1);
                let over = turns == 0 && u128::from(unix_micros() - began) >= lasts.as_micros();
                if over || self.tally.violations() > 0 {
                    break 'all;
                }
            }
        }
        self.crew.verify_cluster(&self.cluster.wire(), Depth::ALL, MENDED_WITHIN);
        self.verify_deliveries(DELIVERED_WITHIN);
        println!("everything: {} violations", self.count().violations());
    }

    /// What nodes that ended had claimed, and what the server of mail did not answer, comes again; what nobody answered twice
    /// must not.
    fn verify_deliveries(&mut self, within: Duration) {
        self.cluster.make_deliveries_due();
        self.crew.verify_deliveries(within);
        for _ in 0..2 {
            self.cluster.make_deliveries_due();
            std::thread::sleep(LOOKED_AT_WITHIN);
        }
        self.crew.verify_copies();
    }

    /// Runs one fault under load, and verifies afterwards.
    fn round(&mut self, fault: &mut dyn Fault, depth: Depth) {
        let (cluster, dice, meter) = (&mut self.cluster, &mut self.dice, Arc::new(Meter::default()));
        let (wire, from) = (cluster.wire().metered(&meter), unix_micros());
        let mut healed = Ok(());
        let (mut begun, mut ready) = (0, 0);
        self.crew.load(&wire, Pressure::Faults, |_| {
            std::thread::sleep(CALM);
            while meter.count() < fault.not_before() {
                std::thread::sleep(CALM / 10);
            }
            begun = unix_micros();
            healed = break_and_mend(fault, cluster, dice);
            ready = unix_micros();
            std::thread::sleep(CALM / 3);
        });
        let (calm, seen) = (meter.between(from..begun), meter.between(begun..ready));
        for (name, availability) in [("(none)", calm), (fault.name(), seen.clone())] {
            let (times, sum) = self.figures.entry(name).or_default();
            *times += 1;
            *sum += &availability;
        }
        if let Err(said) = healed {
            self.tally.violation(format!("{}: {said}", fault.name()));
        }
        if let Some(most) = fault.hang_ups_at_most() {
            let reasons = meter.reasons();
            let hung_up = |why: &&String| HANG_UPS.iter().any(|words| why.contains(words));
            let hang_ups = reasons.iter().filter(hung_up).count();
            let answered = reasons.len() == hang_ups && hang_ups <= most;
            self.tally.check("every request answered", answered, || format!("{}: {reasons:?}", fault.name()));
        }
        let verified = unix_micros();
        self.crew.verify_cluster(&self.cluster.wire(), depth, MENDED_WITHIN);
        let verifying = (unix_micros() - verified) as f64 / 1e6;
        self.codes_lost |= fault.loses_codes();
        let counted = self.count();
        let lost = counted.of(LOST_CODE);
        self.tally.check("codes that are there", lost == 0 || self.codes_lost, || {
            format!("{lost} codes were lost, and no primary of Redis had ended")
        });
        let again = counted.of(LOST_USE);
        self.tally.check("pushed requests that are used once", again == 0 || self.codes_lost, || {
            format!("{again} were used twice, and no primary of Redis had ended")
        });
        let violations = self.tally.violations();
        println!("{:<26} {seen}   verified in {verifying:.1} s, {violations} violations", fault.name());
        meter.reasons().iter().take(REASONS).for_each(|why| println!("    lost: {why}"));
    }

    /// Plants the violations one after the other. Each must be found.
    fn find_plants(&mut self) -> ExitCode {
        let mut found_all = true;
        for mut plant in all_plants() {
            if !(0..PLANTED_AT_MOST).any(|_| self.find(&mut plant)) {
                println!("{}", self.tally);
                found_all = false;
            }
        }
        if found_all { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }

    /// Plants a violation; whether it is found.
    fn find(&mut self, plant: &mut Plant) -> bool {
        // A new crew, because the old ledgers contain the effects of earlier violations.
        self.crew = self.cluster.crew(4, self.dice.throw());
        self.tally = Tally::default();
        self.round(plant, Depth::ALL);
        if plant.is_of_deliveries {
            self.verify_deliveries(PLANTED_WITHIN);
            self.count();
        }
        let found: usize = plant.found_as.iter().map(|words| self.tally.violations_like(words)).sum();
        println!("{:<26} found {found} times: {}", plant.name(), plant.found_as.join(" or "));
        found > 0
    }

    /// Moves the workers' counts into the sum; returns them.
    fn count(&mut self) -> Tally {
        let counted = self.crew.tally();
        self.crew.forget_counts();
        self.tally.merge(counted.clone());
        counted
    }

    fn report(&self, seed: u64) -> ExitCode {
        println!("\n{}\n\n{:<26} times {}", self.tally, "fault", Availability::HEADING);
        for (name, (times, availability)) in &self.figures {
            println!("{name:<26} {times:>5} {availability}");
        }
        println!("\nseed {seed}");
        if self.tally.violations() == 0 {
            return ExitCode::SUCCESS;
        }
        println!("the nodes' logs:\n{}", self.cluster.logs());
        ExitCode::FAILURE
    }
}

fn break_and_mend(fault: &mut dyn Fault, cluster: &mut Cluster, dice: &mut Dice) -> Result<(), String> {
    let begun = fault.begin(cluster, dice);
    std::thread::sleep(fault.lasts());
    // A fault that began only in part is healed too.
    let healed = fault.heal(cluster);
    begun.and(healed).and_then(|()| cluster.wait_until_all_ready())
}
