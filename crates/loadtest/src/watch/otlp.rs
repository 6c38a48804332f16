//! Metrics as OTLP 1.x: `opentelemetry/proto/{collector/metrics,metrics,resource,common}/v1`.
//!
//! As for the provider's spans (`docs/decisions/015-spans-are-sent-without-the-sdk.md`) the few messages that are sent are
//! declared here, with the protocol's field numbers and without fields that are never set. A test decodes what was sent
//! with the official definitions.

use prost::Message;

use super::destination::NotTaken;
use super::export::Reading;
use super::metrics::{self, Value};
use super::totals::BOUNDS;

/// `ExportMetricsServiceRequest`.
#[derive(Clone, PartialEq, prost::Message)]
struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    resource_metrics: Vec<ResourceMetrics>,
}

/// `ExportMetricsServiceResponse`.
#[derive(Clone, PartialEq, prost::Message)]
struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    partial_success: Option<PartialSuccess>,
}

/// `ExportMetricsPartialSuccess`.
#[derive(Clone, PartialEq, prost::Message)]
struct PartialSuccess {
    #[prost(int64, tag = "1")]
    rejected_data_points: i64,
    #[prost(string, tag = "2")]
    error_message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ResourceMetrics {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_metrics: Vec<ScopeMetrics>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeMetrics {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    metrics: Vec<Metric>,
}

/// `InstrumentationScope`.
#[derive(Clone, PartialEq, prost::Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Metric {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    description: String,
    #[prost(string, tag = "3")]
    unit: String,
    #[prost(oneof = "Data", tags = "5, 7, 9")]
    data: Option<Data>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Data {
    #[prost(message, tag = "5")]
    Gauge(Gauge),
    #[prost(message, tag = "7")]
    Sum(Sum),
    #[prost(message, tag = "9")]
    Histogram(Histogram),
}

#[derive(Clone, PartialEq, prost::Message)]
struct Gauge {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberDataPoint>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Sum {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<NumberDataPoint>,
    #[prost(enumeration = "Temporality", tag = "2")]
    aggregation_temporality: i32,
    #[prost(bool, tag = "3")]
    is_monotonic: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Histogram {
    #[prost(message, repeated, tag = "1")]
    data_points: Vec<HistogramDataPoint>,
    #[prost(enumeration = "Temporality", tag = "2")]
    aggregation_temporality: i32,
}

/// `AggregationTemporality`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum Temporality {
    Unspecified = 0,
    Cumulative = 2,
}

#[derive(Clone, PartialEq, prost::Message)]
struct NumberDataPoint {
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(double, optional, tag = "4")]
    as_double: Option<f64>,
    #[prost(message, repeated, tag = "7")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct HistogramDataPoint {
    #[prost(fixed64, tag = "2")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "3")]
    time_unix_nano: u64,
    #[prost(fixed64, tag = "4")]
    count: u64,
    #[prost(double, optional, tag = "5")]
    sum: Option<f64>,
    #[prost(fixed64, repeated, tag = "6")]
    bucket_counts: Vec<u64>,
    #[prost(double, repeated, tag = "7")]
    explicit_bounds: Vec<f64>,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(string, optional, tag = "1")]
    string_value: Option<String>,
}

fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { string_value: Some(value.to_owned()) }) }
}

/// The body of a request with these metrics.
pub(super) fn encode(reading: &Reading) -> Vec<u8> {
    let instance = metrics::instance();
    let scope = Scope { name: "symbolon-loadtest".into(), version: env!("CARGO_PKG_VERSION").into() };
    let attributes = vec![
        attribute("service.name", "symbolon-loadtest"),
        attribute("service.version", env!("CARGO_PKG_VERSION")),
        attribute("service.instance.id", &instance),
    ];
    let metrics = reading.metrics.iter().map(|metric| Metric {
        name: metric.name.into(),
        description: metric.help.into(),
        unit: metric.unit.into(),
        data: data(metric, reading),
    });
    let scope_metrics = vec![ScopeMetrics { scope: Some(scope), metrics: metrics.collect() }];
    let resource = Some(Resource { attributes });
    ExportRequest { resource_metrics: vec![ResourceMetrics { resource, scope_metrics }] }.encode_to_vec()
}

fn data(metric: &metrics::Metric, reading: &Reading) -> Option<Data> {
    let [time_unix_nano, start] = [reading.at, reading.since].map(|millis| millis * 1_000_000);
    let (mut numbers, mut distributions) = (Vec::new(), Vec::new());
    for series in &metric.series {
        let attributes = series.labels.iter().map(|(key, value)| attribute(key, value)).collect();
        match &series.value {
            Value::Counter(value) | Value::Gauge(value) => numbers.push(NumberDataPoint {
                // A gauge has no beginning.
                start_time_unix_nano: if matches!(series.value, Value::Counter(_)) { start } else { 0 },
                time_unix_nano,
                as_double: Some(*value),
                attributes,
            }),
            Value::Histogram(buckets) => distributions.push(HistogramDataPoint {
                start_time_unix_nano: start,
                time_unix_nano,
                count: buckets.count(),
                sum: Some(buckets.sum),
                bucket_counts: buckets.counts.to_vec(),
                explicit_bounds: BOUNDS.to_vec(),
                attributes,
            }),
        }
    }
    let aggregation_temporality = Temporality::Cumulative.into();
    Some(match &metric.series.first()?.value {
        Value::Gauge(_) => Data::Gauge(Gauge { data_points: numbers }),
        Value::Counter(_) => {
            Data::Sum(Sum { data_points: numbers, aggregation_temporality, is_monotonic: true })
        }
        Value::Histogram(_) => {
            Data::Histogram(Histogram { data_points: distributions, aggregation_temporality })
        }
    })
}

/// OTLP, "OTLP/HTTP Response": even an answer of 200 may say that points were rejected, and they must not be sent again.
pub(super) fn check_answer(body: &[u8]) -> Result<(), NotTaken> {
    let rejected = ExportResponse::decode(body).ok().and_then(|answer| answer.partial_success);
    match rejected {
        Some(PartialSuccess { rejected_data_points, error_message }) if rejected_data_points > 0 => {
            let text: String = error_message.chars().filter(|c| !c.is_control()).take(200).collect();
            let reason = format!("it rejected {rejected_data_points} points: {text}");
            Err(NotTaken { reason, later: false })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_rejected_is_an_error_that_does_not_come_again() {
        assert!(check_answer(b"").is_ok() && check_answer(b"{}").is_ok());
        let rejected = PartialSuccess { rejected_data_points: 3, error_message: "no\r\nroom".into() };
        let body = ExportResponse { partial_success: Some(rejected) }.encode_to_vec();
        let error = check_answer(&body).unwrap_err();
        assert_eq!((error.reason.as_str(), error.later), ("it rejected 3 points: noroom", false));
    }
}
