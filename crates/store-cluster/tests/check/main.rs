//! What the check finds on real servers, and that opening a store heeds it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test may panic; clippy does not take this file's plain functions for tests"
)]

mod fake;
mod open;
mod postgres;
mod redis;
mod tls;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use symbolon_crypto::random::SystemRandom;
use symbolon_store::shard::FirstShards;
use symbolon_store_cluster::{
    ClusterOptions, Finding, Level, PostgresOptions, RedisOptions, ReplicaPolicy, check,
};

/// Never reached by a server that runs.
const PATIENT: Duration = Duration::from_secs(60);

/// Options for a check of these servers, which are waited for patiently.
fn options(postgres: &str, redis: &str) -> ClusterOptions {
    ClusterOptions {
        postgres: PostgresOptions { url: postgres.into(), connections: 4, timeout: PATIENT },
        redis: RedisOptions {
            urls: redis.split(',').map(Into::into).collect(),
            timeout: PATIENT,
            replicas: ReplicaPolicy::Wait,
            prefix: "check".to_owned(),
        },
        shards: FirstShards::default(),
        now: Arc::new(|| clock(0)),
        random: Arc::new(SystemRandom),
        accept_clock: false,
    }
}

/// This machine's clock, shifted by some seconds.
#[allow(clippy::disallowed_methods, reason = "the servers go by the machine's clock")]
fn clock(seconds: i64) -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    u64::try_from(now).unwrap().strict_add_signed(seconds * 1_000)
}

/// What was found at one of the two engines.
async fn found(options: &ClusterOptions, engine: &str) -> Vec<Finding> {
    let of_engine = |finding: &Finding| {
        let other = if engine == "PostgreSQL" { "Redis" } else { "PostgreSQL" };
        !finding.what.starts_with(other) && !finding.what.contains(&format!("of {other} at"))
    };
    check(options).await.into_iter().filter(of_engine).collect()
}

/// The finding of a level that contains all these words.
#[track_caller]
fn the<'a>(findings: &'a [Finding], level: Level, words: &[&str]) -> &'a Finding {
    let is_it =
        |finding: &&Finding| finding.level == level && words.iter().all(|word| finding.what.contains(word));
    let finding = findings.iter().find(is_it);
    finding.unwrap_or_else(|| panic!("no {level} finding with {words:?} among:\n{}", listed(findings)))
}

/// Nothing that is worse than a warning.
#[track_caller]
fn assert_no_worse_than_warned(findings: &[Finding]) {
    assert!(findings.iter().all(|finding| finding.level <= Level::Warning), "{}", listed(findings));
}

fn listed(findings: &[Finding]) -> String {
    findings.iter().map(|finding| format!("{finding}\n")).collect()
}

/// A port of this machine on which nobody listens.
fn deserted() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
