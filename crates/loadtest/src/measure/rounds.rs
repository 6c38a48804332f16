//! The rounds of a measurement: floor, scenario, floor, scenario.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use symbolon_crypto::Algorithm;

use super::MeasureOptions;
use super::floor::{Floor, limit, median, method_of};
use super::hello::{HelloVisitor, Method};
use super::primitive::{Cost, Primitives};
use super::report::{HelloFigures, PrimitiveFigures, Report, ScenarioFigures, VERSION};
use crate::client::Peer;
use crate::cpu::CpuReading;
use crate::executor::{Closed, Load, Outcome, Stop, Until, closed, new_tally};
use crate::process::Server;
use crate::provider::Provider;
use crate::run::before::Before;
use crate::scenario::{Mix, Scenario, Visitor};
use crate::seed::{Seed, harvest_codes, plant};
use crate::tally::Tally;
use crate::{LoadtestError, Target, machine};

/// Unmeasured load before every part: caches of the processor and the machine's clock settle.
const WARM_UP: Duration = Duration::from_millis(50);
/// How long the hello server is loaded for the machine's own figures, at most.
const HELLO_SLICE: Duration = Duration::from_millis(400);
/// A slice is loaded in so many parts, each beside a floor of its own. What neighbours take from a machine changes
/// within a second: a ratio of figures that are further apart measures them.
const PARTS: u32 = 5;
/// How long the connections of a part take to end.
const CLOSING: Duration = Duration::from_millis(10);
/// How long the provider has for what it put off, as a part of the slice: the audit log gathers for a second.
const AFTERWARDS: f64 = 1.5;
/// Users with a passkey, where logins by passkey are measured.
const PASSKEYS: usize = 100;
/// Codes for one slice of the code scenario; the RSA ones last longer.
const CODES_RSA: usize = 5_000;
const CODES: usize = 45_000;

/// One round's figures of one scenario.
struct Sample {
    server_us: f64,
    generator_us: f64,
    floor: Floor,
    elapsed: Duration,
}

/// A slice under way.
struct Slice {
    outcome: Outcome,
    floors: Vec<Floor>,
}

/// A scenario through the rounds.
struct Track {
    scenario: Scenario,
    visitors: Vec<Box<dyn Visitor>>,
    samples: Vec<Sample>,
    tally: Tally,
}

/// The two hello servers.
struct Hellos {
    shared: Server,
    per_core: Server,
}

/// The machine's figures, one for each round.
#[derive(Default)]
struct Samples {
    hello: Vec<HelloFigures>,
    costs: Vec<Cost>,
}

pub(super) async fn run(
    options: &MeasureOptions,
    stop: &Stop,
    progress: &mut (dyn Write + Send),
) -> Result<Report, LoadtestError> {
    let mut algorithms = vec![Algorithm::Rs256, Algorithm::Es256, Algorithm::EdDsa];
    if !algorithms.contains(&options.algorithm) {
        algorithms.push(options.algorithm);
    }
    let primitives = Primitives::prepare(&algorithms)?;
    let hellos =
        Hellos { shared: hello(options, &[]).await?, per_core: hello(options, &["--per-core"]).await? };
    let slicer = Slicer { options, stop };
    let mut samples = Samples::default();
    let mut tracks = Vec::new();
    if options.scenarios.is_empty() {
        for _ in 0..options.rounds {
            slicer.machine(&primitives, &hellos, &mut samples).await?;
        }
    } else {
        let provider = Provider::get(&options.provider, None).await?;
        let pid = provider
            .pid
            .ok_or_else(|| LoadtestError::Options("measuring needs the process of the target".into()))?;
        let target = provider.discover().await?;
        let before = Before::read(&provider, &target, progress).await?;
        let measured = rounds(options, (target, pid), (&slicer, &primitives, &hellos), progress).await;
        if let Some(before) = before {
            before.put_back(&provider, progress).await;
        }
        provider.end().await;
        (samples, tracks) = measured?;
    }
    hellos.shared.kill().await;
    hellos.per_core.kill().await;
    Ok(report(options, &samples, &tracks))
}

/// Plants a seed and measures round by round.
async fn rounds(
    options: &MeasureOptions,
    (target, pid): (Target, u32),
    (slicer, primitives, hellos): (&Slicer<'_>, &Primitives, &Hellos),
    progress: &mut (dyn Write + Send),
) -> Result<(Samples, Vec<Track>), LoadtestError> {
    let (mut samples, mut tracks) = (Samples::default(), Vec::new());
    let mut seeding = options.seed.clone();
    seeding.algorithm = Some(options.algorithm);
    if options.scenarios.contains(&Scenario::LoginPasskey) {
        seeding.passkeys = seeding.passkeys.max(PASSKEYS);
    }
    let seed = Arc::new(plant(target, &seeding, progress).await?);
    for &scenario in &options.scenarios {
        // Limits are stated per operation.
        let visitors = scenario.visitors(&seed, options.connections, Mix::Pure)?;
        tracks.push(Track { scenario, visitors, samples: Vec::new(), tally: new_tally()? });
    }
    for round in 0..=options.rounds {
        slicer.machine(primitives, hellos, &mut samples).await?;
        for track in &mut tracks {
            let slice = slicer.scenario(track, &seed, pid, (primitives, &hellos.shared)).await?;
            if round == 0 {
                // The warm-up round: its answers are checked all the same.
                samples = Samples::default();
                count_errors(track, slice.outcome);
            } else {
                track.take(slice);
            }
        }
        writeln!(progress, "round {round} of {}", options.rounds)?;
    }
    Ok((samples, tracks))
}

/// The warm-up round's wrong answers count, its figures do not.
fn count_errors(track: &mut Track, outcome: Outcome) {
    track.visitors = outcome.visitors;
    for (kind, count) in outcome.tally.wrong {
        *track.tally.wrong.entry(kind).or_default() += count;
    }
    for (kind, count) in outcome.tally.failures {
        *track.tally.failures.entry(kind).or_default() += count;
    }
    for (kind, example) in outcome.tally.examples {
        track.tally.examples.entry(kind).or_insert(example);
    }
}

impl Track {
    fn take(&mut self, Slice { outcome, floors }: Slice) {
        let floor = Floor::mean(&floors);
        if let (Some(server_us), 1..) = (outcome.server_us_per_request(), outcome.tally.right) {
            let generator_us = outcome.generator_us_per_request();
            self.samples.push(Sample { server_us, generator_us, floor, elapsed: outcome.elapsed });
        }
        self.tally.merge(outcome.tally);
        self.visitors = outcome.visitors;
    }

    fn figures(&self, algorithm: Algorithm) -> ScenarioFigures {
        let signatures = (self.tally.signatures as f64 / self.tally.right.max(1) as f64).round();
        let limits = |sample: &Sample| limit(self.scenario, algorithm, signatures, &sample.floor);
        let first = self.samples.first().and_then(limits);
        let ratio = first.is_some().then(|| {
            median(self.samples.iter().filter_map(|sample| Some(sample.server_us / limits(sample)?.us)))
        });
        let server = || self.samples.iter().map(|sample| sample.server_us);
        let elapsed: Duration = self.samples.iter().map(|sample| sample.elapsed).sum();
        let named =
            |counts: &BTreeMap<&str, u64>| counts.iter().map(|(k, v)| ((*k).to_owned(), *v)).collect();
        ScenarioFigures {
            scenario: self.scenario,
            server_us: median(server()),
            server_us_range: (server().fold(f64::INFINITY, f64::min), server().fold(0.0, f64::max)),
            signatures,
            limit_us: first
                .is_some()
                .then(|| median(self.samples.iter().filter_map(|s| Some(limits(s)?.us)))),
            formula: first.map(|limit| limit.formula),
            ratio,
            requests: self.tally.right,
            wrong: named(&self.tally.wrong),
            first_wrong: self.tally.first_wrong(),
            failures: named(&self.tally.failures),
            rate: self.tally.right as f64 / elapsed.as_secs_f64().max(f64::MIN_POSITIVE),
            p50_ms: self.tally.latency(50.0).as_secs_f64() * 1e3,
            p99_ms: self.tally.latency(99.0).as_secs_f64() * 1e3,
            generator_us: median(self.samples.iter().map(|sample| sample.generator_us)),
            passed: self.tally.is_clean()
                && !self.samples.is_empty()
                && ratio.is_none_or(|ratio| ratio <= 1.0),
        }
    }
}

/// Loads one server for one slice.
struct Slicer<'a> {
    options: &'a MeasureOptions,
    stop: &'a Stop,
}

impl Slicer<'_> {
    /// What the machine gives, for the report.
    async fn machine(
        &self,
        primitives: &Primitives,
        hellos: &Hellos,
        samples: &mut Samples,
    ) -> Result<(), LoadtestError> {
        samples.costs.extend(primitives.measure()?);
        let get = self.hello(&hellos.shared, Method::Get, HELLO_SLICE).await?;
        let post = self.hello(&hellos.shared, Method::Post, HELLO_SLICE).await?;
        let per_core_get = self.hello(&hellos.per_core, Method::Get, HELLO_SLICE).await?;
        let per_core_post = self.hello(&hellos.per_core, Method::Post, HELLO_SLICE).await?;
        samples.hello.push(HelloFigures {
            get_us: per_request(&get),
            post_us: per_request(&post),
            per_core_get_us: per_request(&per_core_get),
            per_core_post_us: per_request(&per_core_post),
            get_rate: get.rate(),
            generator_get_us: get.generator_us_per_request(),
            generator_post_us: post.generator_us_per_request(),
        });
        Ok(())
    }

    /// What the machine gives at this moment; bare HTTP for as long as a part.
    async fn floor(
        &self,
        primitives: &Primitives,
        hello: &Server,
        method: Method,
    ) -> Result<Floor, LoadtestError> {
        let sign = primitives.sign(self.options.algorithm)?;
        let hello = self.hello(hello, method, self.options.slice / PARTS).await?;
        Ok(Floor { hello: per_request(&hello), sign })
    }

    async fn hello(&self, server: &Server, method: Method, most: Duration) -> Result<Outcome, LoadtestError> {
        let authority = server.url.strip_prefix("http://").unwrap_or(&server.url);
        let address: SocketAddr = authority
            .parse()
            .map_err(|_| LoadtestError::Target { url: server.url.clone(), reason: "no address".into() })?;
        let visitors = HelloVisitor::all(method, authority, self.options.connections);
        let until = Until::Elapsed(most.min(self.options.slice));
        // As the provider, or HTTP would not be what they have in common.
        let peer = Peer::plain(address, self.options.provider.way.protocol);
        let outcome = self.load((peer, server.pid()), until, WARM_UP, visitors).await?;
        if outcome.tally.is_clean() {
            return Ok(outcome);
        }
        let detail = format!("{:?} {:?}", outcome.tally.first_wrong(), outcome.tally.failures);
        Err(LoadtestError::Refused { what: "hello server", status: 0, detail })
    }

    /// A slice of a scenario, floor and load in turn.
    async fn scenario(
        &self,
        track: &mut Track,
        seed: &Arc<Seed>,
        pid: u32,
        (primitives, hello): (&Primitives, &Server),
    ) -> Result<Slice, LoadtestError> {
        let (mut warm_up, requests) = (WARM_UP, self.options.requests);
        if track.scenario == Scenario::Code {
            let rsa = matches!(self.options.algorithm, Algorithm::Rs256 | Algorithm::Ps256);
            let counted = requests.and_then(|requests| usize::try_from(requests).ok());
            if counted.is_some() {
                // A code for each request that counts, and none for others.
                warm_up = Duration::ZERO;
            }
            harvest_codes(seed, counted.unwrap_or(if rsa { CODES_RSA } else { CODES })).await?;
            self.afterwards().await;
        }
        let parts = if requests.is_some() { 1 } else { PARTS };
        let until = requests.map_or(Until::Elapsed(self.options.slice / parts), Until::Requests);
        let mut visitors = std::mem::take(&mut track.visitors);
        let mut slice: Option<Slice> = None;
        let mut all = Duration::ZERO;
        let before = CpuReading::of(pid)?;
        for _ in 0..parts {
            let floor = self.floor(primitives, hello, method_of(track.scenario)).await?;
            let loaded = CpuReading::of(pid)?;
            let mut part = self.load((seed.target.peer.clone(), pid), until, warm_up, visitors).await?;
            // That connections end is no more part of a request than that they began.
            tokio::time::sleep(CLOSING).await;
            all += CpuReading::of(pid)?.since(&loaded);
            visitors = std::mem::take(&mut part.visitors);
            match &mut slice {
                None => slice = Some(Slice { outcome: part, floors: vec![floor] }),
                Some(slice) => {
                    slice.outcome.go_on(part);
                    slice.floors.push(floor);
                }
            }
        }
        let mut slice = slice.ok_or(LoadtestError::Interrupted)?;
        slice.outcome.visitors = visitors;
        self.afterwards().await;
        slice.outcome.charge(CpuReading::of(pid)?.since(&before), all);
        Ok(slice)
    }

    /// Leaves the provider time for what requests left behind.
    async fn afterwards(&self) {
        tokio::time::sleep(self.options.slice.mul_f64(AFTERWARDS)).await;
    }

    async fn load(
        &self,
        (peer, pid): (Peer, u32),
        until: Until,
        warm_up: Duration,
        visitors: Vec<Box<dyn Visitor>>,
    ) -> Result<Outcome, LoadtestError> {
        let load = Load {
            threads: self.options.threads,
            warm_up: warm_up.min(self.options.slice),
            pid: Some(pid),
            stop: self.stop.clone(),
            ..Load::to(peer)
        };
        let run = Closed { load, until };
        tokio::task::spawn_blocking(move || closed(&run, visitors))
            .await
            .map_err(|_| LoadtestError::Interrupted)?
    }
}

fn per_request(outcome: &Outcome) -> f64 {
    outcome.server_us_per_request().unwrap_or(0.0)
}

async fn hello(options: &MeasureOptions, more: &[&str]) -> Result<Server, LoadtestError> {
    let arguments = options.hello_arguments.iter().map(String::as_str).chain(["--listen", "127.0.0.1:0"]);
    Server::start(&options.provider.program, arguments.chain(more.iter().copied()), &[], None).await
}

fn report(options: &MeasureOptions, samples: &Samples, tracks: &[Track]) -> Report {
    let mut primitives: Vec<PrimitiveFigures> = Vec::new();
    for cost in &samples.costs {
        if primitives.iter().any(|known| known.algorithm == cost.algorithm) {
            continue;
        }
        let same = || samples.costs.iter().filter(|other| other.algorithm == cost.algorithm);
        primitives.push(PrimitiveFigures {
            algorithm: cost.algorithm,
            sign_us: median(same().map(|cost| cost.sign)),
            verify_us: median(same().map(|cost| cost.verify)),
        });
    }
    Report {
        version: VERSION,
        machine: machine(),
        algorithm: options.algorithm,
        connections: options.connections,
        rounds: options.rounds,
        primitives,
        hello: samples.hello(),
        scenarios: tracks.iter().map(|track| track.figures(options.algorithm)).collect(),
    }
}

impl Samples {
    fn hello(&self) -> HelloFigures {
        let of = |figure: fn(&HelloFigures) -> f64| median(self.hello.iter().map(figure));
        HelloFigures {
            get_us: of(|figures| figures.get_us),
            post_us: of(|figures| figures.post_us),
            per_core_get_us: of(|figures| figures.per_core_get_us),
            per_core_post_us: of(|figures| figures.per_core_post_us),
            get_rate: of(|figures| figures.get_rate),
            generator_get_us: of(|figures| figures.generator_get_us),
            generator_post_us: of(|figures| figures.generator_post_us),
        }
    }
}

fn machine() -> String {
    let machine = machine::describe();
    format!("{}, {} cores", machine.processor, machine.cores)
}
