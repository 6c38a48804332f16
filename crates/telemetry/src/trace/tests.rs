use std::time::Instant;

use axum::Router;
use axum::extract::State;
use axum::routing::post;
use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, header};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use prost::Message as _;
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use symbolon_figures::{StoreKind, StoreOperation};
use tokio::net::TcpListener;

use super::message::{ExportRequest, Span, SpanKind, Status, Value};
use super::*;
use crate::endpoint::{Endpoint, RequestOutcome};
use crate::request_id::RequestId;

/// What a collector got, and what it is to answer first: statuses, with which it asks to come again at once.
#[derive(Clone, Default)]
struct Got {
    bodies: Arc<Mutex<Vec<Bytes>>>,
    answers: Arc<Mutex<Vec<StatusCode>>>,
}

impl Got {
    fn spans(&self) -> Vec<Span> {
        let bodies = self.bodies.lock().clone();
        let requests = bodies.into_iter().map(|body| ExportRequest::decode(body).unwrap());
        let scopes = requests.flat_map(|request| request.resource_spans).flat_map(|spans| spans.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

async fn take(
    State(got): State<Got>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, [(&'static str, &'static str); 1]) {
    assert_eq!(headers[header::CONTENT_TYPE], "application/x-protobuf");
    got.bodies.lock().push(body);
    let status = got.answers.lock().pop().unwrap_or(StatusCode::OK);
    (status, [("retry-after", "0")])
}

async fn collector() -> (Url, Got) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/base/", listener.local_addr().unwrap())).unwrap();
    let got = Got::default();
    let routes = Router::new().route("/base/v1/traces", post(take)).with_state(got.clone());
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (url, got)
}

fn nobody() -> Url {
    Url::parse("http://127.0.0.1:1").unwrap()
}

fn tracer(url: &Url, one_in: u32) -> Arc<Tracer> {
    Arc::new(
        Tracer::new(url, one_in, *b"twenty-four random bytes", &Registry::new("1.2.3", ""))
            .with_traceparent_policy(Box::new(|_| true)),
    )
}

fn request(parent: Option<&str>) -> Request<()> {
    let request = Request::get("/token?code=secret");
    parent.map_or(request, |parent| Request::get("/").header("traceparent", parent)).body(()).unwrap()
}

/// Traces one request that ended so.
#[allow(clippy::disallowed_methods)] // what is measured is measured by the monotonic clock
fn trace(tracer: &Tracer, parent: Option<&str>, status: Option<StatusCode>) {
    let mut trace = tracer.begin(&request(parent), 0, None).unwrap();
    let now = Instant::now();
    trace.operations.push(StoreOperation {
        kind: StoreKind::Code,
        shard: 7,
        queue_wait_ns: 2_000,
        wall_ns: 40_000,
        ended: now,
        ok: true,
    });
    let id = RequestId::inbound(&HeaderMap::from_iter([(
        header::HeaderName::from_static("x-request-id"),
        "edge-0001".parse().unwrap(),
    )]));
    let line = RequestLine {
        request_id: &id.unwrap(),
        method: &Method::POST,
        endpoint: Endpoint::TokenAuthorizationCode,
        route: Some("/token"),
        outcome: if status.is_some() { RequestOutcome::Ok } else { RequestOutcome::Abandoned },
        status,
        refusal: None,
        oauth_error: None,
        client_id: Some("demo"),
        issuer: Some("default"),
        remote: None,
        arrived: now,
        duration_ns: 300_000,
        cpu_ns: 90_000,
        store_operations: 1,
        store_ns: 40_000,
    };
    tracer.finish(*trace, &line, Some("https"));
}

const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

#[test]
fn one_in_so_many_is_traced_unless_the_caller_says() {
    let tracer = tracer(&nobody(), 4);
    let traced = (0..100).filter(|number| tracer.begin(&request(None), *number, None).is_some()).count();
    assert_eq!(traced, 25);
    let followed = tracer.begin(&request(Some(PARENT)), 1, None).unwrap();
    assert_eq!(
        (followed.trace_id, followed.parent),
        (0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736, Some(0x00f0_67aa_0ba9_02b7))
    );
    let unsampled = PARENT.replace("-01", "-00");
    assert!(tracer.begin(&request(Some(&unsampled)), 0, None).is_none());
    // What is no parent decides nothing.
    assert!(tracer.begin(&request(Some("00-what")), 1, None).is_none());
    assert!(tracer.begin(&request(Some("00-what")), 4, None).unwrap().parent.is_none());
}

#[test]
fn a_strangers_traceparent_does_not_count() {
    let ours: IpAddr = "10.1.2.3".parse().unwrap();
    let tracer = Tracer::new(&nobody(), 4, *b"twenty-four random bytes", &Registry::new("1.2.3", ""));
    let tracer = tracer.with_traceparent_policy(Box::new(move |peer| peer == Some(ours)));
    assert!(tracer.begin(&request(Some(PARENT)), 1, Some(ours)).is_some());
    assert!(tracer.begin(&request(Some(PARENT)), 1, Some("192.0.2.1".parse().unwrap())).is_none());
    // A stranger's is as if it were not there: his request is traced when its turn comes, in a trace of its own.
    assert!(tracer.begin(&request(Some(PARENT)), 4, None).unwrap().parent.is_none());
}

#[test]
fn ids_are_all_different() {
    let tracer = tracer(&nobody(), 1);
    let drawn: std::collections::HashSet<u128> = (0..1_000)
        .flat_map(|_| {
            let trace = tracer.begin(&request(None), 0, None).unwrap();
            [trace.trace_id, u128::from(trace.span_id)]
        })
        .collect();
    assert_eq!(drawn.len(), 2_000);
}

#[tokio::test]
async fn what_is_queued_is_sent_when_the_server_stops() {
    let (url, got) = collector().await;
    let tracer = tracer(&url, 1);
    trace(&tracer, Some(PARENT), Some(StatusCode::OK));
    let running = tokio::spawn({
        let tracer = Arc::clone(&tracer);
        async move { tracer.run().await }
    });
    tracer.drain().await;
    running.await.unwrap();
    let [server, store] = got.spans().try_into().unwrap();
    assert_eq!((server.name.as_str(), server.kind()), ("POST /token", SpanKind::Server));
    assert_eq!(server.trace_id, 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736_u128.to_be_bytes());
    assert_eq!(server.parent_span_id, 0x00f0_67aa_0ba9_02b7_u64.to_be_bytes());
    assert_eq!((server.flags, server.status), (0x301, None));
    assert_eq!(server.end_time_unix_nano - server.start_time_unix_nano, 300_000);
    assert_eq!(
        (store.name.as_str(), store.kind(), &store.parent_span_id),
        ("store code", SpanKind::Internal, &server.span_id)
    );
    assert_eq!(store.end_time_unix_nano - store.start_time_unix_nano, 40_000);
    let attribute = |key: &str| {
        let found = server.attributes.iter().find(|attribute| attribute.key == key);
        found.and_then(|attribute| attribute.value.clone()?.value)
    };
    assert_eq!(attribute("http.response.status_code"), Some(Value::Number(200)));
    assert_eq!(attribute("url.scheme"), Some(Value::Text("https".into())));
    assert_eq!(attribute("symbolon.request_id"), Some(Value::Text("edge-0001".into())));
    assert_eq!(tracer.figures.values(), (2, 0));
    // What comes later is dropped, not kept for nobody.
    trace(&tracer, None, Some(StatusCode::OK));
    assert_eq!(tracer.figures.values(), (2, 2));
}

#[tokio::test]
async fn errors_of_ours_are_errors_and_those_of_clients_are_not() {
    let (url, got) = collector().await;
    let tracer = tracer(&url, 1);
    for status in [Some(StatusCode::BAD_REQUEST), Some(StatusCode::SERVICE_UNAVAILABLE), None] {
        trace(&tracer, None, status);
    }
    tokio::join!(tracer.run(), tracer.drain());
    let servers = got.spans().into_iter().filter(|span| span.kind() == SpanKind::Server);
    let error_type = |span: &Span| {
        let found = span.attributes.iter().find(|attribute| attribute.key == "error.type").cloned();
        found.and_then(|attribute| attribute.value?.value)
    };
    let seen: Vec<_> = servers.map(|span| (span.status, error_type(&span))).collect();
    let failed = |what: &str| (Some(Status { code: 2 }), Some(Value::Text(what.to_owned())));
    assert_eq!(seen, [(None, None), failed("503"), failed("abandoned")]);
}

#[tokio::test]
async fn a_batch_is_sent_again_where_the_collector_asks_for_it() {
    let (url, got) = collector().await;
    *got.answers.lock() = vec![StatusCode::SERVICE_UNAVAILABLE, StatusCode::TOO_MANY_REQUESTS];
    let tracer = tracer(&url, 1);
    for _ in 0..512 {
        trace(&tracer, None, Some(StatusCode::OK));
    }
    let exporting = async {
        while got.bodies.lock().len() < 3 {
            tokio::task::yield_now().await;
        }
        tracer.drain().await;
    };
    tokio::join!(tracer.run(), exporting);
    let bodies = got.bodies.lock();
    assert!(bodies.len() == 3 && bodies.iter().all(|body| *body == bodies[0]), "the same batch each time");
    assert_eq!(tracer.figures.values(), (1_024, 0));
}

#[tokio::test]
async fn what_is_refused_is_lost_and_counted() {
    let (url, got) = collector().await;
    *got.answers.lock() = vec![StatusCode::BAD_REQUEST];
    let tracer = tracer(&url, 1);
    trace(&tracer, None, Some(StatusCode::OK));
    tokio::join!(tracer.run(), tracer.drain());
    assert_eq!((got.bodies.lock().len(), tracer.figures.values()), (1, (0, 2)));
}

#[tokio::test]
async fn a_collector_that_is_not_there_delays_nobody() {
    let tracer = tracer(&nobody(), 1);
    for _ in 0..CAPACITY + 3 {
        trace(&tracer, None, Some(StatusCode::OK));
    }
    assert_eq!(tracer.figures.values(), (0, 6), "the queue is bounded");
    tokio::join!(tracer.run(), tracer.drain());
    assert_eq!(tracer.figures.values(), (0, 2 * (CAPACITY as u64 + 3)));
}

/// The clock runs ahead while the only thing to wait for is the collector.
#[tokio::test(start_paused = true)]
async fn a_collector_that_says_nothing_does_not_keep_the_server() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}", silent.local_addr().unwrap())).unwrap();
    let tracer = tracer(&url, 1);
    for _ in 0..600 {
        trace(&tracer, None, Some(StatusCode::OK));
    }
    let begun = tokio::time::Instant::now();
    tokio::join!(tracer.run(), tracer.drain());
    assert!(begun.elapsed() < std::time::Duration::from_secs(6));
    assert_eq!(tracer.figures.values(), (0, 1_200));
}

#[tokio::test]
async fn a_collector_behind_https_must_be_trusted() {
    let signed = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = signed.cert.der().clone();
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("https://localhost:{}", listener.local_addr().unwrap().port())).unwrap();
    tokio::spawn(async move {
        loop {
            let stream = listener.accept().await.unwrap().0;
            let Ok(stream) = acceptor.accept(stream).await else { continue };
            let answer = service_fn(|_| async {
                Ok::<_, std::convert::Infallible>(http::Response::new(axum::body::Body::empty()))
            });
            tokio::spawn(
                hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer),
            );
        }
    });
    let send = async |roots: RootCertStore| Collector::at(&url, "1").trusting(roots).send(Bytes::new()).await;
    let stranger = send(RootCertStore::empty()).await;
    assert!(matches!(stranger, Err(collector::ExportError::Unreachable(_))), "{stranger:?}");
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    assert_eq!(send(roots).await.unwrap(), 0);
}
