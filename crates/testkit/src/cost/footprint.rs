//! The size of state where it is kept.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use symbolon_loadtest::LoadtestError;
use symbolon_loadtest::executor::{Closed, Until, closed};
use symbolon_loadtest::plan::Footprint;
use symbolon_loadtest::scenario::{Mix, Scenario};
use symbolon_loadtest::seed::{Seed, SeedOptions, plant};
use symbolon_store_cluster::engines::{PostgresServer, RedisCluster, RedisServerOptions};
use tokio::runtime::Runtime;

use super::node::Provider;

/// Most families that are revoked, because they are revoked one after the other. With far fewer, the first pages of the
/// tables' partitions would be most of a row's apparent size.
const MOST_REVOKED: usize = 10_000;

/// Users created before the counted ones: enough that each primary has executed every command.
const WARM_UP: usize = 30;

/// Tables, including their partitions.
const USERS: &str = "users|emails";
const FAMILIES: &str = "families";
const TOMBSTONES: &str = "tombstones";

/// Fills a provider with `count` users, each with a session and a family, revokes some families, and lets as many codes
/// be issued as there are users. Measures after each step how much the engines have grown.
///
/// Redis is started for this alone, because otherwise keys of other measurements would expire meanwhile. Memory that
/// Redis keeps from the first use of each command on, above all for scripts, is taken before the count begins.
pub(super) fn measure(
    (runtime, postgres): (&Runtime, &PostgresServer),
    (binary, name, count): (&Path, &str, usize),
    progress: &mut (dyn Write + Send),
) -> Result<Footprint, LoadtestError> {
    let redis = RedisCluster::start(RedisServerOptions::default());
    let provider = runtime.block_on(Provider::clustered(binary, 1, (postgres, &redis, name)))?;
    let place = Place { postgres, redis: &redis, name };
    let mut filled = |count| {
        runtime.block_on(async {
            let seeding = SeedOptions { users: count, families: count, tokens: 1, ..SeedOptions::default() };
            Ok::<_, LoadtestError>(Arc::new(plant(provider.target().await?, &seeding, progress).await?))
        })
    };
    let first = filled(WARM_UP)?;
    issue_codes(&first, WARM_UP)?;
    revoke(&first, WARM_UP)?;

    let empty = (place.redis(), place.table(USERS), place.table(FAMILIES));
    let seed = filled(count)?;
    let each = |now: f64, then: f64, number: usize| (now - then).max(0.0) / number.max(1) as f64;
    let with_sessions = place.redis();
    let session = each(with_sessions, empty.0, count);
    let user = each(place.table(USERS), empty.1, count);
    let family = each(place.table(FAMILIES), empty.2, count);

    let (rows, revoked) = (place.table(TOMBSTONES), count.min(MOST_REVOKED));
    revoke(&seed, revoked)?;
    let with_tombstones = place.redis();
    let tombstone = each(with_tombstones, with_sessions, revoked);
    let tombstone_row = each(place.table(TOMBSTONES), rows, revoked);

    // Codes come last, because they expire soonest.
    issue_codes(&seed, count)?;
    let code = each(place.redis(), with_tombstones, count);
    runtime.block_on(provider.end());
    Ok(Footprint { session, code, tombstone, tombstone_row, user, family })
}

/// Lets `count` codes be issued, which are not redeemed.
fn issue_codes(seed: &Arc<Seed>, count: usize) -> Result<(), LoadtestError> {
    let until = Until::Requests(count as u64);
    let visitors = Scenario::Silent.visitors(seed, 8, Mix::Pure)?;
    closed(&Closed { load: seed.target.load(), until }, visitors)?;
    Ok(())
}

/// Revokes the first `count` families (RFC 7009 2.1).
fn revoke(seed: &Seed, count: usize) -> Result<(), LoadtestError> {
    let refused = |error: ureq::Error| LoadtestError::Refused {
        what: "revocation",
        status: 0,
        detail: error.to_string(),
    };
    let agent = ureq::agent();
    let url =
        format!("{}{}", seed.target.issuer, seed.target.endpoints.revoke.as_deref().unwrap_or_default());
    for family in seed.families.iter().take(count) {
        let form = [
            ("token", &*family.refresh_token),
            ("client_id", &seed.client.id),
            ("client_secret", seed.client.secret.expose()),
        ];
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let request = agent.post(&url).header("content-type", "application/x-www-form-urlencoded");
        request.send(body).map_err(refused)?;
    }
    Ok(())
}

struct Place<'a> {
    postgres: &'a PostgresServer,
    redis: &'a RedisCluster,
    name: &'a str,
}

impl Place<'_> {
    /// Bytes that the primaries hold, without the memory of connections, of the cluster's links and of replication.
    fn redis(&self) -> f64 {
        let nodes = self.redis.nodes();
        let primaries = nodes.iter().filter(|node| node.replicates.is_none());
        primaries.map(|node| held(&self.redis.cli(node.index, &["INFO", "memory"]))).sum()
    }

    /// Bytes of these tables with their partitions and indexes.
    fn table(&self, names: &str) -> f64 {
        let sql = format!(
            "SELECT coalesce(sum(pg_total_relation_size(oid)), 0) FROM pg_class \
             WHERE relkind = 'r' AND relname ~ '^({names})(_[0-9a-z]+)?$'"
        );
        self.postgres.psql(self.name, &sql).parse().expect("a number of bytes")
    }
}

/// Reads the bytes from the answer to INFO MEMORY.
fn held(info: &str) -> f64 {
    let figure = |name: &str| {
        let value = info.lines().find_map(|line| line.trim().strip_prefix(name)?.strip_prefix(':'));
        value.and_then(|value| value.parse::<f64>().ok()).unwrap_or(0.0)
    };
    let others = [
        "mem_clients_normal",
        "mem_clients_slaves",
        "mem_cluster_links",
        "mem_replication_backlog",
        "mem_aof_buffer",
    ];
    figure("used_memory") - others.map(figure).iter().sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_are_not_held() {
        let info = "# Memory\r\nused_memory:1000\r\nused_memory_human:1K\r\nmem_clients_normal:100\r\n\
                    mem_replication_backlog:50\r\n";
        assert_eq!(held(info), 850.0);
    }
}
