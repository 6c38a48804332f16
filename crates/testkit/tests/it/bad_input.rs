//! Bad input over HTTP: each gets its RFC's error or a clear 4xx, nothing is our own fault, memory stays flat.

mod bodies;
mod clock;
mod heads;
mod parameters;
mod slow;
mod wire;

use symbolon_testkit::{Options, RelyingParty, TestServer};
use wire::{Reply, Wire};

const FORM: &str = "application/x-www-form-urlencoded";
const MIB: usize = 1 << 20;

/// A server that must be well when it is dropped: it still answers, and never said that something was its own fault.
struct Well {
    server: TestServer,
}

impl std::ops::Deref for Well {
    type Target = TestServer;

    fn deref(&self) -> &TestServer {
        &self.server
    }
}

impl Well {
    fn start() -> Self {
        Self::start_with(Options::default())
    }

    fn start_with(options: Options) -> Self {
        Self { server: TestServer::start_with(options) }
    }

    fn wire(&self) -> Wire {
        Wire::connect(&self.url)
    }

    /// A POST whose connection closes after the answer.
    fn post(&self, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        self.send("POST", path, headers, body)
    }

    fn post_form(&self, path: &str, body: &[u8]) -> Reply {
        self.post(path, &[("Content-Type", FORM)], body)
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut wire = self.wire();
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        if !body.is_empty() {
            head.push_str(&format!("Content-Length: {}\r\n", body.len()));
        }
        head.push_str("\r\n");
        wire.write(head.as_bytes());
        wire.write(body);
        wire.reply()
    }

    /// A client and the value of its Basic header.
    fn client(&self) -> (RelyingParty, String) {
        let party = RelyingParty::register(self, serde_json::json!({}));
        let basic = party.basic();
        (party, basic)
    }
}

impl Drop for Well {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        assert_eq!(self.browser().get("/.well-known/jwks.json").status, 200);
        let figures = symbolon_testkit::Browser::new(&self.management).get("/metrics").body;
        let faults: Vec<&str> = figures
            .lines()
            .filter(|line| {
                line.starts_with("symbolon_requests_total") && line.contains("outcome=\"server_error\"")
            })
            .filter(|line| !line.ends_with(" 0"))
            .collect();
        assert!(figures.contains("symbolon_requests_total"), "no figures");
        assert!(faults.is_empty(), "our own fault: {faults:#?}");
    }
}

/// Runs a test again in a process of its own, where no other test's memory counts, and says whether this is that one.
fn alone(test: &str) -> bool {
    const MARK: &str = "SYMBOLON_TESTKIT_ALONE";
    if std::env::var_os(MARK).is_some() {
        return true;
    }
    let program = std::env::current_exe().expect("this program");
    let run = std::process::Command::new(program).args([test, "--exact"]).env(MARK, "1").output();
    let run = run.expect("a process");
    let told = String::from_utf8_lossy(&run.stdout);
    assert!(run.status.success() && told.contains("1 passed"), "{told}");
    false
}

/// Memory of this process, in MiB.
fn resident_mib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("VmRSS");
    line.trim().trim_end_matches("kB").trim().parse::<usize>().expect("kB") / 1024
}
