//! Addresses that others name and the provider fetches (SSRF): each kind of them leads to no private address, follows no redirect,
//! and reads no more than it needs. How addresses are written, names that resolve to private ones, and slow answers are tried where
//! all fetches are made, in `outbound/src/tests.rs`.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};
use symbolon_crypto::algorithm::Algorithm;
use symbolon_testkit::{Answer, RelyingParty, Signing, TestServer};

use crate::login::hidden;
use crate::upstream::{add, at_login, options};

const JWT_BEARER: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
const GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";

/// A kind of address: has a server fetch something from a host, whose origin is given, and returns the answer to whoever named it.
type Fetch = fn(&TestServer, &str) -> Answer;

const KINDS: [(&str, Fetch); 8] = [
    ("keys of a client", keys_of_a_client),
    ("keys for a request object", keys_for_a_request_object),
    ("a request object", a_request_object),
    ("the document of a client", a_client_document),
    ("the document of a sector", a_sector),
    ("the document of a sector, registered by a stranger", a_sector_of_a_stranger),
    ("the metadata of a trusted issuer", a_trusted_issuer),
    ("the metadata of an identity provider", an_identity_provider),
];

fn signing() -> Signing {
    Signing::generate(Algorithm::Es256)
}

fn query(pairs: &[(&str, &str)]) -> String {
    form_urlencoded::Serializer::new(String::new()).extend_pairs(pairs).finish()
}

/// A client that was saved; else why it was not.
fn registered(server: &TestServer, more: Value) -> Result<RelyingParty, Answer> {
    let mut metadata = json!({ "client_name": "x", "redirect_uris": ["https://rp.example/callback"] });
    metadata.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let saved = server.admin("POST", "/clients", Some(metadata));
    if saved.status != 201 {
        return Err(saved);
    }
    let client = saved.json()["client"].clone();
    let id = client["client_id"].as_str().unwrap();
    Ok(RelyingParty::known(server, id, client["client_secret"].as_str(), "https://rp.example/callback"))
}

fn keys_of_a_client(server: &TestServer, host: &str) -> Answer {
    let by_keys = json!({
        "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": format!("{host}/x"),
        "grant_types": ["client_credentials"], "redirect_uris": [],
    });
    let rp = match registered(server, by_keys) {
        Ok(rp) => rp,
        Err(refused) => return refused,
    };
    let assertion = signing().assertion(&rp.client_id, &server.issuer, "jti", server.now().seconds());
    let form = [
        ("grant_type", "client_credentials"),
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", &*assertion),
    ];
    server.browser().post("/token", &form)
}

fn keys_for_a_request_object(server: &TestServer, host: &str) -> Answer {
    let rp = match registered(server, json!({ "jwks_uri": format!("{host}/x") })) {
        Ok(rp) => rp,
        Err(refused) => return refused,
    };
    let claims = json!({
        "iss": rp.client_id, "aud": server.issuer, "response_type": "code", "scope": "openid", "nonce": "n",
        "redirect_uri": rp.redirect_uri,
    });
    let object = signing().jwt("JWT", &claims);
    let asked = [("client_id", &*rp.client_id), ("redirect_uri", &*rp.redirect_uri), ("request", &*object)];
    server.browser().get(&format!("/authorize?{}", query(&asked)))
}

fn a_request_object(server: &TestServer, host: &str) -> Answer {
    let uri = format!("{host}/x");
    let rp = match registered(server, json!({ "jwks": signing().jwks(), "request_uris": [uri] })) {
        Ok(rp) => rp,
        Err(refused) => return refused,
    };
    let asked = [("client_id", &*rp.client_id), ("redirect_uri", &*rp.redirect_uri), ("request_uri", &*uri)];
    server.browser().get(&format!("/authorize?{}", query(&asked)))
}

fn a_client_document(server: &TestServer, host: &str) -> Answer {
    let (_, allowed) = host.split_once("://").unwrap();
    let settings = json!({ "client_id_metadata_documents": [allowed] });
    let saved = server.admin("PATCH", "/settings", Some(settings));
    if saved.status != 200 {
        return saved;
    }
    let asked = [("client_id", &*format!("{host}/x")), ("redirect_uri", &*format!("{host}/callback"))];
    server.browser().get(&format!("/authorize?{}&response_type=code", query(&asked)))
}

fn sector(host: &str) -> Value {
    json!({
        "client_name": "x", "redirect_uris": ["https://a.example/cb", "https://b.example/cb"],
        "subject_type": "pairwise", "sector_identifier_uri": format!("{host}/x"),
    })
}

fn a_sector(server: &TestServer, host: &str) -> Answer {
    server.admin("POST", "/clients", Some(sector(host)))
}

fn a_sector_of_a_stranger(server: &TestServer, host: &str) -> Answer {
    let open = server.admin("PATCH", "/settings", Some(json!({ "client_registration": "open" })));
    assert_eq!(open.status, 200, "{open:?}");
    let headers = [("content-type", "application/json")];
    server.browser().send("POST", "/connect/register", &headers, sector(host).to_string().as_bytes())
}

fn a_trusted_issuer(server: &TestServer, host: &str) -> Answer {
    let settings = json!({ "trusted_issuers": [{ "issuer": host, "for": ["client_authentication"] }] });
    let saved = server.admin("PATCH", "/settings", Some(settings));
    if saved.status != 200 {
        return saved;
    }
    let workload = json!({
        "token_endpoint_auth_method": "private_key_jwt", "grant_types": ["client_credentials", GRANT],
        "assertion_issuers": [{ "issuer": host, "sub": "job" }],
    });
    let rp = match registered(server, workload) {
        Ok(rp) => rp,
        Err(refused) => return refused,
    };
    let now = server.now().seconds();
    let claims = json!({
        "iss": host, "sub": "job", "aud": server.issuer, "iat": now, "exp": now + 300, "jti": "jti",
    });
    let assertion = signing().jwt("JWT", &claims);
    let form = [
        ("grant_type", "client_credentials"),
        ("client_id", &*rp.client_id),
        ("client_assertion_type", JWT_BEARER),
        ("client_assertion", &*assertion),
    ];
    server.browser().post("/token", &form)
}

fn an_identity_provider(server: &TestServer, host: &str) -> Answer {
    add(server, "acme", json!({ "issuer": host }));
    let rp = RelyingParty::register(server, json!({}));
    let browser = server.browser();
    let (transaction, csrf) = hidden(&at_login(&browser, &rp.authorization_request()));
    let form = [("transaction", &*transaction), ("csrf_token", &*csrf), ("provider", "acme")];
    browser.post("/login/provider", &form)
}

/// Refused, by an error of its own and not as a fault of the server.
fn assert_refused(name: &str, answer: &Answer) {
    let is_error = (400..=502).contains(&answer.status) && answer.status != 500;
    let is_redirected = || answer.redirected("error").is_some() && answer.redirected("code").is_none();
    assert!(is_error || (answer.status / 100 == 3 && is_redirected()), "{name}: {answer:?}");
}

/// An address where nobody may come.
struct Forbidden(TcpListener);

impl Forbidden {
    fn new(address: &str) -> Self {
        let listener = TcpListener::bind(address).expect("a port");
        listener.set_nonblocking(true).expect("a listener");
        Self(listener)
    }

    fn port(&self) -> u16 {
        self.0.local_addr().expect("an address").port()
    }

    /// Whether somebody has connected.
    fn is_reached(&self) -> bool {
        self.0.accept().is_ok()
    }
}

/// A server that answers every request by `answer`; its origin, and how many requests came.
fn listening(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> (String, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let origin = format!("http://{}", listener.local_addr().expect("an address"));
    let (count, answer) = (Arc::new(AtomicU64::new(0)), Arc::new(answer));
    let of_thread = Arc::clone(&count);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (count, answer) = (Arc::clone(&of_thread), Arc::clone(&answer));
            std::thread::spawn(move || {
                let mut reader = BufReader::new(stream.try_clone().expect("a stream"));
                let mut line = String::new();
                while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                    line.clear();
                }
                count.fetch_add(1, Ordering::Relaxed);
                answer(stream);
            });
        }
    });
    (origin, count)
}

#[test]
fn nothing_is_fetched_from_a_private_address() {
    for (name, fetch) in KINDS {
        for (listens, host) in
            [("127.0.0.1:0", "127.0.0.1"), ("127.0.0.1:0", "localhost"), ("[::1]:0", "[::1]")]
        {
            let forbidden = Forbidden::new(listens);
            let server = TestServer::start();
            assert_refused(name, &fetch(&server, &format!("https://{host}:{}", forbidden.port())));
            assert!(!forbidden.is_reached(), "{name} at {host}");
        }
    }
}

#[test]
fn no_redirect_is_followed() {
    for (name, fetch) in KINDS {
        let forbidden = Forbidden::new("127.0.0.1:0");
        let to = format!("http://127.0.0.1:{}/x", forbidden.port());
        let (origin, asked) = listening(move |mut stream| {
            let head = format!(
                "HTTP/1.1 302 Found\r\nlocation: {to}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            );
            drop(stream.write_all(head.as_bytes()));
        });
        let server = TestServer::start_with(options().one_node());
        assert_refused(name, &fetch(&server, &origin));
        assert!(asked.load(Ordering::Relaxed) > 0, "{name} was not fetched at all");
        assert!(!forbidden.is_reached(), "{name}");
    }
}

/// No more than fits the buffers of both sockets leaves the other side before it is cut off.
#[test]
fn endless_answers_are_cut_off() {
    const MOST: u64 = 24 << 20;
    const ENDLESS: u64 = 256 << 20;
    for (name, fetch) in KINDS {
        let sent = Arc::new(AtomicU64::new(0));
        let counted = Arc::clone(&sent);
        let (origin, asked) = listening(move |mut stream| {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n{\"x\":\"";
            let piece = [b'x'; 64 << 10];
            if stream.write_all(head.as_bytes()).is_err() {
                return;
            }
            while counted.load(Ordering::Relaxed) < ENDLESS && stream.write_all(&piece).is_ok() {
                counted.fetch_add(piece.len() as u64, Ordering::Relaxed);
            }
        });
        let server = TestServer::start_with(options().one_node());
        assert_refused(name, &fetch(&server, &origin));
        assert!(asked.load(Ordering::Relaxed) > 0, "{name} was not fetched at all");
        assert!(sent.load(Ordering::Relaxed) < MOST, "{name}: {} bytes", sent.load(Ordering::Relaxed));
    }
}
