//! Prometheus' remote write, version 1: a `WriteRequest` in protobuf, compressed by snappy's block format.
//!
//! <https://prometheus.io/docs/specs/prw/remote_write_spec/>; field numbers are the protocol's
//! (`prometheus/prompb/{remote,types}.proto`).

use prost::Message;

use super::export::Reading;
use super::metrics::{self, Metric, Series, Value};

/// What Prometheus' own scraping calls the same label.
const JOB: &str = "symbolon-loadtest";

/// `WriteRequest`.
#[derive(Clone, PartialEq, prost::Message)]
struct WriteRequest {
    #[prost(message, repeated, tag = "1")]
    timeseries: Vec<TimeSeries>,
    #[prost(message, repeated, tag = "3")]
    metadata: Vec<MetricMetadata>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct TimeSeries {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<Label>,
    #[prost(message, repeated, tag = "2")]
    samples: Vec<Sample>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Label {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
struct Sample {
    #[prost(double, tag = "1")]
    value: f64,
    /// In ms since 1970.
    #[prost(int64, tag = "2")]
    timestamp: i64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct MetricMetadata {
    #[prost(enumeration = "MetricType", tag = "1")]
    kind: i32,
    #[prost(string, tag = "2")]
    metric_family_name: String,
    #[prost(string, tag = "4")]
    help: String,
    #[prost(string, tag = "5")]
    unit: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum MetricType {
    Unknown = 0,
    Counter = 1,
    Gauge = 2,
    Histogram = 3,
}

/// The body of a request with these metrics.
pub(super) fn encode(reading: &Reading) -> Vec<u8> {
    let bytes = request(reading).encode_to_vec();
    // Only 4 GiB and more cannot be compressed; a receiver would refuse what is not.
    snap::raw::Encoder::new().compress_vec(&bytes).unwrap_or_default()
}

fn request(reading: &Reading) -> WriteRequest {
    let instance = metrics::instance();
    let timestamp = i64::try_from(reading.at).unwrap_or(i64::MAX);
    let mut timeseries = Vec::new();
    for metric in &reading.metrics {
        for series in &metric.series {
            for (name, bound, value) in samples(metric, series) {
                timeseries.push(TimeSeries {
                    labels: labels(name, &instance, series, bound),
                    samples: vec![Sample { value, timestamp }],
                });
            }
        }
    }
    WriteRequest { timeseries, metadata: reading.metrics.iter().map(metadata).collect() }
}

/// What a series is written as: name, upper bound and value of each.
fn samples(metric: &Metric, series: &Series) -> Vec<(String, Option<String>, f64)> {
    match &series.value {
        Value::Counter(value) | Value::Gauge(value) => vec![(metric.name.to_owned(), None, *value)],
        Value::Histogram(buckets) => {
            let mut so_far = 0;
            let mut samples = Vec::new();
            for (place, count) in buckets.counts.iter().enumerate() {
                so_far += count;
                let bucket = format!("{}_bucket", metric.name);
                samples.push((bucket, Some(metrics::bound(place)), so_far as f64));
            }
            samples.push((format!("{}_sum", metric.name), None, buckets.sum));
            samples.push((format!("{}_count", metric.name), None, so_far as f64));
            samples
        }
    }
}

/// All labels, in the order of their names, as the protocol wants them.
fn labels(name: String, instance: &str, series: &Series, bound: Option<String>) -> Vec<Label> {
    let own = series.labels.iter().map(|(name, value)| ((*name).to_owned(), value.clone()));
    let usual = [("__name__", name), ("instance", instance.to_owned()), ("job", JOB.to_owned())];
    let usual = usual.into_iter().chain(bound.map(|bound| ("le", bound)));
    let mut labels: Vec<_> = usual
        .map(|(name, value)| (name.to_owned(), value))
        .chain(own)
        .map(|(name, value)| Label { name, value })
        .collect();
    labels.sort_by(|one, other| one.name.cmp(&other.name));
    labels
}

fn metadata(metric: &Metric) -> MetricMetadata {
    let kind = match metric.series.first().map(|series| &series.value) {
        Some(Value::Counter(_)) => MetricType::Counter,
        Some(Value::Gauge(_)) => MetricType::Gauge,
        Some(Value::Histogram(_)) => MetricType::Histogram,
        None => MetricType::Unknown,
    };
    MetricMetadata {
        kind: kind.into(),
        metric_family_name: metric.name.into(),
        help: metric.help.into(),
        unit: metric.unit.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::totals::Buckets;

    #[test]
    fn labels_are_in_order_and_buckets_add_up() {
        let mut buckets = Buckets::default();
        (buckets.counts[0], buckets.counts[3], buckets.sum) = (2, 5, 1.5);
        let labels = vec![("run", "silent".to_owned()), ("kind", "valid".to_owned())];
        let series = vec![Series { labels, value: Value::Histogram(buckets) }];
        let metrics = vec![Metric { name: "a_seconds", help: "", unit: "s", series }];
        let reading = Reading { at: 1_234, since: 0, metrics };
        let bytes = snap::raw::Decoder::new().decompress_vec(&encode(&reading)).unwrap();
        let request = WriteRequest::decode(&*bytes).unwrap();
        let names: Vec<_> = request.timeseries[0].labels.iter().map(|label| label.name.as_str()).collect();
        assert_eq!(names, ["__name__", "instance", "job", "kind", "le", "run"]);
        let values: Vec<_> = request.timeseries.iter().map(|series| series.samples[0].value).collect();
        let buckets = crate::watch::totals::BOUNDS.len() + 1;
        assert_eq!((values.len(), values[0], values[2], values[3]), (buckets + 2, 2.0, 2.0, 7.0));
        assert_eq!(values[buckets - 1..], [7.0, 1.5, 7.0]);
        assert_eq!(request.timeseries[0].samples[0].timestamp, 1_234);
        assert_eq!(request.metadata[0].kind(), MetricType::Histogram);
    }
}
