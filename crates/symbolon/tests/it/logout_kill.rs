//! Back-Channel Logout: a session's end is told to an application that was down, though the provider was killed meanwhile.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use symbolon_store_cluster::engines;
use symbolon_testkit::decode_jwt;

use crate::place::Place;

/// Users whose sessions end. One more keeps theirs.
const ENDED: usize = 6;

/// Looks every tenth of a second. What a process had taken from the queue when it was killed comes again after two minutes.
fn wait_for(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..1_800 {
        if holds() {
            return;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("in vain: {what}");
}

/// Listens, and keeps the `sid` of each logout token.
fn listen(address: SocketAddr) -> Arc<Mutex<Vec<String>>> {
    let listener = TcpListener::bind(address).unwrap();
    let told = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&told);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let sid = take(stream.unwrap());
            kept.lock().unwrap().push(sid);
        }
    });
    told
}

/// Answers one call; its `sid`.
fn take(mut stream: TcpStream) -> String {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.strip_prefix("content-length: ") {
            length = value.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body = String::from_utf8(body).unwrap();
    let claims = decode_jwt(body.strip_prefix("logout_token=").unwrap()).1;
    write!(stream, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
    claims["sid"].as_str().unwrap().to_owned()
}

/// Calls the admin API.
fn call(place: &Place, method: &str, path: &str, body: &Value) -> Value {
    let text = if body.is_null() { String::new() } else { body.to_string() };
    let (status, told) = place.admin(method, path, &text);
    assert!(status < 300, "{method} {path}: {status} {told}");
    told
}

/// Signs a user in at the client; the user, and the session's `sid`.
fn sign_in(place: &Place, client: &str, number: usize) -> (String, String) {
    let user = json!({ "id": format!("user-{number}"), "email": format!("user-{number}@example.com") });
    call(place, "POST", "/users", &user);
    let user = user["id"].as_str().unwrap().to_owned();
    let session = call(place, "POST", "/test/sessions", &json!({ "user_id": user }));
    let head = format!(
        "GET /authorize?response_type=code&client_id={client}&redirect_uri=https%3A%2F%2Frp.example%2Fcallback\
         &scope=openid&nonce=n&prompt=none HTTP/1.1\r\ncookie: symbolon_session={}",
        session["session_id"].as_str().unwrap()
    );
    let answer = Place::ask(&place.listen(), &head, "");
    assert!(answer.contains("https://rp.example/callback?code="), "{answer}");
    let sessions = call(place, "GET", &format!("/users/{user}/sessions"), &Value::Null);
    (user, sessions["sessions"][0]["sid"].as_str().unwrap().to_owned())
}

/// How often an event happened in this process.
fn happened(place: &Place, event: &str) -> u64 {
    let page = Place::ask(&place.management(), "GET /metrics HTTP/1.1", "");
    let name = format!("symbolon_events_total{{event=\"{event}\"}} ");
    page.lines().find_map(|line| line.strip_prefix(&*name)?.trim().parse().ok()).unwrap_or_default()
}

fn every_end_is_told(env: &[(&str, &str)]) {
    let env = [env, &[("SYMBOLON_OUTBOUND_ALLOW_PRIVATE", "true"), ("SYMBOLON_RATE_LIMITS", "off")]].concat();
    let address = symbolon_loadtest::free_address().unwrap();
    let place = Place::new();
    let server = place.serve(&env);
    let client = json!({
        "client_name": "Application", "redirect_uris": ["https://rp.example/callback"], "skip_consent": true,
        "backchannel_logout_uri": format!("http://{address}/logout"),
    });
    let client =
        call(&place, "POST", "/clients", &client)["client"]["client_id"].as_str().unwrap().to_owned();
    let mut ended: Vec<_> = (0..=ENDED).map(|number| sign_in(&place, &client, number)).collect();
    let (_, stays) = ended.pop().unwrap();
    for (user, _) in &ended {
        call(&place, "DELETE", &format!("/users/{user}/sessions"), &Value::Null);
    }
    wait_for("a call in vain", || happened(&place, "logout.postponed") > 0);
    // SIGKILL.
    drop(server);
    let told = listen(address);
    let _server = place.serve(&env);
    wait_for("every end", || told.lock().unwrap().len() >= ENDED);
    wait_for("the notes", || happened(&place, "logout.delivered") >= ENDED as u64);
    let mut expected: Vec<String> = ended.into_iter().map(|(_, sid)| sid).collect();
    let mut told = told.lock().unwrap().clone();
    expected.sort_unstable();
    told.sort_unstable();
    assert_eq!(told, expected, "each once, and not {stays}");
}

#[test]
fn every_end_that_waited_in_a_data_directory_is_told() {
    every_end_is_told(&[]);
}

#[test]
fn every_end_that_waited_in_the_engines_is_told() {
    let engines = engines::shared();
    engines.postgres.create_database("logout_kill");
    every_end_is_told(&[
        ("SYMBOLON_STORE", "cluster"),
        ("SYMBOLON_POSTGRES_URL", &engines.postgres.url("logout_kill")),
        ("SYMBOLON_REDIS_URLS", &engines.redis.urls()),
        ("SYMBOLON_REDIS_PREFIX", "logout_kill"),
        ("SYMBOLON_MASTER_KEY", "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"),
    ]);
}
