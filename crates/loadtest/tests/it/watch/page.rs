//! The page: what a browser may do with it, who may ask for it, and how its stream goes and ends.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use symbolon_crypto::digest::sha256;
use symbolon_loadtest::watch::{WatchOptions, Watching};

use super::{watched, watched_day};

fn live() -> (Watching, SocketAddr) {
    let live = Some("127.0.0.1:0".parse().unwrap());
    let watching = Watching::start(WatchOptions { live, ..WatchOptions::default() }).unwrap().unwrap();
    let address = watching.address().unwrap();
    (watching, address)
}

/// Asks for something and does not read the answer.
fn ask(address: SocketAddr, path: &str, host: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    stream
}

/// Reads until the server ends the connection.
fn read(mut stream: TcpStream) -> String {
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    String::from_utf8(answer).unwrap()
}

/// Reads until this came.
fn read_until(stream: &mut TcpStream, wanted: &str) -> String {
    let (mut answer, mut piece) = (Vec::new(), [0; 4096]);
    while !String::from_utf8_lossy(&answer).contains(wanted) {
        let read = stream.read(&mut piece).unwrap();
        assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..read]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    text.split_once(from)
        .and_then(|(_, rest)| rest.split_once(to))
        .unwrap_or_else(|| panic!("{from}: {text}"))
        .0
}

#[test]
fn a_browser_runs_the_pages_own_script_and_nothing_else() {
    let (watching, address) = live();
    let answer = read(ask(address, "/", &address.to_string()));
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let digest = |text: &str| format!("'sha256-{}'", STANDARD.encode(sha256(&[text.as_bytes()])));
    let script = digest(between(page, "<script>", "</script>"));
    let style = digest(between(page, "<style>", "</style>"));
    let policy = format!("default-src 'none'; script-src {script}; style-src {style}; connect-src 'self'");
    assert!(head.contains(&policy), "{head}");
    assert!(!page.contains("src=") && !page.contains("http://") && !page.contains("style=\""), "{page}");
    assert!(page.contains("<noscript>") && page.contains("Reload it"), "{page}");
    watching.end(None, "");
}

#[test]
fn a_host_that_is_not_its_own_is_refused() {
    let (watching, address) = live();
    for path in ["/", "/events"] {
        for host in ["evil.example", &format!("evil.example:{}", address.port()), "192.0.2.1"] {
            let answer = read(ask(address, path, host));
            assert!(answer.starts_with("HTTP/1.1 421") && !answer.contains("<section"), "{host}: {answer}");
        }
    }
    let answer = read(ask(address, "/", "localhost"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    watching.end(None, "");
}

#[test]
fn viewers_see_the_course_and_the_end_and_who_reads_nothing_keeps_nobody() {
    let (watching, address) = live();
    let asks_only: Vec<_> = (0..3).map(|_| ask(address, "/events", "localhost")).collect();
    let viewers: Vec<_> = (0..2)
        .map(|_| {
            let stream = ask(address, "/events", "localhost");
            std::thread::spawn(move || read(stream))
        })
        .collect();
    let (results, _) = watched(watching);
    for viewer in viewers {
        let stream = viewer.join().unwrap();
        assert!(stream.contains("content-type: text/event-stream"), "{stream}");
        let (course, end) = stream.split_once("event: end").unwrap();
        assert!(course.contains("event: course"), "{course}");
        assert!(end.contains("class=\"verdict failed\""), "{end}");
        assert!(end.contains("The report is &lt;here&gt;."), "{end}");
        for run in &results.runs {
            assert!(end.contains(&run.name), "{end}");
        }
    }
    drop(asks_only);
}

#[test]
fn a_viewer_who_comes_in_the_middle_gets_the_newest() {
    let (watching, address) = live();
    let coming = std::thread::spawn(move || {
        let mut first = ask(address, "/events", "localhost");
        read_until(&mut first, "Course of the run");
        // The page itself has the course too, for who runs no script.
        let page = read(ask(address, "/", "localhost"));
        assert!(page.contains("<svg") || page.contains("Runs that are over"), "{page}");
        let mut second = ask(address, "/events", "localhost");
        read_until(&mut second, "event: ")
    });
    watched(watching);
    assert!(coming.join().unwrap().contains("<section id=\"state\">"));
}

#[test]
fn of_a_day_each_scenario_is_shown() {
    let (watching, address) = live();
    let stream = ask(address, "/events", "localhost");
    let viewer = std::thread::spawn(move || read(stream));
    let run = watched_day(&watching);
    watching.end(None, "");
    let stream = viewer.join().unwrap();
    // The last that was told while it went on.
    let (course, _) = stream.rsplit_once("Scenarios of the day").unwrap();
    let table = &stream[course.len()..];
    for kind in &run.kinds {
        assert!(between(table, "<tbody>", "</tbody>").contains(&kind.name), "{}: {table}", kind.name);
    }
    assert_eq!(run.kinds.len(), 3);
    assert!(course.contains("plateau") && course.contains("warm-up"), "{course}");
    // The course has what was asked for beside what was answered.
    assert!(course.contains("dashed: what was asked for"), "{course}");
}

#[test]
fn a_page_that_cannot_be_served_is_told_before_the_load() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let live = Some(taken.local_addr().unwrap().to_string().parse().unwrap());
    let error = Watching::start(WatchOptions { live, ..WatchOptions::default() }).err().unwrap();
    assert!(error.to_string().contains("cannot listen on 127.0.0.1"), "{error}");
}
