//! What a file may say, and what is told where it says something wrong.

use std::time::Duration;

use super::*;
use crate::executor::{Ask, Mixture, Stream};

const EXAMPLE: &str = r#"
    title = "mine"
    duration = "24s"
    day = "24h"
    begins = "06:00"
    think_times = "compressed"
    peak = 40
    curve = [{ at = "06:00", share = 0.5 }, { at = "18:00", share = 1.0 }]
    thresholds = ["p99_ms<500"]
    each_scenario = ["p99_ms<100", "failure_share<=0.01"]
    connections = 50
    [mix]
    silent = 60
    userinfo = 30
    [[journey]]
    name = "visit"
    weight = 10
    steps = [{ ask = "login" }, { think = { from = "1h", to = "2h" }, ask = "refresh" }]
    [[journey]]
    name = "look"
    rate = 4
    steps = [{ ask = "discovery" }]
    [[storm]]
    at = "08:00"
    within = "30m"
    requests = 7
    [[limit]]
    scenario = "login"
    thresholds = ["p99_ms<800"]
"#;

fn mixture(day: &Day) -> Mixture {
    let plan = day.plan().unwrap();
    let Traffic::Mixture(mixture) = plan.traffic else { panic!("a day is a mixture") };
    mixture
}

#[test]
fn a_file_says_what_arrives_when() {
    let day = Day::parse(EXAMPLE).unwrap();
    let mixture = mixture(&day);
    assert_eq!(mixture.duration, Duration::from_secs(24));
    let [Stream::Dealt { schedule, shares }, Stream::Dealt { shares: look, .. }, storm] =
        &mixture.streams[..]
    else {
        panic!("the mix, a journey with a rate, a storm: {:?}", mixture.streams);
    };
    // Silent, userinfo and login are numbered in the order of all scenarios.
    assert_eq!(shares, &[(Ask::Request(0), 6), (Ask::Request(1), 3), (Ask::Journey(0), 1)]);
    assert_eq!(look, &[(Ask::Journey(1), 1)]);
    let stages: Vec<_> = schedule.stages().map(|stage| (stage.from, stage.to)).collect();
    assert_eq!(stages, [(20.0, 40.0), (40.0, 20.0)]);
    let &Stream::Even { begins, within, count, ask } = storm else { panic!("{storm:?}") };
    assert_eq!((begins, count, ask), (Duration::from_secs(2), 7, Ask::Request(2)));
    assert_eq!(within, Duration::from_millis(500));
    let plan = day.plan().unwrap();
    assert_eq!((plan.connections, plan.thresholds.len(), plan.work.name()), (50, 3, "day mine"));
}

#[test]
fn it_is_run_otherwise_where_somebody_says_so() {
    let changes = Changes {
        duration: Some(Duration::from_secs(12)),
        scale: Some(2.0),
        mix: Some([(Scenario::Exchange, 1)].into()),
        threads: Some(2),
        abort_on: vec!["failure_share>0.5 for 10s".parse().unwrap()],
    };
    let day = Day::parse(EXAMPLE).unwrap().changed(changes).unwrap();
    let mixture = mixture(&day);
    let Stream::Dealt { schedule, shares } = &mixture.streams[0] else { panic!("{:?}", mixture.streams) };
    assert_eq!((mixture.duration.as_secs(), schedule.rate(), shares.len()), (12, 80.0, 2));
    let Stream::Even { begins, count, .. } = mixture.streams[2] else { panic!("{:?}", mixture.streams) };
    // Twice as much of it in half the time.
    assert_eq!((begins, count), (Duration::from_secs(1), 8));
    let plan = day.plan().unwrap();
    assert_eq!((plan.threads, plan.abort_on.len()), (2, 1));
    let of_scale = |scale: f64| Changes { scale: Some(scale), ..Changes::default() };
    assert!(Day::parse(EXAMPLE).unwrap().changed(of_scale(0.0)).is_err());
}

#[test]
fn stages_stand_instead_of_a_curve() {
    let text = r#"
        title = "x"
        stages = [{ to = 10, duration = "2s" }, { to = 10, duration = "3s" }]
        mix = { silent = 1 }
    "#;
    let mixture = mixture(&Day::parse(text).unwrap());
    assert_eq!((mixture.duration.as_secs(), mixture.rate()), (5, 8.0));
    let told = Day::parse(&format!("peak = 5\n{text}")).unwrap_err().to_string();
    assert!(told.contains("peak does not go together with stages"), "{told}");
}

#[test]
fn what_is_wrong_is_told_with_its_key_its_value_and_its_mend() {
    for (from, to, told) in [
        ("title = \"mine\"", "title = \" \"", "title"),
        ("duration = \"24s\"", "", "duration is missing: write"),
        ("duration = \"24s\"", "duration = \"soon\"", "line 3"),
        ("begins = \"06:00\"", "begins = \"6\"", "\"6\" is no time of day: write \"09:30\""),
        ("think_times = \"compressed\"", "", "think_times is missing"),
        ("think_times = \"compressed\"", "think_times = \"short\"", "`real` or `compressed`"),
        ("peak = 40", "peak = 0", "peak = 0: write"),
        ("peak = 40", "", "peak is missing: write"),
        ("share = 0.5", "share = 5", "the share 5 at 06:00: write a share of the peak"),
        ("silent = 60", "silent = 0", "mix: silent = 0: write a weight from 1"),
        ("silent = 60", "nothing = 60", "unknown variant `nothing`"),
        ("silent = 60", "silent = 60\ncode = 1\ncode = 2", "duplicate key"),
        ("weight = 10", "weight = 10\nrate = 3", "journey \"visit\": write a weight"),
        ("rate = 4", "", "journey \"look\": write a weight"),
        ("rate = 4", "rate = -4", "journey \"look\": rate = -4"),
        ("name = \"look\"", "name = \"visit\"", "journey \"visit\": write a name"),
        ("[{ ask = \"discovery\" }]", "[]", "journey \"look\": it has no steps"),
        ("{ ask = \"discovery\" }", "{ ask = \"refresh\" }", "step 1: refresh needs a login or code step"),
        (
            "{ ask = \"login\" }",
            "{ think = { fixed = \"1s\" }, ask = \"login\" }",
            "step 1 (login): nobody thinks",
        ),
        (
            "from = \"1h\", to = \"2h\"",
            "from = \"3h\", to = \"2h\"",
            "step 2 (refresh): think: from 10800s is more",
        ),
        ("from = \"1h\", to = \"2h\"", "from = \"3h\"", "think: write { fixed"),
        ("requests = 7", "requests = 0", "storm at 08:00: requests = 0"),
        (
            "requests = 7",
            "requests = 7\njourney = \"walk\"",
            "storm at 08:00: journey = \"walk\": no [[journey]]",
        ),
        ("within = \"30m\"", "within = \"23h\"", "storm at 08:00: within = \"23h\""),
        ("scenario = \"login\"", "scenario = \"exchange\"", "limit of exchange: the day never asks for it"),
        (
            "p99_ms<800",
            "server_cpu_us_per_request<800",
            "limit of login: server_cpu_us_per_request is known of the run",
        ),
        ("p99_ms<800", "speed<800", "p99_ms"),
        ("connections = 50", "connections = 0", "needs a connection"),
        ("connections = 50", "connection = 50", "unknown field `connection`"),
    ] {
        assert!(EXAMPLE.contains(from), "{from}");
        let error = Day::parse(&EXAMPLE.replacen(from, to, 1)).err().map(|error| error.to_string());
        assert!(error.as_ref().is_some_and(|error| error.contains(told)), "{from} → {to}: {error:?}");
    }
    let long = "title = \"x\"\nduration = \"20m\"\npeak = 1\nmix = { code = 1 }";
    assert!(Day::parse(long).unwrap_err().to_string().contains("live ten minutes"));
    let nothing = "title = \"x\"\nduration = \"20m\"";
    assert!(Day::parse(nothing).unwrap_err().to_string().contains("nothing is asked"));
}

#[test]
fn the_day_of_password_logins_can_be_run() {
    let day = Day::parse(include_str!("../../../../loadtest/days/password-storm.toml")).unwrap();
    let mixture = mixture(&day);
    let [Stream::Dealt { .. }, Stream::Even { begins, within, count, .. }] = &mixture.streams[..] else {
        panic!("silent requests and a storm: {:?}", mixture.streams);
    };
    assert_eq!((begins.as_secs(), within.as_secs(), *count), (8, 25, 500));
}
