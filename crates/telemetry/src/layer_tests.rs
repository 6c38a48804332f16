use std::convert::Infallible;
use std::net::Ipv4Addr;

use http::header::LOCATION;
use symbolon_figures::{StoreFigures, StoreKind};
use symbolon_protocol::id::IssuerId;
use tower::service_fn;

use super::super::facts::RequestFacts;
use super::super::logging::tests::{keep_tests_apart, logged};
use super::super::prometheus::tests::parse;
use super::*;

fn telemetry(success_one_in: u32) -> Arc<Telemetry> {
    keep_tests_apart();
    let registry = Arc::new(Registry::new("0", "0"));
    Telemetry::new(registry, *b"random bytes", RequestLog::new(success_one_in), None)
}

/// Sends one request through the layer around `handler`.
async fn send<F>(
    telemetry: &Arc<Telemetry>,
    request: Request<()>,
    handler: impl Fn(Request<()>) -> F,
) -> Response<()>
where
    F: Future<Output = Response<()>>,
{
    let inner = service_fn(|request| {
        let response = handler(request);
        async move { Ok::<_, Infallible>(response.await) }
    });
    telemetry.layer().layer(inner).with_remote(Ipv4Addr::LOCALHOST.into()).call(request).await.unwrap()
}

fn get(path: &str) -> Request<()> {
    Request::get(path).body(()).unwrap()
}

fn answer(status: u16, facts: RequestFacts) -> Response<()> {
    facts.note();
    Response::builder().status(status).body(()).unwrap()
}

fn count(telemetry: &Telemetry, endpoint: &str, outcome: &str) -> f64 {
    let page = parse(&telemetry.registry().render(&[]));
    page.value("symbolon_requests_total", &[("endpoint", endpoint), ("outcome", outcome)]).unwrap_or(0.0)
}

fn block_on<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

#[test]
fn path_status_and_facts_label_a_request() {
    let telemetry = telemetry(0);
    block_on(async {
        let facts = RequestFacts::new().endpoint(Endpoint::Userinfo);
        send(&telemetry, get("/acme/userinfo"), |_| async { answer(200, facts.clone()) }).await;
        let facts = RequestFacts::new().endpoint(Endpoint::TokenRefreshToken).oauth_error("invalid_grant");
        send(&telemetry, get("/token"), |_| async { answer(400, facts.clone()) }).await;
        let facts = RequestFacts::new().endpoint(Endpoint::Authorize).oauth_error("login_required");
        send(&telemetry, get("/authorize"), |_| async { answer(302, facts.clone()) }).await;
    });
    assert_eq!(count(&telemetry, "userinfo", "ok"), 1.0);
    assert_eq!(count(&telemetry, "token_refresh_token", "client_error"), 1.0);
    assert_eq!(count(&telemetry, "token_other", "client_error"), 0.0);
    assert_eq!(count(&telemetry, "authorize", "login_required"), 1.0);
}

#[test]
fn facts_do_not_leave_and_the_id_only_where_it_helps() {
    let telemetry = telemetry(0);
    block_on(async {
        let handler = |request: Request<()>| async move {
            assert!(Current::arrival().is_some() && request.extensions().is_empty());
            answer(200, RequestFacts::new().client_id("demo"))
        };
        let response = send(&telemetry, get("/token"), handler).await;
        assert!(response.extensions().is_empty() && Current::arrival().is_none());
        assert!(!response.headers().contains_key(&X_REQUEST_ID));

        let request = Request::get("/token").header("x-request-id", "edge-0001").body(()).unwrap();
        let response = send(&telemetry, request, handler).await;
        assert_eq!(response.headers()[&X_REQUEST_ID], "edge-0001");

        let response = send(&telemetry, get("/token"), |_| async { answer(500, RequestFacts::new()) }).await;
        assert_eq!(response.headers()[&X_REQUEST_ID].len(), 24);
    });
}

#[test]
fn a_dropped_request_counts_as_abandoned() {
    let telemetry = telemetry(0);
    let never = service_fn(|_: Request<()>| {
        RequestFacts::note_endpoint(Endpoint::TokenOther, "/token");
        std::future::pending::<Result<Response<()>, Infallible>>()
    });
    let mut service = telemetry.layer().layer(never);
    block_on(async {
        let mut future = Box::pin(service.call(get("/token")));
        let polled = std::future::poll_fn(|context| Poll::Ready(future.as_mut().poll(context))).await;
        assert!(polled.is_pending());
    });
    assert_eq!(count(&telemetry, "token_other", "abandoned"), 1.0);
}

#[test]
fn a_panicking_handler_counts_as_our_fault() {
    let telemetry = telemetry(0);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        block_on(send(&telemetry, get("/token"), |_| async {
            RequestFacts::note_endpoint(Endpoint::TokenOther, "/token");
            panic!("on purpose")
        }))
    }));
    assert!(result.is_err());
    assert_eq!(count(&telemetry, "token_other", "server_error"), 1.0);
}

#[test]
fn a_failing_service_counts_as_our_fault() {
    let telemetry = telemetry(0);
    let failing = service_fn(|_: Request<()>| async {
        RequestFacts::note_endpoint(Endpoint::Jwks, "/.well-known/jwks.json");
        Err::<Response<()>, _>("broken")
    });
    assert_eq!(block_on(telemetry.layer().layer(failing).call(get("/jwks.json"))).unwrap_err(), "broken");
    assert_eq!(count(&telemetry, "jwks", "server_error"), 1.0);
}

#[test]
fn a_line_holds_every_field_and_no_query() {
    let lines = logged("info", |_| {
        let telemetry = telemetry(0);
        let store = StoreFigures::new();
        block_on(async {
            let request = Request::post("/token?client_secret=hidden").body(()).unwrap();
            let handler = |_| async {
                store.kind(StoreKind::Code).record(0, 0, 3_000, true);
                tokio::task::yield_now().await;
                store.kind(StoreKind::Refresh).record(0, 0, 4_000, true);
                let facts = RequestFacts::new()
                    .endpoint(Endpoint::TokenAuthorizationCode)
                    .oauth_error("invalid_grant")
                    .client_id("demo")
                    .issuer(IssuerId::default_issuer())
                    .route("/token");
                answer(400, facts)
            };
            send(&telemetry, request, handler).await;
        });
    });
    assert_eq!(lines.len(), 1);
    let line = &lines[0];
    assert_eq!(line["target"], "symbolon::request");
    assert_eq!(line["level"], "INFO");
    assert_eq!(line["request_id"].as_str().unwrap().len(), 24);
    assert_eq!(line["method"], "POST");
    assert_eq!(line["endpoint"], "token_authorization_code");
    assert_eq!(line["route"], "/token");
    assert_eq!(line["outcome"], "client_error");
    assert_eq!(line["status"], 400);
    assert_eq!(line["oauth_error"], "invalid_grant");
    assert_eq!(line["client_id"], "demo");
    assert_eq!(line["issuer"], "default");
    assert_eq!(line["remote"], "127.0.0.1");
    assert_eq!(line["store_ops"], 2);
    assert_eq!(line["store_us"], 7);
    assert!(line["duration_us"].is_u64() && line["cpu_us"].is_u64());
    assert!(!line.to_string().contains("hidden"));
    let documented = include_str!("../../../docs/reference/request-log.md");
    for field in line.as_object().unwrap().keys() {
        assert!(documented.contains(&format!("`{field}`")), "{field} is not documented");
    }
}

#[test]
fn errors_are_logged_and_hot_successes_sampled() {
    let lines = logged("info", |_| {
        let telemetry = telemetry(10);
        block_on(async {
            for _ in 0..30 {
                send(&telemetry, get("/userinfo"), |_| async { Response::new(()) }).await;
            }
            send(&telemetry, get("/userinfo"), |_| async { answer(401, RequestFacts::new()) }).await;
            send(&telemetry, get("/userinfo"), |_| async { answer(503, RequestFacts::new()) }).await;
        });
    });
    let statuses: Vec<_> = lines.iter().map(|line| line["status"].as_u64().unwrap()).collect();
    assert_eq!(statuses, [200, 200, 200, 401, 503]);
    assert_eq!(lines[4]["level"], "WARN");
    assert!(lines[0].get("oauth_error").is_none(), "what is not known is left out");
}

/// Prints what the layer costs. Run it optimised:
/// `cargo test -p symbolon-telemetry --lib --config profile.dev.opt-level=3 -- --ignored --nocapture overhead`
#[test]
#[ignore = "a measurement, not a test"]
fn overhead_per_request() {
    let telemetry = telemetry(super::super::request_log::DEFAULT_SUCCESS_ONE_IN);
    let store = StoreFigures::new();
    let bare = service_fn(|request: Request<()>| async move { Ok::<_, Infallible>(respond(&request)) });
    let with_facts = service_fn(|request: Request<()>| async move {
        let facts = RequestFacts::new()
            .endpoint(Endpoint::TokenRefreshToken)
            .client_id("a-client-of-some-length-0001")
            .issuer(IssuerId::default_issuer());
        facts.note();
        Ok::<_, Infallible>(respond(&request))
    });
    let none = measure(bare);
    let plain = measure(telemetry.layer().layer(bare));
    let facts = measure(telemetry.layer().layer(with_facts));
    eprintln!("trivial service            {none:6.1} ns");
    eprintln!("with the layer             {plain:6.1} ns, layer {:.1} ns", plain - none);
    eprintln!("with the layer and facts   {facts:6.1} ns, layer {:.1} ns", facts - none);
    let mut lines = 0;
    logged("info", |_| {
        let logged = measure(telemetry.layer().layer(with_facts));
        eprintln!("1 line in 100 as JSON      {logged:6.1} ns, layer {:.1} ns", logged - none);
        telemetry.log().set_success_one_in(1);
        let all = measure(telemetry.layer().layer(with_facts));
        eprintln!("every line as JSON         {all:6.1} ns, layer {:.1} ns", all - none);
        lines += 1;
    });
    let operation = per_turn(|turn| {
        let mut timer = store.kind(StoreKind::Session).start((turn % 64) as u32);
        timer.admitted();
        timer.finish(true);
    });
    let at_once = per_turn(|turn| store.kind(StoreKind::Session).start((turn % 64) as u32).finish(true));
    let cache = store.cache("client");
    let hit = per_turn(|_| cache.hit());
    eprintln!("store operation, waited    {operation:6.1} ns");
    eprintln!("store operation, at once   {at_once:6.1} ns");
    eprintln!("cache hit                  {hit:6.1} ns");
}

fn respond(request: &Request<()>) -> Response<()> {
    let mut response = Response::new(());
    let location = HeaderValue::from_str(request.uri().path()).unwrap();
    response.headers_mut().insert(LOCATION, location);
    response
}

fn measure<S>(mut service: S) -> f64
where
    S: Service<Request<()>, Response = Response<()>, Error = Infallible>,
{
    let uri: http::Uri = "/token?client_id=demo".parse().unwrap();
    let mut context = Context::from_waker(std::task::Waker::noop());
    per_turn(|_| {
        let mut request = Request::new(());
        *request.uri_mut() = uri.clone();
        request.headers_mut().insert(http::header::HOST, HeaderValue::from_static("localhost"));
        request.headers_mut().insert(http::header::ACCEPT, HeaderValue::from_static("*/*"));
        let future = std::pin::pin!(service.call(request));
        assert!(std::hint::black_box(future.poll(&mut context)).is_ready());
    })
}

/// Nanoseconds per turn: the best of five rounds.
#[allow(clippy::disallowed_methods, reason = "measuring code reads the clock")]
fn per_turn(mut turn: impl FnMut(u64)) -> f64 {
    const TURNS: u64 = 200_000;
    let round = |_| {
        let start = std::time::Instant::now();
        (0..TURNS).for_each(&mut turn);
        start.elapsed().as_nanos() as f64 / TURNS as f64
    };
    (0..5).map(round).fold(f64::INFINITY, f64::min)
}

#[test]
fn a_refused_request_says_why_in_its_line_even_where_its_answer_does_not() {
    use symbolon_protocol::id::UserId;
    use symbolon_protocol::refusal::{Details, Reason, Refusal};
    let refused = |reason, details: Details, is_recorded| {
        let lines = logged("info", |_| {
            block_on(send(&telemetry(0), get("/introspect"), |_| async {
                Current::note_refusal(Refusal::about(reason, details.clone()), is_recorded);
                answer(200, RequestFacts::new().endpoint(Endpoint::Introspect))
            }));
        });
        lines.first().cloned()
    };
    let details =
        Details::of("aud").sent("https://a.example").registered(["b", "c"]).user(&UserId::trusted("ann"));
    let line =
        refused(Reason::TokenOfOtherClient, details.clone().differing(Some("it differs")), true).unwrap();
    for (field, value) in [
        ("reason", "token_of_other_client"),
        ("parameter", "aud"),
        ("sent", "https://a.example"),
        ("registered", "b c"),
        ("difference", "it differs"),
        ("user_id", "ann"),
    ] {
        assert_eq!(line[field], value, "{line}");
    }
    assert_eq!(refused(Reason::TokenOfOtherClient, details, false), None, "sampled as a success is");
}
