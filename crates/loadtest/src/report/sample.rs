//! Made-up results for tests.

use crate::results::{
    Aborted, AgentShare, Bottleneck, CacheFigures, Capacity, ConnectionUse, Day, Example, Journey, Kind,
    Latency, Leak, Machine, Percentiles, Provider, Replayed, Results, Run, Second, ServerFigures,
    ShardFigures, SingleRise, Soak, Stage, StoreFigures, Storm, Threshold, VERSION, Window, WorstSecond,
};
use crate::trend::Growth;

/// One run of round figures.
pub(crate) fn small() -> Results {
    results("suite", vec![run()])
}

/// A suite: silent authentication up to a rate that fails, UserInfo, and token exchange with wrong answers.
pub(crate) fn full() -> Results {
    let mut runs = Vec::new();
    runs.extend((1..=9).map(|step| loaded("silent", f64::from(step) * 500.0, Some(64), 4500.0)));
    runs.extend([4000.0, 4500.0].map(|rate| loaded("silent", rate, Some(128), 5200.0)));
    runs.extend([1000.0, 2000.0, 2500.0, 3000.0].map(|rate| loaded("userinfo", rate, None, 20_000.0)));
    runs.extend([2000.0, 2500.0, 3000.0].map(|rate| loaded("exchange", rate, Some(8), 3100.0)));
    for (shards, bearable) in [(1, 1450.0), (8, 2600.0), (32, 4000.0), (128, 4400.0)] {
        runs.push(loaded("code", 1400.0, Some(shards), bearable));
    }
    if let Some(last) = runs.iter_mut().rfind(|run| run.scenario == "exchange") {
        last.wrong = 7;
        last.soak = Some(soak());
        last.aborted = Some(Aborted { rule: "p99_ms>2000 for 10s".to_owned(), at: 190.0, value: 2_100.0 });
        last.wrong_kinds = [("revoked token accepted".to_owned(), 4), ("scope".to_owned(), 3)].into();
        last.examples = [("scope".to_owned(), example())].into();
        last.replay = Some(Replayed {
            file: "access.log".to_owned(),
            speed: 2.0,
            lines: 1_000,
            sent_as: [("exchange".to_owned(), 990)].into(),
            left_out: [("POST consent".to_owned(), 8)].into(),
            unreadable: 2,
            ..Replayed::default()
        });
        last.unasked_kinds = [("second_answer".to_owned(), 1)].into();
        last.refusals = Some(last.latency);
        (last.agents, last.arrivals_lost) = (agents(), 10_000);
        last.latency.at_least_from_ms = Some(20.0);
        last.timeline.extend([Second {
            at: 211,
            covers: Some(0.4),
            worst: Some(WorstSecond::default()),
            ..Second::default()
        }]);
        last.first_wrong = Some("200 {\"scope\":\"openid <b>\"}".to_owned());
    }
    runs.push(day_run());
    results("december-2025", runs)
}

/// A day whose logins broke their limit.
pub(crate) fn day() -> Results {
    results("shop", vec![day_run()])
}

fn day_run() -> Run {
    let limit = |scenario: &str, (name, limit): (&str, &str), value: f64, held: bool| Threshold {
        scenario: Some(scenario.to_owned()),
        name: name.to_owned(),
        limit: limit.to_owned(),
        value: Some(value),
        held,
    };
    let mut run = run();
    (run.name, run.scenario) = ("day shop 60/s".to_owned(), "day shop".to_owned());
    (run.executor, run.seconds, run.shards) = ("mixture".to_owned(), 20.0, None);
    run.stages = vec![Stage { from: 30.0, to: 60.0, seconds: 20.0 }];
    let kind = |name: &str, right: u64, latency: Latency| Kind {
        name: name.to_owned(),
        right,
        latency,
        ..Kind::default()
    };
    let slow = Latency { p95_ms: Some(912.0), p50_ms: Some(120.0), ..run.latency };
    run.kinds = vec![kind("login", 400, slow), Kind { missed: 3, ..kind("silent", 800, run.latency) }];
    run.thresholds.extend([
        limit("login", ("p95_ms", "< 800"), 912.0, false),
        limit("login", ("failure_share", "<= 0"), 0.0, true),
        limit("silent", ("p99_ms", "< 300"), 4.5, true),
    ]);
    for second in &mut run.timeline {
        second.offered = Some(510);
    }
    run.day = Some(Day {
        day_seconds: 86_400.0,
        begins_seconds: 7_200.0,
        storms: vec![Storm { at: 17.0, seconds: 2.0, requests: 300, of: "login".to_owned() }],
        journeys: vec![Journey { name: "purchase".to_owned(), begun: 120, finished: 100, broken: 2 }],
    });
    run
}

fn example() -> Example {
    Example {
        detail: "openid <b> instead of openid".to_owned(),
        request: "POST /token HTTP/1.1".to_owned(),
        answer: "HTTP/1.1 200 OK".to_owned(),
    }
}

/// Twelve windows of five minutes with a leak.
pub(crate) fn soak() -> Soak {
    let window = |place: u32| Window {
        at: 300.0 * f64::from(place),
        seconds: 300.0,
        answered: 150_000,
        p99_ms: Some(4.0),
        memory_mib: Some(100.0 + f64::from(place)),
        descriptors: Some(70.0),
        store_mib: [("database log".to_owned(), 1.5)].into(),
        ..Window::default()
    };
    let leak = Leak {
        quantity: "memory".to_owned(),
        unit: "MiB".to_owned(),
        growth: Growth::Steady,
        windows: 11,
        per_hour: Some(12.0),
        least_per_hour: Some(11.5),
        most_per_hour: Some(12.5),
        probability: Some(1e-7),
        first_half_per_hour: Some(12.1),
        last_half_per_hour: Some(11.9),
        rise: Some(SingleRise { at_hours: 3.0, by: 40.0 }),
        tolerance_per_hour: Some(1.0),
        limit: Some(8_192.0),
        days_to_limit: Some(27.8),
    };
    Soak { window_seconds: 300.0, settling: 1, windows: (1..=12).map(window).collect(), leaks: vec![leak] }
}

/// Two agents, of which the second was lost.
pub(super) fn agents() -> Vec<AgentShare> {
    let ended = AgentShare {
        address: "10.0.0.2:7400".to_owned(),
        clock_offset_ms: 1.25,
        clock_doubt_ms: 0.1,
        round_trip_ms: 0.2,
        began_late_ms: Some(0.06),
        cpu_seconds: Some(0.4),
        worst_lag_ms: Some(1.5),
        arrivals: 45_000,
        answered: 45_000,
        ..AgentShare::default()
    };
    let lost = AgentShare {
        address: "10.0.0.3:7400".to_owned(),
        clock_offset_ms: -0.3,
        clock_doubt_ms: 0.12,
        began_late_ms: None,
        cpu_seconds: None,
        worst_lag_ms: None,
        answered: 35_000,
        arrivals_lost: 10_000,
        lost_after_seconds: Some(60.0),
        lost_because: Some("it was silent for 5 s".to_owned()),
        ..ended.clone()
    };
    vec![ended, lost]
}

/// No figure of a page is `NaN` or `inf`.
pub(crate) fn assert_numbers(page: &str) {
    let mut words = page.split(|character: char| !character.is_ascii_alphanumeric());
    assert!(!words.any(|word| word == "NaN" || word == "inf"), "a number that is none: {page}");
}

fn results(title: &str, runs: Vec<Run>) -> Results {
    Results {
        version: VERSION,
        title: title.to_owned(),
        started: "2026-11-21T22:00:00Z".to_owned(),
        machine: Machine {
            processor: "EPYC".to_owned(),
            cores: 2,
            memory_mib: 8192,
            system: "Linux".to_owned(),
        },
        provider: Provider {
            issuer: "https://op.example".to_owned(),
            software: Some("symbolon 0.1.0".to_owned()),
            algorithm: Some("RS256".to_owned()),
        },
        environment: std::collections::BTreeMap::new(),
        december_2025: false,
        partial: None,
        runs,
        capacities: Vec::new(),
    }
}

fn run() -> Run {
    Run {
        name: "silent 500/s, 64 shards".to_owned(),
        scenario: "silent".to_owned(),
        executor: "ramping-arrival-rate".to_owned(),
        repeat: None,
        began: "2026-11-21T22:00:00Z".to_owned(),
        ended: "2026-11-21T22:03:30Z".to_owned(),
        sent: Some(100_000),
        rate: 500.0,
        achieved_rate: 500.0,
        seconds: 180.0,
        stages: vec![
            Stage { from: 0.0, to: 500.0, seconds: 15.0 },
            Stage { from: 500.0, to: 500.0, seconds: 180.0 },
        ],
        connections: 64,
        warm_up_seconds: 2.0,
        connection_use: Some(ConnectionUse {
            bound: 1_024,
            most_in_use: 12,
            refused: Some("it may open no more files".into()),
            lacking: true,
            ..ConnectionUse::default()
        }),
        requests: 90_000,
        latency: Latency {
            min_ms: Some(0.31),
            mean_ms: Some(0.8),
            p50_ms: Some(0.72),
            p75_ms: Some(1.0),
            p90_ms: Some(1.5),
            p95_ms: Some(2.1),
            p99_ms: Some(4.5),
            p999_ms: Some(12.3),
            max_ms: Some(58.6),
            at_least_from_ms: None,
        },
        answers: Some(Latency { p50_ms: Some(0.72), ..Latency::default() }),
        warm_up: Some(Latency { p50_ms: Some(1.1), ..Latency::default() }),
        thirds: vec![Latency { p50_ms: Some(0.72), p99_ms: Some(4.5), ..Latency::default() }; 3],
        kinds: vec![Kind { name: "valid".to_owned(), right: 90_000, ..Kind::default() }],
        replay: None,
        server_cpu_us_per_request: Some(61.0),
        generator_cpu_us_per_request: 9.5,
        generator_lag_ms: 0.2,
        shards: Some(64),
        timeline: (0..3)
            .map(|at| Second {
                at,
                answered: 500,
                errors: 0,
                p50_ms: Some(0.7),
                p99_ms: Some(4.0),
                server_cores: Some(0.31),
                offered: None,
                covers: None,
                worst: None,
            })
            .collect(),
        server: Some(server()),
        thresholds: vec![Threshold {
            scenario: None,
            name: "p95_ms".to_owned(),
            limit: "< 300".to_owned(),
            value: Some(2.1),
            held: true,
        }],
        ..Run::default()
    }
}

fn percentiles(count: u64, mean_ms: f64, p: [f64; 5]) -> Percentiles {
    let [p50_ms, p75_ms, p90_ms, p99_ms, p999_ms] = p.map(Some);
    Percentiles { count, mean_ms: Some(mean_ms), p50_ms, p75_ms, p90_ms, p99_ms, p999_ms }
}

fn server() -> ServerFigures {
    let shard = |(shard, operations): (u32, u64)| ShardFigures {
        shard,
        operations,
        errors: u64::from(shard == 3),
        wall_ms: operations as f64 * 0.02,
        queue_wait_ms: operations as f64 * 0.002,
    };
    ServerFigures {
        request_duration: percentiles(100_000, 0.4, [0.35, 0.5, 0.7, 1.9, 6.0]),
        cpu_seconds: 6.4,
        resident_mib: 84.0,
        stores: vec![StoreFigures {
            kind: "code".to_owned(),
            wall: percentiles(400, 0.02, [0.01, 0.02, 0.03, 0.09, 0.4]),
            queue_wait: percentiles(400, 0.002, [0.001, 0.002, 0.003, 0.009, 0.04]),
            shards: [50, 60, 70, 220]
                .into_iter()
                .enumerate()
                .map(|(n, operations)| shard((n as u32, operations)))
                .collect(),
        }],
        read_queries: 1_234,
        write_queries: 56,
        rows_read: 7_890,
        rows_written: 12,
        caches: [("client".to_owned(), CacheFigures { hits: 99, misses: 1 })].into(),
        commits: 4_000,
        commit_operations: 100_000,
        commit_duration: percentiles(4_000, 1.0, [0.9, 1.2, 1.8, 3.1, 9.0]),
        signatures: [("RS256".to_owned(), 100_000)].into(),
    }
}

/// A run of a provider whose latency grows as the rate comes near to what it can bear.
fn loaded(scenario: &str, rate: f64, shards: Option<u32>, bearable: f64) -> Run {
    let strain = 1.0 / (1.0 - (rate / bearable).min(0.995));
    let failures = if rate >= bearable { 160 } else { 0 };
    let suffix = shards.map_or_else(String::new, |shards| format!(", {shards} shards"));
    let p99_ms = 2.4 * strain;
    let mut run = Run {
        name: format!("{scenario} {rate}/s{suffix}"),
        scenario: scenario.to_owned(),
        rate,
        achieved_rate: rate * 0.9996,
        requests: (rate * 180.0) as u64,
        failures,
        failure_kinds: if failures > 0 {
            [("timeout".to_owned(), failures)].into()
        } else {
            Default::default()
        },
        latency: Latency {
            min_ms: Some(0.28),
            mean_ms: Some(0.7 * strain),
            p50_ms: Some(0.55 * strain),
            p95_ms: Some(1.3 * strain),
            p99_ms: Some(p99_ms),
            p999_ms: Some(5.0 * strain),
            max_ms: Some(31.0 * strain),
            ..Latency::default()
        },
        shards,
        ..run()
    };
    run.thresholds = vec![Threshold {
        scenario: None,
        name: "p99_ms".to_owned(),
        limit: "< 300".to_owned(),
        value: Some(p99_ms),
        held: p99_ms < 300.0,
    }];
    run.timeline = (0..210).map(|at| second(at, rate, strain, failures)).collect();
    let shards = shards.unwrap_or(64);
    if let Some(server) = &mut run.server {
        server.stores = ["code", "session", "revocation"].map(|kind| store(kind, shards, rate)).into();
    }
    run
}

fn second(at: u32, rate: f64, strain: f64, failures: u64) -> Second {
    let share = f64::from(at.min(209 - at)).min(15.0) / 15.0;
    let noise = 1.0 + 0.15 * noise(at);
    Second {
        at,
        answered: (rate * share) as u64,
        errors: if failures > 0 && at % 60 == 40 { failures / 3 } else { 0 },
        p50_ms: Some(0.5 * (1.0 + (strain - 1.0) * share) * noise),
        p99_ms: Some(2.2 * (1.0 + (strain - 1.0) * share) * noise * noise),
        server_cores: Some(rate * share * 61e-6 * 1.1 * noise),
        offered: None,
        covers: None,
        worst: None,
    }
}

/// Between -1 and 1, the same for the same number.
fn noise(number: u32) -> f64 {
    f64::from(number.wrapping_mul(2_654_435_761) >> 16 & 0x7ff) / 1023.5 - 1.0
}

fn store(kind: &str, shards: u32, rate: f64) -> StoreFigures {
    let mean = rate * 200.0 / f64::from(shards);
    let figures = |shard: u32| {
        let hot = if kind == "session" && shard == 5 { 2.6 } else { 1.0 };
        let operations = mean * hot * (1.0 + 0.2 * noise(shard * 31 + kind.len() as u32));
        ShardFigures {
            shard,
            operations: operations as u64,
            errors: 0,
            wall_ms: operations * 0.02,
            queue_wait_ms: 1.0,
        }
    };
    StoreFigures {
        kind: kind.to_owned(),
        wall: percentiles((rate * 200.0) as u64, 0.02, [0.01, 0.02, 0.03, 0.09, 0.4]),
        queue_wait: percentiles((rate * 200.0) as u64, 0.002, [0.001, 0.002, 0.003, 0.009, 0.04]),
        shards: (0..shards).map(figures).collect(),
    }
}

/// A limit of 4,000 requests per second.
pub(crate) fn capacity() -> Capacity {
    Capacity {
        scenario: "silent".to_owned(),
        shards: Some(64),
        limit: 4_000.0,
        p99_ms: Some(21.0),
        failing: Some(4_200.0),
        bottleneck: Bottleneck::ServerCpu,
        evidence: "1.7 of 2 cores".to_owned(),
        peak: 3_200.0,
        normal: 2_000.0,
        per_core: Some(50_000.0),
        busiest_hour_requests: 11_520_000.0,
        requests_per_day: 8.0,
        daily_share: 0.3,
        busiest_hour_share: 0.15,
        monthly_active_users: 32_000_000.0,
    }
}
