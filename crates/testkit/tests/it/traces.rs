//! Traces as a collector gets them, read with OpenTelemetry's own definitions.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span};
use prost::Message;
use serde_json::json;
use symbolon_testkit::{Browser, Options, RelyingParty, TestServer, TokenSet};

type Bodies = Arc<Mutex<Vec<Bytes>>>;

/// A collector on a free port, with a runtime of its own.
struct Collector {
    url: String,
    bodies: Bodies,
    _runtime: tokio::runtime::Runtime,
}

impl Collector {
    fn start() -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).enable_all().build().unwrap();
        let bodies = Bodies::default();
        let take =
            |State(bodies): State<Bodies>, body: Bytes| async move { bodies.lock().unwrap().push(body) };
        let routes = Router::new().route("/v1/traces", post(take)).with_state(Arc::clone(&bodies));
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        runtime.spawn(async move { axum::serve(listener, routes).await });
        Self { url, bodies, _runtime: runtime }
    }

    fn options(&self) -> Options {
        let options = Options::default().env("SYMBOLON_OTLP_ENDPOINT", &self.url);
        options.env("SYMBOLON_OTLP_SAMPLE", "1").env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.1")
    }

    fn resources(&self) -> Vec<ResourceSpans> {
        let bodies = self.bodies.lock().unwrap().clone();
        bodies
            .into_iter()
            .flat_map(|b| ExportTraceServiceRequest::decode(b).unwrap().resource_spans)
            .collect()
    }

    fn spans(&self) -> Vec<Span> {
        let scopes = self.resources().into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

fn attribute(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.clone()?.value? {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        other => panic!("{key}: {other:?}"),
    }
}

fn named<'a>(spans: &'a [Span], name: &str) -> &'a Span {
    let names = || spans.iter().map(|span| span.name.as_str()).collect::<Vec<_>>();
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {:?}", names()))
}

const TRACE: u128 = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736;
const CALLER: u64 = 0x00f0_67aa_0ba9_02b7;

fn traceparent(flags: &str) -> String {
    format!("00-{TRACE:032x}-{CALLER:016x}-{flags}")
}

#[test]
fn a_login_is_told_span_by_span_and_nothing_secret_leaves() {
    let collector = Collector::start();
    let server = TestServer::start_with(collector.options().env("SYMBOLON_TRUSTED_PROXIES", "127.0.0.0/8"));
    let rp = RelyingParty::register(&server, json!({}));
    let (user, browser) = server.signed_in("person@example.com");
    let request = rp.authorization_request().with("scope", "openid email offline_access");
    let answer = browser.get_with(&request.path(), &[("traceparent", &traceparent("01"))]);
    let code = answer.redirected("code").unwrap();
    let tokens = TokenSet::of(&rp.redeem(&code, &request.verifier));
    let bearer = format!("Bearer {}", tokens.access_token);
    let by_proxy = [("authorization", &*bearer), ("x-forwarded-for", "203.0.113.9")];
    assert_eq!(server.browser().get_with("/userinfo", &by_proxy).status, 200);
    assert_eq!(server.browser().get(&format!("/nothing/{code}")).status, 404);
    assert_eq!(server.admin("GET", &format!("/users/{user}?secret={code}"), None).status, 200);
    let unsampled = [("traceparent", &*traceparent("00"))];
    assert_eq!(server.browser().get_with("/.well-known/jwks.json", &unsampled).status, 200);
    drop(server);

    let spans = collector.spans();
    let authorize = named(&spans, "GET /authorize");
    assert_eq!(authorize.kind(), SpanKind::Server);
    assert_eq!(authorize.trace_id, TRACE.to_be_bytes());
    assert_eq!(authorize.parent_span_id, CALLER.to_be_bytes());
    assert!(
        authorize.start_time_unix_nano > 0 && authorize.end_time_unix_nano > authorize.start_time_unix_nano
    );
    for (key, value) in [
        ("http.request.method", "GET"),
        ("http.route", "/authorize"),
        ("url.path", "/authorize"),
        ("url.scheme", "http"),
        ("http.response.status_code", "302"),
        ("network.protocol.version", "1.1"),
        ("client.address", "127.0.0.1"),
        ("symbolon.endpoint", "authorize"),
        ("symbolon.outcome", "redirect"),
        ("symbolon.issuer", "default"),
        ("symbolon.client_id", &rp.client_id),
    ] {
        assert_eq!(attribute(&authorize.attributes, key).as_deref(), Some(value), "{key}");
    }
    let children: Vec<&Span> = spans.iter().filter(|span| span.parent_span_id == authorize.span_id).collect();
    let count = attribute(&authorize.attributes, "symbolon.store_ops").unwrap();
    assert_eq!(children.len().to_string(), count);
    assert!(children.iter().any(|span| span.name == "store code"), "{children:?}");
    for child in children {
        assert_eq!((child.kind(), &child.trace_id), (SpanKind::Internal, &authorize.trace_id));
        assert!(attribute(&child.attributes, "symbolon.store.shard").is_some());
    }
    let token = named(&spans, "POST /token");
    assert!(token.parent_span_id.is_empty() && token.trace_id != authorize.trace_id, "a trace of its own");
    assert_eq!(attribute(&token.attributes, "symbolon.endpoint").unwrap(), "token_authorization_code");
    let userinfo = named(&spans, "GET /userinfo");
    assert_eq!(attribute(&userinfo.attributes, "client.address").unwrap(), "203.0.113.9");
    named(&spans, "GET /api/admin/users/{user_id}");
    // What was not found has no route, and so nothing of its path.
    let missing = named(&spans, "GET");
    assert_eq!(attribute(&missing.attributes, "http.response.status_code").unwrap(), "404");
    assert!(!spans.iter().any(|span| span.name.contains("jwks")), "its caller is not traced");

    let sent: Vec<u8> = collector.bodies.lock().unwrap().concat();
    let sent = String::from_utf8_lossy(&sent).into_owned();
    let id_token = tokens.id_token.unwrap();
    for secret in [
        &*code,
        &tokens.access_token,
        &id_token,
        tokens.refresh_token.as_deref().unwrap(),
        rp.client_secret.as_deref().unwrap(),
        &request.verifier,
        &browser.cookie("symbolon_session").unwrap(),
        "an-admin-secret-for-tests",
        "person@example.com",
        &*user,
        "code_challenge",
        "secret=",
    ] {
        assert!(!sent.contains(secret), "{secret} left");
    }
}

/// The setting `otlp.traceparent`: whose header joins a trace, and has a request left out of all traces.
#[test]
fn a_traceparent_counts_as_the_setting_says() {
    const SAMPLED: &str = "/.well-known/jwks.json";
    const UNSAMPLED: &str = "/.well-known/openid-configuration";
    let (us, others) = ("127.0.0.1", "203.0.113.0/24");
    for (whose, proxies, counts) in [
        (None, us, true),
        (None, others, false),
        (Some("trusted_proxies"), us, true),
        (Some("trusted_proxies"), others, false),
        (Some("anybody"), others, true),
        (Some("nobody"), us, false),
    ] {
        let collector = Collector::start();
        let options = collector.options().env("SYMBOLON_TRUSTED_PROXIES", proxies);
        let options = match whose {
            Some(whose) => options.env("SYMBOLON_OTLP_TRACEPARENT", whose),
            None => options,
        };
        let server = TestServer::start_with(options);
        for (path, flags) in [(SAMPLED, "01"), (UNSAMPLED, "00")] {
            let headers = [("traceparent", &*traceparent(flags))];
            assert_eq!(server.browser().get_with(path, &headers).status, 200);
        }
        drop(server);
        let spans = collector.spans();
        let joined = named(&spans, &format!("GET {SAMPLED}"));
        let is_joined =
            joined.trace_id == TRACE.to_be_bytes() && joined.parent_span_id == CALLER.to_be_bytes();
        assert_eq!(is_joined, counts, "{whose:?}, proxies {proxies}");
        let is_traced = spans.iter().any(|span| span.name == format!("GET {UNSAMPLED}"));
        assert_eq!(is_traced, !counts, "{whose:?}, proxies {proxies}: left out by its caller");
    }
}

#[test]
fn a_collector_learns_who_sends() {
    let collector = Collector::start();
    let server = TestServer::start_with(collector.options());
    assert_eq!(Browser::new(&server.management).get("/readyz").status, 200);
    drop(server);
    let resource = collector.resources()[0].resource.clone().unwrap().attributes;
    assert_eq!(attribute(&resource, "service.name").as_deref(), Some("symbolon"));
    assert_eq!(attribute(&resource, "service.version").as_deref(), Some("test"));
    assert_eq!(attribute(&resource, "service.instance.id").unwrap().len(), 16);
}

#[test]
fn an_error_of_ours_marks_its_span() {
    let collector = Collector::start();
    let server = TestServer::start_with(collector.options().one_node());
    let rp = RelyingParty::register(&server, json!({}));
    assert_eq!(rp.token(&[("grant_type", "client_credentials")]).status, 200);
    assert_eq!(rp.refresh("rt_wrong").status, 400);
    server.block_on(server.app.store.close()).unwrap();
    assert_eq!(server.admin("GET", "/users", None).status, 503);
    let page = Browser::new(&server.management).get("/metrics").body;
    assert!(page.contains("symbolon_trace_spans_dropped_total 0"), "{page}");
    drop(server);
    let spans = collector.spans();
    let codes: Vec<_> = spans
        .iter()
        .filter(|span| span.name == "POST /token" || span.name == "GET /api/admin/users")
        .map(|span| {
            (span.status.as_ref().map(|status| status.code()), attribute(&span.attributes, "error.type"))
        })
        .collect();
    assert_eq!(codes, [(None, None), (None, None), (Some(StatusCode::Error), Some("503".to_owned()))]);
}
