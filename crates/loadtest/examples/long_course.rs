//! How large the course of a long run is: the seconds of a real load, each recorded many times over, as if days went by.
//!
//! `cargo run --profile dist -p symbolon-loadtest --example long_course -- [HOURS] [SECONDS] [RATE]`

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use symbolon_loadtest::client::{Response, request};
use symbolon_loadtest::course::Course;
use symbolon_loadtest::executor::{Load, Open, Schedule, Stage, open};
use symbolon_loadtest::hello::{self, Runtimes};
use symbolon_loadtest::process::Server;
use symbolon_loadtest::results::{Provider, Results, Run, VERSION};
use symbolon_loadtest::scenario::{Next, Right, Visitor, Wrong};
use symbolon_loadtest::{LoadtestError, machine, report};

/// Connections at most.
const CONNECTIONS: usize = 64;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.first().map(String::as_str) {
        Some("hello") => hello::serve(([127, 0, 0, 1], 0).into(), Runtimes::Shared, &mut std::io::stdout()),
        _ => {
            let number = |place: usize, default: u64| {
                arguments.get(place).and_then(|text| text.parse().ok()).unwrap_or(default)
            };
            measure(number(0, 24), number(1, 60), number(2, 2_000))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Asks the hello server.
struct Asker(Vec<u8>);

impl Visitor for Asker {
    fn next_request(&mut self, out: &mut Vec<u8>) -> Next {
        out.extend_from_slice(&self.0);
        Next::Send
    }

    fn check(&mut self, response: &Response<'_>) -> Result<Right, Wrong> {
        match response.status {
            200 => Ok(Right::default()),
            status => Err(Wrong::new("hello", status.to_string())),
        }
    }
}

/// Loads for so many seconds and records them as so many hours.
fn measure(hours: u64, seconds: u64, rate: u64) -> Result<(), LoadtestError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let server = runtime.block_on(Server::start(&std::env::current_exe()?, ["hello"], &[], None))?;
    let authority = server.url.trim_start_matches("http://").to_owned();
    let address: SocketAddr = authority.parse().map_err(std::io::Error::other)?;
    let mut bytes = Vec::new();
    request::get(&mut bytes, "/", &authority, &[]);
    let visitors =
        (0..CONNECTIONS).map(|_| Box::new(Asker(bytes.clone())) as Box<dyn Visitor>).collect::<Vec<_>>();
    let stage = Stage::constant(rate as f64, Duration::from_secs(seconds));
    let options = Open { load: Load::to(address), schedule: Schedule::new(&[stage])? };

    let (times, before) = ((hours * 3_600).div_ceil(seconds).max(1), resident("VmRSS"));
    let (mut course, mut now) = (Course::new(), Duration::ZERO);
    open(&options, visitors, &mut |_, lately| {
        for _ in 0..times {
            now += Duration::from_secs(1);
            course.record(now, lately, None);
        }
    })?;
    runtime.block_on(server.kill());

    let run = Run {
        name: format!("hello {rate}/s, {hours} hours"),
        scenario: "hello".into(),
        executor: "constant-arrival-rate".into(),
        rate: rate as f64,
        achieved_rate: rate as f64,
        seconds: now.as_secs_f64(),
        requests: course.answered() + course.errors(),
        timeline: course.seconds(),
        ..Run::default()
    };
    let rows = run.timeline.len();
    let results = Results {
        version: VERSION,
        title: "a long course".into(),
        started: "2026-01-01T00:00:00Z".into(),
        machine: machine::describe(),
        provider: Provider::default(),
        environment: std::collections::BTreeMap::new(),
        december_2025: false,
        partial: None,
        runs: vec![run],
        capacities: Vec::new(),
    };
    let json = serde_json::to_string_pretty(&results).map_err(std::io::Error::from)?;
    let html = report::html(&results, None);
    println!(
        "{:.1} hours from {seconds} s of load: {rows} rows, {} answers; results.json {} kB, report.html {} kB; memory {} MiB \
         before, {} MiB at most",
        now.as_secs_f64() / 3_600.0,
        course.answered(),
        json.len() / 1_000,
        html.len() / 1_000,
        before,
        resident("VmHWM"),
    );
    Ok(())
}

/// A figure of `/proc/self/status`, in MiB.
fn resident(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kib.unwrap_or_default() / 1_024
}
