//! The provider's own figures: its `/metrics` page (Prometheus text format) before and after a run.

use std::collections::BTreeMap;

use url::Url;

use crate::LoadtestError;
use crate::client::{Connection, Peer, Protocol, Timeouts, Way, request};
use crate::latency::needed;
use crate::results::{CacheFigures, Percentiles, ServerFigures, ShardFigures, StoreFigures};

type Labels = BTreeMap<String, String>;

/// One reading of the page.
pub(crate) struct Page(Vec<Sample>);

struct Sample {
    name: String,
    labels: Labels,
    value: f64,
}

impl Page {
    /// Asks for the page; it goes by HTTP/1.1, whatever the load goes by.
    ///
    /// # Errors
    /// [`LoadtestError::Target`] for a URL that cannot be used, otherwise what happened instead of an answer.
    pub(crate) async fn fetch(url: &str, way: &Way) -> Result<Self, LoadtestError> {
        const WHAT: &str = "metrics";
        let invalid = |reason: &str| LoadtestError::Target { url: url.to_owned(), reason: reason.to_owned() };
        let parsed = Url::parse(url).map_err(|error| invalid(&error.to_string()))?;
        let (host, port) = (parsed.host_str().unwrap_or(""), parsed.port_or_known_default().unwrap_or(80));
        let way = Way { protocol: Protocol::Http1, ..way.clone() };
        let peer = Peer::of(&parsed, &way).map_err(|reason| invalid(&reason))?;
        let mut connection =
            Connection::open(&peer, Timeouts::default()).await.map_err(LoadtestError::http(WHAT))?;
        let mut bytes = Vec::new();
        request::get(&mut bytes, parsed.path(), &format!("{host}:{port}"), &[]);
        let response = connection.exchange(&bytes).await.map_err(LoadtestError::http(WHAT))?;
        if response.status != 200 {
            return Err(LoadtestError::refused(WHAT, response.status, response.body));
        }
        Ok(Self::parse(response.text()))
    }

    /// The provider's name and version, where it says so.
    pub(crate) fn software(&self) -> Option<String> {
        let build = self.of("symbolon_build_info").next()?;
        Some(format!("Symbolon {}", build.labels.get("version")?))
    }

    /// What the process runs with, by name, as far as it says so.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let Some(info) = self.of("symbolon_configuration_info").next() else { return Vec::new() };
        let told = [("Store", "store"), ("Rate limits", "rate_limits"), ("Test endpoints", "test_endpoints")];
        let read = |(name, label): (&str, &str)| Some((name.to_owned(), info.labels.get(label)?.clone()));
        told.into_iter().filter_map(read).collect()
    }

    /// The sum of all samples of this name; none where there is none.
    pub(crate) fn gauge(&self, name: &str) -> Option<f64> {
        self.of(name).map(|sample| sample.value).reduce(|sum, value| sum + value)
    }

    /// What the stores hold, in MiB, by name.
    pub(crate) fn stores(&self) -> BTreeMap<String, f64> {
        let mib = |sample: &Sample| sample.value / f64::from(1 << 20);
        let rooms = self
            .of("symbolon_store_room_bytes")
            .filter_map(|room| Some((format!("records of kind {}", room.labels.get("kind")?), mib(room))));
        let log = self.of("symbolon_db_log_bytes").map(|log| ("database log".to_owned(), mib(log)));
        rooms.chain(log).collect()
    }

    /// What a provider says that has counted nothing.
    pub(crate) fn empty() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn parse(text: &str) -> Self {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        Self(lines.filter_map(sample).collect())
    }

    fn of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| sample.name == name)
    }

    fn value(&self, name: &str, labels: &Labels) -> f64 {
        self.of(name).find(|sample| sample.labels == *labels).map_or(0.0, |sample| sample.value)
    }

    fn sum(&self, name: &str, label: (&str, &str)) -> f64 {
        let (key, value) = label;
        let fits = |sample: &&Sample| key.is_empty() || sample.labels.get(key).is_some_and(|is| is == value);
        self.of(name).filter(fits).map(|sample| sample.value).sum()
    }
}

/// `name{label="value",...} number`.
fn sample(line: &str) -> Option<Sample> {
    let (series, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let (name, mut rest) = series.split_once('{').unwrap_or((series, ""));
    let mut labels = Labels::new();
    while let Some((key, after)) = rest.split_once("=\"") {
        let end = after.find('"')?;
        labels.insert(key.trim_start_matches(',').to_owned(), after.get(..end)?.to_owned());
        rest = after.get(end + 1..)?;
    }
    Some(Sample { name: name.to_owned(), labels, value })
}

/// What was counted between two readings.
pub(crate) struct Between<'a>(pub(crate) &'a Page, pub(crate) &'a Page);

impl Between<'_> {
    /// The figures of the reports.
    pub(crate) fn figures(&self) -> ServerFigures {
        let labelled = |name: &str, value: &str| self.grown(name, ("operation", value));
        ServerFigures {
            request_duration: self.percentiles("symbolon_request_duration_seconds", ("", "")),
            cpu_seconds: self.rise("process_cpu_seconds_total", ("", "")),
            resident_mib: self.1.sum("process_resident_memory_bytes", ("", "")) / f64::from(1 << 20),
            stores: self.stores(),
            read_queries: labelled("symbolon_db_queries_total", "read"),
            write_queries: labelled("symbolon_db_queries_total", "write"),
            rows_read: labelled("symbolon_db_rows_total", "read"),
            rows_written: labelled("symbolon_db_rows_total", "write"),
            caches: self.caches(),
            commits: self.grown("symbolon_commit_batches_total", ("", "")),
            commit_operations: self.grown("symbolon_commit_operations_total", ("", "")),
            commit_duration: self.percentiles("symbolon_commit_sync_seconds", ("", "")),
            signatures: self.by_label("symbolon_signatures_total", "algorithm"),
        }
    }

    fn rise(&self, name: &str, label: (&str, &str)) -> f64 {
        (self.1.sum(name, label) - self.0.sum(name, label)).max(0.0)
    }

    /// By how much a counter has grown, over all series with this label.
    pub(crate) fn grown(&self, name: &str, label: (&str, &str)) -> u64 {
        self.rise(name, label) as u64
    }

    /// The same over all series with these labels.
    pub(crate) fn grown_where(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let fits = |sample: &&Sample| {
            labels.iter().all(|(key, value)| sample.labels.get(*key).is_some_and(|is| is == value))
        };
        let sum = |page: &Page| -> f64 { page.of(name).filter(fits).map(|sample| sample.value).sum() };
        (sum(self.1) - sum(self.0)).max(0.0) as u64
    }

    fn values(&self, name: &str, label: &str) -> Vec<String> {
        let mut all: Vec<String> =
            self.1.of(name).filter_map(|sample| sample.labels.get(label).cloned()).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// By how much a counter has grown, by the value of a label; those that have not are left out.
    pub(crate) fn by_label(&self, name: &str, label: &str) -> BTreeMap<String, u64> {
        let counted = self.values(name, label).into_iter().map(|value| {
            let grown = self.grown(name, (label, &value));
            (value, grown)
        });
        counted.filter(|(_, grown)| *grown > 0).collect()
    }

    fn caches(&self) -> BTreeMap<String, CacheFigures> {
        const NAME: &str = "symbolon_cache_requests_total";
        let figures = |cache: String| {
            let of = |result: &str| {
                let labels = [("cache", cache.as_str()), ("result", result)];
                let labels = labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
                (self.1.value(NAME, &labels) - self.0.value(NAME, &labels)).max(0.0) as u64
            };
            let figures = CacheFigures { hits: of("hit"), misses: of("miss") };
            (cache, figures)
        };
        let all = self.values(NAME, "cache").into_iter().map(figures);
        all.filter(|(_, figures)| figures.hits + figures.misses > 0).collect()
    }

    /// Every kind of state that was used, and its shards.
    fn stores(&self) -> Vec<StoreFigures> {
        let store = |kind: String| {
            let shards = self.shards(&kind);
            let wall = self.percentiles("symbolon_store_kind_wall_seconds", ("kind", &kind));
            let queue_wait = self.percentiles("symbolon_store_kind_queue_wait_seconds", ("kind", &kind));
            StoreFigures { kind, wall, queue_wait, shards }
        };
        let all = self.values("symbolon_store_operations_total", "kind").into_iter().map(store);
        all.filter(|store| !store.shards.is_empty()).collect()
    }

    fn shards(&self, kind: &str) -> Vec<ShardFigures> {
        let mut shards = Vec::new();
        for sample in self.1.of("symbolon_store_operations_total") {
            let (Some(of), Some(shard)) = (sample.labels.get("kind"), sample.labels.get("shard")) else {
                continue;
            };
            let Ok(shard) = shard.parse() else { continue };
            let grown = |name: &str| {
                (self.1.value(name, &sample.labels) - self.0.value(name, &sample.labels)).max(0.0)
            };
            let figures = ShardFigures {
                shard,
                operations: grown("symbolon_store_operations_total") as u64,
                errors: grown("symbolon_store_errors_total") as u64,
                wall_ms: 1e3 * grown("symbolon_store_wall_seconds_sum"),
                queue_wait_ms: 1e3 * grown("symbolon_store_queue_wait_seconds_sum"),
            };
            if of == kind && figures.operations > 0 {
                shards.push(figures);
            }
        }
        shards.sort_unstable_by_key(|figures| figures.shard);
        shards
    }

    /// Percentiles of a histogram, each somewhere between the bounds of its bucket in proportion.
    fn percentiles(&self, name: &str, label: (&str, &str)) -> Percentiles {
        let mut bounds: Vec<(f64, f64)> = Vec::new();
        let bucket = format!("{name}_bucket");
        for le in self.values(&bucket, "le") {
            let bound = if le == "+Inf" { f64::INFINITY } else { le.parse().unwrap_or(f64::INFINITY) };
            let count = |page: &Page| -> f64 {
                let fits = |sample: &&Sample| {
                    let of = label.0.is_empty() || sample.labels.get(label.0).is_some_and(|is| is == label.1);
                    of && sample.labels.get("le").is_some_and(|is| *is == le)
                };
                page.of(&bucket).filter(fits).map(|sample| sample.value).sum()
            };
            bounds.push((bound, (count(self.1) - count(self.0)).max(0.0)));
        }
        bounds.sort_by(|a, b| a.0.total_cmp(&b.0));
        let count = self.rise(&format!("{name}_count"), label);
        let mean = self.rise(&format!("{name}_sum"), label) / count;
        let at = |percentile: f64| {
            let enough = count as u64 >= needed(percentile);
            enough
                .then(|| interpolated(&bounds, percentile / 100.0 * count))
                .flatten()
                .map(|seconds| 1e3 * seconds)
        };
        Percentiles {
            count: count as u64,
            mean_ms: (count > 0.0).then_some(1e3 * mean),
            p50_ms: at(50.0),
            p75_ms: at(75.0),
            p90_ms: at(90.0),
            p99_ms: at(99.0),
            p999_ms: at(99.9),
        }
    }
}

/// The value that `rank` of the cumulative counts do not exceed. None in the first bucket, of which only its upper bound is
/// known, and in the last, of which only the lower one is.
fn interpolated(bounds: &[(f64, f64)], rank: f64) -> Option<f64> {
    let (mut lower, mut before) = (None, 0.0);
    for &(bound, count) in bounds {
        if count >= rank && count > before {
            let lower = lower.filter(|_| bound.is_finite())?;
            return Some(lower + (bound - lower) * ((rank - before) / (count - before)).clamp(0.0, 1.0));
        }
        (lower, before) = (Some(bound).filter(|bound| bound.is_finite()).or(lower), count);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(operations: u32, hits: u32) -> Page {
        Page::parse(&format!(
            "# HELP x y\nsymbolon_build_info{{version=\"1.2\",revision=\"3\"}} 1\nprocess_cpu_seconds_total {}\nprocess_resident_memory_bytes 33554432\n\
             symbolon_store_operations_total{{kind=\"code\",shard=\"3\"}} {operations}\n\
             symbolon_store_operations_total{{kind=\"user\",shard=\"0\"}} 7\n\
             symbolon_store_wall_seconds_sum{{kind=\"code\",shard=\"3\"}} 0.5\n\
             symbolon_cache_requests_total{{cache=\"user\",result=\"hit\"}} {hits}\n\
             symbolon_request_duration_seconds_bucket{{endpoint=\"token\",le=\"0.001\"}} {hits}\n\
             symbolon_request_duration_seconds_bucket{{endpoint=\"token\",le=\"0.002\"}} {}\n\
             symbolon_request_duration_seconds_bucket{{endpoint=\"token\",le=\"+Inf\"}} {}\n\
             symbolon_request_duration_seconds_count{{endpoint=\"token\"}} {}\n\
             symbolon_request_duration_seconds_sum{{endpoint=\"token\"}} {}\n",
            f64::from(operations) / 100.0,
            2 * hits,
            2 * hits,
            2 * hits,
            f64::from(2 * hits) / 1_000.0,
        ))
    }

    #[test]
    fn what_was_counted_between_two_readings() {
        assert_eq!(page(1, 1).software().as_deref(), Some("Symbolon 1.2"));
        let figures = Between(&page(100, 10), &page(350, 60)).figures();
        assert!((figures.cpu_seconds - 2.5).abs() < 1e-9 && (figures.resident_mib - 32.0).abs() < 1e-9);
        let [code] = figures.stores.as_slice() else {
            panic!("users were not touched: {:?}", figures.stores)
        };
        assert_eq!((code.kind.as_str(), code.shards[0].shard, code.shards[0].operations), ("code", 3, 250));
        assert_eq!(figures.caches["user"], CacheFigures { hits: 50, misses: 0 });
        let duration = figures.request_duration;
        assert_eq!(duration.count, 100);
        // Half in each bucket: three quarters lie in the middle of the second one, and of the median it is known that it
        // lies somewhere in the first.
        for (value, expected) in [(duration.p75_ms, 1.5), (duration.mean_ms, 1.0)] {
            assert!((value.unwrap() - expected).abs() < 1e-9, "{duration:?}");
        }
        assert_eq!((duration.p50_ms, duration.p999_ms), (None, None), "an edge, and too few of them");
    }

    #[test]
    fn stores_and_gauges_are_read_where_they_are_told() {
        let page = Page::parse(
            "symbolon_store_room_bytes{kind=\"code\"} 2097152\nsymbolon_store_room_bytes{kind=\"challenge\"} 0\n\
             symbolon_db_log_bytes 1048576\nprocess_open_fds 31\n",
        );
        let told = [("database log", 1.0), ("records of kind challenge", 0.0), ("records of kind code", 2.0)];
        assert_eq!(page.stores(), told.map(|(name, mib)| (name.to_owned(), mib)).into());
        assert_eq!((page.gauge("process_open_fds"), page.gauge("process_max_fds")), (Some(31.0), None));
    }

    #[test]
    fn what_the_process_runs_with_is_read_where_it_is_told() {
        let text =
            "symbolon_configuration_info{store=\"cluster\",rate_limits=\"on\",test_endpoints=\"off\"} 1\n";
        let told = [("Store", "cluster"), ("Rate limits", "on"), ("Test endpoints", "off")];
        assert_eq!(
            Page::parse(text).environment(),
            told.map(|(name, what)| (name.to_owned(), what.to_owned()))
        );
        assert!(page(1, 1).environment().is_empty());
    }

    #[test]
    fn a_page_of_something_else_says_nothing() {
        let figures = Between(&Page::parse("<html>"), &Page::parse("x{y=\"} 1\nz 2")).figures();
        assert_eq!(figures, ServerFigures::default());
    }
}
