//! The servers that the other tests rely on: they start, fail and come back as asked, and leave nothing behind.

#![allow(
    clippy::unwrap_used,
    reason = "a test may panic; clippy does not take this file's plain functions for tests"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs, thread};

use symbolon_store_cluster::engines::{
    PostgresServer, PostgresServerOptions, RedisCluster, RedisServer, RedisServerOptions, shared, until,
};

/// Where [`holds_servers_until_it_is_killed`] tells which directories it has.
const REPORT: &str = "SYMBOLON_TEST_ENGINES_REPORT";

/// The processes that work in `directory`, by number. A link to a removed directory still begins with its name.
fn processes_in(directory: &Path) -> Vec<String> {
    let within = |process: &fs::DirEntry| {
        let working_directory = fs::read_link(process.path().join("cwd")).unwrap_or_default();
        working_directory.to_string_lossy().starts_with(&*directory.to_string_lossy())
    };
    let processes = fs::read_dir("/proc").unwrap().flatten().filter(within);
    processes.map(|process| process.file_name().to_string_lossy().into_owned()).collect()
}

fn assert_nothing_left(directory: &Path) {
    assert_eq!(processes_in(directory), Vec::<String>::new(), "in {}", directory.display());
    assert!(!directory.exists(), "{}", directory.display());
}

/// A key on each primary.
fn keys_by_primary(cluster: &RedisCluster) -> BTreeMap<usize, String> {
    let mut keys = BTreeMap::new();
    for number in 0.. {
        let key = format!("key-{number}");
        keys.insert(cluster.primary_of(&key), key);
        if keys.len() == 3 {
            break;
        }
    }
    keys
}

#[test]
fn shared_servers_answer_after_the_thread_that_started_them_ended() {
    thread::spawn(|| drop(shared().redis.urls())).join().unwrap();

    let postgres = &shared().postgres;
    assert_eq!(postgres.psql("postgres", "SELECT 1"), "1");
    assert_eq!(postgres.psql("postgres", "SHOW fsync"), "on");
    postgres.create_database("answers");
    assert_eq!(postgres.psql("answers", "SELECT current_database()"), "answers");

    let redis = &shared().redis;
    assert_eq!(redis.urls().split(',').count(), 6);
    let keys = keys_by_primary(redis);
    assert_eq!(keys.keys().copied().collect::<Vec<_>>(), [0, 1, 2]);
    for (primary, key) in keys {
        assert_eq!(redis.cli(primary, &["SET", &key, "value"]), "OK");
        assert_eq!(redis.cli(primary, &["GET", &key]), "value");
        assert!(redis.try_cli((primary + 1) % 3, &["GET", &key]).unwrap_err().starts_with("MOVED "));
    }
    let replicates: Vec<_> = redis.nodes().into_iter().map(|node| node.replicates).collect();
    assert_eq!(replicates, [None, None, None, Some(0), Some(1), Some(2)]);
}

#[test]
fn a_replica_takes_over_from_a_killed_primary() {
    let password = Some("secret".to_owned());
    let cluster = RedisCluster::start(RedisServerOptions { password, ..RedisServerOptions::default() });
    let directory = cluster.directory().to_owned();
    assert_eq!(processes_in(&directory).len(), 6);
    let keys = keys_by_primary(&cluster);
    let lost = &keys[&1];
    cluster.cli(1, &["SET", lost, "before"]);

    cluster.kill(1);
    assert_eq!(processes_in(&directory).len(), 5);
    assert_eq!(cluster.primary_of(lost), 4);
    cluster.wait_until_in_order();
    for key in keys.values() {
        let primary = cluster.primary_of(key);
        assert_ne!(primary, 1);
        assert_eq!(cluster.cli(primary, &["SET", key, "after"]), "OK");
    }

    cluster.restart(1);
    cluster.wait_until_in_order();
    let nodes = cluster.nodes();
    assert_eq!((nodes[1].replicates, nodes[4].replicates), (Some(4), None));
    cluster.flush_all();
    assert_eq!(cluster.cli(4, &["GET", lost]), "");
    assert_eq!((0..6).map(|index| cluster.cli(index, &["DBSIZE"])).collect::<Vec<_>>(), ["0"; 6]);

    drop(cluster);
    assert_nothing_left(&directory);
}

#[test]
fn a_replica_takes_over_from_a_paused_primary_which_learns_of_it() {
    let settings = vec![("cluster-node-timeout".to_owned(), "500".to_owned())];
    let cluster = RedisCluster::start(RedisServerOptions { settings, ..RedisServerOptions::default() });
    let keys = keys_by_primary(&cluster);
    cluster.pause(2);
    assert!(!cluster.nodes()[2].running);
    assert_eq!(cluster.primary_of(&keys[&2]), 5);
    cluster.resume(2);
    cluster.wait_until_in_order();
    assert_eq!(cluster.nodes()[2].replicates, Some(5));
}

#[test]
fn postgres_keeps_what_was_committed_when_it_is_killed() {
    let settings = vec![("max_connections".to_owned(), "20".to_owned())];
    let server =
        PostgresServer::start(PostgresServerOptions { settings, ..PostgresServerOptions::default() });
    let directory = server.directory().to_owned();
    assert_eq!(server.psql("postgres", "SHOW max_connections"), "20");
    server.create_database("kept");
    server.psql("kept", "CREATE TABLE kept AS SELECT 'committed' AS value, 7 AS number");

    server.kill();
    assert_eq!(processes_in(&directory), Vec::<String>::new());
    server.restart();
    assert_eq!(server.psql("kept", "SELECT * FROM kept"), "committed|7");

    server.stop();
    assert_eq!(processes_in(&directory), Vec::<String>::new());
    server.restart();
    assert_eq!(server.psql("kept", "SELECT * FROM kept"), "committed|7");

    assert!(processes_in(&directory).len() > 1, "a postmaster and its children");
    drop(server);
    assert_nothing_left(&directory);
}

#[test]
fn a_single_redis_keeps_its_data_when_it_is_restarted() {
    let server = RedisServer::start(RedisServerOptions::default());
    let directory = server.directory().to_owned();
    assert_eq!(server.cli(&["SET", "key", "value"]), "OK");
    server.kill();
    assert!(server.try_cli(&["PING"]).is_err());
    server.restart();
    assert_eq!(server.cli(&["GET", "key"]), "value");
    server.flush_all();
    assert_eq!(server.cli(&["DBSIZE"]), "0");
    drop(server);
    assert_nothing_left(&directory);
}

#[test]
fn nothing_is_left_of_the_servers_of_a_killed_process() {
    let place = tempfile::tempdir().unwrap();
    let report = place.path().join("report");
    let mut holder = Command::new(env::current_exe().unwrap())
        .args(["--exact", "holds_servers_until_it_is_killed", "--ignored"])
        .env(REPORT, &report)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let directories = until("the other process has its servers", || {
        assert!(matches!(holder.try_wait(), Ok(None)), "it holds them until it is killed");
        let text = fs::read_to_string(&report).ok()?;
        Some(text.lines().map(PathBuf::from).collect::<Vec<_>>())
    });
    assert_eq!(directories.len(), 2);
    for directory in &directories {
        assert_ne!(processes_in(directory), Vec::<String>::new());
    }

    holder.kill().unwrap();
    holder.wait().unwrap();
    until("servers and directories are gone", || {
        let gone = |directory: &PathBuf| processes_in(directory).is_empty() && !directory.exists();
        directories.iter().all(gone).then_some(())
    });
}

#[test]
#[ignore = "the process that nothing_is_left_of_the_servers_of_a_killed_process kills"]
fn holds_servers_until_it_is_killed() {
    let Some(report) = env::var_os(REPORT).map(PathBuf::from) else { return };
    let redis = RedisServer::start(RedisServerOptions::default());
    let postgres = PostgresServer::start(PostgresServerOptions::default());
    let written = report.with_extension("part");
    fs::write(&written, format!("{}\n{}\n", redis.directory().display(), postgres.directory().display()))
        .unwrap();
    fs::rename(written, report).unwrap();
    loop {
        thread::park();
    }
}
