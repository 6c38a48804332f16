//! Logs that are read.

use super::*;

fn read(text: &str, speed: f64) -> Result<Replay, String> {
    let file = tempfile::Builder::new().prefix("access").suffix(".log").tempfile().unwrap();
    std::fs::write(file.path(), text).unwrap();
    Replay::read(file.path(), &ReplayOptions { speed, token: None }).map_err(|error| error.to_string())
}

/// When each request is sent, in microseconds, and as what.
fn sent(replay: &Replay) -> Vec<(u128, &'static str)> {
    let arrivals = (0..).map_while(|index| replay.arrivals.get(index));
    arrivals.map(|(at, what)| (at.as_micros(), replay.requests[what as usize].name())).collect()
}

fn logged(timestamp: &str, endpoint: &str, took: u64) -> String {
    let line = serde_json::json!({
        "timestamp": timestamp, "level": "INFO", "target": "symbolon::request", "message": "request",
        "method": "GET", "endpoint": endpoint, "outcome": "ok", "status": 200, "duration_us": took,
    });
    format!("{line}\n")
}

#[test]
fn a_request_of_our_log_came_before_its_line_was_made() {
    let text = logged("2026-11-28T00:00:01.000100Z", "userinfo", 100)
        + "{\"timestamp\":\"2026-11-28T00:00:01Z\",\"target\":\"symbolon\",\"message\":\"ready\"}\n"
        + &logged("2026-11-28T00:00:03.5Z", "jwks", 0)
        // Slow, and in the file behind one that came later.
        + &logged("2026-11-28T00:00:03.6Z", "authorize", 2_100_000)
        + &logged("2026-11-28T00:00:03.7Z", "consent", 1)
        + "{ damaged\n\n";
    let replay = read(&text, 1.0).unwrap();
    assert_eq!(sent(&replay), [(0, "userinfo"), (500_000, "silent"), (2_500_000, "key set")]);
    let summary = replay.summary();
    assert_eq!((summary.lines, summary.unreadable, summary.not_requests, summary.spread), (6, 1, 1, false));
    assert_eq!(told(&summary.left_out), "GET consent 1");
    let words = summary.in_words();
    for told in ["3 of 6 lines", "silent 1", "nothing is sent for GET consent 1", "1 lines cannot be read"] {
        assert!(words.contains(told), "{words}");
    }
    assert_eq!(sent(&read(&text, 4.0).unwrap())[2].0, 625_000);
}

#[test]
fn whole_seconds_are_no_bursts() {
    let line = |second: u32, path: &str| {
        format!(
            "10.0.0.1 - - [28/Nov/2026:00:00:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 12 \"-\" \"x\"\n"
        )
    };
    let text = line(7, "/userinfo") + &line(5, "/a") + &line(5, "/a") + &line(5, "/b") + &line(5, "/a");
    let replay = read(&text, 1.0).unwrap();
    let at: Vec<_> = sent(&replay).into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, [0, 250_000, 500_000, 750_000, 2_000_000]);
    assert_eq!((replay.requests.len(), replay.summary().spread), (3, true));
    assert_eq!(told(&replay.summary().sent_as), "GET 4, userinfo 1");
    assert!(replay.summary().in_words().contains("whole seconds"));
}

#[test]
fn what_is_left_out_is_told_in_bounds() {
    let mut text = logged("2026-11-28T00:00:00Z", "userinfo", 0);
    for number in 0..30 {
        text += &logged("2026-11-28T00:00:00Z", &format!("unknown-{number}"), 0);
    }
    let replay = read(&text, 1.0).unwrap();
    let left_out = &replay.summary().left_out;
    assert_eq!((left_out.len(), left_out["others"]), (MOST_LEFT_OUT + 1, 18));
}

#[test]
fn what_is_no_log_is_said() {
    for (text, why) in [
        ("hello\nworld\n", "none of its 2 lines is a request that can be sent (2 unreadable"),
        ("", "none of its 0 lines"),
        (&*logged("2026-11-28T00:00:00Z", "consent", 0), "nothing is sent for GET consent 1"),
    ] {
        let told = read(text, 1.0).err().unwrap();
        assert!(told.contains(why) && told.contains("access"), "{told}");
    }
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(read("", speed).err().unwrap().contains("above 0"), "{speed}");
    }
    let options = ReplayOptions { speed: 1.0, token: Some(Scenario::Userinfo) };
    let told = Replay::read(Path::new("x"), &options).err().unwrap().to_string();
    assert!(told.contains("userinfo is no grant"), "{told}");
}
