//! `loadtest run` with `loadtest agent` on loopback.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::Value;

use crate::place::{Place, SECRET};

/// An agent's process, which ends with this.
struct Agent {
    child: Child,
    address: String,
    /// What it tells, line by line.
    lines: mpsc::Receiver<String>,
}

impl Agent {
    fn start(place: &Place, secret_file: &str) -> Self {
        let arguments = ["loadtest", "agent", "--listen", "127.0.0.1:0", "--secret-file", secret_file];
        let mut command = place.command(&arguments, &[]);
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = told.next().unwrap().unwrap().strip_prefix("listening on ").unwrap().to_owned();
        Self { address, lines: lines(child.stderr.take().unwrap()), child }
    }

    fn four(place: &Place) -> [Self; 4] {
        std::fs::write(place.path("secret"), "a secret of these tests\n").unwrap();
        [(); 4].map(|()| Self::start(place, "secret"))
    }

    fn wait_for(&self, text: &str) {
        wait_for(&self.lines, text);
    }

    fn signal(&self, signal: Signal) {
        rustix::process::kill_process(Pid::from_child(&self.child), signal).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It may be gone.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(from: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel();
    // Somebody must read, or a full pipe would stop the process.
    std::thread::spawn(move || {
        BufReader::new(from).lines().map_while(Result::ok).for_each(|line| drop(sender.send(line)));
    });
    lines
}

fn wait_for(lines: &mpsc::Receiver<String>, text: &str) {
    let mut told = Vec::new();
    while let Ok(line) = lines.recv_timeout(Duration::from_secs(60)) {
        if line.contains(text) {
            return;
        }
        told.push(line);
    }
    panic!("{text:?} was not told: {told:#?}");
}

fn addresses(agents: &[Agent]) -> String {
    agents.iter().map(|agent| &*agent.address).collect::<Vec<_>>().join(",")
}

fn results(place: &Place) -> Value {
    serde_json::from_slice(&std::fs::read(place.path("report/results.json")).unwrap()).unwrap()
}

#[test]
fn four_agents_load_one_provider_and_one_that_is_killed_makes_it_partial() {
    let place = Place::new();
    let mut agents = Agent::four(&place);
    let parent = place.path("").display().to_string();
    let with = addresses(&agents);
    let run = |rate: &'static str, duration: &'static str| {
        let what = ["loadtest", "run", "userinfo", "--rate", rate, "--duration", duration, "--warm-up", "0s"];
        let how = ["--out", "report", "--data-parent", &parent, "--only-thresholds"];
        let lenient =
            ["--threshold", "failure_share<=1", "--agents", &with, "--agents-secret-file", "secret"];
        [&what[..], &how, &lenient].concat().into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let told = place.run(&run("80", "2s").iter().map(String::as_str).collect::<Vec<_>>()).good();
    assert!(told.contains("160 requests, 0 failed, 0 wrong, 0 missed"), "{told}");
    let whole = &results(&place)["runs"][0];
    let parts = whole["agents"].as_array().unwrap();
    assert!(parts.len() == 4 && parts.iter().all(|part| part["answered"] == 40), "{parts:?}");
    // The provider counted the same, besides the reading of its figures.
    let server = whole["server"]["request_duration"]["count"].as_u64().unwrap();
    assert!((160..=160 + 8).contains(&server), "{server}");
    assert!(whole["server_cpu_us_per_request"].as_f64().unwrap() > 0.0);

    let arguments = run("80", "4s");
    let mut command = place.command(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), &[]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let progress = lines(child.stderr.take().unwrap());
    wait_for(&progress, "userinfo 80/s");
    agents[1].child.kill().unwrap();
    wait_for(&progress, &format!("agent {} is lost after", agents[1].address));
    let mut told = String::new();
    std::io::Read::read_to_string(&mut child.stdout.take().unwrap(), &mut told).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{told}");
    assert!(told.contains(&format!("partial: agent {} lost after", agents[1].address)), "{told}");
    let partial = results(&place);
    let run = &partial["runs"][0];
    let [requests, missed, lost] =
        ["requests", "missed", "arrivals_lost"].map(|name| run[name].as_u64().unwrap());
    assert_eq!(requests + missed + lost, 320, "{run}");
    assert!(
        lost > 0 && partial["partial"].as_str().unwrap().contains("of the arrivals is not known"),
        "{partial}"
    );
    // The others are free for the next.
    agents[0].wait_for("is done");
    agents[3].signal(Signal::TERM);
    assert_eq!(agents[3].child.wait().unwrap().code(), Some(0), "SIGTERM ends it cleanly");
}

#[test]
fn agents_stop_when_their_coordinator_is_killed() {
    let place = Place::new();
    let _server = place.serve(&[("SYMBOLON_ADMIN_ON_PUBLIC", "true"), ("SYMBOLON_RATE_LIMITS", "off")]);
    let agents = Agent::four(&place);
    let (url, with) = (format!("http://{}", place.listen()), addresses(&agents));
    let what = ["loadtest", "run", "discovery", "--rate", "40", "--duration", "10m", "--warm-up", "0s"];
    let whereto = ["--target", &url, "--admin-secret", SECRET, "--out", "report"];
    let mut command = place.command(
        &[&what[..], &whereto, &["--agents", &with]].concat(),
        &[("SYMBOLON_LOADTEST_AGENTS_SECRET", "a secret of these tests")],
    );
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(&lines(child.stderr.take().unwrap()), "discovery 40/s");
    child.kill().unwrap();
    child.wait().unwrap();
    for agent in &agents {
        agent.wait_for("the load is stopped");
        agent.wait_for("is lost: the connection was closed");
    }
    let once_more = ["loadtest", "run", "discovery", "--rate", "20", "--duration", "1s", "--warm-up", "0s"];
    let next = [&once_more[..], &whereto, &["--agents", &with, "--agents-secret-file", "secret"]].concat();
    let told = place.run(&next).good();
    assert!(told.contains("20 requests, 0 failed, 0 wrong"), "they serve the next one: {told}");
}

#[test]
fn mistakes_about_agents_are_status_2_and_say_what_mends_them() {
    let place = Place::new();
    std::fs::write(place.path("short"), "short").unwrap();
    std::fs::write(place.path("secret"), "a secret of these tests").unwrap();
    let short = ["loadtest", "run", "userinfo", "--rate", "5", "--duration", "1s", "--agents"];
    for (more, why) in [
        (&["127.0.0.1:7400"][..], "SYMBOLON_LOADTEST_AGENTS_SECRET"),
        (&["127.0.0.1:7400", "--agents-secret-file", "none"], "none"),
        (&["127.0.0.1:7400", "--agents-secret-file", "short"], "needs 16 at least"),
        (&["127.0.0.1", "--agents-secret-file", "secret"], "HOST:PORT"),
        (&["127.0.0.1:1,127.0.0.1:1", "--agents-secret-file", "secret"], "named twice"),
        (&["192.0.2.1:7400", "--agents-secret-file", "secret"], "name one by --target"),
        (&["127.0.0.1:1", "--agents-secret-file", "secret"], "agent 127.0.0.1:1: cannot connect"),
        (&["127.0.0.1:1", "--agents-secret-file", "secret", "--beside", "x"], "--beside"),
    ] {
        let told = place.run(&[&short[..], more].concat()).bad(2);
        assert!(told.contains(why), "{more:?}: {told}");
    }
    let told = place.run(&["loadtest", "agent", "--listen", "127.0.0.1:0"]).bad(2);
    assert!(told.contains("--secret-file"), "{told}");
}
