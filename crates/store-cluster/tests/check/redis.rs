//! Redis.

use std::sync::Arc;
use std::time::Duration;

use symbolon_store_cluster::engines::{RedisCluster, RedisServer, RedisServerOptions, shared, until};
use symbolon_store_cluster::{ClusterOptions, Finding, Level, ReplicaPolicy};

use super::{assert_no_worse_than_warned, clock, deserted, fake, found, listed, options, the};

/// A check of servers whose PostgreSQL is not looked at.
fn of_redis(urls: &str) -> ClusterOptions {
    options(&format!("postgres://u@127.0.0.1:{}/d", deserted()), urls)
}

async fn check(options: &ClusterOptions) -> Vec<Finding> {
    found(options, "Redis").await
}

fn with_password(password: &str) -> RedisServerOptions {
    RedisServerOptions { password: Some(password.to_owned()), ..RedisServerOptions::default() }
}

/// The URL of a server for another user.
fn for_user(server: &RedisServer, user: &str, password: &str) -> String {
    let url = server.url();
    let place = url.strip_prefix("redis://").unwrap();
    let place = place.split_once('@').map_or(place, |(_, place)| place);
    format!("redis://{user}:{password}@{place}")
}

#[tokio::test]
async fn a_cluster_with_replicas_is_fine() {
    let redis = &shared().redis;
    // Any of its nodes leads to all of them.
    for seed in [0, 5] {
        let nodes = redis.nodes();
        let findings = check(&of_redis(&format!("redis://127.0.0.1:{}", nodes[seed].port))).await;
        assert_no_worse_than_warned(&findings);
        for node in nodes {
            let name = format!("Redis at 127.0.0.1:{}", node.port);
            the(&findings, Level::Fine, &[&name, "Redis 7."]);
            let settings = "appendfsync = everysec, appendonly = yes, cluster-node-timeout = 2000, \
                            maxmemory = 1073741824, maxmemory-policy = noeviction, min-replicas-to-write = 0";
            the(&findings, Level::Fine, &[&name, settings]);
            the(&findings, Level::Fine, &[&name, "cluster_state:ok"]);
            the(&findings, Level::Fine, &["the clock of this node agrees", &name]);
            let figure = format!("{name}: a command takes ");
            assert!(findings.iter().any(|finding| finding.what.contains(&figure)), "{}", listed(&findings));
        }
    }
}

#[tokio::test]
async fn a_seed_that_is_away_is_not_missed_where_another_answers() {
    let (port, redis) = (deserted(), &shared().redis);
    let away = format!("redis://:s3cret@127.0.0.1:{port}");
    let name = format!("Redis at 127.0.0.1:{port} cannot be reached");
    let findings = check(&of_redis(&format!("{away},{}", redis.urls()))).await;
    assert_no_worse_than_warned(&findings);
    the(&findings, Level::Warning, &[&name, "another seed"]);

    let alone = check(&of_redis(&away)).await;
    let finding = the(&alone, Level::Refused, &[&name]);
    assert!(finding.mend.contains("SYMBOLON_REDIS_URLS"), "{finding}");
    assert!(!listed(&alone).contains("s3cret"));
    let unreadable = check(&of_redis("redis:/s3cret")).await;
    the(&unreadable, Level::Refused, &["URL 1 of SYMBOLON_REDIS_URLS cannot be read"]);
    assert!(!listed(&unreadable).contains("s3cret"));
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_after_the_timeout() {
    let server = RedisServer::start(RedisServerOptions::default());
    server.pause();
    let mut options = of_redis(&server.url());
    options.redis.timeout = Duration::from_millis(200);
    the(&check(&options).await, Level::Refused, &["cannot be reached"]);
}

#[tokio::test]
async fn a_single_server_is_for_development() {
    let server = RedisServer::start(RedisServerOptions::default());
    let findings = check(&of_redis(&server.url())).await;
    assert_no_worse_than_warned(&findings);
    the(&findings, Level::Warning, &["is not a cluster: nothing is replicated"]);

    let other = RedisServer::start(RedisServerOptions::default());
    let several = check(&of_redis(&format!("{},{}", server.url(), other.url()))).await;
    the(&several, Level::Refused, &["is not part of a cluster, and SYMBOLON_REDIS_URLS names several"]);
    let mixed = check(&of_redis(&format!("{},{}", server.url(), shared().redis.urls()))).await;
    the(&mixed, Level::Refused, &["is not part of a cluster, and other seeds are"]);

    let port = other.url().rsplit_once(':').unwrap().1.to_owned();
    server.cli(&["REPLICAOF", "127.0.0.1", &port]);
    let replica = check(&of_redis(&server.url())).await;
    let finding = the(&replica, Level::Refused, &["read-only replica (role:slave)"]);
    assert!(finding.mend.contains("REPLICAOF NO ONE"), "{finding}");
}

#[tokio::test]
async fn settings_that_forget_are_refused_until_mended() {
    let server = RedisServer::start(RedisServerOptions::default());
    for (key, value, level) in [
        ("maxmemory", "0", Level::Warning),
        ("maxmemory-policy", "allkeys-lru", Level::Refused),
        ("appendonly", "no", Level::Refused),
        ("appendfsync", "no", Level::Warning),
        ("cluster-node-timeout", "1999", Level::Refused),
    ] {
        server.cli(&["CONFIG", "SET", key, value]);
        let findings = check(&of_redis(&server.url())).await;
        let finding = the(&findings, level, &["Redis at 127.0.0.1:", &format!("{key} = {value}")]);
        let (command, _) = finding.mend.split_once(" and ").unwrap();
        server.cli(&command.split(' ').collect::<Vec<_>>());
        let mended = check(&of_redis(&server.url())).await;
        assert!(!listed(&mended).contains(&format!("{key} = {value}")), "{}", listed(&mended));
    }
}

#[tokio::test]
async fn a_setting_of_any_node_of_a_cluster_is_found() {
    let cluster = RedisCluster::start(RedisServerOptions::default());
    cluster.cli(4, &["CONFIG", "SET", "maxmemory-policy", "volatile-ttl"]);
    let findings = check(&of_redis(&cluster.urls())).await;
    let name = format!("Redis at 127.0.0.1:{}", cluster.nodes()[4].port);
    the(&findings, Level::Refused, &[&name, "maxmemory-policy = volatile-ttl"]);
    assert_eq!(findings.iter().filter(|finding| finding.level == Level::Refused).count(), 1);
}

#[tokio::test]
async fn whoever_is_not_let_in_is_told_why() {
    let server = RedisServer::start(with_password("right"));
    for url in [for_user(&server, "", "s3cret"), server.url().replace(":right@", "")] {
        let findings = check(&of_redis(&url)).await;
        let finding = the(&findings, Level::Refused, &["does not accept user default"]);
        assert!(finding.mend.contains("SYMBOLON_REDIS_URLS"), "{finding}");
        assert!(!listed(&findings).contains("s3cret"));
    }
    assert_no_worse_than_warned(&check(&of_redis(&server.url())).await);
}

#[tokio::test]
async fn a_user_that_may_not_do_what_the_store_does_is_refused_until_it_may() {
    let server = RedisServer::start(RedisServerOptions::default());
    let options = of_redis(&for_user(&server, "store", "pw"));
    server.cli(&["ACL", "SETUSER", "store", "on", ">pw"]);
    let blind = check(&options).await;
    the(&blind, Level::Refused, &["user store may not do what the store does", "'info'"]);

    server.cli(&["ACL", "SETUSER", "store", "+@all", "~other:*"]);
    let elsewhere = check(&options).await;
    let finding = the(&elsewhere, Level::Refused, &["user store may not", "keys"]);
    let (command, _) = finding.mend.split_once(',').unwrap();
    server.cli(&["ACL", "SETUSER", "store", "resetkeys", "-@all"]);
    server.cli(&command.split(' ').collect::<Vec<_>>());
    assert_no_worse_than_warned(&check(&options).await);

    server.cli(&["ACL", "SETUSER", "store", "-wait"]);
    the(&check(&options).await, Level::Refused, &["user store may not do what the store does", "'wait'"]);
    server.cli(&["ACL", "SETUSER", "store", "+wait"]);

    server.cli(&["ACL", "SETUSER", "store", "-config|get", "-time"]);
    server.cli(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    let findings = check(&options).await;
    let finding = the(&findings, Level::Warning, &["CONFIG GET is not answered"]);
    assert!(finding.mend.contains("+config|get"), "{finding}");
    the(&findings, Level::Warning, &["TIME is not answered"]);
    // INFO tells it as well.
    the(&findings, Level::Refused, &["maxmemory-policy = allkeys-lru"]);
}

#[tokio::test]
async fn a_cluster_in_trouble_is_failing_and_not_refused() {
    let cluster = RedisCluster::start(with_password("right"));
    let port = |index: usize| cluster.nodes()[index].port;
    let name = |index: usize| format!("Redis at 127.0.0.1:{}", port(index));
    let mut options = of_redis(&cluster.urls());
    assert_no_worse_than_warned(&check(&options).await);

    cluster.kill(3);
    until("the primary has noticed", || {
        cluster.cli(0, &["INFO", "replication"]).contains("connected_slaves:0").then_some(())
    });
    let findings = check(&options).await;
    the(&findings, Level::Failing, &[&name(0), "no replica of this primary is connected", "503"]);
    the(&findings, Level::Failing, &[&name(3), "a replica of the cluster, cannot be reached"]);
    assert!(findings.iter().all(|finding| finding.level < Level::Refused), "{}", listed(&findings));
    options.redis.replicas = ReplicaPolicy::Local;
    let findings = check(&options).await;
    assert_no_worse_than_warned(&findings);
    the(&findings, Level::Warning, &[&name(0), "no replica of this primary is connected"]);
    the(&findings, Level::Warning, &[&name(3), "cannot be reached"]);

    // Nobody is left to take its slots over.
    cluster.kill(0);
    until("the others have noticed", || {
        [1, 2]
            .iter()
            .all(|index| cluster.cli(*index, &["CLUSTER", "INFO"]).contains("cluster_state:fail"))
            .then_some(())
    });
    let findings = check(&options).await;
    the(&findings, Level::Failing, &[&name(1), "cluster_state:fail", "of 16384 slots are served"]);
    the(&findings, Level::Failing, &[&name(0), "a primary of the cluster, cannot be reached"]);
    assert!(findings.iter().all(|finding| finding.level < Level::Refused), "{}", listed(&findings));
}

#[tokio::test]
async fn a_replica_that_lost_its_primary_is_failing() {
    let cluster = RedisCluster::start(with_password("right"));
    cluster.cli(3, &["CONFIG", "SET", "masterauth", "wrong"]);
    cluster.cli(0, &["CLIENT", "KILL", "TYPE", "replica"]);
    until("the link is down", || {
        let lost = cluster.cli(3, &["INFO", "replication"]).contains("master_link_status:down");
        let alone = cluster.cli(0, &["INFO", "replication"]).contains("connected_slaves:0");
        (lost && alone).then_some(())
    });
    let findings = check(&of_redis(&cluster.urls())).await;
    let name = |index: usize| format!("Redis at 127.0.0.1:{}", cluster.nodes()[index].port);
    let finding =
        the(&findings, Level::Failing, &[&name(3), "the link of this replica to its primary is down"]);
    assert!(finding.mend.contains("masterauth"), "{finding}");
    the(&findings, Level::Failing, &[&name(0), "no replica of this primary is connected"]);
}

#[tokio::test]
async fn addresses_that_lead_nowhere_are_refused() {
    let cluster = RedisCluster::start(RedisServerOptions::default());
    // Nobody has a name under .invalid.
    let name = ["cluster-announce-hostname", "node.invalid"];
    let preferred = ["cluster-preferred-endpoint-type", "hostname"];
    for index in 0..6 {
        cluster.cli(index, &[&["CONFIG", "SET"], &name[..], &preferred].concat());
    }
    until("node 3 knows the names", || {
        let nodes = cluster.cli(3, &["CLUSTER", "NODES"]);
        nodes.lines().all(|line| line.contains("node.invalid")).then_some(())
    });
    let port = cluster.nodes()[3].port;
    let findings = check(&of_redis(&format!("redis://127.0.0.1:{port}"))).await;
    the(&findings, Level::Failing, &["Redis at node.invalid:", "cannot be reached"]);
    let seed = format!("Redis at 127.0.0.1:{port} is reached");
    let finding =
        the(&findings, Level::Refused, &[&seed, "none of the addresses that its cluster announces"]);
    assert!(finding.mend.contains("cluster-announce-ip"), "{finding}");
}

#[tokio::test]
async fn versions_that_lack_what_the_store_uses_are_refused() {
    for (info, what) in [
        ("redis_version:6.2.14\r\ncluster_enabled:1", "Redis 6.2.14 is older than 7"),
        ("redis_version:6.2.14\r\ncluster_enabled:0", "Redis 6.2.14 is older than 7"),
        ("redis_version:7.2.4\r\nvalkey_version:7.2.5\r\ncluster_enabled:1", "Valkey 7.2.5 is older than 8"),
    ] {
        let findings = check(&of_redis(&fake::server(info).await)).await;
        let finding = the(&findings, Level::Refused, &["Redis at 127.0.0.1:", what]);
        assert!(finding.mend.contains("Valkey 8"), "{finding}");
    }
}

#[tokio::test]
async fn clocks_that_are_apart_are_found_out() {
    let mut options = of_redis(&shared().redis.urls());
    options.now = Arc::new(|| clock(-100));
    let findings = check(&options).await;
    for node in shared().redis.nodes() {
        let name = format!("behind that of Redis at 127.0.0.1:{}", node.port);
        the(&findings, Level::Refused, &[&name, "more than 10 s"]);
    }
    options.accept_clock = true;
    assert_no_worse_than_warned(&check(&options).await);
    options.accept_clock = false;
    options.now = Arc::new(|| clock(9));
    the(&check(&options).await, Level::Warning, &["ahead of that of Redis at"]);
}
