//! The figures of the December 2025 reports, to stand beside ours.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

const DECEMBER_2025: &str = include_str!("../../data/december-2025.json");

/// Reports that ours are compared with.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// What was under load.
    pub system: String,
    /// When.
    pub series: String,
    /// What made the load.
    pub load_generator: String,
    /// Rows by scenario, under our names for them.
    pub scenarios: BTreeMap<&'static str, Vec<Row>>,
}

/// One rate of one scenario: what its reports say of it. Times in milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// Requests per second that were asked for.
    pub rate: f64,
    /// Shards, where one number holds for all.
    pub shards: Option<u32>,
    /// Requests per second that were reached.
    pub achieved_rate: Option<f64>,
    /// Requests.
    pub requests: Option<u64>,
    /// Those that failed over HTTP.
    pub failures: Option<u64>,
    /// Whether the report calls it a pass.
    pub passed: Option<bool>,
    /// The client's latency.
    pub client: Latency,
    /// How long requests took inside of the system.
    pub duration: Latency,
    /// CPU time per request.
    pub cpu: Latency,
    /// Wall time of shard operations.
    pub shard_wall: Latency,
}

/// Percentiles, as far as a report gives them, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// The median.
    pub p50: Option<f64>,
    /// What 95 % did not exceed.
    pub p95: Option<f64>,
    /// What 99 % did not exceed.
    pub p99: Option<f64>,
}

impl Reference {
    /// The reports of December 2025; none only if the data in the binary were broken, which a test rules out.
    pub fn december_2025() -> Option<Self> {
        let file: File = serde_json::from_str(DECEMBER_2025).ok()?;
        let scenarios = file
            .scenarios
            .into_iter()
            .filter_map(|(name, section)| Some((our_name(&name)?, section.rows())))
            .collect();
        Some(Self {
            system: file.system,
            series: file.series,
            load_generator: file.load_generator,
            scenarios,
        })
    }

    /// The rows of a scenario.
    pub fn rows(&self, scenario: &str) -> &[Row] {
        self.scenarios.get(scenario).map_or(&[], Vec::as_slice)
    }

    /// The row to compare a run with: the same rate or the next below it, so that the run bore at least as much; of
    /// several, the one with as many shards, else the first.
    pub fn row(&self, scenario: &str, rate: f64, shards: Option<u32>) -> Option<&Row> {
        let rows = self.rows(scenario);
        let near = |row: &&Row| row.rate <= rate * 1.001;
        let nearest = rows.iter().filter(near).map(|row| row.rate).max_by(f64::total_cmp)?;
        let mut same = rows.iter().filter(|row| row.rate == nearest);
        same.clone().find(|row| row.shards == shards).or_else(|| same.next())
    }

    /// The rows whose latencies make a curve beside runs with so many shards: one row a rate, by rising rate.
    pub fn curve(&self, scenario: &str, shards: Option<u32>) -> Vec<&Row> {
        let mut rates: Vec<f64> = self.rows(scenario).iter().map(|row| row.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let of_rate = |rate: f64| {
            let mut rows =
                self.rows(scenario).iter().filter(|row| row.rate == rate && row.client.p95.is_some());
            rows.clone().find(|row| row.shards == shards).or_else(|| rows.next())
        };
        rates.into_iter().filter_map(of_rate).collect()
    }

    /// The highest rate that the reports call a pass, with as many shards where they have such rows.
    pub fn highest_pass(&self, scenario: &str, shards: Option<u32>) -> Option<f64> {
        let rows = self.rows(scenario);
        let same_shards = rows.iter().any(|row| row.shards == shards);
        let passed =
            rows.iter().filter(|row| row.passed == Some(true) && (row.shards == shards || !same_shards));
        passed.map(|row| row.rate).max_by(f64::total_cmp)
    }
}

fn our_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "silent_auth" => "silent",
        "userinfo" => "userinfo",
        "token_exchange" => "exchange",
        "authorization_code" => "code",
        "refresh_token" => "refresh",
        "introspection" => "introspect",
        "full_login_email_code" => "login-email-code",
        _ => return None,
    })
}

#[derive(Deserialize)]
struct File {
    system: String,
    series: String,
    load_generator: String,
    scenarios: BTreeMap<String, Section>,
}

/// A scenario as the file has it. Each has other lists, and lists have other columns.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Section {
    shards: BTreeMap<String, Value>,
    summary: Vec<Entry>,
    summary_64: Vec<Entry>,
    summary_128: Vec<Entry>,
    client_ms: Vec<Entry>,
    achieved: Vec<Entry>,
    worker_duration_ms: Vec<Entry>,
    worker_cpu_ms: Vec<Entry>,
    shard_wall_ms: Vec<Entry>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Entry {
    #[serde(alias = "lps")]
    rps: f64,
    shards: Option<u32>,
    #[serde(alias = "flows")]
    requests: Option<u64>,
    #[serde(alias = "average_rps")]
    effective_rps: Option<f64>,
    http_failures: Option<u64>,
    success: Option<f64>,
    status: Option<String>,
    worker_p99_ms: Option<f64>,
    shard_p99_ms: Option<f64>,
    #[serde(flatten)]
    latency: Latency,
}

impl Entry {
    fn row(self, shards: Option<u32>) -> Row {
        let passed = match (self.status, self.success) {
            (Some(status), _) => Some(status == "pass"),
            (None, success) => success.map(|success| success >= 1.0),
        };
        Row {
            rate: self.rps,
            shards: self.shards.or(shards),
            achieved_rate: self.effective_rps,
            requests: self.requests,
            failures: self.http_failures,
            passed,
            client: self.latency,
            duration: Latency { p99: self.worker_p99_ms, ..Latency::default() },
            shard_wall: Latency { p99: self.shard_p99_ms, ..Latency::default() },
            cpu: Latency::default(),
        }
    }
}

impl Section {
    fn rows(self) -> Vec<Row> {
        let shards = one_number(&self.shards);
        let summaries = [(self.summary, shards), (self.summary_64, Some(64)), (self.summary_128, Some(128))];
        let mut rows: Vec<Row> = summaries
            .into_iter()
            .flat_map(|(entries, shards)| entries.into_iter().map(move |entry| entry.row(shards)))
            .collect();
        fill(&mut rows, self.client_ms, |row, entry| row.client = entry.latency);
        fill(&mut rows, self.achieved, |row, entry| row.achieved_rate = entry.effective_rps);
        fill(&mut rows, self.worker_duration_ms, |row, entry| row.duration = entry.latency);
        fill(&mut rows, self.worker_cpu_ms, |row, entry| row.cpu = entry.latency);
        fill(&mut rows, self.shard_wall_ms, |row, entry| row.shard_wall = entry.latency);
        rows
    }
}

/// Puts what a list says of a rate into its row. Where a rate has several rows, a list without shards means the first.
fn fill(rows: &mut [Row], entries: Vec<Entry>, put: fn(&mut Row, Entry)) {
    for entry in entries {
        let same =
            |row: &&mut Row| row.rate == entry.rps && (entry.shards.is_none() || row.shards == entry.shards);
        if let Some(row) = rows.iter_mut().find(same) {
            put(row, entry);
        }
    }
}

/// The number of shards where all kinds have the same.
fn one_number(kinds: &BTreeMap<String, Value>) -> Option<u32> {
    let mut numbers =
        kinds.values().map(|number| number.as_u64().and_then(|number| u32::try_from(number).ok()));
    let first = numbers.next()??;
    numbers.all(|number| number == Some(first)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Reference {
        Reference::december_2025().unwrap()
    }

    #[test]
    fn the_file_parses_and_has_every_scenario() {
        let reference = reference();
        let sizes: Vec<(&str, usize)> =
            reference.scenarios.iter().map(|(name, rows)| (*name, rows.len())).collect();
        assert_eq!(
            sizes,
            [
                ("code", 4),
                ("exchange", 3),
                ("introspect", 4),
                ("login-email-code", 4),
                ("refresh", 5),
                ("silent", 10),
                ("userinfo", 4)
            ]
        );
        assert_eq!(reference.load_generator, "k6 Cloud");
    }

    #[test]
    fn silent_authentication_has_its_known_figures() {
        let reference = reference();
        let row = reference.row("silent", 4000.0, Some(64)).unwrap();
        assert_eq!((row.requests, row.failures, row.passed), (Some(599_440), Some(160), Some(false)));
        assert_eq!(row.client, Latency { p50: Some(458.43), p95: Some(668.64), p99: Some(5621.68) });
        assert_eq!(
            (row.duration.p99, row.cpu.p50, row.shard_wall.p99),
            (Some(175.81), Some(2.27), Some(441.97))
        );
        let row = reference.row("silent", 4000.0, Some(128)).unwrap();
        assert_eq!((row.failures, row.duration.p99, row.client.p50), (Some(0), Some(812.0), None));
        let highest =
            [Some(64), Some(128), Some(8), None].map(|shards| reference.highest_pass("silent", shards));
        assert_eq!(highest, [Some(3500.0), Some(4000.0), Some(4000.0), Some(4000.0)]);
    }

    #[test]
    fn lists_without_a_summary_of_latency_are_joined_by_rate() {
        let reference = reference();
        let exchange = reference.row("exchange", 2500.0, None).unwrap();
        assert_eq!((exchange.achieved_rate, exchange.client.p95), (Some(1717.0), Some(225.0)));
        let refresh = reference.row("refresh", 3000.0, Some(48)).unwrap();
        assert_eq!((refresh.duration.p99, refresh.cpu.p50), (Some(79.1), Some(5.59)));
        let code = reference.row("code", 300.0, None).unwrap();
        assert_eq!((code.shards, code.client.p99, code.passed), (Some(128), Some(1027.85), Some(false)));
    }

    #[test]
    fn whole_logins_are_by_email_code() {
        let reference = reference();
        let row = reference.row("login-email-code", 150.0, None).unwrap();
        assert_eq!((row.requests, row.passed, row.shard_wall.p99), (Some(21_937), Some(true), Some(955.0)));
        assert_eq!(row.client, Latency { p50: Some(639.0), p95: Some(756.0), p99: Some(853.0) });
        assert_eq!(reference.highest_pass("login-email-code", None), Some(150.0));
        assert_eq!(reference.rows("login"), []);
    }

    #[test]
    fn a_rate_between_is_compared_with_the_next_below() {
        let reference = reference();
        assert_eq!(reference.row("userinfo", 2900.0, None).unwrap().rate, 2500.0);
        assert_eq!(reference.row("userinfo", 9000.0, None).unwrap().rate, 3000.0);
        assert_eq!(reference.row("userinfo", 10.0, None), None);
        assert_eq!(reference.row("discovery", 1000.0, None), None);
    }

    #[test]
    fn a_curve_has_one_point_a_rate() {
        let rates: Vec<f64> = reference().curve("silent", Some(128)).iter().map(|row| row.rate).collect();
        assert_eq!(rates, [500.0, 1000.0, 1500.0, 2000.0, 2500.0, 3000.0, 3500.0, 4000.0]);
    }
}
