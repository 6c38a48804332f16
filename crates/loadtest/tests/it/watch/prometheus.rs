//! A real Prometheus that takes remote write.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use symbolon_loadtest::free_address;
use symbolon_loadtest::watch::{Destination, WatchOptions, Watching};

use super::{EVERY, name_of, wanted, watched, watched_day};

/// A Prometheus of this test's own; it ends with it.
struct Prometheus {
    address: SocketAddr,
    process: Child,
    _place: tempfile::TempDir,
}

impl Prometheus {
    fn start() -> Self {
        let (place, address) = (tempfile::tempdir().unwrap(), free_address().unwrap());
        let configuration = place.path().join("prometheus.yml");
        std::fs::write(&configuration, "global: {}\n").unwrap();
        let process = Command::new("prometheus")
            .arg(format!("--config.file={}", configuration.display()))
            .arg(format!("--storage.tsdb.path={}", place.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .arg("--web.enable-remote-write-receiver")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("prometheus: {error} (scripts/install prometheus)"));
        let mut started = Self { address, process, _place: place };
        while started.get("/-/ready").is_none_or(|answer| !answer.starts_with("HTTP/1.0 200")) {
            let ended = started.process.try_wait().unwrap();
            assert!(ended.is_none(), "Prometheus ended: {ended:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
        started
    }

    fn get(&self, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(self.address).ok()?;
        write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        Some(answer)
    }

    /// The series of a query, as their labels and value.
    fn query(&self, query: &str) -> Vec<(BTreeMap<String, String>, f64)> {
        let query: String = url::form_urlencoded::byte_serialize(query.as_bytes()).collect();
        let answer = self.get(&format!("/api/v1/query?query={query}")).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        let body: Value = serde_json::from_str(body).unwrap();
        let series = body["data"]["result"].as_array().unwrap_or_else(|| panic!("{body}"));
        series
            .iter()
            .map(|series| {
                let labels = serde_json::from_value(series["metric"].clone()).unwrap();
                (labels, series["value"][1].as_str().unwrap().parse().unwrap())
            })
            .collect()
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn prometheus_gets_by_remote_write_what_results_say() {
    let prometheus = Prometheus::start();
    let url = format!("http://{}", prometheus.address);
    let remote_write = Some(Destination::at(&url).unwrap());
    let watching =
        Watching::start(WatchOptions { remote_write, every: Some(EVERY), ..WatchOptions::default() });
    let (results, said) = watched(watching.unwrap().unwrap());
    assert!(!said.contains("metrics"), "{said}");
    for run in &results.runs {
        let of_run = |metric: &str| prometheus.query(&format!("{metric}{{run=\"{}\"}}", run.name));
        let mut got = BTreeMap::new();
        for metric in ["requests_total", "errors_total", "request_duration_seconds_count"] {
            for (labels, value) in of_run(&format!("symbolon_loadtest_{metric}")) {
                let metric = labels["__name__"].trim_end_matches("_count");
                got.extend(name_of(metric, &labels).map(|name| (name, value)));
            }
        }
        assert_eq!(got, wanted(run), "{}", run.name);
        // All of them are in the last bucket, and as many as results count.
        let last = prometheus.query(&format!(
            "sum(symbolon_loadtest_request_duration_seconds_bucket{{run=\"{}\",part=\"plateau\",le=\"+Inf\"}})",
            run.name
        ));
        assert_eq!(last[0].1, (run.requests + run.missed) as f64);
        assert_eq!(of_run("symbolon_loadtest_running")[0].1, 0.0);
        let readings = prometheus
            .query(&format!("count_over_time(symbolon_loadtest_running{{run=\"{}\"}}[1h])", run.name));
        assert!(readings[0].1 > 1.0, "{readings:?}");
        let job = of_run("symbolon_loadtest_in_flight_most");
        assert_eq!((&*job[0].0["job"], job[0].1), ("symbolon-loadtest", 1_024.0));
    }
    let metadata = prometheus.get("/api/v1/query?query=histogram_quantile(0.5,sum%20by%20(le)(symbolon_loadtest_request_duration_seconds_bucket))");
    assert!(metadata.unwrap().contains("\"status\":\"success\""));
}

#[test]
fn of_a_day_prometheus_gets_each_scenario() {
    let prometheus = Prometheus::start();
    let remote_write = Some(Destination::at(&format!("http://{}", prometheus.address)).unwrap());
    let watching =
        Watching::start(WatchOptions { remote_write, every: Some(EVERY), ..WatchOptions::default() });
    let watching = watching.unwrap().unwrap();
    let run = watched_day(&watching);
    assert_eq!(watching.end(None, ""), Vec::<String>::new());
    for kind in &run.kinds {
        let ends = [("right", kind.right), ("wrong", kind.wrong), ("failed", kind.failures)];
        for (outcome, count) in ends.into_iter().chain([("missed", kind.missed)]) {
            let told = prometheus.query(&format!(
                "symbolon_loadtest_requests_total{{part=\"plateau\",scenario=\"{}\",kind=\"{}\",outcome=\"{outcome}\"}}",
                run.scenario, kind.name
            ));
            assert_eq!(told[0].1, count as f64, "{} {outcome}", kind.name);
        }
    }
    assert!(run.kinds.iter().any(|kind| kind.name == "userinfo" && kind.wrong > 0), "{:?}", run.kinds);
    // What came due in a second, which is what the curve says.
    let asked = prometheus.query("max_over_time(symbolon_loadtest_rate_asked[1h])");
    assert!((60.0..110.0).contains(&asked[0].1), "{asked:?}");
}
