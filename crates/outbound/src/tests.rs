//! Requests to servers of the test's own.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderValue, StatusCode, header};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Mutex;
use tokio_rustls::TlsAcceptor;
use url::Url;

use crate::{Outbound, OutboundAnswer, OutboundError, OutboundRequest, Reach};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A server that answers every request with the same bytes, and remembers what it was sent.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
    received: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn start(answer: impl Into<Vec<u8>>, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (connections, received) = (Arc::new(AtomicUsize::new(0)), Arc::default());
        let (counted, kept) = (Arc::clone(&connections), Arc::clone(&received));
        let answer = answer.into();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                match &tls {
                    None => serve(stream, &answer, &kept).await,
                    Some(tls) => {
                        if let Ok(stream) = tls.accept(stream).await {
                            serve(stream, &answer, &kept).await;
                        }
                    }
                }
            }
        });
        Self { port, connections, received }
    }

    fn url(&self, text: &str) -> Url {
        Url::parse(&text.replace("PORT", &self.port.to_string())).unwrap()
    }
}

async fn serve(mut stream: impl AsyncRead + AsyncWrite + Unpin, answer: &[u8], kept: &Mutex<Vec<String>>) {
    let mut text = Vec::new();
    let mut some = [0; 4096];
    loop {
        let read = stream.read(&mut some).await.unwrap_or(0);
        text.extend_from_slice(&some[..read]);
        let whole = String::from_utf8_lossy(&text).into_owned();
        let Some((head, body)) = whole.split_once("\r\n\r\n") else {
            if read == 0 {
                return;
            }
            continue;
        };
        let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        if body.len() >= length.unwrap_or(0) {
            kept.lock().await.push(whole);
            break;
        }
    }
    drop(stream.write_all(answer).await);
    drop(stream.shutdown().await);
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}\r\n{body}", body.len()).into_bytes()
}

fn outbound(names: Vec<(&'static str, Vec<IpAddr>)>) -> Outbound {
    Outbound::of_test(RootCertStore::empty(), names)
}

async fn get(url: Url) -> Result<OutboundAnswer, OutboundError> {
    outbound(vec![]).send(OutboundRequest::get(url), Reach::Anywhere).await
}

#[tokio::test]
async fn a_form_and_a_document_arrive_with_their_headers() {
    let server = Server::start(answer("200 OK", "X-Own: yes\r\n", "thanks"), None).await;
    let outbound = outbound(vec![]);
    let url = server.url("http://127.0.0.1:PORT/logout?a=b%20c#part");
    let form = OutboundRequest::post_form(url.clone(), &[("logout_token", "a.b+c")]);
    let got = outbound.send(form, Reach::Anywhere).await.unwrap();
    assert_eq!((got.status, &got.body[..]), (StatusCode::OK, &b"thanks"[..]));
    assert_eq!(got.headers["x-own"], "yes");
    let json = OutboundRequest::post_json(url, &serde_json::json!({ "a": 1 }))
        .with_header(header::ACCEPT, HeaderValue::from_static("application/json"));
    outbound.send(json, Reach::Anywhere).await.unwrap();
    let received = server.received.lock().await;
    let port = server.port;
    assert!(received[0].starts_with("POST /logout?a=b%20c HTTP/1.1\r\n"), "{}", received[0]);
    for part in [
        "content-type: application/x-www-form-urlencoded\r\n".to_owned(),
        format!("host: 127.0.0.1:{port}\r\n"),
        "user-agent: symbolon/test\r\n".to_owned(),
        "content-length: 20\r\n".to_owned(),
        "\r\n\r\nlogout_token=a.b%2Bc".to_owned(),
    ] {
        assert!(received[0].contains(&part), "{part} in {}", received[0]);
    }
    assert!(received[1].contains("accept: application/json\r\n") && received[1].ends_with("{\"a\":1}"));
}

#[tokio::test]
async fn nothing_reaches_a_private_address_however_it_is_written() {
    let server = Server::start(answer("200 OK", "", ""), None).await;
    let metadata = IpAddr::from([169, 254, 169, 254]);
    let outbound = outbound(vec![
        ("localhost", vec![HERE]),
        ("rebound.example", vec![HERE]),
        ("six.example", vec!["::1".parse().unwrap(), "fd00::1".parse().unwrap()]),
        ("mapped.example", vec!["::ffff:127.0.0.1".parse().unwrap()]),
        ("cloud.example", vec![metadata]),
    ]);
    for host in [
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f.1",
        "0177.0.0.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]",
        "[64:ff9b::7f00:1]",
        "localhost",
        "LOCALHOST",
        "rebound.example",
        "six.example",
        "mapped.example",
        "cloud.example",
        "１２７.0.0.1",
    ] {
        let url = server.url(&format!("https://{host}:PORT/"));
        let refused = outbound.send(OutboundRequest::get(url), Reach::Public).await.unwrap_err();
        assert!(matches!(refused, OutboundError::Forbidden { .. }), "{host}: {refused}");
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn other_urls_are_refused_before_anything_is_looked_up() {
    let outbound = outbound(vec![]);
    for (url, reach) in [
        ("http://op.example/", Reach::Public),
        ("ftp://op.example/", Reach::Anywhere),
        ("file:///etc/passwd", Reach::Anywhere),
        ("https://user@op.example/", Reach::Anywhere),
        ("https://:secret@op.example/", Reach::Public),
    ] {
        let request = OutboundRequest::get(Url::parse(url).unwrap());
        let refused = outbound.send(request, reach).await.unwrap_err();
        assert!(matches!(refused, OutboundError::Url(_)), "{url}: {refused}");
    }
    let unknown = OutboundRequest::get(Url::parse("https://nowhere.example/").unwrap());
    assert_eq!(outbound.send(unknown, Reach::Public).await.unwrap_err().word(), "unknown_host");
}

#[tokio::test]
async fn only_public_addresses_of_a_name_are_tried() {
    let server = Server::start(answer("200 OK", "", ""), None).await;
    // RFC 5737 addresses are not public either, so a public one that answers nobody is named.
    let outbound = outbound(vec![("both.example", vec![HERE, IpAddr::from([192, 31, 196, 1])])]);
    let request =
        OutboundRequest::get(server.url("https://both.example:PORT/")).within(Duration::from_millis(200));
    let refused = outbound.send(request, Reach::Public).await.unwrap_err();
    assert!(matches!(refused, OutboundError::Unreachable(_) | OutboundError::TimedOut(_)), "{refused}");
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

/// DNS rebinding: a name that is public when it is checked, and private a moment later. It is looked up once for both.
#[tokio::test]
async fn a_name_is_connected_to_as_it_was_checked() {
    let server = Server::start(answer("200 OK", "", "secret"), None).await;
    let public = IpAddr::from([192, 31, 196, 1]);
    let looked_up = Arc::new(AtomicUsize::new(0));
    let outbound = Outbound::of_changing_names(vec![public, HERE], Arc::clone(&looked_up));
    let request =
        OutboundRequest::get(server.url("https://rebound.example:PORT/")).within(Duration::from_millis(200));
    let refused = outbound.send(request.clone(), Reach::Public).await.unwrap_err();
    assert!(matches!(refused, OutboundError::Unreachable(_) | OutboundError::TimedOut(_)), "{refused}");
    assert_eq!((looked_up.load(Ordering::SeqCst), server.connections.load(Ordering::SeqCst)), (1, 0));
    // The next request checks anew.
    let refused = outbound.send(request, Reach::Public).await.unwrap_err();
    assert!(matches!(refused, OutboundError::Forbidden { .. }), "{refused}");
    assert_eq!((looked_up.load(Ordering::SeqCst), server.connections.load(Ordering::SeqCst)), (2, 0));
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    let inner = Server::start(answer("200 OK", "", "secret"), None).await;
    let location = format!("Location: http://127.0.0.1:{}/\r\n", inner.port);
    let server = Server::start(answer("302 Found", &location, ""), None).await;
    let got = get(server.url("http://127.0.0.1:PORT/")).await.unwrap();
    assert_eq!(got.status, StatusCode::FOUND);
    assert_eq!(inner.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn time_and_size_are_bounded() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = Url::parse(&format!("http://{}/", silent.local_addr().unwrap())).unwrap();
    let request = OutboundRequest::get(url).within(Duration::from_millis(100));
    let refused = outbound(vec![]).send(request, Reach::Anywhere).await.unwrap_err();
    assert_eq!(refused.word(), "timed_out");
    let long = "x".repeat(1_001);
    // With its length, and without: then it ends with the connection.
    for bytes in [answer("200 OK", "", &long), format!("HTTP/1.1 200 OK\r\n\r\n{long}").into_bytes()] {
        let server = Server::start(bytes, None).await;
        let request = OutboundRequest::get(server.url("http://127.0.0.1:PORT/"));
        let outbound = outbound(vec![]);
        let refused = outbound.send(request.clone().at_most(1_000), Reach::Anywhere).await.unwrap_err();
        assert!(matches!(refused, OutboundError::TooLong(StatusCode::OK)), "{refused}");
        assert_eq!(outbound.send(request.at_most(1_001), Reach::Anywhere).await.unwrap().body.len(), 1_001);
    }
    let closed = Server::start(Vec::new(), None).await;
    assert_eq!(get(closed.url("http://127.0.0.1:PORT/")).await.unwrap_err().word(), "unreachable");
}

#[tokio::test]
async fn a_certificate_is_for_the_name_and_from_somebody_trusted() {
    let signed = rcgen::generate_simple_self_signed(["op.example".to_owned()]).unwrap();
    let certificate: CertificateDer<'static> = signed.cert.der().clone();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(signed.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)
        .unwrap();
    let server =
        Server::start(answer("204 No Content", "", ""), Some(TlsAcceptor::from(Arc::new(config)))).await;
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let names = || vec![("op.example", vec![HERE]), ("other.example", vec![HERE])];
    let trusting = Outbound::of_test(roots, names());
    let send = async |outbound: &Outbound, host: &str| {
        let url = server.url(&format!("https://{host}:PORT/"));
        outbound.send(OutboundRequest::get(url), Reach::Anywhere).await
    };
    assert_eq!(send(&trusting, "op.example").await.unwrap().status, StatusCode::NO_CONTENT);
    assert_eq!(send(&trusting, "op.example.").await.err().map(|error| error.word()), Some("unknown_host"));
    assert_eq!(send(&trusting, "other.example").await.unwrap_err().word(), "unreachable");
    let distrusting = Outbound::of_test(RootCertStore::empty(), names());
    assert_eq!(send(&distrusting, "op.example").await.unwrap_err().word(), "unreachable");
}
