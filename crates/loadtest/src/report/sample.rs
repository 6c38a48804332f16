//! Made-up results for tests.

use crate::results::{
    Bottleneck, CacheFigures, Capacity, Machine, Percentiles, Provider, Results, Run, Second, ServerFigures,
    ShardFigures, Stage, StoreFigures, Threshold, VERSION,
};

/// One run of round figures.
pub(super) fn small() -> Results {
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
        last.wrong_kinds = [("revoked token accepted".to_owned(), 4), ("scope".to_owned(), 3)].into();
        last.first_wrong = Some("200 {\"scope\":\"openid <b>\"}".to_owned());
    }
    results("december-2025", runs)
}

/// No figure of a page is `NaN` or `inf`.
pub(super) fn assert_numbers(page: &str) {
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
        rate: 500.0,
        achieved_rate: 500.0,
        seconds: 180.0,
        stages: vec![
            Stage { from: 0.0, to: 500.0, seconds: 15.0 },
            Stage { from: 500.0, to: 500.0, seconds: 180.0 },
        ],
        connections: 64,
        requests: 90_000,
        min_ms: 0.31,
        mean_ms: 0.8,
        p50_ms: 0.72,
        p75_ms: 1.0,
        p90_ms: 1.5,
        p95_ms: 2.1,
        p99_ms: 4.5,
        p999_ms: 12.3,
        max_ms: 58.6,
        server_cpu_us_per_request: Some(61.0),
        generator_cpu_us_per_request: 9.5,
        generator_lag_ms: 0.2,
        shards: Some(64),
        timeline: (0..3)
            .map(|at| Second {
                at,
                answered: 500,
                errors: 0,
                p50_ms: 0.7,
                p99_ms: 4.0,
                server_cores: Some(0.31),
            })
            .collect(),
        server: Some(server()),
        thresholds: vec![Threshold {
            name: "p95_ms".to_owned(),
            limit: "< 300".to_owned(),
            value: 2.1,
            held: true,
        }],
        ..Run::default()
    }
}

fn percentiles(count: u64, mean_ms: f64, p: [f64; 5]) -> Percentiles {
    let [p50_ms, p75_ms, p90_ms, p99_ms, p999_ms] = p;
    Percentiles { count, mean_ms, p50_ms, p75_ms, p90_ms, p99_ms, p999_ms }
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
        min_ms: 0.28,
        mean_ms: 0.7 * strain,
        p50_ms: 0.55 * strain,
        p95_ms: 1.3 * strain,
        p99_ms,
        p999_ms: 5.0 * strain,
        max_ms: 31.0 * strain,
        shards,
        ..run()
    };
    run.thresholds = vec![Threshold {
        name: "p99_ms".to_owned(),
        limit: "< 300".to_owned(),
        value: p99_ms,
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
        p50_ms: 0.5 * (1.0 + (strain - 1.0) * share) * noise,
        p99_ms: 2.2 * (1.0 + (strain - 1.0) * share) * noise * noise,
        server_cores: Some(rate * share * 61e-6 * 1.1 * noise),
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
        p99_ms: 21.0,
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
