//! Checks Redis: whether its nodes can be reached, form a cluster with replicas, and have settings with which they lose
//! nothing.

mod judge;
mod node;

use futures_util::future::join_all;
use redis::{ConnectionAddr, ConnectionInfo, IntoConnectionInfo, RedisError, Value};

use super::{Finding, Level, TRUST, causes, is_distrust};
use crate::ClusterOptions;
use crate::redis::{Member, RedisOptions, ReplicaPolicy, members};
use judge::Answers;
use node::{Node, Trouble};

/// Checks Redis.
pub(super) async fn check(options: &ClusterOptions) -> Vec<Finding> {
    let (seeds, mut findings) = seeds(options);
    let reached = join_all(seeds.iter().map(|seed| Node::reach(seed, &options.redis))).await;
    let mut nodes = Vec::new();
    let mut away = Vec::new();
    for (seed, reached) in seeds.iter().zip(reached) {
        match reached {
            Ok(node) => nodes.push(node),
            Err(Trouble::Wrong(finding)) => findings.push(finding),
            Err(Trouble::Away(why)) => away.push((seed.addr().to_string(), why)),
        }
    }
    let (clustered, single): (Vec<_>, Vec<_>) = nodes.into_iter().partition(Node::is_clustered);
    let Some(first) = clustered.first() else {
        let gone = |(place, why): &(String, String)| {
            Finding::refused(format!("Redis at {place} cannot be reached: {why}"), MEND_SEED)
        };
        findings.extend(away.iter().map(gone));
        findings.extend(without_cluster(options, single).await);
        return findings;
    };
    let outside = |node: &Node| {
        let mend = "remove it from SYMBOLON_REDIS_URLS, which names nodes of one cluster";
        Finding::refused(format!("{} is not part of a cluster, and other seeds are", node.name), mend)
    };
    findings.extend(single.iter().map(outside));
    let version = judge::version(&first.name, &first.facts);
    if version.level == Level::Refused {
        // An old version may not know the commands that would follow.
        findings.push(version);
        return findings;
    }
    match members_of(first, &options.redis).await {
        Ok(members) => {
            findings.extend(unknown_seeds(&away, &members));
            findings.extend(cluster(options, first, &members).await);
        }
        Err(finding) => findings.push(finding),
    }
    findings
}

/// The members that `seed` knows.
async fn members_of(seed: &Node, options: &RedisOptions) -> Result<Vec<Member>, Finding> {
    let failed = |error: &RedisError| match seed.acl(error, &options.prefix) {
        Some(finding) => finding,
        None => Finding::failing(format!("{}: CLUSTER SHARDS: {error}", seed.name), "look at its log"),
    };
    let shards: Value =
        seed.ask(redis::cmd("CLUSTER").arg("SHARDS")).await.map_err(|error| failed(&error))?;
    let tls = matches!(seed.info.addr(), ConnectionAddr::TcpTls { .. });
    let host = match seed.info.addr() {
        ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => host.as_str(),
        _ => "localhost",
    };
    members(&shards, host, tls).map_err(|error| failed(&error.into()))
}

/// How to mend a seed that cannot be reached.
const MEND_SEED: &str = "start the server, correct host and port in SYMBOLON_REDIS_URLS, or open the way (bind, \
                         protected-mode, firewalls)";

/// Parses the URLs. Also returns what is wrong with those that cannot be parsed.
fn seeds(options: &ClusterOptions) -> (Vec<ConnectionInfo>, Vec<Finding>) {
    let mend = "write rediss://USER:PASSWORD@HOST:6379, or redis:// without TLS, special characters in the password as \
                %40 and so on; several are separated by commas";
    let (mut seeds, mut findings) = (Vec::new(), Vec::new());
    for (index, url) in options.redis.urls.iter().enumerate() {
        match url.expose().into_connection_info() {
            Ok(seed) => seeds.push(seed),
            Err(error) => {
                let what = format!("URL {} of SYMBOLON_REDIS_URLS cannot be read: {error}", index + 1);
                findings.push(Finding::refused(what, mend));
            }
        }
    }
    if options.redis.urls.is_empty() {
        findings.push(Finding::refused("SYMBOLON_REDIS_URLS is empty", mend));
    }
    (seeds, findings)
}

/// Seeds that cannot be reached and are not known to the cluster either; the others are found among the members.
fn unknown_seeds(away: &[(String, String)], members: &[Member]) -> Vec<Finding> {
    let unknown = |(place, _): &&(String, String)| !members.iter().any(|member| member.place() == *place);
    let told = |(place, why): &(String, String)| {
        let what =
            format!("Redis at {place} cannot be reached: {why}; the cluster was found by another seed");
        Finding::warning(what, MEND_SEED)
    };
    away.iter().filter(unknown).map(told).collect()
}

/// Checks servers outside a cluster, which are good enough for development.
async fn without_cluster(options: &ClusterOptions, nodes: Vec<Node>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for node in &nodes {
        findings.extend(Answers::ask(options, node).await.judge(options, node));
        if node.is_replica() {
            let mend = "point SYMBOLON_REDIS_URLS at the primary, or make it one: REPLICAOF NO ONE";
            let what = format!("{} is a read-only replica (role:slave) and not part of a cluster", node.name);
            findings.push(Finding::refused(what, mend));
        } else if options.redis.urls.len() > 1 {
            let what =
                format!("{} is not part of a cluster, and SYMBOLON_REDIS_URLS names several", node.name);
            findings.push(Finding::refused(what, "name one server only, or the nodes of a cluster"));
        } else {
            let what = format!("{} is not a cluster: nothing is replicated, for development only", node.name);
            let mend = "redis-cli --cluster create HOST:PORT … --cluster-replicas 1, on servers with cluster-enabled yes";
            findings.push(Finding::warning(what, mend));
        }
    }
    findings
}

/// Checks every node that the cluster names.
async fn cluster(options: &ClusterOptions, seed: &Node, members: &[Member]) -> Vec<Finding> {
    let examine = |member: &Member| examine(options, seed, member.clone());
    let examined = join_all(members.iter().map(examine)).await;
    let nobody = !examined.is_empty() && examined.iter().all(|(away, _)| *away);
    let mut findings: Vec<Finding> = examined.into_iter().flat_map(|(_, findings)| findings).collect();
    if nobody {
        let mend = "let every node announce where it is reached from here: cluster-announce-ip, or \
                    cluster-announce-hostname with cluster-preferred-endpoint-type hostname";
        let what = format!("{} is reached, and none of the addresses that its cluster announces", seed.name);
        findings.push(Finding::refused(what, mend));
    }
    findings
}

/// Whether a member is away, and what was found.
async fn examine(options: &ClusterOptions, seed: &Node, member: Member) -> (bool, Vec<Finding>) {
    match Node::reach(&member.info(&seed.info), &options.redis).await {
        Ok(node) => {
            let mut findings = Answers::ask(options, &node).await.judge(options, &node);
            findings.extend(judge::replication(&node, &member, options.redis.replicas));
            (false, findings)
        }
        Err(Trouble::Wrong(finding)) => (false, vec![finding]),
        Err(Trouble::Away(why)) => {
            let (place, kind) = (member.place(), member.kind());
            let level = if member.is_serving() { Level::Failing } else { without(options.redis.replicas) };
            let what = format!("Redis at {place}, a {kind} of the cluster, cannot be reached: {why}");
            let mend = "start it again; if it is gone for good, CLUSTER FORGET it on every node and add another; if \
                        it runs, let it announce an address that is reached from here (cluster-announce-ip)";
            (true, vec![Finding::new(level, what, mend)])
        }
    }
}

/// How bad a missing replica is.
fn without(policy: ReplicaPolicy) -> Level {
    match policy {
        ReplicaPolicy::Wait => Level::Failing,
        ReplicaPolicy::Local => Level::Warning,
    }
}
