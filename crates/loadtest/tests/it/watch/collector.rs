//! A collector of OpenTelemetry, which reads what it gets with the official definitions.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value};
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{AggregationTemporality, Metric, number_data_point};
use prost::Message;
use symbolon_loadtest::watch::{WatchOptions, Watching};

use super::{EVERY, destination, name_of, wanted, watched};

type Got = Arc<Mutex<Vec<(HeaderMap, Bytes)>>>;

/// Takes what is posted to it, whatever the path.
pub(super) struct Collector {
    pub(super) url: String,
    got: Got,
    _runtime: tokio::runtime::Runtime,
}

impl Collector {
    fn start() -> Self {
        Self::refusing(200)
    }

    /// Answers with this status.
    pub(super) fn refusing(status: u16) -> Self {
        let status = StatusCode::from_u16(status).unwrap();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let got = Got::default();
        let take = move |State(got): State<Got>, headers: HeaderMap, body: Bytes| async move {
            got.lock().unwrap().push((headers, body));
            status
        };
        let routes = Router::new().route("/{*path}", post(take)).with_state(Arc::clone(&got));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Self { url, got, _runtime: runtime }
    }

    pub(super) fn bodies(&self) -> Vec<Bytes> {
        self.got.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }
}

fn labels(attributes: &[KeyValue]) -> BTreeMap<String, String> {
    let text = |value: &KeyValue| match value.value.as_ref().unwrap().value.as_ref().unwrap() {
        any_value::Value::StringValue(text) => text.clone(),
        other => panic!("{}: {other:?}", value.key),
    };
    attributes.iter().map(|attribute| (attribute.key.clone(), text(attribute))).collect()
}

/// Labels, value, and the times of the beginning and of the reading.
type Point = (BTreeMap<String, String>, f64, (u64, u64));

/// The points of a metric, as their labels, value and times; what a collector would refuse or misread is an error.
fn points(metric: &Metric) -> Vec<Point> {
    let number = |value: &Option<number_data_point::Value>| match value {
        Some(number_data_point::Value::AsDouble(value)) => *value,
        other => panic!("{other:?}"),
    };
    let cumulative = AggregationTemporality::Cumulative as i32;
    match metric.data.as_ref().unwrap() {
        Data::Gauge(gauge) => {
            let points = gauge.data_points.iter();
            points.map(|of| (labels(&of.attributes), number(&of.value), (0, of.time_unix_nano))).collect()
        }
        Data::Sum(sum) => {
            assert!(sum.is_monotonic && sum.aggregation_temporality == cumulative, "{}", metric.name);
            let times = |start, time| {
                assert!(0 < start && start < time, "{}: {start}, {time}", metric.name);
                (start, time)
            };
            let points = sum.data_points.iter();
            points
                .map(|of| {
                    let times = times(of.start_time_unix_nano, of.time_unix_nano);
                    (labels(&of.attributes), number(&of.value), times)
                })
                .collect()
        }
        Data::Histogram(histogram) => {
            assert_eq!(histogram.aggregation_temporality, cumulative);
            let points = histogram.data_points.iter();
            points
                .map(|of| {
                    assert_eq!(of.bucket_counts.len(), of.explicit_bounds.len() + 1);
                    assert_eq!(of.bucket_counts.iter().sum::<u64>(), of.count);
                    assert!(of.explicit_bounds.is_sorted() && of.sum.unwrap() > 0.0);
                    let times = (of.start_time_unix_nano, of.time_unix_nano);
                    (labels(&of.attributes), of.count as f64, times)
                })
                .collect()
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_collector_gets_by_otlp_what_results_say() {
    let collector = Collector::start();
    let otlp = Some(destination(&collector.url));
    let watching = Watching::start(WatchOptions { otlp, every: Some(EVERY), ..WatchOptions::default() });
    let (results, said) = watched(watching.unwrap().unwrap());
    assert!(!said.contains("metrics"), "{said}");
    for (headers, _) in collector.got.lock().unwrap().iter() {
        assert_eq!(headers["content-type"], "application/x-protobuf");
        assert_eq!(headers["authorization"], "Bearer secret-of-metrics");
    }
    let mut last: BTreeMap<String, BTreeMap<String, f64>> = BTreeMap::new();
    let (mut readings, mut newest) = (BTreeMap::<String, u32>::new(), 0);
    for body in collector.bodies() {
        let request = ExportMetricsServiceRequest::decode(body).unwrap();
        let [resource] = &request.resource_metrics[..] else { panic!("{request:?}") };
        let attributes = labels(&resource.resource.as_ref().unwrap().attributes);
        assert_eq!(attributes["service.name"], "symbolon-loadtest");
        let metrics = resource.scope_metrics.iter().flat_map(|scope| &scope.metrics);
        for metric in metrics {
            assert!(!metric.description.is_empty());
            for (labels, value, (_, time)) in points(metric) {
                assert!(time >= newest, "a later reading came earlier");
                newest = time;
                let run = labels["run"].clone();
                if metric.name == "symbolon_loadtest_running" {
                    *readings.entry(run.clone()).or_default() += 1;
                }
                if let Some(name) = name_of(&metric.name, &labels) {
                    last.entry(run).or_default().insert(name, value);
                }
            }
        }
    }
    for run in &results.runs {
        assert_eq!(last[&run.name], wanted(run), "{}", run.name);
        assert!(readings[&run.name] > 1, "{readings:?}");
    }
}
