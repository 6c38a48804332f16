//! What the answers of a server mean for the store.

use std::collections::HashMap;
use std::time::Duration;

use redis::{Cmd, RedisError, Value};
use tokio::time::Instant;

use super::super::clock::{self, Reading};
use super::super::{SLOW, TIMES, latency};
use super::node::{Facts, Node};
use super::{Finding, Level, ReplicaPolicy, without};
use crate::ClusterOptions;
use crate::redis::{Member, SILENCE};

/// What a command should take at most.
const LATENCY: Duration = Duration::from_millis(5);

/// The oldest versions that have what the store uses.
const OLDEST_REDIS: u32 = 7;
const OLDEST_VALKEY: u32 = 8;

/// What the nodes of a cluster must wait at least before they replace one: a third longer than one may be
/// [silent](crate::redis::SILENCE).
const NODE_TIMEOUT: Duration = Duration::from_millis(2_000);
const _: () = assert!(SILENCE.as_millis() * 4 <= NODE_TIMEOUT.as_millis() * 3, "the silence leaves a margin");

/// The slots of a cluster.
const SLOTS: &str = "16384";

/// Settings by name.
type Settings = HashMap<String, String>;

/// The fastest answer to TIME, and how long it took.
type Time = (Reading, Duration);

/// What a server answered.
pub(super) struct Answers {
    settings: Result<Settings, RedisError>,
    cluster: Option<Result<Facts, RedisError>>,
    time: Result<Time, RedisError>,
    /// Errors of commands that the store needs, sent in a form that changes nothing.
    refused: Vec<RedisError>,
}

impl Answers {
    /// Sends all queries at once.
    pub(super) async fn ask(options: &ClusterOptions, node: &Node) -> Self {
        let mut get = redis::cmd("CONFIG");
        get.arg("GET").arg(&SETTINGS);
        let mut info = redis::cmd("CLUSTER");
        info.arg("INFO");
        let cluster = async {
            if !node.is_clustered() {
                return None;
            }
            Some(node.ask::<String>(&info).await.map(|text| Facts::parse(&text)))
        };
        let commands = commands(&options.redis.prefix);
        let commands = futures_util::future::join_all(commands.iter().map(|cmd| node.ask::<Value>(cmd)));
        let (settings, cluster, time, commands) =
            tokio::join!(node.ask::<Settings>(&get), cluster, time(options, node), commands);
        Self { settings, cluster, time, refused: commands.into_iter().filter_map(Result::err).collect() }
    }

    pub(super) fn judge(&self, options: &ClusterOptions, node: &Node) -> Vec<Finding> {
        let name = &node.name;
        let mut findings = vec![version(name, &node.facts)];
        if node.facts.get("loading") == "1" {
            findings.push(Finding::failing(format!("{name} is still loading its data"), "wait"));
        }
        findings.extend(self.of_settings(node));
        findings.extend(self.of_cluster(node));
        findings.extend(self.of_commands(options, node));
        findings.extend(match &self.time {
            Ok((reading, took)) => {
                vec![
                    clock::compare(options, name, *reading),
                    latency(&format!("{name}: a command"), *took, LATENCY),
                ]
            }
            Err(error) => vec![unverified(name, "TIME", error)],
        });
        findings
    }

    fn of_settings(&self, node: &Node) -> Vec<Finding> {
        let name = &node.name;
        let mut findings = Vec::new();
        let settings = match &self.settings {
            Ok(settings) => settings.clone(),
            Err(error) => {
                findings.push(unverified(name, "CONFIG GET", error));
                told_by_info(&node.facts)
            }
        };
        let wrong = settings.iter().filter_map(|(key, value)| setting(name, key, value));
        let before = findings.len();
        findings.extend(wrong);
        if findings.len() == before {
            let mut told: Vec<_> = settings.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            told.sort_unstable();
            findings.push(Finding::fine(format!("{name}: {}", told.join(", "))));
        }
        findings
    }

    fn of_cluster(&self, node: &Node) -> Option<Finding> {
        let name = &node.name;
        let cluster = match self.cluster.as_ref()? {
            Ok(cluster) => cluster,
            Err(error) => return Some(unverified(name, "CLUSTER INFO", error)),
        };
        let (state, served) = (cluster.get("cluster_state"), cluster.get("cluster_slots_ok"));
        if state == "ok" && served == SLOTS {
            return Some(Finding::fine(format!("{name}: cluster_state:ok, all slots are served")));
        }
        let what = format!("{name}: cluster_state:{state}, {served} of {SLOTS} slots are served");
        let place = node.info.addr();
        let mend = format!(
            "start the primaries again that are down; else `redis-cli --cluster check {place}`, and `--cluster fix` \
             where slots belong to nobody"
        );
        Some(Finding::failing(what, mend))
    }

    /// Every command that is not permitted, once; and why writes are refused.
    fn of_commands(&self, options: &ClusterOptions, node: &Node) -> Vec<Finding> {
        let mut findings: Vec<Finding> =
            self.refused.iter().filter_map(|error| node.acl(error, &options.redis.prefix)).collect();
        findings.dedup();
        let passing = ["MISCONF", "OOM", "NOREPLICAS"];
        let refusal =
            self.refused.iter().find(|error| error.code().is_some_and(|code| passing.contains(&code)));
        findings.extend(refusal.map(|error| {
            let mend = "free disk or memory, or bring replicas back, as it says";
            Finding::failing(format!("{} refuses writes: {error}", node.name), mend)
        }));
        findings
    }
}

/// The settings that are examined.
const SETTINGS: [&str; 6] = [
    "maxmemory",
    "maxmemory-policy",
    "appendonly",
    "appendfsync",
    "min-replicas-to-write",
    "cluster-node-timeout",
];

/// The settings as INFO reports them, for a server that does not permit CONFIG.
fn told_by_info(facts: &Facts) -> Settings {
    let mut settings = Settings::new();
    let policy = facts.get("maxmemory_policy");
    if !policy.is_empty() {
        settings.insert("maxmemory-policy".into(), policy.into());
    }
    let memory = facts.get("maxmemory");
    if !memory.is_empty() {
        settings.insert("maxmemory".into(), memory.into());
    }
    let log = facts.get("aof_enabled");
    if !log.is_empty() {
        settings.insert("appendonly".into(), if log == "1" { "yes" } else { "no" }.into());
    }
    settings
}

/// What is wrong with a setting.
fn setting(name: &str, key: &str, value: &str) -> Option<Finding> {
    let (level, right, why) = match (key, value) {
        ("maxmemory-policy", "noeviction") => return None,
        ("maxmemory-policy", _) => {
            (Level::Refused, "noeviction", "when memory runs out, sessions and revocations are thrown away")
        }
        ("maxmemory", "0") => (
            Level::Warning,
            "1gb",
            "nothing bounds what authorization codes take, and the system ends the process when memory runs out (choose \
             what the machine can spare)",
        ),
        ("appendonly", "no") => {
            (Level::Refused, "yes", "after a restart it has forgotten everything that it held")
        }
        ("appendfsync", "no") => (
            Level::Warning,
            "everysec",
            "a crash of the machine loses what its system had not written, often 30 s",
        ),
        ("cluster-node-timeout", millis)
            if millis.parse().is_ok_and(|millis| Duration::from_millis(millis) < NODE_TIMEOUT) =>
        {
            (Level::Refused, "2000", "a primary that stood still could be believed though another took over")
        }
        _ => return None,
    };
    let mend =
        format!("CONFIG SET {key} {right} and CONFIG REWRITE on every node (managed ones: parameter group)");
    Some(Finding::new(level, format!("{name}: {key} = {value}: {why}"), mend))
}

pub(super) fn version(name: &str, facts: &Facts) -> Finding {
    let (product, version, oldest) = match facts.get("valkey_version") {
        "" => ("Redis", facts.get("redis_version"), OLDEST_REDIS),
        valkey => ("Valkey", valkey, OLDEST_VALKEY),
    };
    let major = version.split('.').next().and_then(|major| major.parse().ok()).unwrap_or(0);
    if major >= oldest {
        return Finding::fine(format!("{name}: {product} {version}"));
    }
    let what = format!("{name}: {product} {version} is older than {oldest}");
    Finding::refused(what, "install Redis 7 or newer, or Valkey 8 or newer, on every node")
}

fn unverified(name: &str, command: &str, error: &RedisError) -> Finding {
    let permission = command.to_lowercase().replace(' ', "|");
    Finding::warning(
        format!("{name}: {command} is not answered, so what it tells could not be verified: {error}"),
        format!("permit it (ACL SETUSER USER +{permission}), or look yourself"),
    )
}

/// The finding for a primary without a connected replica, and for a replica that is not connected to its primary.
pub(super) fn replication(node: &Node, member: &Member, policy: ReplicaPolicy) -> Option<Finding> {
    let (name, facts) = (&node.name, &node.facts);
    let mend = "start its replicas again, or add one: `redis-cli --cluster add-node NEW:PORT OLD:PORT --cluster-slave`; \
                CLUSTER REPLICATE moves one from another primary";
    if node.is_replica() {
        let up = facts.get("master_link_status") == "up";
        let what = format!("{name}: the link of this replica to its primary is down");
        return (!up).then(|| {
            Finding::new(without(policy), what, "look at its log: masterauth, masteruser, network")
        });
    }
    let online = facts.replicas().filter(|replica| replica.contains("state=online")).count();
    if online > 0 || !member.is_serving() {
        return None;
    }
    let why = match policy {
        ReplicaPolicy::Wait => "sign-ins and revocations in its slots are answered with 503",
        ReplicaPolicy::Local => "what it holds is lost with it",
    };
    Some(Finding::new(
        without(policy),
        format!("{name}: no replica of this primary is connected: {why}"),
        mend,
    ))
}

/// Commands that the store needs, on a key that does not exist, so that they change nothing.
fn commands(prefix: &str) -> Vec<Cmd> {
    let key = format!("{{{prefix}:check}}x");
    let command = |words: &[&str]| {
        let mut cmd = redis::cmd(words.first().unwrap_or(&""));
        for word in words.iter().skip(1) {
            cmd.arg(*word);
        }
        cmd
    };
    vec![
        command(&["MGET", &key]),
        command(&["SET", &key, "", "XX", "PX", "1"]),
        command(&["UNLINK", &key]),
        command(&["EVAL", "return 0", "1", &key]),
        command(&["ZADD", &key, "XX", "0", "x"]),
        command(&["PUBLISH", &format!("{prefix}:check"), ""]),
        command(&["WAIT", "0", "1"]),
    ]
}

async fn time(options: &ClusterOptions, node: &Node) -> Result<Time, RedisError> {
    let mut fastest = once(options, node).await?;
    for _ in 1..TIMES {
        if fastest.1 > SLOW {
            break;
        }
        let next = once(options, node).await?;
        if next.1 < fastest.1 {
            fastest = next;
        }
    }
    Ok(fastest)
}

async fn once(options: &ClusterOptions, node: &Node) -> Result<Time, RedisError> {
    let began = Instant::now();
    let asked = (options.now)();
    let (seconds, micros): (u64, u64) = node.ask(&redis::cmd("TIME")).await?;
    let told = seconds * 1_000 + micros / 1_000;
    Ok((Reading { asked, told, answered: (options.now)() }, began.elapsed()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_judged_by_product() {
        let level = |info: &str| version("s", &Facts::parse(info)).level;
        assert_eq!(level("redis_version:6.2.14"), Level::Refused);
        assert_eq!(level("redis_version:7.0.15"), Level::Fine);
        assert_eq!(level("redis_version:8.2.1"), Level::Fine);
        assert_eq!(level("redis_version:7.2.4\r\nvalkey_version:7.2.5"), Level::Refused);
        assert_eq!(level("redis_version:7.2.4\r\nvalkey_version:8.0.1"), Level::Fine);
        assert_eq!(level("server_name:other"), Level::Refused);
    }
}
